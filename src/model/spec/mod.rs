//! An architecture as data: everything that the one decoder needs to know of a model.

mod inventory;
mod parts;
mod rope;

pub use inventory::{Inventory, inventory};
pub use parts::{
    Activation, BlockKind, ExpertGate, LearnedPositions, MoeSpec, NormKind, NormSpec, QkNorm, alibi_slopes,
};
pub use rope::{RopeScaling, RopeSpec, yarn_attention_factor};

use crate::attention::{Geometry, ScoreRule};

/// What a model is, read from `config.json` or GGUF metadata.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
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

    /// Width of the embedding; where it is not `hidden`, a projection follows it, and one precedes the LM head (OPT-350m).
    pub embedding_width: usize,
    /// Factor on the embedding's output (Gemma, Granite).
    pub embedding_scale: f64,
    /// Whether a norm follows the embedding (BLOOM).
    pub embedding_norm: bool,
    /// Whether the LM head is the embedding.
    pub tied_embeddings: bool,
    /// Whether the LM head has a bias.
    pub lm_head_bias: bool,
    /// Whether a norm precedes the LM head.
    pub final_norm: bool,
    /// Divisor of the logits (Granite).
    pub logits_divisor: f64,
    /// `c · tanh(logit / c)`, where the model caps its logits.
    pub logits_softcap: Option<f64>,

    /// The norms.
    pub norm: NormSpec,
    /// Where norms and residual additions stand in a layer.
    pub block: BlockKind,
    /// Factor on what attention and MLP add to the residual stream (Granite).
    pub residual_scale: f64,

    /// Whether the q, k, v projections have biases.
    pub qkv_bias: bool,
    /// Bound on the magnitude of q, k and v (MPT's and OLMo's `clip_qkv`).
    pub qkv_clip: Option<f64>,
    /// A norm on q and k before they are rotated.
    pub qk_norm: QkNorm,
    /// Whether the attention output projection has a bias.
    pub output_bias: bool,
    /// Factor on `q · k`, normally `1 / √head_dim`.
    pub attention_scale: f64,
    /// Whether layer `l` also divides by `l + 1` (GPT-2's `scale_attn_by_inverse_layer_idx`).
    pub scale_by_inverse_layer: bool,
    /// `c · tanh(score / c)`, where the model caps its scores (Gemma 2).
    pub attention_softcap: Option<f64>,
    /// Whether each head has a learned logit that takes part in the softmax and has no key (gpt-oss).
    pub attention_sinks: bool,
    /// For each layer the number of keys that a query sees, itself included, where the layer is
    /// local; `None` for a global layer.
    pub windows: Vec<Option<usize>>,

    /// The rotary embeddings that the layers use; none where the model has no rotary embedding.
    pub ropes: Vec<RopeSpec>,
    /// For each layer its rotary embedding, an index into `ropes`; `None` for a layer without.
    pub rope_of_layer: Vec<Option<usize>>,
    /// Learned positions, added to the embedding (GPT-2, OPT).
    pub learned_positions: Option<LearnedPositions>,
    /// ALiBi: for each head the slope by which a score falls per position of distance.
    pub alibi_slopes: Option<Vec<f64>>,

    /// The MLP's activation.
    pub activation: Activation,
    /// Whether the MLP multiplies the activated gate with a second projection.
    pub gated_mlp: bool,
    /// Whether the MLP's projections have biases.
    pub mlp_bias: bool,
    /// The experts, where the model is a mixture of experts.
    pub moe: Option<MoeSpec>,
}

/// Whether a tensor is kept in the precision that is chosen for weights. A norm is a factor on what is computed and
/// stays in the type of that, also where each head has its own.
pub(in crate::model) fn is_matrix(name: &str, shape: &[usize]) -> bool {
    shape.len() > 1 && !name.ends_with("norm.weight")
}

/// Elements of a tensor. A lying file's product must not wrap around to a small number.
pub(in crate::model) fn elements(shape: &[usize]) -> u64 {
    shape.iter().fold(1, |product, &n| product.saturating_mul(n as u64))
}

/// The sizes that every model has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimensions {
    /// Decoder layers.
    pub layers: usize,
    /// Query heads per layer.
    pub heads: usize,
    /// Key/value heads per layer.
    pub kv_heads: usize,
    /// Width of one head.
    pub head_dim: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Width of the MLP's inner layer.
    pub mlp_hidden: usize,
    /// Vocabulary size.
    pub vocab: usize,
    /// Positions that the model was trained for.
    pub context: usize,
}

impl ModelSpec {
    /// A llama of the given sizes, rotary base 10,000: what most families differ from in a few fields.
    #[must_use]
    pub fn llama(architecture: &str, sizes: Dimensions) -> Self {
        let Dimensions { layers, heads, kv_heads, head_dim, hidden, mlp_hidden, vocab, context } = sizes;
        Self {
            architecture: architecture.to_owned(),
            layers,
            heads,
            kv_heads,
            head_dim,
            hidden,
            mlp_hidden,
            vocab,
            context,
            embedding_width: hidden,
            embedding_scale: 1.0,
            embedding_norm: false,
            tied_embeddings: false,
            lm_head_bias: false,
            final_norm: true,
            logits_divisor: 1.0,
            logits_softcap: None,
            norm: NormSpec {
                kind: NormKind::Rms,
                eps: 1e-6,
                has_weight: true,
                has_bias: false,
                plus_one: false,
            },
            block: BlockKind::PreNorm,
            residual_scale: 1.0,
            qkv_bias: false,
            qkv_clip: None,
            qk_norm: QkNorm::None,
            output_bias: false,
            attention_scale: 1.0 / (head_dim as f64).sqrt(),
            scale_by_inverse_layer: false,
            attention_softcap: None,
            attention_sinks: false,
            windows: vec![None; layers],
            ropes: vec![RopeSpec::plain(10_000.0, head_dim)],
            rope_of_layer: vec![Some(0); layers],
            learned_positions: None,
            alibi_slopes: None,
            activation: Activation::Silu,
            gated_mlp: true,
            mlp_bias: false,
            moe: None,
        }
    }

    /// Sets one rotary embedding for all layers.
    pub fn set_rope(&mut self, rope: RopeSpec) {
        self.ropes = vec![rope];
        self.rope_of_layer = vec![Some(0); self.layers];
    }

    /// Takes the rotary embedding away.
    pub fn clear_rope(&mut self) {
        self.ropes.clear();
        self.rope_of_layer = vec![None; self.layers];
    }

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
        if self.kv_heads == 0 || self.kv_heads > self.heads || !self.heads.is_multiple_of(self.kv_heads) {
            return Err(format!("{} heads can't share {} KV heads", self.heads, self.kv_heads));
        }
        if self.head_dim == 0 {
            return Err("head_dim is 0".to_owned());
        }
        for rope in &self.ropes {
            rope.check(self.head_dim)?;
        }
        if !(self.norm.eps > 0.0 && self.norm.eps < 1.0) {
            return Err(format!("norm epsilon {} is out of range", self.norm.eps));
        }
        for (what, factor) in [
            ("attention scale", self.attention_scale),
            ("embedding scale", self.embedding_scale),
            ("residual scale", self.residual_scale),
            ("logits divisor", self.logits_divisor),
            ("attention soft-cap", self.attention_softcap.unwrap_or(1.0)),
            ("logits soft-cap", self.logits_softcap.unwrap_or(1.0)),
            ("bound on q, k and v", self.qkv_clip.unwrap_or(1.0)),
        ] {
            if !(factor.is_finite() && factor > 0.0) {
                return Err(format!("{what} {factor} is not positive"));
            }
        }
        if let Some(moe) = &self.moe {
            moe.check()?;
        }
        if let Some(fewer) =
            [self.windows.len(), self.rope_of_layer.len()].into_iter().find(|&n| n != self.layers)
        {
            return Err(format!("{fewer} layer kinds are listed for {} layers", self.layers));
        }
        Ok(self)
    }

    /// Heads of one attention layer.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        Geometry { heads: self.heads, kv_heads: self.kv_heads, head_dim: self.head_dim }
    }

    /// From `q · k` to a score in one layer, learned sinks apart: those are weights.
    #[must_use]
    pub fn score_rule(&self, layer: usize) -> ScoreRule {
        let divisor = if self.scale_by_inverse_layer { layer as f64 + 1.0 } else { 1.0 };
        ScoreRule {
            scale: self.attention_scale / divisor,
            softcap: self.attention_softcap,
            alibi_slopes: self.alibi_slopes.as_deref().map(Into::into),
            sink_logits: None,
        }
    }

    /// Whether a layer has experts in place of one MLP.
    #[must_use]
    pub fn has_experts(&self, layer: usize) -> bool {
        self.moe.as_ref().is_some_and(|moe| moe.layers[layer])
    }

    /// Number of weights, the embedding counted once when it is tied.
    #[must_use]
    pub fn parameters(&self) -> u64 {
        inventory(self).values().fold(0, |sum, shape| sum.saturating_add(elements(shape)))
    }
}
