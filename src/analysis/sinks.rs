//! The flagged tokens, and what else about them speaks for or against a sink.

use super::classes::TokenClass;
use super::detector::{Detection, median};
use super::mass::MassTable;
use super::norms::ratio_to_median;
use super::profile::{
    ProfileKind, Profiles, alpha_of_key, far_lift_of_key, far_lift_of_layers, profile_of_layers,
};
use super::{BIRTH_FAR_LIFT, MASSIVE_MAGNITUDE, MASSIVE_RATIO, SINK_RATE_EPSILON};
use crate::capture::{Capture, LayerCapture};

/// One detected sink.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Sink {
    /// Position.
    pub index: usize,
    /// Class of the token.
    pub class: TokenClass,
    /// Value of the chosen profile.
    pub value: f64,
    /// The detector's z.
    pub z: f64,
    /// Share of heads with α > ε.
    pub sink_rate: f64,
}

/// The flagged keys with what the table of sinks shows beside them.
pub(super) fn sinks_of(
    detection: &Detection,
    profile: &[Option<f64>],
    profiles: &Profiles,
    classes: &[TokenClass],
) -> Vec<Sink> {
    let sink = |&index: &usize| {
        let (value, z) = (profile[index]?, detection.z[index]?);
        Some(Sink { index, class: classes[index], value, z, sink_rate: profiles.sink_rate[index] })
    };
    detection.flagged.iter().filter_map(sink).collect()
}

/// What a token's norms and layers say about it, beside its attention mass.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Corroboration {
    /// Norm of the residual stream against the median token's, in the layer where that is largest.
    pub hidden_norm_ratio: f64,
    /// That layer.
    pub hidden_norm_layer: usize,
    /// Largest magnitude in the residual stream, over all layers.
    pub hidden_max_abs: f64,
    /// Whether some layer holds a massive activation: a magnitude above 100 and at least 1000 times
    /// the typical one (Sun et al., arXiv 2402.17762). Typical is here the root mean square of the
    /// median token's residual stream, which is no less than its median magnitude.
    pub massive: bool,
    /// Norm of the key against the median token's: median over layers and KV heads. Small at sinks.
    pub key_norm_ratio: f64,
    /// Norm of the value against the median token's: median over layers and KV heads. Near 0 where
    /// attending to the token is a head's way to do nothing.
    pub value_norm_ratio: f64,
    /// First layer whose far-lift over all heads exceeds 5; `None` if there is none.
    pub birth_layer: Option<usize>,
    /// Share of all (layer, head) pairs with α > ε.
    pub head_share: f64,
}

impl Corroboration {
    /// Gathers the facts about one token; `None` where the capture has no such token.
    #[must_use]
    pub fn of(capture: &Capture, index: usize) -> Option<Self> {
        if index >= capture.len() || capture.layers.is_empty() {
            return None;
        }
        let (hidden_norm_layer, hidden_norm_ratio) = largest_hidden_ratio(capture, index);
        let layers = &capture.layers;
        let magnitudes = layers.iter().map(|layer| f64::from(layer.hidden_max_abs[index]));
        Some(Self {
            hidden_norm_ratio,
            hidden_norm_layer,
            hidden_max_abs: magnitudes.fold(0.0, f64::max),
            massive: layers.iter().any(|layer| is_massive(layer, index, capture.model.spec.hidden)),
            key_norm_ratio: median_ratio(capture, index, |layer| &layer.key_norm),
            value_norm_ratio: median_ratio(capture, index, |layer| &layer.value_norm),
            birth_layer: far_lift_of_key(&MassTable::of(capture), index).into_iter().position(is_born),
            head_share: head_share(&alpha_by_layer_head(capture, index)),
        })
    }
}

/// α of one key in every head: `[layer][head]`.
#[must_use]
pub fn alpha_by_layer_head(capture: &Capture, key: usize) -> Vec<Vec<f64>> {
    alpha_of_key(&MassTable::of(capture), key)
}

/// Far-lift of every key in every layer, over all heads: `[layer][key]`.
#[must_use]
pub fn far_lift_by_layer(capture: &Capture) -> Vec<Vec<Option<f64>>> {
    far_lift_of_layers(&MassTable::of(capture))
}

/// One profile of every key in every layer, over all heads: `[layer][key]`.
#[must_use]
pub fn profile_by_layer(capture: &Capture, kind: ProfileKind) -> Vec<Vec<Option<f64>>> {
    profile_of_layers(&MassTable::of(capture), kind)
}

/// The layer in which a key becomes a sink: the first whose far-lift over all heads exceeds 5.
#[must_use]
pub fn birth_layer(far_lift_by_layer: &[Vec<Option<f64>>], key: usize) -> Option<usize> {
    far_lift_by_layer.iter().position(|layer| is_born(layer[key]))
}

fn is_born(far_lift: Option<f64>) -> bool {
    far_lift.is_some_and(|lift| lift > BIRTH_FAR_LIFT)
}

fn head_share(alpha: &[Vec<f64>]) -> f64 {
    let pairs = alpha.iter().flatten();
    let sinking = pairs.clone().filter(|&&alpha| alpha > SINK_RATE_EPSILON).count();
    sinking as f64 / pairs.count().max(1) as f64
}

fn largest_hidden_ratio(capture: &Capture, index: usize) -> (usize, f64) {
    let ratios = capture.layers.iter().map(|layer| ratio_to_median(&layer.hidden_norm, index));
    let larger =
        |best: (usize, f64), next: (usize, f64)| if next.1.total_cmp(&best.1).is_gt() { next } else { best };
    ratios.map(|ratio| ratio.unwrap_or(0.0)).enumerate().fold((0, 0.0), larger)
}

fn is_massive(layer: &LayerCapture, index: usize, hidden: usize) -> bool {
    let typical = median_of(&layer.hidden_norm) / (hidden.max(1) as f64).sqrt();
    let magnitude = f64::from(layer.hidden_max_abs[index]);
    magnitude > MASSIVE_MAGNITUDE && magnitude >= MASSIVE_RATIO * typical
}

/// Median over layers and KV heads of a token's norm against the median token's.
fn median_ratio(capture: &Capture, index: usize, norms: impl Fn(&LayerCapture) -> &Vec<f32>) -> f64 {
    let n = capture.len();
    let per_head = capture.layers.iter().flat_map(|layer| norms(layer).chunks_exact(n));
    median(per_head.filter_map(|norms| ratio_to_median(norms, index)).collect())
}

fn median_of(values: &[f32]) -> f64 {
    median(values.iter().copied().map(f64::from).collect())
}
