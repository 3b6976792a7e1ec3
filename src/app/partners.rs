//! Who attends to the selected token, and to whom it attends: computed on a worker thread, the
//! latest request wins.

use super::view::StripColour;
use crate::capture::Capture;
use crate::progress::CancelToken;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};

/// Mean weights between the selected token and every other, over the chosen layers and heads.
#[derive(Debug, Clone, PartialEq)]
pub struct Partners {
    /// What was asked.
    pub key: PartnersKey,
    /// One value a token; `None` where the two can't see each other.
    pub weights: Vec<Option<f32>>,
}

/// What a set of partners depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartnersKey {
    /// The capture.
    pub capture: u64,
    /// The selected token.
    pub token: usize,
    /// Queries that attend to it (`false`) or keys that it attends to (`true`).
    pub outgoing: bool,
    /// Layers; `None` for all.
    pub layers: Option<Vec<usize>>,
    /// Head; `None` for all.
    pub head: Option<usize>,
}

impl PartnersKey {
    /// The direction that a strip colouring needs; `None` when it needs no partners.
    #[must_use]
    pub fn outgoing_of(strip: StripColour) -> Option<bool> {
        match strip {
            StripColour::Mass => None,
            StripColour::Incoming => Some(false),
            StripColour::Outgoing => Some(true),
        }
    }
}

/// Computes the partners of one token; `None` when cancelled.
#[must_use]
pub fn partners_of(capture: &Capture, key: PartnersKey, cancel: &CancelToken) -> Option<Partners> {
    let layers = key.layers.clone().unwrap_or_else(|| (0..capture.layers.len()).collect());
    let heads: Vec<usize> =
        key.head.map_or_else(|| (0..capture.model.spec.heads).collect(), |head| vec![head]);
    let mut sums = vec![(0.0_f64, 0_u32); capture.len()];
    for &layer in &layers {
        for &head in &heads {
            cancel.check().ok()?;
            for (other, (sum, count)) in sums.iter_mut().enumerate() {
                let (query, of) = if key.outgoing { (key.token, other) } else { (other, key.token) };
                if let Some(weight) = capture.weight(layer, head, query, of).filter(|w| w.is_finite()) {
                    *sum += f64::from(weight);
                    *count += 1;
                }
            }
        }
    }
    let weights =
        sums.into_iter().map(|(sum, count)| (count > 0).then(|| (sum / f64::from(count)) as f32)).collect();
    Some(Partners { key, weights })
}

/// The worker's mailbox: one slot, overwritten by the latest request.
#[derive(Default)]
struct Mailbox {
    next: Mutex<Slot>,
    changed: Condvar,
}

#[derive(Default)]
struct Slot {
    request: Option<(Arc<Capture>, PartnersKey, CancelToken)>,
    closed: bool,
}

/// The worker thread. It ends when the handle is dropped.
pub struct PartnersWorker {
    mailbox: Arc<Mailbox>,
    results: Receiver<Partners>,
    running: CancelToken,
}

impl PartnersWorker {
    /// Starts the worker; `wake` is called when a result is ready.
    #[must_use]
    pub fn start(wake: impl Fn() + Send + 'static) -> Self {
        let mailbox = Arc::new(Mailbox::default());
        let (sender, results) = channel();
        let theirs = Arc::clone(&mailbox);
        std::thread::spawn(move || work(&theirs, &sender, &wake));
        Self { mailbox, results, running: CancelToken::new() }
    }

    /// Asks for one token's partners; what was asked before is dropped.
    pub fn ask(&mut self, capture: Arc<Capture>, key: PartnersKey) {
        self.running.cancel();
        self.running = CancelToken::new();
        if let Ok(mut slot) = self.mailbox.next.lock() {
            slot.request = Some((capture, key, self.running.clone()));
        }
        self.mailbox.changed.notify_one();
    }

    /// The next result, if there is one.
    #[must_use]
    pub fn poll(&self) -> Option<Partners> {
        self.results.try_recv().ok()
    }
}

impl Drop for PartnersWorker {
    fn drop(&mut self) {
        self.running.cancel();
        if let Ok(mut slot) = self.mailbox.next.lock() {
            slot.closed = true;
        }
        self.mailbox.changed.notify_one();
    }
}

fn work(mailbox: &Mailbox, results: &Sender<Partners>, wake: &impl Fn()) {
    loop {
        let Ok(slot) = mailbox.next.lock() else { return };
        let Ok(mut slot) = mailbox.changed.wait_while(slot, |slot| slot.request.is_none() && !slot.closed)
        else {
            return;
        };
        if slot.closed {
            return;
        }
        let Some((capture, key, cancel)) = slot.request.take() else { continue };
        drop(slot);
        if let Some(partners) = partners_of(&capture, key, &cancel) {
            if results.send(partners).is_err() {
                return;
            }
            wake();
        }
    }
}
