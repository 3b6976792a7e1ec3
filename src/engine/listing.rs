//! Listing a repository beside the other jobs: it needs no model, only the network.

use super::thread::{JobReporter, panic_message};
use super::{Event, Job};
use crate::model::source::Locator;
use crate::progress::CancelToken;
use crate::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Makes a locator, given whether the network is off limits.
pub(super) type MakeLocator = Arc<dyn Fn(bool) -> Locator + Send + Sync>;

/// The thread's end of the listings; the latest one cancels the one before.
pub(super) struct Listings {
    locator: MakeLocator,
    running: CancelToken,
}

impl Listings {
    pub(super) fn new(locator: MakeLocator) -> Self {
        Self { locator, running: CancelToken::new() }
    }

    /// Begins to list; the answer comes as an event.
    pub(super) fn start(&mut self, job: Job, reporter: JobReporter) {
        self.running.cancel();
        self.running = CancelToken::new();
        let (locator, cancel) = (Arc::clone(&self.locator), self.running.clone());
        let run = move || {
            let result = catch_unwind(AssertUnwindSafe(|| list(job, &*locator, &reporter, &cancel)));
            let result = result.unwrap_or_else(|panic| Err(Error::Panic(panic_message(&*panic))));
            if let Err(error) = result {
                reporter.send(Event::Failed(error));
            }
        };
        // It ends by itself, within a moment of its cancellation.
        drop(std::thread::Builder::new().name("listing".to_owned()).spawn(run));
    }
}

impl Drop for Listings {
    fn drop(&mut self) {
        self.running.cancel();
    }
}

fn list(
    job: Job,
    locator: &dyn Fn(bool) -> Locator,
    reporter: &JobReporter,
    cancel: &CancelToken,
) -> Result<()> {
    let Job::List { repository, revision, offline } = job else { return Ok(()) };
    let listing = locator(offline).list(&repository, revision.as_deref(), reporter, cancel)?;
    reporter.send(Event::Listed(Box::new(listing)));
    Ok(())
}
