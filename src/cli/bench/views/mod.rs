//! `sinkscope bench views`: what a frame costs, and how soon a pattern is there.

mod script;
mod sessions;
mod stand;

use super::made_up_ids;
use crate::Result;
use crate::capture::{Capture, PrefillOptions, peak_rss_bytes, prefill};
use crate::cli::TerminalReporter;
use crate::model::source::{Locator, ModelRef};
use crate::model::{LoadOptions, LoadedModel};
use crate::progress::{CancelToken, Reporter, Silent};
use clap::Args;
use script::Figures;
use serde::Serialize;
use std::sync::Arc;

/// Arguments of `bench views`.
#[derive(Debug, Clone, Args)]
pub struct ViewsArgs {
    /// The model.
    #[arg(long, default_value = "smollm2-135m-q4_1")]
    pub model: String,
    /// Prompt lengths in tokens; each is measured in a process of its own.
    #[arg(long, value_delimiter = ',', default_values_t = [512, 2048, 4096])]
    pub lengths: Vec<usize>,
    /// Measure the real window on this display instead of the headless one.
    #[arg(long)]
    pub window: bool,
    /// Seconds to wait for the grid of heads.
    #[arg(long, default_value_t = 120)]
    pub grid_seconds: u64,
}

#[derive(Serialize)]
struct Report {
    n: usize,
    model: String,
    sha256: String,
    threads: usize,
    /// `headless`: layout, drawing lists and tessellation; `window`: layout and drawing lists, and from one
    /// frame to the next what the renderer and the display take as well.
    harness: &'static str,
    #[serde(flatten)]
    figures: Figures,
    memory: Memory,
    /// Saving and opening the run; not in the window, where frames are what counts.
    sessions: Vec<sessions::SessionCost>,
}

/// Bytes; the weights are the model's, loaded as f32.
#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "they are the keys of the JSON, and carry their unit")]
struct Memory {
    weight_bytes: u64,
    capture_bytes: u64,
    tile_bytes: usize,
    /// Resident when everything is shown.
    resident_bytes: Option<u64>,
    /// Highest so far, the prefill counted.
    peak_rss_bytes: u64,
}

pub(super) fn run(args: &ViewsArgs, cancel: &CancelToken) -> Result<()> {
    let reports: Vec<serde_json::Value> = match args.lengths[..] {
        [n] => vec![serde_json::to_value(measure(args, n, cancel)?).expect("plain numbers")],
        // Memory that one length leaves behind must not count for the next.
        ref lengths => lengths.iter().filter_map(|&n| in_fresh_process(args, n)).collect(),
    };
    say!("{}", serde_json::to_string_pretty(&reports).expect("plain numbers"));
    Ok(())
}

fn measure(args: &ViewsArgs, n: usize, cancel: &CancelToken) -> Result<Report> {
    let reporter = TerminalReporter::default();
    let locator = Locator::from_environment(false);
    let located = locator.locate(&ModelRef::parse(&args.model), &reporter, cancel)?;
    let model = crate::model::load_model(&located, LoadOptions::default(), &reporter, cancel)?;
    reporter.finish();
    reporter.notice(&format!("n = {n} …"));
    let capture = captured(&model, n, cancel)?;
    let patience = std::time::Duration::from_secs(args.grid_seconds);
    let measured =
        if args.window { stand::in_window(&capture, patience)? } else { stand::headless(&capture, patience) };
    Ok(Report {
        n,
        model: model.info.name.clone(),
        sha256: model.info.sha256.clone(),
        threads: rayon::current_num_threads(),
        harness: if args.window { "window" } else { "headless" },
        memory: Memory {
            weight_bytes: model.info.weight_bytes,
            capture_bytes: capture.bytes(),
            tile_bytes: measured.tile_bytes,
            resident_bytes: resident_bytes(),
            peak_rss_bytes: peak_rss_bytes(),
        },
        figures: measured,
        sessions: if args.window { Vec::new() } else { sessions::measure(&capture)? },
    })
}

fn captured(model: &LoadedModel, n: usize, cancel: &CancelToken) -> Result<Arc<Capture>> {
    let ids = made_up_ids(n, model.info.spec.vocab);
    let tokens = Arc::new(model.tokenizer.sequence_of_ids(&ids, model.info.spec.vocab)?);
    let prefilled =
        prefill(&model.decoder, &model.info, &tokens, PrefillOptions::default(), &Silent, cancel)?;
    Ok(Arc::new(prefilled.capture))
}

fn in_fresh_process(args: &ViewsArgs, n: usize) -> Option<serde_json::Value> {
    let mut command = std::process::Command::new(std::env::current_exe().ok()?);
    command.args(["bench", "views", "--model", &args.model, "--lengths", &n.to_string()]);
    command.args(["--grid-seconds", &args.grid_seconds.to_string()]);
    if args.window {
        command.arg("--window");
    }
    let output = command.stderr(std::process::Stdio::inherit()).output().ok()?;
    let reports: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).ok()?;
    reports.into_iter().next()
}

/// Memory of this process that is in RAM now, where the system tells.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok().map(|kib| kib * 1024)
}
