//! One pattern or the difference of two, large, with token labels on both axes.

use super::{Scene, pixels_in, pooling_note};
use crate::capture::{Difference, NOT_AVAILABLE, PatternOf, PatternTile, Shaping, TileArea};
use crate::color::{ColorScale, ColorTable, DivergingMap, SpecialColors};
use crate::export::ExportError;
use crate::export::axes::{
    NOTE_SIZE, Patch, TOKEN_SIZE, color_bar, heading, legend, special_entries, thinned,
};
use crate::export::drawing::{Anchor, Area, Drawing, Label, Raster, shortened};
use crate::export::theme::Theme;
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

/// What is drawn: a tile with its colours and its words.
struct Large {
    title: String,
    note: String,
    tile: PatternTile,
    colors: ColorTable,
    bar_title: String,
    legend: Vec<(Patch, &'static str)>,
}

/// A head or a mean.
pub(super) fn draw(scene: &Scene<'_>, of: PatternOf, cancel: &CancelToken) -> Result<Drawing, ExportError> {
    check(scene, of)?;
    let n = scene.capture.len();
    let area = TileArea::whole(n, pixels_in(SIDE, scene.options.scale));
    let tile = scene.capture.tile(of, &area, &Shaping::default(), cancel)?;
    let (name, layer) = match of {
        PatternOf::Head { layer, head } => (format!("layer {layer}, head {head}"), Some(layer)),
        PatternOf::LayerMean(layer) => (format!("layer {layer}, mean of its heads"), Some(layer)),
        PatternOf::ModelMean => ("mean of all heads".to_owned(), None),
    };
    let large = Large {
        title: format!("{} · {name}", scene.model()),
        note: note(scene, layer, &tile),
        tile,
        colors: scene.weight_colors(),
        bar_title: scene.weight_title(),
        legend: special_entries(&scene.palette).to_vec(),
    };
    Ok(drawn(scene, &large))
}

/// One head minus another.
pub(super) fn draw_difference(
    scene: &Scene<'_>,
    a: (usize, usize),
    b: (usize, usize),
    cancel: &CancelToken,
) -> Result<Drawing, ExportError> {
    let of = |(layer, head): (usize, usize)| PatternOf::Head { layer, head };
    check(scene, of(a))?;
    check(scene, of(b))?;
    let n = scene.capture.len();
    let area = TileArea::whole(n, pixels_in(SIDE, scene.options.scale));
    let tile = Difference::tile_of_heads(scene.capture, of(a), of(b), &area, cancel)?;
    let largest = tile.values.iter().copied().filter(|value| *value > NOT_AVAILABLE).map(f32::abs);
    let scale = ColorScale::of(scene.options.color);
    let scale = scale.over(scale.min(), largest.fold(2.0 * scale.min(), f32::max));
    let special = SpecialColors::for_differences(scene.options.theme == Theme::Dark);
    let large = Large {
        title: format!("{} · layer {}, head {} minus layer {}, head {}", scene.model(), a.0, a.1, b.0, b.1),
        note: note(scene, None, &tile).replace("the largest", "the largest difference"),
        tile,
        colors: ColorTable::diverging(scale, DivergingMap::default(), special),
        bar_title: format!("difference of attention weights ({} scale)", scene.options.color.name()),
        legend: vec![
            (Patch::Fill(special.masked), "query can't see the key"),
            (Patch::Fill(special.nan), "not a number"),
        ],
    };
    Ok(drawn(scene, &large))
}

fn check(scene: &Scene<'_>, of: PatternOf) -> Result<(), ExportError> {
    if scene.capture.has(of) {
        return Ok(());
    }
    let (layer, head) = match of {
        PatternOf::Head { layer, head } => (layer, head),
        PatternOf::LayerMean(layer) => (layer, 0),
        PatternOf::ModelMean => (0, 0),
    };
    let spec = &scene.capture.model.spec;
    Err(ExportError::NoSuchHead { layer, head, layers: spec.layers, heads: spec.heads })
}

fn drawn(scene: &Scene<'_>, large: &Large) -> Drawing {
    let plot = plot_area(&large.tile, scene.options.scale);
    let (width, height) = (plot.right() + RIGHT, plot.bottom() + BELOW + 24.0);
    let mut drawing = Drawing::new(width, height, scene.palette.background, &*large.title);
    heading(&mut drawing, &scene.palette, LEFT, &large.title, &large.note);
    let pixels = large.tile.values.iter().map(|&value| large.colors.rgb(value)).collect();
    drawing.image(Raster { area: plot, width: large.tile.width, height: large.tile.height, pixels });
    drawing.frame(plot, scene.palette.line, 0.75);
    token_axes(&mut drawing, scene, plot, &large.tile);
    let bar = Area::new(plot.right() + 16.0, plot.y, 12.0, plot.height);
    color_bar(&mut drawing, &scene.palette, bar, &large.colors, &large.bar_title);
    legend(&mut drawing, &scene.palette, LEFT, plot.bottom() + BELOW + 2.0, &large.legend);
    drawing
}

/// The square that the tile's cells fill: a whole number of pixels each.
fn plot_area(tile: &PatternTile, scale: f32) -> Area {
    let cells = tile.width.max(1);
    let magnification = (pixels_in(SIDE, scale) / cells).max(1);
    let side = (cells * magnification) as f32 / scale;
    Area::new(LEFT, TOP, side, side)
}

fn note(scene: &Scene<'_>, layer: Option<usize>, tile: &PatternTile) -> String {
    let n = scene.capture.len();
    let window_of = |layer: usize| scene.capture.model.spec.windows.get(layer).copied().flatten();
    let window = match layer.and_then(window_of) {
        Some(window) => format!(" · local layer, window {window}"),
        None => String::new(),
    };
    format!("{n} tokens · rows are queries, columns are keys · {}{window}", pooling_note(tile.pool))
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
