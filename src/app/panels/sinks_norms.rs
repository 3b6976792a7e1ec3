//! Norms of one token against the median token's, layer by layer, on a logarithmic scale.

use super::profile_axis::{LogRange, decades, position_tick, positions, third_tick, thirds, tick};
use crate::analysis::{Detection, NormRatios};
use crate::app::format;
use crate::app::run::{Run, TokenFacts};
use crate::app::theme::Palette;
use crate::widgets::controls;
use egui::{Color32, RichText, Ui, Vec2b, vec2};
use egui_plot::{HLine, Line, MarkerShape, Plot, PlotPoints, Points};

/// One of the three norms: its name, its marker, its colour, its value.
struct Kind {
    name: &'static str,
    shape: MarkerShape,
    sign: &'static str,
    color: Color32,
    of: fn(&NormRatios) -> Option<f64>,
}

fn kinds(palette: Palette) -> [Kind; 3] {
    [
        Kind {
            name: "hidden",
            shape: MarkerShape::Circle,
            sign: "●",
            color: palette.sink,
            of: |norms| norms.hidden,
        },
        Kind {
            name: "key",
            shape: MarkerShape::Square,
            sign: "■",
            color: palette.accent,
            of: |norms| norms.key,
        },
        Kind {
            name: "value",
            shape: MarkerShape::Up,
            sign: "▲",
            color: palette.good,
            of: |norms| norms.value,
        },
    ]
}

/// Draws the three lines.
pub(super) fn ui(ui: &mut Ui, run: &Run, facts: &TokenFacts) {
    let palette = Palette::of(ui);
    let label = run.capture.tokens.tokens[facts.index].label();
    let title = format!("Norms of {} {label}", facts.index);
    ui.add(egui::Label::new(RichText::new(title).size(12.0).strong()).truncate());
    let unit = "× the median token's, by layer · log";
    ui.label(RichText::new(unit).size(11.0).color(palette.weak));
    let kinds = kinds(palette);
    ui.horizontal(|ui| {
        for kind in &kinds {
            ui.label(RichText::new(format!("{} {}", kind.sign, kind.name)).size(11.5).color(kind.color))
                .on_hover_text(meaning(kind.name));
        }
    });
    let all: Vec<Option<f64>> = facts
        .norms
        .iter()
        .flat_map(|norms| kinds.iter().map(|kind| (kind.of)(norms)))
        .chain([Some(1.0)])
        .collect();
    let range = LogRange::of(&all, &Detection::of(&[], 0.0));
    let is_narrow = range.high - range.low < 2.0;
    let layers = facts.norms.len();
    let plot = Plot::new(("norms", run.capture.id))
        .show_background(false)
        .show_grid(Vec2b::new(false, true))
        .allow_drag(false)
        .allow_zoom(false)
        .allow_scroll(false)
        .allow_boxed_zoom(false)
        .allow_axis_zoom_drag(false)
        .default_x_bounds(-0.5, layers as f64 - 0.5)
        .default_y_bounds(range.low, range.high)
        .set_margin_fraction(vec2(0.0, 0.0))
        .x_grid_spacer(|input| positions(input.bounds))
        .y_grid_spacer(move |input| if is_narrow { thirds(input.bounds) } else { decades(input.bounds) })
        .y_axis_formatter(move |mark, _| if is_narrow { third_tick(mark.value) } else { tick(mark.value) })
        .x_axis_formatter(|mark, _| position_tick(mark))
        .x_axis_label(RichText::new("layer").size(11.0))
        .y_axis_min_width(36.0)
        .show_crosshair(false)
        .grid_color(palette.line)
        .label_formatter(|_| None);
    let response = plot.show(ui, |plot| {
        plot.set_plot_bounds_y(range.low..=range.high);
        plot.hline(HLine::new("median", 0.0).color(palette.weak.gamma_multiply(0.6)).width(1.0));
        for kind in &kinds {
            let point = |(layer, norms): (usize, &NormRatios)| {
                let value = (kind.of)(norms).filter(|value| *value > 0.0);
                [layer as f64, value.map_or(f64::NAN, |value| value.log10().max(range.low))]
            };
            let points: Vec<[f64; 2]> = facts.norms.iter().enumerate().map(point).collect();
            let line = Line::new(kind.name, PlotPoints::from(points.clone()));
            plot.line(line.color(kind.color).width(1.2).allow_hover(false));
            let marks = Points::new(kind.name, PlotPoints::from(points)).shape(kind.shape).radius(3.0);
            plot.points(marks.color(kind.color).filled(true).allow_hover(false));
        }
    });
    let hovered = response.response.hover_pos().and_then(|pos| {
        let layer = response.transform.value_from_position(pos).x.round();
        facts.norms.get(layer.max(0.0) as usize).map(|norms| (layer.max(0.0) as usize, *norms))
    });
    controls::name(&response.response, "Norms by layer");
    if let Some((layer, norms)) = hovered {
        let said = says(layer, &norms, &kinds);
        response
            .response
            .ctx
            .accesskit_node_builder(response.response.id, |node| node.set_value(said.as_str()));
        response.response.on_hover_text(said);
    }
}

fn says(layer: usize, norms: &NormRatios, kinds: &[Kind]) -> String {
    let number = |value: Option<f64>| {
        value.map_or_else(|| "n/a".to_owned(), |v| format!("{} ×", format::significant(v)))
    };
    let lines: Vec<String> =
        kinds.iter().map(|kind| format!("{} {}", kind.name, number((kind.of)(norms)))).collect();
    format!("Layer {layer}: {}", lines.join(", "))
}

fn meaning(name: &str) -> &'static str {
    match name {
        "hidden" => "Residual stream behind the layer; very large at sinks (massive activations)",
        "key" => "Median over KV heads; small at sinks",
        _ => "Median over KV heads; near 0 where attending here is a head's way to do nothing",
    }
}
