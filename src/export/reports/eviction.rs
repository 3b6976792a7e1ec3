//! All numbers of simulated caches.

use crate::capture::Capture;
use crate::eviction::{Curve, EvictionCase, EvictionRun, Kept, perplexity};
use serde::Serialize;

/// One case with its results.
#[derive(Debug, Serialize)]
pub struct CaseReport {
    /// What was run.
    #[serde(flatten)]
    pub case: EvictionCase,
    /// The pinned positions that the case came to.
    pub pinned: Vec<usize>,
    /// NLL in nats; row `i` scores token `i + 1`.
    pub nll: Vec<f64>,
    /// Perplexity over the whole text.
    pub perplexity: Option<f64>,
    /// Perplexity from the first row that can differ on.
    pub perplexity_after_fill: Option<f64>,
    /// The full cache's over the same rows.
    pub full_perplexity_after_fill: Option<f64>,
    /// Mean ΔNLL in nats over the same rows.
    pub mean_delta_nll_after_fill: Option<f64>,
    /// The first row that can differ.
    pub first_differing_row: Option<usize>,
    /// What the cache held at the end.
    pub kept_after_last_token: Kept,
    /// Wall time.
    pub timing_ms: f64,
}

/// What `evict --json` writes.
#[derive(Debug, Serialize)]
pub struct EvictionReport {
    /// The model's name.
    pub model: String,
    /// sha256 of its weights.
    pub sha256: String,
    /// Tokens of the text.
    pub tokens: usize,
    /// Wall time of the full prefill.
    pub full_prefill_ms: f64,
    /// The cases in order.
    pub cases: Vec<CaseReport>,
}

impl EvictionReport {
    /// The report of some runs over a capture.
    #[must_use]
    pub fn new(capture: &Capture, runs: &[&EvictionRun]) -> Self {
        let full: Vec<f64> = capture.nll_nats.iter().map(|&nll| f64::from(nll)).collect();
        Self {
            model: capture.model.name.clone(),
            sha256: capture.model.sha256.clone(),
            tokens: capture.len(),
            full_prefill_ms: capture.prefill_ms,
            cases: runs.iter().map(|run| report_of(run, &full)).collect(),
        }
    }
}

fn report_of(run: &EvictionRun, full_nll_nats: &[f64]) -> CaseReport {
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
        case: run.case.clone(),
        nll: run.nll_nats.clone(),
    }
}
