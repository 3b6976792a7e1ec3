//! `sinkscope bench`: this program measured on this machine, side by side in one run.

mod child;
mod evict;
mod load;
mod machine;
mod prefill;
mod views;

use crate::Result;
use crate::progress::CancelToken;
use clap::{Args, Subcommand};

/// Arguments of `bench`.
#[derive(Debug, Clone, Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    pub what: Bench,
}

/// What is measured.
#[derive(Debug, Clone, Subcommand)]
pub enum Bench {
    /// The capturing prefill against the same engine unobserved and against candle-transformers.
    Prefill(prefill::PrefillArgs),
    /// Simulated caches against a token loop and against the full prefill.
    Evict(evict::EvictBenchArgs),
    /// The model in f32, in 16 bits and quantised: time, memory, and what it does to the profile.
    Load(load::LoadArgs),
    /// The window's frames, and how soon patterns are there.
    Views(views::ViewsArgs),
}

pub(super) fn run(args: &BenchArgs, cancel: &CancelToken) -> Result<()> {
    match &args.what {
        Bench::Prefill(args) => prefill::run(args, cancel),
        Bench::Evict(args) => evict::run(args, cancel),
        Bench::Load(args) => load::run(args, cancel),
        Bench::Views(args) => views::run(args, cancel),
    }
}

/// Ids that look like no text but are the same in every run: enough to be timed.
fn made_up_ids(n: usize, vocab: usize) -> Vec<u32> {
    (0..n).map(|i| ((i * 7919 + 17) % vocab) as u32).collect()
}

/// The middle of some figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    if figures.len() % 2 == 1 { figures[middle] } else { f64::midpoint(figures[middle - 1], figures[middle]) }
}
