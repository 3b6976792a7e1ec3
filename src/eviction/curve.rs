//! From NLLs to the curves and sentences that are shown.

/// The NLL of a run beside the full cache's, over the same rows. Row `i` scores token `i + 1`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curve<'a> {
    /// The run's NLL in nats.
    pub nll_nats: &'a [f64],
    /// The full cache's.
    pub full_nll_nats: &'a [f64],
    /// First row that the cache's budget can change and that is scored honestly.
    pub first_row: usize,
}

impl Curve<'_> {
    /// Perplexity of the run over the rows from the first that can differ; `None` when there is none.
    #[must_use]
    pub fn perplexity_after_fill(&self) -> Option<f64> {
        perplexity(self.nll_nats.get(self.first_row..)?)
    }

    /// The full cache's perplexity over the same rows.
    #[must_use]
    pub fn full_perplexity_after_fill(&self) -> Option<f64> {
        perplexity(self.full_nll_nats.get(self.first_row..self.nll_nats.len())?)
    }

    /// Mean of the run's NLL less the full cache's over those rows, in nats: the fair comparison.
    #[must_use]
    pub fn mean_delta_nll_nats(&self) -> Option<f64> {
        let ours = self.nll_nats.get(self.first_row..).filter(|rows| !rows.is_empty())?;
        let full = self.full_nll_nats.get(self.first_row..)?;
        let sum: f64 = ours.iter().zip(full).map(|(a, b)| a - b).sum();
        Some(sum / ours.len() as f64)
    }
}

/// `exp(mean NLL)`; `None` for no row. Perplexities are never averaged.
#[must_use]
pub fn perplexity(nll_nats: &[f64]) -> Option<f64> {
    let sum: f64 = nll_nats.iter().sum();
    (!nll_nats.is_empty()).then(|| (sum / nll_nats.len() as f64).exp())
}

/// For each row the perplexity over the last `width` rows, itself included (fewer at the start).
#[must_use]
pub fn rolling_perplexity(nll_nats: &[f64], width: usize) -> Vec<f64> {
    let width = width.max(1);
    let mut sum = 0.0;
    let rows = nll_nats.iter().enumerate().map(|(row, &nll)| {
        sum += nll;
        if row >= width {
            sum -= nll_nats[row - width];
        }
        (sum / width.min(row + 1) as f64).exp()
    });
    rows.collect()
}

/// For each value the mean over the last `width`, itself included (fewer at the start).
#[must_use]
pub fn rolling_mean(values: &[f64], width: usize) -> Vec<f64> {
    let width = width.max(1);
    let mut sum = 0.0;
    let means = values.iter().enumerate().map(|(i, value)| {
        sum += value;
        if i >= width {
            sum -= values[i - width];
        }
        sum / width.min(i + 1) as f64
    });
    means.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_rolls() {
        assert_eq!(rolling_mean(&[1.0, 3.0, 5.0, 1.0], 2), [1.0, 2.0, 4.0, 3.0]);
        assert_eq!(rolling_mean(&[2.0, 4.0], 0), [2.0, 4.0], "a width of 0 means 1");
    }

    #[test]
    fn rolling_perplexity_is_the_exponential_of_the_mean() {
        let nll = [1.0, 2.0, 6.0, 0.0];
        let rolled = rolling_perplexity(&nll, 2);
        for (ours, mean) in rolled.iter().zip([1.0_f64, 1.5, 4.0, 3.0]) {
            assert!((ours - mean.exp()).abs() < 1e-9 * mean.exp());
        }
        let curve = Curve { nll_nats: &nll, full_nll_nats: &[1.0, 2.0, 3.0, 1.0], first_row: 2 };
        assert!((curve.mean_delta_nll_nats().expect("rows") - 1.0).abs() < 1e-9);
        assert!((curve.perplexity_after_fill().expect("rows") - 3.0_f64.exp()).abs() < 1e-9);
        assert!((curve.full_perplexity_after_fill().expect("rows") - 2.0_f64.exp()).abs() < 1e-9);
        assert_eq!(Curve { first_row: 4, ..curve }.mean_delta_nll_nats(), None);
        assert_eq!(Curve { first_row: 9, ..curve }.perplexity_after_fill(), None);
    }
}
