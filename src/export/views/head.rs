//! One head's pattern, large, with token labels on both axes.

use super::{Scene, pixels_in, pooling_note};
use crate::capture::PatternTile;
use crate::export::ExportError;
use crate::export::axes::{NOTE_SIZE, TOKEN_SIZE, color_bar, heading, legend, special_entries, thinned};
use crate::export::drawing::{Anchor, Area, Drawing, Label, Raster, shortened};
use crate::progress::CancelToken;

/// Wanted side of the pattern, in points.
const SIDE: f32 = 470.0;
const LEFT: f32 = 120.0;
const TOP: f32 = 62.0;
/// Room for token labels and the axis title below the pattern.
const BELOW: f32 = 116.0;
const RIGHT: f32 = 110.0;
/// Characters of a token that an axis shows.
const LABEL_CHARS: usize = 14;

pub(super) fn draw(
    scene: &Scene<'_>,
    layer: usize,
    head: usize,
    cancel: &CancelToken,
) -> Result<Drawing, ExportError> {
    let spec = &scene.capture.model.spec;
    if layer >= spec.layers || head >= spec.heads {
        let (layers, heads) = (spec.layers, spec.heads);
        return Err(ExportError::NoSuchHead { layer, head, layers, heads });
    }
    let scale = scene.options.scale;
    let tile = scene.tile(layer, head, pixels_in(SIDE, scale), cancel)?;
    let plot = plot_area(&tile, scale);

    let title = format!("{} · layer {layer}, head {head}", scene.model());
    let mut drawing =
        Drawing::new(plot.right() + RIGHT, plot.bottom() + BELOW + 24.0, scene.palette.background, &*title);
    heading(&mut drawing, &scene.palette, LEFT, &title, &note(scene, layer, &tile));
    pattern(&mut drawing, scene, plot, &tile);
    token_axes(&mut drawing, scene, plot, &tile);
    let bar = Area::new(plot.right() + 16.0, plot.y, 12.0, plot.height);
    color_bar(&mut drawing, &scene.palette, bar, &scene.weight_colors(), &scene.weight_title());
    let entries = special_entries(&scene.palette);
    legend(&mut drawing, &scene.palette, LEFT, plot.bottom() + BELOW + 2.0, &entries);
    Ok(drawing)
}

/// The square that the tile's cells fill: a whole number of pixels each.
fn plot_area(tile: &PatternTile, scale: f32) -> Area {
    let cells = tile.width.max(1);
    let magnification = (pixels_in(SIDE, scale) / cells).max(1);
    let side = (cells * magnification) as f32 / scale;
    Area::new(LEFT, TOP, side, side)
}

fn note(scene: &Scene<'_>, layer: usize, tile: &PatternTile) -> String {
    let n = scene.capture.len();
    let window = match scene.capture.model.spec.windows.get(layer).copied().flatten() {
        Some(window) => format!(" · local layer, window {window}"),
        None => String::new(),
    };
    format!("{n} tokens · rows are queries, columns are keys · {}{window}", pooling_note(tile.pool))
}

fn pattern(drawing: &mut Drawing, scene: &Scene<'_>, plot: Area, tile: &PatternTile) {
    let colors = scene.weight_colors();
    let pixels = tile.values.iter().map(|&weight| colors.rgb(weight)).collect();
    drawing.image(Raster { area: plot, width: tile.width, height: tile.height, pixels });
    drawing.frame(plot, scene.palette.line, 0.75);
}

fn token_axes(drawing: &mut Drawing, scene: &Scene<'_>, plot: Area, tile: &PatternTile) {
    let n = scene.capture.len();
    // The last cell of a pooled tile may reach beyond the last token.
    let spacing = plot.width / (tile.width * tile.pool).max(1) as f32;
    let sinks: Vec<usize> = scene.analysis.sinks.iter().map(|sink| sink.index).collect();
    for index in thinned(n, spacing, TOKEN_SIZE + 1.0, &sinks) {
        let offset = (index as f32 + 0.5) * spacing;
        let (x, y) = (plot.x + offset, plot.y + offset);
        let color = if scene.is_sink(index) { scene.palette.sink } else { scene.palette.soft };
        let text = format!("{} {index}", shortened(&scene.token_label(index), LABEL_CHARS));
        drawing.line((plot.x - 3.0, y), (plot.x, y), color, 0.6);
        drawing.line((x, plot.bottom()), (x, plot.bottom() + 3.0), color, 0.6);
        let down = Label::new(plot.x - 5.0, y + 2.8, TOKEN_SIZE, color, &*text);
        drawing.text(down.mono().anchored(Anchor::End));
        let across = Label::new(x + 2.8, plot.bottom() + 5.0, TOKEN_SIZE, color, text);
        drawing.text(across.mono().turned().anchored(Anchor::End));
    }
    for index in sinks {
        let x = plot.x + (index as f32 + 0.5) * spacing;
        drawing.line((x, plot.y - 8.0), (x, plot.y - 1.5), scene.palette.sink, 1.5);
    }
    axis_titles(drawing, scene, plot);
}

fn axis_titles(drawing: &mut Drawing, scene: &Scene<'_>, plot: Area) {
    let (soft, middle) = (scene.palette.soft, plot.width / 2.0);
    let keys =
        Label::new(plot.x + middle, plot.bottom() + BELOW - 14.0, NOTE_SIZE, soft, "key (token, index)");
    drawing.text(keys.anchored(Anchor::Middle));
    let queries = Label::new(16.0, plot.y + middle, NOTE_SIZE, soft, "query (token, index)");
    drawing.text(queries.turned().anchored(Anchor::Middle));
    if !scene.analysis.sinks.is_empty() {
        let right =
            Label::new(plot.right(), plot.y - 4.0, TOKEN_SIZE, scene.palette.sink, "| detected sinks");
        drawing.text(right.anchored(Anchor::End));
    }
}
