//! The log-MAD detector: keys whose profile stands out from the median on a logarithmic scale.
//!
//! Method: B. Iglewicz and D. Hoaglin, "How to Detect and Handle Outliers" (1993), on logarithms.

use super::MIN_USABLE_KEYS;

/// MAD of a normal distribution in units of its standard deviation.
const NORMAL_MAD: f64 = 0.6745;
/// Standard deviation of a normal distribution in units of its mean absolute deviation.
const NORMAL_MEAN_AD: f64 = 1.2533;
/// Smallest MAD (in log units) that the detector believes: a nearly constant profile has no outliers.
const MAD_FLOOR: f64 = 0.05;

/// The log-MAD detector's result.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    /// Median of the logarithms; 0 without usable keys.
    pub median_ln: f64,
    /// Median absolute deviation of the logarithms.
    pub mad_ln: f64,
    /// Spread σ after fallback and floor.
    pub sigma_ln: f64,
    /// The threshold used.
    pub threshold: f64,
    /// The threshold line in profile units: `exp(median + threshold · σ)`. It means nothing where
    /// [`Detection::tested`] is false.
    pub line: f64,
    /// Visible keys whose value underflowed and was floored.
    pub floored: usize,
    /// Keys that the profile has a value for.
    pub usable: usize,
    /// z of each key; `None` where the profile is n/a, and everywhere when not tested.
    pub z: Vec<Option<f64>>,
    /// Flagged keys, ascending. Empty when not tested.
    pub flagged: Vec<usize>,
    /// Whether there were enough usable keys to test.
    pub tested: bool,
}

impl Detection {
    /// Runs the detector over a profile; `None` marks keys that no query could see (n/a).
    ///
    /// A value that is not finite counts as n/a: NaN is kept out of every sum.
    #[must_use]
    pub fn of(profile: &[Option<f64>], threshold: f64) -> Self {
        let (logs, floored) = logarithms(profile);
        let known: Vec<f64> = logs.iter().copied().flatten().collect();
        let spread = Spread::of(&known);
        let tested = known.len() >= MIN_USABLE_KEYS;
        let z: Vec<Option<f64>> =
            logs.iter().map(|log| log.filter(|_| tested).map(|log| spread.z(log))).collect();
        let flagged = (0..z.len()).filter(|&key| z[key].is_some_and(|z| z > threshold)).collect();
        Self {
            median_ln: spread.median,
            mad_ln: spread.mad,
            sigma_ln: spread.sigma,
            threshold,
            line: (spread.median + threshold * spread.sigma).exp(),
            floored,
            usable: known.len(),
            z,
            flagged,
            tested,
        }
    }

    /// The threshold at which the line would lie at a profile value: what dragging the line means.
    #[must_use]
    pub fn threshold_at(&self, line: f64) -> f64 {
        (line.ln() - self.median_ln) / self.sigma_ln
    }
}

/// Natural logarithms of a profile, zeros lifted to half of the smallest positive value, and how many were.
fn logarithms(profile: &[Option<f64>]) -> (Vec<Option<f64>>, usize) {
    let usable = |value: Option<f64>| value.filter(|value| value.is_finite());
    let smallest = profile.iter().copied().filter_map(usable).filter(|&value| value > 0.0).reduce(f64::min);
    let Some(smallest) = smallest else {
        return (vec![None; profile.len()], 0);
    };
    let floor = (smallest / 2.0).max(f64::MIN_POSITIVE);
    let mut floored = 0;
    let logs = profile.iter().map(|&value| {
        let value = usable(value)?;
        floored += usize::from(value <= 0.0);
        Some(value.max(floor).ln())
    });
    (logs.collect(), floored)
}

struct Spread {
    median: f64,
    mad: f64,
    sigma: f64,
}

impl Spread {
    fn of(logs: &[f64]) -> Self {
        let median = median(logs.to_vec());
        let deviations: Vec<f64> = logs.iter().map(|log| (log - median).abs()).collect();
        let mean_ad = mean(&deviations);
        let mad = self::median(deviations);
        let sigma = if mad > 0.0 { mad / NORMAL_MAD } else { NORMAL_MEAN_AD * mean_ad };
        Self { median, mad, sigma: sigma.max(MAD_FLOOR / NORMAL_MAD) }
    }

    fn z(&self, log: f64) -> f64 {
        (log - self.median) / self.sigma
    }
}

/// The median; the mean of the middle two for an even count, 0 for none.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    let half = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    let is_odd = values.len() % 2 == 1;
    let (lower, &mut middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if is_odd { middle } else { f64::midpoint(lower.iter().copied().fold(f64::MIN, f64::max), middle) }
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}
