//! Colour for attention weights: a scale, a perceptual map and the colours of what has no value.
//!
//! The window and the exported images share this module, so that a weight looks the same in both.

mod profile;
mod sets;

pub use profile::ProfileScale;
pub use sets::set_color;

use crate::capture::{MASKED, NOT_AVAILABLE};
use colorgrad::Gradient as _;

/// How a weight is placed on the colour map.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum ScaleKind {
    /// By its logarithm, from the floor up: on a linear scale a real pattern is black.
    #[default]
    Log,
    /// By its square root.
    Sqrt,
    /// As it is.
    Linear,
}

impl ScaleKind {
    /// All of them, in the order in which a menu shows them.
    pub const ALL: [Self; 3] = [Self::Log, Self::Sqrt, Self::Linear];

    /// The name that a menu and a colour bar show.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Sqrt => "sqrt",
            Self::Linear => "linear",
        }
    }
}

/// A range of weights and how they spread over the colour map.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ColorScale {
    /// How weights are placed.
    pub kind: ScaleKind,
    /// Smallest weight that a logarithmic scale tells apart; positive.
    pub floor: f32,
    /// The weight at the lower end of the other kinds; 0 unless chosen.
    #[serde(default)]
    pub low: f32,
    /// The weight at the map's upper end; above the floor.
    pub max: f32,
}

impl Default for ColorScale {
    fn default() -> Self {
        Self { kind: ScaleKind::Log, floor: Self::DEFAULT_FLOOR, low: 0.0, max: 1.0 }
    }
}

impl ColorScale {
    /// Floor of the default scale.
    pub const DEFAULT_FLOOR: f32 = 1e-4;
    /// The smallest end that a range can be given.
    pub const LEAST: f32 = 1e-9;

    /// A scale of a kind over weights from 0 to 1, with the default floor.
    #[must_use]
    pub fn of(kind: ScaleKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// The smallest weight that is told apart: the floor on a logarithmic scale, else the lower end.
    #[must_use]
    pub fn min(&self) -> f32 {
        if self.kind == ScaleKind::Log { self.floor } else { self.low }
    }

    /// The same kind of scale over another range, brought into order: positive where it must be, and
    /// never empty.
    #[must_use]
    pub fn over(self, low: f32, high: f32) -> Self {
        let max = if high.is_finite() { high.clamp(Self::LEAST * 2.0, 1.0) } else { 1.0 };
        let most = max * 0.99;
        match self.kind {
            ScaleKind::Log => Self { floor: low.clamp(Self::LEAST, most), max, ..self },
            _ => Self { low: low.clamp(0.0, most), max, ..self },
        }
    }

    /// Where a weight lies on the colour map, 0…1; weights outside the range go to its ends.
    #[must_use]
    pub fn position(&self, weight: f32) -> f32 {
        let position = match self.kind {
            ScaleKind::Log => (weight.max(self.floor) / self.floor).ln() / (self.max / self.floor).ln(),
            ScaleKind::Sqrt => ((weight - self.low).max(0.0) / (self.max - self.low)).sqrt(),
            ScaleKind::Linear => (weight - self.low) / (self.max - self.low),
        };
        // A degenerate range (max at the floor) divides by zero; its one value is drawn at the lower end.
        if position.is_finite() { position.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The weight at a position of the colour map: the inverse of [`ColorScale::position`]. Positions
    /// outside 0…1 go on as the scale does, down to 0 and up to 1.
    #[must_use]
    pub fn weight_at(&self, position: f32) -> f32 {
        let range = self.max - self.low;
        let weight = match self.kind {
            ScaleKind::Log => self.floor * (self.max / self.floor).powf(position),
            ScaleKind::Sqrt => self.low + range * position * position.abs(),
            ScaleKind::Linear => self.low + range * position,
        };
        weight.clamp(0.0, 1.0)
    }

    /// Weights that a colour bar labels, ascending: decades on a logarithmic scale, else a few round
    /// numbers from 0.
    #[must_use]
    pub fn ticks(&self) -> Vec<f32> {
        if self.kind != ScaleKind::Log {
            return round_ticks(self.max).into_iter().filter(|&tick| tick >= self.low).collect();
        }
        let (first, last) =
            ((self.floor.log10() - 1e-3).ceil() as i32, (self.max.log10() + 1e-3).floor() as i32);
        // Through f64, so that the decades print as 0.001 and not as 0.0009999999.
        (first..=last).map(|exponent| 10f64.powi(exponent) as f32).collect()
    }
}

/// Round numbers from 0 to `max`, three to six of them.
fn round_ticks(max: f32) -> Vec<f32> {
    if !(max.is_finite() && max > 0.0) {
        return vec![0.0];
    }
    let least = f64::from(max) / 4.0;
    let decade = 10f64.powf(least.log10().floor());
    // A quarter of 1 as f32 may come out a little above 0.25.
    let fits = |step: &f64| step * decade >= least * (1.0 - 1e-6);
    let step = decade * [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(fits).unwrap_or(10.0);
    let count = (f64::from(max) / step * (1.0 + 1e-6)).floor() as u32;
    (0..=count).map(|index| (f64::from(index) * step) as f32).collect()
}

/// Perceptually uniform colour maps that readers with colour-blindness can use.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum ColorMap {
    /// Black, purple, orange, pale yellow.
    #[default]
    Magma,
    /// Black, purple, red, yellow.
    Inferno,
    /// Purple, teal, yellow.
    Viridis,
    /// Blue, grey, yellow; made for colour-blind readers.
    Cividis,
}

impl ColorMap {
    /// All of them, in the order in which a menu shows them.
    pub const ALL: [Self; 4] = [Self::Magma, Self::Inferno, Self::Viridis, Self::Cividis];

    /// The name that a menu shows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Magma => "magma",
            Self::Inferno => "inferno",
            Self::Viridis => "viridis",
            Self::Cividis => "cividis",
        }
    }

    fn gradient(self) -> Box<dyn colorgrad::Gradient> {
        match self {
            Self::Magma => Box::new(colorgrad::preset::magma()),
            Self::Inferno => Box::new(colorgrad::preset::inferno()),
            Self::Viridis => Box::new(colorgrad::preset::viridis()),
            Self::Cividis => Box::new(colorgrad::preset::cividis()),
        }
    }
}

/// Maps from one colour over a neutral middle to another, for differences; both are safe for
/// colour-blind readers (Brewer).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum DivergingMap {
    /// Purple below, orange above.
    #[default]
    PurpleOrange,
    /// Blue below, red above.
    BlueRed,
}

impl DivergingMap {
    /// All of them, in the order in which a menu shows them.
    pub const ALL: [Self; 2] = [Self::PurpleOrange, Self::BlueRed];

    /// The name that a menu shows.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PurpleOrange => "purple–orange",
            Self::BlueRed => "blue–red",
        }
    }

    /// The colour at 0 (most negative) … 1 (most positive).
    fn at(self, position: f32) -> [u8; 3] {
        // The library's red–blue map runs from the warm end to the cold one.
        let color = match self {
            Self::PurpleOrange => colorgrad::preset::pu_or().at(position),
            Self::BlueRed => colorgrad::preset::rd_bu().at(1.0 - position),
        };
        rgb_bytes(&color)
    }
}

/// Colours of cells that have no weight to show. None of them is on any of the maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecialColors {
    /// The query can't see the key.
    pub masked: [u8; 3],
    /// Visible, but there is nothing to say: an emptied row, no counterpart.
    pub not_available: [u8; 3],
    /// Visible, and exactly 0.
    pub zero: [u8; 3],
    /// Not a number.
    pub nan: [u8; 3],
}

impl SpecialColors {
    /// For a light background.
    pub const LIGHT: Self = Self {
        masked: [233, 235, 240],
        not_available: [158, 128, 138],
        zero: [0, 112, 56],
        nan: [0, 229, 255],
    };
    /// For a dark background.
    pub const DARK: Self =
        Self { masked: [40, 44, 54], not_available: [110, 80, 90], zero: [0, 112, 56], nan: [0, 229, 255] };

    /// For a dark or a light background.
    #[must_use]
    pub fn for_dark(dark: bool) -> Self {
        if dark { Self::DARK } else { Self::LIGHT }
    }

    /// The same, where values are differences: the middle of those maps is nearly white.
    #[must_use]
    pub fn for_differences(dark: bool) -> Self {
        if dark { Self::DARK } else { Self { masked: [190, 192, 190], ..Self::LIGHT } }
    }
}

const STEPS: usize = 256;

/// A scale and a map made into a lookup table: weight in, colour out.
#[derive(Debug, Clone, PartialEq)]
pub struct ColorTable {
    scale: ColorScale,
    special: SpecialColors,
    steps: Vec<[u8; 3]>,
    diverging: bool,
}

impl ColorTable {
    /// Builds the table.
    #[must_use]
    pub fn new(scale: ColorScale, map: ColorMap, special: SpecialColors) -> Self {
        let gradient = map.gradient();
        let steps = gradient.colors(STEPS).map(|color| rgb_bytes(&color)).collect();
        Self { scale, special, steps, diverging: false }
    }

    /// Builds a table for differences: the scale places their magnitudes on either side of the middle.
    #[must_use]
    pub fn diverging(scale: ColorScale, map: DivergingMap, special: SpecialColors) -> Self {
        let steps = (0..STEPS).map(|step| map.at(step as f32 / (STEPS - 1) as f32)).collect();
        Self { scale, special, steps, diverging: true }
    }

    /// Whether values are differences.
    #[must_use]
    pub fn is_diverging(&self) -> bool {
        self.diverging
    }

    /// The colour of a weight, of a difference where the table is diverging, or of the values that
    /// stand for cells without either ([`MASKED`], [`NOT_AVAILABLE`]).
    #[must_use]
    pub fn rgb(&self, value: f32) -> [u8; 3] {
        if value.is_nan() {
            self.special.nan
        } else if value == NOT_AVAILABLE {
            self.special.not_available
        } else if value <= MASKED || value < 0.0 && !self.diverging {
            self.special.masked
        } else if value == 0.0 && !self.diverging {
            self.special.zero
        } else {
            self.at(self.position(value))
        }
    }

    /// Where a value lies on the map, 0…1.
    #[must_use]
    pub fn position(&self, value: f32) -> f32 {
        if self.diverging {
            0.5 + 0.5 * self.scale.position(value.abs()) * value.signum()
        } else {
            self.scale.position(value)
        }
    }

    /// Values that a colour bar labels, ascending.
    #[must_use]
    pub fn ticks(&self) -> Vec<f32> {
        let ticks = self.scale.ticks();
        if !self.diverging {
            return ticks;
        }
        let positive = ticks.into_iter().filter(|&tick| tick > self.scale.min());
        let positive: Vec<f32> = positive.collect();
        let negative = positive.iter().rev().map(|tick| -tick);
        negative.chain([0.0]).chain(positive.iter().copied()).collect()
    }

    /// The map's colour at a position 0…1, for colour bars.
    #[must_use]
    pub fn at(&self, position: f32) -> [u8; 3] {
        let last = STEPS - 1;
        let step = (position.clamp(0.0, 1.0) * last as f32).round() as usize;
        self.steps.get(step).copied().unwrap_or(self.special.nan)
    }

    /// The scale.
    #[must_use]
    pub fn scale(&self) -> ColorScale {
        self.scale
    }

    /// The colours of cells without a weight.
    #[must_use]
    pub fn special(&self) -> SpecialColors {
        self.special
    }
}

fn rgb_bytes(color: &colorgrad::Color) -> [u8; 3] {
    let [red, green, blue, _] = color.to_rgba8();
    [red, green, blue]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_spans_its_range_and_inverts() {
        for kind in ScaleKind::ALL {
            let scale = ColorScale { kind, low: 0.0, floor: 1e-4, max: 0.5 };
            assert!(scale.position(scale.min()).abs() < 1e-6, "{kind:?}");
            assert!((scale.position(0.5) - 1.0).abs() < 1e-6, "{kind:?}");
            for position in [0.1, 0.35, 0.8] {
                assert!((scale.position(scale.weight_at(position)) - position).abs() < 1e-5, "{kind:?}");
            }
        }
    }

    #[test]
    fn a_decade_takes_a_quarter_of_the_default_scale() {
        let scale = ColorScale::default();
        assert!((scale.position(1e-3) - 0.25).abs() < 1e-6);
        assert!((scale.position(1e-2) - 0.5).abs() < 1e-6);
        assert!(scale.position(1e-9).abs() < f32::EPSILON, "below the floor: the lower end");
        assert_eq!(scale.ticks(), [1e-4, 1e-3, 1e-2, 1e-1, 1.0]);
    }

    #[test]
    fn ticks_are_round_numbers() {
        let ticks = |max| ColorScale { kind: ScaleKind::Linear, floor: 1e-4, low: 0.0, max }.ticks();
        assert_eq!(ticks(1.0), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(ticks(32.3), [0.0, 10.0, 20.0, 30.0]);
        assert_eq!(ticks(0.07), [0.0, 0.02, 0.04, 0.06]);
        assert_eq!(ticks(0.0), [0.0]);
    }

    #[test]
    fn what_is_no_weight_looks_unlike_any_weight_and_each_other() {
        for special in [SpecialColors::LIGHT, SpecialColors::DARK] {
            for map in ColorMap::ALL {
                let table = ColorTable::new(ColorScale::default(), map, special);
                let odd = [MASKED, NOT_AVAILABLE, 0.0, f32::NAN].map(|value| table.rgb(value));
                for (index, &color) in odd.iter().enumerate() {
                    for &other in &odd[index + 1..] {
                        assert!(distance(color, other) > 60, "{map:?} {color:?} {other:?}");
                    }
                    let nearest = (0..=255).map(|step| distance(color, table.at(step as f32 / 255.0))).min();
                    assert!(nearest > Some(24), "{map:?} {color:?} lies on the map");
                }
            }
        }
    }

    #[test]
    fn what_is_no_difference_looks_unlike_any_difference() {
        for dark in [false, true] {
            let special = SpecialColors::for_differences(dark);
            for map in DivergingMap::ALL {
                let table = ColorTable::diverging(ColorScale::of(ScaleKind::Linear), map, special);
                for odd in [MASKED, NOT_AVAILABLE, f32::NAN].map(|value| table.rgb(value)) {
                    let nearest = (0..=255).map(|step| distance(odd, table.at(step as f32 / 255.0))).min();
                    assert!(nearest > Some(24), "{map:?} {dark} {odd:?} lies on the map");
                }
            }
        }
    }

    #[test]
    fn differences_run_from_cold_over_neutral_to_warm() {
        for map in DivergingMap::ALL {
            let special = SpecialColors::for_differences(true);
            let table = ColorTable::diverging(ColorScale::of(ScaleKind::Linear), map, special);
            let [cold, middle, warm] = [-1.0, 0.0, 1.0].map(|value| table.rgb(value));
            assert!(cold[2] > cold[1] && warm[0] > warm[2], "{map:?} {cold:?} {warm:?}");
            assert!(luma(middle) > luma(cold) + 60.0 && luma(middle) > luma(warm) + 60.0, "{map:?}");
            assert_eq!(table.rgb(0.3), table.at(0.65));
            assert_eq!(table.rgb(-0.3), table.at(0.35));
        }
        let log = ColorTable::diverging(ColorScale::default(), DivergingMap::BlueRed, SpecialColors::DARK);
        assert_eq!(log.ticks(), [-1.0, -0.1, -0.01, -1e-3, 0.0, 1e-3, 0.01, 0.1, 1.0]);
        assert_eq!(log.rgb(1e-5), log.at(0.5), "below the floor: the middle");
    }

    #[test]
    fn a_range_is_brought_into_order() {
        for kind in ScaleKind::ALL {
            for (low, high) in [(0.5, 0.1), (-1.0, 2.0), (0.0, 0.0), (0.2, f32::NAN), (1e-12, 1e-12)] {
                let scale = ColorScale::of(kind).over(low, high);
                assert!(scale.min() < scale.max && scale.max <= 1.0, "{kind:?} {low} {high}: {scale:?}");
                assert!(kind != ScaleKind::Log || scale.floor > 0.0);
                assert!(scale.position(scale.max) > 0.999);
            }
        }
    }

    #[test]
    fn maps_grow_lighter_all_the_way() {
        for map in ColorMap::ALL {
            let table = ColorTable::new(ColorScale::of(ScaleKind::Linear), map, SpecialColors::LIGHT);
            let luma: Vec<f32> = (0..=32).map(|step| luma(table.at(step as f32 / 32.0))).collect();
            assert!(luma.windows(2).all(|pair| pair[1] > pair[0]), "{map:?} {luma:?}");
        }
    }

    #[test]
    fn a_degenerate_range_stays_finite() {
        let scale = ColorScale { kind: ScaleKind::Log, floor: 1.0, low: 0.0, max: 1.0 };
        assert!(scale.position(0.5).is_finite() && scale.position(2.0).is_finite());
    }

    fn distance(a: [u8; 3], b: [u8; 3]) -> u32 {
        a.iter().zip(b).map(|(&x, y)| u32::from(x.abs_diff(y))).sum()
    }

    fn luma([red, green, blue]: [u8; 3]) -> f32 {
        0.2126 * f32::from(red) + 0.7152 * f32::from(green) + 0.0722 * f32::from(blue)
    }
}
