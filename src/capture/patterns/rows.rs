//! Rows of patterns as plain numbers: scores, weights, and what hidden keys leave of a row.

use super::{BLOCK_WEIGHTS, MASKED, NOT_AVAILABLE, PatternOf, Shaping};
use crate::attention::{exp_shifted_row, vectorized};
use crate::capture::Capture;
use crate::progress::{CancelToken, Cancelled};
use crate::raw::{MatrixRef, matrix_product};
use std::ops::Range;

impl Capture {
    /// The exact value of a cell after shaping; `None` where the query can't see the key or where there
    /// is no such pattern or position.
    #[must_use]
    pub fn cell(&self, of: PatternOf, shaping: &Shaping, query: usize, key: usize) -> Option<f32> {
        let known = self.has(of) && query < self.len();
        if !known || !self.visible_keys_of(of, query).contains(&key) {
            return None;
        }
        Some(self.weights(of, shaping, &[query], key..key + 1)[0])
    }

    /// Weights `[rows, keys]` after shaping, [`MASKED`] where a query can't see a key, [`NOT_AVAILABLE`]
    /// in hidden columns and emptied rows. The pattern and all positions must exist.
    #[must_use]
    pub fn weights(&self, of: PatternOf, shaping: &Shaping, rows: &[usize], keys: Range<usize>) -> Vec<f32> {
        let width = keys.len();
        let mut weights = self.plain_weights(of, rows, keys.clone());
        let left = self.left_of_rows(of, shaping, rows);
        for ((row, &query), left) in weights.chunks_exact_mut(width.max(1)).zip(rows).zip(left) {
            let visible = self.visible_keys_of(of, query);
            let seen = offsets(&visible, &keys);
            row[..seen.start].fill(MASKED);
            row[seen.end..].fill(MASKED);
            match left {
                None => row[seen.clone()].fill(NOT_AVAILABLE),
                Some(1.0) => {}
                Some(left) => row[seen.clone()].iter_mut().for_each(|w| *w = (f64::from(*w) / left) as f32),
            }
            for key in shaping.hidden.iter().filter(|key| keys.contains(key)).map(|key| key - keys.start) {
                if seen.contains(&key) {
                    row[key] = NOT_AVAILABLE;
                }
            }
        }
        weights
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
            let queries: Vec<usize> = (first..(first + block_rows).min(rows)).collect();
            let end = first + queries.len();
            let weights = self.plain_weights(PatternOf::Head { layer, head }, &queries, 0..end);
            for (&query, row) in queries.iter().zip(weights.chunks_exact(end)) {
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

    /// The weight that a query gives to the model's virtual key; 0 where it has none. The row's other
    /// weights sum to 1 less this.
    #[must_use]
    pub fn virtual_weight(&self, layer: usize, head: usize, query: usize) -> f64 {
        let captured = &self.layers[layer];
        let logit = captured.score.sink::<f64>(head);
        logit.map_or(0.0, |logit| (logit - f64::from(captured.lse[head * self.len() + query])).exp())
    }

    /// What hidden keys leave of each row, where rows are renormalised; 1 where they are not, `None`
    /// where too little is left.
    pub(super) fn left_of_rows(&self, of: PatternOf, shaping: &Shaping, rows: &[usize]) -> Vec<Option<f64>> {
        if !shaping.renormalised || shaping.hidden.is_empty() {
            return vec![Some(1.0); rows.len()];
        }
        let heads = self.heads_of(of);
        let virtual_key = |&query: &usize| {
            let sum: f64 = heads.iter().map(|&(layer, head)| self.virtual_weight(layer, head, query)).sum();
            1.0 - sum / heads.len().max(1) as f64
        };
        let mut left: Vec<f64> = rows.iter().map(virtual_key).collect();
        for &key in &shaping.hidden {
            let column = self.plain_weights(of, rows, key..key + 1);
            for ((left, weight), &query) in left.iter_mut().zip(column).zip(rows) {
                if self.visible_keys_of(of, query).contains(&key) {
                    *left -= f64::from(weight);
                }
            }
        }
        left.into_iter()
            .map(|left| (left.is_nan() || left >= Shaping::EMPTIED_BELOW).then_some(left))
            .collect()
    }

    /// Weights `[rows, keys]` of a pattern before shaping. Cells that the query can't see hold a
    /// meaningless number.
    pub(super) fn plain_weights(&self, of: PatternOf, rows: &[usize], keys: Range<usize>) -> Vec<f32> {
        let never = CancelToken::new();
        self.weights_unless(of, rows, keys, &never).unwrap_or_default()
    }

    /// As [`Capture::plain_weights`]; a mean over many heads looks at the token after each.
    pub(super) fn weights_unless(
        &self,
        of: PatternOf,
        rows: &[usize],
        keys: Range<usize>,
        cancel: &CancelToken,
    ) -> Result<Vec<f32>, Cancelled> {
        let heads = self.heads_of(of);
        if let [(layer, head)] = heads[..] {
            return Ok(self.head_weights(layer, head, rows, keys));
        }
        let width = keys.len().max(1);
        let mut sums = vec![0.0; rows.len() * keys.len()];
        for &(layer, head) in &heads {
            cancel.check()?;
            let weights = self.head_weights(layer, head, rows, keys.clone());
            let lines = sums.chunks_exact_mut(width).zip(weights.chunks_exact(width));
            for ((sums, weights), &query) in lines.zip(rows) {
                let seen = offsets(&self.visible_keys(layer, query), &keys);
                sums[seen.clone()].iter_mut().zip(&weights[seen]).for_each(|(sum, weight)| *sum += weight);
            }
        }
        let share = 1.0 / heads.len().max(1) as f32;
        sums.iter_mut().for_each(|sum| *sum *= share);
        Ok(sums)
    }

    fn head_weights(&self, layer: usize, head: usize, rows: &[usize], keys: Range<usize>) -> Vec<f32> {
        let mut weights = self.scores(layer, head, rows, keys.clone());
        let lse = &self.layers[layer].lse[head * self.len()..];
        vectorized(
            #[inline(always)]
            || {
                for (weights, &row) in weights.chunks_exact_mut(keys.len()).zip(rows) {
                    exp_shifted_row(weights, lse[row], None);
                }
            },
        );
        weights
    }

    /// Scores `[rows, keys]` of one head, scaled and capped, visible or not; NaN where queries and keys were not
    /// kept.
    pub(super) fn scores(&self, layer: usize, head: usize, rows: &[usize], keys: Range<usize>) -> Vec<f32> {
        let (spec, captured) = (&self.model.spec, &self.layers[layer]);
        let (heads, kv_heads, dim) = (spec.heads, spec.kv_heads, spec.head_dim);
        if captured.q.is_empty() || captured.k.is_empty() {
            return vec![f32::NAN; rows.len() * keys.len()];
        }
        let score = &captured.score;
        let scale = score.scale as f32;
        // With gaps between its elements: the kernels for small products, which ask for none, sum in another order,
        // and a cell must have the same bits however many are asked for with it.
        let mut q = Vec::with_capacity(rows.len() * 2 * dim);
        for row in rows {
            let at = (row * heads + head) * dim;
            q.extend(captured.q[at..at + dim].iter().flat_map(|x| [x * scale, 0.0]));
        }
        let mut scores = vec![0.0; rows.len() * keys.len()];
        if scores.is_empty() {
            return scores;
        }
        let k = &captured.k[(keys.start * kv_heads + head / spec.group()) * dim..];
        matrix_product(
            &mut scores,
            keys.len(),
            MatrixRef { column_stride: 2, ..MatrixRef::rows(&q, rows.len(), dim, 2 * dim) },
            MatrixRef::rows(k, keys.len(), dim, kv_heads * dim).transposed(),
        );
        self.finish_scores(layer, head, &mut scores, rows, &keys);
        scores
    }

    /// What comes after the product: the slope of positions, and the cap.
    fn finish_scores(
        &self,
        layer: usize,
        head: usize,
        scores: &mut [f32],
        rows: &[usize],
        keys: &Range<usize>,
    ) {
        let score = &self.layers[layer].score;
        if let Some(slope) = score.slope::<f32>(head) {
            for (scores, &row) in scores.chunks_exact_mut(keys.len()).zip(rows) {
                for (score, key) in scores.iter_mut().zip(keys.clone()) {
                    *score -= slope * (row as f32 - key as f32);
                }
            }
        }
        if let Some(cap) = score.softcap.map(|cap| cap as f32) {
            scores.iter_mut().for_each(|score| *score = cap * (*score / cap).tanh());
        }
    }

    /// Weights of many single cells (query, key) of one head, 0 where the query can't see the key. They are summed in
    /// another order than [`Capture::weights`], which is much faster for single cells: the last bits may differ.
    #[must_use]
    pub fn weights_at(&self, layer: usize, head: usize, cells: &[(usize, usize)]) -> Vec<f32> {
        let (spec, captured) = (&self.model.spec, &self.layers[layer]);
        let (kv_heads, dim) = (spec.kv_heads, spec.head_dim);
        if captured.q.is_empty() || captured.k.is_empty() {
            return vec![f32::NAN; cells.len()];
        }
        let scale = captured.score.scale as f32;
        let lse = &captured.lse[head * self.len()..];
        vectorized(
            #[inline(always)]
            || {
                let weight = |&(query, key): &(usize, usize)| {
                    if !self.visible_keys(layer, query).contains(&key) {
                        return 0.0;
                    }
                    let q = &captured.q[(query * spec.heads + head) * dim..][..dim];
                    let k = &captured.k[(key * kv_heads + head / spec.group()) * dim..][..dim];
                    let mut weight = [dot(q, k) * scale];
                    self.finish_scores(layer, head, &mut weight, &[query], &(key..key + 1));
                    exp_shifted_row(&mut weight, lse[query], None);
                    weight[0]
                };
                cells.iter().map(weight).collect()
            },
        )
    }
}

#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    lanes.into_iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}

/// Where `visible` lies within `keys`, as offsets from the first of them.
pub(super) fn offsets(visible: &Range<usize>, keys: &Range<usize>) -> Range<usize> {
    let end = visible.end.min(keys.end).max(keys.start);
    let start = visible.start.clamp(keys.start, end);
    start - keys.start..end - keys.start
}
