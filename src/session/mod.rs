//! A session: a run with all that is needed to look at it again, in one file.
//!
//! The file is a zip archive without compression: `manifest.json`, a few more JSON texts, and every array as
//! a `.npy`, so that `numpy.load` reads it as it is. The manifest carries the format's version and the sha256
//! of every other member. Nothing of a file is believed before it is checked: sizes against the file's own
//! length, members against their hashes, shapes against the model and the text.

mod arrays;
mod check;
mod manifest;
mod read;
mod rounding;
mod texts;
mod write;

pub(crate) use manifest::hex;
pub use read::read_session;
pub use write::{predicted_bytes, write_session};

use crate::capture::Capture;
use crate::engine::PromptInput;
use crate::eviction::EvictionRun;
use crate::model::tokenizer::BosChoice;
use std::path::PathBuf;
use std::sync::Arc;

/// The version of the format that is written; all versions up to it are read.
pub const FORMAT_VERSION: u32 = 1;
/// The extension of session files.
pub const EXTENSION: &str = "sinkscope";

/// What a session file holds.
#[derive(Debug, Clone)]
pub struct Session {
    /// The run.
    pub capture: Arc<Capture>,
    /// The prompt that was run.
    pub prompt: PromptInput,
    /// How it was asked to begin.
    pub bos: BosChoice,
    /// The model's name as `--model` takes it, where it is known.
    pub model: Option<String>,
    /// Evictions over the text.
    pub runs: Vec<Arc<EvictionRun>>,
    /// How the run was looked at; the window alone knows what it means.
    pub view: serde_json::Value,
}

/// What of a capture a file keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kept {
    /// Queries and keys as they are: every weight can be rebuilt exactly.
    #[default]
    F32,
    /// Queries and keys rounded to 11 bits: weights differ a little, rows still sum to 1.
    F16,
    /// No queries and keys: profiles, sinks, norms and evictions, but no patterns.
    Statistics,
}

impl Kept {
    /// All of them, the most exact first.
    pub const ALL: [Self; 3] = [Self::F32, Self::F16, Self::Statistics];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Statistics => "statistics only",
        }
    }
}

/// Why a session could not be saved or opened; one line each, the path last.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The file system said no.
    #[error("Can't read the session ({why}): {path}")]
    Read {
        /// The system's reason.
        why: String,
        /// The file.
        path: PathBuf,
    },
    /// It is something else.
    #[error("This is no Sinkscope session: {path}")]
    NotASession {
        /// The file.
        path: PathBuf,
    },
    /// A version that is not known here.
    #[error(
        "This session is of format {version}, this Sinkscope reads up to {FORMAT_VERSION}: update Sinkscope: {path}"
    )]
    Newer {
        /// The file's version.
        version: u32,
        /// The file.
        path: PathBuf,
    },
    /// It was cut or changed.
    #[error("This session is damaged, {what}: use a copy of it: {path}")]
    Damaged {
        /// What is wrong.
        what: String,
        /// The file.
        path: PathBuf,
    },
    /// A query or key that 16 bits can't hold.
    #[error("Layer {layer} has values beyond f16's 65 504: save the session as f32")]
    BeyondF16 {
        /// The layer.
        layer: usize,
    },
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] crate::export::ExportError),
}
