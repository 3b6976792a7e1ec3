//! What becomes of the columns of detected sinks.

use super::Shaping;

/// Whether the columns of detected sinks are shown, and what of the rest where they are not.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
pub enum Hiding {
    /// They are shown.
    #[default]
    Shown,
    /// They are hatched; the other weights are shown as they are.
    AsTheyAre,
    /// They are hatched; the colours span the other weights.
    Rescaled,
    /// They are hatched; each row's other weights are divided by their sum.
    Renormalised,
}

impl Hiding {
    /// The ways to hide, in the order in which a menu shows them.
    pub const WAYS: [Self; 3] = [Self::AsTheyAre, Self::Rescaled, Self::Renormalised];

    /// The name that a menu shows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shown => "shown",
            Self::AsTheyAre => "rest as it is",
            Self::Rescaled => "rest rescaled",
            Self::Renormalised => "rest renormalised",
        }
    }

    /// What it does, in a sentence.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Shown => "Sinks are drawn like all keys",
            Self::AsTheyAre => "Sinks are hatched, other weights keep their colours",
            Self::Rescaled => "Sinks are hatched, the colours span the other weights",
            Self::Renormalised => {
                "Sinks are hatched, each row's other weights sum to 1; emptied rows are n/a"
            }
        }
    }

    /// What it does to a pattern with these sinks, ascending.
    #[must_use]
    pub fn shaping(self, sinks: &[usize]) -> Shaping {
        let hidden = if self == Self::Shown { Vec::new() } else { sinks.to_vec() };
        Shaping { renormalised: self == Self::Renormalised && !hidden.is_empty(), hidden }
    }
}
