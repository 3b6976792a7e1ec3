//! From values to pixels: a lookup fast enough for a million cells a frame, and max-pooling to a wanted size.

use crate::capture::MASKED;
use crate::color::ColorTable;
use egui::{Color32, ColorImage};
use std::ops::Range;

/// A [`ColorTable`] spread over the upper 16 bits of an `f32` (its sign, exponent and 7 bits of
/// mantissa): finer than the map's 256 steps on every scale, and a cell costs one load.
#[derive(Debug, Clone)]
pub struct CellColors(Vec<Color32>);

impl CellColors {
    /// Spreads a table.
    #[must_use]
    pub fn new(table: &ColorTable) -> Self {
        let color = |rgb: [u8; 3]| Color32::from_rgb(rgb[0], rgb[1], rgb[2]);
        let nan = color(table.rgb(f32::NAN));
        let of_upper_bits = |upper: u16| {
            let value = f32::from_bits(u32::from(upper) << 16);
            // What is not finite is shown as not a number.
            if value.is_finite() { color(table.rgb(value)) } else { nan }
        };
        Self((0..=u16::MAX).map(of_upper_bits).collect())
    }

    /// The colour of a value.
    #[must_use]
    pub fn of(&self, value: f32) -> Color32 {
        let bits = value.to_bits();
        let upper = (bits >> 16) as usize;
        // A positive value too small for the upper bits is below every floor, but it is not zero.
        let index = if upper == 0 && bits != 0 { 1 } else { upper };
        self.0.get(index).copied().unwrap_or_default()
    }

    /// Cells `[height, width]` as an image, one pixel each.
    #[must_use]
    pub fn image(&self, values: &[f32], width: usize, height: usize) -> ColorImage {
        let mut pixels: Vec<Color32> =
            values.iter().take(width * height).map(|&value| self.of(value)).collect();
        pixels.resize(width * height, Color32::TRANSPARENT);
        ColorImage::new([width, height], pixels)
    }
}

/// Cells `[size.1, size.0]` made of cells `[from.1, from.0]` (both width, height): each is the heaviest
/// of those that it overlaps, so that none is lost; a NaN wins over everything, a negative value over nothing.
#[must_use]
pub fn max_pooled(values: &[f32], from: (usize, usize), size: (usize, usize)) -> Vec<f32> {
    let ((from_width, from_height), (width, height)) = (from, size);
    if values.len() < from_width * from_height || from_width * from_height == 0 {
        return vec![MASKED; width * height];
    }
    let mut pooled = Vec::with_capacity(width * height);
    let columns: Vec<Range<usize>> = (0..width).map(|x| overlapped(x, width, from_width)).collect();
    let mut line = vec![MASKED; from_width];
    for y in 0..height {
        line.fill(MASKED);
        for row in overlapped(y, height, from_height) {
            let source = &values[row * from_width..(row + 1) * from_width];
            line.iter_mut().zip(source).for_each(|(kept, &value)| *kept = heavier(*kept, value));
        }
        pooled.extend(columns.iter().map(|range| line[range.clone()].iter().copied().fold(MASKED, heavier)));
    }
    pooled
}

/// Cells of a side of `from` that cell `index` of a side of `to` overlaps.
fn overlapped(index: usize, to: usize, from: usize) -> Range<usize> {
    let first = index * from / to;
    if from <= to { first..first + 1 } else { first..((index + 1) * from).div_ceil(to) }
}

fn heavier(a: f32, b: f32) -> f32 {
    if a.is_nan() || b <= a { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::{ColorMap, ColorScale, ScaleKind, SpecialColors};
    use proptest::prelude::*;

    fn table(kind: ScaleKind) -> ColorTable {
        ColorTable::new(ColorScale::of(kind), ColorMap::Magma, SpecialColors::DARK)
    }

    #[test]
    fn the_lookup_agrees_with_the_table() {
        for kind in ScaleKind::ALL {
            let (exact, quick) = (table(kind), CellColors::new(&table(kind)));
            for step in 0..=1000_u16 {
                let value = f32::from(step) / 1000.0;
                let [r, g, b] = exact.rgb(value);
                let color = quick.of(value);
                let off = r.abs_diff(color.r()).max(g.abs_diff(color.g())).max(b.abs_diff(color.b()));
                // A step of the map is at most 7 levels of a channel; the lookup may be one step off.
                assert!(off <= 7, "{kind:?} {value}: {color:?} for {:?}", (r, g, b));
            }
        }
    }

    #[test]
    fn what_is_no_weight_looks_like_none() {
        let quick = CellColors::new(&table(ScaleKind::Log));
        let special = SpecialColors::DARK;
        let color = |[r, g, b]: [u8; 3]| Color32::from_rgb(r, g, b);
        assert_eq!(quick.of(MASKED), color(special.masked));
        assert_eq!(quick.of(0.0), color(special.zero));
        assert_eq!(quick.of(f32::NAN), color(special.nan));
        assert_eq!(quick.of(-f32::NAN), color(special.nan));
        assert_eq!(quick.of(1e-44), color(table(ScaleKind::Log).rgb(1e-44)), "tiny, yet not zero");
    }

    #[test]
    fn a_lone_cell_and_a_column_survive_shrinking() {
        let (side, mut values) = (155, vec![0.001; 155 * 155]);
        values[97 * side + 41] = 0.9;
        (0..side).for_each(|row| values[row * side + 3] = 0.5);
        let pooled = max_pooled(&values, (side, side), (17, 21));
        assert_eq!(pooled.iter().filter(|&&v| v == 0.9).count(), 1);
        assert_eq!(pooled.iter().filter(|&&v| v == 0.5).count(), 21, "one of each row");
    }

    #[test]
    fn growing_repeats_cells() {
        assert_eq!(max_pooled(&[0.1, 0.2], (2, 1), (4, 2)), [0.1, 0.1, 0.2, 0.2, 0.1, 0.1, 0.2, 0.2]);
    }

    #[test]
    fn masked_gives_way_and_nan_does_not() {
        assert_eq!(max_pooled(&[MASKED, 0.0], (2, 1), (1, 1)), [0.0]);
        assert_eq!(max_pooled(&[MASKED, MASKED], (2, 1), (1, 1)), [MASKED]);
        assert!(max_pooled(&[f32::NAN, 0.7], (2, 1), (1, 1))[0].is_nan());
        assert!(max_pooled(&[0.7, f32::NAN], (2, 1), (1, 1))[0].is_nan());
    }

    #[test]
    fn bad_sizes_give_an_empty_picture() {
        assert_eq!(max_pooled(&[], (3, 3), (1, 1)), [MASKED]);
        assert_eq!(CellColors::new(&table(ScaleKind::Log)).image(&[0.5], 2, 2).pixels.len(), 4);
    }

    proptest! {
        #[test]
        fn pooling_keeps_the_maximum(
            width in 1_usize..80, height in 1_usize..80, to in (1_usize..40, 1_usize..40), heavy in 0_usize..6400,
        ) {
            let mut values = vec![0.25_f32; width * height];
            let heavy = heavy % values.len();
            values[heavy] = 0.75;
            let pooled = max_pooled(&values, (width, height), to);
            prop_assert_eq!(pooled.len(), to.0 * to.1);
            prop_assert!(pooled.contains(&0.75));
            prop_assert!(pooled.iter().all(|&v| v == 0.25 || v == 0.75));
        }
    }
}
