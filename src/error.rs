//! The one error type of the public API: each variant is one module's error, one line, fit for a toast.

/// Everything that can go wrong, one line each, the path last.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody asked the job to stop.
    #[error(transparent)]
    Cancelled(#[from] crate::progress::Cancelled),
    /// Finding, reading or running a model.
    #[error(transparent)]
    Model(#[from] crate::model::ModelError),
    /// Turning a prompt into tokens.
    #[error(transparent)]
    Prompt(#[from] crate::model::tokenizer::PromptError),
    /// Getting a model: caches, the Hub, mirrors.
    #[error(transparent)]
    Source(#[from] crate::model::source::SourceError),
    /// Writing a result.
    #[error(transparent)]
    Export(#[from] crate::export::ExportError),
    /// Saving or opening a session.
    #[error(transparent)]
    Session(#[from] crate::session::SessionError),
    /// An eviction experiment that makes no sense.
    #[error("Can't simulate this cache: {0}")]
    Eviction(#[from] crate::eviction::CaseError),
    /// Arguments that make no sense; the command line exits with 2.
    #[error("{0}")]
    Usage(String),
    /// A job panicked; the engine lives on.
    #[error("Internal error: {0}. Please report it; the next run starts fresh")]
    Panic(String),
}

impl Error {
    /// Whether this is a cancellation, which is no failure.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_)) || matches!(self, Self::Source(error) if error.is_cancelled())
    }
}

impl From<candle_core::Error> for Error {
    fn from(error: candle_core::Error) -> Self {
        Self::Model(error.into())
    }
}

/// Result with the crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;
