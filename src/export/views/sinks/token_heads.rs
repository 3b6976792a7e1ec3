//! α of one token in every head.

use super::cells::{Cells, map_height};
use crate::analysis::{SINK_RATE_EPSILON, alpha_by_layer_head};
use crate::color::{ColorScale, ColorTable, ScaleKind};
use crate::export::axes::{color_bar, heading};
use crate::export::drawing::{Area, Drawing};
use crate::export::views::Scene;

const LEFT: f32 = 60.0;
const TOP: f32 = 58.0;

pub(in crate::export::views) fn draw(scene: &Scene<'_>, token: usize) -> Drawing {
    let alpha = alpha_by_layer_head(scene.capture, token);
    let heads = scene.capture.model.spec.heads;
    let width = (heads as f32 * 22.0).clamp(260.0, 560.0);
    let map = Area::new(LEFT, TOP, width, map_height(alpha.len()));
    let label = scene.token_label(token);
    let title = format!("{} · attention on {token} {label} in every head", scene.model());
    let mut drawing =
        Drawing::new(map.right() + 110.0, map.bottom() + 44.0, scene.palette.background, &*title);
    let sinking = alpha.iter().flatten().filter(|&&alpha| alpha > SINK_RATE_EPSILON).count();
    let note = format!(
        "α: mean weight over the queries that see it · a dot marks α > {SINK_RATE_EPSILON}: {sinking} of {} heads",
        alpha.len() * heads
    );
    heading(&mut drawing, &scene.palette, LEFT, &title, &note);
    // As in the window: the root shows α from a hundredth up.
    let table = ColorTable::new(ColorScale::of(ScaleKind::Sqrt), scene.options.map, scene.palette.special);
    let cells = Cells {
        size: (alpha.len(), heads),
        columns_are: "head",
        value: &|layer, head| alpha[layer].get(head).copied(),
        color: &|value| value.map_or(scene.palette.special.masked, |value| table.rgb(value as f32)),
    };
    cells.draw(&mut drawing, scene, map);
    dots(&mut drawing, &alpha, map);
    let bar = Area::new(map.right() + 16.0, map.y, 12.0, map.height);
    color_bar(&mut drawing, &scene.palette, bar, &table, "α (sqrt scale)");
    drawing
}

/// A dot in each head in which the token is a sink.
fn dots(drawing: &mut Drawing, alpha: &[Vec<f64>], map: Area) {
    let heads = alpha.first().map_or(0, Vec::len);
    let (width, height) = (map.width / heads.max(1) as f32, map.height / alpha.len().max(1) as f32);
    let side = (width.min(height) * 0.36).clamp(1.2, 4.0);
    for (layer, alphas) in alpha.iter().enumerate() {
        for (head, &alpha) in alphas.iter().enumerate().filter(|(_, alpha)| **alpha > SINK_RATE_EPSILON) {
            let x = map.x + width * (head as f32 + 0.5) - side / 2.0;
            let y = map.y + height * (layer as f32 + 0.5) - side / 2.0;
            // The map is dark below and light above the middle.
            let color = if alpha > 0.5 { [0; 3] } else { [255; 3] };
            let dot = Area::new(x, y, side, side);
            drawing.items.push(crate::export::drawing::Item::Fill(dot, color, side / 2.0));
        }
    }
}
