//! `config.json` to [`ModelSpec`], in the style of transformers v4 (`rope_theta`, `rope_scaling`)
//! and v5 (`rope_parameters`).

use super::ModelError;
use super::spec::{ModelSpec, RopeScaling, RopeSpec};
use serde_json::{Map, Value};
use std::path::Path;

/// Architectures that this version runs.
pub const KNOWN_ARCHITECTURES: &str = "llama";
/// No dimension of a real model comes near; a larger one would only size an allocation.
pub(super) const MAX_DIMENSION: u64 = 1 << 24;

/// Reads and checks `config.json`.
///
/// # Errors
/// The file is missing or no JSON, the architecture is unknown, or a key is missing, of the wrong
/// type, or has a value that this version does not implement.
pub fn read_config(path: &Path) -> Result<ModelSpec, ModelError> {
    let text = std::fs::read(path).map_err(|e| ModelError::read(&e, path))?;
    let malformed = |why: String| ModelError::Malformed { what: "config.json", why, path: path.to_owned() };
    let value: Value = serde_json::from_slice(&text).map_err(|e| malformed(e.to_string()))?;
    let Value::Object(map) = value else { return Err(malformed("it is no JSON object".to_owned())) };
    let keys = Keys { map: &map };
    let architecture = keys.text("model_type").unwrap_or_default().to_owned();
    if architecture != "llama" {
        return Err(ModelError::UnknownArchitecture {
            found: architecture,
            known: KNOWN_ARCHITECTURES,
            path: path.to_owned(),
        });
    }
    let spec = llama(&keys, architecture).and_then(ModelSpec::checked);
    spec.map_err(|why| ModelError::Config { why, path: path.to_owned() })
}

fn llama(keys: &Keys<'_>, architecture: String) -> Result<ModelSpec, String> {
    match keys.text("hidden_act").unwrap_or("silu") {
        "silu" | "swish" => {}
        other => return Err(format!("hidden_act {other:?} is not supported for llama (silu is)")),
    }
    let (hidden, heads) = (keys.dimension("hidden_size")?, keys.dimension("num_attention_heads")?);
    let head_dim = keys.optional_dimension("head_dim")?.unwrap_or(hidden / heads);
    let layers = keys.dimension("num_hidden_layers")?;
    let attention_bias = keys.flag("attention_bias")?.unwrap_or(false);
    Ok(ModelSpec {
        architecture,
        layers,
        heads,
        kv_heads: keys.optional_dimension("num_key_value_heads")?.unwrap_or(heads),
        head_dim,
        hidden,
        mlp_hidden: keys.dimension("intermediate_size")?,
        vocab: keys.dimension("vocab_size")?,
        context: keys.optional_dimension("max_position_embeddings")?.unwrap_or(2048),
        norm_eps: keys.number("rms_norm_eps")?.unwrap_or(1e-6),
        rope: rope(keys)?,
        tied_embeddings: keys.flag("tie_word_embeddings")?.unwrap_or(false),
        qkv_bias: attention_bias,
        output_bias: attention_bias,
        mlp_bias: keys.flag("mlp_bias")?.unwrap_or(false),
        attention_scale: 1.0 / (head_dim as f64).sqrt(),
        windows: vec![None; layers],
    })
}

/// The rotary embedding: v5 puts all in `rope_parameters`, v4 splits it over two keys.
fn rope(keys: &Keys<'_>) -> Result<RopeSpec, String> {
    let object = |key: &str| match keys.map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(map)) => Ok(Some(map)),
        Some(other) => Err(format!("{key} is {other}, not an object")),
    };
    let v5 = object("rope_parameters")?;
    let nested = match v5 {
        Some(map) => Some(map),
        None => object("rope_scaling")?,
    };
    let theta = match v5 {
        Some(map) => Keys { map }.number("rope_theta")?,
        None => keys.number("rope_theta")?,
    };
    let theta = theta.unwrap_or(10_000.0);
    if theta <= 0.0 {
        return Err(format!("rope_theta is {theta}"));
    }
    let Some(map) = nested else { return Ok(RopeSpec { theta, scaling: RopeScaling::None }) };
    let scaling = Keys { map };
    let required = |key: &str| {
        let value = scaling.number(key)?.filter(|&value| value > 0.0);
        value.ok_or_else(|| format!("the rope scaling has no positive {key}"))
    };
    let kind = scaling.text("rope_type").or_else(|| scaling.text("type")).unwrap_or("default");
    let scaling = match kind {
        "default" => RopeScaling::None,
        "linear" => RopeScaling::Linear { factor: required("factor")? },
        "llama3" => RopeScaling::Llama3 {
            factor: required("factor")?,
            low_freq_factor: required("low_freq_factor")?,
            high_freq_factor: required("high_freq_factor")?,
            original_context: required("original_max_position_embeddings")?,
        },
        other => {
            return Err(format!("rope type {other:?} is not supported (default, linear and llama3 are)"));
        }
    };
    Ok(RopeSpec { theta, scaling })
}

/// Typed access to the keys of an object.
struct Keys<'a> {
    map: &'a Map<String, Value>,
}

impl<'a> Keys<'a> {
    fn present(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.present(key)?.as_str()
    }

    fn number(&self, key: &str) -> Result<Option<f64>, String> {
        let Some(value) = self.present(key) else { return Ok(None) };
        let number = value.as_f64().filter(|number| number.is_finite());
        number.map(Some).ok_or_else(|| format!("{key} is {value}, not a number"))
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, String> {
        let Some(value) = self.present(key) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| format!("{key} is {value}, not true or false"))
    }

    fn optional_dimension(&self, key: &str) -> Result<Option<usize>, String> {
        let Some(value) = self.present(key) else { return Ok(None) };
        let dimension = value.as_u64().filter(|n| (1..=MAX_DIMENSION).contains(n));
        let dimension = dimension.ok_or_else(|| format!("{key} is {value}, not a size"))?;
        Ok(Some(usize::try_from(dimension).expect("bounded above")))
    }

    fn dimension(&self, key: &str) -> Result<usize, String> {
        self.optional_dimension(key)?.ok_or_else(|| format!("{key} is missing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec_of(json: &str) -> Result<ModelSpec, ModelError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.json");
        std::fs::write(&path, json).expect("written");
        read_config(&path)
    }

    fn with(changes: &[(&str, Value)]) -> String {
        let mut map: Map<String, Value> = serde_json::from_str(
            r#"{"model_type":"llama","hidden_size":32,"num_attention_heads":4,"num_key_value_heads":2,
                "num_hidden_layers":3,"intermediate_size":48,"vocab_size":320,"rms_norm_eps":1e-6}"#,
        )
        .expect("valid");
        for (key, value) in changes {
            map.insert((*key).to_owned(), value.clone());
        }
        Value::Object(map).to_string()
    }

    #[test]
    fn v4_and_v5_say_the_same() {
        let llama3 = serde_json::json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 5e5});
        let v4 = spec_of(&with(&[("rope_theta", 5e5.into()), ("rope_scaling", llama3.clone())]));
        let v5 = spec_of(&with(&[("rope_parameters", llama3)]));
        let (v4, v5) = (v4.expect("v4"), v5.expect("v5"));
        assert_eq!(v4, v5);
        assert_eq!(v4.rope.theta, 5e5);
        assert!(matches!(v4.rope.scaling, RopeScaling::Llama3 { factor: 8.0, .. }));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (key, value, wording) in [
            ("model_type", "mamba".into(), r#"Architecture "mamba" is not supported yet (known: llama)"#),
            ("hidden_size", Value::Null, "hidden_size is missing"),
            ("hidden_size", 0.into(), "hidden_size is 0, not a size"),
            ("vocab_size", (-1).into(), "vocab_size is -1, not a size"),
            ("num_hidden_layers", 1_u64.wrapping_shl(40).into(), "num_hidden_layers is 1099511627776"),
            ("num_key_value_heads", 3.into(), "4 heads can't share 3 KV heads"),
            ("head_dim", 7.into(), "head_dim 7 is odd"),
            ("hidden_act", "gelu".into(), r#"hidden_act "gelu" is not supported"#),
            ("attention_bias", "no".into(), r#"attention_bias is "no", not true or false"#),
            ("rope_scaling", serde_json::json!({"type": "yarn"}), r#"rope type "yarn" is not supported"#),
            ("rope_scaling", serde_json::json!({"type": "linear"}), "no positive factor"),
            ("rms_norm_eps", 0.into(), "norm epsilon 0"),
        ] {
            let error = spec_of(&with(&[(key, value)])).expect_err(wording).to_string();
            assert!(error.contains(wording), "{error}");
            assert!(error.ends_with("config.json"), "{error}");
        }
    }
}
