//! Progress reports and cooperative cancellation, shared by every long job.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the numbers of a [`Progress`] count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressUnit {
    /// Bytes read or received.
    Bytes,
    /// Tensors of a checkpoint.
    Tensors,
    /// Decoder layers.
    Layers,
    /// Rows (query positions).
    Rows,
}

/// One report of a running job.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// What is being done, in sentence case, for example "Downloading model.safetensors".
    pub stage: String,
    /// How much is done, in [`Progress::unit`].
    pub done: u64,
    /// How much there is, where it is known.
    pub total: Option<u64>,
    /// What `done` and `total` count.
    pub unit: ProgressUnit,
}

/// Where a job sends what it has to say while it runs.
///
/// Implementations must return quickly: they are called from the working thread.
pub trait Reporter: Send + Sync {
    /// How far the job is.
    fn progress(&self, progress: Progress);
    /// A step that the user should know of: for example why one source gave way to the next.
    fn notice(&self, line: &str);
}

/// A [`Reporter`] that says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Reporter for Silent {
    fn progress(&self, _: Progress) {}
    fn notice(&self, _: &str) {}
}

/// The job was cancelled. Its partial results are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Cancelled")]
pub struct Cancelled;

/// A flag that one thread raises and the working thread looks at between blocks of work.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that nobody has cancelled yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the job to stop at its next block.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody asked the job to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns an error when the job should stop, so that `token.check()?` ends it.
    ///
    /// # Errors
    /// [`Cancelled`] after [`CancelToken::cancel`].
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}
