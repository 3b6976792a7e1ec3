//! Norms of one token against the median token's, by layer.

use crate::analysis::{NormRatios, norm_ratios_by_layer};
use crate::export::axes::{NOTE_SIZE, Patch, TICK_SIZE, compact, heading, legend, thinned};
use crate::export::drawing::{Anchor, Area, Drawing, Item, Label};
use crate::export::theme::Rgb;
use crate::export::views::Scene;

const PLOT: Area = Area { x: 64.0, y: 58.0, width: 560.0, height: 280.0 };
const SIZE: (f32, f32) = (660.0, 412.0);

/// A norm: its name, its colour, its value.
type Kind = (&'static str, Rgb, fn(&NormRatios) -> Option<f64>);

/// The ends of the logarithmic axis, as powers of ten.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn of(norms: &[NormRatios], kinds: &[Kind]) -> Self {
        let values = norms.iter().flat_map(|norms| kinds.iter().filter_map(|kind| (kind.2)(norms)));
        let logs: Vec<f64> = values.filter(|value| *value > 0.0).map(f64::log10).chain([0.0]).collect();
        let low = logs.iter().copied().fold(f64::INFINITY, f64::min).floor();
        let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max).ceil();
        Self { low, high: high.max(low + 1.0) }
    }

    fn y(&self, value: f64) -> f32 {
        let part = (value.log10().max(self.low) - self.low) / (self.high - self.low);
        PLOT.bottom() - part as f32 * PLOT.height
    }
}

pub(in crate::export::views) fn draw(scene: &Scene<'_>, token: usize) -> Drawing {
    let palette = &scene.palette;
    let norms = norm_ratios_by_layer(scene.capture, token);
    let kinds: [Kind; 3] = [
        ("hidden", palette.sink, |norms| norms.hidden),
        ("key", palette.structural, |norms| norms.key),
        ("value", palette.ink, |norms| norms.value),
    ];
    let title = format!("{} · norms of {token} {}", scene.model(), scene.token_label(token));
    let mut drawing = Drawing::new(SIZE.0, SIZE.1, palette.background, &*title);
    let note = "against the median token's of the same layer; keys and values: median over KV heads";
    heading(&mut drawing, palette, PLOT.x, &title, note);
    let axis = Axis::of(&norms, &kinds);
    y_axis(&mut drawing, scene, &axis);
    x_axis(&mut drawing, scene, norms.len());
    let x = |layer: usize| PLOT.x + PLOT.width * (layer as f32 + 0.5) / norms.len().max(1) as f32;
    for (place, kind) in kinds.iter().enumerate() {
        let points: Vec<(f32, f32)> = norms
            .iter()
            .enumerate()
            .filter_map(|(layer, norms)| {
                Some((x(layer), axis.y((kind.2)(norms).filter(|value| *value > 0.0)?)))
            })
            .collect();
        points.iter().for_each(|&at| mark(&mut drawing, place, at, kind.1));
        drawing.items.push(Item::Curve { points, color: kind.1, width: 1.2 });
    }
    let entries: Vec<(Patch, &str)> = kinds.iter().map(|kind| (Patch::Fill(kind.1), kind.0)).collect();
    legend(&mut drawing, palette, PLOT.x, SIZE.1 - 22.0, &entries);
    drawing
}

/// Hidden states are dots, keys squares, values hollow squares: colour is not the only sign.
fn mark(drawing: &mut Drawing, kind: usize, (x, y): (f32, f32), color: Rgb) {
    let square = Area::new(x - 2.5, y - 2.5, 5.0, 5.0);
    drawing.items.push(match kind {
        0 => Item::Fill(square, color, 2.5),
        1 => Item::Fill(square, color, 0.0),
        _ => Item::Frame(square, color, 1.0, 0.0),
    });
}

fn y_axis(drawing: &mut Drawing, scene: &Scene<'_>, axis: &Axis) {
    let palette = &scene.palette;
    let decades = axis.low as i32..=axis.high as i32;
    // A range of few decades gets thirds between them.
    let steps: &[f64] = if axis.high - axis.low < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    for value in decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade))) {
        if value.log10() > axis.high {
            continue;
        }
        let y = axis.y(value);
        drawing.line((PLOT.x, y), (PLOT.right(), y), palette.faint, 0.6);
        let label =
            Label::new(PLOT.x - 5.0, y + 3.0, TICK_SIZE, palette.soft, format!("{} ×", compact(value)));
        drawing.text(label.anchored(Anchor::End));
    }
    let one = axis.y(1.0);
    drawing.dashed((PLOT.x, one), (PLOT.right(), one), palette.soft, 0.8);
    let side =
        Label::new(18.0, PLOT.y + PLOT.height / 2.0, NOTE_SIZE, palette.soft, "× the median (log scale)");
    drawing.text(side.turned().anchored(Anchor::Middle));
    drawing.frame(PLOT, palette.line, 0.75);
}

fn x_axis(drawing: &mut Drawing, scene: &Scene<'_>, layers: usize) {
    let soft = scene.palette.soft;
    let pitch = PLOT.width / layers.max(1) as f32;
    for layer in thinned(layers, pitch, 2.5 * TICK_SIZE, &[]) {
        let x = PLOT.x + pitch * (layer as f32 + 0.5);
        let label = Label::new(x, PLOT.bottom() + 12.0, TICK_SIZE, soft, layer.to_string());
        drawing.text(label.anchored(Anchor::Middle));
    }
    let below = Label::new(PLOT.x + PLOT.width / 2.0, PLOT.bottom() + 28.0, NOTE_SIZE, soft, "layer");
    drawing.text(below.anchored(Anchor::Middle));
}
