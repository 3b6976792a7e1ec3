//! `sinkscope evict`: perplexity under simulated KV caches.

use super::analyze::{Finished, run_prompt};
use super::arguments::{DetectorArgs, RunArgs};
use super::cases::CaseArgs;
use super::{Context, TerminalReporter};
use crate::Result;
use crate::capture::PrefillOptions;
use crate::engine::jobs;
use crate::eviction::{EvictionCase, EvictionRun, PinChoice, Positions};
use crate::export::{EvictionReport, evictions_csv, write_json};
use crate::progress::{CancelToken, Progress, ProgressUnit, Reporter};
use clap::{ArgGroup, Args};
use comfy_table::{CellAlignment, Table, presets};
use std::path::PathBuf;

/// Arguments of `evict`.
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["cases", "policy"])))]
pub struct EvictArgs {
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub detector: DetectorArgs,
    #[command(flatten)]
    pub cases: CaseArgs,
    /// Write all numbers as JSON.
    #[arg(long, value_name = "OUT.json")]
    pub json: Option<PathBuf>,
    /// Write the NLL of each token under each cache as CSV.
    #[arg(long, value_name = "OUT.csv")]
    pub csv: Option<PathBuf>,
}

pub(super) fn run(args: &EvictArgs, context: Context, cancel: &CancelToken) -> Result<()> {
    let cases = args.cases.read()?;
    let reporter = TerminalReporter::default();
    let finished =
        run_prompt(&args.run, context, &args.detector, PrefillOptions::default(), &reporter, cancel)?;
    let runs = simulate_cases(&finished, &args.cases, &cases, &reporter, cancel)?;
    reporter.finish();
    let capture = &finished.prefilled.capture;
    let all: Vec<&EvictionRun> = runs.iter().collect();
    let report = EvictionReport::new(capture, &all);
    if let Some(path) = &args.csv {
        evictions_csv(path, capture, &all)?;
    }
    if let Some(path) = &args.json {
        write_json(path, &report)?;
    }
    print_table(&report);
    if capture.model.spec.windows.iter().all(Option::is_some) {
        say!("All layers of this model are local: their windows bound the cache, and nothing is evicted.");
    }
    Ok(())
}

/// Simulates cases one after the other, with progress on the terminal.
pub(super) fn simulate_cases(
    finished: &Finished,
    args: &CaseArgs,
    cases: &[EvictionCase],
    reporter: &TerminalReporter,
    cancel: &CancelToken,
) -> Result<Vec<EvictionRun>> {
    let capture = &finished.prefilled.capture;
    let total = Some(capture.nll_nats.len() as u64);
    let simulate = |(index, case): (usize, &EvictionCase)| {
        let mut show = |point: crate::eviction::SimulationPoint| {
            let done = (point.first_row + point.nll_nats.len()) as u64;
            let stage = format!("Simulating {}", name(case));
            reporter.progress(Progress { stage, done, total, unit: ProgressUnit::Rows });
        };
        let options = &finished.analysis.options;
        let run = jobs::evict(&finished.model, capture, case, options, &mut show, cancel);
        run.map_err(|error| args.place_error(error, index))
    };
    cases.iter().enumerate().map(simulate).collect()
}

/// A case in a few words, for a bar and a table.
fn name(case: &EvictionCase) -> String {
    let policy = format!("{:?}", case.policy).to_lowercase();
    let budget = case.budget.map_or_else(String::new, |budget| format!(" {budget}"));
    let pins = if case.pins == PinChoice::None { String::new() } else { format!(" + {}", case.pins) };
    let slots = if case.positions == Positions::Slot { " (slots)" } else { "" };
    format!("{policy}{budget}{pins}{slots}")
}

fn print_table(report: &EvictionReport) {
    say!("{} · {} tokens", report.model, report.tokens);
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["cache", "PPL after fill", "full cache", "mean ΔNLL (nats)", "time (ms)"]);
    let number = |value: Option<f64>, digits: u8| {
        // Rounded first: −0.0000 says nothing.
        let (unit, digits) = (10_f64.powi(i32::from(digits)), usize::from(digits));
        value.map_or("not filled".to_owned(), |value: f64| {
            format!("{:.digits$}", (value * unit).round() / unit + 0.0)
        })
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
    say!("{table}");
}
