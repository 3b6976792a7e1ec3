//! The window's look: one accent, one colour for sinks, quiet greys; dark and light.

use egui::epaint::text::{FontDefinitions, FontFamily};
use egui::{Color32, CornerRadius, FontId, Margin, Stroke, TextStyle, Theme, Visuals};

/// Named colours of one theme. Panels use these and no literal colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// Behind everything.
    pub base: Color32,
    /// Panels.
    pub panel: Color32,
    /// Wells: text fields, plots, maps.
    pub well: Color32,
    /// Buttons at rest.
    pub raised: Color32,
    /// Buttons under the pointer.
    pub hover: Color32,
    /// Hairlines.
    pub line: Color32,
    /// Text.
    pub text: Color32,
    /// Captions and units.
    pub weak: Color32,
    /// What the user chose or can do.
    pub accent: Color32,
    /// Text on the accent.
    pub on_accent: Color32,
    /// Sinks, and only sinks.
    pub sink: Color32,
    /// Bars of ordinary tokens.
    pub bar: Color32,
    /// Checks that hold.
    pub good: Color32,
    /// Warnings.
    pub warn: Color32,
    /// Errors.
    pub error: Color32,
    /// Whether text is light on dark.
    pub dark: bool,
}

/// The dark theme.
pub const DARK: Palette = Palette {
    base: Color32::from_rgb(0x12, 0x14, 0x18),
    panel: Color32::from_rgb(0x1a, 0x1d, 0x22),
    well: Color32::from_rgb(0x10, 0x12, 0x15),
    raised: Color32::from_rgb(0x28, 0x2c, 0x33),
    hover: Color32::from_rgb(0x33, 0x39, 0x42),
    line: Color32::from_rgb(0x2e, 0x33, 0x3b),
    text: Color32::from_rgb(0xd9, 0xdd, 0xe3),
    weak: Color32::from_rgb(0x93, 0x9b, 0xa7),
    accent: Color32::from_rgb(0x5b, 0xa7, 0xe8),
    on_accent: Color32::from_rgb(0x08, 0x12, 0x1c),
    sink: Color32::from_rgb(0xf5, 0x9e, 0x42),
    bar: Color32::from_rgb(0x5f, 0x7d, 0x9d),
    good: Color32::from_rgb(0x6c, 0xc0, 0x8b),
    warn: Color32::from_rgb(0xe8, 0xc1, 0x55),
    error: Color32::from_rgb(0xee, 0x76, 0x70),
    dark: true,
};

/// The light theme.
pub const LIGHT: Palette = Palette {
    base: Color32::from_rgb(0xe9, 0xec, 0xf0),
    panel: Color32::from_rgb(0xf7, 0xf8, 0xfa),
    well: Color32::from_rgb(0xff, 0xff, 0xff),
    raised: Color32::from_rgb(0xe7, 0xea, 0xee),
    hover: Color32::from_rgb(0xda, 0xdf, 0xe6),
    line: Color32::from_rgb(0xd3, 0xd8, 0xdf),
    text: Color32::from_rgb(0x1d, 0x22, 0x29),
    weak: Color32::from_rgb(0x5a, 0x63, 0x6f),
    accent: Color32::from_rgb(0x1b, 0x6a, 0xb0),
    on_accent: Color32::from_rgb(0xff, 0xff, 0xff),
    sink: Color32::from_rgb(0xbf, 0x4a, 0x0a),
    bar: Color32::from_rgb(0x8a, 0xa6, 0xc4),
    good: Color32::from_rgb(0x1f, 0x7a, 0x45),
    warn: Color32::from_rgb(0x8a, 0x62, 0x00),
    error: Color32::from_rgb(0xb3, 0x2a, 0x25),
    dark: false,
};

impl Palette {
    /// The palette of the theme that `ui` draws in.
    #[must_use]
    pub fn of(ui: &egui::Ui) -> Self {
        if ui.visuals().dark_mode { DARK } else { LIGHT }
    }

    /// Colour of a share `t` in 0…1 of the largest mass: from the well to the sink colour, the
    /// lightness strictly monotone.
    #[must_use]
    pub fn heat(&self, t: f32) -> Color32 {
        self.well_raised().lerp_to_gamma(self.sink, t.clamp(0.0, 1.0))
    }

    /// Black or white, whichever reads better on `background`: at least 4.5 to 1 on any colour.
    #[must_use]
    pub fn text_on(&self, background: Color32) -> Color32 {
        /// Where black and white have the same contrast (WCAG 2).
        const EVEN: f32 = 0.179;
        if luminance(background) > EVEN { Color32::BLACK } else { Color32::WHITE }
    }

    fn well_raised(&self) -> Color32 {
        if self.dark { Color32::from_rgb(0x2a, 0x2f, 0x37) } else { Color32::from_rgb(0xec, 0xef, 0xf3) }
    }

    fn visuals(&self) -> Visuals {
        let mut v = if self.dark { Visuals::dark() } else { Visuals::light() };
        let radius = CornerRadius::same(4);
        let hairline = Stroke::new(1.0, self.line);
        v.panel_fill = self.panel;
        v.window_fill = self.panel;
        v.window_stroke = hairline;
        v.window_corner_radius = CornerRadius::same(8);
        v.menu_corner_radius = CornerRadius::same(6);
        v.extreme_bg_color = self.well;
        v.text_edit_bg_color = Some(self.well);
        v.faint_bg_color = self.raised.gamma_multiply(0.35);
        v.code_bg_color = self.raised;
        v.weak_text_color = Some(self.weak);
        v.hyperlink_color = self.accent;
        v.warn_fg_color = self.warn;
        v.error_fg_color = self.error;
        v.selection.bg_fill = self.accent.gamma_multiply(if self.dark { 0.38 } else { 0.25 });
        v.selection.stroke = Stroke::new(1.0, if self.dark { Color32::WHITE } else { self.text });
        v.slider_trailing_fill = true;
        for (state, fill, stroke, text) in [
            (&mut v.widgets.noninteractive, self.panel, hairline, self.text),
            (&mut v.widgets.inactive, self.raised, Stroke::new(1.0, self.line), self.text),
            (&mut v.widgets.hovered, self.hover, Stroke::new(1.0, self.weak), self.text),
            (&mut v.widgets.active, self.hover, Stroke::new(1.0, self.accent), self.text),
            (&mut v.widgets.open, self.hover, Stroke::new(1.0, self.line), self.text),
        ] {
            state.bg_fill = fill;
            state.weak_bg_fill = fill;
            state.bg_stroke = stroke;
            state.fg_stroke = Stroke::new(1.0, text);
            state.corner_radius = radius;
            state.expansion = 0.0;
        }
        v
    }
}

/// Relative luminance (WCAG 2), 0…1.
fn luminance(color: Color32) -> f32 {
    let linear = |value: u8| {
        let value = f32::from(value) / 255.0;
        if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(color.r()) + 0.7152 * linear(color.g()) + 0.0722 * linear(color.b())
}

/// Sets fonts, colours and spacing; call once, before the first frame.
pub fn install(ctx: &egui::Context) {
    ctx.set_fonts(fonts());
    ctx.set_visuals_of(Theme::Dark, DARK.visuals());
    ctx.set_visuals_of(Theme::Light, LIGHT.visuals());
    ctx.all_styles_mut(|style| {
        style.text_styles = [
            (TextStyle::Heading, FontId::proportional(16.0)),
            (TextStyle::Body, FontId::proportional(13.0)),
            (TextStyle::Button, FontId::proportional(13.0)),
            (TextStyle::Monospace, FontId::monospace(12.0)),
            (TextStyle::Small, FontId::proportional(11.0)),
        ]
        .into();
        style.spacing.item_spacing = egui::vec2(6.0, 5.0);
        style.spacing.button_padding = egui::vec2(8.0, 3.0);
        style.spacing.interact_size = egui::vec2(32.0, 22.0);
        style.spacing.menu_margin = Margin::same(8);
        style.spacing.combo_width = 60.0;
        style.spacing.tooltip_width = 340.0;
        style.interaction.tooltip_delay = 0.35;
        style.animation_time = 0.1;
        style.spacing.scroll.fade.strength = 0.0;
    });
}

/// The default fonts; the monospaced one has symbols that the proportional one lacks. What both lack is
/// looked for on the system ([`super::fonts`]).
fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    let hack = "Hack".to_owned();
    for family in [FontFamily::Proportional, FontFamily::Monospace] {
        let list = fonts.families.entry(family).or_default();
        if !list.contains(&hack) {
            list.push(hack.clone());
        }
    }
    fonts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luma(color: Color32) -> f32 {
        let [r, g, b, _] = color.to_array().map(f32::from);
        0.299 * r + 0.587 * g + 0.114 * b
    }

    #[test]
    fn heat_is_monotone_in_lightness() {
        for (palette, sign) in [(DARK, 1.0), (LIGHT, -1.0)] {
            let steps: Vec<f32> =
                (0..=20_u8).map(|i| luma(palette.heat(f32::from(i) / 20.0)) * sign).collect();
            assert!(steps.is_sorted(), "{steps:?}");
            assert!((steps[20] - steps[0]).abs() > 90.0, "the ends must be easy to tell apart: {steps:?}");
        }
    }

    #[test]
    fn text_reads_on_every_ground() {
        for palette in [DARK, LIGHT] {
            for (ground, text) in [
                (palette.panel, palette.text),
                (palette.well, palette.text),
                (palette.panel, palette.weak),
                (palette.accent, palette.on_accent),
                (palette.heat(0.0), palette.text_on(palette.heat(0.0))),
                (palette.heat(0.5), palette.text_on(palette.heat(0.5))),
                (palette.heat(1.0), palette.text_on(palette.heat(1.0))),
            ] {
                let contrast = contrast(ground, text);
                assert!(contrast >= 4.5, "{ground:?} {text:?}: {contrast:.2}");
            }
        }
    }

    /// WCAG 2 contrast ratio.
    fn contrast(a: Color32, b: Color32) -> f32 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }
}
