//! Families that are a llama but for a few fields.

use super::keys::Keys;
use super::rope::{RopeDefaults, read_rope, read_rope_object};
use super::windows::read_windows;
use crate::model::spec::{Activation, BlockKind, Dimensions, ModelSpec, NormKind, QkNorm};

type Read = Result<ModelSpec, String>;
type Warnings = Vec<String>;

/// The keys that all these families share.
pub(super) struct Base {
    pub(super) tied: bool,
    pub(super) eps: f64,
    pub(super) rope: RopeDefaults,
}

impl Default for Base {
    fn default() -> Self {
        Self { tied: false, eps: 1e-6, rope: RopeDefaults::default() }
    }
}

/// Sizes, norms, rotary embedding, tied embeddings and the activation.
pub(super) fn base(keys: &Keys<'_>, defaults: &Base, warnings: &mut Warnings) -> Read {
    let mut spec = sizes(keys, defaults)?;
    spec.set_rope(read_rope(keys, spec.head_dim, spec.context, defaults.rope, warnings)?);
    Ok(spec)
}

/// The same without the rotary embedding.
fn sizes(keys: &Keys<'_>, defaults: &Base) -> Read {
    let (hidden, heads) = (keys.dimension("hidden_size")?, keys.heads("num_attention_heads")?);
    let architecture = keys.text("model_type")?.unwrap_or_default();
    let mut spec = ModelSpec::llama(
        architecture,
        Dimensions {
            layers: keys.layers("num_hidden_layers")?,
            heads,
            kv_heads: keys.few("num_key_value_heads")?.unwrap_or(heads),
            head_dim: keys.optional_dimension("head_dim")?.unwrap_or(hidden / heads),
            hidden,
            mlp_hidden: keys.dimension("intermediate_size")?,
            vocab: keys.dimension("vocab_size")?,
            context: keys.optional_dimension("max_position_embeddings")?.unwrap_or(2048),
        },
    );
    spec.norm.eps = keys.number("rms_norm_eps")?.unwrap_or(defaults.eps);
    spec.tied_embeddings = keys.flag_or("tie_word_embeddings", defaults.tied)?;
    spec.activation = activation(keys, "hidden_act", "silu")?;
    Ok(spec)
}

/// The activation that a key names.
pub(super) fn activation(keys: &Keys<'_>, key: &str, default: &str) -> Result<Activation, String> {
    let name = keys.text(key)?.unwrap_or(default);
    Activation::named(name).ok_or_else(|| {
        format!("{key} {name:?} is not supported (silu, gelu, gelu_new, gelu_pytorch_tanh and relu are)")
    })
}

/// `attention_bias` is one switch for the projections of q, k, v and the output.
fn attention_bias(keys: &Keys<'_>, spec: &mut ModelSpec, default: bool) -> Result<(), String> {
    spec.qkv_bias = keys.flag_or("attention_bias", default)?;
    spec.output_bias = spec.qkv_bias;
    Ok(())
}

pub(super) fn llama(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = base(keys, &Base::default(), warnings)?;
    attention_bias(keys, &mut spec, false)?;
    spec.mlp_bias = keys.flag_or("mlp_bias", false)?;
    Ok(spec)
}

pub(super) fn mistral(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    windowed(keys, &Base::default(), warnings)
}

/// A window on all layers, where there is one.
pub(super) fn windowed(keys: &Keys<'_>, defaults: &Base, warnings: &mut Warnings) -> Read {
    let mut spec = base(keys, defaults, warnings)?;
    let window = keys.optional_dimension("sliding_window")?;
    spec.windows = read_windows(keys, spec.layers, window, |_| true)?;
    Ok(spec)
}

/// Qwen's window counts only where `use_sliding_window` says so, from layer `max_window_layers` on.
fn qwen_windows(keys: &Keys<'_>, layers: usize) -> Result<Vec<Option<usize>>, String> {
    let used = keys.flag_or("use_sliding_window", false)?;
    let window = keys.optional_dimension("sliding_window")?.filter(|_| used);
    let first = keys.count("max_window_layers")?.unwrap_or(28);
    read_windows(keys, layers, window, |layer| layer >= first)
}

pub(super) fn qwen2(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = base(keys, &Base::default(), warnings)?;
    spec.qkv_bias = true;
    spec.windows = qwen_windows(keys, spec.layers)?;
    Ok(spec)
}

pub(super) fn qwen3(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = base(keys, &Base::default(), warnings)?;
    attention_bias(keys, &mut spec, false)?;
    spec.qk_norm = QkNorm::PerHead;
    spec.windows = qwen_windows(keys, spec.layers)?;
    Ok(spec)
}

/// What all Gemmas share: scaled and tied embeddings, norms with `1 + w`, GELU by tanh.
fn gemma_base(keys: &Keys<'_>, spec: &mut ModelSpec) -> Result<(), String> {
    spec.activation = activation(keys, "hidden_activation", "gelu_pytorch_tanh")?;
    spec.norm.plus_one = true;
    spec.embedding_scale = (spec.hidden as f64).sqrt();
    attention_bias(keys, spec, false)
}

const GEMMA: Base =
    Base { tied: true, eps: 1e-6, rope: RopeDefaults { theta: 10_000.0, part: 1.0, reads_part: false } };

pub(super) fn gemma(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = base(keys, &GEMMA, warnings)?;
    let named = keys.has("hidden_act").then_some(spec.activation);
    gemma_base(keys, &mut spec)?;
    // The first files say `gelu` where the model was trained with the tanh form.
    spec.activation = match named {
        Some(Activation::Gelu) => Activation::GeluTanh,
        Some(other) => other,
        None => spec.activation,
    };
    Ok(spec)
}

/// Gemma 2's and 3's soft-caps, query scale and norms.
fn gemma2_base(keys: &Keys<'_>, spec: &mut ModelSpec) -> Result<(), String> {
    gemma_base(keys, spec)?;
    spec.block = BlockKind::Sandwich;
    let scalar = keys.positive("query_pre_attn_scalar")?.unwrap_or(256.0);
    spec.attention_scale = 1.0 / scalar.sqrt();
    spec.logits_softcap = keys.positive("final_logit_softcapping")?;
    Ok(())
}

pub(super) fn gemma2(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = base(keys, &GEMMA, warnings)?;
    gemma2_base(keys, &mut spec)?;
    // Left out they are there; null takes them away.
    let cap = |key: &str, default: f64| {
        Ok::<_, String>(keys.positive(key)?.or((!keys.is_null(key)).then_some(default)))
    };
    spec.attention_softcap = cap("attn_logit_softcapping", 50.0)?;
    spec.logits_softcap = cap("final_logit_softcapping", 30.0)?;
    let window = keys.optional_dimension("sliding_window")?.unwrap_or(4096);
    spec.windows = read_windows(keys, spec.layers, Some(window), |layer| layer % 2 == 0)?;
    Ok(spec)
}

pub(super) fn gemma3(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = sizes_of_gemma3(keys)?;
    gemma2_base(keys, &mut spec)?;
    spec.qk_norm = QkNorm::PerHead;
    let window = keys.optional_dimension("sliding_window")?.unwrap_or(4096);
    let pattern = keys.optional_dimension("sliding_window_pattern")?.unwrap_or(6);
    spec.windows = read_windows(keys, spec.layers, Some(window), |layer| (layer + 1) % pattern != 0)?;
    let (dim, context) = (spec.head_dim, spec.context);
    let global = RopeDefaults { theta: 1_000_000.0, part: 1.0, reads_part: true };
    let local_theta = keys.positive("rope_local_base_freq")?.unwrap_or(10_000.0);
    let local = RopeDefaults { theta: local_theta, part: 1.0, reads_part: true };
    let by_kind = keys.object("rope_parameters")?;
    let nested = by_kind.as_ref().map(|by_kind| {
        Ok::<_, String>((by_kind.object("full_attention")?, by_kind.object("sliding_attention")?))
    });
    spec.ropes = match nested.transpose()? {
        Some((Some(full), sliding)) => vec![
            read_rope_object(keys, Some(full), dim, context, global, warnings)?,
            read_rope_object(keys, sliding, dim, context, local, warnings)?,
        ],
        Some(_) => {
            return Err(
                "rope_parameters has no full_attention: gemma3 has one for each kind of layer".to_owned()
            );
        }
        // The scaling of the older style is the global layers' alone.
        None => vec![
            read_rope(keys, dim, context, global, warnings)?,
            crate::model::spec::RopeSpec::plain(local_theta, dim),
        ],
    };
    spec.rope_of_layer = spec.windows.iter().map(|window| Some(usize::from(window.is_some()))).collect();
    Ok(spec)
}

/// Gemma 3's text configuration within a model of text and images leaves out what equals the defaults
/// of its class, those of the 4B model.
fn sizes_of_gemma3(keys: &Keys<'_>) -> Read {
    let (hidden, heads) = (keys.dimension("hidden_size")?, keys.few("num_attention_heads")?.unwrap_or(8));
    let mut spec = ModelSpec::llama(
        keys.text("model_type")?.unwrap_or("gemma3_text"),
        Dimensions {
            layers: keys.layers("num_hidden_layers")?,
            heads,
            kv_heads: keys.few("num_key_value_heads")?.unwrap_or(4),
            head_dim: keys.optional_dimension("head_dim")?.unwrap_or(256),
            hidden,
            mlp_hidden: keys.dimension("intermediate_size")?,
            vocab: keys.optional_dimension("vocab_size")?.unwrap_or(262_208),
            context: keys.optional_dimension("max_position_embeddings")?.unwrap_or(131_072),
        },
    );
    spec.norm.eps = keys.number("rms_norm_eps")?.unwrap_or(1e-6);
    spec.tied_embeddings = keys.flag_or("tie_word_embeddings", true)?;
    Ok(spec)
}

pub(super) fn phi3(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let rope = RopeDefaults { reads_part: true, ..RopeDefaults::default() };
    let mut spec = base(keys, &Base { eps: 1e-5, rope, ..Base::default() }, warnings)?;
    // Some files have them; transformers builds the model without.
    for bias in ["attention_bias", "mlp_bias", "lm_head_bias"] {
        if keys.flag_or(bias, false)? {
            return Err(format!("{bias} true is not supported for phi3"));
        }
    }
    let window = keys.optional_dimension("sliding_window")?;
    spec.windows = read_windows(keys, spec.layers, window, |_| true)?;
    Ok(spec)
}

pub(super) fn olmo2(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = base(keys, &Base { eps: 1e-5, ..Base::default() }, warnings)?;
    attention_bias(keys, &mut spec, false)?;
    spec.block = BlockKind::OutputNorm;
    spec.qk_norm = QkNorm::AllHeads;
    Ok(spec)
}

pub(super) fn smollm3(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let rope = RopeDefaults { theta: 2_000_000.0, part: 1.0, reads_part: false };
    let mut spec = base(keys, &Base { tied: true, rope, ..Base::default() }, warnings)?;
    attention_bias(keys, &mut spec, false)?;
    spec.mlp_bias = keys.flag_or("mlp_bias", false)?;
    let interval = keys.optional_dimension("no_rope_layer_interval")?.unwrap_or(4);
    let has_rope: Vec<bool> = match keys.list("no_rope_layers")? {
        Some(list) if list.len() == spec.layers => {
            list.iter().map(|value| value.as_u64() != Some(0)).collect()
        }
        Some(list) => return Err(format!("no_rope_layers lists {} layers of {}", list.len(), spec.layers)),
        None => (0..spec.layers).map(|layer| (layer + 1) % interval != 0).collect(),
    };
    spec.rope_of_layer = has_rope.iter().map(|&has| has.then_some(0)).collect();
    let used = keys.flag_or("use_sliding_window", false)?;
    keys.present("max_window_layers");
    let window = keys.optional_dimension("sliding_window")?.filter(|_| used);
    spec.windows = read_windows(keys, spec.layers, window, |layer| !has_rope[layer])?;
    Ok(spec)
}

pub(super) fn granite(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = llama(keys, warnings)?;
    spec.embedding_scale = keys.positive("embedding_multiplier")?.unwrap_or(1.0);
    spec.residual_scale = keys.positive("residual_multiplier")?.unwrap_or(1.0);
    spec.attention_scale = keys.positive("attention_multiplier")?.unwrap_or(1.0);
    spec.logits_divisor = keys.positive("logits_scaling")?.unwrap_or(1.0);
    Ok(spec)
}

pub(super) fn starcoder2(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = base(keys, &Base { tied: true, ..Base::default() }, warnings)?;
    spec.activation = activation(keys, "hidden_act", "gelu_pytorch_tanh")?;
    // What the first files carry over from their training code.
    keys.present("activation_function");
    keys.present("layer_norm_epsilon");
    spec.norm.kind = NormKind::Layer;
    spec.norm.has_bias = true;
    spec.norm.eps = keys.number("norm_epsilon")?.unwrap_or(1e-5);
    spec.gated_mlp = false;
    let bias = keys.flag_or("use_bias", true)?;
    (spec.qkv_bias, spec.output_bias, spec.mlp_bias) = (bias, bias, bias);
    if keys.text("mlp_type")?.is_some_and(|kind| kind != "default")
        || keys.text("norm_type")?.is_some_and(|kind| kind != "layer_norm")
    {
        return Err("this mlp_type or norm_type is not supported for starcoder2".to_owned());
    }
    let window = keys.optional_dimension("sliding_window")?;
    spec.windows = read_windows(keys, spec.layers, window, |_| true)?;
    Ok(spec)
}

pub(super) fn stablelm(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    if keys.number("rotary_scaling_factor")?.is_some_and(|factor| factor != 1.0) {
        return Err("rotary_scaling_factor is not supported for stablelm".to_owned());
    }
    // Very old configs say `rope_pct`.
    let part = keys.positive("rope_pct")?.unwrap_or(0.25);
    let rope = RopeDefaults { theta: 10_000.0, part, reads_part: true };
    let mut spec = base(keys, &Base { rope, ..Base::default() }, warnings)?;
    spec.norm.kind = NormKind::Layer;
    spec.norm.has_bias = true;
    let old_eps = keys.number("norm_eps")?;
    spec.norm.eps = keys.number("layer_norm_eps")?.or(old_eps).unwrap_or(1e-5);
    spec.qkv_bias = keys.flag_or("use_qkv_bias", false)?;
    if keys.flag_or("qk_layernorm", false)? {
        spec.qk_norm = QkNorm::PerHeadOwn;
    }
    if keys.flag_or("use_parallel_residual", false)? {
        spec.block = BlockKind::ParallelSharedNorm;
    }
    Ok(spec)
}
