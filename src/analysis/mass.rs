//! The attention mass of keys, as plain numbers: column sums per layer, and what of them uniform
//! attention would have given.

use super::FAR_DELTA;
use crate::capture::Capture;
use std::ops::Range;

/// Which layers and heads a profile averages over.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Selection {
    /// Layers; `None` for all.
    pub layers: Option<Vec<usize>>,
    /// Query heads, the same in every chosen layer; `None` for all.
    pub heads: Option<Vec<usize>>,
}

impl Selection {
    /// All layers without a local window, all heads; the better choice for detection in mixed models.
    #[must_use]
    pub fn global_layers(windows: &[Option<usize>]) -> Self {
        let layers =
            windows.iter().enumerate().filter(|(_, window)| window.is_none()).map(|(layer, _)| layer);
        Self { layers: Some(layers.collect()), heads: None }
    }

    /// The chosen layers of a model with `layers`, ascending, each once; others are left out.
    #[must_use]
    pub fn layers_of(&self, layers: usize) -> Vec<usize> {
        chosen(self.layers.as_deref(), layers)
    }

    /// The chosen heads of a model with `heads`, ascending, each once; others are left out.
    #[must_use]
    pub fn heads_of(&self, heads: usize) -> Vec<usize> {
        chosen(self.heads.as_deref(), heads)
    }

    /// The chosen heads of the chosen layers as `(layer, head)`, in order.
    #[must_use]
    pub fn pairs(&self, layers: usize, heads: usize) -> Vec<(usize, usize)> {
        let heads = self.heads_of(heads);
        let of_layer = |layer| heads.iter().map(move |&head| (layer, head));
        self.layers_of(layers).into_iter().flat_map(of_layer).collect()
    }
}

fn chosen(wanted: Option<&[usize]>, count: usize) -> Vec<usize> {
    (0..count).filter(|index| wanted.is_none_or(|wanted| wanted.contains(index))).collect()
}

/// The column sums of one layer.
#[derive(Debug, Clone, Copy)]
pub struct LayerMass<'a> {
    /// Keys that a query sees, itself included, where the layer is local.
    pub window: Option<usize>,
    /// `Σ_{t ≥ j} A[t, j]`, `[heads, n]`.
    pub column_sums: &'a [f32],
    /// `Σ_{t ≥ j + Δ} A[t, j]`, `[heads, n]`.
    pub far_column_sums: &'a [f32],
}

/// The column sums of all layers: what every profile is computed from.
#[derive(Debug, Clone)]
pub struct MassTable<'a> {
    /// Number of tokens.
    pub n: usize,
    /// Query heads per layer.
    pub heads: usize,
    /// The layers in order.
    pub layers: Vec<LayerMass<'a>>,
}

impl<'a> MassTable<'a> {
    /// The column sums that a capture holds.
    #[must_use]
    pub fn of(capture: &'a Capture) -> Self {
        let spec = &capture.model.spec;
        let layers = capture.layers.iter().enumerate().map(|(index, layer)| LayerMass {
            window: spec.windows.get(index).copied().flatten(),
            column_sums: &layer.column_sums,
            far_column_sums: &layer.far_column_sums,
        });
        Self { n: capture.len(), heads: spec.heads, layers: layers.collect() }
    }

    /// Which queries see which key in a layer, and what uniform attention would give.
    #[must_use]
    pub fn visibility(&self, layer: usize) -> Visibility {
        Visibility::new(self.n, self.layers[layer].window)
    }

    /// `Σ_{t ≥ j} A[t, j]` of each key in one head.
    #[must_use]
    pub fn mass(&self, layer: usize, head: usize) -> &'a [f32] {
        row(self.layers[layer].column_sums, head, self.n)
    }

    /// `Σ_{t ≥ j + Δ} A[t, j]` of each key in one head.
    #[must_use]
    pub fn far_mass(&self, layer: usize, head: usize) -> &'a [f32] {
        row(self.layers[layer].far_column_sums, head, self.n)
    }
}

fn row(values: &[f32], head: usize, n: usize) -> &[f32] {
    &values[head * n..(head + 1) * n]
}

/// Which queries see which key in a layer, causal and within the window, and the mass that
/// uniform attention (`1 / visible keys` each) would give a key.
#[derive(Debug, Clone)]
pub struct Visibility {
    n: usize,
    window: Option<usize>,
    /// `Σ_{t < i} 1 / min(t + 1, W)` for `i` in `0..=n`.
    uniform_before: Vec<f64>,
}

impl Visibility {
    /// Visibility over `n` tokens, in a local layer of that window or in a global one.
    #[must_use]
    pub fn new(n: usize, window: Option<usize>) -> Self {
        let mut uniform_before = Vec::with_capacity(n + 1);
        let mut sum = 0.0;
        for query in 0..n {
            uniform_before.push(sum);
            sum += 1.0 / (query + 1).min(window.unwrap_or(usize::MAX)).max(1) as f64;
        }
        uniform_before.push(sum);
        Self { n, window, uniform_before }
    }

    /// The queries that see a key.
    #[must_use]
    pub fn queries(&self, key: usize) -> Range<usize> {
        let end = self.window.map_or(self.n, |window| self.n.min(key.saturating_add(window)));
        key.min(end)..end
    }

    /// The queries that see a key from at least Δ positions behind it.
    #[must_use]
    pub fn far_queries(&self, key: usize) -> Range<usize> {
        let end = self.queries(key).end;
        (key + FAR_DELTA).min(end)..end
    }

    /// What uniform attention gives the key: `Σ 1 / min(t + 1, W)` over the queries that see it.
    #[must_use]
    pub fn uniform_mass(&self, key: usize) -> f64 {
        self.uniform_over(self.queries(key))
    }

    /// What uniform attention gives the key from far queries.
    #[must_use]
    pub fn uniform_far_mass(&self, key: usize) -> f64 {
        self.uniform_over(self.far_queries(key))
    }

    fn uniform_over(&self, queries: Range<usize>) -> f64 {
        self.uniform_before[queries.end] - self.uniform_before[queries.start]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_global_layer_sees_harmonic_numbers() {
        let visibility = Visibility::new(4, None);
        assert_eq!(visibility.queries(1), 1..4);
        assert!((visibility.uniform_mass(1) - (1.0 / 2.0 + 1.0 / 3.0 + 1.0 / 4.0)).abs() < 1e-15);
    }

    #[test]
    fn a_local_layer_of_window_w_sees_w_keys_counting_itself() {
        let visibility = Visibility::new(10, Some(3));
        assert_eq!(visibility.queries(0), 0..3);
        assert_eq!(visibility.queries(9), 9..10);
        // Queries 4, 5, 6 see key 4, each among three keys.
        assert!((visibility.uniform_mass(4) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_window_shorter_than_the_distance_has_no_far_query() {
        let visibility = Visibility::new(100, Some(FAR_DELTA));
        assert!(visibility.far_queries(3).is_empty());
        assert_eq!(Visibility::new(100, Some(FAR_DELTA + 2)).far_queries(3).len(), 2);
        assert_eq!(Visibility::new(100, None).far_queries(3), 3 + FAR_DELTA..100);
    }

    #[test]
    fn a_selection_ignores_what_the_model_lacks() {
        let selection = Selection { layers: Some(vec![7, 2, 2, 0]), heads: None };
        assert_eq!(selection.layers_of(5), [0, 2]);
        assert_eq!(selection.heads_of(3), [0, 1, 2]);
        assert_eq!(Selection::global_layers(&[Some(4), None, Some(4)]).layers, Some(vec![1]));
    }
}
