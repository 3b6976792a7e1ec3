//! Whether what a file says of model, text and runs fits together: the views index by it.

use crate::eviction::{EvictionRun, Pins, Retention, Schedule};
use crate::model::ModelSpec;

use super::texts::EvictionText;

/// Checks a model's sizes.
///
/// # Errors
/// What does not fit.
pub(super) fn check_spec(spec: &ModelSpec) -> Result<(), String> {
    let sound = spec.layers > 0
        && spec.kv_heads > 0
        && spec.heads >= spec.kv_heads
        && spec.heads.is_multiple_of(spec.kv_heads)
        && spec.head_dim > 0
        && spec.windows.len() == spec.layers
        && spec.windows.iter().all(|window| *window != Some(0));
    if sound { Ok(()) } else { Err("the model's sizes contradict each other".to_owned()) }
}

/// Builds a run from its text and its arrays.
///
/// # Errors
/// What does not fit.
pub(super) fn eviction(
    text: EvictionText,
    nll_nats: Vec<f64>,
    evicted_at: Option<Vec<u32>>,
    spec: &ModelSpec,
    n: usize,
) -> Result<EvictionRun, String> {
    let pins = Pins { tokens: text.pins.into_iter().collect(), scored_from: text.scored_from };
    text.case.check(spec, n, &pins.tokens).map_err(|why| format!("an eviction makes no sense: {why}"))?;
    let retention = match evicted_at {
        None if text.case.policy.is_position_only() => {
            Retention::Shared(Schedule::of(&text.case, &pins.tokens, n))
        }
        Some(steps) if !text.case.policy.is_position_only() => Retention::PerHead(
            steps
                .chunks_exact(n * spec.kv_heads)
                .map(|layer| layer.chunks_exact(n).map(<[u32]>::to_vec).collect())
                .collect(),
        ),
        _ => return Err("an eviction's history does not fit its policy".to_owned()),
    };
    let first_differing_row = text.first_differing_row.filter(|&row| row <= nll_nats.len());
    Ok(EvictionRun { case: text.case, pins, nll_nats, first_differing_row, retention, wall_ms: text.wall_ms })
}
