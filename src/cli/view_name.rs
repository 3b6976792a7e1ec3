//! The views by name, and which formats can hold them.

use crate::export::FileFormat;
use clap::ValueEnum;

/// The views by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ViewName {
    /// Small patterns of all heads
    Grid,
    /// One head's pattern, with --layer and --head
    Head,
    /// Mean over the heads of --layer, or of the whole model without it
    Mean,
    /// One pattern minus another, with --minus; of two runs with --others
    Difference,
    /// Tokens in two columns with weighted lines, with --layer and --head
    Lines,
    /// Attention-mass profile with the detector's line
    Profile,
    /// Tokens coloured by attention mass
    Strip,
    /// Attention on one token in every head
    TokenHeads,
    /// The profile of every key in every layer
    Layers,
    /// Mass of every head on the first keys, and the rest
    Peak,
    /// Norms of one token against the median token's, by layer
    Norms,
    /// Which sinks stay in the runs of --others, and which move
    Stability,
    /// Perplexity under smaller caches, with --policy and --budget, or --cases
    Eviction,
}

impl ViewName {
    /// All of them, in the order in which a menu shows them.
    pub const ALL: [Self; 13] = [
        Self::Head,
        Self::Grid,
        Self::Mean,
        Self::Difference,
        Self::Lines,
        Self::Profile,
        Self::Strip,
        Self::TokenHeads,
        Self::Layers,
        Self::Peak,
        Self::Norms,
        Self::Stability,
        Self::Eviction,
    ];

    /// Whether a format can hold what is behind the view.
    #[must_use]
    pub fn takes(self, format: FileFormat) -> bool {
        match format {
            FileFormat::Png | FileFormat::Svg | FileFormat::Csv | FileFormat::Json => true,
            FileFormat::Safetensors | FileFormat::Npy => {
                matches!(self, Self::Grid | Self::Head | Self::Mean | Self::Difference)
            }
        }
    }

    /// Whether it shows a part of a matrix where one is chosen.
    #[must_use]
    pub fn has_part(self) -> bool {
        matches!(self, Self::Head | Self::Mean | Self::Difference)
    }
}
