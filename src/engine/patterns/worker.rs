//! The thread around the queue.

use super::PatternKey;
use super::queue::{Queue, Request, Task, Wish};
use crate::capture::{Capture, PatternTile};
use crate::progress::CancelToken;
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A handle on the thread that computes tiles. Every call returns at once; dropping it ends the thread.
#[derive(Debug)]
pub struct PatternWorker {
    requests: Sender<Request>,
    results: Receiver<(PatternKey, Arc<PatternTile>)>,
    /// Shown tiles that were asked for and have not come yet.
    pending: Vec<PatternKey>,
    shown_cancel: CancelToken,
    background_cancel: CancelToken,
}

impl PatternWorker {
    /// Starts the thread; it calls `wake` whenever there is something to poll.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn spawn(wake: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let (requests, inbox) = channel();
        let (outbox, results) = channel();
        std::thread::Builder::new()
            .name("patterns".to_owned())
            .spawn(move || work(&inbox, &outbox, &wake))?;
        let (shown_cancel, background_cancel) = (CancelToken::new(), CancelToken::new());
        Ok(Self { requests, results, pending: Vec::new(), shown_cancel, background_cancel })
    }

    /// Says which tiles are shown and not there yet. They come first, in this order; earlier wishes that
    /// are not among them are dropped, and work on them stops.
    pub fn show(&mut self, capture: &Arc<Capture>, keys: Vec<PatternKey>) {
        if keys == self.pending {
            return;
        }
        if !self.pending.iter().all(|key| keys.contains(key)) {
            self.shown_cancel.cancel();
            self.shown_cancel = CancelToken::new();
        }
        self.pending.clone_from(&keys);
        let make_way = !keys.is_empty();
        self.send(Request::Shown(wish(capture, keys, &self.shown_cancel)));
        if make_way {
            self.background_cancel.cancel();
            self.background_cancel = CancelToken::new();
            self.send(Request::Resume(self.background_cancel.clone()));
        }
    }

    /// Says which tiles to compute when nothing else is wanted, in this order, instead of those before.
    pub fn fill(&mut self, capture: &Arc<Capture>, keys: Vec<PatternKey>) {
        self.background_cancel.cancel();
        self.background_cancel = CancelToken::new();
        self.send(Request::Background(wish(capture, keys, &self.background_cancel)));
    }

    /// A tile that is done, if there is one.
    pub fn poll(&mut self) -> Option<(PatternKey, Arc<PatternTile>)> {
        let (key, tile) = self.results.try_recv().ok()?;
        self.pending.retain(|pending| *pending != key);
        Some((key, tile))
    }

    fn send(&self, request: Request) {
        // The thread only ends when this handle is dropped.
        let _ = self.requests.send(request);
    }
}

impl Drop for PatternWorker {
    fn drop(&mut self) {
        self.shown_cancel.cancel();
        self.background_cancel.cancel();
    }
}

fn wish(capture: &Arc<Capture>, keys: Vec<PatternKey>, cancel: &CancelToken) -> Wish {
    Wish { capture: Arc::clone(capture), keys: keys.into(), cancel: cancel.clone() }
}

fn work(inbox: &Receiver<Request>, outbox: &Sender<(PatternKey, Arc<PatternTile>)>, wake: &dyn Fn()) {
    let mut queue = Queue::default();
    while let Ok(request) = inbox.recv() {
        queue.accept(request);
        loop {
            queue.accept_all(inbox.try_iter());
            let tasks = queue.next(rayon::current_num_threads());
            if tasks.is_empty() {
                break;
            }
            // A lone tile does not queue behind a prefill that keeps the pool busy.
            let tiles: Vec<_> = match tasks.as_slice() {
                [task] => vec![compute(task)],
                tasks => tasks.par_iter().map(compute).collect(),
            };
            // A newer wish may name the tiles that were just computed.
            queue.accept_all(inbox.try_iter());
            // Backwards, so that those which made way return in their order.
            for (task, tile) in tasks.into_iter().zip(tiles).rev() {
                match tile {
                    Some(tile) => {
                        queue.forget(&task.key);
                        if outbox.send((task.key, Arc::new(tile))).is_err() {
                            return;
                        }
                    }
                    None if task.cancel.is_cancelled() => queue.give_back(task),
                    None => {}
                }
            }
            wake();
        }
    }
}

/// The tile; `None` when it was cancelled, or when computing it panicked: the cell stays empty, the thread lives on.
fn compute(task: &Task) -> Option<PatternTile> {
    let PatternKey { layer, head, rows, keys, max_side, .. } = task.key.clone();
    let tile = || task.capture.pattern_tile(layer, head, rows, keys, max_side, &task.cancel);
    let outcome = catch_unwind(AssertUnwindSafe(tile));
    if outcome.is_err() {
        tracing::error!(layer, head, "computing a pattern panicked");
    }
    outcome.ok()?.ok()
}
