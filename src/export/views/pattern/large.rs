//! A tile, large, with token labels on both axes, a colour bar and a legend.

use super::super::{Scene, pixels_in};
use crate::capture::PatternTile;
use crate::color::ColorTable;
use crate::export::axes::{NOTE_SIZE, Patch, TOKEN_SIZE, color_bar, heading, legend, thinned};
use crate::export::drawing::{Anchor, Area, Drawing, Label, Raster, shortened};
use std::ops::Range;

/// Wanted longer side of the pattern, in points.
pub(super) const SIDE: f32 = 470.0;
const LEFT: f32 = 120.0;
const TOP: f32 = 62.0;
/// Room for token labels and the axis title below the pattern.
const BELOW: f32 = 116.0;
const RIGHT: f32 = 110.0;
/// Characters of a token that an axis shows.
const LABEL_CHARS: usize = 14;
/// A picture that shows a few keys only is still wide enough for its words.
const LEAST_WIDTH: f32 = 520.0;

/// What is drawn: a tile with its colours and its words.
pub(super) struct Large<'a> {
    pub(super) title: String,
    pub(super) note: String,
    pub(super) tile: PatternTile,
    pub(super) colors: ColorTable,
    pub(super) bar_title: String,
    /// Token and position of each entry of the axes.
    pub(super) labels: &'a [(String, String)],
    /// Entries with a mark, ascending.
    pub(super) sinks: &'a [usize],
    /// Columns that are hatched.
    pub(super) hidden: &'a [usize],
    pub(super) legend: Vec<(Patch, &'static str)>,
}

impl Large<'_> {
    pub(super) fn draw(&self, scene: &Scene<'_>) -> Drawing {
        let plot = self.plot_area(scene.options.scale);
        let (width, height) = ((plot.right() + RIGHT).max(LEAST_WIDTH), plot.bottom() + BELOW + 24.0);
        let mut drawing = Drawing::new(width, height, scene.palette.background, &*self.title);
        heading(&mut drawing, &scene.palette, LEFT, &self.title, &self.note);
        let pixels = self.tile.values.iter().map(|&value| self.colors.rgb(value)).collect();
        drawing.image(Raster { area: plot, width: self.tile.width, height: self.tile.height, pixels });
        self.hatch(&mut drawing, scene, plot);
        drawing.frame(plot, scene.palette.line, 0.75);
        self.token_axes(&mut drawing, scene, plot);
        let bar = Area::new(plot.right() + 16.0, plot.y, 12.0, plot.height.max(120.0));
        color_bar(&mut drawing, &scene.palette, bar, &self.colors, &self.bar_title);
        legend(&mut drawing, &scene.palette, LEFT, plot.bottom() + BELOW + 2.0, &self.legend);
        drawing
    }

    /// The rectangle that the tile's cells fill: a whole number of pixels each.
    fn plot_area(&self, scale: f32) -> Area {
        let cells = self.tile.width.max(self.tile.height).max(1);
        let magnification = (pixels_in(SIDE, scale) / cells).max(1);
        let length = |cells: usize| (cells.max(1) * magnification) as f32 / scale;
        Area::new(LEFT, TOP, length(self.tile.width), length(self.tile.height))
    }

    /// Points along the axes that one entry takes. The last cell of a pooled tile may reach beyond the last token.
    fn spacing(&self, plot: Area) -> f32 {
        plot.width / (self.tile.width * self.tile.pool).max(1) as f32
    }

    /// Hidden columns, as far as queries see them.
    fn hatch(&self, drawing: &mut Drawing, scene: &Scene<'_>, plot: Area) {
        let spacing = self.spacing(plot);
        for &key in self.hidden.iter().filter(|key| self.tile.keys.contains(key)) {
            let x = plot.x + (key - self.tile.keys.start) as f32 * spacing;
            let y = plot.y + key.saturating_sub(self.tile.rows.start) as f32 * spacing;
            // A column narrower than a line is still seen.
            let (width, height) = (spacing.max(1.5).min(plot.right() - x), plot.bottom() - y);
            if height > 0.0 {
                drawing.hatch(Area::new(x, y, width, height), scene.palette.line, 4.0);
            }
        }
    }

    fn token_axes(&self, drawing: &mut Drawing, scene: &Scene<'_>, plot: Area) {
        let spacing = self.spacing(plot);
        for index in self.labelled(&self.tile.rows, spacing) {
            let y = plot.y + ((index - self.tile.rows.start) as f32 + 0.5) * spacing;
            let color = self.color(scene, index);
            drawing.line((plot.x - 3.0, y), (plot.x, y), color, 0.6);
            let label = Label::new(plot.x - 5.0, y + 2.8, TOKEN_SIZE, color, self.text(index));
            drawing.text(label.mono().anchored(Anchor::End));
        }
        for index in self.labelled(&self.tile.keys, spacing) {
            let x = plot.x + ((index - self.tile.keys.start) as f32 + 0.5) * spacing;
            let color = self.color(scene, index);
            drawing.line((x, plot.bottom()), (x, plot.bottom() + 3.0), color, 0.6);
            let label = Label::new(x + 2.8, plot.bottom() + 5.0, TOKEN_SIZE, color, self.text(index));
            drawing.text(label.mono().turned().anchored(Anchor::End));
        }
        for &index in self.sinks.iter().filter(|index| self.tile.keys.contains(index)) {
            let x = plot.x + ((index - self.tile.keys.start) as f32 + 0.5) * spacing;
            drawing.line((x, plot.y - 8.0), (x, plot.y - 1.5), scene.palette.sink, 1.5);
        }
        self.axis_titles(drawing, scene, plot);
    }

    /// Entries of a range that get a label.
    fn labelled(&self, range: &Range<usize>, spacing: f32) -> Vec<usize> {
        let sinks = self.sinks.iter().filter(|index| range.contains(index));
        let wanted: Vec<usize> = sinks.map(|index| index - range.start).collect();
        let chosen = thinned(range.len(), spacing, TOKEN_SIZE + 1.0, &wanted);
        chosen.into_iter().map(|offset| range.start + offset).collect()
    }

    fn color(&self, scene: &Scene<'_>, index: usize) -> [u8; 3] {
        let is_sink = self.sinks.binary_search(&index).is_ok();
        if is_sink { scene.palette.sink } else { scene.palette.soft }
    }

    fn text(&self, index: usize) -> String {
        self.labels.get(index).map_or_else(String::new, |(token, position)| {
            format!("{} {position}", shortened(token, LABEL_CHARS))
        })
    }

    fn axis_titles(&self, drawing: &mut Drawing, scene: &Scene<'_>, plot: Area) {
        let soft = scene.palette.soft;
        let (x, y) = (plot.x + plot.width / 2.0, plot.y + plot.height / 2.0);
        let keys = Label::new(x, plot.bottom() + BELOW - 14.0, NOTE_SIZE, soft, "key (token, index)");
        drawing.text(keys.anchored(Anchor::Middle));
        let queries = Label::new(16.0, y, NOTE_SIZE, soft, "query (token, index)");
        drawing.text(queries.turned().anchored(Anchor::Middle));
        if self.sinks.iter().any(|index| self.tile.keys.contains(index)) {
            let right =
                Label::new(plot.right(), plot.y - 4.0, TOKEN_SIZE, scene.palette.sink, "| detected sinks");
            drawing.text(right.anchored(Anchor::End));
        }
    }
}
