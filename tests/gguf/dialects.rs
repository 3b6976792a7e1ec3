//! Other ways in which files say the same: older and newer converters, other writers.

use super::compare;
use super::open;
use super::writer::Parts;
use crate::common::fixture;
use sinkscope::model::gguf::GgufTensor;
use sinkscope::model::gguf::GgufValue::{Array, Float, String as Text, Unsigned};

/// A fixture after a change still equals its reference.
fn same(name: &str, change: impl FnOnce(&mut Parts)) -> Vec<String> {
    let mut parts = Parts::of(&fixture(&format!("gguf/{name}.gguf")));
    change(&mut parts);
    let folder = tempfile::tempdir().expect("a folder");
    let model = open(&parts.write(folder.path())).unwrap_or_else(|error| panic!("{name}: {error}"));
    compare(&model, name, 40);
    model.info.warnings.clone()
}

#[test]
fn keys_may_be_lists_or_older_ones() {
    let two = || Array(vec![Unsigned(2); 2]);
    same("llama-linear", |parts| parts.set("llama.attention.head_count_kv", Some(two())));
    same("llama-linear", |parts| {
        parts.set("llama.rope.scaling.type", None);
        parts.set("llama.rope.scaling.factor", None);
        parts.set("llama.rope.scale_linear", Some(Float(4.0)));
    });
    same("gemma3-linear", |parts| parts.set("gemma3.attention.sliding_window_pattern", Some(Unsigned(2))));
    same("phi3-longrope-long", |parts| {
        parts.set("phi3.rope.scaling.type", Some(Text("longrope".to_owned())));
    });
    same("mixtral", |parts| parts.set("llama.expert_feed_forward_length", Some(Unsigned(32))));
}

#[test]
fn what_the_family_implies_may_be_left_out_and_is_said() {
    let without = |name: &str, key: &str| same(name, |parts| parts.set(key, None));
    for (name, key, said) in [
        ("llama-linear", "llama.rope.freq_base", "llama.rope.freq_base: 10000 is assumed"),
        ("gemma3-pattern-6", "gemma3.rope.freq_base_swa", "gemma3.rope.freq_base_swa: 10000 is assumed"),
        ("gemma3-pattern-6", "gemma3.rope.freq_base", "gemma3.rope.freq_base: 1000000 is assumed"),
        ("gemma2-tied", "gemma2.attn_logit_softcapping", "gemma2.attn_logit_softcapping: 50 is assumed"),
        ("gemma2-tied", "gemma2.final_logit_softcapping", "gemma2.final_logit_softcapping: 30 is assumed"),
        ("phi3-longrope-long", "phi3.rope.scaling.attn_factor", "phi3.rope.scaling.attn_factor: 1.414213562"),
    ] {
        let warnings = without(name, key);
        assert!(warnings.iter().any(|line| line.contains(said)), "{name}: {warnings:?}");
    }
}

/// Files of 2023 have a tensor for each expert.
#[test]
fn experts_may_have_a_tensor_each() {
    same("mixtral", |parts| {
        for tensor in std::mem::take(&mut parts.header.tensors) {
            let Some(projection) = tensor.name.strip_suffix("_exps.weight") else {
                parts.header.tensors.push(tensor);
                continue;
            };
            let bytes = (tensor.shape[1] * tensor.shape[2] * 4) as u64;
            let one = |expert: u64| GgufTensor {
                name: format!("{projection}.{expert}.weight"),
                shape: tensor.shape[1..].to_vec(),
                type_id: tensor.type_id,
                offset: tensor.offset + expert * bytes,
            };
            parts.header.tensors.extend((0..tensor.shape[0] as u64).map(one));
        }
    });
}

/// Converters of 2026 can join gate and up of all experts.
#[test]
fn gate_and_up_of_experts_may_be_one_tensor() {
    same("qwen3-moe", |parts| {
        let tensors = std::mem::take(&mut parts.header.tensors);
        for tensor in &tensors {
            let Some(before) = tensor.name.strip_suffix("ffn_gate_exps.weight") else {
                if !tensor.name.ends_with("ffn_up_exps.weight") {
                    parts.header.tensors.push(tensor.clone());
                }
                continue;
            };
            let up = format!("{before}ffn_up_exps.weight");
            let up = tensors.iter().find(|tensor| tensor.name == up).expect("up stands beside gate");
            let [experts, rows, columns] = tensor.shape[..] else { panic!("{:?}", tensor.shape) };
            let bytes = rows * columns * 4;
            let joined = GgufTensor {
                name: format!("{before}ffn_gate_up_exps.weight"),
                shape: vec![experts, 2 * rows, columns],
                type_id: 0,
                offset: parts.data.len() as u64,
            };
            for expert in 0..experts {
                for half in [tensor, up] {
                    let at = usize::try_from(half.offset).expect("small") + expert * bytes;
                    parts.data.extend_from_within(at..at + bytes);
                }
            }
            parts.header.tensors.push(joined);
        }
    });
}
