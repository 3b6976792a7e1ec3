//! The thread that finds partners of tokens: the latest request wins.

use super::view::StripColour;
use crate::analysis::partners_of;
pub use crate::analysis::{Partners, PartnersKey};
use crate::capture::Capture;
use crate::engine::latest::LatestWorker;
use crate::progress::CancelToken;
use std::sync::Arc;

/// The worker thread. It ends when the handle is dropped.
pub type PartnersWorker = LatestWorker<(Arc<Capture>, Vec<PartnersKey>), Vec<Partners>>;

/// Starts the worker; `wake` is called when a result is ready.
#[must_use]
pub fn start_worker(wake: impl Fn() + Send + 'static) -> Option<PartnersWorker> {
    let answer = |(capture, keys): &(Arc<Capture>, Vec<PartnersKey>), cancel: &CancelToken| {
        keys.iter().map(|key| partners_of(capture, key.clone(), cancel)).collect()
    };
    LatestWorker::spawn("partners", answer, wake)
        .inspect_err(|error| tracing::error!(%error, "no thread for partners"))
        .ok()
}

impl StripColour {
    /// Whether it shows to whom the selected tokens attend.
    #[must_use]
    pub fn is_outgoing(self) -> bool {
        self == Self::Outgoing
    }
}
