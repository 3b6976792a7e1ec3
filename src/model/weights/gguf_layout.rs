//! How llama.cpp's architectures name and store the tensors of the inventory. Data only.

/// `(ours, llama.cpp's)`, in a layer without `blk.3.` and in both without the suffix.
pub type Names = &'static [(&'static str, &'static str)];

/// What most architectures call their tensors.
pub(super) const USUAL_NAMES: Names = &[
    ("embedding", "token_embd"),
    ("position_embedding", "position_embd"),
    ("embedding_norm", "token_embd_norm"),
    ("final_norm", "output_norm"),
    ("lm_head", "output"),
    ("attention_norm", "attn_norm"),
    ("q_proj", "attn_q"),
    ("k_proj", "attn_k"),
    ("v_proj", "attn_v"),
    ("o_proj", "attn_output"),
    ("q_norm", "attn_q_norm"),
    ("k_norm", "attn_k_norm"),
    ("sinks", "attn_sinks.weight"),
    ("attention_output_norm", "post_attention_norm"),
    ("mlp_norm", "ffn_norm"),
    ("gate_proj", "ffn_gate"),
    ("up_proj", "ffn_up"),
    ("down_proj", "ffn_down"),
    ("mlp_output_norm", "post_ffw_norm"),
    ("router", "ffn_gate_inp"),
    ("experts.gate_up_proj", "ffn_gate_up_exps"),
];

/// How an architecture's GGUF files differ from the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GgufLayout {
    /// Whether rows of q and k are interleaved: `[pair, half]` instead of `[half, pair]` within a head.
    pub interleaved: bool,
    /// Whether `ffn_up` holds the gate, then the up projection.
    pub gate_in_up: bool,
    /// What it calls otherwise than most.
    pub names: Names,
}
