//! What the pattern worker does next. No thread, no clock: all decisions of the worker are made here.

use super::{PatternKey, TileOrder};
use crate::progress::CancelToken;
use std::collections::VecDeque;

/// Tiles to compute, and the flag that makes them unwanted.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub(super) orders: VecDeque<TileOrder>,
    pub(super) cancel: CancelToken,
    /// Tells this wish from those before and after it.
    pub(super) number: u64,
}

/// A message from the window.
#[derive(Debug)]
pub(super) enum Request {
    /// The tiles that are shown now, instead of those wished for before.
    Shown(Wish),
    /// The tiles to compute when nothing else is wanted, instead of those before.
    Background(Wish),
    /// The flag of the background work was raised to make way; this is its new one.
    Resume(CancelToken),
}

/// One tile to compute.
#[derive(Debug, Clone)]
pub(super) struct Task {
    pub(super) order: TileOrder,
    pub(super) cancel: CancelToken,
    wish: u64,
    background: bool,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    shown: Option<Wish>,
    background: Option<Wish>,
}

impl Queue {
    pub(super) fn accept(&mut self, request: Request) {
        match request {
            Request::Shown(wish) => self.shown = Some(wish),
            Request::Background(wish) => self.background = Some(wish),
            Request::Resume(cancel) => {
                if let Some(wish) = &mut self.background {
                    wish.cancel = cancel;
                }
            }
        }
    }

    pub(super) fn accept_all(&mut self, requests: impl Iterator<Item = Request>) {
        for request in requests {
            self.accept(request);
        }
    }

    /// What to compute next, all of it at once: one shown tile before up to `most` thumbnails.
    pub(super) fn next(&mut self, most: usize) -> Vec<Task> {
        if let Some(task) = take(&mut self.shown, false) {
            return vec![task];
        }
        let tasks: Vec<Task> = (0..most).map_while(|_| take(&mut self.background, true)).collect();
        if tasks.is_empty() {
            // Nothing is left and nothing can come back: let go of the captures.
            *self = Self::default();
        }
        tasks
    }

    /// Drops a tile that was computed meanwhile.
    pub(super) fn forget(&mut self, key: &PatternKey) {
        for wish in [&mut self.shown, &mut self.background].into_iter().flatten() {
            wish.orders.retain(|order| order.key() != *key);
        }
    }

    /// Puts a cancelled task back, if it only had to make way.
    pub(super) fn give_back(&mut self, task: Task) {
        if let Some(wish) = &mut self.background
            && task.background
            && wish.number == task.wish
        {
            wish.orders.push_front(task.order);
        }
    }
}

fn take(wish: &mut Option<Wish>, background: bool) -> Option<Task> {
    let Wish { orders, cancel, number } = wish.as_mut()?;
    Some(Task { order: orders.pop_front()?, cancel: cancel.clone(), wish: *number, background })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Capture, PatternOf};
    use crate::engine::patterns::Matrix;
    use crate::engine::patterns::testing::capture;
    use std::sync::Arc;

    fn wish(capture: &Arc<Capture>, heads: &[usize]) -> Wish {
        let orders = heads.iter().map(|&head| TileOrder::whole(capture, 0, head, 8)).collect();
        Wish { orders, cancel: CancelToken::new(), number: capture.id }
    }

    fn heads(queue: &mut Queue) -> Vec<usize> {
        let head = |task: Task| match task.order.matrix {
            Matrix::Weights { of: PatternOf::Head { head, .. }, .. } => head,
            other => panic!("{other:?}"),
        };
        std::iter::from_fn(|| queue.next(1).pop()).map(head).collect()
    }

    #[test]
    fn what_is_shown_comes_before_the_background() {
        let capture = capture(1, 8);
        let mut queue = Queue::default();
        queue.accept(Request::Background(wish(&capture, &[0, 1, 2])));
        queue.accept(Request::Shown(wish(&capture, &[7])));
        assert_eq!(heads(&mut queue), [7, 0, 1, 2]);
    }

    #[test]
    fn a_newer_wish_replaces_the_older() {
        let capture = capture(1, 8);
        let mut queue = Queue::default();
        queue.accept(Request::Shown(wish(&capture, &[1, 2])));
        queue.accept(Request::Shown(wish(&capture, &[3])));
        assert_eq!(heads(&mut queue), [3]);
    }

    #[test]
    fn background_work_that_made_way_comes_back_first() {
        let capture = capture(1, 8);
        let mut queue = Queue::default();
        queue.accept(Request::Background(wish(&capture, &[0, 1])));
        let tasks = queue.next(8);
        assert_eq!(tasks.len(), 2);
        tasks.into_iter().rev().for_each(|task| queue.give_back(task));
        assert_eq!(heads(&mut queue), [0, 1]);
    }

    #[test]
    fn work_on_another_capture_does_not_come_back() {
        let (old, new) = (capture(1, 8), capture(2, 8));
        let mut queue = Queue::default();
        queue.accept(Request::Background(wish(&old, &[0, 1])));
        let task = queue.next(1).pop().expect("two are queued");
        queue.accept(Request::Background(wish(&new, &[5])));
        queue.give_back(task);
        assert_eq!(heads(&mut queue), [5]);
    }

    #[test]
    fn what_was_shown_does_not_come_back() {
        let capture = capture(1, 8);
        let mut queue = Queue::default();
        queue.accept(Request::Shown(wish(&capture, &[1])));
        let task = queue.next(1).pop().expect("one is queued");
        queue.accept(Request::Background(wish(&capture, &[2])));
        queue.give_back(task);
        assert_eq!(heads(&mut queue), [2]);
    }

    #[test]
    fn a_tile_that_is_done_is_not_computed_again() {
        let capture = capture(1, 8);
        let mut queue = Queue::default();
        queue.accept(Request::Shown(wish(&capture, &[1, 2])));
        queue.forget(&TileOrder::whole(&capture, 0, 2, 8).key());
        assert_eq!(heads(&mut queue), [1]);
    }

    #[test]
    fn a_capture_is_let_go_when_all_is_done() {
        let capture = capture(1, 8);
        let mut queue = Queue::default();
        queue.accept(Request::Background(wish(&capture, &[0])));
        assert_eq!(heads(&mut queue), [0]);
        assert_eq!(Arc::strong_count(&capture), 1);
    }
}
