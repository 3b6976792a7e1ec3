//! The same steps as the CPU kernel in plain candle ops, for devices. The tests run them on the CPU.

use super::op::{Attended, AttentionCall, KeyPositions, Statistics};
use super::{Columns, Geometry};
use crate::Result;
use crate::capture::Checks;
use crate::model::decoder::RotaryTable;
use crate::progress::CancelToken;
use candle_core::{D, DType, Tensor};
use std::ops::Range;

/// A device takes larger blocks than a core's cache: scores of one block, all heads, in elements.
const BLOCK_SCORES: usize = 1 << 26;
/// Finite stand-in for −∞ in f32: its exponential is exactly 0, and 0 · it is no NaN.
const MASKED_SCORE: f32 = -1e30;

/// Attention in candle ops; see [`super::attend`].
///
/// # Errors
/// A cancelled token, or a failure of the device.
pub fn attend_with_candle_ops(
    call: &AttentionCall<'_>,
    observe_far_delta: Option<usize>,
    cancel: &CancelToken,
) -> Result<Attended> {
    let (queries, heads, head_dim) = call.q.dims3()?;
    let keys = call.k.dim(0)?;
    let block_rows = (BLOCK_SCORES / (heads * keys)).clamp(16, 1024);
    let mut contexts = Vec::new();
    let mut observed = observe_far_delta.map(|_| Observed::new(heads, queries, keys));
    for first in (0..queries).step_by(block_rows) {
        cancel.check()?;
        let rows = first..(first + block_rows).min(queries);
        let block = Block::new(call, rows);
        let softmaxed = block.softmax()?;
        contexts.push(block.context(&softmaxed.weights)?);
        if let (Some(observed), Some(delta)) = (&mut observed, observe_far_delta) {
            observed.add(&block, &softmaxed, delta)?;
        }
    }
    let context = Tensor::cat(&contexts, 0)?.reshape((queries, heads * head_dim))?;
    Ok(Attended { context, statistics: observed.map(|observed| observed.statistics) })
}

/// Attention of one block.
struct Softmaxed {
    /// Masked scores `[heads, rows, columns]`.
    scores: Tensor,
    /// Log-sum-exp of each row `[heads, rows, 1]`.
    lse: Tensor,
    /// `[heads, rows, columns]`.
    weights: Tensor,
}

/// One block of queries with the keys that it sees.
struct Block<'a> {
    call: &'a AttentionCall<'a>,
    /// Query indices, counted from the first query of the call.
    rows: Range<usize>,
    columns: Columns,
    /// 1 where a row sees a column, else 0: `[rows, columns]`.
    visible: Vec<f32>,
}

impl<'a> Block<'a> {
    fn new(call: &'a AttentionCall<'a>, rows: Range<usize>) -> Self {
        let positions = call.first_query + rows.start..call.first_query + rows.end;
        let columns = Columns::of(call.rule, positions.clone());
        let mut visible = vec![0.0; rows.len() * columns.width()];
        for (row, query) in visible.chunks_exact_mut(columns.width()).zip(positions) {
            for range in columns.row(call.rule, query) {
                row[range].fill(1.0);
            }
        }
        Self { call, rows, columns, visible }
    }

    /// Keys or values of the block's columns: `[kv_heads, columns, head_dim]`.
    fn packed(&self, source: &Tensor) -> Result<Tensor> {
        let parts = self.columns.ranges().iter().map(|(_, keys)| source.narrow(0, keys.start, keys.len()));
        let packed = Tensor::cat(&parts.collect::<candle_core::Result<Vec<_>>>()?, 0)?;
        Ok(packed.transpose(0, 1)?.contiguous()?)
    }

    /// The block's masked softmax in f32.
    fn softmax(&self) -> Result<Softmaxed> {
        let Geometry { heads, kv_heads, head_dim } = self.call.geometry;
        let (rows, width, device) = (self.rows.len(), self.columns.width(), self.call.q.device());
        let q = self.call.q.narrow(0, self.rows.start, rows)?.transpose(0, 1)?.contiguous()?;
        let stacked = q.reshape((kv_heads, self.call.geometry.group() * rows, head_dim))?;
        let k = self.packed(self.call.k)?;
        let scores = stacked.to_dtype(DType::F32)?.matmul(&k.to_dtype(DType::F32)?.transpose(1, 2)?)?;
        let mut scores = (scores.reshape((heads, rows, width))? * self.call.score.scale)?;
        if let KeyPositions::Slots { rotation: Some(table) } = self.call.positions {
            scores = self.close_gaps(&scores, table)?;
        }
        if let Some(slopes) = &self.call.score.alibi_slopes {
            let slopes: Vec<f32> = slopes.iter().map(|&slope| slope as f32).collect();
            let slopes = Tensor::from_vec(slopes, (heads, 1, 1), device)?;
            let distances = Tensor::from_vec(self.distances(), (1, rows, width), device)?;
            scores = (scores - slopes.broadcast_mul(&distances)?)?;
        }
        if let Some(cap) = self.call.score.softcap {
            scores = ((scores / cap)?.tanh()? * cap)?;
        }
        let hidden: Vec<f32> = self.visible.iter().map(|seen| (1.0 - seen) * MASKED_SCORE).collect();
        let scores = scores.broadcast_add(&Tensor::from_vec(hidden, (rows, width), device)?)?;
        let lse = self.log_sum_exp(&scores)?;
        let weights = scores.broadcast_sub(&lse)?.exp()?;
        Ok(Softmaxed { scores, lse, weights })
    }

    /// Log-sum-exp of each row, the virtual key counted: `[heads, rows, 1]`.
    fn log_sum_exp(&self, scores: &Tensor) -> Result<Tensor> {
        let mut max = scores.max_keepdim(D::Minus1)?;
        let sinks = self.sinks(scores.device())?;
        if let Some(sinks) = &sinks {
            max = max.broadcast_maximum(sinks)?;
        }
        let mut sum = scores.broadcast_sub(&max)?.exp()?.sum_keepdim(D::Minus1)?;
        if let Some(sinks) = &sinks {
            sum = (sum + sinks.broadcast_sub(&max)?.exp()?)?;
        }
        Ok((sum.log()? + max)?)
    }

    /// Logits of the virtual key, `[heads, 1, 1]`.
    fn sinks(&self, device: &candle_core::Device) -> Result<Option<Tensor>> {
        let Some(logits) = &self.call.score.sink_logits else { return Ok(None) };
        let logits: Vec<f32> = logits.iter().map(|&logit| logit as f32).collect();
        Ok(Some(Tensor::from_vec(logits, (self.call.geometry.heads, 1, 1), device)?))
    }

    /// Positions between each key and query, in the text or in slots: `[rows, columns]`.
    fn distances(&self) -> Vec<f32> {
        let width = self.columns.width();
        let mut distances = vec![0.0; self.rows.len() * width];
        for (distances, row) in distances.chunks_exact_mut(width).zip(self.rows.clone()) {
            let query = self.call.first_query + row;
            let visible = self.columns.row(self.call.rule, query);
            for (range, gap) in self.columns.gaps(&visible) {
                let closed = if let KeyPositions::Slots { .. } = self.call.positions { gap } else { 0 };
                for column in range {
                    distances[column] = (query - self.columns.key_of(column) - closed) as f32;
                }
            }
        }
        distances
    }

    /// Replaces the scores of keys behind a gap by those of their slots, one key at a time: the
    /// queries are rotated back by each row's gap (see `SlotRotation`).
    fn close_gaps(&self, scores: &Tensor, table: &RotaryTable) -> Result<Tensor> {
        let Geometry { heads, kv_heads, head_dim } = self.call.geometry;
        let (rows, width, device) = (self.rows.len(), self.columns.width(), scores.device());
        let gaps = self.gaps();
        let q = self.call.q.narrow(0, self.rows.start, rows)?.to_dtype(DType::F32)?;
        let pairs = table.pairs();
        let (q0, q1) = (q.narrow(2, 0, pairs)?, q.narrow(2, pairs, pairs)?);
        let rest = q.narrow(2, 2 * pairs, head_dim - 2 * pairs)?;
        let (cos, sin) = (table.cos().to_dtype(DType::F32)?, table.sin().to_dtype(DType::F32)?);
        let group = heads / kv_heads;
        let kv_of_head: Vec<u32> = (0..heads).map(|head| (head / group) as u32).collect();
        let kv_of_head = Tensor::new(kv_of_head, device)?;
        let mut columns = Vec::with_capacity(width);
        for column in 0..width {
            let of_rows: Vec<u32> = (0..rows).map(|row| gaps[row * width + column]).collect();
            if of_rows.iter().all(|&gap| gap == 0) {
                columns.push(scores.narrow(2, column, 1)?);
                continue;
            }
            let gap = Tensor::new(of_rows, device)?;
            let (cos, sin) =
                (cos.index_select(&gap, 0)?.unsqueeze(1)?, sin.index_select(&gap, 0)?.unsqueeze(1)?);
            let back0 = (q0.broadcast_mul(&cos)? + q1.broadcast_mul(&sin)?)?;
            let back1 = (q1.broadcast_mul(&cos)? - q0.broadcast_mul(&sin)?)?;
            let key = self.call.k.get(self.columns.key_of(column))?.to_dtype(DType::F32)?;
            let key = key.index_select(&kv_of_head, 0)?;
            let product = Tensor::cat(&[&back0, &back1, &rest], 2)?.broadcast_mul(&key)?.sum(2)?;
            columns.push((product.t()? * self.call.score.scale)?.unsqueeze(2)?);
        }
        Ok(Tensor::cat(&columns, 2)?)
    }

    /// For each row and column the number of evicted keys between the key and the query, `[rows, columns]`.
    fn gaps(&self) -> Vec<u32> {
        let width = self.columns.width();
        let mut gaps = vec![0; self.rows.len() * width];
        for (gaps, row) in gaps.chunks_exact_mut(width).zip(self.rows.clone()) {
            let visible = self.columns.row(self.call.rule, self.call.first_query + row);
            for (range, gap) in self.columns.gaps(&visible) {
                gaps[range].fill(gap as u32);
            }
        }
        gaps
    }

    /// Weights · values: `[rows, heads, head_dim]`.
    fn context(&self, weights: &Tensor) -> Result<Tensor> {
        let Geometry { heads, kv_heads, head_dim } = self.call.geometry;
        let (rows, width) = (self.rows.len(), self.columns.width());
        let v = self.packed(self.call.v)?;
        let stacked = weights.reshape((kv_heads, self.call.geometry.group() * rows, width))?;
        let context = stacked.to_dtype(v.dtype())?.matmul(&v)?.reshape((heads, rows, head_dim))?;
        Ok(context.transpose(0, 1)?.contiguous()?)
    }
}

/// The statistics as the blocks come in.
struct Observed {
    queries: usize,
    keys: usize,
    statistics: Statistics,
}

impl Observed {
    fn new(heads: usize, queries: usize, keys: usize) -> Self {
        let statistics = Statistics {
            lse: vec![f32::NAN; heads * queries],
            entropy_nats: vec![f32::NAN; heads * queries],
            column_sums: vec![0.0; heads * keys],
            far_column_sums: vec![0.0; heads * keys],
            checks: Checks::default(),
        };
        Self { queries, keys, statistics }
    }

    fn add(&mut self, block: &Block<'_>, softmaxed: &Softmaxed, far_delta: usize) -> Result<()> {
        let Softmaxed { scores, lse, weights } = softmaxed;
        let (heads, rows, width) = weights.dims3()?;
        let surprise = (weights * scores.broadcast_sub(lse)?)?.sum(D::Minus1)?;
        let mut row_sums = weights.sum_keepdim(D::Minus1)?;
        if let Some(sinks) = block.sinks(weights.device())? {
            row_sums = (row_sums + sinks.broadcast_sub(lse)?.exp()?)?;
        }
        let row_sums = row_sums.flatten_all()?.to_vec1::<f32>()?;
        let lse = lse.flatten_all()?.to_vec1::<f32>()?;
        let surprise = surprise.flatten_all()?.to_vec1::<f32>()?;
        for (i, &lse) in lse.iter().enumerate() {
            let (head, row) = (i / rows, block.rows.start + i % rows);
            let at = head * self.queries + row;
            self.statistics.lse[at] = lse;
            self.statistics.entropy_nats[at] = -surprise[i];
            let checks = if row_sums[i].is_finite() {
                let max_row_sum_error = (f64::from(row_sums[i]) - 1.0).abs();
                Checks { max_row_sum_error, ..Checks::default() }
            } else {
                let place = (block.call.layer, head, block.call.first_query + row);
                Checks { nan_count: 1, first_nan: Some(place), ..Checks::default() }
            };
            self.statistics.checks = self.statistics.checks.merged(checks);
        }
        let finite: Vec<u8> = row_sums.iter().map(|sum| u8::from(sum.is_finite())).collect();
        let finite = Tensor::from_vec(finite, (heads, rows, 1), weights.device())?;
        let weights = finite.broadcast_as(weights.shape())?.where_cond(weights, &weights.zeros_like()?)?;

        let mask = |values: Vec<f32>| Tensor::from_vec(values, (rows, width), weights.device());
        let hidden = mask(block.visible.iter().map(|seen| 1.0 - seen).collect())?;
        let leak = weights.broadcast_mul(&hidden)?.max_all()?.to_scalar::<f32>()?;
        let far_weights = weights.broadcast_mul(&mask(far_mask(block, far_delta))?)?;
        let leak = Checks { causal_leak: f64::from(leak), ..Checks::default() };
        self.statistics.checks = self.statistics.checks.merged(leak);
        let keys = self.keys;
        scatter(&mut self.statistics.column_sums, &weights, &block.columns, keys)?;
        scatter(&mut self.statistics.far_column_sums, &far_weights, &block.columns, keys)
    }
}

/// 1 where the key lies at least `far_delta` before the query, else 0: `[rows, columns]`.
fn far_mask(block: &Block<'_>, far_delta: usize) -> Vec<f32> {
    let width = block.columns.width();
    let mut far = vec![0.0; block.visible.len()];
    for (row, index) in far.chunks_exact_mut(width).zip(block.rows.clone()) {
        let query = block.call.first_query + index;
        row[..block.columns.columns_below((query + 1).saturating_sub(far_delta))].fill(1.0);
    }
    far
}

/// Adds each column's sum over the rows to the sums of its key, `[heads, keys]`.
fn scatter(sums: &mut [f32], weights: &Tensor, columns: &Columns, keys: usize) -> Result<()> {
    for (head, of_head) in weights.sum(1)?.to_vec2::<f32>()?.iter().enumerate() {
        for (first_column, range) in columns.ranges() {
            for (key, column) in range.clone().zip(*first_column..) {
                sums[head * keys + key] += of_head[column];
            }
        }
    }
    Ok(())
}
