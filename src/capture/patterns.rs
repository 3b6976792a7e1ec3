//! Attention patterns re-materialised from a [`Capture`]: single cells and max-pooled tiles.

use super::Capture;
use crate::attention::{exp_shifted_row, vectorized};
use crate::progress::{CancelToken, Cancelled};
use crate::raw::{MatrixRef, matrix_product};
use std::ops::Range;

/// The value of a cell that its query can't see: not zero, not missing.
pub const MASKED: f32 = -1.0;

/// Weights that exist at a time while a tile is pooled, in elements.
const BLOCK_WEIGHTS: usize = 1 << 18;

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
    /// The exact weight of query `query` on key `key`; `None` where the query can't see the key or
    /// where there is no such layer, head or position.
    #[must_use]
    pub fn weight(&self, layer: usize, head: usize, query: usize, key: usize) -> Option<f32> {
        let spec = &self.model.spec;
        let known = layer < self.layers.len() && head < spec.heads && query < self.len();
        if !known || !self.visible_keys(layer, query).contains(&key) {
            return None;
        }
        Some(self.block(layer, head, query..query + 1, key..key + 1)[0])
    }

    /// One head's pattern over `rows` × `keys`, max-pooled until neither side exceeds `max_side` cells.
    /// Ranges are cut at the text's end.
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
        let rows = rows.start.min(self.len())..rows.end.min(self.len());
        let keys = keys.start.min(self.len())..keys.end.min(self.len());
        let pool = rows.len().max(keys.len()).div_ceil(max_side.max(1)).max(1);
        let (height, width) = (rows.len().div_ceil(pool), keys.len().div_ceil(pool));
        let mut values = vec![MASKED; height * width];
        let block_rows = (BLOCK_WEIGHTS / keys.len().max(1)).max(1);
        let mut first = rows.start;
        while first < rows.end {
            cancel.check()?;
            let block_rows = first..(first + block_rows).min(rows.end);
            // Nothing to the right of the block's last query is visible.
            let block_keys = keys.start..keys.end.min(block_rows.end).max(keys.start);
            first = block_rows.end;
            if block_keys.is_empty() {
                continue;
            }
            let weights = self.block(layer, head, block_rows.clone(), block_keys.clone());
            for (query, row) in block_rows.zip(weights.chunks_exact(block_keys.len())) {
                let cells = &mut values[(query - rows.start) / pool * width..][..width];
                let visible = self.visible_keys(layer, query);
                let seen = visible.start.max(block_keys.start)..visible.end.min(block_keys.end);
                for key in seen {
                    let cell = &mut cells[(key - keys.start) / pool];
                    let weight = row[key - block_keys.start];
                    // A NaN stays: nothing compares greater than it, and it replaces everything.
                    if weight > *cell || weight.is_nan() {
                        *cell = weight;
                    }
                }
            }
        }
        Ok(PatternTile { rows, keys, pool, height, width, values })
    }

    /// Sums over the first `rows` queries of one head's weights: on every key, and on keys at least
    /// `far_delta` before the query. Each `[rows]`.
    #[must_use]
    pub fn head_column_sums(
        &self,
        layer: usize,
        head: usize,
        rows: usize,
        far_delta: usize,
    ) -> (Vec<f64>, Vec<f64>) {
        let (mut all, mut far) = (vec![0.0; rows], vec![0.0; rows]);
        let block_rows = (BLOCK_WEIGHTS / rows.max(1)).max(1);
        for first in (0..rows).step_by(block_rows) {
            let queries = first..(first + block_rows).min(rows);
            let weights = self.block(layer, head, queries.clone(), 0..queries.end);
            for (query, row) in queries.clone().zip(weights.chunks_exact(queries.end)) {
                for key in self.visible_keys(layer, query).filter(|&key| row[key].is_finite()) {
                    all[key] += f64::from(row[key]);
                    if key + far_delta <= query {
                        far[key] += f64::from(row[key]);
                    }
                }
            }
        }
        (all, far)
    }

    /// The keys that a query sees in a layer of the run.
    #[must_use]
    pub fn visible_keys(&self, layer: usize, query: usize) -> Range<usize> {
        let window = self.model.spec.windows.get(layer).copied().flatten();
        window.map_or(0, |width| (query + 1).saturating_sub(width))..query + 1
    }

    /// Unmasked weights `[rows, keys]` of one head: `exp(score − lse)`. Cells that the query can't
    /// see hold a meaningless number.
    fn block(&self, layer: usize, head: usize, rows: Range<usize>, keys: Range<usize>) -> Vec<f32> {
        let (spec, captured) = (&self.model.spec, &self.layers[layer]);
        let (heads, kv_heads, dim) = (spec.heads, spec.kv_heads, spec.head_dim);
        let score = &captured.score;
        let (scale, softcap) = (score.scale as f32, score.softcap.map(|cap| cap as f32));
        let slope = score.slope::<f32>(head);
        let mut q = Vec::with_capacity(rows.len() * dim);
        for row in rows.clone() {
            let at = (row * heads + head) * dim;
            q.extend(captured.q[at..at + dim].iter().map(|x| x * scale));
        }
        let k = &captured.k[(keys.start * kv_heads + head / spec.group()) * dim..];
        let mut weights = vec![0.0; rows.len() * keys.len()];
        matrix_product(
            &mut weights,
            keys.len(),
            MatrixRef::rows(&q, rows.len(), dim, dim),
            MatrixRef::rows(k, keys.len(), dim, kv_heads * dim).transposed(),
        );
        vectorized(
            #[inline(always)]
            || {
                for (weights, row) in weights.chunks_exact_mut(keys.len()).zip(rows) {
                    if let Some(slope) = slope {
                        for (score, key) in weights.iter_mut().zip(keys.clone()) {
                            *score -= slope * (row as f32 - key as f32);
                        }
                    }
                    exp_shifted_row(weights, captured.lse[head * self.tokens.len() + row], softcap);
                }
            },
        );
        weights
    }
}
