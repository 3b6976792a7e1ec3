//! What the plots over token positions share.

use super::profile_axis::{LogRange, decades, position_tick, positions, tick};
use crate::app::theme::Palette;
use egui::{AsIdSalt, Vec2b, vec2};
use egui_plot::Plot;

/// A plot that is dragged and zoomed along the tokens alone.
pub(super) fn over_tokens<'a>(id: impl AsIdSalt, palette: Palette) -> Plot<'a> {
    Plot::new(id)
        .show_background(false)
        .show_crosshair(false)
        .allow_drag(Vec2b::new(true, false))
        .allow_zoom(Vec2b::new(true, false))
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_axis_zoom_drag(false)
        .set_margin_fraction(vec2(0.0, 0.0))
        .grid_color(palette.line)
        .label_formatter(|_| None)
}

/// The same with values in log₁₀ units upwards and positions along.
pub(super) fn log_over_tokens<'a>(id: impl AsIdSalt, range: LogRange, palette: Palette) -> Plot<'a> {
    over_tokens(id, palette)
        .show_grid(Vec2b::new(false, true))
        .default_y_bounds(range.low, range.high)
        .x_grid_spacer(|input| positions(input.bounds))
        .y_grid_spacer(|input| decades(input.bounds))
        .y_axis_formatter(|mark, _| tick(mark.value))
        .x_axis_formatter(|mark, _| position_tick(mark))
        .y_axis_min_width(44.0)
}
