//! `config.json` to [`ModelSpec`]: a table of families, each a few lines that say how it differs from llama.

mod classic;
mod inert;
mod keys;
mod llama_like;
mod mixtures;
mod rope;
mod windows;

pub(super) use keys::MAX_DIMENSION;

use super::ModelError;
use super::spec::ModelSpec;
use super::weights::layout::{self, CheckpointLayout};
use keys::Keys;
use serde_json::Value;
use std::path::Path;

/// What `config.json` says.
#[derive(Debug, Clone)]
pub struct ConfigReading {
    /// The architecture.
    pub spec: ModelSpec,
    /// How the family's safetensors name and store the tensors.
    pub layout: CheckpointLayout,
    /// What was ignored or assumed, one line each.
    pub warnings: Vec<String>,
}

/// A family: its names in `model_type`, how it reads, and how its files are laid out.
struct Family {
    model_types: &'static [&'static str],
    read: fn(&Keys<'_>, &mut Vec<String>) -> Result<ModelSpec, String>,
    layout: CheckpointLayout,
    /// Keys that the family calls otherwise, `(ours, theirs)`.
    synonyms: &'static [(&'static str, &'static str)],
}

const fn family(
    model_types: &'static [&'static str],
    read: fn(&Keys<'_>, &mut Vec<String>) -> Result<ModelSpec, String>,
    layout: CheckpointLayout,
) -> Family {
    Family { model_types, read, layout, synonyms: &[] }
}

impl Family {
    const fn with(self, synonyms: &'static [(&'static str, &'static str)]) -> Self {
        Self { synonyms, ..self }
    }
}

const FAMILIES: &[Family] = &[
    family(&["llama"], llama_like::llama, layout::LLAMA),
    family(&["mistral"], llama_like::mistral, layout::LLAMA),
    family(&["mixtral"], mixtures::mixtral, layout::MIXTRAL),
    family(&["qwen2"], llama_like::qwen2, layout::LLAMA),
    family(&["qwen3"], llama_like::qwen3, layout::LLAMA),
    family(&["qwen3_moe"], mixtures::qwen3_moe, layout::QWEN3_MOE),
    family(&["gemma"], llama_like::gemma, layout::LLAMA),
    family(&["gemma2"], llama_like::gemma2, layout::GEMMA2),
    family(&["gemma3_text", "gemma3"], llama_like::gemma3, layout::GEMMA3),
    family(&["phi3"], llama_like::phi3, layout::PHI3),
    family(&["olmo2"], llama_like::olmo2, layout::GEMMA2),
    family(&["smollm3"], llama_like::smollm3, layout::LLAMA),
    family(&["granite"], llama_like::granite, layout::LLAMA),
    family(&["starcoder2"], llama_like::starcoder2, layout::STARCODER2),
    family(&["stablelm", "stablelm_epoch"], llama_like::stablelm, layout::STABLELM),
    family(&["gpt_oss"], mixtures::gpt_oss, layout::GPT_OSS),
    family(&["gpt2"], classic::gpt2, layout::GPT2).with(classic::GPT2_KEYS),
    family(&["gpt_neox"], classic::gpt_neox, layout::GPT_NEOX),
    family(&["opt"], classic::opt, layout::OPT),
    family(&["falcon", "RefinedWeb", "RefinedWebModel"], classic::falcon, layout::FALCON)
        .with(classic::FALCON_KEYS),
    family(&["bloom"], classic::bloom, layout::BLOOM).with(classic::BLOOM_KEYS),
    family(&["mpt"], classic::mpt, layout::MPT).with(classic::MPT_KEYS),
    family(&["phi"], classic::phi, layout::PHI),
];

/// Keys that must have one of a few values, in any family: `(key, wanted)`.
const ONLY: &[(&str, bool)] = &[
    ("add_cross_attention", false),
    ("is_encoder_decoder", false),
    ("use_bidirectional_attention", false),
    ("tie_encoder_decoder", false),
    ("rope_interleaved", false),
    ("use_mrope", false),
];

/// Architectures that this version runs, for messages.
#[must_use]
pub fn known_architectures() -> String {
    FAMILIES.iter().map(|family| family.model_types[0]).collect::<Vec<_>>().join(", ")
}

/// Reads and checks `config.json`.
///
/// # Errors
/// The file is missing or no JSON, the architecture is unknown, or a key is missing, of the wrong
/// type, or has a value that this version does not implement.
pub fn read_config(path: &Path) -> Result<ConfigReading, ModelError> {
    let text = std::fs::read(path).map_err(|e| ModelError::read(&e, path))?;
    let malformed = |why: String| ModelError::Malformed { what: "config.json", why, path: path.to_owned() };
    let value: Value = serde_json::from_slice(&text).map_err(|e| malformed(e.to_string()))?;
    let Value::Object(map) = value else { return Err(malformed("it is no JSON object".to_owned())) };
    let architecture = map.get("model_type").and_then(Value::as_str).unwrap_or_default();
    let Some(family) = FAMILIES.iter().find(|family| family.model_types.contains(&architecture)) else {
        return Err(ModelError::UnknownArchitecture {
            found: architecture.to_owned(),
            known: known_architectures(),
            path: path.to_owned(),
        });
    };
    let mut warnings = Vec::new();
    let whole = Keys::new(&map, "", family.synonyms);
    // A model of text and images keeps its language model's keys apart.
    let text = map.get("text_config").and_then(Value::as_object).filter(|_| architecture == "gemma3");
    let keys = text.map_or(whole, |text| Keys::new(text, "", family.synonyms));
    let spec = check_quantization(&Keys::new(&map, "", &[]))
        .and_then(|()| read_family(family, &keys, &mut warnings))
        .and_then(ModelSpec::checked);
    let spec = spec.map_err(|why| ModelError::Config { why, path: path.to_owned() })?;
    warnings.extend(keys.unknown());
    Ok(ConfigReading { spec, layout: family.layout, warnings })
}

fn read_family(family: &Family, keys: &Keys<'_>, warnings: &mut Vec<String>) -> Result<ModelSpec, String> {
    for &(key, wanted) in ONLY {
        if keys.flag_or(key, wanted)? != wanted {
            return Err(format!("{key} {} is not supported", !wanted));
        }
    }
    keys.present("quantization_config");
    (family.read)(keys, warnings)
}

/// Weights that were quantised with a method of their own can't be read, MXFP4 apart.
fn check_quantization(keys: &Keys<'_>) -> Result<(), String> {
    for key in ["quantization_config", "compression_config"] {
        let Some(quantization) = keys.object(key)? else { continue };
        let method = quantization.text("quant_method")?.unwrap_or("unknown");
        if method != "mxfp4" {
            return Err(format!(
                "{key} {method:?} is not supported: take the unquantised model or a GGUF file"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::spec::{Activation, RopeScaling};

    use serde_json::Map;

    fn read(json: &str) -> Result<ConfigReading, ModelError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.json");
        std::fs::write(&path, json).expect("written");
        read_config(&path)
    }

    fn spec_of(json: &str) -> Result<ModelSpec, ModelError> {
        read(json).map(|reading| reading.spec)
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
        assert_eq!(v4.ropes[0].theta, 5e5);
        assert!(matches!(v4.ropes[0].scaling, RopeScaling::Llama3 { factor: 8.0, .. }));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (key, value, wording) in [
            (
                "model_type",
                "mamba".into(),
                r#"Architecture "mamba" is not supported yet (known: llama, mistral"#,
            ),
            ("model_type", Value::Null, r#"Architecture "" is not supported yet"#),
            ("hidden_size", Value::Null, "hidden_size is missing"),
            ("hidden_size", 0.into(), "hidden_size is 0, not a size"),
            ("hidden_size", 32.5.into(), "hidden_size is 32.5, not a size"),
            ("vocab_size", (-1).into(), "vocab_size is -1, not a size"),
            ("num_hidden_layers", 1_u64.wrapping_shl(40).into(), "num_hidden_layers is 1099511627776"),
            ("num_hidden_layers", 100_000.into(), "num_hidden_layers is 100000, not a number of layers"),
            ("num_hidden_layers", "three".into(), r#"num_hidden_layers is "three", not a size"#),
            ("num_attention_heads", Value::Null, "num_attention_heads is missing"),
            ("num_key_value_heads", 3.into(), "4 heads can't share 3 KV heads"),
            ("num_key_value_heads", 8.into(), "4 heads can't share 8 KV heads"),
            ("head_dim", 7.into(), "rotary embedding on 7 of 7"),
            ("intermediate_size", Value::Null, "intermediate_size is missing"),
            ("hidden_act", "tanh".into(), r#"hidden_act "tanh" is not supported"#),
            ("hidden_act", 3.into(), "hidden_act is 3, not a text"),
            ("attention_bias", "no".into(), r#"attention_bias is "no", not true or false"#),
            ("tie_word_embeddings", 1.into(), "tie_word_embeddings is 1, not true or false"),
            ("rope_scaling", serde_json::json!({"type": "ntk"}), r#"rope type "ntk" is not supported"#),
            ("rope_scaling", serde_json::json!({"type": 4}), "rope_scaling.type is 4, not a text"),
            ("rope_scaling", serde_json::json!({"type": "linear"}), r#"rope type "linear" needs factor"#),
            (
                "rope_scaling",
                serde_json::json!({"type": "linear", "factor": -2.0}),
                "rope_scaling.factor is -2, not positive",
            ),
            ("rope_scaling", serde_json::json!({"type": "yarn"}), r#"rope type "yarn" needs factor"#),
            (
                "rope_scaling",
                serde_json::json!({"type": "longrope", "factor": 2}),
                r#"rope type "longrope" needs original_max_position_embeddings"#,
            ),
            (
                "rope_scaling",
                serde_json::json!({"type": "longrope", "original_max_position_embeddings": 16,
                "short_factor": [1.0], "long_factor": [1.0, 2.0, 3.0, 4.0]}),
                "1 rope factors are listed for 4 pairs",
            ),
            (
                "rope_scaling",
                serde_json::json!({"type": "longrope", "original_max_position_embeddings": 16,
                "short_factor": [1.0, 0.0, 1.0, 1.0], "long_factor": [1.0, 2.0, 3.0, 4.0]}),
                "a list of positive numbers",
            ),
            ("rope_scaling", serde_json::json!([1]), "rope_scaling is [1], not an object"),
            ("rope_theta", 0.into(), "rope_theta is 0, not positive"),
            ("rms_norm_eps", 0.into(), "norm epsilon 0"),
            ("rms_norm_eps", "NaN".into(), r#"rms_norm_eps is "NaN", not a number"#),
            ("add_cross_attention", true.into(), "add_cross_attention true is not supported"),
            (
                "quantization_config",
                serde_json::json!({"quant_method": "gptq"}),
                r#"quantization_config "gptq" is not supported"#,
            ),
        ] {
            let error = spec_of(&with(&[(key, value)])).expect_err(wording).to_string();
            assert!(error.contains(wording), "{error}");
            assert!(error.ends_with("config.json"), "{error}");
        }
    }

    #[test]
    fn an_unknown_key_is_a_warning_that_names_it() {
        let scaling = serde_json::json!({"type": "linear", "factor": 2.0, "strength": 3});
        let json = with(&[
            ("attention_dropout", 0.1.into()),
            ("talking_heads", true.into()),
            ("rope_scaling", scaling),
        ]);
        let warnings = read(&json).expect("read").warnings;
        assert_eq!(
            warnings,
            [
                "config.json: rope_scaling.strength is not known here and was ignored",
                "config.json: talking_heads is not known here and was ignored",
            ]
        );
    }

    #[test]
    fn layer_kinds_are_read_or_refused() {
        let of = |changes: &[(&str, Value)]| {
            let mut all = vec![("model_type", "qwen2".into())];
            all.extend_from_slice(changes);
            spec_of(&with(&all)).map(|spec| spec.windows).map_err(|error| error.to_string())
        };
        let used = [("use_sliding_window", Value::from(true)), ("sliding_window", 7.into())];
        assert_eq!(of(&[used[1].clone()]).expect("unused"), [None; 3]);
        assert_eq!(
            of(&[used[0].clone(), used[1].clone(), ("max_window_layers", 2.into())]).expect("read"),
            [None, None, Some(7)]
        );
        let kinds = |kinds: &[&str]| ("layer_types", serde_json::json!(kinds));
        let local = ["sliding_attention", "full_attention", "sliding_attention"];
        assert_eq!(
            of(&[used[0].clone(), used[1].clone(), kinds(&local)]).expect("read"),
            [Some(7), None, Some(7)]
        );
        for (wrong, wording) in [
            (kinds(&["full_attention"]), "layer_types lists 1 layers of 3"),
            (
                kinds(&["full_attention", "linear_attention", "full_attention"]),
                r#"layer type "linear_attention" is not supported"#,
            ),
            (kinds(&local), "there is no sliding_window"),
        ] {
            let error = of(&[wrong]).expect_err(wording);
            assert!(error.contains(wording), "{error}");
        }
    }

    /// What a family takes where its file says nothing, or says what transformers does not read.
    #[test]
    fn families_have_their_own_defaults() {
        let of = |family: &str, changes: &[(&str, Value)]| {
            let mut all = vec![("model_type", family.into())];
            all.extend_from_slice(changes);
            read(&with(&all)).expect(family)
        };
        let gemma2 = of("gemma2", &[]).spec;
        assert_eq!((gemma2.attention_softcap, gemma2.logits_softcap), (Some(50.0), Some(30.0)));
        let off = of("gemma2", &[("attn_logit_softcapping", Value::Null)]).spec;
        assert_eq!((off.attention_softcap, off.logits_softcap), (None, Some(30.0)));
        assert_eq!(of("mixtral", &[]).spec.ropes[0].theta, 1e6);
        let RopeScaling::Yarn { factor, .. } = of("gpt_oss", &[]).spec.ropes[0].scaling else {
            panic!("YaRN")
        };
        assert_eq!(factor, 32.0);
        assert_eq!(of("gemma", &[("hidden_act", "gelu".into())]).spec.activation, Activation::GeluTanh);

        // Half a head is rotated only in the families that read the key.
        let part = [("partial_rotary_factor", 0.5.into())];
        assert_eq!(of("phi3", &part).spec.ropes[0].dim, 4);
        let llama = of("llama", &part);
        assert_eq!(llama.spec.ropes[0].dim, 8);
        assert_eq!(llama.warnings, ["config.json: partial_rotary_factor is not known here and was ignored"]);

        let lists =
            serde_json::json!({"type": "yarn", "short_factor": [1, 1, 1, 1], "long_factor": [2, 2, 2, 2]});
        let old =
            of("phi3", &[("rope_scaling", lists), ("original_max_position_embeddings", 16.into())]).spec;
        assert!(matches!(old.ropes[0].scaling, RopeScaling::LongRope { .. }));
        let phi = of("phi", &[("head_dim", 16.into())]).spec;
        assert_eq!((phi.head_dim, phi.attention_scale), (16, 0.25));
    }
}
