//! What kind of head each head is: numbers per head, from the column sums and two diagonals.

use super::mass::MassTable;
use crate::capture::{Capture, PatternOf, Shaping};
use std::collections::HashMap;

/// Keys that count as the peak of the first positions, unless moved.
pub const PEAK_KEYS: usize = 4;

/// One head in numbers. Rows that are not finite are left out of all of them.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct HeadMetrics {
    /// Mean over rows `t ≥ 1` of `−Σ A ln A / ln(visible keys)`: 0 for one key, 1 for uniform attention.
    pub entropy: Option<f64>,
    /// Mean over rows of `Σ A · (t − j)`, in tokens.
    pub mean_distance: Option<f64>,
    /// Mean over rows `t ≥ 1` of `A[t, t − 1]`.
    pub previous_token: Option<f64>,
    /// Mean of `A[t, p + 1]` over rows `t` whose token occurred before, last at `p`; `None` without repeats.
    pub induction: Option<f64>,
    /// Mean over rows `t ≥ P` of `Σ_{j < P} A[t, j]` with P = [`PEAK_KEYS`].
    pub peak_share: Option<f64>,
}

impl HeadMetrics {
    /// The metrics of one head; O(n · head_dim).
    #[must_use]
    pub fn of(capture: &Capture, layer: usize, head: usize) -> Self {
        let table = MassTable::of(capture);
        // What a row gives to real keys; `None` where it is not finite.
        let row_sum = |row: usize| {
            let is_finite = capture.layers[layer].lse[head * capture.len() + row].is_finite();
            is_finite.then(|| 1.0 - capture.virtual_weight(layer, head, row))
        };
        let mass = table.mass(layer, head);
        Self {
            entropy: entropy(capture, layer, head),
            mean_distance: mean_distance(mass, row_sum),
            previous_token: mean_weight(capture, layer, head, (1..capture.len()).map(|t| (t, t - 1))),
            induction: mean_weight(capture, layer, head, induction_cells(&capture.tokens.ids())),
            peak_share: peak_share(mass, PEAK_KEYS, row_sum),
        }
    }
}

/// Share of a head's attention that some keys receive: `Σ S_j` over them, divided by the rows.
#[must_use]
pub fn share_on_keys(capture: &Capture, layer: usize, head: usize, keys: &[usize]) -> Option<f64> {
    let n = capture.len();
    let mass = MassTable::of(capture).mass(layer, head);
    let rows = (0..n).filter(|row| capture.layers[layer].lse[head * n + row].is_finite()).count();
    let sum: f64 = keys.iter().filter_map(|&key| mass.get(key)).map(|&sum| f64::from(sum)).sum();
    (rows > 0).then(|| sum / rows as f64)
}

/// The cells `(t, p + 1)` of the induction score, where `p < t` is the last earlier position of token `t`.
fn induction_cells(ids: &[u32]) -> impl Iterator<Item = (usize, usize)> {
    let mut last = HashMap::new();
    ids.iter().enumerate().filter_map(move |(t, &id)| Some((t, last.insert(id, t)? + 1)))
}

fn entropy(capture: &Capture, layer: usize, head: usize) -> Option<f64> {
    let n = capture.len();
    let rows = capture.layers[layer].row_entropy_nats.get(head * n..(head + 1) * n)?;
    let relative = (1..n).filter_map(|t| {
        let visible = capture.visible_keys(layer, t).len() as f64;
        let entropy = f64::from(rows[t]);
        (visible > 1.0 && entropy.is_finite()).then(|| entropy / visible.ln())
    });
    mean(relative)
}

/// `Σ_t Σ_j A (t − j) = Σ_t t · Σ_j A − Σ_j j S_j`, with the sum of each row given.
fn mean_distance(mass: &[f32], row_sum: impl Fn(usize) -> Option<f64>) -> Option<f64> {
    let (mut rows, mut sum) = (0_usize, 0.0);
    for (row, total) in (0..mass.len()).filter_map(|row| Some((row, row_sum(row)?))) {
        rows += 1;
        sum += row as f64 * total;
    }
    let on_keys: f64 = mass.iter().enumerate().map(|(key, &sum)| key as f64 * f64::from(sum)).sum();
    (rows > 0).then(|| ((sum - on_keys) / rows as f64).max(0.0))
}

/// The rows before P put all of their attention on the first P keys.
fn peak_share(mass: &[f32], peak: usize, row_sum: impl Fn(usize) -> Option<f64>) -> Option<f64> {
    let peak = peak.min(mass.len());
    let within: f64 = (0..peak).filter_map(&row_sum).sum();
    let rows = (peak..mass.len()).filter_map(&row_sum).count();
    let sum: f64 = mass[..peak].iter().map(|&sum| f64::from(sum)).sum();
    (rows > 0).then(|| ((sum - within) / rows as f64).clamp(0.0, 1.0))
}

/// Mean weight of some cells; a key that the query can't see (a local layer) counts as 0.
fn mean_weight(
    capture: &Capture,
    layer: usize,
    head: usize,
    cells: impl Iterator<Item = (usize, usize)>,
) -> Option<f64> {
    let weights = capture.weights_at(layer, head, &cells.collect::<Vec<_>>());
    mean(weights.into_iter().map(f64::from).filter(|weight| weight.is_finite()))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// A pattern's rows, to be compared with those of others.
#[derive(Debug, Clone)]
pub struct ComparedRows {
    rows: Vec<usize>,
    hidden: Vec<usize>,
    weights: Vec<f32>,
}

impl ComparedRows {
    /// Rows that are compared; longer texts are sampled evenly.
    pub const MOST: usize = 256;

    /// How many of `n` rows are compared.
    #[must_use]
    pub fn compared(n: usize) -> usize {
        n.min(Self::MOST)
    }

    /// The rows of a pattern, without the columns of `hidden` keys.
    #[must_use]
    pub fn of(capture: &Capture, of: PatternOf, hidden: &[usize]) -> Self {
        let n = capture.len();
        let count = Self::compared(n);
        // The last row of each stretch: the first has a single cell, alike in all heads.
        let rows: Vec<usize> = (1..=count).map(|index| index * n / count - 1).collect();
        let weights = shown(capture, of, &rows, hidden);
        Self { rows, hidden: hidden.to_vec(), weights }
    }

    /// Number of rows that are compared.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Cosine with another pattern of the same capture over the cells that both see; `None` where either
    /// has no weight there.
    #[must_use]
    pub fn cosine(&self, capture: &Capture, other: PatternOf) -> Option<f64> {
        let others = shown(capture, other, &self.rows, &self.hidden);
        let (mut dot, mut ours, mut theirs) = (0.0, 0.0, 0.0);
        let width = capture.len().max(1);
        for (a, b) in self.weights.chunks_exact(width).zip(others.chunks_exact(width)) {
            let (mut row_dot, mut row_ours, mut row_theirs) = (0.0_f32, 0.0_f32, 0.0_f32);
            for (&a, &b) in a.iter().zip(b) {
                // Below 0: masked or hidden in one of the two.
                let (a, b) = if a >= 0.0 && b >= 0.0 { (a, b) } else { (0.0, 0.0) };
                row_dot += a * b;
                row_ours += a * a;
                row_theirs += b * b;
            }
            dot += f64::from(row_dot);
            ours += f64::from(row_ours);
            theirs += f64::from(row_theirs);
        }
        (ours > 0.0 && theirs > 0.0).then(|| dot / (ours * theirs).sqrt())
    }
}

fn shown(capture: &Capture, of: PatternOf, rows: &[usize], hidden: &[usize]) -> Vec<f32> {
    let shaping = Shaping { hidden: hidden.to_vec(), renormalised: false };
    capture.weights(of, &shaping, rows, 0..capture.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn induction_looks_behind_the_last_earlier_occurrence() {
        let cells: Vec<_> = induction_cells(&[5, 7, 5, 5, 9, 7]).collect();
        // Token 5 at 2 occurred at 0, at 3 it occurred last at 2; token 7 at 5 occurred at 1.
        assert_eq!(cells, [(2, 1), (3, 3), (5, 2)]);
        assert_eq!(induction_cells(&[1, 2, 3]).count(), 0);
    }

    #[test]
    fn distance_and_peak_follow_from_column_sums() {
        // Rows [1], [0.5, 0.5], [0.25, 0.25, 0.5]: distances 0, 0.5, 0.75.
        let mass = [1.75, 0.75, 0.5];
        let distance = mean_distance(&mass, |_| Some(1.0)).expect("three rows");
        assert!((distance - 1.25 / 3.0).abs() < 1e-12);
        // P = 1: rows 1 and 2 put 0.5 and 0.25 on key 0.
        assert!((peak_share(&mass, 1, |_| Some(1.0)).expect("two rows") - 0.375).abs() < 1e-12);
        assert_eq!(peak_share(&mass, 3, |_| Some(1.0)), None, "no row behind the peak");
    }

    #[test]
    fn a_row_that_is_not_finite_is_left_out() {
        // Row 1 was not finite, so it is in no column sum.
        let mass = [1.25, 0.25, 0.5];
        let distance = mean_distance(&mass, |row| (row != 1).then_some(1.0)).expect("two rows");
        assert!((distance - 0.75 / 2.0).abs() < 1e-12);
    }
}
