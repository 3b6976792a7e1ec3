//! What a run of the model leaves behind: enough to rebuild every attention weight exactly, and
//! the statistics that were gathered while the weights existed.

mod memory;
mod patterns;
mod prefill;

pub use crate::units::format_bytes;
pub use memory::{available_memory_bytes, peak_rss_bytes, plan_memory};
pub use patterns::{
    AlignBy, Alignment, Difference, EntryLabel, Hiding, LineWindow, MASKED, NOT_AVAILABLE, PatternOf,
    PatternTile, Shaping, TileArea,
};
pub use prefill::{PrefillOptions, PrefillTiming, Prefilled, full_cache_rule, plain_prefill, prefill};
pub(crate) use prefill::{next_capture_id, wide_negative_log_likelihood};

use crate::attention::ScoreRule;
use crate::model::ModelInfo;
use crate::model::tokenizer::TokenSequence;
use std::sync::Arc;

/// One prefill, observed. Never changed after it is built; everything drawn is derived from it.
///
/// Index order is `[layer][head][query][key]` everywhere; rows are queries, columns are keys.
#[derive(Debug)]
pub struct Capture {
    /// Unique within the process; keys caches of what is derived.
    pub id: u64,
    /// The model that was run.
    pub model: Arc<ModelInfo>,
    /// The prompt.
    pub tokens: Arc<TokenSequence>,
    /// One entry per decoder layer.
    pub layers: Vec<LayerCapture>,
    /// Negative log-likelihood in nats, `n − 1` values: `nll_nats[i]` is row `i`'s and scores token `i + 1`.
    pub nll_nats: Vec<f32>,
    /// What the kernel checked while the weights existed.
    pub checks: Checks,
    /// Wall time of the prefill.
    pub prefill_ms: f64,
}

/// One layer of a [`Capture`], all row-major `f32` on the host.
#[derive(Debug, Clone, Default)]
pub struct LayerCapture {
    /// From `q · k` to a row of weights.
    pub score: ScoreRule,
    /// Rotated queries `[n, heads, head_dim]`.
    pub q: Vec<f32>,
    /// Rotated keys `[n, kv_heads, head_dim]`.
    pub k: Vec<f32>,
    /// Values `[n, kv_heads, head_dim]`.
    pub v: Vec<f32>,
    /// Log-sum-exp of each row's scores `[heads, n]`: `A[t, j] = exp(score(t, j) − lse[t])`.
    pub lse: Vec<f32>,
    /// `Σ_{t ≥ j} A[t, j]`, `[heads, n]`.
    pub column_sums: Vec<f32>,
    /// `Σ_{t ≥ j + Δ} A[t, j]` with Δ = [`crate::analysis::FAR_DELTA`], `[heads, n]`.
    pub far_column_sums: Vec<f32>,
    /// Entropy of each row in nats, `[heads, n]`.
    pub row_entropy_nats: Vec<f32>,
    /// Euclidean norm of the residual stream behind this layer, `[n]`.
    pub hidden_norm: Vec<f32>,
    /// Largest magnitude in the residual stream behind this layer, `[n]`.
    pub hidden_max_abs: Vec<f32>,
    /// Norm of each key, `[kv_heads, n]`.
    pub key_norm: Vec<f32>,
    /// Norm of each value, `[kv_heads, n]`.
    pub value_norm: Vec<f32>,
}

/// Invariants of the attention weights, as measured on the weights themselves.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct Checks {
    /// Largest `|Σ_j A[t, j] + p_sink − 1|` over all rows.
    pub max_row_sum_error: f64,
    /// Largest weight that a query put on a key it must not see; exactly 0 unless something is broken.
    pub causal_leak: f64,
    /// Rows whose weights are not finite; they are kept out of every sum.
    pub nan_count: u64,
    /// The first such row, as `(layer, head, query)`.
    pub first_nan: Option<(usize, usize, usize)>,
}

impl Checks {
    /// Both found together: the worse of each, the earlier NaN.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        Self {
            max_row_sum_error: self.max_row_sum_error.max(other.max_row_sum_error),
            causal_leak: self.causal_leak.max(other.causal_leak),
            nan_count: self.nan_count + other.nan_count,
            first_nan: self.first_nan.into_iter().chain(other.first_nan).min(),
        }
    }
}

impl Capture {
    /// Number of tokens.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether the prompt was empty (it never is: an empty prompt is an error).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Perplexity over the whole text: `exp(mean NLL)`; `None` for a single token.
    #[must_use]
    pub fn perplexity(&self) -> Option<f64> {
        let sum: f64 = self.nll_nats.iter().map(|&v| f64::from(v)).sum();
        (!self.nll_nats.is_empty()).then(|| (sum / self.nll_nats.len() as f64).exp())
    }

    /// Whether queries and keys are there, so that patterns can be rebuilt. A session file may keep the
    /// statistics alone.
    #[must_use]
    pub fn has_patterns(&self) -> bool {
        self.layers.iter().all(|layer| !layer.q.is_empty() && !layer.k.is_empty())
    }

    /// Bytes that this capture holds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let floats: usize = self.layers.iter().map(LayerCapture::floats).sum();
        (floats + self.nll_nats.len()) as u64 * 4
    }
}

impl LayerCapture {
    fn floats(&self) -> usize {
        self.q.len()
            + self.k.len()
            + self.v.len()
            + self.lse.len()
            + self.column_sums.len()
            + self.far_column_sums.len()
            + self.row_entropy_nats.len()
            + self.hidden_norm.len()
            + self.hidden_max_abs.len()
            + self.key_norm.len()
            + self.value_norm.len()
    }
}
