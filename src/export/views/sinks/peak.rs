//! The two components of each head's mass: the peak on the first keys, and the tail.

use super::cells::{Cells, map_height};
use crate::analysis::{PEAK_BINS, PeakSplit, PeakTable, peak_bins};
use crate::color::{ColorScale, ColorTable, ScaleKind};
use crate::export::axes::{NOTE_SIZE, TICK_SIZE, color_bar, heading};
use crate::export::drawing::{Anchor, Area, Drawing, Face, Label, text_width};
use crate::export::theme::ink_on;
use crate::export::views::Scene;

const LEFT: f32 = 60.0;
const WIDTH: f32 = 420.0;
const SHARES: Area = Area { x: LEFT, y: 56.0, width: WIDTH, height: 20.0 };
const HISTOGRAM: Area = Area { x: LEFT, y: 112.0, width: WIDTH, height: 96.0 };
const MAP_TOP: f32 = 262.0;

/// The layers and heads that the profile averages over.
pub(in crate::export) fn chosen_heads(scene: &Scene<'_>) -> Vec<(usize, usize)> {
    let spec = &scene.capture.model.spec;
    scene.analysis.options.selection.pairs(spec.layers, spec.heads)
}

pub(in crate::export::views) fn draw(scene: &Scene<'_>, keys: usize) -> Drawing {
    let table = PeakTable::of(scene.capture);
    let spec = &scene.capture.model.spec;
    let chosen = chosen_heads(scene);
    let map = Area::new(LEFT, MAP_TOP, WIDTH, map_height(spec.layers));
    let title = format!("{} · peak on the first {keys} keys, and tail", scene.model());
    let mut drawing =
        Drawing::new(map.right() + 110.0, map.bottom() + 44.0, scene.palette.background, &*title);
    let note = format!(
        "{} tokens · of the rows behind the peak · mean over {} heads",
        scene.capture.len(),
        chosen.len()
    );
    heading(&mut drawing, &scene.palette, LEFT, &title, &note);
    shares(&mut drawing, scene, table.mean(chosen.iter().copied(), keys));
    let splits: Vec<f64> =
        chosen.iter().filter_map(|&(layer, head)| Some(table.split(layer, head, keys)?.peak)).collect();
    histogram(&mut drawing, scene, &splits);
    let colors = ColorTable::new(ColorScale::of(ScaleKind::Linear), scene.options.map, scene.palette.special);
    let cells = Cells {
        size: (spec.layers, spec.heads),
        columns_are: "head",
        value: &|layer, head| table.split(layer, head, keys).map(|split| split.peak),
        color: &|value| {
            let missing = scene.palette.special.masked;
            value.map_or(missing, |value| colors.rgb((value as f32).max(1e-6)))
        },
    };
    caption(&mut drawing, scene, map.y - 8.0, "peak share of every head");
    cells.draw(&mut drawing, scene, map);
    let bar = Area::new(map.right() + 16.0, map.y, 12.0, map.height);
    color_bar(&mut drawing, &scene.palette, bar, &colors, "peak share (linear scale)");
    drawing
}

fn caption(drawing: &mut Drawing, scene: &Scene<'_>, y: f32, text: &str) {
    drawing.text(Label::new(LEFT, y, NOTE_SIZE, scene.palette.soft, text));
}

/// The mean shares as one bar whose parts are named.
fn shares(drawing: &mut Drawing, scene: &Scene<'_>, mean: Option<PeakSplit>) {
    let Some(mean) = mean else {
        caption(drawing, scene, SHARES.y + 13.0, "No row lies behind these keys");
        return;
    };
    let palette = &scene.palette;
    let parts = [
        ("peak", mean.peak, palette.sink),
        ("tail", mean.tail, palette.bar),
        ("virtual", mean.virtual_key, palette.structural),
    ];
    let mut x = SHARES.x;
    for (name, share, fill) in parts.into_iter().filter(|part| part.1 > 0.0) {
        let part = Area::new(x, SHARES.y, SHARES.width * share as f32, SHARES.height);
        drawing.fill(part, fill);
        let text = format!("{name} {:.1} %", share * 100.0);
        if text_width(&text, NOTE_SIZE, Face::Sans) + 6.0 < part.width {
            let at = (part.x + part.width / 2.0, part.y + 13.5);
            drawing.text(Label::new(at.0, at.1, NOTE_SIZE, ink_on(fill), text).anchored(Anchor::Middle));
        }
        x = part.right();
    }
}

/// How many heads have which peak share.
fn histogram(drawing: &mut Drawing, scene: &Scene<'_>, splits: &[f64]) {
    let palette = &scene.palette;
    let bins = peak_bins(splits);
    let most = bins.iter().copied().max().unwrap_or(0).max(1);
    caption(drawing, scene, HISTOGRAM.y - 8.0, &format!("{} heads by peak share", splits.len()));
    let width = HISTOGRAM.width / PEAK_BINS as f32;
    for (bin, &count) in bins.iter().enumerate() {
        let height = HISTOGRAM.height * count as f32 / most as f32;
        let x = HISTOGRAM.x + width * bin as f32;
        drawing.fill(Area::new(x + 0.5, HISTOGRAM.bottom() - height, width - 1.0, height), palette.bar);
    }
    drawing.frame(HISTOGRAM, palette.line, 0.75);
    for (part, text) in [(0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")] {
        let x = HISTOGRAM.x + HISTOGRAM.width * part;
        let label = Label::new(x, HISTOGRAM.bottom() + 12.0, TICK_SIZE, palette.soft, text);
        drawing.text(label.anchored(Anchor::Middle));
    }
    let count = Label::new(HISTOGRAM.x - 5.0, HISTOGRAM.y + 7.0, TICK_SIZE, palette.soft, most.to_string());
    drawing.text(count.anchored(Anchor::End));
}
