//! Attention patterns re-materialised from a [`Capture`]: single cells, rows, and max-pooled tiles.

mod alignment;
mod difference;
mod hiding;
mod lines;
mod pool;
mod rows;
mod tile;

pub use alignment::{AlignBy, Alignment, EntryLabel};
pub use difference::Difference;
pub use hiding::Hiding;
pub use lines::LineWindow;

use super::Capture;
use std::ops::Range;

/// The value of a cell that its query can't see: not zero, not missing.
pub const MASKED: f32 = -3.0;
/// The value of a visible cell that there is nothing to say about: its column is hidden, nothing is
/// left of its row, or it has no counterpart to be compared with.
pub const NOT_AVAILABLE: f32 = -2.0;

/// Weights that exist at a time while a tile is pooled, in elements.
const BLOCK_WEIGHTS: usize = 1 << 18;

/// One pattern of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatternOf {
    /// One head's.
    Head {
        /// Layer.
        layer: usize,
        /// Query head.
        head: usize,
    },
    /// The mean over a layer's heads.
    LayerMean(usize),
    /// The mean over all heads of all layers.
    ModelMean,
}

/// What is done to a pattern before it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Shaping {
    /// Keys whose columns are left out, ascending.
    pub hidden: Vec<usize>,
    /// Whether each row's remaining weights are divided by their sum. A row of which the hidden keys
    /// leave less than [`Shaping::EMPTIED_BELOW`] is [`NOT_AVAILABLE`].
    pub renormalised: bool,
}

impl Shaping {
    /// A row with less than this left is emptied: what remains is mostly rounding.
    pub const EMPTIED_BELOW: f64 = 1e-4;

    /// Whether patterns are shown as they are.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.hidden.is_empty()
    }
}

/// A rectangle of a pattern, and how coarse it may be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TileArea {
    /// Query positions.
    pub rows: Range<usize>,
    /// Key positions.
    pub keys: Range<usize>,
    /// Longest side of the tile in cells.
    pub max_side: usize,
    /// Whether a sketch will do: only some rows are computed and stand for their neighbours. Columns
    /// are seen, lone cells may be missed; it bridges the time until the tile itself is there.
    pub sketch: bool,
}

impl TileArea {
    /// Rows that a sketch computes.
    pub const SKETCH_ROWS: usize = 64;

    /// All of a pattern of `side` tokens in at most `max_side` cells a side.
    #[must_use]
    pub fn whole(side: usize, max_side: usize) -> Self {
        Self { rows: 0..side, keys: 0..side, max_side, sketch: false }
    }

    /// The same area as a sketch.
    #[must_use]
    pub fn sketched(&self) -> Self {
        Self { sketch: true, ..self.clone() }
    }

    /// Query positions (and key positions) that share one cell.
    #[must_use]
    pub fn pool(&self) -> usize {
        self.rows.len().max(self.keys.len()).div_ceil(self.max_side.max(1)).max(1)
    }

    fn cut_to(&self, side: usize) -> Self {
        let cut = |range: &Range<usize>| range.start.min(side)..range.end.min(side);
        Self { rows: cut(&self.rows), keys: cut(&self.keys), ..self.clone() }
    }
}

/// A rectangle of a pattern, max-pooled so that it fits a wanted size.
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
    /// `[height, width]`: weights in 0…1 (differences in −1…1, the one of the largest magnitude),
    /// [`MASKED`] where no pooled cell is visible, [`NOT_AVAILABLE`] where none has a value, NaN where
    /// one is NaN.
    pub values: Vec<f32>,
}

impl Capture {
    /// The exact weight of query `query` on key `key`; `None` where the query can't see the key or
    /// where there is no such layer, head or position.
    #[must_use]
    pub fn weight(&self, layer: usize, head: usize, query: usize, key: usize) -> Option<f32> {
        self.cell(PatternOf::Head { layer, head }, &Shaping::default(), query, key)
    }

    /// The keys that a query sees in a layer of the run.
    #[must_use]
    pub fn visible_keys(&self, layer: usize, query: usize) -> Range<usize> {
        let window = self.model.spec.windows.get(layer).copied().flatten();
        window.map_or(0, |width| (query + 1).saturating_sub(width))..query + 1
    }

    /// The keys that a query sees in a pattern; of a mean, in any of its layers.
    #[must_use]
    pub fn visible_keys_of(&self, of: PatternOf, query: usize) -> Range<usize> {
        match of {
            PatternOf::Head { layer, .. } | PatternOf::LayerMean(layer) => self.visible_keys(layer, query),
            PatternOf::ModelMean => {
                let first = (0..self.layers.len()).map(|layer| self.visible_keys(layer, query).start).min();
                first.unwrap_or(0)..query + 1
            }
        }
    }

    /// Whether there is such a pattern, and what it can be rebuilt from.
    #[must_use]
    pub fn has(&self, of: PatternOf) -> bool {
        let exists = match of {
            PatternOf::Head { layer, head } => layer < self.layers.len() && head < self.model.spec.heads,
            PatternOf::LayerMean(layer) => layer < self.layers.len(),
            PatternOf::ModelMean => !self.layers.is_empty(),
        };
        exists && self.has_patterns()
    }

    /// The heads that a pattern is the mean of.
    fn heads_of(&self, of: PatternOf) -> Vec<(usize, usize)> {
        let layer_of = |layer| (0..self.model.spec.heads).map(move |head| (layer, head));
        match of {
            PatternOf::Head { layer, head } => vec![(layer, head)],
            PatternOf::LayerMean(layer) => layer_of(layer).collect(),
            PatternOf::ModelMean => (0..self.layers.len()).flat_map(layer_of).collect(),
        }
    }
}
