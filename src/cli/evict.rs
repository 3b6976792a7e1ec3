//! `sinkscope evict`: perplexity under simulated KV caches.

use super::TerminalReporter;
use super::analyze::{Finished, run_prompt};
use super::arguments::{DetectorArgs, RunArgs};
use crate::analysis::AnalysisOptions;
use crate::capture::PrefillOptions;
use crate::engine::jobs;
use crate::eviction::{
    Curve, EvictionCase, EvictionRun, Kept, PinChoice, PolicyName, Positions, perplexity, read_cases,
};
use crate::export::write_json;
use crate::model::ModelError;
use crate::progress::{CancelToken, Progress, ProgressUnit, Reporter};
use crate::{Error, Result};
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Arguments of `evict`.
#[derive(Debug, Clone, Args)]
pub struct EvictArgs {
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub detector: DetectorArgs,
    /// A JSON file of cases: an array, or an object with `cases`.
    #[arg(long, value_name = "CASES.json", conflicts_with = "policy", required_unless_present = "policy")]
    pub cases: Option<PathBuf>,
    /// Which key goes when the cache is over budget.
    #[arg(long, value_enum)]
    pub policy: Option<PolicyArg>,
    /// Keys that the cache may hold after each step.
    #[arg(long, value_name = "KEYS")]
    pub budget: Option<usize>,
    /// Keys that never go: none, bos, detected, detected-prefix:N, first:K, or positions such as 0,7,21.
    #[arg(long, default_value = "none")]
    pub pins: String,
    /// Newest keys that are safe, the current one included (h2o and random).
    #[arg(long, value_name = "KEYS")]
    pub recent: Option<usize>,
    /// Whether retained keys count from their place in the text or their slot in the cache.
    #[arg(long, value_enum, default_value = "original")]
    pub positions: PositionsArg,
    /// Seed of the random policy.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Write all numbers as JSON.
    #[arg(long, value_name = "OUT.json")]
    pub json: Option<PathBuf>,
}

/// Names of the policies on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PolicyArg {
    /// Never evict.
    Full,
    /// The oldest that is not pinned.
    Fifo,
    /// A random one, neither pinned nor recent.
    Random,
    /// The lowest sum of attention so far.
    H2o,
    /// The lowest weight in the current row, mean over the layer's heads.
    Tova,
    /// H2O with only the current token safe.
    Lowest,
}

/// Names of the position modes on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PositionsArg {
    /// The text's own.
    Original,
    /// The cache's slots.
    Slot,
}

impl From<PolicyArg> for PolicyName {
    fn from(arg: PolicyArg) -> Self {
        match arg {
            PolicyArg::Full => Self::Full,
            PolicyArg::Fifo => Self::Fifo,
            PolicyArg::Random => Self::Random,
            PolicyArg::H2o => Self::H2o,
            PolicyArg::Tova => Self::Tova,
            PolicyArg::Lowest => Self::Lowest,
        }
    }
}

/// One case with its results.
#[derive(Debug, Serialize)]
struct CaseReport {
    #[serde(flatten)]
    case: EvictionCase,
    /// The pinned positions that the case came to.
    pinned: Vec<usize>,
    nll: Vec<f64>,
    perplexity: Option<f64>,
    perplexity_after_fill: Option<f64>,
    full_perplexity_after_fill: Option<f64>,
    mean_delta_nll_after_fill: Option<f64>,
    first_differing_row: Option<usize>,
    kept_after_last_token: Kept,
    timing_ms: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    model: String,
    sha256: String,
    tokens: usize,
    full_prefill_ms: f64,
    cases: Vec<CaseReport>,
}

pub(super) fn run(args: &EvictArgs, offline: bool, cancel: &CancelToken) -> Result<()> {
    let cases = args.read_cases()?;
    let reporter = TerminalReporter::default();
    let finished =
        run_prompt(&args.run, offline, &args.detector, PrefillOptions::default(), &reporter, cancel)?;
    let detector = finished.analysis.options.clone();
    let mut reports = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let report = simulate_case(&finished, case, &detector, &reporter, cancel);
        reports.push(report.map_err(|error| args.place_error(error, index))?);
    }
    reporter.finish();
    let capture = &finished.prefilled.capture;
    let report = Report {
        model: capture.model.name.clone(),
        sha256: capture.model.sha256.clone(),
        tokens: capture.len(),
        full_prefill_ms: capture.prefill_ms,
        cases: reports,
    };
    if let Some(path) = &args.json {
        write_json(path, &report)?;
    }
    print_table(&report);
    Ok(())
}

impl EvictArgs {
    fn read_cases(&self) -> Result<Vec<EvictionCase>> {
        if let Some(path) = &self.cases {
            let json = std::fs::read(path).map_err(|error| ModelError::read(&error, path))?;
            return read_cases(&json).map_err(|why| cases_error(&why, path));
        }
        let policy = self.policy.expect("clap requires cases or a policy").into();
        let positions = match self.positions {
            PositionsArg::Original => Positions::Original,
            PositionsArg::Slot => Positions::Slot,
        };
        let pins = PinChoice::parse(&self.pins).map_err(|why| Error::Usage(format!("--{why}")))?;
        let (budget, recent, seed) = (self.budget, self.recent, self.seed);
        Ok(vec![EvictionCase { policy, budget, pins, recent, positions, seed }])
    }

    /// Says which case of the file it was.
    fn place_error(&self, error: Error, index: usize) -> Error {
        match (error, &self.cases) {
            (Error::Eviction(why), Some(path)) => cases_error(&format!("case {index}: {why}"), path),
            (error, _) => error,
        }
    }
}

fn cases_error(why: &str, path: &Path) -> Error {
    Error::Usage(format!("Can't use the cases: {why}: {}", path.display()))
}

fn simulate_case(
    finished: &Finished,
    case: &EvictionCase,
    detector: &AnalysisOptions,
    reporter: &TerminalReporter,
    cancel: &CancelToken,
) -> Result<CaseReport> {
    let capture = &finished.prefilled.capture;
    let total = Some(capture.nll_nats.len() as u64);
    let mut show = |point: crate::eviction::SimulationPoint| {
        let done = (point.first_row + point.nll_nats.len()) as u64;
        let stage = format!("Simulating {}", name(case));
        reporter.progress(Progress { stage, done, total, unit: ProgressUnit::Rows });
    };
    let run = jobs::evict(&finished.model, capture, case, detector, &mut show, cancel)?;
    let full: Vec<f64> = capture.nll_nats.iter().map(|&nll| f64::from(nll)).collect();
    Ok(report_of(run, &full))
}

fn report_of(run: EvictionRun, full_nll_nats: &[f64]) -> CaseReport {
    let curve = Curve { nll_nats: &run.nll_nats, full_nll_nats, first_row: run.first_scored_row() };
    CaseReport {
        perplexity: perplexity(&run.nll_nats),
        perplexity_after_fill: curve.perplexity_after_fill(),
        full_perplexity_after_fill: curve.full_perplexity_after_fill(),
        mean_delta_nll_after_fill: curve.mean_delta_nll_nats(),
        first_differing_row: run.first_differing_row,
        kept_after_last_token: run.retention.kept_after(run.nll_nats.len()),
        timing_ms: run.wall_ms,
        pinned: run.pins.tokens.iter().copied().collect(),
        case: run.case,
        nll: run.nll_nats,
    }
}

/// A case in a few words, for a bar and a table.
fn name(case: &EvictionCase) -> String {
    let policy = format!("{:?}", case.policy).to_lowercase();
    let budget = case.budget.map_or_else(String::new, |budget| format!(" {budget}"));
    let pins = if case.pins == PinChoice::None { String::new() } else { format!(" + {}", case.pins) };
    let slots = if case.positions == Positions::Slot { " (slots)" } else { "" };
    format!("{policy}{budget}{pins}{slots}")
}

fn print_table(report: &Report) {
    println!("{} · {} tokens", report.model, report.tokens);
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["cache", "PPL after fill", "full cache", "mean ΔNLL (nats)", "time (ms)"]);
    let number = |value: Option<f64>, digits| {
        value.map_or("not filled".to_owned(), |value: f64| format!("{value:.digits$}"))
    };
    for case in &report.cases {
        table.add_row([
            name(&case.case),
            number(case.perplexity_after_fill, 2),
            number(case.full_perplexity_after_fill, 2),
            number(case.mean_delta_nll_after_fill, 4),
            format!("{:.0}", case.timing_ms),
        ]);
    }
    for column in 1..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    println!("{table}");
}
