//! Colours of one kind of value, kept until their choice changes.

use crate::color::{ColorMap, ColorScale, ColorTable, DivergingMap, SpecialColors};
use crate::widgets::cell_colors::CellColors;

/// What colours follow from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Look {
    pub(super) scale: ColorScale,
    pub(super) map: Map,
    pub(super) dark: bool,
}

/// A map for weights or for differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Map {
    Weights(ColorMap),
    Differences(DivergingMap),
}

/// A look made into tables.
#[derive(Debug)]
pub(super) struct Shades {
    look: Look,
    pub(super) table: ColorTable,
    pub(super) colors: CellColors,
}

impl Shades {
    pub(super) fn new(look: Look) -> Self {
        let table = match look.map {
            Map::Weights(map) => ColorTable::new(look.scale, map, SpecialColors::for_dark(look.dark)),
            Map::Differences(map) => {
                ColorTable::diverging(look.scale, map, SpecialColors::for_differences(look.dark))
            }
        };
        let colors = CellColors::new(&table);
        Self { look, table, colors }
    }

    /// Changes the look; whether it was another.
    pub(super) fn set(&mut self, look: Look) -> bool {
        let changed = look != self.look;
        if changed {
            *self = Self::new(look);
        }
        changed
    }
}

/// Cells that a percentile looks at, at most.
const SAMPLED: usize = 1 << 15;

/// The value below which `percent` of a tile's magnitudes lie, zeros and cells without a value aside.
pub(super) fn percentile(values: &[f32], percent: f32) -> Option<f32> {
    let step = values.len().div_ceil(SAMPLED).max(1);
    if percent >= 100.0 {
        let shown = values.iter().copied().filter(|value| *value >= -1.0 && *value != 0.0);
        return shown.map(f32::abs).reduce(f32::max);
    }
    let mut shown: Vec<f32> = values
        .iter()
        .step_by(step)
        .copied()
        .filter(|value| *value >= -1.0 && *value != 0.0)
        .map(f32::abs)
        .collect();
    let last = shown.len().checked_sub(1)?;
    let at = ((percent / 100.0) * last as f32).round() as usize;
    let (_, value, _) = shown.select_nth_unstable_by(at.min(last), f32::total_cmp);
    Some(*value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{MASKED, NOT_AVAILABLE};

    #[test]
    fn a_percentile_counts_weights_only() {
        let mut values: Vec<f32> = (1..=100).map(|value| value as f32 / 100.0).collect();
        values.extend([MASKED, NOT_AVAILABLE, f32::NAN, 0.0, MASKED]);
        assert_eq!(percentile(&values, 100.0), Some(1.0));
        assert_eq!(percentile(&values, 50.0), Some(0.51));
        assert_eq!(percentile(&[MASKED, 0.0, f32::NAN], 99.0), None);
    }

    #[test]
    fn differences_count_by_magnitude() {
        assert_eq!(percentile(&[-0.5, 0.25, NOT_AVAILABLE], 100.0), Some(0.5));
    }
}
