//! The two components of a head's mass: the sharp peak on the first P positions, and the long tail.

use super::mass::MassTable;
use crate::capture::Capture;

/// Keys that the slider lets count as the peak, at most.
pub const MOST_PEAK_KEYS: usize = 64;

/// Bins of a histogram of peak shares.
pub const PEAK_BINS: usize = 20;

/// How many of some peak shares, each 0…1, fall into each of [`PEAK_BINS`] equal bins.
#[must_use]
pub fn peak_bins(shares: &[f64]) -> [usize; PEAK_BINS] {
    let mut bins = [0; PEAK_BINS];
    for share in shares {
        bins[((share * PEAK_BINS as f64) as usize).min(PEAK_BINS - 1)] += 1;
    }
    bins
}

/// The mean row of one head, split in three. They sum to 1 up to rounding.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct PeakSplit {
    /// Mean over rows `t ≥ P` of `Σ_{j < P} A[t, j]`.
    pub peak: f64,
    /// What those rows give to later keys.
    pub tail: f64,
    /// What they give to the model's virtual key; 0 where it has none.
    pub virtual_key: f64,
}

/// Everything from which the split of each head follows for any P, in time that does not depend on
/// the number of tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct PeakTable {
    n: usize,
    heads: usize,
    rows: Vec<HeadRows>,
    most: usize,
}

/// One head: for each `P` in `0..=most`, sums over the rows `t ≥ P` that are finite.
#[derive(Debug, Clone, PartialEq)]
struct HeadRows {
    count: Vec<f64>,
    virtual_mass: Vec<f64>,
    /// `Σ_{t ≥ P} Σ_{j < P} A[t, j]`.
    peak_mass: Vec<f64>,
}

impl PeakTable {
    /// Gathers the sums of every head.
    #[must_use]
    pub fn of(capture: &Capture) -> Self {
        let (n, heads) = (capture.len(), capture.model.spec.heads);
        let most = MOST_PEAK_KEYS.min(n);
        let table = MassTable::of(capture);
        let of_head = |layer: usize, head: usize| {
            // What a row gives to the virtual key; `None` where it is not finite.
            let virtual_weight = |row: usize| {
                let is_finite = capture.layers[layer].lse[head * n + row].is_finite();
                is_finite.then(|| capture.virtual_weight(layer, head, row))
            };
            HeadRows::of(table.mass(layer, head), virtual_weight, most)
        };
        let rows = (0..table.layers.len())
            .flat_map(|layer| (0..heads).map(move |head| (layer, head)))
            .map(|(l, h)| of_head(l, h));
        Self { n, heads, rows: rows.collect(), most }
    }

    /// The split of one head with P keys in the peak; `None` where no row lies behind them.
    #[must_use]
    pub fn split(&self, layer: usize, head: usize, peak_keys: usize) -> Option<PeakSplit> {
        let rows = self.rows.get(layer * self.heads + head)?;
        let (count, peak_keys) = (*rows.count.get(peak_keys)?, peak_keys.min(self.most));
        (peak_keys < self.n && count > 0.0).then(|| {
            let peak = (rows.peak_mass[peak_keys] / count).clamp(0.0, 1.0);
            let virtual_key = rows.virtual_mass[peak_keys] / count;
            PeakSplit { peak, tail: (1.0 - peak - virtual_key).max(0.0), virtual_key }
        })
    }

    /// Mean of the splits of some heads, given as `(layer, head)`; `None` where none has one.
    #[must_use]
    pub fn mean(&self, heads: impl Iterator<Item = (usize, usize)>, peak_keys: usize) -> Option<PeakSplit> {
        let mut sum = PeakSplit { peak: 0.0, tail: 0.0, virtual_key: 0.0 };
        let mut count = 0.0;
        for split in heads.filter_map(|(layer, head)| self.split(layer, head, peak_keys)) {
            count += 1.0;
            sum.peak += split.peak;
            sum.tail += split.tail;
            sum.virtual_key += split.virtual_key;
        }
        (count > 0.0).then(|| PeakSplit {
            peak: sum.peak / count,
            tail: sum.tail / count,
            virtual_key: sum.virtual_key / count,
        })
    }
}

impl HeadRows {
    fn of(mass: &[f32], virtual_weight: impl Fn(usize) -> Option<f64>, most: usize) -> Self {
        let (mut count, mut virtual_mass) = (vec![0.0; most + 1], vec![0.0; most + 1]);
        for row in 0..mass.len() {
            if let Some(weight) = virtual_weight(row) {
                let until = row.min(most);
                count[until] += 1.0;
                virtual_mass[until] += weight;
            }
        }
        // From "the first P that no longer has the row" to "all P that still have it".
        for peak_keys in (0..most).rev() {
            count[peak_keys] += count[peak_keys + 1];
            virtual_mass[peak_keys] += virtual_mass[peak_keys + 1];
        }
        // The rows before P give all that they have to the first P keys.
        let mut on_first_keys = 0.0;
        let peak_mass = (0..=most)
            .map(|peak_keys| {
                let (rows, taken) = (count[0] - count[peak_keys], virtual_mass[0] - virtual_mass[peak_keys]);
                let within = rows - taken;
                let peak = on_first_keys - within;
                on_first_keys += mass.get(peak_keys).copied().map_or(0.0, f64::from);
                f64::max(peak, 0.0)
            })
            .collect();
        Self { count, virtual_mass, peak_mass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(mass: &[f32], virtual_weight: impl Fn(usize) -> Option<f64>) -> PeakTable {
        let most = MOST_PEAK_KEYS.min(mass.len());
        PeakTable { n: mass.len(), heads: 1, rows: vec![HeadRows::of(mass, virtual_weight, most)], most }
    }

    #[test]
    fn the_split_of_three_rows_by_hand() {
        // Rows [1], [0.5, 0.5], [0.25, 0.25, 0.5].
        let table = table(&[1.75, 0.75, 0.5], |_| Some(0.0));
        let split = table.split(0, 0, 1).expect("two rows behind the peak");
        assert!((split.peak - 0.375).abs() < 1e-12 && (split.tail - 0.625).abs() < 1e-12);
        let split = table.split(0, 0, 2).expect("one row behind the peak");
        assert!((split.peak - 0.5).abs() < 1e-12 && (split.tail - 0.5).abs() < 1e-12);
        assert_eq!(table.split(0, 0, 3), None, "no row behind the peak");
        assert_eq!(table.split(0, 0, 0).expect("all rows").peak, 0.0);
        assert_eq!(table.split(1, 0, 1), None, "no such layer");
    }

    #[test]
    fn the_virtual_key_has_a_share_of_its_own() {
        // Rows [0.5], [0.25, 0.25]: half of each goes to the virtual key.
        let split = table(&[0.75, 0.25], |_| Some(0.5)).split(0, 0, 1).expect("one row behind the peak");
        assert!((split.peak - 0.25).abs() < 1e-12, "{split:?}");
        assert!((split.tail - 0.25).abs() < 1e-12 && (split.virtual_key - 0.5).abs() < 1e-12, "{split:?}");
    }

    #[test]
    fn a_row_that_is_not_finite_is_left_out() {
        // Of three rows the second is not finite, and in no column sum.
        let table = table(&[1.25, 0.25, 0.5], |row| (row != 1).then_some(0.0));
        assert!((table.split(0, 0, 1).expect("a row").peak - 0.25).abs() < 1e-12);
    }

    #[test]
    fn every_head_falls_into_one_bin() {
        let bins = peak_bins(&[0.0, 0.049, 0.05, 0.5, 1.0]);
        assert_eq!((bins[0], bins[1], bins[10], bins[19]), (2, 1, 1, 1));
        assert_eq!(bins.iter().sum::<usize>(), 5);
    }
}
