//! Queries and keys rounded to f16, and the rows' log-sum-exps that follow from them.

use super::SessionError;
use crate::capture::{Capture, MASKED, PatternOf, Shaping};
use half::f16;
use rayon::prelude::*;

/// Weights that exist at a time, in elements.
const BLOCK_WEIGHTS: usize = 1 << 18;

/// The capture as a file with f16 queries and keys will give it back: those rounded, and each row's log-sum-exp
/// such that its weights still sum to 1. Values are left out.
///
/// # Errors
/// [`SessionError::BeyondF16`] where a value would become infinite.
pub(super) fn rounded(capture: &Capture) -> Result<Capture, SessionError> {
    let mut layers = capture.layers.clone();
    for (layer, captured) in layers.iter_mut().enumerate() {
        captured.v = Vec::new();
        for values in [&mut captured.q, &mut captured.k] {
            for value in values {
                let kept = f16::from_f32(*value).to_f32();
                if kept.is_infinite() && value.is_finite() {
                    return Err(SessionError::BeyondF16 { layer });
                }
                *value = kept;
            }
        }
    }
    let mut rounded = Capture {
        id: capture.id,
        model: capture.model.clone(),
        tokens: capture.tokens.clone(),
        layers,
        nll_nats: capture.nll_nats.clone(),
        checks: capture.checks,
        prefill_ms: capture.prefill_ms,
    };
    let heads = capture.model.spec.heads;
    for layer in 0..rounded.layers.len() {
        let lse: Vec<Vec<f32>> =
            (0..heads).into_par_iter().map(|head| normalised(&rounded, layer, head)).collect();
        rounded.layers[layer].lse = lse.concat();
    }
    Ok(rounded)
}

/// The log-sum-exps of one head that make its rows sum to 1, the virtual key included.
fn normalised(capture: &Capture, layer: usize, head: usize) -> Vec<f32> {
    let n = capture.len();
    let before = &capture.layers[layer].lse[head * n..][..n];
    let sink = capture.layers[layer].score.sink_logits.as_ref().map(|logits| logits[head]);
    let rows_at_once = (BLOCK_WEIGHTS / n.max(1)).max(1);
    let mut lse = Vec::with_capacity(n);
    for first in (0..n).step_by(rows_at_once) {
        // No query of the block sees a later key.
        let end = (first + rows_at_once).min(n);
        let queries: Vec<usize> = (first..end).collect();
        let of = PatternOf::Head { layer, head };
        let weights = capture.weights(of, &Shaping::default(), &queries, 0..end);
        for (query, weights) in queries.into_iter().zip(weights.chunks_exact(end)) {
            let before = f64::from(before[query]);
            let virtual_key = sink.map_or(0.0, |logit| (logit - before).exp());
            let sum: f64 = weights.iter().filter(|w| **w != MASKED).map(|&w| f64::from(w)).sum();
            lse.push((before + (sum + virtual_key).ln()) as f32);
        }
    }
    lse
}
