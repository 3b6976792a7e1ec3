//! Two maps: α and sinking heads of one token over layers and heads, and the profile over layers and positions.

use crate::analysis::SINK_RATE_EPSILON;
use crate::app::command::Command;
use crate::app::format;
use crate::app::run::{Run, TokenFacts};
use crate::app::theme::Palette;
use crate::app::view::HeadId;
use crate::color::{ColorMap, ColorScale, ColorTable, ProfileScale, ScaleKind, SpecialColors};
use crate::widgets::cell_map::CellMap;
use egui::{Align2, Color32, FontId, Rect, RichText, Stroke, Ui, pos2, vec2};

/// Room for layer numbers.
const GUTTER: f32 = 20.0;
/// Room for the column axis below.
const AXIS: f32 = 16.0;

/// Draws both maps side by side.
pub(super) fn ui(ui: &mut Ui, run: &Run, commands: &mut Vec<Command>) {
    let height = (ui.available_height() - 34.0 - AXIS).max(60.0);
    let narrow = (ui.available_width() * 0.36).clamp(80.0, 150.0);
    ui.horizontal_top(|ui| {
        if let Some(facts) = &run.focus {
            ui.vertical(|ui| alpha_map(ui, run, facts, vec2(narrow, height), commands));
            ui.add_space(6.0);
        }
        let wide = ui.available_width();
        ui.vertical(|ui| profile_map(ui, run, vec2(wide, height), commands));
    });
}

fn alpha_map(ui: &mut Ui, run: &Run, facts: &TokenFacts, size: egui::Vec2, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let label = run.capture.tokens.tokens[facts.index].label();
    title(ui, size.x, &format!("α of {} {label}", facts.index), &sink_rate_in_words(facts));
    let table = ColorTable::new(
        ColorScale::of(ScaleKind::Sqrt),
        ColorMap::Magma,
        SpecialColors::for_dark(palette.dark),
    );
    let heads = facts.alpha.first().map_or(0, Vec::len);
    let map = CellMap {
        name: "α by layer and head",
        rows: facts.alpha.len(),
        columns: heads,
        value: &|layer, head| facts.alpha[layer].get(head).copied(),
        color: &|value| rgb(&table, value),
        missing: palette.raised,
        marked: None,
        key: None,
    };
    let output = with_layer_numbers(ui, facts.alpha.len(), |ui| map.show(ui, vec2(size.x - GUTTER, size.y)));
    sinking(ui, facts, output.rect);
    axis(ui, output.rect, &[(0.0, "head 0".to_owned()), (1.0, heads.saturating_sub(1).to_string())]);
    if let Some((layer, head)) = output.hovered {
        if output.response.clicked() {
            commands.push(Command::FocusHead(HeadId { layer, head }));
        }
        let alpha = facts.alpha[layer].get(head).copied().unwrap_or(0.0);
        output
            .response
            .on_hover_text(format!(
                "Layer {layer}, head {head}: α {alpha:.3}{}\nSinking heads of the layer: {} of {heads}\nClick to focus this head",
                if alpha > SINK_RATE_EPSILON { ", a sink (> 0.3)" } else { "" },
                facts.alpha[layer].iter().filter(|&&alpha| alpha > SINK_RATE_EPSILON).count(),
            ));
    }
}

/// The sink rate over all heads.
fn sink_rate_in_words(facts: &TokenFacts) -> String {
    let all = facts.alpha.iter().flatten();
    let sinking = all.clone().filter(|&&alpha| alpha > SINK_RATE_EPSILON).count();
    format!("• α > 0.3: {sinking} of {}", all.count())
}

/// A dot in each head in which the token is a sink.
fn sinking(ui: &Ui, facts: &TokenFacts, rect: Rect) {
    let heads = facts.alpha.first().map_or(0, Vec::len);
    let cell = vec2(rect.width() / heads.max(1) as f32, rect.height() / facts.alpha.len().max(1) as f32);
    let radius = (cell.x.min(cell.y) * 0.2).clamp(0.7, 2.2);
    for (layer, alphas) in facts.alpha.iter().enumerate() {
        for (head, &alpha) in alphas.iter().enumerate().filter(|(_, alpha)| **alpha > SINK_RATE_EPSILON) {
            let center = rect.min + vec2(cell.x * (head as f32 + 0.5), cell.y * (layer as f32 + 0.5));
            // The map is dark below and light above the middle.
            let color = if alpha > 0.5 { Color32::BLACK } else { Color32::WHITE };
            ui.painter().circle_filled(center, radius, color);
        }
    }
}

fn profile_map(ui: &mut Ui, run: &Run, size: egui::Vec2, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let kind = run.analysis.options.profile;
    let scale = ProfileScale::of(kind, run.capture.len());
    title(
        ui,
        size.x,
        &format!("{} by layer", kind.name()),
        &format!("over positions · log {} · ○ birth", scale.range()),
    );
    let table = ColorTable::new(
        ColorScale::of(ScaleKind::Linear),
        ColorMap::Magma,
        SpecialColors::for_dark(palette.dark),
    );
    let layers = &run.profile_by_layer;
    let n = run.capture.len();
    let name = format!("{} by layer and position", kind.name());
    let map = CellMap {
        name: &name,
        rows: layers.len(),
        columns: n,
        value: &|layer, key| layers[layer][key],
        color: &|value| rgb(&table, scale.position(value)),
        missing: palette.raised,
        marked: run.focus.as_ref().map(|facts| (facts.index, palette.accent)),
        // A million values at 32k tokens: too many for every frame.
        key: Some(egui::util::hash((run.capture.id, kind.name(), palette.dark))),
    };
    let output = with_layer_numbers(ui, layers.len(), |ui| map.show(ui, vec2(size.x - GUTTER, size.y)));
    axis(ui, output.rect, &[(0.0, "key 0".to_owned()), (1.0, n.saturating_sub(1).to_string())]);
    births(ui, run, output.rect);
    if let Some((layer, key)) = output.hovered {
        if output.response.clicked() {
            commands.push(Command::SelectToken(key));
        }
        let label = run.capture.tokens.tokens[key].label();
        let value = format::profile_value(kind, layers[layer][key]);
        let born = match run.birth_layer(key).filter(|_| run.is_sink(key)) {
            Some(birth) => format!("\nSink, born in layer {birth}"),
            None => String::new(),
        };
        output.response.on_hover_text(format!(
            "Layer {layer}, key {key} {label}: {value} {}{born}\nClick to select this token",
            kind.unit()
        ));
    }
}

/// A ring in the layer in which each sink is born.
fn births(ui: &Ui, run: &Run, rect: Rect) {
    let (layers, n) = (run.profile_by_layer.len().max(1) as f32, run.capture.len().max(1) as f32);
    let painter = ui.painter_at(rect.expand(4.0));
    for sink in &run.analysis.sinks {
        let Some(layer) = run.birth_layer(sink.index) else { continue };
        let x = rect.left() + rect.width() * (sink.index as f32 + 0.5) / n;
        let y = rect.top() + rect.height() * (layer as f32 + 0.5) / layers;
        // A dark ring around a light one shows on every colour.
        painter.circle_stroke(pos2(x, y), 4.0, Stroke::new(2.5, Color32::BLACK));
        painter.circle_stroke(pos2(x, y), 4.0, Stroke::new(1.2, Color32::WHITE));
    }
}

fn rgb(table: &ColorTable, value: f64) -> Color32 {
    let [r, g, b] = table.rgb(value as f32);
    Color32::from_rgb(r, g, b)
}

fn title(ui: &mut Ui, width: f32, what: &str, over: &str) {
    let palette = Palette::of(ui);
    ui.scope(|ui| {
        ui.set_max_width(width);
        ui.spacing_mut().item_spacing.y = 0.0;
        ui.add(egui::Label::new(RichText::new(what).size(12.0).strong()).truncate());
        ui.add(egui::Label::new(RichText::new(over).size(11.0).color(palette.weak)).truncate());
    });
}

/// Draws a map with the numbers of its layers to the left.
pub(super) fn with_layer_numbers<T>(ui: &mut Ui, layers: usize, add: impl FnOnce(&mut Ui) -> T) -> T
where
    T: HasRect,
{
    let palette = Palette::of(ui);
    let output = ui
        .horizontal_top(|ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            ui.add_space(GUTTER);
            add(ui)
        })
        .inner;
    let rect = output.rect();
    let row = rect.height() / layers.max(1) as f32;
    let step = if row >= 11.0 { 1 } else { 5 };
    for layer in (0..layers).step_by(step) {
        let y = rect.top() + row * (layer as f32 + 0.5);
        let at = pos2(rect.left() - 4.0, y);
        ui.painter().text(at, Align2::RIGHT_CENTER, layer, FontId::monospace(9.5), palette.weak);
    }
    output
}

/// Something drawn, with the place of its cells.
pub(super) trait HasRect {
    /// Where its cells lie.
    fn rect(&self) -> Rect;
}

impl HasRect for crate::widgets::cell_map::CellMapOutput {
    fn rect(&self) -> Rect {
        self.rect
    }
}

fn axis(ui: &mut Ui, rect: Rect, marks: &[(f32, String)]) {
    let palette = Palette::of(ui);
    for (part, text) in marks {
        let at = pos2(egui::lerp(rect.x_range(), *part), rect.bottom() + 6.0);
        let align = if *part < 0.5 { Align2::LEFT_TOP } else { Align2::RIGHT_TOP };
        ui.painter().text(at, align, text, FontId::monospace(9.5), palette.weak);
    }
}
