//! Who attends to the selected tokens, and to whom they attend: exact.

use crate::capture::{Capture, PatternOf, Shaping};
use crate::progress::{CancelToken, Cancelled};
use std::ops::Range;

/// Weights between the selected tokens and every other. Those of several selected tokens are added up.
#[derive(Debug, Clone, PartialEq)]
pub struct Partners {
    /// What was asked.
    pub key: PartnersKey,
    /// For each token the mean over the chosen layers and heads, of those in which it sees, or is seen
    /// by, a selected token; `None` where there is none.
    pub weights: Vec<Option<f32>>,
    /// Every head of the model, chosen or not: `[layer][head]`.
    pub by_head: Vec<Vec<HeadWeight>>,
}

/// What one head has between the selected tokens and the others.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HeadWeight {
    /// Incoming: mean over the queries that see a selected token, α where one is selected. Outgoing:
    /// the largest weight. `None` where nothing is visible.
    pub value: Option<f32>,
    /// The token with the largest weight.
    pub strongest: Option<usize>,
}

/// What a set of partners depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartnersKey {
    /// The capture.
    pub capture: u64,
    /// The selected tokens, ascending.
    pub tokens: Vec<usize>,
    /// Queries that attend to them (`false`) or keys that they attend to (`true`).
    pub outgoing: bool,
    /// Layers; `None` for all.
    pub layers: Option<Vec<usize>>,
    /// Head; `None` for all.
    pub head: Option<usize>,
}

impl Partners {
    /// The tokens with the largest weights, the strongest first; selected ones are left out.
    #[must_use]
    pub fn strongest(&self, most: usize) -> Vec<(usize, f32)> {
        let weights = self.weights.iter().enumerate();
        let mut order: Vec<(usize, f32)> = weights
            .filter_map(|(token, weight)| Some((token, (*weight)?)))
            .filter(|(token, _)| self.key.tokens.binary_search(token).is_err())
            .collect();
        let by_weight = |a: &(usize, f32), b: &(usize, f32)| b.1.total_cmp(&a.1);
        if most > 0 && order.len() > most {
            order.select_nth_unstable_by(most - 1, by_weight);
        }
        order.truncate(most);
        order.sort_by(by_weight);
        order
    }
}

/// Computes the partners of some tokens; `None` when cancelled.
#[must_use]
pub fn partners_of(capture: &Capture, key: PartnersKey, cancel: &CancelToken) -> Option<Partners> {
    let heads = capture.model.spec.heads;
    let mut sums = vec![(0.0_f64, 0_u32); capture.len()];
    let mut by_head = vec![vec![HeadWeight::default(); heads]; capture.layers.len()];
    let runs = runs_of(&key.tokens);
    for (layer, line) in by_head.iter_mut().enumerate() {
        let is_chosen = key.layers.as_ref().is_none_or(|layers| layers.contains(&layer));
        for (head, cell) in line.iter_mut().enumerate() {
            let of = PatternOf::Head { layer, head };
            let weights = head_weights(capture, of, &runs, key.outgoing, cancel).ok()?;
            *cell = summary(&weights, key.outgoing);
            if is_chosen && key.head.is_none_or(|chosen| chosen == head) {
                for ((sum, count), weight) in sums.iter_mut().zip(&weights) {
                    if let Some(weight) = weight {
                        *sum += weight;
                        *count += 1;
                    }
                }
            }
        }
    }
    let mean = |(sum, count): (f64, u32)| (count > 0).then(|| (sum / f64::from(count)) as f32);
    Some(Partners { key, weights: sums.into_iter().map(mean).collect(), by_head })
}

/// One head: for each other token the sum over the selected ones; `None` where none is visible. Weights
/// that are not finite are left out.
fn head_weights(
    capture: &Capture,
    of: PatternOf,
    runs: &[Range<usize>],
    outgoing: bool,
    cancel: &CancelToken,
) -> Result<Vec<Option<f64>>, Cancelled> {
    /// Weights that exist at a time.
    const BLOCK: usize = 1 << 16;
    let n = capture.len();
    let mut sums: Vec<Option<f64>> = vec![None; n];
    let plain = Shaping::default();
    let mut add = |token: usize, weight: f32| {
        // Below 0: the query can't see the key.
        if weight >= 0.0 && weight.is_finite() {
            *sums[token].get_or_insert(0.0) += f64::from(weight);
        }
    };
    for run in runs {
        let (rows, keys) = if outgoing { (run.clone(), 0..run.end) } else { (run.start..n, run.clone()) };
        let most = (BLOCK / keys.len().max(1)).max(1);
        for first in rows.clone().step_by(most) {
            cancel.check()?;
            let block: Vec<usize> = (first..(first + most).min(rows.end)).collect();
            let weights = capture.weights(of, &plain, &block, keys.clone());
            for (&query, line) in block.iter().zip(weights.chunks_exact(keys.len())) {
                for (key, &weight) in keys.clone().zip(line) {
                    add(if outgoing { key } else { query }, weight);
                }
            }
        }
    }
    Ok(sums)
}

fn summary(weights: &[Option<f64>], outgoing: bool) -> HeadWeight {
    let known = || weights.iter().enumerate().filter_map(|(token, weight)| Some((token, (*weight)?)));
    let largest = known().max_by(|a, b| a.1.total_cmp(&b.1));
    let value = if outgoing {
        largest.map(|(_, weight)| weight)
    } else {
        let (sum, count) =
            known().fold((0.0, 0_usize), |(sum, count), (_, weight)| (sum + weight, count + 1));
        (count > 0).then(|| sum / count as f64)
    };
    HeadWeight { value: value.map(|value| value as f32), strongest: largest.map(|(token, _)| token) }
}

/// Ascending positions as ranges of neighbours.
fn runs_of(tokens: &[usize]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for &token in tokens {
        match runs.last_mut() {
            Some(run) if run.end == token => run.end += 1,
            _ => runs.push(token..token + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_taken_together() {
        assert_eq!(runs_of(&[0, 1, 2, 5, 7, 8]), [0..3, 5..6, 7..9]);
        assert!(runs_of(&[]).is_empty());
    }

    #[test]
    fn incoming_heads_are_told_by_their_mean_and_outgoing_ones_by_their_largest_weight() {
        let weights = [None, Some(0.2), Some(0.6)];
        let incoming = summary(&weights, false);
        assert_eq!((incoming.value, incoming.strongest), (Some(0.4), Some(2)));
        assert_eq!(summary(&weights, true).value, Some(0.6));
        assert_eq!(summary(&[None], true), HeadWeight::default());
    }

    #[test]
    fn the_strongest_come_first_without_the_selected() {
        let key = PartnersKey { capture: 1, tokens: vec![1], outgoing: true, layers: None, head: None };
        let weights = vec![Some(0.1), Some(0.9), None, Some(0.4), Some(0.2)];
        let partners = Partners { key, weights, by_head: Vec::new() };
        assert_eq!(partners.strongest(2), [(3, 0.4), (4, 0.2)]);
        assert_eq!(partners.strongest(9).len(), 3);
        assert!(partners.strongest(0).is_empty());
    }
}
