//! Attention patterns on demand: a thread that re-materialises tiles, so that the window never waits.
//!
//! The window asks for the few tiles that it shows now (the newest wish replaces the one before and
//! stops work on it) and for thumbnails of all heads (computed whenever nothing is wished for). It
//! holds the results in a cache of bounded size; a tile can always be computed again.

mod cache;
mod queue;
#[cfg(test)]
mod testing;
mod worker;

pub use cache::TileCache;
pub use worker::PatternWorker;

use crate::capture::Capture;
use std::ops::Range;

/// Names a tile: which capture and head, which cells, how coarse.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PatternKey {
    /// [`Capture::id`].
    pub capture: u64,
    /// Layer.
    pub layer: usize,
    /// Query head.
    pub head: usize,
    /// Query positions.
    pub rows: Range<usize>,
    /// Key positions.
    pub keys: Range<usize>,
    /// Longest side of the tile in cells.
    pub max_side: usize,
}

impl PatternKey {
    /// The whole pattern of a head, at most `max_side` cells a side.
    #[must_use]
    pub fn whole(capture: &Capture, layer: usize, head: usize, max_side: usize) -> Self {
        let all = 0..capture.len();
        Self { capture: capture.id, layer, head, rows: all.clone(), keys: all, max_side }
    }
}
