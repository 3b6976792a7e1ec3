//! All heads at once: one small pattern each, layers along one side, heads along the other.

use super::pattern::name_of;
use super::sinks::{Cells, map_height};
use super::{GridView, Scene, pixels_in, pooling_note};
use crate::analysis::{ComparedRows, HeadMetrics, HeadOrder, ranked, share_on_keys};
use crate::capture::{PatternOf, PatternTile};
use crate::color::{ColorMap, ColorScale, ColorTable, ScaleKind};
use crate::export::ExportError;
use crate::export::axes::{
    NOTE_SIZE, TICK_SIZE, color_bar, compact, heading, legend, special_entries, thinned,
};
use crate::export::drawing::{Anchor, Area, Drawing, Label, Raster};
use crate::export::theme::Rgb;
use crate::progress::CancelToken;
use rayon::prelude::*;

/// Wanted width of the whole grid, in points.
const WIDTH: f32 = 640.0;
const MAX_TILE: f32 = 90.0;
const MIN_TILE: f32 = 10.0;
const LEFT: f32 = 52.0;
const TOP: f32 = 76.0;
const RIGHT: f32 = 110.0;
const BELOW: f32 = 36.0;
/// Tiles in a row when they are in the order of a value.
const RANKED_COLUMNS: usize = 12;
const CAPTION_SIZE: f32 = 7.5;

/// Where the tiles go, in pixels of the composed picture.
struct Layout {
    columns: usize,
    rows: usize,
    /// Whether layers run down (and heads across); else the other way round, for a landscape page.
    layers_down: bool,
    /// Pixels per cell of a tile.
    magnification: usize,
    tile_px: usize,
    gap_px: usize,
    /// Room for a caption above each row of tiles but the first.
    caption_px: usize,
    scale: f32,
}

pub(super) fn draw(scene: &Scene<'_>, view: &GridView, cancel: &CancelToken) -> Result<Drawing, ExportError> {
    scene.check(PatternOf::Head { layer: 0, head: 0 })?;
    if view.order == HeadOrder::Layer {
        return patterns(scene, view, &[], cancel);
    }
    let values = head_values(scene, view)?;
    if view.as_map { Ok(map(scene, view, &values)) } else { patterns(scene, view, &values, cancel) }
}

/// What a value of the grid's order is called.
pub(in crate::export) fn value_name(view: &GridView) -> String {
    match (view.order, view.token, view.similar_to) {
        (HeadOrder::OnSelected, Some(token), _) => format!("share on token {token}"),
        (HeadOrder::Similarity, _, of) => {
            let without = if view.without_sinks { ", without sinks" } else { "" };
            format!("cosine with {}{without}", name_of(of))
        }
        (order, ..) => format!("{}{}", order.name(), order.unit()),
    }
}

/// The value of each head, by `layer · heads + head`.
pub(in crate::export) fn head_values(
    scene: &Scene<'_>,
    view: &GridView,
) -> Result<Vec<Option<f64>>, ExportError> {
    let (capture, heads) = (scene.capture, scene.capture.model.spec.heads);
    let sinks = &scene.analysis.detection.flagged;
    let rows = if view.order == HeadOrder::Similarity {
        scene.check(view.similar_to)?;
        let hidden: &[usize] = if view.without_sinks { sinks } else { &[] };
        Some(ComparedRows::of(capture, view.similar_to, hidden))
    } else {
        None
    };
    let value = |index: usize| {
        let (layer, head) = (index / heads, index % heads);
        match (view.order, &rows) {
            (HeadOrder::OnSinks, _) if sinks.is_empty() => None,
            (HeadOrder::OnSinks, _) => share_on_keys(capture, layer, head, sinks),
            (HeadOrder::OnSelected, _) => share_on_keys(capture, layer, head, view.token.as_slice()),
            (_, Some(rows)) => rows.cosine(capture, PatternOf::Head { layer, head }),
            (order, None) => order.of(&HeadMetrics::of(capture, layer, head)),
        }
    };
    Ok((0..capture.layers.len() * heads).into_par_iter().map(value).collect())
}

/// A map of values, layers down and heads across.
fn map(scene: &Scene<'_>, view: &GridView, values: &[Option<f64>]) -> Drawing {
    let spec = &scene.capture.model.spec;
    let area = Area::new(
        LEFT + 8.0,
        TOP - 16.0,
        (spec.heads as f32 * 22.0).clamp(260.0, 560.0),
        map_height(spec.layers),
    );
    let title = format!("{} · {} of every head", scene.model(), value_name(view));
    let mut drawing =
        Drawing::new(area.right() + RIGHT, area.bottom() + 48.0, scene.palette.background, &*title);
    let known = || values.iter().flatten().copied().filter(|value| value.is_finite());
    let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    let note = format!("{} tokens · from {} to {}", scene.capture.len(), compact(low), compact(high));
    heading(&mut drawing, &scene.palette, area.x, &title, &note);
    // As in the window: values have a map of their own, from the smallest to the largest.
    let table = ColorTable::new(ColorScale::of(ScaleKind::Linear), ColorMap::Viridis, scene.palette.special);
    let part = |value: f64| ((value - low) / (high - low).max(f64::MIN_POSITIVE)) as f32;
    let cells = Cells {
        size: (spec.layers, spec.heads),
        columns_are: "head",
        value: &|layer, head| values[layer * spec.heads + head],
        color: &|value| value.map_or(scene.palette.special.masked, |value| table.at(part(value))),
    };
    cells.draw(&mut drawing, scene, area);
    let bar = Area::new(area.right() + 16.0, area.y, 12.0, area.height);
    let pixels = (0..256).rev().map(|step| table.at(step as f32 / 255.0)).collect();
    drawing.image(Raster { area: bar, width: 1, height: 256, pixels });
    drawing.frame(bar, scene.palette.line, 0.5);
    for (y, value) in [(bar.y + 6.0, high), (bar.bottom(), low)] {
        drawing.text(Label::new(bar.right() + 6.0, y, TICK_SIZE, scene.palette.soft, compact(value)));
    }
    drawing
}

/// Small patterns: by layer and head, or in the order of their values.
fn patterns(
    scene: &Scene<'_>,
    view: &GridView,
    values: &[Option<f64>],
    cancel: &CancelToken,
) -> Result<Drawing, ExportError> {
    let spec = &scene.capture.model.spec;
    let is_ranked = view.order != HeadOrder::Layer;
    let columns =
        if is_ranked { RANKED_COLUMNS.min(spec.layers * spec.heads) } else { spec.layers.max(spec.heads) };
    let max_side = pixels_in(wanted_tile(columns), scene.options.scale);
    let order: Vec<usize> = if is_ranked { ranked(values) } else { (0..spec.layers * spec.heads).collect() };
    let pairs: Vec<(usize, usize)> =
        order.iter().map(|index| (index / spec.heads, index % spec.heads)).collect();
    let tiles = pairs
        .par_iter()
        .map(|&(layer, head)| scene.tile(layer, head, max_side, cancel))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(first) = tiles.first() else {
        return Err(ExportError::Raster("the model has no heads".to_owned()));
    };
    let layout = Layout::of(scene, first, max_side, is_ranked.then_some(columns));
    let area = layout.area();

    let title = if is_ranked {
        format!("{} · heads by {}", scene.model(), value_name(view))
    } else {
        format!("{} · attention of all heads", scene.model())
    };
    let note = format!(
        "{} tokens · in each tile rows are queries, columns are keys · {}",
        scene.capture.len(),
        pooling_note(first.pool)
    );
    let mut drawing =
        Drawing::new(area.right() + RIGHT, area.bottom() + BELOW, scene.palette.background, &*title);
    heading(&mut drawing, &scene.palette, LEFT, &title, &note);
    drawing.image(compose(scene, &layout, &tiles, spec.heads));
    if is_ranked {
        captions(&mut drawing, scene, &layout, &order, values);
    } else {
        axes(&mut drawing, scene, &layout);
    }
    let bar = Area::new(area.right() + 16.0, area.y, 12.0, area.height.max(120.0));
    color_bar(&mut drawing, &scene.palette, bar, &scene.weight_colors(), &scene.weight_title());
    legend(&mut drawing, &scene.palette, LEFT, area.bottom() + 14.0, &special_entries(&scene.palette));
    Ok(drawing)
}

/// Above each ranked tile its head and its value.
fn captions(
    drawing: &mut Drawing,
    scene: &Scene<'_>,
    layout: &Layout,
    order: &[usize],
    values: &[Option<f64>],
) {
    let (palette, area, heads) = (&scene.palette, layout.area(), scene.capture.model.spec.heads);
    let pitch = |px: usize| px as f32 / layout.scale;
    for (place, &index) in order.iter().enumerate() {
        let x = area.x + (place % layout.columns) as f32 * pitch(layout.pitch_px());
        let y = area.y + (place / layout.columns) as f32 * pitch(layout.row_px()) - 3.0;
        let value = values[index].map_or_else(|| "n/a".to_owned(), compact);
        let text = format!("{}:{} {value}", index / heads, index % heads);
        drawing.text(Label::new(x, y, CAPTION_SIZE, palette.soft, text));
    }
}

fn wanted_tile(columns: usize) -> f32 {
    (WIDTH / columns.max(1) as f32 - 1.5).clamp(MIN_TILE, MAX_TILE)
}

impl Layout {
    /// By layer and head, or in rows of so many tiles.
    fn of(scene: &Scene<'_>, tile: &PatternTile, max_side: usize, ranked_columns: Option<usize>) -> Self {
        let spec = &scene.capture.model.spec;
        let layers_down = ranked_columns.is_none() && spec.layers <= spec.heads;
        let (rows, columns) = match ranked_columns {
            Some(columns) => ((spec.layers * spec.heads).div_ceil(columns.max(1)), columns),
            None if layers_down => (spec.layers, spec.heads),
            None => (spec.heads, spec.layers),
        };
        let magnification = (max_side / tile.width.max(1)).max(1);
        let scale = scene.options.scale;
        Self {
            columns,
            rows,
            layers_down,
            magnification,
            tile_px: tile.width * magnification,
            gap_px: pixels_in(1.5, scale),
            caption_px: if ranked_columns.is_some() { pixels_in(CAPTION_SIZE + 3.0, scale) } else { 0 },
            scale,
        }
    }

    fn pitch_px(&self) -> usize {
        self.tile_px + self.gap_px
    }

    fn row_px(&self) -> usize {
        self.pitch_px() + self.caption_px
    }

    fn size_px(&self) -> (usize, usize) {
        let last = |tiles: usize, pitch: usize| tiles.saturating_sub(1) * pitch + self.tile_px;
        (last(self.columns, self.pitch_px()), last(self.rows, self.row_px()))
    }

    /// Column and row of a tile: of the head of that number, or of that rank.
    fn place(&self, index: usize, heads: usize) -> (usize, usize) {
        match (self.caption_px > 0, self.layers_down) {
            (true, _) => (index % self.columns, index / self.columns),
            (false, true) => (index % heads, index / heads),
            (false, false) => (index / heads, index % heads),
        }
    }

    fn area(&self) -> Area {
        let (width, height) = self.size_px();
        Area::new(LEFT, TOP, width as f32 / self.scale, height as f32 / self.scale)
    }
}

fn compose(scene: &Scene<'_>, layout: &Layout, tiles: &[PatternTile], heads: usize) -> Raster {
    let colors = scene.weight_colors();
    let (width, height) = layout.size_px();
    let mut pixels = vec![scene.palette.background; width * height];
    for (index, tile) in tiles.iter().enumerate() {
        let (column, row) = layout.place(index, heads);
        let corner = row * layout.row_px() * width + column * layout.pitch_px();
        let cells: Vec<Rgb> = tile.values.iter().map(|&weight| colors.rgb(weight)).collect();
        for y in 0..layout.tile_px {
            let cell_row = &cells[y / layout.magnification * tile.width..][..tile.width];
            let line = &mut pixels[corner + y * width..][..layout.tile_px];
            for (pixel, x) in line.iter_mut().zip(0..) {
                *pixel = cell_row[x / layout.magnification];
            }
        }
    }
    Raster { area: layout.area(), width, height, pixels }
}

fn axes(drawing: &mut Drawing, scene: &Scene<'_>, layout: &Layout) {
    let (palette, area) = (&scene.palette, layout.area());
    let pitch = layout.pitch_px() as f32 / layout.scale;
    let middle = layout.tile_px as f32 / layout.scale / 2.0;
    for column in thinned(layout.columns, pitch, 2.2 * TICK_SIZE, &[]) {
        let x = area.x + column as f32 * pitch + middle;
        let label = Label::new(x, area.y - 5.0, TICK_SIZE, palette.soft, column.to_string());
        drawing.text(label.anchored(Anchor::Middle));
    }
    for row in thinned(layout.rows, pitch, 1.1 * TICK_SIZE, &[]) {
        let y = area.y + row as f32 * pitch + middle + 3.0;
        let label = Label::new(area.x - 6.0, y, TICK_SIZE, palette.soft, row.to_string());
        drawing.text(label.anchored(Anchor::End));
    }
    let (across, down) = if layout.layers_down { ("head", "layer") } else { ("layer", "head") };
    let top = Label::new(area.x + area.width / 2.0, area.y - 18.0, NOTE_SIZE, palette.soft, across);
    drawing.text(top.anchored(Anchor::Middle));
    let side = Label::new(area.x - 28.0, area.y + area.height / 2.0, NOTE_SIZE, palette.soft, down);
    drawing.text(side.turned().anchored(Anchor::Middle));
}
