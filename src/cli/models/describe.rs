//! An architecture in words and as JSON.

use crate::model::ModelSpec;
use crate::model::spec::RopeScaling;
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
        rope(spec),
        windows(&spec.windows),
        Fact::new("Attention scale", spec.attention_scale),
        Fact::new("Norm epsilon", spec.norm_eps),
        biases(spec),
        Fact::new("Tied embeddings", spec.tied_embeddings),
    ]
}

fn rope(spec: &ModelSpec) -> Fact {
    let theta = spec.rope.theta;
    let (kind, more, said) = match &spec.rope.scaling {
        RopeScaling::None => ("none", Value::Null, String::new()),
        RopeScaling::Linear { factor } => {
            ("linear", json!({ "factor": factor }), format!(", linear scaling by {factor}"))
        }
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
        RopeScaling::PerFrequency { .. } => {
            ("per_frequency", Value::Null, ", a divisor for each frequency".to_owned())
        }
    };
    let value = json!({ "theta": theta, "scaling": kind, "parameters": more });
    Fact::new("Rotary embedding", value).said(format!("base {theta}{said}"))
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
