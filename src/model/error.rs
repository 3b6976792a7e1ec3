//! What can go wrong between a model's files and its logits.

use std::path::{Path, PathBuf};

/// Reading, checking or running a model; one line each, the path last.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The file system said no.
    #[error("Can't read the model ({why}): {}", path.display())]
    Read {
        /// The system's reason.
        why: String,
        /// What was read.
        path: PathBuf,
    },
    /// A folder that is no model.
    #[error("The folder has no config.json, so it is no model: {}", path.display())]
    NoConfig {
        /// The folder.
        path: PathBuf,
    },
    /// A folder without weights.
    #[error("The folder has neither model.safetensors nor model.safetensors.index.json: {}", path.display())]
    NoWeights {
        /// The folder.
        path: PathBuf,
    },
    /// A split model of which a file is not there.
    #[error("A part of the split model is missing: put all parts into one folder: {}", path.display())]
    MissingPart {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The file exists but is not what it should be.
    #[error("{what} is damaged or not supported: {why}: {}", path.display())]
    Malformed {
        /// The kind of file, for example "GGUF file".
        what: &'static str,
        /// What is wrong with it.
        why: String,
        /// Where it is.
        path: PathBuf,
    },
    /// A model of a family that this version does not run.
    #[error("Architecture {found:?} is not supported yet (known: {known}): {}", path.display())]
    UnknownArchitecture {
        /// What the file says.
        found: String,
        /// What there is.
        known: String,
        /// Where it is.
        path: PathBuf,
    },
    /// A configuration that makes no sense or asks for what this version lacks.
    #[error("The model's configuration can't be used: {why}: {}", path.display())]
    Config {
        /// The key and what is wrong with it.
        why: String,
        /// Where it is.
        path: PathBuf,
    },
    /// A tensor that the architecture needs is not there.
    #[error("Tensor {name} is missing: {}", path.display())]
    MissingTensor {
        /// Its name.
        name: String,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// A tensor has not the shape that the configuration says.
    #[error("Tensor {name} has shape {found:?}, the configuration says {wanted:?}: {}", path.display())]
    WrongShape {
        /// Its name.
        name: String,
        /// Its shape.
        found: Vec<usize>,
        /// The shape that the configuration says.
        wanted: Vec<usize>,
        /// Where it is.
        path: PathBuf,
    },
    /// The weights would not fit.
    #[error(
        "The weights need {needed} even as {precision}, but only {available} of memory are available: {}",
        path.display()
    )]
    OutOfMemory {
        /// The precision that needs the least, or the one that was asked for.
        precision: &'static str,
        /// What they need, with its unit.
        needed: String,
        /// What there is, with its unit.
        available: String,
        /// Where they are.
        path: PathBuf,
    },
    /// The run would not fit.
    #[error(
        "A run of {tokens} tokens needs {needed}, but only {available} of memory are available: shorten the prompt"
    )]
    PromptTooLarge {
        /// Length of the prompt.
        tokens: usize,
        /// What it needs, with its unit.
        needed: String,
        /// What there is, with its unit.
        available: String,
    },
    /// A text longer than the model's table of learned positions.
    #[error(
        "The prompt has {tokens} tokens, but the model has learned only {most} positions: shorten the prompt"
    )]
    BeyondPositions {
        /// Length of the prompt.
        tokens: usize,
        /// Positions that the model has.
        most: usize,
    },
    /// A run before a model was opened.
    #[error("No model is open: open one first")]
    NotOpen,
    /// A capture of a model that is no longer open.
    #[error("This run belongs to a model that is no longer open: run the prompt again")]
    OtherModel,
    /// The GPU's memory is full.
    #[error(
        "The device is out of memory: use a shorter prompt, a lower precision (--dtype), or the CPU (--device cpu)"
    )]
    DeviceMemory,
    /// A precision that the file can't give.
    #[error(
        "The file has no weights whose products are fast as they are stored (K-quants and Q8_0 are): choose f32, bf16 or f16: {}",
        path.display()
    )]
    NothingStored {
        /// Where it is.
        path: PathBuf,
    },
    /// A computation failed: out of memory, a device error.
    #[error("The model could not be run: {0}")]
    Compute(#[source] candle_core::Error),
}

impl From<candle_core::Error> for ModelError {
    fn from(error: candle_core::Error) -> Self {
        super::placement::device_error(error)
    }
}

impl ModelError {
    pub(crate) fn read(error: &std::io::Error, path: &Path) -> Self {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        };
        Self::Read { why, path: path.to_owned() }
    }
}
