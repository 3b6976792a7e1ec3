//! An architecture in words and as JSON.

use crate::model::ModelSpec;
use crate::model::spec::{BlockKind, ExpertGate, NormKind, QkNorm, RopeScaling, RopeSpec};
use serde_json::{Map, Value, json};

/// One fact about a model: its label, how a person reads it, and the value for programs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fact {
    pub(super) label: &'static str,
    pub(super) text: String,
    pub(super) value: Value,
}

impl Fact {
    pub(super) fn new(label: &'static str, value: impl Into<Value>) -> Self {
        let value = value.into();
        let text = match &value {
            Value::String(text) => text.clone(),
            Value::Bool(yes) => if *yes { "yes" } else { "no" }.to_owned(),
            other => other.to_string(),
        };
        Self { label, text, value }
    }

    pub(super) fn said(mut self, text: impl Into<String>) -> Self {
        self.text = text.into();
        self
    }

    /// The label as a key of an object.
    fn key(&self) -> String {
        self.label.to_lowercase().replace([' ', '-'], "_")
    }
}

/// Facts as an object.
pub(super) fn object(facts: &[Fact]) -> Value {
    Value::Object(facts.iter().map(|fact| (fact.key(), fact.value.clone())).collect::<Map<_, _>>())
}

/// What the decoder needs to know of a model.
pub(super) fn describe(spec: &ModelSpec) -> Vec<Fact> {
    let shared = format!("{} (each serves {} query heads)", spec.kv_heads, spec.group());
    vec![
        Fact::new("Architecture", spec.architecture.as_str()),
        Fact::new("Layers", spec.layers),
        Fact::new("Heads", spec.heads),
        Fact::new("KV heads", spec.kv_heads).said(shared),
        Fact::new("Head dim", spec.head_dim),
        Fact::new("Hidden", spec.hidden),
        Fact::new("MLP hidden", spec.mlp_hidden),
        Fact::new("Vocabulary", spec.vocab),
        Fact::new("Context", spec.context).said(format!("{} tokens", spec.context)),
        positions(spec),
        windows(&spec.windows),
        attention(spec),
        Fact::new("Layer", format!("{:?}", spec.block)).said(block(spec.block)),
        norm(spec),
        mlp(spec),
        biases(spec),
        Fact::new("Tied embeddings", spec.tied_embeddings),
    ]
}

/// How a token knows where it stands.
fn positions(spec: &ModelSpec) -> Fact {
    let label = "Positions";
    if let Some(learned) = spec.learned_positions {
        let said = format!("learned, {} of them", learned.rows - learned.offset);
        return Fact::new(
            label,
            json!({ "kind": "learned", "rows": learned.rows, "offset": learned.offset }),
        )
        .said(said);
    }
    if let Some(slopes) = &spec.alibi_slopes {
        let said = format!(
            "ALiBi, slopes {:.3} to {:.5}",
            slopes[0],
            slopes.iter().copied().fold(f64::MAX, f64::min)
        );
        return Fact::new(label, json!({ "kind": "alibi", "slopes": slopes })).said(said);
    }
    let ropes: Vec<(Value, String)> = spec.ropes.iter().map(|rope| one_rope(rope, spec.head_dim)).collect();
    let without: Vec<String> = (0..spec.layers)
        .filter(|&layer| spec.rope_of_layer[layer].is_none())
        .map(|layer| layer.to_string())
        .collect();
    let mut said = ropes.iter().map(|(_, said)| said.as_str()).collect::<Vec<_>>().join("; local layers: ");
    if !without.is_empty() {
        said.push_str("; none in layers ");
        said.push_str(&without.join(", "));
    }
    let values: Vec<&Value> = ropes.iter().map(|(value, _)| value).collect();
    Fact::new(label, json!({ "kind": "rotary", "ropes": values, "rope_of_layer": spec.rope_of_layer }))
        .said(said)
}

fn one_rope(rope: &RopeSpec, head_dim: usize) -> (Value, String) {
    let (kind, more, said) = match &rope.scaling {
        RopeScaling::None => ("none", Value::Null, String::new()),
        RopeScaling::Linear { factor } => {
            ("linear", json!({ "factor": factor }), format!(", linear scaling by {factor}"))
        }
        RopeScaling::Dynamic { factor, context } => (
            "dynamic",
            json!({ "factor": factor, "context": context }),
            format!(", dynamic scaling by {factor} beyond {context} tokens"),
        ),
        RopeScaling::Yarn { factor, beta_fast, beta_slow, original_context, attention_factor, truncate } => (
            "yarn",
            json!({
                "factor": factor,
                "beta_fast": beta_fast,
                "beta_slow": beta_slow,
                "original_context": original_context,
                "attention_factor": attention_factor,
                "truncate": truncate,
            }),
            format!(", YaRN scaling by {factor} beyond {original_context} tokens"),
        ),
        RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_context } => (
            "llama3",
            json!({
                "factor": factor,
                "low_freq_factor": low_freq_factor,
                "high_freq_factor": high_freq_factor,
                "original_context": original_context,
            }),
            format!(", llama3 scaling by {factor} beyond {original_context} tokens"),
        ),
        RopeScaling::LongRope { short, long, original_context, attention_factor } => (
            "longrope",
            json!({
                "short_factor": short,
                "long_factor": long,
                "original_context": original_context,
                "attention_factor": attention_factor,
            }),
            format!(", LongRoPE beyond {original_context} tokens"),
        ),
        RopeScaling::PerFrequency { .. } => {
            ("per_frequency", Value::Null, ", a divisor for each frequency".to_owned())
        }
    };
    let part =
        if rope.dim == head_dim { String::new() } else { format!(" on {} of {head_dim} elements", rope.dim) };
    let value = json!({ "theta": rope.theta, "dim": rope.dim, "scaling": kind, "parameters": more });
    (value, format!("rotary{part}, base {}{said}", rope.theta))
}

fn attention(spec: &ModelSpec) -> Fact {
    let mut said = vec![format!("scale {:.4}", spec.attention_scale)];
    if spec.scale_by_inverse_layer {
        said.push("divided by the layer's number".to_owned());
    }
    if let Some(cap) = spec.attention_softcap {
        said.push(format!("scores capped at {cap}"));
    }
    if let Some(bound) = spec.qkv_clip {
        said.push(format!("q, k, v clipped at {bound}"));
    }
    if spec.qk_norm != QkNorm::None {
        said.push("norms on q and k".to_owned());
    }
    if spec.attention_sinks {
        said.push("a learned sink for each head".to_owned());
    }
    let value = json!({
        "scale": spec.attention_scale,
        "divided_by_layer": spec.scale_by_inverse_layer,
        "softcap": spec.attention_softcap,
        "qkv_clip": spec.qkv_clip,
        "qk_norm": format!("{:?}", spec.qk_norm),
        "learned_sinks": spec.attention_sinks,
    });
    Fact::new("Attention", value).said(said.join(", "))
}

fn block(block: BlockKind) -> &'static str {
    match block {
        BlockKind::PreNorm => "norms before attention and MLP",
        BlockKind::OutputNorm => "norms behind attention and MLP",
        BlockKind::Sandwich => "norms before and behind attention and MLP",
        BlockKind::ResidualNorm => "norms behind the residual additions",
        BlockKind::NormedResidual => "norms before attention and MLP, residual from behind them",
        BlockKind::Parallel => "attention and MLP in parallel, a norm for each",
        BlockKind::ParallelSharedNorm => "attention and MLP in parallel, one norm for both",
    }
}

fn norm(spec: &ModelSpec) -> Fact {
    let norm = spec.norm;
    let kind = match norm.kind {
        NormKind::Rms => "RMS norm",
        NormKind::Layer => "layer norm",
    };
    let value = json!({
        "kind": format!("{:?}", norm.kind), "epsilon": norm.eps, "weight": norm.has_weight, "bias": norm.has_bias,
        "plus_one": norm.plus_one,
    });
    Fact::new("Norm", value).said(format!("{kind}, epsilon {:e}", norm.eps as f32))
}

fn mlp(spec: &ModelSpec) -> Fact {
    let gate = if spec.gated_mlp { "gated " } else { "" };
    let mut said = format!("{gate}{:?}", spec.activation);
    if spec.moe.as_ref().is_some_and(|moe| moe.gate != ExpertGate::Plain) {
        "clamped SwiGLU".clone_into(&mut said);
    }
    let experts = spec.moe.as_ref().map(|moe| {
        let layers = moe.layers.iter().filter(|has| **has).count();
        said = format!("{said}; {} of {} experts per token in {layers} layers", moe.active, moe.experts);
        json!({ "experts": moe.experts, "active": moe.active, "hidden": moe.hidden, "layers": moe.layers })
    });
    let value = json!({ "activation": format!("{:?}", spec.activation), "gated": spec.gated_mlp, "experts": experts });
    Fact::new("MLP", value).said(said)
}

fn windows(windows: &[Option<usize>]) -> Fact {
    let local: Vec<usize> = (0..windows.len()).filter(|&layer| windows[layer].is_some()).collect();
    let sizes: std::collections::BTreeSet<usize> = windows.iter().copied().flatten().collect();
    let said = if local.is_empty() {
        "every layer sees the whole text".to_owned()
    } else {
        let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
        let layers: Vec<String> = local.iter().map(usize::to_string).collect();
        format!(
            "{} of {} layers see {} keys: {}",
            local.len(),
            windows.len(),
            sizes.join(" or "),
            layers.join(", ")
        )
    };
    Fact::new("Windows", json!(windows)).said(said)
}

fn biases(spec: &ModelSpec) -> Fact {
    let all = [
        ("q, k, v", "qkv", spec.qkv_bias),
        ("attention output", "output", spec.output_bias),
        ("MLP", "mlp", spec.mlp_bias),
    ];
    let said: Vec<&str> = all.iter().filter(|(.., has)| *has).map(|(name, ..)| *name).collect();
    let value: Map<String, Value> = all.iter().map(|(_, key, has)| ((*key).to_owned(), json!(has))).collect();
    Fact::new("Biases", Value::Object(value)).said(if said.is_empty() {
        "none".to_owned()
    } else {
        said.join("; ")
    })
}
