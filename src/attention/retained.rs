//! The kernel's row-by-row form: where the weights of one row decide what the next row sees.

use super::softmax::{softmax_row, vectorized};
use super::{Real, ScoreRule};
use crate::raw::{MatrixRef, matrix_product};

/// The cache of one KV head: what it still holds, in no particular order.
#[derive(Debug, Clone, Default)]
pub struct RetainedKeys<T> {
    head_dim: usize,
    /// Position of each key.
    positions: Vec<usize>,
    /// Rotated keys, `[held, head_dim]`.
    k: Vec<T>,
    /// Values, `[held, head_dim]`.
    v: Vec<T>,
    /// Sum of attention on each key so far, over all queries and the group's heads.
    sums: Vec<f64>,
    scores: Vec<T>,
    scaled: Vec<T>,
}

impl<T: Real> RetainedKeys<T> {
    /// An empty cache.
    #[must_use]
    pub fn new(head_dim: usize) -> Self {
        Self { head_dim, ..Self::default() }
    }

    /// Adds a key with the attention that it has had so far.
    pub fn push(&mut self, position: usize, k: &[T], v: &[T], sum: f64) {
        self.positions.push(position);
        self.k.extend_from_slice(k);
        self.v.extend_from_slice(v);
        self.sums.push(sum);
    }

    /// Evicts the key at a place; the last one takes its place.
    pub fn evict(&mut self, place: usize) {
        let dim = self.head_dim;
        let last = self.positions.len() - 1;
        self.positions.swap_remove(place);
        self.sums.swap_remove(place);
        for rows in [&mut self.k, &mut self.v] {
            rows.copy_within(last * dim..(last + 1) * dim, place * dim);
            rows.truncate(last * dim);
        }
    }

    /// Position of each key held.
    #[must_use]
    pub fn positions(&self) -> &[usize] {
        &self.positions
    }

    /// Sum of attention on each key held.
    #[must_use]
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// One row: the group's queries `[group, head_dim]`, of which the first is head `first_head`'s, attend
    /// to all keys held, from position `query`. Fills `context` `[group, head_dim]`, adds the weights to the
    /// sums, and returns for each key the weight summed over the group.
    pub fn attend(
        &mut self,
        q: &[T],
        score: &ScoreRule,
        first_head: usize,
        query: usize,
        context: &mut [T],
    ) -> Vec<f64> {
        let (dim, held) = (self.head_dim, self.positions.len());
        let group = q.len() / dim;
        let scale = T::of(score.scale);
        self.scaled.clear();
        self.scaled.extend(q.iter().map(|&x| x * scale));
        self.scores.resize(group * held, T::zero());
        let keys = MatrixRef::rows(&self.k, held, dim, dim);
        let queries = MatrixRef::rows(&self.scaled, group, dim, dim);
        matrix_product(&mut self.scores, held, queries, keys.transposed());
        let softcap = score.softcap.map(T::of);
        let (scores, positions) = (&mut self.scores, &self.positions);
        #[expect(clippy::single_range_in_vec_init, reason = "a row with one visible range")]
        let all = [0..held];
        vectorized(
            #[inline(always)]
            || {
                for (row, head) in scores.chunks_exact_mut(held).zip(first_head..) {
                    if let Some(slope) = score.slope::<T>(head) {
                        for (score, &key) in row.iter_mut().zip(positions) {
                            *score = *score - slope * T::of((query - key) as f64);
                        }
                    }
                    softmax_row(row, &all, softcap, score.sink(head));
                }
            },
        );
        let values = MatrixRef::rows(&self.v, held, dim, dim);
        matrix_product(context, dim, MatrixRef::rows(&self.scores, group, held, held), values);
        let weight_on =
            |key: usize| (0..group).map(|head| self.scores[head * held + key].wide()).sum::<f64>();
        let weights: Vec<f64> = (0..held).map(weight_on).collect();
        self.sums.iter_mut().zip(&weights).for_each(|(sum, weight)| *sum += weight);
        weights
    }
}
