//! Colours of runs: Paul Tol's bright scheme, lightened on dark ground, which colour-blind readers
//! can tell apart. A run's letter and line style say the same without colour.

use crate::app::theme::Palette;
use egui::{Align2, Color32, FontId, Painter, Pos2, Rect, Vec2};
use egui_plot::LineStyle;

const DARK: [u32; 8] =
    [0xf0_7f_8b, 0x66_cc_ee, 0xd8_c8_55, 0xc9_8b_d8, 0x5f_c4_7c, 0x8f_a8_ff, 0xe8_a8_68, 0xb8_bc_c4];
const LIGHT: [u32; 8] =
    [0xc8_2a_45, 0x1a_6f_b5, 0x8a_75_00, 0x8d_2a_78, 0x1a_78_38, 0x3a_3f_b0, 0xa3_52_10, 0x5a_5f_68];

/// The colour of a slot.
pub(super) fn of_slot(slot: usize, palette: Palette) -> Color32 {
    let colors = if palette.dark { DARK } else { LIGHT };
    let [_, r, g, b] = colors[slot % colors.len()].to_be_bytes();
    Color32::from_rgb(r, g, b)
}

/// The line style of a slot.
pub(super) fn style_of_slot(slot: usize) -> LineStyle {
    match slot / 2 % 4 {
        0 => LineStyle::Solid,
        1 => LineStyle::Dashed { length: 12.0 },
        2 => LineStyle::Dashed { length: 6.0 },
        _ => LineStyle::Dashed { length: 3.0 },
    }
}

/// Side of a letter's badge, in points.
pub(super) const BADGE: f32 = 13.0;

/// A run's letter on its colour.
pub(super) fn badge(painter: &Painter, center: Pos2, letter: char, color: Color32, palette: Palette) {
    let rect = Rect::from_center_size(center, Vec2::splat(BADGE));
    painter.rect_filled(rect, 3.0, color);
    let text = palette.text_on(color);
    painter.text(center, Align2::CENTER_CENTER, letter, FontId::monospace(10.5), text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::theme;

    #[test]
    fn every_run_has_its_own_colour_or_style() {
        for palette in [theme::DARK, theme::LIGHT] {
            let colors: std::collections::HashSet<Color32> = (0..8).map(|i| of_slot(i, palette)).collect();
            assert_eq!(colors.len(), 8);
        }
    }
}
