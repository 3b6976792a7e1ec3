//! Mixtures of experts.

use super::keys::Keys;
use super::llama_like::{Base, base, qwen3, windowed};
use super::rope::RopeDefaults;
use super::windows::read_windows;
use crate::model::spec::{ExpertGate, ModelSpec, MoeSpec, RopeScaling, yarn_attention_factor};

type Read = Result<ModelSpec, String>;
type Warnings = Vec<String>;

pub(super) fn mixtral(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let rope = RopeDefaults { theta: 1_000_000.0, ..RopeDefaults::default() };
    let mut spec = windowed(keys, &Base { eps: 1e-5, rope, ..Base::default() }, warnings)?;
    spec.moe = Some(MoeSpec {
        experts: keys.few("num_local_experts")?.unwrap_or(8),
        active: keys.few("num_experts_per_tok")?.unwrap_or(2),
        hidden: spec.mlp_hidden,
        normalised: true,
        bias: false,
        gate: ExpertGate::Plain,
        layers: vec![true; spec.layers],
    });
    Ok(spec)
}

pub(super) fn qwen3_moe(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let mut spec = qwen3(keys, warnings)?;
    // Unlike the dense model's, the window holds for all layers.
    let used = keys.flag_or("use_sliding_window", false)?;
    let window = keys.optional_dimension("sliding_window")?.filter(|_| used);
    spec.windows = vec![window; spec.layers];
    // Two names for one thing: transformers 4's and 5's.
    let renamed = keys.few("num_local_experts")?;
    let experts = keys.few("num_experts")?.or(renamed).unwrap_or(128);
    let step = keys.optional_dimension("decoder_sparse_step")?.unwrap_or(1);
    let dense: Vec<u64> = keys
        .list("mlp_only_layers")?
        .unwrap_or_default()
        .iter()
        .filter_map(serde_json::Value::as_u64)
        .collect();
    spec.moe = Some(MoeSpec {
        experts,
        active: keys.few("num_experts_per_tok")?.unwrap_or(8),
        hidden: keys.optional_dimension("moe_intermediate_size")?.unwrap_or(768),
        normalised: keys.flag_or("norm_topk_prob", false)?,
        bias: false,
        gate: ExpertGate::Plain,
        layers: (0..spec.layers)
            .map(|layer| !dense.contains(&(layer as u64)) && (layer + 1) % step == 0)
            .collect(),
    });
    Ok(spec)
}

pub(super) fn gpt_oss(keys: &Keys<'_>, warnings: &mut Warnings) -> Read {
    let rope = RopeDefaults { theta: 150_000.0, ..RopeDefaults::default() };
    let mut spec = base(keys, &Base { eps: 1e-5, rope, ..Base::default() }, warnings)?;
    if !keys.has("rope_parameters") && !keys.has("rope_scaling") {
        spec.ropes[0].scaling = RopeScaling::Yarn {
            factor: 32.0,
            beta_fast: 32.0,
            beta_slow: 1.0,
            original_context: 4096.0,
            attention_factor: yarn_attention_factor(32.0, None, None),
            truncate: false,
        };
    }
    spec.qkv_bias = keys.flag_or("attention_bias", true)?;
    spec.output_bias = spec.qkv_bias;
    spec.attention_sinks = true;
    let window = keys.optional_dimension("sliding_window")?.unwrap_or(128);
    spec.windows = read_windows(keys, spec.layers, Some(window), |layer| layer % 2 == 0)?;
    let experts = keys.few("num_local_experts")?.or(keys.few("num_experts")?);
    let active = keys.few("num_experts_per_tok")?.or(keys.few("experts_per_token")?);
    spec.moe = Some(MoeSpec {
        experts: experts.unwrap_or(128),
        active: active.unwrap_or(4),
        hidden: spec.mlp_hidden,
        normalised: true,
        bias: true,
        gate: ExpertGate::Clamped {
            alpha: keys.positive("swiglu_alpha")?.unwrap_or(1.702),
            limit: keys.positive("swiglu_limit")?.unwrap_or(7.0),
        },
        layers: vec![true; spec.layers],
    });
    Ok(spec)
}
