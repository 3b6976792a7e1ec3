//! `sinkscope analyze`: run a prompt, report its sinks, write the numbers.

use super::arguments::{BosArg, DetectorArgs, RunArgs, parse_heads};
use super::summary::print_summary;
use super::{Context, TerminalReporter};
use crate::analysis::Analysis;
use crate::capture::{PrefillOptions, Prefilled};
use crate::engine::PromptInput;
use crate::engine::jobs::{analyze, check_memory, open_model, tokenize};
use crate::export::{
    AnalysisReport, PatternFormat, heads_csv, tokens_csv, write_json, write_patterns, write_tensors,
};
use crate::model::LoadedModel;
use crate::model::source::{Locator, ModelRef};
use crate::progress::{CancelToken, Reporter};
use crate::{Error, Result};
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

/// Arguments of `analyze`.
#[derive(Debug, Clone, Args)]
pub struct AnalyzeArgs {
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub detector: DetectorArgs,
    /// Write all numbers as JSON.
    #[arg(long, value_name = "OUT.json")]
    pub json: Option<PathBuf>,
    /// Write the tokens with their profiles, z and NLL as CSV.
    #[arg(long, value_name = "OUT.csv")]
    pub csv: Option<PathBuf>,
    /// Write the heads with their metrics as CSV.
    #[arg(long, value_name = "OUT.csv")]
    pub heads_csv: Option<PathBuf>,
    /// Write the logits `[n, vocab]` as safetensors.
    #[arg(long, value_name = "OUT.safetensors")]
    pub logits: Option<PathBuf>,
    /// Attention patterns to write: `LAYER:HEAD,…` or `all`.
    #[arg(long, value_name = "L:H,…|all", requires = "patterns_out")]
    pub patterns: Option<String>,
    /// Where the patterns go: .safetensors has tensors `l{L}h{H}`, `[n, n]` f32; .npy one array, of one head
    /// `[n, n]`, else `[heads, n, n]`; .csv and .json take one head.
    #[arg(long, value_name = "OUT.safetensors|npy|csv|json", requires = "patterns")]
    pub patterns_out: Option<PathBuf>,
}

/// A run from start to end, for every command that needs one.
pub(super) struct Finished {
    pub(super) model: LoadedModel,
    pub(super) prefilled: Prefilled,
    pub(super) analysis: Analysis,
    pub(super) analysis_ms: f64,
}

/// Opens the model, runs the prompt, analyses it.
pub(super) fn run_prompt(
    run: &RunArgs,
    context: Context,
    detector: &DetectorArgs,
    options: PrefillOptions,
    reporter: &TerminalReporter,
    cancel: &CancelToken,
) -> Result<Finished> {
    let prompt = run.prompt.read(run.parse_specials)?;
    run_prompt_input(&run.model, context, &prompt, run.bos, detector, options, reporter, cancel)
}

/// The same with a prompt that is read already.
pub(super) fn run_prompt_input(
    model: &str,
    context: Context,
    prompt: &PromptInput,
    bos: BosArg,
    detector: &DetectorArgs,
    options: PrefillOptions,
    reporter: &TerminalReporter,
    cancel: &CancelToken,
) -> Result<Finished> {
    let locator = Locator::from_environment(context.offline);
    let model = open_model(&locator, &ModelRef::parse(model), context.load, reporter, cancel)?;
    let detector = detector.options(&model.info.spec)?;
    let tokens = Arc::new(tokenize(&model.tokenizer, &model.info.spec, prompt, bos.into())?);
    for warning in model.info.warnings.iter().chain(&tokens.warnings) {
        reporter.notice(&format!("Warning: {warning}"));
    }
    check_memory(&model, tokens.len())?;
    let prefilled = analyze(&model, &tokens, options, reporter, cancel)?;
    let start = Instant::now();
    let analysis = Analysis::of(&prefilled.capture, detector);
    let analysis_ms = start.elapsed().as_secs_f64() * 1e3;
    reporter.finish();
    Ok(Finished { model, prefilled, analysis, analysis_ms })
}

pub(super) fn run(args: &AnalyzeArgs, context: Context, cancel: &CancelToken) -> Result<()> {
    if let Some(path) = &args.patterns_out {
        // A wrong file name should not cost a model load.
        PatternFormat::of(path)?;
    }
    let reporter = TerminalReporter::default();
    let options = PrefillOptions { keep_logits: args.logits.is_some() };
    let finished = run_prompt(&args.run, context, &args.detector, options, &reporter, cancel)?;
    let capture = &finished.prefilled.capture;
    if let Some(path) = &args.json {
        write_json(path, &AnalysisReport::new(capture, &finished.analysis, finished.analysis_ms))?;
    }
    if let Some(path) = &args.csv {
        tokens_csv(path, capture, &finished.analysis)?;
    }
    if let Some(path) = &args.heads_csv {
        heads_csv(path, capture, &finished.analysis)?;
    }
    if let (Some(path), Some(logits)) = (&args.logits, &finished.prefilled.logits) {
        let rows = logits.flatten_all().and_then(|flat| flat.to_vec1::<f32>())?;
        let shape = logits.dims().to_vec();
        write_tensors(path, vec![("logits".to_owned(), shape, move || rows.clone())])?;
    }
    if let (Some(list), Some(path)) = (&args.patterns, &args.patterns_out) {
        cancel.check().map_err(Error::from)?;
        write_patterns(path, capture, &parse_heads(list, &capture.model.spec)?)?;
    }
    print_summary(capture, &finished.analysis);
    Ok(())
}
