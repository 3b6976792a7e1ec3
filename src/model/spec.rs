//! An architecture as data: everything that the one decoder needs to know of a model.

use crate::attention::{Geometry, ScoreRule};

/// What a model is, read from `config.json` or GGUF metadata.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the checkpoint, independent of the others"
)]
pub struct ModelSpec {
    /// The family's name as the file gives it, for example `llama`.
    pub architecture: String,
    /// Decoder layers.
    pub layers: usize,
    /// Query heads per layer.
    pub heads: usize,
    /// Key/value heads per layer; query head `h` reads KV head `h / (heads / kv_heads)`.
    pub kv_heads: usize,
    /// Width of one head; may differ from `hidden / heads`.
    pub head_dim: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Width of the MLP's inner layer.
    pub mlp_hidden: usize,
    /// Vocabulary size: rows of the embedding.
    pub vocab: usize,
    /// Positions that the model was trained for.
    pub context: usize,
    /// Epsilon of the RMS norms.
    pub norm_eps: f64,
    /// Rotary embedding.
    pub rope: RopeSpec,
    /// Whether the LM head is the embedding.
    pub tied_embeddings: bool,
    /// Whether the q, k, v projections have biases.
    pub qkv_bias: bool,
    /// Whether the attention output projection has a bias.
    pub output_bias: bool,
    /// Whether the MLP's projections have biases.
    pub mlp_bias: bool,
    /// Factor on `q · k`, normally `1 / √head_dim`.
    pub attention_scale: f64,
    /// For each layer the number of keys that a query sees, itself included, where the layer is
    /// local; `None` for a global layer.
    pub windows: Vec<Option<usize>>,
}

/// Rotary embedding: base and scaling.
#[derive(Debug, Clone, PartialEq)]
pub struct RopeSpec {
    /// The base θ.
    pub theta: f64,
    /// How the frequencies are changed for long contexts.
    pub scaling: RopeScaling,
}

/// How a checkpoint stretches its rotary frequencies.
#[derive(Debug, Clone, PartialEq)]
pub enum RopeScaling {
    /// Not at all.
    None,
    /// All frequencies divided by a factor.
    Linear {
        /// The factor.
        factor: f64,
    },
    /// Llama 3's: low frequencies divided, high ones kept, a ramp between.
    Llama3 {
        /// Divisor of the low frequencies.
        factor: f64,
        /// Wavelengths above `original_context / low_freq_factor` are divided.
        low_freq_factor: f64,
        /// Wavelengths below `original_context / high_freq_factor` are kept.
        high_freq_factor: f64,
        /// Context that the model was trained for before stretching.
        original_context: f64,
    },
    /// A divisor for each frequency, as GGUF files carry them (`rope_freqs.weight`).
    PerFrequency {
        /// One divisor per rotated pair.
        divisors: Vec<f32>,
    },
}

impl ModelSpec {
    /// Query heads that share one KV head.
    #[must_use]
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// The spec, if its numbers go together.
    ///
    /// # Errors
    /// One line that names what does not fit.
    pub fn checked(self) -> Result<Self, String> {
        if self.kv_heads > self.heads || !self.heads.is_multiple_of(self.kv_heads) {
            return Err(format!("{} heads can't share {} KV heads", self.heads, self.kv_heads));
        }
        if self.head_dim == 0 || !self.head_dim.is_multiple_of(2) {
            return Err(format!("head_dim {} is odd or zero, rotary embedding needs pairs", self.head_dim));
        }
        if !(self.norm_eps > 0.0 && self.norm_eps < 1.0) {
            return Err(format!("norm epsilon {} is out of range", self.norm_eps));
        }
        if !(self.rope.theta.is_finite() && self.rope.theta > 0.0) {
            return Err(format!("rope base {} is not positive", self.rope.theta));
        }
        Ok(self)
    }

    /// Heads of one attention layer.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        Geometry { heads: self.heads, kv_heads: self.kv_heads, head_dim: self.head_dim }
    }

    /// From `q · k` to a score.
    #[must_use]
    pub fn score_rule(&self) -> ScoreRule {
        ScoreRule { scale: self.attention_scale, softcap: None }
    }

    /// Number of weights, the embedding counted once when it is tied.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        let (hidden, mlp) = (self.hidden as u64, self.mlp_hidden as u64);
        let (q, kv) = ((self.heads * self.head_dim) as u64, (self.kv_heads * self.head_dim) as u64);
        let qkv_bias = if self.qkv_bias { q + 2 * kv } else { 0 };
        let output_bias = if self.output_bias { hidden } else { 0 };
        let mlp_bias = if self.mlp_bias { 2 * mlp + hidden } else { 0 };
        let attention = hidden * (q + 2 * kv) + q * hidden + qkv_bias + output_bias;
        let layer = attention + 3 * hidden * mlp + mlp_bias + 2 * hidden;
        let embeddings = self.vocab as u64 * hidden * if self.tied_embeddings { 1 } else { 2 };
        self.layers as u64 * layer + hidden + embeddings
    }
}
