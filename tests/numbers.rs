//! The numbers, against HF transformers (fixtures) and against candle-transformers.

mod common;

use candle_core::{DType, Device, Tensor};
use candle_transformers::models::llama::{Cache, Llama};
use common::{capture, fixture, max_difference, pattern, run, smollm2, tiny};
use sinkscope::analysis::{Analysis, AnalysisOptions};
use sinkscope::attention::with_device_steps;
use sinkscope::capture::PrefillOptions;
use sinkscope::model::placement::Precision;
use sinkscope::model::{LoadOptions, LoadedModel, candle_llama_config};
use std::collections::HashMap;

fn tensors(name: &str) -> HashMap<String, Tensor> {
    candle_core::safetensors::load(fixture(name), &Device::Cpu).expect("the fixture reads")
}

fn flat(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().and_then(|flat| flat.to_vec1()).expect("f32 values")
}

/// Every family and its variants: logits, every attention weight, and what is counted and warned of.
#[test]
fn tiny_models_equal_transformers() {
    let wrong: Vec<String> =
        common::families().iter().filter_map(|family| compare_family(family).err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The steps that a GPU takes, run on the CPU: the same numbers, to the same tolerance.
#[test]
fn steps_of_a_device_equal_transformers() {
    let compare = |family: &String| with_device_steps(|| compare_family(family)).err();
    let wrong: Vec<String> = common::families().iter().filter_map(compare).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Half precision changes numbers and breaks nothing: every family runs with its weights kept in 16 bits.
#[test]
fn every_family_runs_in_half_precision() {
    let ids: Vec<u32> = (8..48).collect();
    for family in common::families() {
        for precision in [Precision::F16, Precision::Bf16] {
            let options = LoadOptions { precision: Some(precision), ..LoadOptions::default() };
            let model =
                common::tiny_with(&family, options).unwrap_or_else(|error| panic!("{family}: {error}"));
            assert_eq!(model.info.dtype, precision.name());
            assert!(model.info.weight_bytes < 4 * model.info.parameters, "{family}");
            let capture = capture(&model, &ids);
            assert!(capture.nll_nats.iter().all(|nll| nll.is_finite()), "{family} {precision:?}");
            assert!(capture.checks.max_row_sum_error < 1e-5, "{family} {precision:?}");
        }
    }
}

fn compare_family(family: &str) -> Result<(), String> {
    let model = common::try_tiny(family).map_err(|error| format!("{family}: {error}"))?;
    let check = |holds: bool, what: String| if holds { Ok(()) } else { Err(format!("{family}: {what}")) };
    check(model.info.warnings.is_empty(), format!("{:?}", model.info.warnings))?;
    let (counted, loaded) = (model.info.parameters * 4, model.info.weight_bytes);
    check(counted == loaded, format!("{counted} bytes are counted, {loaded} loaded"))?;

    let reference = tensors(&format!("tiny/{family}/reference.safetensors"));
    let ids = reference["input_ids"].to_dtype(DType::U32).and_then(|ids| ids.to_vec1()).expect("ids");
    let ran = run(&model, &ids, PrefillOptions { keep_logits: true });
    let logits = max_difference(&flat(&ran.logits.expect("asked for")), &flat(&reference["logits"]));
    check(logits < 2e-3, format!("logits differ by {logits:e}"))?;
    let (n, spec) = (ids.len(), &model.info.spec);
    let attentions = flat(&reference["attentions"]);
    for layer in 0..spec.layers {
        for head in 0..spec.heads {
            let at = (layer * spec.heads + head) * n * n;
            let weights = pattern(&ran.capture, layer, head);
            let difference = max_difference(&weights, &attentions[at..at + n * n]);
            check(difference < 1e-4, format!("l{layer}h{head}: weights differ by {difference:e}"))?;
        }
    }
    let checks = ran.capture.checks;
    check(checks.max_row_sum_error < 1e-5 && checks.causal_leak == 0.0, format!("{checks:?}"))
}

#[derive(serde::Deserialize)]
struct Oracle {
    text: String,
    input_ids: Vec<u32>,
    share: Vec<f64>,
    alpha: Vec<f64>,
    far_lift: Vec<Option<f64>>,
    z: Vec<Option<f64>>,
    flagged: Vec<usize>,
    sink_rate_03: Vec<f64>,
    alpha0_by_layer_head: Vec<Vec<f64>>,
    nll: Vec<f32>,
    ppl: f64,
}

fn close(what: &str, ours: &[Option<f64>], theirs: &[Option<f64>], tolerance: impl Fn(f64) -> f64) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        match (ours, theirs) {
            (None, None) => {}
            (Some(ours), Some(theirs)) => {
                assert!((ours - theirs).abs() <= tolerance(*theirs), "{what}[{index}]: {ours} for {theirs}");
            }
            other => panic!("{what}[{index}]: {other:?}"),
        }
    }
}

#[test]
fn smollm2_equals_transformers() {
    let model = smollm2();
    for name in ["chat", "gpl3"] {
        let text = std::fs::read(fixture(&format!("smollm2/{name}.json"))).expect("fixture");
        let oracle: Oracle = serde_json::from_slice(&text).expect("fixture");
        let tokens =
            model.tokenizer.encode_text(&oracle.text, true, sinkscope::model::tokenizer::BosChoice::No);
        assert_eq!(tokens.expect("tokenised").ids(), oracle.input_ids, "{name}");
        let ours = capture(model, &oracle.input_ids);
        let analysis = Analysis::of(&ours, AnalysisOptions::default());

        let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
        close("share", &analysis.share, &some(&oracle.share), |value| 1e-3 * value);
        close("alpha", &analysis.alpha, &some(&oracle.alpha), |value| 1e-3 * value);
        close("far_lift", &analysis.far_lift, &oracle.far_lift, |value| 1e-3 * value);
        close("z", &analysis.detection.z, &oracle.z, |_| 1e-2);
        assert_eq!(analysis.detection.flagged, oracle.flagged, "{name}");
        let rates = some(&analysis.sink_rate);
        close("sink rate", &rates, &some(&oracle.sink_rate_03), |_| 1.0 / 270.0 + 1e-9);
        let nll = max_difference(&ours.nll_nats, &oracle.nll);
        assert!(nll < 2e-3, "{name}: NLL differs by {nll:e}");
        let ppl = ours.perplexity().expect("more than one token");
        assert!((ppl / oracle.ppl - 1.0).abs() < 1e-3, "{name}: perplexity {ppl} for {}", oracle.ppl);
        for (layer, heads) in oracle.alpha0_by_layer_head.iter().enumerate() {
            for (head, &theirs) in heads.iter().enumerate() {
                let alpha = f64::from(ours.layers[layer].column_sums[head * ours.len()]) / ours.len() as f64;
                assert!((alpha - theirs).abs() < 1e-3 * theirs.max(0.01), "{name} l{layer}h{head}");
            }
        }

        for (head, reference) in tensors(&format!("smollm2/{name}.patterns.safetensors")) {
            let (layer, of_layer) = head[1..].split_once('h').expect("l{L}h{H}");
            let weights = pattern(&ours, layer.parse().expect("a layer"), of_layer.parse().expect("a head"));
            let difference = max_difference(&weights, &flat(&reference));
            assert!(difference < 1e-4, "{name} {head}: weights differ by {difference:e}");
        }
        assert!(ours.checks.max_row_sum_error < 1e-5, "{:?}", ours.checks);
        assert_eq!((ours.checks.causal_leak, ours.checks.nan_count), (0.0, 0));
    }
}

/// candle's llama over the same weights returns the last position's logits only, so each prefix is
/// run on its own.
fn compare_with_candle(model: &LoadedModel, weights: HashMap<String, Tensor>, lengths: &[usize]) {
    let spec = &model.info.spec;
    let config = candle_llama_config(spec);
    let builder = candle_nn::VarBuilder::from_tensors(weights, DType::F32, &Device::Cpu);
    let candle = Llama::load(builder, &config).expect("candle loads it");
    let longest = *lengths.iter().max().expect("some lengths") as u32;
    let ids: Vec<u32> = (0..longest).map(|i| (i * 37 + 11) % spec.vocab as u32).collect();
    let ours = flat(&run(model, &ids, PrefillOptions { keep_logits: true }).logits.expect("asked for"));
    for &length in lengths {
        let mut cache = Cache::new(false, DType::F32, &config, &Device::Cpu).expect("a cache");
        let prefix = Tensor::new(&ids[..length], &Device::Cpu).and_then(|ids| ids.unsqueeze(0));
        let theirs = candle.forward(&prefix.expect("ids"), 0, &mut cache).expect("candle runs");
        let row = &ours[(length - 1) * spec.vocab..length * spec.vocab];
        let difference = max_difference(row, &flat(&theirs));
        assert!(difference < 2e-4, "length {length}: logits differ by {difference:e}");
    }
}

#[test]
fn tiny_logits_equal_candle_transformers() {
    let lengths: Vec<usize> = (1..=40).collect();
    compare_with_candle(&tiny("llama"), tensors("tiny/llama/model.safetensors"), &lengths);
}

#[test]
fn smollm2_logits_equal_candle_transformers() {
    let model = smollm2();
    let weights = model.decoder.named_weights().expect("views");
    compare_with_candle(model, weights, &[1, 2, 33, 128]);
}
