//! The thread around the queue.

use super::queue::{Queue, Request, Task, Wish};
use super::{PatternKey, TileOrder};
use crate::capture::PatternTile;
use crate::progress::CancelToken;
use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

/// A handle on the thread that computes tiles. Every call returns at once; dropping it ends the thread.
#[derive(Debug)]
pub struct PatternWorker {
    requests: Sender<Request>,
    results: Receiver<(PatternKey, Arc<PatternTile>)>,
    /// Shown tiles that were asked for and have not come yet.
    pending: Vec<PatternKey>,
    shown_cancel: CancelToken,
    background_cancel: CancelToken,
    wishes: u64,
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
        Ok(Self { requests, results, pending: Vec::new(), shown_cancel, background_cancel, wishes: 0 })
    }

    /// Says which tiles are shown and not there yet. They come first, in this order; earlier wishes that
    /// are not among them are dropped, and work on them stops.
    pub fn show(&mut self, orders: Vec<TileOrder>) {
        let keys: Vec<PatternKey> = orders.iter().map(TileOrder::key).collect();
        if keys == self.pending {
            return;
        }
        if !self.pending.iter().all(|key| keys.contains(key)) {
            self.shown_cancel.cancel();
            self.shown_cancel = CancelToken::new();
        }
        let make_way = !keys.is_empty();
        self.pending = keys;
        let wish = self.wish(orders, self.shown_cancel.clone());
        self.send(Request::Shown(wish));
        if make_way {
            self.background_cancel.cancel();
            self.background_cancel = CancelToken::new();
            self.send(Request::Resume(self.background_cancel.clone()));
        }
    }

    /// Says which tiles to compute when nothing else is wanted, in this order, instead of those before.
    pub fn fill(&mut self, orders: Vec<TileOrder>) {
        self.background_cancel.cancel();
        self.background_cancel = CancelToken::new();
        let wish = self.wish(orders, self.background_cancel.clone());
        self.send(Request::Background(wish));
    }

    /// A tile that is done, if there is one.
    pub fn poll(&mut self) -> Option<(PatternKey, Arc<PatternTile>)> {
        self.poll_until(Instant::now())
    }

    /// A tile that is done before `until`; waits for it that long.
    pub fn poll_until(&mut self, until: Instant) -> Option<(PatternKey, Arc<PatternTile>)> {
        let patience = until.saturating_duration_since(Instant::now());
        let (key, tile) = self.results.recv_timeout(patience).ok()?;
        self.pending.retain(|pending| *pending != key);
        Some((key, tile))
    }

    fn wish(&mut self, orders: Vec<TileOrder>, cancel: CancelToken) -> Wish {
        self.wishes += 1;
        Wish { orders: orders.into(), cancel, number: self.wishes }
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

fn work(inbox: &Receiver<Request>, outbox: &Sender<(PatternKey, Arc<PatternTile>)>, wake: &dyn Fn()) {
    let mut queue = Queue::default();
    // Threads of its own: in the pool that all share, thumbnails would wait for a prefill's work, and
    // what is shown would wait for them.
    let pool = rayon::ThreadPoolBuilder::new().thread_name(|index| format!("patterns {index}")).build();
    while let Ok(request) = inbox.recv() {
        queue.accept(request);
        loop {
            queue.accept_all(inbox.try_iter());
            let most = pool.as_ref().map_or(1, rayon::ThreadPool::current_num_threads);
            let tasks = queue.next(most);
            if tasks.is_empty() {
                break;
            }
            let tiles: Vec<_> = match (tasks.as_slice(), &pool) {
                ([task], _) => vec![compute(task)],
                (tasks, Ok(pool)) => pool.install(|| tasks.par_iter().map(compute).collect()),
                (tasks, Err(_)) => tasks.iter().map(compute).collect(),
            };
            // A newer wish may name the tiles that were just computed.
            queue.accept_all(inbox.try_iter());
            // Backwards, so that those which made way return in their order.
            for (task, tile) in tasks.into_iter().zip(tiles).rev() {
                match tile {
                    Some(tile) => {
                        let key = task.order.key();
                        queue.forget(&key);
                        if outbox.send((key, Arc::new(tile))).is_err() {
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
    let tile = || task.order.matrix.tile(&task.order.area, &task.cancel);
    let outcome = catch_unwind(AssertUnwindSafe(tile));
    if outcome.is_err() {
        tracing::error!(matrix = ?task.order.matrix.id(), "computing a pattern panicked");
    }
    outcome.ok()?.ok()
}
