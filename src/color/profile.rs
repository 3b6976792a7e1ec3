//! Where the values of a profile lie on a colour map.

use crate::analysis::ProfileKind;

/// The ends of a profile's colours, on a logarithmic scale: the same for every text, so that maps of two
/// runs can be compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileScale {
    kind: ProfileKind,
    /// The value at the lower end of the map.
    pub low: f64,
    /// The value at its upper end.
    pub high: f64,
}

impl ProfileScale {
    /// The scale of a profile over `n` tokens.
    #[must_use]
    pub fn of(kind: ProfileKind, n: usize) -> Self {
        let (low, high) = match kind {
            ProfileKind::FarLift | ProfileKind::Lift => (0.1, 100.0),
            ProfileKind::Share => (0.1 / n.max(1) as f64, 1.0),
            ProfileKind::Alpha => (1e-4, 1.0),
        };
        Self { kind, low, high }
    }

    /// The range in words.
    #[must_use]
    pub fn range(&self) -> &'static str {
        match self.kind {
            ProfileKind::FarLift | ProfileKind::Lift => "0.1–100 ×",
            ProfileKind::Share => "to 100%",
            ProfileKind::Alpha => "1e−4–1",
        }
    }

    /// Where a value lies between the ends; never exactly 0, which has its own colour.
    #[must_use]
    pub fn position(&self, value: f64) -> f64 {
        ((value.max(self.low) / self.low).ln() / (self.high / self.low).ln()).clamp(1e-6, 1.0)
    }
}
