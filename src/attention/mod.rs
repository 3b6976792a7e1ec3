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
mod visibility;

pub use columns::Columns;
pub use device::attend_with_candle_ops;
pub use kernel::{AttentionInput, RowSummaries, SlotRotation, attend_slices};
pub use observers::{ColumnSums, Observer, RowChecks, WeightBlock};
pub(crate) use op::with_slice;
pub use op::{Attended, AttentionCall, Statistics, attend};
pub use real::Real;
pub use retained::RetainedKeys;
pub(crate) use softmax::{exp_shifted_row, log_sum_exp, vectorized};
pub use visibility::{Causal, LocalWindow, VisibilityRule};

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

/// From `q · k` to a score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreRule {
    /// Factor on `q · k`.
    pub scale: f64,
    /// `c · tanh(score / c)`, where the model caps its scores.
    pub softcap: Option<f64>,
}
