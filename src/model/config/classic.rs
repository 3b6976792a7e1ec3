//! The families before llama, and those that kept their ways: layer norms, biases, MLPs without a gate.

use super::keys::Keys;
use super::llama_like::activation;
use super::rope::{RopeDefaults, read_rope};
use crate::model::spec::{
    BlockKind, Dimensions, LearnedPositions, ModelSpec, NormKind, QkNorm, alibi_slopes,
};

type Read = Result<ModelSpec, String>;
type Warnings = Vec<String>;
type Synonyms = &'static [(&'static str, &'static str)];

pub(super) const GPT2_KEYS: Synonyms = &[
    ("hidden_size", "n_embd"),
    ("num_attention_heads", "n_head"),
    ("num_hidden_layers", "n_layer"),
    ("max_position_embeddings", "n_positions"),
    ("intermediate_size", "n_inner"),
];
pub(super) const BLOOM_KEYS: Synonyms =
    &[("hidden_size", "n_embed"), ("num_attention_heads", "n_head"), ("num_hidden_layers", "n_layer")];
pub(super) const FALCON_KEYS: Synonyms =
    &[("num_attention_heads", "n_head"), ("num_hidden_layers", "n_layer"), ("num_kv_heads", "n_head_kv")];
pub(super) const MPT_KEYS: Synonyms = &[
    ("hidden_size", "d_model"),
    ("num_attention_heads", "n_heads"),
    ("num_hidden_layers", "n_layers"),
    ("max_position_embeddings", "max_seq_len"),
];

/// Layer norms, biases everywhere, an MLP without a gate, four times as wide as the stream.
fn classic(keys: &Keys<'_>, context: usize) -> Read {
    let (hidden, heads) = (keys.dimension("hidden_size")?, keys.heads("num_attention_heads")?);
    if hidden % heads != 0 {
        return Err(format!("hidden_size {hidden} is no multiple of {heads} heads"));
    }
    let mut spec = ModelSpec::llama(
        keys.text("model_type")?.unwrap_or_default(),
        Dimensions {
            layers: keys.layers("num_hidden_layers")?,
            heads,
            kv_heads: heads,
            head_dim: hidden / heads,
            hidden,
            mlp_hidden: keys.optional_dimension("intermediate_size")?.unwrap_or(4 * hidden),
            vocab: keys.dimension("vocab_size")?,
            context: keys.optional_dimension("max_position_embeddings")?.unwrap_or(context),
        },
    );
    spec.norm.kind = NormKind::Layer;
    spec.norm.has_bias = true;
    spec.norm.eps = 1e-5;
    (spec.qkv_bias, spec.output_bias, spec.mlp_bias) = (true, true, true);
    spec.gated_mlp = false;
    Ok(spec)
}

pub(super) fn gpt2(keys: &Keys<'_>, _: &mut Warnings) -> Read {
    let mut spec = classic(keys, 1024)?;
    spec.clear_rope();
    spec.learned_positions = Some(LearnedPositions { rows: spec.context, offset: 0 });
    spec.norm.eps = keys.number("layer_norm_epsilon")?.unwrap_or(1e-5);
    spec.activation = activation(keys, "activation_function", "gelu_new")?;
    spec.tied_embeddings = keys.flag_or("tie_word_embeddings", true)?;
    if !keys.flag_or("scale_attn_weights", true)? {
        spec.attention_scale = 1.0;
    }
    spec.scale_by_inverse_layer = keys.flag_or("scale_attn_by_inverse_layer_idx", false)?;
    Ok(spec)
}

pub(super) fn gpt_neox(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = classic(keys, 2048)?;
    let rope = RopeDefaults {
        theta: keys.positive("rotary_emb_base")?.unwrap_or(10_000.0),
        part: keys.positive("rotary_pct")?.unwrap_or(0.25),
        reads_part: false,
    };
    spec.set_rope(read_rope(keys, spec.head_dim, spec.context, rope, warnings)?);
    spec.norm.eps = keys.number("layer_norm_eps")?.unwrap_or(1e-5);
    spec.activation = activation(keys, "hidden_act", "gelu")?;
    spec.tied_embeddings = keys.flag_or("tie_word_embeddings", false)?;
    spec.qkv_bias = keys.flag_or("attention_bias", true)?;
    spec.output_bias = spec.qkv_bias;
    if keys.flag_or("use_parallel_residual", true)? {
        spec.block = BlockKind::Parallel;
    }
    Ok(spec)
}

pub(super) fn opt(keys: &Keys<'_>, _: &mut Warnings) -> Read {
    let mut spec = classic(keys, 2048)?;
    spec.clear_rope();
    spec.mlp_hidden = keys.dimension("ffn_dim")?;
    spec.learned_positions = Some(LearnedPositions { rows: spec.context + 2, offset: 2 });
    spec.activation = activation(keys, "activation_function", "relu")?;
    spec.tied_embeddings = keys.flag_or("tie_word_embeddings", true)?;
    spec.embedding_width = keys.optional_dimension("word_embed_proj_dim")?.unwrap_or(spec.hidden);
    let bias = keys.flag_or("enable_bias", true)?;
    (spec.qkv_bias, spec.output_bias, spec.mlp_bias) = (bias, bias, bias);
    let affine = keys.flag_or("layer_norm_elementwise_affine", true)?;
    (spec.norm.has_weight, spec.norm.has_bias) = (affine, affine);
    let norm_first = keys.flag_or("do_layer_norm_before", true)?;
    // transformers' switch for checkpoints that were saved without the last norm.
    let removed = keys.flag_or("_remove_final_layer_norm", false)?;
    spec.final_norm = norm_first && !removed;
    if !norm_first {
        spec.block = BlockKind::ResidualNorm;
    }
    Ok(spec)
}

pub(super) fn falcon(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = classic(keys, 2048)?;
    if let Some(width) = keys.optional_dimension("ffn_hidden_size")? {
        spec.mlp_hidden = width;
    }
    spec.norm.eps = keys.number("layer_norm_epsilon")?.unwrap_or(1e-5);
    spec.activation = activation(keys, "activation", "gelu")?;
    spec.tied_embeddings = keys.flag_or("tie_word_embeddings", true)?;
    let bias = keys.flag_or("bias", false)?;
    (spec.qkv_bias, spec.output_bias, spec.mlp_bias) = (bias, bias, bias);
    // The 40B's first files are of a type of their own, which says the same.
    let new = keys.flag_or("new_decoder_architecture", spec.architecture == "RefinedWeb")?;
    let multi_query = keys.flag_or("multi_query", true)?;
    let groups = keys.few("num_kv_heads")?;
    spec.kv_heads = match (new, multi_query) {
        (true, _) => groups.unwrap_or(spec.heads),
        (false, true) => 1,
        (false, false) => spec.heads,
    };
    if keys.flag_or("apply_residual_connection_post_layernorm", false)? {
        return Err("apply_residual_connection_post_layernorm true is not supported for falcon".to_owned());
    }
    let parallel = keys.flag_or("parallel_attn", true)?;
    let norms = keys.optional_dimension("num_ln_in_parallel_attn")?.unwrap_or(if new { 2 } else { 1 });
    spec.block = match (new || parallel, norms) {
        (false, _) => BlockKind::PreNorm,
        (true, 1) => BlockKind::ParallelSharedNorm,
        (true, 2) if new => BlockKind::Parallel,
        (true, norms) => return Err(format!("num_ln_in_parallel_attn {norms} is not supported")),
    };
    if keys.flag_or("alibi", false)? {
        spec.clear_rope();
        // Falcon scales the sum of product and bias.
        let slopes = alibi_slopes(spec.heads, 8.0).into_iter().map(|slope| slope * spec.attention_scale);
        spec.alibi_slopes = Some(slopes.collect());
        // Present in the file, without effect.
        keys.present("rope_theta");
        keys.present("rope_scaling");
        keys.present("rope_parameters");
    } else {
        spec.set_rope(read_rope(keys, spec.head_dim, spec.context, RopeDefaults::default(), warnings)?);
    }
    Ok(spec)
}

pub(super) fn bloom(keys: &Keys<'_>, _: &mut Warnings) -> Read {
    let mut spec = classic(keys, 2048)?;
    spec.clear_rope();
    spec.alibi_slopes = Some(alibi_slopes(spec.heads, 8.0));
    spec.embedding_norm = true;
    spec.norm.eps = keys.number("layer_norm_epsilon")?.unwrap_or(1e-5);
    spec.activation = crate::model::spec::Activation::GeluTanh;
    spec.tied_embeddings = keys.flag_or("tie_word_embeddings", true)?;
    if keys.flag_or("apply_residual_connection_post_layernorm", false)? {
        spec.block = BlockKind::NormedResidual;
    }
    Ok(spec)
}

pub(super) fn mpt(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = classic(keys, 2048)?;
    spec.clear_rope();
    if let Some(ratio) = keys.optional_dimension("expansion_ratio")? {
        spec.mlp_hidden = ratio * spec.hidden;
    }
    spec.norm.eps = keys.number("layer_norm_epsilon")?.unwrap_or(1e-5);
    // transformers builds MPT without any bias, whatever the file says, and with GELU.
    if !keys.flag_or("no_bias", true)? {
        return Err("no_bias false is not supported for mpt".to_owned());
    }
    (spec.qkv_bias, spec.output_bias, spec.mlp_bias) = (false, false, false);
    spec.norm.has_bias = false;
    spec.activation = crate::model::spec::Activation::Gelu;
    spec.tied_embeddings = keys.flag_or("tie_word_embeddings", true)?;
    if let Some(kind) = keys.text("norm_type")?.filter(|kind| !kind.contains("layernorm")) {
        return Err(format!("norm_type {kind:?} is not supported for mpt (low_precision_layernorm is)"));
    }
    let mut max_bias = 8.0;
    if let Some(attention) = keys.object("attn_config")? {
        let wanted = [("alibi", true), ("qk_ln", false), ("prefix_lm", false), ("rope", false)];
        for (key, wanted) in wanted {
            if attention.flag_or(key, wanted)? != wanted {
                return Err(format!("attn_config.{key} {} is not supported for mpt", !wanted));
            }
        }
        if let Some(kind) = attention.text("attn_type")?.filter(|&kind| kind != "multihead_attention") {
            return Err(format!("attn_config.attn_type {kind:?} is not supported (multihead_attention is)"));
        }
        max_bias = attention.positive("alibi_bias_max")?.unwrap_or(8.0);
        spec.qkv_clip = attention.positive("clip_qkv")?;
        spec.attention_scale = attention.positive("softmax_scale")?.unwrap_or(spec.attention_scale);
        for inert in ["attn_impl", "attn_pdrop", "attn_uses_sequence_id", "is_encoder_decoder", "model_type"]
        {
            attention.present(inert);
        }
        warnings.extend(attention.unknown());
    }
    spec.alibi_slopes = Some(alibi_slopes(spec.heads, max_bias));
    Ok(spec)
}

pub(super) fn phi(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = classic(keys, 2048)?;
    spec.kv_heads = keys.few("num_key_value_heads")?.unwrap_or(spec.heads);
    if let Some(width) = keys.optional_dimension("head_dim")? {
        spec.head_dim = width;
        spec.attention_scale = 1.0 / (width as f64).sqrt();
    }
    let rope = RopeDefaults { theta: 10_000.0, part: 0.5, reads_part: true };
    spec.set_rope(read_rope(keys, spec.head_dim, spec.context, rope, warnings)?);
    spec.norm.eps = keys.number("layer_norm_eps")?.unwrap_or(1e-5);
    spec.activation = activation(keys, "hidden_act", "gelu_new")?;
    spec.tied_embeddings = keys.flag_or("tie_word_embeddings", false)?;
    spec.lm_head_bias = true;
    spec.block = BlockKind::ParallelSharedNorm;
    if keys.flag_or("qk_layernorm", false)? {
        spec.qk_norm = QkNorm::PerHead;
    }
    Ok(spec)
}
