//! The parts in which families differ.

/// How a norm is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum NormKind {
    /// `x / √(mean x² + ε)`.
    Rms,
    /// `(x − mean x) / √(var x + ε)`.
    Layer,
}

/// The norms of a model.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct NormSpec {
    /// How they are computed.
    pub kind: NormKind,
    /// ε.
    pub eps: f64,
    /// Whether they have weights.
    pub has_weight: bool,
    /// Whether they have biases.
    pub has_bias: bool,
    /// Whether the stored weight `w` stands for `1 + w` (Gemma).
    pub plus_one: bool,
}

/// Where norms and residual additions stand in a layer. `A` is attention, `M` the MLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum BlockKind {
    /// `x += A(norm x); x += M(norm x)`: llama and most others.
    PreNorm,
    /// `x += norm A(x); x += norm M(x)`: OLMo 2.
    OutputNorm,
    /// `x += norm A(norm x); x += norm M(norm x)`: Gemma 2 and 3.
    Sandwich,
    /// `x = norm (x + A(x)); x = norm (x + M(x))`: OPT-350m.
    ResidualNorm,
    /// `x = norm x; x += A(x); x = norm x; x += M(x)`: BLOOM with `apply_residual_connection_post_layernorm`.
    NormedResidual,
    /// `x += A(norm₁ x) + M(norm₂ x)`: GPT-NeoX, Falcon 40B.
    Parallel,
    /// `x += A(norm x) + M(norm x)`, one norm: Phi, Falcon 7B.
    ParallelSharedNorm,
}

impl BlockKind {
    /// Whether attention's input is normed, or (for [`Self::ResidualNorm`]) the sum behind it.
    pub(crate) fn has_attention_norm(self) -> bool {
        self != Self::OutputNorm
    }

    /// The same for the MLP.
    pub(crate) fn has_mlp_norm(self) -> bool {
        !matches!(self, Self::OutputNorm | Self::ParallelSharedNorm)
    }

    /// Whether the outputs of attention and MLP are normed.
    pub(crate) fn has_output_norms(self) -> bool {
        matches!(self, Self::OutputNorm | Self::Sandwich)
    }
}

/// A norm on queries and keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum QkNorm {
    /// There is none.
    None,
    /// Over each head, the heads share the weights (Qwen 3, Gemma 3, Phi).
    PerHead,
    /// Over each head, each head has its own weights and no bias (StableLM).
    PerHeadOwn,
    /// Over all heads side by side (OLMo 2).
    AllHeads,
}

/// The MLP's activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Activation {
    /// `x · σ(x)`.
    Silu,
    /// `x · Φ(x)`.
    Gelu,
    /// GELU by its tanh approximation.
    GeluTanh,
    /// `max(x, 0)`.
    Relu,
}

impl Activation {
    /// The activation that a config's `hidden_act` names, if it is one that is run here.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "silu" | "swish" => Self::Silu,
            "gelu" => Self::Gelu,
            "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" | "gelu_python_tanh" => Self::GeluTanh,
            "relu" => Self::Relu,
            _ => return None,
        })
    }
}

/// Learned positions: one vector per position, added to the embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LearnedPositions {
    /// Rows of the table.
    pub rows: usize,
    /// Row of position 0 (OPT's is 2).
    pub offset: usize,
}

/// How an expert combines gate and up projection.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum ExpertGate {
    /// `act(gate) · up`.
    Plain,
    /// gpt-oss: both clamped, `gate · σ(α · gate) · (up + 1)`.
    Clamped {
        /// α.
        alpha: f64,
        /// Bound on the gate from above, and on the magnitude of the up projection.
        limit: f64,
    },
}

/// A mixture of experts.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct MoeSpec {
    /// Experts per layer.
    pub experts: usize,
    /// Experts that a token is sent to.
    pub active: usize,
    /// Width of an expert's inner layer.
    pub hidden: usize,
    /// Whether the weights of the chosen experts are rescaled to sum to 1.
    pub normalised: bool,
    /// Whether router and experts have biases.
    pub bias: bool,
    /// How gate and up projection are combined.
    pub gate: ExpertGate,
    /// For each layer whether it has experts; the others have one MLP.
    pub layers: Vec<bool>,
}

impl MoeSpec {
    pub(super) fn check(&self) -> Result<(), String> {
        if self.active == 0 || self.active > self.experts {
            return Err(format!("{} of {} experts can't be active", self.active, self.experts));
        }
        Ok(())
    }
}

/// ALiBi's slopes: `2^(−bias · h / heads)` for `h = 1…heads`, and where the number of heads is no
/// power of two the odd ones of the next power in addition (Press et al. 2022). `max_bias` is 8
/// everywhere but in MPT's configs that say otherwise.
#[must_use]
pub fn alibi_slopes(heads: usize, max_bias: f64) -> Vec<f64> {
    let whole = 1 << heads.max(1).ilog2();
    let slope = |h: usize, of: usize| (-max_bias * h as f64 / of as f64).exp2();
    let first = (1..=whole).map(|h| slope(h, whole));
    first.chain((0..heads - whole).map(|i| slope(2 * i + 1, 2 * whole))).collect()
}
