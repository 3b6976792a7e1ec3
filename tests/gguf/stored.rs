//! Weights kept as the file's own blocks.

use super::open;
use super::writer::Parts;
use crate::common::{fixture, located};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use sinkscope::model::gguf::spec_of_gguf;
use sinkscope::model::placement::Precision;
use sinkscope::model::spec::inventory;
use sinkscope::model::weights::{GgufFiles, WeightSource};
use sinkscope::model::{LoadOptions, load_model};
use sinkscope::progress::{CancelToken, Silent};
use std::path::{Path, PathBuf};

/// A fixture with its projections as `Q8_0`.
fn quantised(name: &str, folder: &Path) -> PathBuf {
    let mut parts = Parts::of(&fixture(&format!("gguf/{name}.gguf")));
    for tensor in &mut parts.header.tensors {
        if tensor.shape.len() != 2 || tensor.shape[1] % 32 != 0 || tensor.name.starts_with("token_embd") {
            continue;
        }
        let start = usize::try_from(tensor.offset).expect("small");
        let bytes = &parts.data[start..start + 4 * tensor.shape[0] * tensor.shape[1]];
        let values: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let floats = Tensor::from_vec(values, tensor.shape.clone(), &Device::Cpu).expect("floats");
        let blocks = QTensor::quantize(&floats, GgmlDType::Q8_0).expect("quantised");
        parts.data.resize(parts.data.len().next_multiple_of(32), 0);
        tensor.offset = parts.data.len() as u64;
        tensor.type_id = 8;
        parts.data.extend_from_slice(&blocks.data().expect("bytes"));
    }
    parts.write(folder)
}

#[test]
fn blocks_are_the_same_weights_in_the_same_order() {
    let folder = tempfile::tempdir().expect("a folder");
    // Interleaved q and k; fused qkv; fused gate and up.
    for name in ["llama-linear", "gpt-neox", "phi3"] {
        let path = quantised(name, folder.path());
        let files = GgufFiles::open(&path).expect("it opens");
        let reading = spec_of_gguf(files.header(), &path, &files).expect("it reads");
        let weights = files.weights(&reading.spec, reading.layout).expect("all is there");
        let mut kept = 0;
        for (name, shape) in inventory(&reading.spec) {
            let Some(blocks) = weights.quantised(&name, &shape, &Device::Cpu).expect(&name) else { continue };
            let ours = blocks.dequantize(&Device::Cpu).and_then(|t| t.to_vec2::<f32>()).expect("floats");
            let expected =
                weights.tensor(&name, &shape).and_then(|t| Ok(t.to_vec2::<f32>()?)).expect("floats");
            assert_eq!(ours, expected, "{name}");
            kept += 1;
        }
        assert!(kept >= 5 * reading.spec.layers, "{name}: {kept}");
    }
}

#[test]
fn the_bytes_that_are_promised_are_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["llama-linear", "gpt-neox", "phi3", "mixtral", "stablelm-parallel"] {
        let path = quantised(name, folder.path());
        let files = GgufFiles::open(&path).expect("it opens");
        let reading = spec_of_gguf(files.header(), &path, &files).expect("it reads");
        let weights = files.weights(&reading.spec, reading.layout).expect("all is there");
        let promised = weights.quantised_bytes(&inventory(&reading.spec));
        let options = LoadOptions { precision: Some(Precision::Stored), ..LoadOptions::default() };
        let model =
            load_model(&located(path.clone()), options, &Silent, &CancelToken::new()).expect("it loads");
        assert_eq!(Some(model.info.weight_bytes), promised, "{name}");
        assert!(model.info.weight_bytes < open(&path).expect("as f32").info.weight_bytes / 2, "{name}");
    }
}

#[test]
fn a_file_of_floats_has_nothing_to_keep() {
    let options = LoadOptions { precision: Some(Precision::Stored), ..LoadOptions::default() };
    let located = located(fixture("gguf/qwen3.gguf"));
    let error = load_model(&located, options, &Silent, &CancelToken::new()).expect_err("floats").to_string();
    assert!(
        error.starts_with("The file has no weights whose products are fast as they are stored"),
        "{error}"
    );
}
