//! The virtual key of models that learned a sink logit (gpt-oss): what it takes of each row's attention.
//!
//! It stands at no position, so it is no key of the detector, has no far-lift and is never evicted.

use super::{SINK_RATE_EPSILON, Selection};
use crate::capture::Capture;

/// What the virtual key takes, over the chosen layers and heads.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct VirtualKey {
    /// Mean weight over rows, layers and heads: its share of all attention, and its α.
    pub share: f64,
    /// Its mass against uniform attention, as of a key at index 0: `Σ_t w_t / Σ_t 1/(t + 1)`.
    pub lift: f64,
    /// Share of (layer, head) pairs whose mean weight exceeds ε.
    pub sink_rate: f64,
    /// Mean weight over rows in every head of the model, chosen or not: `[layer][head]`; 0 in a layer
    /// without a virtual key.
    pub by_layer_head: Vec<Vec<f64>>,
}

impl VirtualKey {
    /// Over the first `rows` rows of a capture; `None` where no chosen layer has a virtual key.
    #[must_use]
    pub fn of(capture: &Capture, selection: &Selection, rows: usize) -> Option<Self> {
        let spec = &capture.model.spec;
        let chosen_layers = selection.layers_of(capture.layers.len());
        let chosen_heads = selection.heads_of(spec.heads);
        let has_one = |&layer: &usize| capture.layers[layer].score.sink_logits.is_some();
        if !chosen_layers.iter().any(has_one) || chosen_heads.is_empty() || rows == 0 {
            return None;
        }
        let by_layer_head: Vec<Vec<f64>> = (0..capture.layers.len())
            .map(|layer| (0..spec.heads).map(|head| mean_weight(capture, layer, head, rows)).collect())
            .collect();
        let chosen = || {
            let heads = chosen_heads.iter().copied();
            chosen_layers.iter().flat_map(move |&layer| heads.clone().map(move |head| (layer, head)))
        };
        let pairs = (chosen_layers.len() * chosen_heads.len()) as f64;
        let share = chosen().map(|(layer, head)| by_layer_head[layer][head]).sum::<f64>() / pairs;
        let sinking =
            chosen().filter(|&(layer, head)| by_layer_head[layer][head] > SINK_RATE_EPSILON).count();
        let uniform: f64 = (1..=rows).map(|visible| 1.0 / visible as f64).sum();
        Some(Self {
            share,
            lift: share * rows as f64 / uniform,
            sink_rate: sinking as f64 / pairs,
            by_layer_head,
        })
    }
}

/// Mean over rows of `exp(sink logit − lse)`; rows that are not finite count as 0, as in column sums.
fn mean_weight(capture: &Capture, layer: usize, head: usize, rows: usize) -> f64 {
    if capture.layers[layer].score.sink_logits.is_none() {
        return 0.0;
    }
    let weights = (0..rows).map(|row| capture.virtual_weight(layer, head, row));
    weights.filter(|weight| weight.is_finite()).sum::<f64>() / rows as f64
}
