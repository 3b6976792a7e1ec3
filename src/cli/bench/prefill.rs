//! `sinkscope bench prefill`: what observing every attention weight costs.

use super::machine::matrix_product_gflops;
use super::{child, made_up_ids, median};
use crate::Result;
use crate::capture::{PrefillOptions, PrefillTiming, plain_prefill, prefill};
use crate::cli::TerminalReporter;
use crate::model::decoder::Decoder;
use crate::model::source::{Locator, ModelRef};
use crate::model::{LoadedModel, ModelSpec, candle_llama_config};
use crate::progress::{CancelToken, Reporter, Silent};
use candle_core::{DType, Device, Tensor};
use candle_transformers::models::llama::{Cache, Config, Llama};
use clap::Args;
use serde::Serialize;
use std::ffi::OsStr;
use std::sync::Arc;
use std::time::Instant;

/// Arguments of `bench prefill`.
#[derive(Debug, Clone, Args)]
pub struct PrefillArgs {
    /// The model; its architecture must be llama.
    #[arg(long, default_value = "smollm2-135m-q4_1")]
    pub model: String,
    /// Prompt lengths in tokens.
    #[arg(long, value_delimiter = ',', default_values_t = [256, 1024, 2048])]
    pub lengths: Vec<usize>,
    /// Rounds; each runs all three once, the medians of the ratios are reported.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
}

#[derive(Serialize)]
struct Figures {
    model: String,
    sha256: String,
    threads: usize,
    rounds: usize,
    /// f32 matrix product on all cores, best of one second, before and after the runs.
    matrix_product_gflops: [f64; 2],
    runs: Vec<Length>,
}

#[derive(Serialize)]
struct Length {
    n: usize,
    /// Medians, in milliseconds; `layers` is everything but the LM head.
    capturing_ms: Parts,
    plain_ms: Parts,
    /// candle's model computes only the last position's logits, so it has no comparable head.
    candle_layers_ms: f64,
    /// Medians of the rounds' ratios, layers only.
    capturing_over_plain: f64,
    capturing_over_candle: f64,
    /// Floating-point operations of the layers (causal: half of n² for scores and values).
    layer_gflop: f64,
    /// Time of the capturing layers against those operations at the matrix-product rate.
    capturing_over_arithmetic: f64,
    /// Peak resident memory of a fresh process that analyses `n` tokens, beside the f32 weights.
    peak_rss_bytes: Option<u64>,
    peak_beyond_weights_mib: Option<f64>,
}

#[derive(Serialize)]
struct Parts {
    layers: f64,
    head: f64,
}

pub(super) fn run(args: &PrefillArgs, cancel: &CancelToken) -> Result<()> {
    let reporter = TerminalReporter::default();
    let locator = Locator::from_environment(false);
    let located = locator.locate(&ModelRef::parse(&args.model), &reporter, cancel)?;
    let model = crate::model::load_model(&located, crate::model::LoadOptions::default(), &reporter, cancel)?;
    let candle = candle_llama(&model.info.spec, &model.decoder)?;
    reporter.finish();
    let before = matrix_product_gflops()?;
    let lengths = args.lengths.iter().map(|&n| {
        reporter.notice(&format!("n = {n} …"));
        measure(&model, &candle, n, args.rounds.max(1), before, cancel)
    });
    let mut runs = lengths.collect::<Result<Vec<_>>>()?;
    let after = matrix_product_gflops()?;
    for run in &mut runs {
        run.peak_rss_bytes = peak_of_fresh_process(&located.path, run.n);
        let beyond = run.peak_rss_bytes.map(|peak| peak as f64 - model.info.weight_bytes as f64);
        run.peak_beyond_weights_mib = beyond.map(|bytes| bytes / f64::from(1 << 20));
    }
    let figures = Figures {
        model: model.info.name.clone(),
        sha256: model.info.sha256.clone(),
        threads: rayon::current_num_threads(),
        rounds: args.rounds.max(1),
        matrix_product_gflops: [before, after],
        runs,
    };
    say!("{}", serde_json::to_string_pretty(&figures).expect("plain numbers"));
    Ok(())
}

fn measure(
    model: &LoadedModel,
    candle: &(Llama, Config),
    n: usize,
    rounds: usize,
    gflops: f64,
    cancel: &CancelToken,
) -> Result<Length> {
    let ids = made_up_ids(n, model.info.spec.vocab);
    let tokens = Arc::new(model.tokenizer.sequence_of_ids(&ids, model.info.spec.vocab)?);
    let (mut capturing, mut plain, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let options = PrefillOptions::default();
        capturing.push(prefill(&model.decoder, &model.info, &tokens, options, &Silent, cancel)?.timing);
        plain.push(plain_prefill(&model.decoder, &ids, cancel)?.1);
        theirs.push(candle_layers_ms(candle, &ids, &model.decoder)?);
    }
    let ratio = |other: &dyn Fn(usize) -> f64| {
        median((0..rounds).map(|round| capturing[round].layers_ms / other(round)).collect())
    };
    let capturing_over_plain = ratio(&|round| plain[round].layers_ms);
    let capturing_over_candle = ratio(&|round| theirs[round]);
    let layer_gflop = layer_gflop(&model.info.spec, n);
    let capturing_ms = parts(&capturing);
    Ok(Length {
        n,
        capturing_over_arithmetic: capturing_ms.layers / (layer_gflop / gflops * 1e3),
        capturing_ms,
        plain_ms: parts(&plain),
        candle_layers_ms: median(theirs),
        capturing_over_plain,
        capturing_over_candle,
        layer_gflop,
        peak_rss_bytes: None,
        peak_beyond_weights_mib: None,
    })
}

fn parts(timings: &[PrefillTiming]) -> Parts {
    Parts {
        layers: median(timings.iter().map(|timing| timing.layers_ms).collect()),
        head: median(timings.iter().map(|timing| timing.head_ms).collect()),
    }
}

/// Operations of all layers: two per weight and token, and scores and values over half of n².
fn layer_gflop(spec: &ModelSpec, n: usize) -> f64 {
    let (q, kv) = (spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim);
    let weights = spec.hidden * (q + 2 * kv) + q * spec.hidden + 3 * spec.hidden * spec.mlp_hidden;
    let linear = 2.0 * (n * weights) as f64;
    let attention = 4.0 * (q as f64) * (n as f64 * (n as f64 + 1.0) / 2.0);
    spec.layers as f64 * (linear + attention) / 1e9
}

/// candle's llama over the same f32 weights.
fn candle_llama(spec: &ModelSpec, decoder: &Decoder) -> Result<(Llama, Config)> {
    let config = candle_llama_config(spec);
    let builder = candle_nn::VarBuilder::from_tensors(decoder.named_weights()?, DType::F32, &Device::Cpu);
    Ok((Llama::load(builder, &config)?, config))
}

/// candle's prefill less its LM head over one row, which is timed on its own and taken off.
fn candle_layers_ms((llama, config): &(Llama, Config), ids: &[u32], decoder: &Decoder) -> Result<f64> {
    let input = Tensor::new(ids, &Device::Cpu)?.unsqueeze(0)?;
    let mut cache = Cache::new(false, DType::F32, config, &Device::Cpu)?;
    let start = Instant::now();
    std::hint::black_box(llama.forward(&input, 0, &mut cache)?);
    let all_ms = start.elapsed().as_secs_f64() * 1e3;
    let row = decoder.embed(&ids[..1], 0)?;
    let start = Instant::now();
    std::hint::black_box(decoder.logits(&row)?);
    Ok(all_ms - start.elapsed().as_secs_f64() * 1e3)
}

/// Peak memory of `sinkscope analyze` over `n` tokens, as that process reports it.
fn peak_of_fresh_process(model: &std::path::Path, n: usize) -> Option<u64> {
    let folder = tempfile::tempdir().ok()?;
    let ids_file = folder.path().join("ids.json");
    std::fs::write(&ids_file, serde_json::to_vec(&made_up_ids(n, 1000)).ok()?).ok()?;
    let arguments: [&OsStr; 4] =
        ["--model".as_ref(), model.as_os_str(), "--token-ids".as_ref(), ids_file.as_os_str()];
    child::analyze(&arguments)?["memory"]["peak_rss_bytes"].as_u64()
}
