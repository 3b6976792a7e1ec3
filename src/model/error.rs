//! What can go wrong between a model's files and its logits.

use std::path::PathBuf;

/// Reading, checking or running a model; one line each, the path last.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The file system said no.
    #[error("Can't read the model ({why}): {path}")]
    Read {
        /// The system's reason.
        why: String,
        /// What was read.
        path: PathBuf,
    },
    /// The file exists but is not what it should be.
    #[error("{what} is damaged or not supported: {why}: {path}")]
    Malformed {
        /// The kind of file, for example "GGUF file".
        what: &'static str,
        /// What is wrong with it.
        why: String,
        /// Where it is.
        path: PathBuf,
    },
    /// A computation failed: out of memory, a device error.
    #[error("The model could not be run: {0}")]
    Compute(#[from] candle_core::Error),
}
