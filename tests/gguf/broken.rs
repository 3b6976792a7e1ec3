//! Files that lie: an error that names what is wrong, never a panic, never an allocation of the size that is claimed.

use super::writer::Parts;
use super::{open, opened};
use crate::common::fixture;
use proptest::prelude::*;
use sinkscope::model::gguf::GgufValue::{self, Array, Bool, Float, Signed, String as Text, Unsigned};

/// What opening says of a fixture after a change.
fn refused(fixture_name: &str, change: impl FnOnce(&mut Parts)) -> String {
    let mut parts = Parts::of(&fixture(&format!("gguf/{fixture_name}.gguf")));
    change(&mut parts);
    let folder = tempfile::tempdir().expect("a folder");
    let error = open(&parts.write(folder.path())).expect_err("it is refused").to_string();
    assert!(!error.contains('\n') && error.ends_with("changed.gguf"), "{error}");
    error
}

fn text(text: &str) -> GgufValue {
    Text(text.to_owned())
}

#[test]
fn an_unchanged_file_is_written_back_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["llama-linear", "mixtral", "gemma3-linear"] {
        let parts = Parts::of(&fixture(&format!("gguf/{name}.gguf")));
        let model = open(&parts.write(folder.path())).expect(name);
        assert_eq!(model.info.spec, opened(name).info.spec);
    }
}

/// Opens a fixture with each change of a key of its architecture; the message must contain the wording.
fn refuse_all(file: &str, changes: Vec<(&str, Option<GgufValue>, &str)>) {
    let mut wrong = Vec::new();
    for (key, value, wording) in changes {
        let error = refused(file, |parts| {
            let architecture = parts.header.str("general.architecture").expect("named").to_owned();
            let full =
                if key.starts_with("general") { key.to_owned() } else { format!("{architecture}.{key}") };
            parts.set(&full, value);
        });
        if !error.contains(wording) {
            wrong.push(format!("{key}: {error} ({wording})"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn list(items: &[u64]) -> GgufValue {
    Array(items.iter().map(|&item| Unsigned(item)).collect())
}

#[test]
fn sizes_that_make_no_sense_are_refused_by_name() {
    let n = |n: u64| Some(Unsigned(n));
    let changes = vec![
        ("general.architecture", None, r#"Architecture "" is not supported yet (known: llama, qwen2"#),
        ("general.architecture", Some(text("mamba")), r#"Architecture "mamba" is not supported yet"#),
        ("block_count", None, "llama.block_count is missing"),
        ("block_count", n(0), "llama.block_count is 0, not a size"),
        ("block_count", Some(Signed(-1)), "llama.block_count is -1, not a size"),
        ("block_count", Some(text("two")), r#"llama.block_count is "two", not a size"#),
        ("block_count", Some(Float(2.0)), "llama.block_count is 2, not a size"),
        ("block_count", n(3), "Tensor blk.2.attn_norm.weight is missing"),
        ("block_count", n(5000), "is 5000, not a number of layers"),
        ("block_count", n(1 << 40), "is 1099511627776, not a size"),
        ("attention.head_count", n(3), "3 heads can't share 2 KV heads"),
        ("attention.head_count", n(1 << 24), "Tensor blk.0.attn_output.weight has shape"),
        ("attention.head_count", Some(list(&[4, 2])), "head_count differs between layers"),
        ("attention.head_count", Some(list(&[])), "head_count differs between layers"),
        ("attention.head_count_kv", n(0), "head_count_kv is 0, not a size"),
        ("attention.head_count_kv", n(8), "4 heads can't share 8 KV heads"),
        ("attention.key_length", n(6), "keys and values of different width"),
        ("embedding_length", n(64), "embedding_length is 64, but token_embd.weight"),
        ("context_length", None, "llama.context_length is missing"),
        ("feed_forward_length", None, "llama.feed_forward_length is missing"),
        ("feed_forward_length", n(49), "Tensor blk.0.ffn_down.weight has shape [32, 48]"),
        ("rope.dimension_count", n(10), "rotary embedding on 10 of 8 elements"),
        ("rope.dimension_count", n(3), "rotary embedding on 3 of 8 elements"),
        ("expert_count", n(4), "no layer has a tensor ffn_gate_inp.weight"),
    ];
    refuse_all("llama-linear", changes);
    let changes = vec![
        ("expert_used_count", None, "llama.expert_used_count is missing"),
        ("expert_used_count", n(9), "9 of 4 experts can't be active"),
        ("expert_count", n(1 << 24), "Tensor blk.0.ffn_"),
    ];
    refuse_all("mixtral", changes);
    refuse_all("gpt2", vec![("attention.head_count", n(5), "5 heads can't share embedding_length 32")]);
}

#[test]
fn numbers_and_names_that_make_no_sense_are_refused_by_name() {
    let x = |x: f64| Some(Float(x));
    let changes = vec![
        ("attention.layer_norm_rms_epsilon", None, "llama.attention.layer_norm_rms_epsilon is missing"),
        ("attention.layer_norm_rms_epsilon", x(0.0), "is 0, not a positive number"),
        ("attention.layer_norm_rms_epsilon", x(f64::NAN), "is NaN, not a positive number"),
        ("attention.layer_norm_rms_epsilon", x(9.0), "norm epsilon 9 is out of range"),
        ("rope.freq_base", x(-5.0), "llama.rope.freq_base is -5, not a positive number"),
        ("rope.freq_base", x(f64::INFINITY), "freq_base is inf, not a positive number"),
        ("rope.scaling.type", Some(text("wavy")), r#"rope scaling "wavy" is not supported"#),
        ("rope.scaling.type", Some(text("longrope")), r#"rope scaling "longrope" needs rope_factors"#),
        ("rope.scaling.type", Some(Bool(true)), "scaling.type is true, not a text"),
        ("rope.scaling.factor", None, "rope.scaling.type but no rope.scaling.factor"),
        ("rope.scaling.factor", x(f64::NAN), "factor is NaN, not a positive number"),
        ("attention.causal", Some(Bool(false)), "the model's attention is not causal"),
        ("attention.causal", Some(Unsigned(0)), "attention.causal is 0, not true or false"),
    ];
    refuse_all("llama-linear", changes);
    refuse_all("llama-yarn", vec![("rope.scaling.yarn_ext_factor", x(0.5), "yarn_ext_factor other than 1")]);
    refuse_all("mpt", vec![("attention.clamp_kqv", x(-1.0), "clamp_kqv is -1, not a positive number")]);
    let changes = vec![
        (
            "attention.sliding_window_pattern",
            Some(list(&[1])),
            "a list of 1, not one flag for each of 2 layers",
        ),
        ("attention.sliding_window", Some(Unsigned(1 << 40)), "not a count"),
    ];
    refuse_all("gemma3-linear", changes);
}

#[test]
fn tensors_that_do_not_fit_are_refused_by_name() {
    type Change = fn(&mut Parts);
    let mut wrong = Vec::new();
    let changes: [(&str, Change, &str); 12] = [
        (
            "llama-linear",
            |p| p.header.tensors.retain(|t| t.name != "token_embd.weight"),
            "tensor token_embd.weight is missing",
        ),
        (
            "llama-linear",
            |p| p.header.tensors.retain(|t| t.name != "blk.1.attn_v.weight"),
            "Tensor blk.1.attn_qkv.weight is missing",
        ),
        (
            "llama-linear",
            |p| p.tensor("token_embd.weight").shape = vec![320, 32, 1],
            "token_embd.weight has shape [320, 32, 1]",
        ),
        (
            "llama-linear",
            |p| p.tensor("blk.1.attn_q.weight").shape.push(1),
            "Tensor blk.1.attn_q.weight has shape [32, 32, 1], the",
        ),
        (
            "llama-linear",
            |p| p.tensor("blk.1.attn_q.weight").shape = vec![],
            "Tensor blk.1.attn_q.weight has shape [], the",
        ),
        (
            "llama-linear",
            |p| p.tensor("blk.1.attn_q.weight").type_id = 19,
            "tensor blk.1.attn_q.weight has type IQ1_S, which",
        ),
        (
            "llama-linear",
            |p| p.tensor("blk.1.attn_q.weight").type_id = 12,
            "rows of 32, no multiple of its block",
        ),
        (
            "llama-linear",
            |p| p.tensor("blk.1.attn_q.weight").offset = 1 << 50,
            "lies behind the end of the file",
        ),
        (
            "llama-linear",
            |p| p.tensor("blk.1.attn_q.weight").offset = u64::MAX,
            "lies behind the end of the file",
        ),
        ("llama-linear", |p| p.tensor("blk.1.attn_q.weight").offset += 1, "starts between two numbers"),
        (
            "llama-linear",
            |p| "blk.0.attn_q.weight".clone_into(&mut p.tensor("blk.1.attn_q.weight").name),
            "blk.0.attn_q.weight is there twice",
        ),
        (
            "llama3-rope",
            |p| p.tensor("rope_freqs.weight").shape = vec![5],
            "tensor rope_freqs.weight has shape [5], [6] is expected",
        ),
    ];
    for (file, change, wording) in changes {
        let error = refused(file, change);
        if !error.contains(wording) {
            wrong.push(format!("{error} ({wording})"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    // A shape that only just fits a 64-bit count, and one more layer than the keys speak of.
    let error = refused("llama-linear", |p| p.tensor("blk.1.attn_q.weight").shape = vec![1 << 31, 1 << 31]);
    assert!(error.contains("lies behind the end of the file"), "{error}");
    let mut parts = Parts::of(&fixture("gguf/llama-linear.gguf"));
    parts.set("llama.block_count", Some(Unsigned(1)));
    parts.set("llama.novelty", Some(Unsigned(1)));
    let folder = tempfile::tempdir().expect("a folder");
    let warnings = open(&parts.write(folder.path())).expect("it opens").info.warnings.clone();
    assert_eq!(
        warnings,
        [
            "The file's key llama.novelty is not known here and was ignored",
            "9 of the file's tensors are not used, the first is blk.1.attn_norm.weight",
        ]
    );
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let whole = std::fs::read(fixture("gguf/gemma3-pattern-6.gguf")).expect("fixture");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cut.gguf");
    for bytes in (0..whole.len()).step_by(997) {
        std::fs::write(&path, &whole[..bytes]).expect("written");
        let error = open(&path).expect_err("cut").to_string();
        let known = ["cut short", "more than the file holds", "claims a string"]
            .iter()
            .any(|why| error.contains(why));
        assert!(known, "{bytes}: {error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever is damaged in the header, opening answers.
    #[test]
    fn damage_never_panics(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let path = fixture("gguf/gemma3-pattern-6.gguf");
        let header = usize::try_from(Parts::of(&path).header.data_offset).expect("small");
        let mut bytes = std::fs::read(path).expect("fixture");
        for (at, value) in changes {
            let at = at.index(header);
            bytes[at] = value;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("damaged.gguf");
        std::fs::write(&path, bytes).expect("written");
        if let Err(error) = open(&path) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
