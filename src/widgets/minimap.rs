//! Where a zoomed heatmap is within its matrix: a small picture of all of it in the corner.

use super::color_bar::rgb;
use super::heatmap::{Heatmap, HeatmapEvent};
use super::viewport::{to_f32, to_f64};
use egui::{Color32, Id, Rect, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2, vec2};

/// Share of the plot's side.
const SHARE: f32 = 0.24;
/// The frame of what is shown is at least as large, in points.
const SMALLEST_FRAME: f32 = 4.0;

/// The corner that is masked while the whole matrix is shown, so that it hides the least.
fn map_rect(plot: Rect) -> Rect {
    let side = (plot.width() * SHARE).clamp(32.0, 90.0);
    Rect::from_min_size(plot.right_top() + vec2(-side - 4.0, 4.0), vec2(side, side))
}

fn is_shown(heatmap: &Heatmap<'_>) -> bool {
    heatmap.side > 0 && !heatmap.view.is_fit(heatmap.side)
}

/// A click or a drag on the map moves the view there; whether the pointer belongs to the map.
pub(super) fn events(
    heatmap: &Heatmap<'_>,
    ui: &Ui,
    id: Id,
    plot: Rect,
    events: &mut Vec<HeatmapEvent>,
) -> bool {
    if !is_shown(heatmap) {
        return false;
    }
    let rect = map_rect(plot);
    let response = ui.interact(rect, id.with("minimap"), Sense::click_and_drag());
    let (rows, columns) = (heatmap.view.rows(heatmap.side), heatmap.view.columns(heatmap.side));
    response.widget_info(|| WidgetInfo {
        current_text_value: Some(format!(
            "{} {} to {}, {} {} to {}",
            heatmap.row_name,
            rows.start,
            rows.end.saturating_sub(1),
            heatmap.column_name,
            columns.start,
            columns.end.saturating_sub(1)
        )),
        ..WidgetInfo::labeled(Role::Canvas, true, "Minimap")
    });
    if (response.clicked() || response.dragged())
        && let Some(at) = response.interact_pointer_pos()
    {
        let part = ((at - rect.min) / rect.width()).clamp(vec2(0.0, 0.0), vec2(1.0, 1.0));
        heatmap.push_view(heatmap.view.centered(part.x.into(), part.y.into(), heatmap.side), events);
    }
    let belongs = response.hovered() || response.dragged();
    response.on_hover_text("Click or drag to move the view");
    belongs
}

/// Draws the map above the plot.
pub(super) fn paint(heatmap: &Heatmap<'_>, ui: &Ui, plot: Rect) {
    if !is_shown(heatmap) {
        return;
    }
    let (rect, side) = (map_rect(plot), to_f64(heatmap.side));
    let painter = ui.painter().with_clip_rect(plot.intersect(ui.clip_rect()));
    painter.rect_filled(rect.expand(2.0), 2.0, heatmap.colors.line);
    painter.rect_filled(rect, 0.0, rgb(heatmap.table.special().masked));
    // The coarsest tile shows all of the matrix.
    if let Some(tile) = heatmap.tiles.first().filter(|tile| tile.row_range() == (0..heatmap.side)) {
        let covered = to_f64(tile.pool.max(1) * tile.width.max(1));
        let end = to_f32(side / covered);
        let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(end, end));
        painter.image(tile.texture, rect, uv, Color32::WHITE);
    }
    let at = |cells: f64| to_f32(cells / side) * rect.width();
    let view = &heatmap.view;
    let size = at(view.cells).max(SMALLEST_FRAME);
    let middle = vec2(at(view.column + view.cells / 2.0), at(view.row + view.cells / 2.0));
    let frame = Rect::from_center_size(rect.min + middle, vec2(size, size));
    painter.rect_stroke(frame.expand(1.0), 0.0, Stroke::new(1.0, Color32::BLACK), StrokeKind::Outside);
    painter.rect_stroke(frame, 0.0, Stroke::new(1.5, heatmap.colors.accent), StrokeKind::Outside);
}
