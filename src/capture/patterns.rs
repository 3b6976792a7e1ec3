//! Attention patterns re-materialised from a [`Capture`]: single cells and max-pooled tiles.

use super::Capture;
use crate::progress::{CancelToken, Cancelled};
use std::ops::Range;

/// The value of a cell that its query can't see: not zero, not missing.
pub const MASKED: f32 = -1.0;

/// A rectangle of one head's pattern, max-pooled so that it fits a wanted size.
#[derive(Debug, Clone, PartialEq)]
pub struct PatternTile {
    /// Query positions covered.
    pub rows: Range<usize>,
    /// Key positions covered.
    pub keys: Range<usize>,
    /// Query positions (and key positions) that share one cell; 1 is exact.
    pub pool: usize,
    /// Cells down: `rows.len().div_ceil(pool)`.
    pub height: usize,
    /// Cells across: `keys.len().div_ceil(pool)`.
    pub width: usize,
    /// `[height, width]`: weights in 0…1, [`MASKED`] where no pooled cell is visible, NaN where one is NaN.
    pub values: Vec<f32>,
}

impl Capture {
    /// The exact weight of query `query` on key `key`; `None` where the query can't see the key.
    #[must_use]
    pub fn weight(&self, layer: usize, head: usize, query: usize, key: usize) -> Option<f32> {
        let _ = (layer, head, query, key);
        todo!("filled in with the kernel")
    }

    /// One head's pattern over `rows` × `keys`, max-pooled until neither side exceeds `max_side` cells.
    ///
    /// # Errors
    /// [`Cancelled`] when the token is raised between blocks.
    pub fn pattern_tile(
        &self,
        layer: usize,
        head: usize,
        rows: Range<usize>,
        keys: Range<usize>,
        max_side: usize,
        cancel: &CancelToken,
    ) -> Result<PatternTile, Cancelled> {
        let _ = (layer, head, rows, keys, max_side, cancel);
        todo!("filled in with the kernel")
    }
}
