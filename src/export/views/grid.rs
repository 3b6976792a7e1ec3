//! All heads at once: one small pattern each, layers along one side, heads along the other.

use super::{Scene, pixels_in, pooling_note};
use crate::capture::PatternTile;
use crate::export::ExportError;
use crate::export::axes::{NOTE_SIZE, TICK_SIZE, color_bar, heading, legend, special_entries, thinned};
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
    scale: f32,
}

pub(super) fn draw(scene: &Scene<'_>, cancel: &CancelToken) -> Result<Drawing, ExportError> {
    let spec = &scene.capture.model.spec;
    let wanted = wanted_tile(spec.layers.max(spec.heads));
    let max_side = pixels_in(wanted, scene.options.scale);
    let pairs: Vec<(usize, usize)> =
        (0..spec.layers).flat_map(|layer| (0..spec.heads).map(move |head| (layer, head))).collect();
    let tiles = pairs
        .par_iter()
        .map(|&(layer, head)| scene.tile(layer, head, max_side, cancel))
        .collect::<Result<Vec<_>, _>>()?;
    let Some(first) = tiles.first() else {
        return Err(ExportError::Raster("the model has no heads".to_owned()));
    };
    let layout = Layout::of(scene, first, max_side);
    let area = layout.area();

    let title = format!("{} · attention of all heads", scene.model());
    let note = format!(
        "{} tokens · in each tile rows are queries, columns are keys · {}",
        scene.capture.len(),
        pooling_note(first.pool)
    );
    let mut drawing =
        Drawing::new(area.right() + RIGHT, area.bottom() + BELOW, scene.palette.background, &*title);
    heading(&mut drawing, &scene.palette, LEFT, &title, &note);
    drawing.image(compose(scene, &layout, &pairs, &tiles));
    axes(&mut drawing, scene, &layout);
    let bar = Area::new(area.right() + 16.0, area.y, 12.0, area.height);
    color_bar(&mut drawing, &scene.palette, bar, &scene.weight_colors(), &scene.weight_title());
    legend(&mut drawing, &scene.palette, LEFT, area.bottom() + 14.0, &special_entries(&scene.palette));
    Ok(drawing)
}

fn wanted_tile(columns: usize) -> f32 {
    (WIDTH / columns.max(1) as f32 - 1.5).clamp(MIN_TILE, MAX_TILE)
}

impl Layout {
    fn of(scene: &Scene<'_>, tile: &PatternTile, max_side: usize) -> Self {
        let spec = &scene.capture.model.spec;
        let layers_down = spec.layers <= spec.heads;
        let (rows, columns) = if layers_down { (spec.layers, spec.heads) } else { (spec.heads, spec.layers) };
        let magnification = (max_side / tile.width.max(1)).max(1);
        let scale = scene.options.scale;
        Self {
            columns,
            rows,
            layers_down,
            magnification,
            tile_px: tile.width * magnification,
            gap_px: pixels_in(1.5, scale),
            scale,
        }
    }

    fn pitch_px(&self) -> usize {
        self.tile_px + self.gap_px
    }

    fn size_px(&self) -> (usize, usize) {
        let length = |tiles: usize| tiles * self.pitch_px() - self.gap_px;
        (length(self.columns), length(self.rows))
    }

    /// Column and row of a head's tile.
    fn place(&self, layer: usize, head: usize) -> (usize, usize) {
        if self.layers_down { (head, layer) } else { (layer, head) }
    }

    fn area(&self) -> Area {
        let (width, height) = self.size_px();
        Area::new(LEFT, TOP, width as f32 / self.scale, height as f32 / self.scale)
    }
}

fn compose(scene: &Scene<'_>, layout: &Layout, pairs: &[(usize, usize)], tiles: &[PatternTile]) -> Raster {
    let colors = scene.weight_colors();
    let (width, height) = layout.size_px();
    let mut pixels = vec![scene.palette.background; width * height];
    for (&(layer, head), tile) in pairs.iter().zip(tiles) {
        let (column, row) = layout.place(layer, head);
        let corner = row * layout.pitch_px() * width + column * layout.pitch_px();
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
