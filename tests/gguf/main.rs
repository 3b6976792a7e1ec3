//! GGUF files, made by llama.cpp's converter from the tiny references, against the same references.

mod broken;
#[path = "../common/mod.rs"]
mod common;
mod dialects;
mod stored;
mod writer;

use candle_core::{DType, Device, Tensor};
use common::{fixture, located, max_difference, pattern, run};
use sinkscope::capture::PrefillOptions;
use sinkscope::model::gguf::Vectors;
use sinkscope::model::weights::GgufFiles;
use sinkscope::model::{LoadOptions, LoadedModel, load_model};
use sinkscope::progress::{CancelToken, Silent};
use std::collections::HashMap;
use std::path::Path;

fn open(path: &Path) -> sinkscope::Result<LoadedModel> {
    load_model(&located(path.to_owned()), LoadOptions::default(), &Silent, &CancelToken::new())
}

fn opened(name: &str) -> LoadedModel {
    open(&fixture(&format!("gguf/{name}.gguf"))).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// All whole files.
fn names() -> Vec<String> {
    let files = std::fs::read_dir(fixture("gguf")).expect("the fixtures are there");
    let paths = files.map(|entry| entry.expect("an entry").path());
    let stems = paths.filter_map(|path| Some(path.file_name()?.to_str()?.strip_suffix(".gguf")?.to_owned()));
    let mut names: Vec<_> = stems.filter(|name| !name.contains("-of-")).collect();
    names.sort();
    assert!(names.len() >= 33, "{names:?}");
    names
}

fn flat(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().and_then(|flat| flat.to_vec1()).expect("f32 values")
}

/// Logits within 2e-3 and attention within 1e-4 in the first `rows` rows.
fn compare(model: &LoadedModel, family: &str, rows: usize) {
    let path = fixture(&format!("tiny/{family}/reference.safetensors"));
    let reference: HashMap<String, Tensor> =
        candle_core::safetensors::load(path, &Device::Cpu).expect("fixture");
    let ids = reference["input_ids"].to_dtype(DType::U32).and_then(|ids| ids.to_vec1()).expect("ids");
    let ran = run(model, &ids, PrefillOptions { keep_logits: true });
    let (n, spec) = (ids.len(), &model.info.spec);
    let ours = flat(&ran.logits.expect("asked for"));
    let logits = max_difference(&ours[..rows * spec.vocab], &flat(&reference["logits"])[..rows * spec.vocab]);
    assert!(logits < 2e-3, "{family}: logits differ by {logits:e}");
    let attentions = flat(&reference["attentions"]);
    assert_eq!(attentions.len(), spec.layers * spec.heads * n * n, "{family}");
    for layer in 0..spec.layers {
        for head in 0..spec.heads {
            let at = (layer * spec.heads + head) * n * n;
            let weights = pattern(&ran.capture, layer, head);
            let difference = max_difference(&weights[..rows * n], &attentions[at..at + rows * n]);
            assert!(difference < 1e-4, "{family} l{layer}h{head}: weights differ by {difference:e}");
        }
    }
}

#[test]
fn converted_models_equal_transformers() {
    for name in names() {
        let model = opened(&name);
        assert_eq!(model.info.parameters * 4, model.info.weight_bytes, "{name}");
        // The converter keeps no window of starcoder2: up to its width all is as it was.
        compare(&model, &name, if name == "starcoder2" { 12 } else { 40 });
    }
}

#[test]
fn what_a_file_leaves_out_is_said() {
    for (name, expected) in [
        ("qwen2", vec![]),
        ("llama3-rope", vec![]),
        ("falcon", vec!["The file does not give falcon.rope.freq_base: 10000 is assumed"]),
        ("smollm3", vec!["The file does not say which layers have no rotary embedding: one in 4 is assumed"]),
        ("starcoder2", vec!["The file does not say whether layers are local: none is assumed"]),
        ("gemma3-linear", vec![]),
        (
            "gemma3-pattern-6",
            vec!["The file does not say which layers are local: all but one in 6 are assumed"],
        ),
        (
            "gpt-oss-mxfp4",
            vec![
                "The file does not say which layers are local: all but one in 2 are assumed",
                "The file does not say whether YaRN's ramp ends at whole pairs: no is assumed",
            ],
        ),
    ] {
        assert_eq!(opened(name).info.warnings, expected, "{name}");
    }
}

/// Against the decoder of the gguf package, on random blocks.
#[test]
fn every_tensor_type_is_decoded() {
    let files = GgufFiles::open(&fixture("gguf/types/types.gguf")).expect("it opens");
    let expected = candle_core::safetensors::load(fixture("gguf/types/types.safetensors"), &Device::Cpu);
    let expected: HashMap<String, Tensor> = expected.expect("fixture");
    assert_eq!(expected.len(), 16);
    for (name, expected) in expected {
        let ours = files.read(&name, 1024).expect("it decodes").expect("it is there");
        let expected = flat(&expected);
        let largest = expected.iter().fold(0_f32, |most, v| most.max(v.abs()));
        assert!(max_difference(&ours, &expected) <= 1e-6 * largest, "{name}");
    }
    let why = files.read("Q4_K", 1000).expect_err("another length");
    assert!(why.contains("tensor Q4_K has shape [1024], [1000] is expected"), "{why}");
    assert_eq!(files.read("Q9_K", 1024), Ok(None));
}

#[test]
fn any_part_of_a_split_model_opens_all() {
    for part in 1..=3 {
        let model = opened(&format!("llama-0000{part}-of-00003"));
        compare(&model, "llama", 40);
    }
}

#[test]
fn a_split_model_that_is_not_whole_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let part = |number: usize| format!("llama-0000{number}-of-00003.gguf");
    let copy = |from: usize, to: &str| {
        std::fs::copy(fixture("gguf").join(part(from)), folder.path().join(to)).expect("copied");
    };
    let refused = |name: &str| open(&folder.path().join(name)).expect_err(name).to_string();

    copy(1, &part(1));
    copy(3, &part(3));
    for name in [part(1), part(3)] {
        let error = refused(&name);
        assert!(error.starts_with("A part of the split model is missing"), "{error}");
        assert!(error.ends_with(&part(2)), "{error}");
    }
    copy(3, &part(2));
    let error = refused(&part(1));
    assert!(error.contains("part 2 of 3 has split.no 2 and split.count 3"), "{error}");
    copy(2, "renamed.gguf");
    let error = refused("renamed.gguf");
    assert!(error.contains("it is part 2 of 3, so its name must end in -00002-of-00003.gguf"), "{error}");
}
