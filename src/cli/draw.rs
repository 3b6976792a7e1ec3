//! `sinkscope render`, and the main job on a machine without a display.

use super::analyze::{Finished, run_prompt, run_prompt_input};
use super::arguments::{BosArg, DetectorArgs, ProfileArg, RunArgs};
use super::cases::CaseArgs;
use super::evict::simulate_cases;
use super::render::{self, RenderArgs, ViewName};
use super::summary::print_summary;
use super::{Context, TerminalReporter, others};
use crate::analysis::DEFAULT_THRESHOLD;
use crate::capture::PrefillOptions;
use crate::engine::PromptInput;
use crate::export::{AnalysisReport, ExportError, Material, RunRef, write_json};
use crate::model::chat::ChatMessage;
use crate::progress::{CancelToken, Reporter};
use crate::{Error, Result};
use clap::Args;
use std::path::Path;

/// Where the main job leaves its results when there is no display.
const HEADLESS_FOLDER: &str = "sinkscope-out";

/// Arguments of `render`.
#[derive(Debug, Clone, Args)]
pub struct DrawArgs {
    #[command(flatten)]
    pub render: RenderArgs,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub detector: DetectorArgs,
    #[command(flatten)]
    pub cases: CaseArgs,
}

pub(super) fn run(args: &DrawArgs, context: Context, cancel: &CancelToken) -> Result<()> {
    // A wrong file name should not cost a model load.
    args.render.check()?;
    let cases = args.cases.read()?;
    let wants_cases = args.render.view == ViewName::Eviction;
    if wants_cases == cases.is_empty() {
        let why = if wants_cases { "needs" } else { "is the only view that takes" };
        return Err(Error::Usage(format!("render eviction {why} --policy and --budget, or --cases")));
    }
    let others = others::read(&args.render)?;
    let takes_others = matches!(args.render.view, ViewName::Difference | ViewName::Stability);
    if !takes_others && !others.is_empty() {
        return Err(Error::Usage(
            "--others goes with render difference and render stability only".to_owned(),
        ));
    }
    if args.render.view == ViewName::Stability && others.is_empty() {
        return Err(Error::Usage("render stability needs --others".to_owned()));
    }
    let reporter = TerminalReporter::default();
    let finished =
        run_prompt(&args.run, context, &args.detector, PrefillOptions::default(), &reporter, cancel)?;
    let capture = &finished.prefilled.capture;
    let runs = simulate_cases(&finished, &args.cases, &cases, &reporter, cancel)?;
    let others = others::run_all(&others, &finished, context, &args.detector, &reporter, cancel)?;
    let others: Vec<RunRef<'_>> =
        others.iter().map(|other| RunRef { capture: &other.capture, analysis: &other.analysis }).collect();
    let material = Material {
        analysis_ms: finished.analysis_ms,
        others: &others,
        evictions: &runs.iter().collect::<Vec<_>>(),
        ..Material::of(capture, &finished.analysis)
    };
    render::run(&material, &args.render)?.iter().for_each(|line| reporter.notice(line));
    say!("{}", args.render.out.display());
    Ok(())
}

/// The chat that is analysed when nothing else was asked for.
fn sample_chat() -> Vec<ChatMessage> {
    serde_json::from_str(include_str!("../../assets/prompts/sky.chat.json")).expect("a test parses it")
}

/// Analyses the sample chat and leaves the sink table on the terminal, the views as PNG files and
/// the numbers as JSON in `sinkscope-out/`.
///
/// # Errors
/// The model can't be had or run, or the folder can't be written.
pub fn run_headless_default(model: &str, context: Context, cancel: &CancelToken) -> Result<()> {
    let reporter = TerminalReporter::default();
    let prompt = PromptInput::Chat(sample_chat());
    let detector = DetectorArgs {
        profile: ProfileArg::FarLift,
        layers: "all".to_owned(),
        heads: "all".to_owned(),
        threshold: DEFAULT_THRESHOLD,
    };
    let options = PrefillOptions::default();
    let finished =
        run_prompt_input(model, context, &prompt, BosArg::Auto, &detector, options, &reporter, cancel)?;
    let folder = Path::new(HEADLESS_FOLDER);
    std::fs::create_dir_all(folder)
        .map_err(|error| ExportError::Write { why: error.to_string(), path: folder.to_owned() })?;
    write_views(&finished, folder)?;
    print_summary(&finished.prefilled.capture, &finished.analysis);
    say!("Views and numbers: {}", folder.display());
    Ok(())
}

fn write_views(finished: &Finished, folder: &Path) -> Result<()> {
    let (capture, analysis) = (&finished.prefilled.capture, &finished.analysis);
    write_json(&folder.join("analysis.json"), &AnalysisReport::new(capture, analysis, finished.analysis_ms))?;
    for (view, name) in [
        (ViewName::Grid, "grid"),
        (ViewName::Head, "head"),
        (ViewName::Profile, "profile"),
        (ViewName::Strip, "strip"),
    ] {
        let (layer, head) = strongest_sink_head(finished);
        let out = folder.join(format!("{name}.png"));
        let args = RenderArgs::of(view, layer, head, out);
        render::run(&Material::of(capture, analysis), &args)?;
    }
    Ok(())
}

/// The head that gives the first key most: the one worth showing first.
fn strongest_sink_head(finished: &Finished) -> (usize, usize) {
    let capture = &finished.prefilled.capture;
    let n = capture.len();
    let heads = capture.model.spec.heads;
    let all = (0..capture.layers.len()).flat_map(|layer| (0..heads).map(move |head| (layer, head)));
    let mass = |&(layer, head): &(usize, usize)| capture.layers[layer].column_sums[head * n];
    all.max_by(|a, b| mass(a).total_cmp(&mass(b))).unwrap_or((0, 0))
}
