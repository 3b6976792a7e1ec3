//! The window's end of the engine, as a trait so that tests can script what the engine says.

use crate::engine::{Event, Job, JobId};

/// What the window needs of an engine.
pub trait EngineHandle {
    /// Hands over a job; the running one is cancelled.
    fn submit(&mut self, job: Job) -> JobId;
    /// Asks the running job to stop.
    fn cancel(&mut self);
    /// The next event, if there is one; never blocks.
    fn try_recv(&mut self) -> Option<(JobId, Event)>;
}

impl EngineHandle for crate::engine::Engine {
    fn submit(&mut self, job: Job) -> JobId {
        Self::submit(self, job)
    }

    fn cancel(&mut self) {
        Self::cancel(self);
    }

    fn try_recv(&mut self) -> Option<(JobId, Event)> {
        Self::try_recv(self)
    }
}
