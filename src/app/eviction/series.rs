//! From NLLs to the points that are drawn. Row `i` scores token `i + 1` and is drawn there.

use crate::eviction::{rolling_mean, rolling_perplexity};
use egui_plot::PlotPoint;

/// The curves of one run.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// Decimal logarithm of the rolling perplexity, from the row before the first that can differ.
    pub rolling_log10: Vec<PlotPoint>,
    /// NLL less the full cache's in nats, token by token.
    pub delta_nats: Vec<PlotPoint>,
    /// Its mean over the rolling window.
    pub mean_delta_nats: Vec<PlotPoint>,
}

impl Series {
    /// The curves of a run whose rows from `first_row` on can differ from the full cache's.
    #[must_use]
    pub fn of(nll_nats: &[f64], full_nll_nats: &[f64], first_row: usize, width_rows: usize) -> Self {
        let point = |row: usize, y: f64| PlotPoint::new((row + 1) as f64, y);
        let rolled = rolling_perplexity(nll_nats, width_rows);
        let rolling_log10 = rolled
            .iter()
            .enumerate()
            .skip(first_row.saturating_sub(1))
            .map(|(row, perplexity)| point(row, perplexity.log10()))
            .collect();
        let deltas: Vec<f64> = nll_nats.iter().zip(full_nll_nats).map(|(ours, full)| ours - full).collect();
        let delta_nats =
            deltas.iter().enumerate().skip(first_row).map(|(row, delta)| point(row, *delta)).collect();
        // Rows that can't differ would only dilute the mean.
        let mean_delta_nats = rolling_mean(deltas.get(first_row..).unwrap_or_default(), width_rows)
            .into_iter()
            .enumerate()
            .map(|(row, mean)| point(first_row + row, mean))
            .collect();
        Self { rolling_log10, delta_nats, mean_delta_nats }
    }

    /// The rolling perplexity at a token.
    #[must_use]
    pub fn perplexity_at(&self, token: usize) -> Option<f64> {
        at(&self.rolling_log10, token).map(|log| 10_f64.powf(log))
    }

    /// ΔNLL at a token, in nats.
    #[must_use]
    pub fn delta_at(&self, token: usize) -> Option<f64> {
        at(&self.delta_nats, token)
    }
}

fn at(points: &[PlotPoint], token: usize) -> Option<f64> {
    let first = points.first()?.x as usize;
    points.get(token.checked_sub(first)?).map(|point| point.y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_drawn_at_the_token_that_it_scores() {
        let full = [1.0, 1.0, 1.0, 1.0];
        let series = Series::of(&[1.0, 1.0, 2.0, 3.0], &full, 2, 1);
        assert_eq!(
            series.delta_nats.iter().map(|p| (p.x, p.y)).collect::<Vec<_>>(),
            [(3.0, 1.0), (4.0, 2.0)]
        );
        assert_eq!(series.delta_at(3), Some(1.0));
        assert_eq!((series.delta_at(2), series.delta_at(5)), (None, None));
        let first = series.rolling_log10.first().map(|point| point.x);
        assert_eq!(first, Some(2.0), "the curve leaves the full cache's from their last common row");
        assert!((series.perplexity_at(4).expect("a row") - 3_f64.exp()).abs() < 1e-9);
    }
}
