//! Maps of cells with layers down.

use crate::export::axes::{NOTE_SIZE, TICK_SIZE, thinned};
use crate::export::drawing::{Anchor, Area, Drawing, Label, Raster};
use crate::export::theme::Rgb;
use crate::export::views::{Scene, pixels_in};

/// A map of layers × columns.
pub(in crate::export::views) struct Cells<'a> {
    /// Layers and columns.
    pub(in crate::export::views) size: (usize, usize),
    /// What a column is.
    pub(in crate::export::views) columns_are: &'a str,
    /// The value of a cell; of columns that share a pixel the largest is drawn.
    pub(in crate::export::views) value: &'a dyn Fn(usize, usize) -> Option<f64>,
    /// Its colour.
    pub(in crate::export::views) color: &'a dyn Fn(Option<f64>) -> Rgb,
}

impl Cells<'_> {
    /// Draws the map with its axes into an area.
    pub(in crate::export::views) fn draw(&self, drawing: &mut Drawing, scene: &Scene<'_>, area: Area) {
        let (rows, columns) = self.size;
        let most = pixels_in(area.width, scene.options.scale);
        let pool = columns.div_ceil(most).max(1);
        let width = columns.div_ceil(pool);
        let mut pixels = Vec::with_capacity(rows * width);
        for row in 0..rows {
            for cell in 0..width {
                let pooled = cell * pool..((cell + 1) * pool).min(columns);
                let values = pooled.filter_map(|column| (self.value)(row, column));
                pixels.push((self.color)(values.reduce(f64::max)));
            }
        }
        drawing.image(Raster { area, width, height: rows, pixels });
        drawing.frame(area, scene.palette.line, 0.75);
        self.axes(drawing, scene, area);
    }

    fn axes(&self, drawing: &mut Drawing, scene: &Scene<'_>, area: Area) {
        let (rows, columns) = self.size;
        let soft = scene.palette.soft;
        let row = area.height / rows.max(1) as f32;
        for layer in thinned(rows, row, TICK_SIZE + 1.0, &[]) {
            let y = area.y + row * (layer as f32 + 0.5) + 3.0;
            let label = Label::new(area.x - 5.0, y, TICK_SIZE, soft, layer.to_string());
            drawing.text(label.anchored(Anchor::End));
        }
        let column = area.width / columns.max(1) as f32;
        for index in thinned(columns, column, 4.0 * TICK_SIZE, &[]) {
            let x = area.x + column * (index as f32 + 0.5);
            drawing.line((x, area.bottom()), (x, area.bottom() + 3.0), soft, 0.5);
            let label = Label::new(x, area.bottom() + 12.0, TICK_SIZE, soft, index.to_string());
            drawing.text(label.anchored(Anchor::Middle));
        }
        let below =
            Label::new(area.x + area.width / 2.0, area.bottom() + 26.0, NOTE_SIZE, soft, self.columns_are);
        drawing.text(below.anchored(Anchor::Middle));
        let side = Label::new(area.x - 26.0, area.y + area.height / 2.0, NOTE_SIZE, soft, "layer");
        drawing.text(side.turned().anchored(Anchor::Middle));
    }
}

/// The height of a map of layers: rows as high as fits a page.
pub(in crate::export::views) fn map_height(layers: usize) -> f32 {
    (layers as f32 * 11.0).clamp(90.0, 420.0)
}
