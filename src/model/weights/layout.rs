//! How each family's safetensors name and store the tensors of the inventory. Data only.

/// The layout of a family's checkpoint.
#[derive(Debug, Clone, Copy)]
pub struct CheckpointLayout {
    /// What stands before every name but the LM head's; the first that the file has. Checkpoints of a base
    /// model leave the prefix out.
    pub(super) bases: &'static [&'static str],
    /// What stands before a layer's number.
    pub(super) layers: &'static str,
    /// `(ours, theirs)`, looked up in the first table that has the name.
    pub(super) names: &'static [Names],
    /// Name of the LM head.
    pub(super) lm_head: &'static str,
    /// One tensor for q, k and v: for each KV head the queries of its group, its key, its value.
    pub(super) fused_qkv: Option<FusedQkv>,
    /// One tensor for gate and up, stacked.
    pub(super) fused_gate_up: Option<&'static str>,
    /// Whether projections are stored `[inputs, outputs]` (GPT-2's `Conv1D`).
    pub(super) transposed: bool,
    /// How experts are stored.
    pub(super) experts: ExpertStore,
}

pub(super) type Names = &'static [(&'static str, &'static str)];

/// Order of the rows of a fused tensor.
#[derive(Debug, Clone, Copy)]
pub(super) enum FusedQkv {
    /// All queries, all keys, all values.
    Stacked(&'static str),
    /// For each KV head the queries of its group, its key, its value.
    PerGroup(&'static str),
}

/// How a family stores its experts.
#[derive(Debug, Clone, Copy)]
pub(super) enum ExpertStore {
    /// It has none.
    None,
    /// One tensor for each expert: what stands before its number, and the names of gate, up and down.
    Each { before: &'static str, gate: &'static str, up: &'static str, down: &'static str },
    /// gpt-oss: `[experts, inputs, outputs]` for all, gate and up in alternate columns; or the same as MXFP4 blocks.
    Interleaved { gate_up: &'static str, down: &'static str },
}

const LLAMA_NAMES: Names = &[
    ("embedding", "embed_tokens"),
    ("final_norm", "norm"),
    ("attention_norm", "input_layernorm"),
    ("q_proj", "self_attn.q_proj"),
    ("k_proj", "self_attn.k_proj"),
    ("v_proj", "self_attn.v_proj"),
    ("o_proj", "self_attn.o_proj"),
    ("q_norm", "self_attn.q_norm"),
    ("k_norm", "self_attn.k_norm"),
    ("sinks", "self_attn.sinks"),
    ("mlp_norm", "post_attention_layernorm"),
    ("gate_proj", "mlp.gate_proj"),
    ("up_proj", "mlp.up_proj"),
    ("down_proj", "mlp.down_proj"),
    ("router", "mlp.router"),
];

pub(in crate::model) const LLAMA: CheckpointLayout = CheckpointLayout {
    bases: &["model.", ""],
    layers: "layers.",
    names: &[LLAMA_NAMES],
    lm_head: "lm_head",
    fused_qkv: None,
    fused_gate_up: None,
    transposed: false,
    experts: ExpertStore::None,
};

const OUTPUT_NORMS: Names = &[
    ("attention_output_norm", "post_attention_layernorm"),
    ("mlp_norm", "pre_feedforward_layernorm"),
    ("mlp_output_norm", "post_feedforward_layernorm"),
];

pub(in crate::model) const GEMMA2: CheckpointLayout =
    CheckpointLayout { names: &[OUTPUT_NORMS, LLAMA_NAMES], ..LLAMA };

pub(in crate::model) const GEMMA3: CheckpointLayout =
    CheckpointLayout { bases: &["model.", "language_model.model.", "model.language_model.", ""], ..GEMMA2 };

pub(in crate::model) const PHI3: CheckpointLayout = CheckpointLayout {
    fused_qkv: Some(FusedQkv::Stacked("self_attn.qkv_proj")),
    fused_gate_up: Some("mlp.gate_up_proj"),
    ..LLAMA
};

pub(in crate::model) const STARCODER2: CheckpointLayout = CheckpointLayout {
    names: &[&[("up_proj", "mlp.c_fc"), ("down_proj", "mlp.c_proj")], LLAMA_NAMES],
    ..LLAMA
};

pub(in crate::model) const STABLELM: CheckpointLayout = CheckpointLayout {
    names: &[
        &[("q_norm", "self_attn.q_layernorm.norms"), ("k_norm", "self_attn.k_layernorm.norms")],
        LLAMA_NAMES,
    ],
    ..LLAMA
};

pub(in crate::model) const MIXTRAL: CheckpointLayout = CheckpointLayout {
    names: &[&[("router", "block_sparse_moe.gate")], LLAMA_NAMES],
    experts: ExpertStore::Each { before: "block_sparse_moe.experts.", gate: "w1", up: "w3", down: "w2" },
    ..LLAMA
};

pub(in crate::model) const QWEN3_MOE: CheckpointLayout = CheckpointLayout {
    names: &[&[("router", "mlp.gate")], LLAMA_NAMES],
    experts: ExpertStore::Each {
        before: "mlp.experts.",
        gate: "gate_proj",
        up: "up_proj",
        down: "down_proj",
    },
    ..LLAMA
};

pub(in crate::model) const GPT_OSS: CheckpointLayout = CheckpointLayout {
    experts: ExpertStore::Interleaved { gate_up: "mlp.experts.gate_up_proj", down: "mlp.experts.down_proj" },
    ..LLAMA
};

pub(in crate::model) const GPT2: CheckpointLayout = CheckpointLayout {
    bases: &["transformer.", ""],
    layers: "h.",
    names: &[&[
        ("embedding", "wte"),
        ("position_embedding", "wpe"),
        ("final_norm", "ln_f"),
        ("attention_norm", "ln_1"),
        ("o_proj", "attn.c_proj"),
        ("mlp_norm", "ln_2"),
        ("up_proj", "mlp.c_fc"),
        ("down_proj", "mlp.c_proj"),
    ]],
    fused_qkv: Some(FusedQkv::Stacked("attn.c_attn")),
    transposed: true,
    ..LLAMA
};

pub(in crate::model) const GPT_NEOX: CheckpointLayout = CheckpointLayout {
    bases: &["gpt_neox.", ""],
    names: &[&[
        ("embedding", "embed_in"),
        ("final_norm", "final_layer_norm"),
        ("attention_norm", "input_layernorm"),
        ("o_proj", "attention.dense"),
        ("mlp_norm", "post_attention_layernorm"),
        ("up_proj", "mlp.dense_h_to_4h"),
        ("down_proj", "mlp.dense_4h_to_h"),
    ]],
    lm_head: "embed_out",
    fused_qkv: Some(FusedQkv::PerGroup("attention.query_key_value")),
    ..LLAMA
};

pub(in crate::model) const OPT: CheckpointLayout = CheckpointLayout {
    bases: &["model.decoder.", "decoder.", ""],
    names: &[
        &[
            ("position_embedding", "embed_positions"),
            ("final_norm", "final_layer_norm"),
            ("attention_norm", "self_attn_layer_norm"),
            ("o_proj", "self_attn.out_proj"),
            ("mlp_norm", "final_layer_norm"),
            ("up_proj", "fc1"),
            ("down_proj", "fc2"),
            ("project_in", "project_in"),
            ("project_out", "project_out"),
        ],
        LLAMA_NAMES,
    ],
    ..LLAMA
};

const BLOCK_NAMES: Names = &[
    ("embedding", "word_embeddings"),
    ("embedding_norm", "word_embeddings_layernorm"),
    ("final_norm", "ln_f"),
    ("attention_norm", "input_layernorm"),
    ("o_proj", "self_attention.dense"),
    ("mlp_norm", "post_attention_layernorm"),
    ("up_proj", "mlp.dense_h_to_4h"),
    ("down_proj", "mlp.dense_4h_to_h"),
];

pub(in crate::model) const BLOOM: CheckpointLayout = CheckpointLayout {
    bases: &["transformer.", ""],
    layers: "h.",
    names: &[BLOCK_NAMES],
    fused_qkv: Some(FusedQkv::PerGroup("self_attention.query_key_value")),
    ..LLAMA
};

/// The 40B models' norms have names of their own; which a file has is looked up.
pub(in crate::model) const FALCON: CheckpointLayout = CheckpointLayout {
    names: &[&[("attention_norm", "ln_attn"), ("mlp_norm", "ln_mlp")], BLOCK_NAMES],
    ..BLOOM
};

pub(in crate::model) const MPT: CheckpointLayout = CheckpointLayout {
    bases: &["transformer.", ""],
    layers: "blocks.",
    names: &[&[
        ("embedding", "wte"),
        ("final_norm", "norm_f"),
        ("attention_norm", "norm_1"),
        ("o_proj", "attn.out_proj"),
        ("mlp_norm", "norm_2"),
        ("up_proj", "ffn.up_proj"),
        ("down_proj", "ffn.down_proj"),
    ]],
    fused_qkv: Some(FusedQkv::Stacked("attn.Wqkv")),
    ..LLAMA
};

pub(in crate::model) const PHI: CheckpointLayout = CheckpointLayout {
    names: &[
        &[
            ("final_norm", "final_layernorm"),
            ("o_proj", "self_attn.dense"),
            ("q_norm", "self_attn.q_layernorm"),
            ("k_norm", "self_attn.k_layernorm"),
            ("up_proj", "mlp.fc1"),
            ("down_proj", "mlp.fc2"),
        ],
        LLAMA_NAMES,
    ],
    ..LLAMA
};
