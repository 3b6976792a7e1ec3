//! candle-transformers' llama over our spec: the other implementation that tests and benchmarks
//! compare with.

use super::ModelSpec;
use candle_transformers::models::llama::Config;

/// candle's configuration for the same model, to be loaded from
/// [`Decoder::named_weights`](super::decoder::Decoder::named_weights). candle has neither an explicit
/// head width nor our rotary scaling: the spec must need neither.
#[must_use]
pub fn candle_llama_config(spec: &ModelSpec) -> Config {
    Config {
        hidden_size: spec.hidden,
        intermediate_size: spec.mlp_hidden,
        vocab_size: spec.vocab,
        num_hidden_layers: spec.layers,
        num_attention_heads: spec.heads,
        num_key_value_heads: spec.kv_heads,
        use_flash_attn: false,
        rms_norm_eps: spec.norm.eps,
        rope_theta: spec.ropes[0].theta as f32,
        bos_token_id: None,
        eos_token_id: None,
        rope_scaling: None,
        max_position_embeddings: spec.context,
        tie_word_embeddings: spec.tied_embeddings,
    }
}
