//! Colours of exported pictures, for light and for dark paper.

use crate::color::SpecialColors;

/// Red, green, blue.
pub type Rgb = [u8; 3];

/// Light or dark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, clap::ValueEnum)]
pub enum Theme {
    /// Dark ink on white, for print.
    #[default]
    Light,
    /// Light ink on near black, for slides.
    Dark,
}

/// The colours of a theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// Paper.
    pub background: Rgb,
    /// Titles and values.
    pub ink: Rgb,
    /// Axis labels and notes.
    pub soft: Rgb,
    /// Frames and tick marks.
    pub line: Rgb,
    /// Grid lines and hatching.
    pub faint: Rgb,
    /// Sinks.
    pub sink: Rgb,
    /// Bars of structural tokens.
    pub structural: Rgb,
    /// Bars of other tokens.
    pub bar: Rgb,
    /// Cells without a weight.
    pub special: SpecialColors,
}

impl Theme {
    /// The colours. Sinks are vermilion, bars blue: apart for colour-blind readers (Okabe and Ito).
    #[must_use]
    pub fn palette(self) -> Palette {
        match self {
            Self::Light => Palette {
                background: [255, 255, 255],
                ink: [24, 26, 31],
                soft: [82, 87, 98],
                line: [140, 146, 158],
                faint: [222, 225, 231],
                sink: [204, 78, 0],
                structural: [42, 94, 150],
                bar: [150, 178, 208],
                special: SpecialColors::LIGHT,
            },
            Self::Dark => Palette {
                background: [20, 22, 27],
                ink: [236, 238, 242],
                soft: [170, 176, 188],
                line: [106, 113, 126],
                faint: [50, 54, 63],
                sink: [255, 133, 61],
                structural: [132, 182, 235],
                bar: [78, 104, 134],
                special: SpecialColors::DARK,
            },
        }
    }
}

/// Black or white, whichever reads better on a background (WCAG relative luminance).
#[must_use]
pub fn ink_on(background: Rgb) -> Rgb {
    if luminance(background) > 0.179 { [0, 0, 0] } else { [255, 255, 255] }
}

fn luminance(color: Rgb) -> f32 {
    let linear = color.map(|byte| {
        let part = f32::from(byte) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contrast(a: Rgb, b: Rgb) -> f32 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_is_readable_on_paper_in_both_themes() {
        for theme in [Theme::Light, Theme::Dark] {
            let palette = theme.palette();
            for color in [palette.ink, palette.soft, palette.sink] {
                assert!(contrast(color, palette.background) >= 4.5, "{theme:?} {color:?}");
            }
        }
    }

    #[test]
    fn ink_on_any_grey_has_contrast() {
        for level in 0..=255 {
            assert!(contrast(ink_on([level; 3]), [level; 3]) >= 4.5, "{level}");
        }
    }
}
