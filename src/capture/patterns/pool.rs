//! Max-pooling of rows that come one after the other, fast enough for a whole head at 4,096 tokens.
//!
//! Weights may come as logarithms: the exponential is monotone, so only the pooled cells need one.

use super::{MASKED, NOT_AVAILABLE, PatternTile, TileArea};
use crate::attention::{exp_shifted_row, vectorized};
use std::ops::Range;

/// Stands for [`MASKED`] while values are pooled: below everything.
pub(super) const NOTHING: f32 = f32::NEG_INFINITY;
/// Stands for [`NOT_AVAILABLE`] while values are pooled: above [`NOTHING`], below every value.
pub(super) const NO_VALUE: f32 = f32::MIN;

/// What the values that come in are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// Logarithms of weights.
    Logarithms,
    /// Weights.
    Weights,
    /// Differences: the largest magnitude is kept.
    Differences,
}

/// A tile that is being pooled. Rows come in ascending order.
pub(super) struct Pooler<'a> {
    area: &'a TileArea,
    kind: Values,
    /// Offsets of hidden columns.
    hidden: Vec<usize>,
    tile: PatternTile,
    /// The heaviest values of the rows that share the current row of cells.
    line: Vec<f32>,
    /// The row of cells that `line` belongs to.
    current: usize,
}

impl<'a> Pooler<'a> {
    pub(super) fn new(area: &'a TileArea, kind: Values, hidden: &[usize]) -> Self {
        let pool = area.pool();
        let (height, width) = (area.rows.len().div_ceil(pool), area.keys.len().div_ceil(pool));
        let values = vec![MASKED; height * width];
        let (rows, keys) = (area.rows.clone(), area.keys.clone());
        let offsets = hidden.iter().filter(|key| keys.contains(key)).map(|key| key - keys.start);
        Self {
            area,
            kind,
            hidden: offsets.collect(),
            line: vec![NOTHING; keys.len()],
            tile: PatternTile { rows, keys, pool, height, width, values },
            current: 0,
        }
    }

    /// Adds the values of a row at the offsets `seen`; `values` begins at the area's first key.
    /// `shift` is taken off each (the row's log-sum-exp, where they are logarithms).
    pub(super) fn add(&mut self, row: usize, seen: Range<usize>, values: &[f32], shift: f32) {
        self.turn_to(row);
        let (line, values) = (&mut self.line[seen.clone()], &values[seen]);
        let kind = self.kind;
        vectorized(
            #[inline(always)]
            || match kind {
                Values::Differences => {
                    for (kept, &value) in line.iter_mut().zip(values) {
                        *kept = larger_magnitude(*kept, value);
                    }
                }
                _ => {
                    for (kept, &value) in line.iter_mut().zip(values) {
                        *kept = heavier(*kept, value - shift);
                    }
                }
            },
        );
    }

    /// Adds a row of which nothing can be said.
    pub(super) fn add_empty(&mut self, row: usize, seen: Range<usize>) {
        self.turn_to(row);
        self.line[seen].iter_mut().for_each(|kept| *kept = heavier(*kept, NO_VALUE));
    }

    /// The tile.
    pub(super) fn finish(mut self) -> PatternTile {
        self.flush();
        self.tile
    }

    fn turn_to(&mut self, row: usize) {
        let cells = (row - self.area.rows.start) / self.tile.pool;
        if cells != self.current {
            self.flush();
            self.current = cells;
        }
    }

    /// Pools the line into the current row of cells.
    fn flush(&mut self) {
        for &offset in &self.hidden {
            if self.line[offset] != NOTHING {
                self.line[offset] = NO_VALUE;
            }
        }
        let width = self.tile.width;
        let Some(cells) = self.tile.values.get_mut(self.current * width..(self.current + 1) * width) else {
            return;
        };
        let pick = if self.kind == Values::Differences { larger_magnitude } else { heavier };
        let pooled: Vec<f32> =
            self.line.chunks(self.tile.pool).map(|part| part.iter().copied().fold(NOTHING, pick)).collect();
        cells.copy_from_slice(&pooled);
        if self.kind == Values::Logarithms {
            vectorized(
                #[inline(always)]
                || exp_shifted_row(cells, 0.0, None),
            );
        }
        for (cell, pooled) in cells.iter_mut().zip(pooled) {
            if pooled == NOTHING {
                *cell = MASKED;
            } else if pooled == NO_VALUE {
                *cell = NOT_AVAILABLE;
            }
        }
        self.line.fill(NOTHING);
    }
}

/// The larger; a NaN stays and replaces everything.
#[inline(always)]
fn heavier(kept: f32, value: f32) -> f32 {
    if kept.is_nan() || value <= kept { kept } else { value }
}

/// The one farther from 0; what is no difference gives way, a NaN stays and replaces everything.
#[inline(always)]
fn larger_magnitude(kept: f32, value: f32) -> f32 {
    let rank = |value: f32| if value < -2.0 { value } else { value.abs() };
    if kept.is_nan() || rank(value) <= rank(kept) { kept } else { value }
}
