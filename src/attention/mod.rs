//! The one attention kernel, the visibility rules and the observers.
//!
//! Causal prefill, local windows and cache eviction differ only in the [`VisibilityRule`] and the
//! [`Observer`]s handed to the kernel. For each block of queries every weight exists for a moment,
//! is shown to the observers, multiplies the values, and is gone: no `n²` tensor is kept.

mod columns;
mod device;
mod kernel;
mod observers;
mod op;
mod real;
mod retained;
mod softmax;
mod steps;
mod visibility;

pub use columns::Columns;
pub use device::attend_with_candle_ops;
pub use kernel::{AttentionInput, RowSummaries, SlotRotation, Slots, attend_slices};
pub use observers::{ColumnSums, Observer, RowChecks, WeightBlock};
pub(crate) use op::with_slice;
pub use op::{Attended, AttentionCall, KeyPositions, Statistics, attend};
pub use real::Real;
pub use retained::RetainedKeys;
pub use softmax::RowSummary;
pub(crate) use softmax::{exp_shifted_row, log_sum_exp, vectorized};
pub(crate) use steps::slice_type;
pub use steps::with_device_steps;
pub use visibility::{Causal, LocalWindow, VisibilityRule};

use std::sync::Arc;

/// Heads of one attention layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// Query heads.
    pub heads: usize,
    /// Key/value heads; query head `h` reads KV head `h / (heads / kv_heads)`.
    pub kv_heads: usize,
    /// Width of one head.
    pub head_dim: usize,
}

impl Geometry {
    /// Query heads that share one KV head.
    #[must_use]
    pub fn group(self) -> usize {
        self.heads / self.kv_heads
    }
}

/// From `q · k` to a row of weights, in one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreRule {
    /// Factor on `q · k`.
    pub scale: f64,
    /// `c · tanh(score / c)`, where the model caps its scores.
    pub softcap: Option<f64>,
    /// ALiBi: for each head how much a score falls per position between key and query.
    pub alibi_slopes: Option<Arc<[f64]>>,
    /// For each head the logit of a virtual key that every query sees and that has no value (gpt-oss):
    /// the weights of a row sum to 1 less its weight.
    pub sink_logits: Option<Arc<[f64]>>,
}

impl ScoreRule {
    /// Scores that are only scaled.
    #[must_use]
    pub fn scaled(scale: f64) -> Self {
        Self { scale, softcap: None, alibi_slopes: None, sink_logits: None }
    }

    /// The slope of one head, where the model has slopes.
    pub(crate) fn slope<T: Real>(&self, head: usize) -> Option<T> {
        self.alibi_slopes.as_ref().map(|slopes| T::of(slopes[head]))
    }

    /// The virtual key's logit of one head, where the model has one.
    pub(crate) fn sink<T: Real>(&self, head: usize) -> Option<T> {
        self.sink_logits.as_ref().map(|logits| T::of(logits[head]))
    }
}

impl Default for ScoreRule {
    fn default() -> Self {
        Self::scaled(1.0)
    }
}
