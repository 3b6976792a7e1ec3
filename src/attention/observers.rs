//! Observers: what is learnt from the weights while they exist.

use super::softmax::{RowSummary, vectorized};
use super::{Columns, Real};
use crate::capture::Checks;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The weights of one head for one block of queries.
pub struct WeightBlock<'a, T> {
    /// Query head.
    pub head: usize,
    /// Position of the first row.
    pub first_query: usize,
    /// Which keys the columns are.
    pub columns: &'a Columns,
    /// For each row the columns that it sees; every other weight of the row is 0.
    pub visible: &'a [Vec<Range<usize>>],
    /// `[rows, columns]`.
    pub weights: &'a [T],
    /// What the softmax of each row left behind.
    pub summaries: &'a [RowSummary<T>],
}

impl<T: Real> WeightBlock<'_, T> {
    /// The rows: query position, weights, visible columns, summary.
    pub fn rows(&self) -> impl Iterator<Item = (usize, &[T], &[Range<usize>], &RowSummary<T>)> {
        let rows =
            self.weights.chunks_exact(self.columns.width().max(1)).zip(self.visible).zip(self.summaries);
        rows.enumerate().map(|(i, ((weights, visible), summary))| {
            (self.first_query + i, weights, visible.as_slice(), summary)
        })
    }
}

/// Sees every block of weights once, from several threads.
pub trait Observer<T>: Sync {
    /// Looks at a block.
    fn observe(&self, block: &WeightBlock<'_, T>);
}

/// Sums over the queries, for each head and key: all of them, and the far ones only.
#[derive(Debug)]
pub struct ColumnSums {
    keys: usize,
    far_delta: usize,
    /// For each head `[2, keys]`: sums over near queries, then over far ones.
    heads: Vec<Mutex<Vec<f64>>>,
}

impl ColumnSums {
    /// Sums for `heads` × `keys`; queries at least `far_delta` behind a key count as far.
    #[must_use]
    pub fn new(heads: usize, keys: usize, far_delta: usize) -> Self {
        Self { keys, far_delta, heads: (0..heads).map(|_| Mutex::new(vec![0.0; 2 * keys])).collect() }
    }

    /// `(Σ_{t ≥ j} A[t, j], Σ_{t ≥ j + Δ} A[t, j])`, each `[heads, keys]`.
    #[must_use]
    pub fn into_sums(self) -> (Vec<f32>, Vec<f32>) {
        let (mut all, mut far_only) = (Vec::new(), Vec::new());
        for head in self.heads {
            let sums = head.into_inner().unwrap_or_else(PoisonError::into_inner);
            let (near, far) = sums.split_at(self.keys);
            all.extend(near.iter().zip(far).map(|(n, f)| (n + f) as f32));
            far_only.extend(far.iter().map(|&f| f as f32));
        }
        (all, far_only)
    }
}

impl<T: Real> Observer<T> for ColumnSums {
    fn observe(&self, block: &WeightBlock<'_, T>) {
        let width = block.columns.width();
        let (mut near, mut far) = (vec![T::zero(); width], vec![T::zero(); width]);
        vectorized(
            #[inline(always)]
            || {
                for (query, weights, visible, summary) in block.rows() {
                    if !summary.lse.is_finite() {
                        continue;
                    }
                    // Keys up to `query − Δ` are far.
                    let far_end = block.columns.columns_below((query + 1).saturating_sub(self.far_delta));
                    for range in visible {
                        let middle = far_end.clamp(range.start, range.end);
                        add(&mut far[range.start..middle], &weights[range.start..middle]);
                        add(&mut near[middle..range.end], &weights[middle..range.end]);
                    }
                }
            },
        );
        let mut sums = self.heads[block.head].lock().unwrap_or_else(PoisonError::into_inner);
        for (first_column, keys) in block.columns.ranges() {
            for (key, column) in keys.clone().zip(*first_column..) {
                sums[key] += near[column].wide();
                sums[self.keys + key] += far[column].wide();
            }
        }
    }
}

#[inline(always)]
fn add<T: Real>(sums: &mut [T], weights: &[T]) {
    for (sum, &weight) in sums.iter_mut().zip(weights) {
        *sum += weight;
    }
}

/// Measures the invariants on the weights themselves.
#[derive(Debug)]
pub struct RowChecks {
    layer: usize,
    checks: Mutex<Checks>,
}

impl RowChecks {
    /// Checks of one layer; its number names the place of a NaN.
    #[must_use]
    pub fn new(layer: usize) -> Self {
        Self { layer, checks: Mutex::default() }
    }

    /// What was found.
    #[must_use]
    pub fn into_checks(self) -> Checks {
        self.checks.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Real> Observer<T> for RowChecks {
    fn observe(&self, block: &WeightBlock<'_, T>) {
        let mut found = Checks::default();
        for (query, weights, visible, summary) in block.rows() {
            if !summary.lse.is_finite() {
                found.nan_count += 1;
                found.first_nan.get_or_insert((self.layer, block.head, query));
                continue;
            }
            let sum: T = vectorized(
                #[inline(always)]
                || visible.iter().map(|range| lane_sum(&weights[range.clone()])).sum(),
            );
            found.max_row_sum_error =
                found.max_row_sum_error.max(((sum + summary.sink_weight).wide() - 1.0).abs());
            let future = block.columns.columns_below(query + 1)..weights.len();
            for range in masked(visible, weights.len()).chain([future]) {
                for &leaked in &weights[range] {
                    found.causal_leak = found.causal_leak.max(leaked.wide().abs());
                }
            }
        }
        let mut checks = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        *checks = checks.merged(found);
    }
}

/// The columns between and behind the visible ones.
fn masked(visible: &[Range<usize>], width: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(visible.iter().map(|range| range.end));
    let ends = visible.iter().map(|range| range.start).chain([width]);
    starts.zip(ends).map(|(start, end)| start..end)
}

/// A sum in independent lanes, which vectorises and rounds less than one running sum.
#[inline(always)]
fn lane_sum<T: Real>(values: &[T]) -> T {
    let mut lanes = [T::zero(); 16];
    let (chunks, rest) = values.as_chunks::<16>();
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane += value;
        }
    }
    lanes.into_iter().chain(rest.iter().copied()).sum()
}
