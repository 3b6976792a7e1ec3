//! Views as images and numbers as files.

/// Why a result could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file system said no.
    #[error("Can't write the file ({why}): {path}")]
    Write {
        /// The system's reason.
        why: String,
        /// Where it should have gone.
        path: std::path::PathBuf,
    },
}
