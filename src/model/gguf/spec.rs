//! GGUF metadata to [`ModelSpec`].

use super::GgufHeader;
use crate::model::ModelError;
use crate::model::config::{MAX_DIMENSION, known_architectures};
use crate::model::spec::{Dimensions, ModelSpec, RopeScaling, RopeSpec};
use std::path::Path;

/// Reads and checks the architecture's keys. `rope_divisors` is the file's `rope_freqs.weight`.
///
/// # Errors
/// The architecture is unknown, or a key is missing or makes no sense.
pub fn spec_of_gguf(header: &GgufHeader, path: &Path) -> Result<ModelSpec, ModelError> {
    let architecture = header.str("general.architecture").unwrap_or_default();
    if architecture != "llama" {
        return Err(ModelError::UnknownArchitecture {
            found: architecture.to_owned(),
            known: known_architectures(),
            path: path.to_owned(),
        });
    }
    let spec = llama(header).and_then(ModelSpec::checked);
    spec.map_err(|why| ModelError::Config { why, path: path.to_owned() })
}

fn llama(header: &GgufHeader) -> Result<ModelSpec, String> {
    let optional = |key: &str| {
        let Some(value) = header.metadata.get(&format!("llama.{key}")) else { return Ok(None) };
        let dimension = value.as_u64().filter(|n| (1..=MAX_DIMENSION).contains(n));
        dimension.map(|n| Some(n as usize)).ok_or_else(|| format!("llama.{key} is {value:?}, not a size"))
    };
    let required = |key: &str| optional(key)?.ok_or_else(|| format!("llama.{key} is missing"));

    if header.u64("llama.expert_count").is_some_and(|experts| experts > 0) {
        return Err("mixtures of experts are not supported yet".to_owned());
    }
    let (hidden, heads, layers) =
        (required("embedding_length")?, required("attention.head_count")?, required("block_count")?);
    let head_dim = optional("attention.key_length")?.unwrap_or(hidden / heads);
    if optional("attention.value_length")?.is_some_and(|width| width != head_dim) {
        return Err("keys and values of different width are not supported".to_owned());
    }
    if optional("rope.dimension_count")?.is_some_and(|width| width != head_dim) {
        return Err("rotary embedding on a part of the head is not supported yet".to_owned());
    }
    let scaling = match header.str("llama.rope.scaling.type") {
        None | Some("none") => RopeScaling::None,
        Some("linear") => match header.f64("llama.rope.scaling.factor") {
            Some(factor) if factor > 0.0 => RopeScaling::Linear { factor },
            _ => return Err("llama.rope.scaling.factor is missing or not positive".to_owned()),
        },
        Some(other) => return Err(format!("rope scaling {other:?} is not supported yet")),
    };
    let has_tensor = |name: &str| header.tensors.iter().any(|tensor| tensor.name == name);
    let embedding = header.tensors.iter().find(|tensor| tensor.name == "token_embd.weight");
    let vocab = embedding.and_then(|tensor| tensor.shape.first().copied());
    let mut spec = ModelSpec::llama(
        "llama",
        Dimensions {
            layers,
            heads,
            kv_heads: optional("attention.head_count_kv")?.unwrap_or(heads),
            head_dim,
            hidden,
            mlp_hidden: required("feed_forward_length")?,
            vocab: vocab.ok_or("tensor token_embd.weight is missing")?,
            context: required("context_length")?,
        },
    );
    spec.norm.eps = header
        .f64("llama.attention.layer_norm_rms_epsilon")
        .ok_or("llama.attention.layer_norm_rms_epsilon is missing")?;
    let theta = header.f64("llama.rope.freq_base").unwrap_or(10_000.0);
    spec.set_rope(RopeSpec { theta, dim: head_dim, scaling });
    spec.tied_embeddings = !has_tensor("output.weight");
    spec.qkv_bias = has_tensor("blk.0.attn_q.bias");
    spec.output_bias = has_tensor("blk.0.attn_output.bias");
    spec.mlp_bias = has_tensor("blk.0.ffn_up.bias");
    Ok(spec)
}
