//! Norms of one token against the median token's, layer by layer.

use super::detector::median;
use crate::capture::Capture;

/// Norms of a token as multiples of the median token's in the same layer; `None` where the median is 0.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct NormRatios {
    /// Of the residual stream behind the layer.
    pub hidden: Option<f64>,
    /// Of the key: median over KV heads.
    pub key: Option<f64>,
    /// Of the value: median over KV heads.
    pub value: Option<f64>,
}

/// The norms of token `index` in every layer; empty where the capture has no such token.
#[must_use]
pub fn norm_ratios_by_layer(capture: &Capture, index: usize) -> Vec<NormRatios> {
    let n = capture.len();
    if index >= n {
        return Vec::new();
    }
    let of_heads = |norms: &[f32]| {
        let ratios: Vec<f64> =
            norms.chunks_exact(n).filter_map(|norms| ratio_to_median(norms, index)).collect();
        (!ratios.is_empty()).then(|| median(ratios))
    };
    let of_layer = |layer: &crate::capture::LayerCapture| NormRatios {
        hidden: (layer.hidden_norm.len() == n).then(|| ratio_to_median(&layer.hidden_norm, index)).flatten(),
        key: of_heads(&layer.key_norm),
        value: of_heads(&layer.value_norm),
    };
    capture.layers.iter().map(of_layer).collect()
}

/// `None` where the median token's norm is 0.
pub(super) fn ratio_to_median(norms: &[f32], index: usize) -> Option<f64> {
    let typical = median(norms.iter().copied().map(f64::from).collect());
    (typical > 0.0).then(|| f64::from(norms[index]) / typical)
}
