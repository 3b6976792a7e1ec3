//! `sinkscope bench load`: the default model as f32, as f16 and as K-quants kept quantised, side by side.

use super::{child, median};
use crate::cli::TerminalReporter;
use crate::model::ModelError;
use crate::model::source::{Locator, ModelRef};
use crate::progress::{CancelToken, Reporter};
use crate::{Error, Result};
use candle_core::Device;
use candle_core::quantized::gguf_file::{Content, write};
use candle_core::quantized::{GgmlDType, QTensor};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// A text that every variant reads.
const TEXT: &str = include_str!("../../../assets/prompts/declaration.txt");

/// Arguments of `bench load`.
#[derive(Debug, Clone, Args)]
pub struct LoadArgs {
    /// The model, a GGUF file.
    #[arg(long, default_value = "smollm2-135m-q4_1")]
    pub model: String,
    /// Rounds; each loads and runs every variant once, the medians are reported.
    #[arg(long, default_value_t = 3)]
    pub rounds: usize,
}

#[derive(Serialize)]
struct Figures {
    model: String,
    threads: usize,
    rounds: usize,
    tokens: usize,
    variants: Vec<Variant>,
}

#[derive(Serialize)]
struct Variant {
    name: &'static str,
    file_bytes: u64,
    weight_bytes: u64,
    load_ms: f64,
    prefill_ms: f64,
    /// Medians of the rounds' ratios to f32.
    load_over_f32: f64,
    prefill_over_f32: f64,
    peak_rss_bytes: u64,
    /// Largest difference to the f32 run, over all tokens.
    largest_difference: Differences,
}

#[derive(Serialize, Clone, Copy)]
struct Differences {
    share: f64,
    far_lift: f64,
    nll_nats: f64,
    perplexity_over_f32: f64,
    /// Whether the same tokens are flagged.
    same_sinks: bool,
}

/// A variant's file and how it is kept.
struct Plan {
    name: &'static str,
    file: PathBuf,
    dtype: &'static str,
}

pub(super) fn run(args: &LoadArgs, cancel: &CancelToken) -> Result<()> {
    let reporter = TerminalReporter::default();
    let located =
        Locator::from_environment(false).locate(&ModelRef::parse(&args.model), &reporter, cancel)?;
    let folder =
        tempfile::tempdir().map_err(|error| ModelError::read(&error, Path::new("a temporary folder")))?;
    let text = folder.path().join("text.txt");
    std::fs::write(&text, TEXT).map_err(|error| ModelError::read(&error, &text))?;
    let quantised = folder.path().join("q4_k.gguf");
    reporter.notice("Quantising …");
    quantise(&located.path, &quantised)?;
    let plans = [
        Plan { name: "f32", file: located.path.clone(), dtype: "f32" },
        Plan { name: "f16", file: located.path.clone(), dtype: "f16" },
        Plan { name: "bf16", file: located.path.clone(), dtype: "bf16" },
        Plan { name: "Q4_K as f32", file: quantised.clone(), dtype: "f32" },
        Plan { name: "Q4_K kept", file: quantised, dtype: "stored" },
    ];
    let mut reports: Vec<Vec<Value>> = plans.iter().map(|_| Vec::new()).collect();
    for round in 0..args.rounds.max(1) {
        for (plan, reports) in plans.iter().zip(&mut reports) {
            cancel.check()?;
            reporter.notice(&format!("Round {}: {} …", round + 1, plan.name));
            let arguments: [&OsStr; 6] = [
                "--model".as_ref(),
                plan.file.as_os_str(),
                "--dtype".as_ref(),
                plan.dtype.as_ref(),
                "--prompt-file".as_ref(),
                text.as_os_str(),
            ];
            let report = child::analyze(&arguments);
            reports.push(report.ok_or_else(|| Error::Usage(format!("{} could not be run", plan.name)))?);
        }
    }
    reporter.finish();
    let variants: Vec<Variant> =
        plans.iter().zip(&reports).map(|(plan, of_plan)| variant(plan, of_plan, &reports[0])).collect();
    let figures = Figures {
        model: located.name,
        threads: rayon::current_num_threads(),
        rounds: args.rounds.max(1),
        tokens: numbers(&reports[0][0]["profiles"]["share"]).len(),
        variants,
    };
    say!("{}", serde_json::to_string_pretty(&figures).expect("plain numbers"));
    Ok(())
}

fn variant(plan: &Plan, reports: &[Value], f32_reports: &[Value]) -> Variant {
    let timing = |report: &Value, key: &str| report["timing_ms"][key].as_f64().unwrap_or(f64::NAN);
    let ms = |key: &str| median(reports.iter().map(|report| timing(report, key)).collect());
    let ratio = |key: &str| {
        let pairs = reports.iter().zip(f32_reports);
        median(pairs.map(|(ours, theirs)| timing(ours, key) / timing(theirs, key)).collect())
    };
    let peaks = reports.iter().filter_map(|report| report["memory"]["peak_rss_bytes"].as_u64());
    Variant {
        name: plan.name,
        file_bytes: std::fs::metadata(&plan.file).map_or(0, |metadata| metadata.len()),
        weight_bytes: reports[0]["model"]["weight_bytes"].as_u64().unwrap_or(0),
        load_ms: ms("load"),
        prefill_ms: ms("prefill"),
        load_over_f32: ratio("load"),
        prefill_over_f32: ratio("prefill"),
        peak_rss_bytes: peaks.max().unwrap_or(0),
        largest_difference: differences(&reports[0], &f32_reports[0]),
    }
}

fn differences(ours: &Value, theirs: &Value) -> Differences {
    let largest = |ours: &Value, theirs: &Value| {
        let pairs = numbers(ours).into_iter().zip(numbers(theirs));
        pairs.map(|(a, b)| (a - b).abs()).filter(|difference| !difference.is_nan()).fold(0.0, f64::max)
    };
    let profile = |key: &str| largest(&ours["profiles"][key], &theirs["profiles"][key]);
    let perplexity = |report: &Value| report["perplexity"].as_f64().unwrap_or(f64::NAN);
    Differences {
        share: profile("share"),
        far_lift: profile("far_lift"),
        nll_nats: largest(&ours["nll"], &theirs["nll"]),
        perplexity_over_f32: perplexity(ours) / perplexity(theirs),
        same_sinks: sinks(ours) == sinks(theirs),
    }
}

fn sinks(report: &Value) -> Vec<&Value> {
    report["sinks"].as_array().map_or(&[][..], Vec::as_slice).iter().map(|sink| &sink["index"]).collect()
}

/// A list of a report; what is not available is NaN.
fn numbers(list: &Value) -> Vec<f64> {
    let list = list.as_array().map_or(&[][..], Vec::as_slice);
    list.iter().map(|value| value.as_f64().unwrap_or(f64::NAN)).collect()
}

/// Writes the model with its matrices as `Q4_K`, and as `Q8_0` those whose rows are no multiple of its 256 weights.
fn quantise(from: &Path, to: &Path) -> Result<()> {
    let failed = |error: candle_core::Error| Error::from(ModelError::from(error));
    let file = std::fs::File::open(from).map_err(|error| ModelError::read(&error, from))?;
    let mut reader = BufReader::new(file);
    let content = Content::read(&mut reader).map_err(failed)?;
    let mut tensors = Vec::new();
    for name in content.tensor_infos.keys() {
        let tensor = content.tensor(&mut reader, name, &Device::Cpu).map_err(failed)?;
        let wide = tensor.dequantize(&Device::Cpu).map_err(failed)?;
        let dtype = match *wide.dims() {
            [_, row] if row % 256 == 0 => GgmlDType::Q4K,
            [_, row] if row % 32 == 0 => GgmlDType::Q8_0,
            _ => GgmlDType::F32,
        };
        tensors.push((name.as_str(), QTensor::quantize(&wide, dtype).map_err(failed)?));
    }
    let mut writer = std::fs::File::create(to).map_err(|error| ModelError::read(&error, to))?;
    let metadata: Vec<_> = content.metadata.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let tensors: Vec<_> = tensors.iter().map(|(name, tensor)| (*name, tensor)).collect();
    write(&mut writer, &metadata, &tensors).map_err(failed)
}
