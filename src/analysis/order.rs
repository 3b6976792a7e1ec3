//! By what heads are put in order.

use super::HeadMetrics;

/// By what heads are put in order or coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, clap::ValueEnum)]
pub enum HeadOrder {
    /// By layer, then head.
    #[default]
    Layer,
    /// Share of attention on the detected sinks.
    OnSinks,
    /// Entropy of the rows.
    Entropy,
    /// How far back a query looks.
    MeanDistance,
    /// Weight on the token before.
    PreviousToken,
    /// Weight on what followed the same token before.
    Induction,
    /// Share on the first positions.
    PeakShare,
    /// Share on the selected token.
    OnSelected,
    /// Similarity to the focused head.
    Similarity,
}

impl HeadOrder {
    /// All of them, in the order in which a menu shows them.
    pub const ALL: [Self; 9] = [
        Self::Layer,
        Self::OnSinks,
        Self::Entropy,
        Self::MeanDistance,
        Self::PreviousToken,
        Self::Induction,
        Self::PeakShare,
        Self::OnSelected,
        Self::Similarity,
    ];

    /// The name that a menu shows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Layer => "layer",
            Self::OnSinks => "share on sinks",
            Self::Entropy => "entropy",
            Self::MeanDistance => "mean distance",
            Self::PreviousToken => "previous token",
            Self::Induction => "induction",
            Self::PeakShare => "share on first 4",
            Self::OnSelected => "share on selected",
            Self::Similarity => "similar heads",
        }
    }

    /// What it measures, in a sentence.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Layer => "Layers down, heads across, with the mean of each layer and of the model",
            Self::OnSinks => "Share of the head's attention that the detected sinks receive",
            Self::Entropy => "Entropy of a row against the largest possible, mean over rows; 1 is uniform",
            Self::MeanDistance => "Tokens between query and key, weighted by attention",
            Self::PreviousToken => "Mean weight on the token before the query",
            Self::Induction => "Mean weight on the token that followed the query's last earlier occurrence",
            Self::PeakShare => "Share of attention on the first 4 positions",
            Self::OnSelected => "Share of the head's attention that the selected token receives",
            Self::Similarity => "Cosine of the pattern with the focused head's",
        }
    }

    /// Unit behind a value.
    #[must_use]
    pub fn unit(self) -> &'static str {
        if self == Self::MeanDistance { " tokens" } else { "" }
    }

    /// The value among a head's metrics, where it is one of those.
    #[must_use]
    pub fn of(self, metrics: &HeadMetrics) -> Option<f64> {
        match self {
            Self::Entropy => metrics.entropy,
            Self::MeanDistance => metrics.mean_distance,
            Self::PreviousToken => metrics.previous_token,
            Self::Induction => metrics.induction,
            Self::PeakShare => metrics.peak_share,
            Self::Layer | Self::OnSinks | Self::OnSelected | Self::Similarity => None,
        }
    }
}

/// Numbers in order of their values, the largest first; those without a value last, and those of equal value as
/// they came.
#[must_use]
pub fn ranked(values: &[Option<f64>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let key = |index: &usize| values[*index].unwrap_or(f64::NEG_INFINITY);
    order.sort_by(|a, b| key(b).total_cmp(&key(a)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_equal_ones_stay_in_order() {
        let values = [Some(0.1), None, Some(0.7), Some(0.1), Some(f64::NEG_INFINITY)];
        assert_eq!(ranked(&values), [2, 0, 3, 1, 4]);
    }
}
