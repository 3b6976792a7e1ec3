//! llama.cpp's architectures, as data: what a file does not say because its architecture implies it.

use crate::model::spec::{Activation, ExpertGate, NormKind};
use crate::model::weights::Names;

/// An architecture of llama.cpp.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the architecture, independent of the others"
)]
pub(super) struct Family {
    /// Its `general.architecture`.
    pub(super) name: &'static str,
    pub(super) norm: NormKind,
    pub(super) block: Block,
    pub(super) activation: Activation,
    pub(super) gated_mlp: bool,
    /// Whether the converter interleaved the two rotary halves of q and k (llama.cpp's "normal" rotation).
    pub(super) interleaved: bool,
    /// Whether `ffn_up` holds the gate, then the up projection.
    pub(super) gate_in_up: bool,
    /// Tensors that it calls otherwise than most.
    pub(super) names: Names,
    pub(super) positions: Positions,
    /// Rotary base of local layers, which are then not stretched either.
    pub(super) local_theta: Option<f64>,
    /// Whether YaRN's ramp ends at whole pairs.
    pub(super) yarn_truncates: bool,
    /// Every how many layers one has no rotary embedding.
    pub(super) unrotated_every: Option<usize>,
    pub(super) windows: Windows,
    /// Whether the embedding is scaled by `√hidden`.
    pub(super) scaled_embedding: bool,
    /// Number of layers of the one size whose scores are scaled by `√(heads / hidden)` (Gemma 27B).
    pub(super) wide_scale_layers: Option<usize>,
    /// Soft-caps of scores and logits.
    pub(super) softcaps: Option<(f64, f64)>,
    pub(super) expert_gate: ExpertGate,
}

/// Where a layer's norms stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    PreNorm,
    OutputNorm,
    Sandwich,
    /// In parallel, with two norms, unless `use_parallel_residual` is false (GPT-NeoX).
    ParallelByKey,
    /// In parallel; the second norm is there or not (Falcon, Phi).
    Parallel,
    /// In parallel with one norm where there is no `ffn_norm` (StableLM).
    ParallelWithoutMlpNorm,
}

/// How a model knows where a token stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Positions {
    /// Rotary, with the base that a silent file means.
    Rope(f64),
    /// ALiBi with this largest bias where the file gives none.
    Alibi(f64),
    /// A learned table.
    Learned,
}

/// Which layers are local where the file does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Windows {
    /// None.
    None,
    /// Published models have windows, which the converter drops.
    Unsaid,
    /// All but one in `period`.
    Usual { window: usize, period: usize },
}

const LLAMA: Family = Family {
    name: "llama",
    norm: NormKind::Rms,
    block: Block::PreNorm,
    activation: Activation::Silu,
    gated_mlp: true,
    interleaved: true,
    gate_in_up: false,
    names: &[],
    positions: Positions::Rope(10_000.0),
    local_theta: None,
    yarn_truncates: true,
    unrotated_every: None,
    windows: Windows::None,
    scaled_embedding: false,
    wide_scale_layers: None,
    softcaps: None,
    expert_gate: ExpertGate::Plain,
};
const QWEN2: Family = Family { name: "qwen2", interleaved: false, ..LLAMA };
const GEMMA: Family = Family {
    name: "gemma",
    activation: Activation::GeluTanh,
    interleaved: false,
    scaled_embedding: true,
    ..LLAMA
};
/// LayerNorm and an MLP without a gate.
const GPT: Family = Family {
    name: "gpt2",
    norm: NormKind::Layer,
    activation: Activation::GeluTanh,
    gated_mlp: false,
    interleaved: false,
    positions: Positions::Learned,
    ..LLAMA
};

/// All architectures that are read from GGUF files. Mistral, Mixtral and SmolLM come as `llama`.
pub(super) static FAMILIES: [Family; 20] = [
    LLAMA,
    QWEN2,
    Family { name: "qwen3", ..QWEN2 },
    Family { name: "qwen3moe", ..QWEN2 },
    GEMMA,
    Family {
        name: "gemma2",
        block: Block::Sandwich,
        windows: Windows::Usual { window: 4096, period: 2 },
        wide_scale_layers: Some(46),
        softcaps: Some((50.0, 30.0)),
        ..GEMMA
    },
    Family {
        name: "gemma3",
        block: Block::Sandwich,
        positions: Positions::Rope(1e6),
        local_theta: Some(10_000.0),
        windows: Windows::Usual { window: 1024, period: 6 },
        wide_scale_layers: Some(62),
        ..GEMMA
    },
    Family { name: "phi2", block: Block::Parallel, positions: Positions::Rope(10_000.0), ..GPT },
    Family { name: "phi3", interleaved: false, gate_in_up: true, ..LLAMA },
    GPT,
    Family {
        name: "gptneox",
        block: Block::ParallelByKey,
        activation: Activation::Gelu,
        positions: Positions::Rope(10_000.0),
        ..GPT
    },
    Family {
        name: "falcon",
        // Of the 40B model's two norms attention's is the second.
        names: &[("attention_norm", "attn_norm_2"), ("mlp_norm", "attn_norm")],
        block: Block::Parallel,
        activation: Activation::Gelu,
        positions: Positions::Rope(10_000.0),
        ..GPT
    },
    Family { name: "bloom", positions: Positions::Alibi(8.0), ..GPT },
    Family { name: "mpt", activation: Activation::Gelu, positions: Positions::Alibi(8.0), ..GPT },
    Family { name: "olmo2", block: Block::OutputNorm, interleaved: false, ..LLAMA },
    Family { name: "smollm3", unrotated_every: Some(4), ..LLAMA },
    Family { name: "granite", ..LLAMA },
    Family { name: "starcoder2", positions: Positions::Rope(10_000.0), windows: Windows::Unsaid, ..GPT },
    Family {
        name: "stablelm",
        norm: NormKind::Layer,
        block: Block::ParallelWithoutMlpNorm,
        interleaved: false,
        ..LLAMA
    },
    Family {
        name: "gpt-oss",
        interleaved: false,
        names: &[("mlp_norm", "post_attention_norm")],
        positions: Positions::Rope(150_000.0),
        yarn_truncates: false,
        windows: Windows::Usual { window: 128, period: 2 },
        expert_gate: ExpertGate::Clamped { alpha: 1.702, limit: 7.0 },
        ..LLAMA
    },
];

/// The architecture of that name.
pub(super) fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}
