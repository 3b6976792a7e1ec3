//! Colour for attention weights: a scale, a perceptual map and the colours of what has no value.
//!
//! The window and the exported images share this module, so that a weight looks the same in both.

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
    /// Smallest weight that a logarithmic scale tells apart; positive. The other kinds start at 0.
    pub floor: f32,
    /// The weight at the map's upper end; above the floor.
    pub max: f32,
}

impl Default for ColorScale {
    fn default() -> Self {
        Self { kind: ScaleKind::Log, floor: Self::DEFAULT_FLOOR, max: 1.0 }
    }
}

impl ColorScale {
    /// Floor of the default scale.
    pub const DEFAULT_FLOOR: f32 = 1e-4;

    /// A scale of a kind over weights from 0 to 1, with the default floor.
    #[must_use]
    pub fn of(kind: ScaleKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// The smallest weight that is told apart: the floor on a logarithmic scale, else 0.
    #[must_use]
    pub fn min(&self) -> f32 {
        if self.kind == ScaleKind::Log { self.floor } else { 0.0 }
    }

    /// Where a weight lies on the colour map, 0…1; weights outside the range go to its ends.
    #[must_use]
    pub fn position(&self, weight: f32) -> f32 {
        let position = match self.kind {
            ScaleKind::Log => (weight.max(self.floor) / self.floor).ln() / (self.max / self.floor).ln(),
            ScaleKind::Sqrt => (weight.max(0.0) / self.max).sqrt(),
            ScaleKind::Linear => weight / self.max,
        };
        // A degenerate range (max at the floor) divides by zero; its one value is drawn at the lower end.
        if position.is_finite() { position.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The weight at a position 0…1 of the colour map: the inverse of [`ColorScale::position`].
    #[must_use]
    pub fn weight_at(&self, position: f32) -> f32 {
        let position = position.clamp(0.0, 1.0);
        match self.kind {
            ScaleKind::Log => self.floor * (self.max / self.floor).powf(position),
            ScaleKind::Sqrt => self.max * position * position,
            ScaleKind::Linear => self.max * position,
        }
    }

    /// Weights that a colour bar labels, ascending: decades on a logarithmic scale, else quarters.
    #[must_use]
    pub fn ticks(&self) -> Vec<f32> {
        if self.kind != ScaleKind::Log {
            return [0.0, 0.25, 0.5, 0.75, 1.0].iter().map(|part| part * self.max).collect();
        }
        let (first, last) =
            ((self.floor.log10() - 1e-3).ceil() as i32, (self.max.log10() + 1e-3).floor() as i32);
        // Through f64, so that the decades print as 0.001 and not as 0.0009999999.
        (first..=last).map(|exponent| 10f64.powi(exponent) as f32).collect()
    }
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

/// Colours of cells that have no weight to show. None of them is on any of the maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecialColors {
    /// The query can't see the key.
    pub masked: [u8; 3],
    /// Visible, and exactly 0.
    pub zero: [u8; 3],
    /// Not a number.
    pub nan: [u8; 3],
}

impl SpecialColors {
    /// For a light background.
    pub const LIGHT: Self = Self { masked: [233, 235, 240], zero: [0, 112, 56], nan: [0, 229, 255] };
    /// For a dark background.
    pub const DARK: Self = Self { masked: [40, 44, 54], zero: [0, 112, 56], nan: [0, 229, 255] };

    /// For a dark or a light background.
    #[must_use]
    pub fn for_dark(dark: bool) -> Self {
        if dark { Self::DARK } else { Self::LIGHT }
    }
}

const STEPS: usize = 256;

/// A scale and a map made into a lookup table: weight in, colour out.
#[derive(Debug, Clone, PartialEq)]
pub struct ColorTable {
    scale: ColorScale,
    special: SpecialColors,
    steps: Vec<[u8; 3]>,
}

impl ColorTable {
    /// Builds the table.
    #[must_use]
    pub fn new(scale: ColorScale, map: ColorMap, special: SpecialColors) -> Self {
        let gradient = map.gradient();
        let steps = gradient.colors(STEPS).map(|color| rgb_bytes(&color)).collect();
        Self { scale, special, steps }
    }

    /// The colour of a weight. Negative values stand for masked cells (see [`crate::capture::MASKED`]).
    #[must_use]
    pub fn rgb(&self, weight: f32) -> [u8; 3] {
        if weight.is_nan() {
            self.special.nan
        } else if weight < 0.0 {
            self.special.masked
        } else if weight == 0.0 {
            self.special.zero
        } else {
            self.at(self.scale.position(weight))
        }
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
            let scale = ColorScale { kind, floor: 1e-4, max: 0.5 };
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
    fn masked_zero_and_nan_look_unlike_any_weight_and_each_other() {
        for special in [SpecialColors::LIGHT, SpecialColors::DARK] {
            for map in ColorMap::ALL {
                let table = ColorTable::new(ColorScale::default(), map, special);
                let odd = [table.rgb(-1.0), table.rgb(0.0), table.rgb(f32::NAN)];
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
    fn maps_grow_lighter_all_the_way() {
        for map in ColorMap::ALL {
            let table = ColorTable::new(ColorScale::of(ScaleKind::Linear), map, SpecialColors::LIGHT);
            let luma: Vec<f32> = (0..=32).map(|step| luma(table.at(step as f32 / 32.0))).collect();
            assert!(luma.windows(2).all(|pair| pair[1] > pair[0]), "{map:?} {luma:?}");
        }
    }

    #[test]
    fn a_degenerate_range_stays_finite() {
        let scale = ColorScale { kind: ScaleKind::Log, floor: 1.0, max: 1.0 };
        assert!(scale.position(0.5).is_finite() && scale.position(2.0).is_finite());
    }

    fn distance(a: [u8; 3], b: [u8; 3]) -> u32 {
        a.iter().zip(b).map(|(&x, y)| u32::from(x.abs_diff(y))).sum()
    }

    fn luma([red, green, blue]: [u8; 3]) -> f32 {
        0.2126 * f32::from(red) + 0.7152 * f32::from(green) + 0.0722 * f32::from(blue)
    }
}
