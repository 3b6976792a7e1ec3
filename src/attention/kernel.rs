//! The kernel on the CPU: blocks of queries in parallel, each small enough for the cache.

use super::softmax::{RowSummary, softmax_row, vectorized};
use super::{Columns, Geometry, Observer, Real, ScoreRule, VisibilityRule, WeightBlock};
use crate::progress::{CancelToken, Cancelled};
use crate::raw::{MatrixRef, matrix_product};
use rayon::prelude::*;
use std::ops::Range;

/// Scores of one block and KV head may take this much, so that they stay in a core's second-level cache.
const BLOCK_SCORE_BYTES: usize = 1 << 20;
/// Blocks have at most this many queries: more would compute too many cells above the diagonal.
const MAX_BLOCK_ROWS: usize = 64;
/// … and at least this many, below which the matrix products lose their speed.
const MIN_BLOCK_ROWS: usize = 16;

/// Rotated queries, keys and values of one layer.
#[derive(Clone, Copy)]
pub struct AttentionInput<'a, T> {
    /// `[queries, heads, head_dim]`.
    pub q: &'a [T],
    /// `[keys, kv_heads, head_dim]`.
    pub k: &'a [T],
    /// `[keys, kv_heads, head_dim]`.
    pub v: &'a [T],
    /// Head counts and width.
    pub geometry: Geometry,
    /// From `q · k` to a score.
    pub score: &'a ScoreRule,
    /// Position of the first query; keys are counted from position 0.
    pub first_query: usize,
    /// Retained keys close up to slots; `None` for the text's own positions.
    pub slots: Option<Slots<'a, T>>,
}

/// Retained keys count from their slots in the cache.
#[derive(Clone, Copy)]
pub struct Slots<'a, T> {
    /// How the layer's rotary embedding follows, where it has one.
    pub rotation: Option<SlotRotation<'a, T>>,
}

/// Rotary tables, `[positions, pairs]` each, to move queries from text positions to slots.
///
/// A key behind a gap of `g` evicted ones is `g` positions nearer in slots than in the text. Rotating
/// the query back by `g` gives the same score as rotating the key forward, and keys stay as they are.
#[derive(Clone, Copy)]
pub struct SlotRotation<'a, T> {
    /// Cosines.
    pub cos: &'a [T],
    /// Sines.
    pub sin: &'a [T],
    /// Rotated pairs of a head; its elements from `2 · pairs` on are not rotated.
    pub pairs: usize,
}

impl<T: Real> SlotRotation<'_, T> {
    /// `query` rotated back by `gap` positions · `key`.
    fn product(&self, query: &[T], key: &[T], gap: usize) -> T {
        let pairs = self.pairs;
        let (cos, sin) = (&self.cos[gap * pairs..][..pairs], &self.sin[gap * pairs..][..pairs]);
        let ((query, q_rest), (key, k_rest)) = (query.split_at(2 * pairs), key.split_at(2 * pairs));
        let ((q0, q1), (k0, k1)) = (query.split_at(pairs), key.split_at(pairs));
        let terms = (0..pairs)
            .map(|i| k0[i] * (q0[i] * cos[i] + q1[i] * sin[i]) + k1[i] * (q1[i] * cos[i] - q0[i] * sin[i]));
        terms.chain(q_rest.iter().zip(k_rest).map(|(&q, &k)| q * k)).sum()
    }
}

/// What the softmax of each row leaves behind, `[heads, queries]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RowSummaries<T> {
    /// Log-sum-exp of each row's scores.
    pub lse: Vec<T>,
    /// Entropy of each row in nats.
    pub entropy_nats: Vec<T>,
}

/// Attention over slices: returns the context `[queries, heads, head_dim]` and the rows' summaries.
///
/// Parallel over blocks of queries. The observers see every weight once, in no particular order.
///
/// # Errors
/// [`Cancelled`] when the token is raised between blocks.
///
/// # Panics
/// When a slice does not have the size that the geometry says.
pub fn attend_slices<T: Real>(
    input: &AttentionInput<'_, T>,
    rule: &dyn VisibilityRule,
    observers: &[&dyn Observer<T>],
    cancel: &CancelToken,
) -> Result<(Vec<T>, RowSummaries<T>), Cancelled> {
    let Geometry { heads, kv_heads, head_dim } = input.geometry;
    let queries = input.q.len() / (heads * head_dim);
    let keys = input.first_query + queries;
    assert_eq!(input.q.len(), queries * heads * head_dim, "queries are [n, heads, head_dim]");
    assert_eq!(input.k.len(), keys * kv_heads * head_dim, "keys are [n, kv_heads, head_dim]");
    assert_eq!(input.v.len(), input.k.len(), "values are shaped like keys");

    let mut context = vec![T::zero(); input.q.len()];
    let block_rows = block_rows(input.geometry.group(), keys, queries);
    // The last blocks see the most keys: hand them out first, so that none straggles.
    let summaries: Vec<(Range<usize>, Vec<RowSummary<T>>)> = context
        .par_chunks_mut(block_rows * heads * head_dim)
        .enumerate()
        .rev()
        .map_init(Scratch::default, |scratch, (block, context)| {
            cancel.check()?;
            let first = block * block_rows;
            let rows = first..(first + block_rows).min(queries);
            let summaries = Block::new(input, rule, rows.clone()).run(context, observers, scratch);
            Ok((rows, summaries))
        })
        .collect::<Result<_, Cancelled>>()?;

    let nan = T::nan();
    let mut all = RowSummaries { lse: vec![nan; heads * queries], entropy_nats: vec![nan; heads * queries] };
    for (rows, block) in &summaries {
        for (i, summary) in block.iter().enumerate() {
            let at = i / rows.len() * queries + rows.start + i % rows.len();
            all.lse[at] = summary.lse;
            all.entropy_nats[at] = summary.entropy_nats;
        }
    }
    Ok((context, all))
}

/// Rows per block: as many as fit the cache, few enough to occupy every thread.
fn block_rows(group: usize, keys: usize, queries: usize) -> usize {
    let fitting = BLOCK_SCORE_BYTES / (group * keys * size_of::<f32>()).max(1);
    let shared = queries.div_ceil(4 * rayon::current_num_threads());
    fitting.min(shared).clamp(MIN_BLOCK_ROWS, MAX_BLOCK_ROWS)
}

/// Buffers that one thread reuses from block to block.
#[derive(Default)]
struct Scratch<T> {
    q: Vec<T>,
    k: Vec<T>,
    v: Vec<T>,
    scores: Vec<T>,
    context: Vec<T>,
}

/// One block of queries, all heads.
struct Block<'a, T> {
    input: &'a AttentionInput<'a, T>,
    /// Query indices of the block, counted from the first query of the input.
    rows: Range<usize>,
    columns: Columns,
    /// For each row the columns that it sees.
    visible: Vec<Vec<Range<usize>>>,
}

impl<'a, T: Real> Block<'a, T> {
    fn new(input: &'a AttentionInput<'a, T>, rule: &dyn VisibilityRule, rows: Range<usize>) -> Self {
        let positions = input.first_query + rows.start..input.first_query + rows.end;
        let columns = Columns::of(rule, positions.clone());
        let visible = positions.map(|query| columns.row(rule, query)).collect();
        Self { input, rows, columns, visible }
    }

    /// Fills the block's context `[rows, heads, head_dim]`; returns the summaries `[heads, rows]`.
    fn run(
        &self,
        context: &mut [T],
        observers: &[&dyn Observer<T>],
        scratch: &mut Scratch<T>,
    ) -> Vec<RowSummary<T>> {
        let Geometry { heads, kv_heads, .. } = self.input.geometry;
        let mut summaries = Vec::with_capacity(heads * self.rows.len());
        for kv_head in 0..kv_heads {
            self.score(kv_head, scratch);
            self.normalise(kv_head, scratch, &mut summaries);
            self.observe(kv_head, &scratch.scores, &summaries, observers);
            self.apply(kv_head, scratch, context);
        }
        summaries
    }

    /// Scores of the KV head's query group: `[group · rows, columns]`, head by head.
    fn score(&self, kv_head: usize, scratch: &mut Scratch<T>) {
        let Geometry { heads, head_dim, .. } = self.input.geometry;
        let group = self.input.geometry.group();
        let scale = T::of(self.input.score.scale);
        scratch.q.clear();
        for head in kv_head * group..(kv_head + 1) * group {
            for row in self.rows.clone() {
                let at = (row * heads + head) * head_dim;
                scratch.q.extend(self.input.q[at..at + head_dim].iter().map(|&x| x * scale));
            }
        }
        let stacked = group * self.rows.len();
        scratch.scores.resize((stacked * self.columns.width()).max(scratch.scores.len()), T::zero());
        let queries = MatrixRef::rows(&scratch.q, stacked, head_dim, head_dim);
        let keys = self.packed(self.input.k, kv_head, &mut scratch.k);
        matrix_product(&mut scratch.scores, self.columns.width(), queries, keys.transposed());
        if let Some(rotation) = self.input.slots.as_ref().and_then(|slots| slots.rotation.as_ref()) {
            self.close_gaps(rotation, keys, &scratch.q, &mut scratch.scores);
        }
        if self.input.score.alibi_slopes.is_some() {
            self.add_distances(kv_head, &mut scratch.scores);
        }
    }

    /// Replaces the scores of keys behind a gap by those of their slots.
    fn close_gaps(&self, rotation: &SlotRotation<'_, T>, keys: MatrixRef<'_, T>, q: &[T], scores: &mut [T]) {
        let (dim, width) = (self.input.geometry.head_dim, self.columns.width());
        let rows = q.chunks_exact(dim).zip(scores.chunks_exact_mut(width));
        for ((query, scores), visible) in rows.zip(self.visible.iter().cycle()) {
            for (range, gap) in self.columns.gaps(visible).filter(|(_, gap)| *gap > 0) {
                for column in range {
                    scores[column] = rotation.product(query, keys.row(column), gap);
                }
            }
        }
    }

    /// Lowers each score by its head's slope times the distance between key and query, in the text or in slots.
    fn add_distances(&self, kv_head: usize, scores: &mut [T]) {
        let (group, rows, width) = (self.input.geometry.group(), self.rows.len(), self.columns.width());
        for (stacked, scores) in scores.chunks_exact_mut(width).take(group * rows).enumerate() {
            let Some(slope) = self.input.score.slope::<T>(kv_head * group + stacked / rows) else { return };
            let row = stacked % rows;
            let query = self.input.first_query + self.rows.start + row;
            for (range, gap) in self.columns.gaps(&self.visible[row]) {
                let closed = if self.input.slots.is_some() { gap } else { 0 };
                let first_distance = query - self.columns.key_of(range.start) - closed;
                for (score, nearer) in scores[range].iter_mut().zip(0..) {
                    *score = *score - slope * T::of((first_distance - nearer) as f64);
                }
            }
        }
    }

    fn normalise(&self, kv_head: usize, scratch: &mut Scratch<T>, summaries: &mut Vec<RowSummary<T>>) {
        let (width, softcap) = (self.columns.width(), self.input.score.softcap.map(T::of));
        let (group, rows) = (self.input.geometry.group(), self.rows.len());
        for (in_group, scores) in scratch.scores.chunks_exact_mut(rows * width).take(group).enumerate() {
            let sink = self.input.score.sink(kv_head * group + in_group);
            vectorized(
                #[inline(always)]
                || {
                    for (row, visible) in scores.chunks_exact_mut(width).zip(&self.visible) {
                        summaries.push(softmax_row(row, visible, softcap, sink));
                    }
                },
            );
        }
    }

    fn observe(
        &self,
        kv_head: usize,
        weights: &[T],
        summaries: &[RowSummary<T>],
        observers: &[&dyn Observer<T>],
    ) {
        let (group, rows, width) = (self.input.geometry.group(), self.rows.len(), self.columns.width());
        for head in kv_head * group..(kv_head + 1) * group {
            let stacked = (head - kv_head * group) * rows;
            let block = WeightBlock {
                head,
                first_query: self.input.first_query + self.rows.start,
                columns: &self.columns,
                visible: &self.visible,
                weights: &weights[stacked * width..(stacked + rows) * width],
                summaries: &summaries[head * rows..(head + 1) * rows],
            };
            for observer in observers {
                observer.observe(&block);
            }
        }
    }

    /// Weights · values, put where the heads belong in the context.
    fn apply(&self, kv_head: usize, scratch: &mut Scratch<T>, context: &mut [T]) {
        let Geometry { heads, head_dim, .. } = self.input.geometry;
        let (group, rows, width) = (self.input.geometry.group(), self.rows.len(), self.columns.width());
        let weights = MatrixRef::rows(&scratch.scores, group * rows, width, width);
        let values = self.packed(self.input.v, kv_head, &mut scratch.v);
        scratch.context.resize((group * rows * head_dim).max(scratch.context.len()), T::zero());
        matrix_product(&mut scratch.context, head_dim, weights, values);
        for (stacked, mixed) in scratch.context.chunks_exact(head_dim).take(group * rows).enumerate() {
            let (head, row) = (kv_head * group + stacked / rows, stacked % rows);
            let at = (row * heads + head) * head_dim;
            context[at..at + head_dim].copy_from_slice(mixed);
        }
    }

    /// Keys or values of the block's columns, `[columns, head_dim]`: in place where the columns are
    /// one range of keys, gathered where pins leave gaps.
    fn packed<'b>(&self, source: &'b [T], kv_head: usize, gathered: &'b mut Vec<T>) -> MatrixRef<'b, T> {
        let Geometry { kv_heads, head_dim, .. } = self.input.geometry;
        let (width, stride) = (self.columns.width(), kv_heads * head_dim);
        let at = |key: usize| key * stride + kv_head * head_dim;
        if let Some(keys) = self.columns.contiguous() {
            return MatrixRef::rows(&source[at(keys.start)..], width, head_dim, stride);
        }
        gathered.clear();
        for key in self.columns.ranges().iter().flat_map(|(_, keys)| keys.clone()) {
            gathered.extend_from_slice(&source[at(key)..at(key) + head_dim]);
        }
        MatrixRef::rows(gathered, width, head_dim, head_dim)
    }
}
