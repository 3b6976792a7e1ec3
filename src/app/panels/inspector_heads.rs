//! Layer × head: what every head has between the selected tokens and the others, and each layer's mean.

use crate::app::command::Command;
use crate::app::partners::Partners;
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::app::view::HeadId;
use crate::color::{ColorMap, ColorScale, ColorTable, ScaleKind, SpecialColors};
use crate::widgets::cell_map::CellMap;
use crate::widgets::controls::section;
use egui::{Align2, Color32, FontId, RichText, Ui, pos2, vec2};

/// Room for layer numbers.
const GUTTER: f32 = 20.0;
/// Room for the layers' means.
const MEANS: f32 = 40.0;

/// What the map shows.
struct Heads<'a> {
    title: &'static str,
    caption: String,
    value: Box<dyn Fn(usize, usize) -> Option<f64> + 'a>,
    strongest: Box<dyn Fn(usize, usize) -> Option<usize> + 'a>,
    rows: usize,
    columns: usize,
}

/// Draws the map into the space that is left.
pub(super) fn ui(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let Some(heads) = heads(state, run) else { return };
    section(ui, heads.title);
    ui.add(egui::Label::new(RichText::new(&heads.caption).size(11.0).color(palette.weak)).truncate());
    if heads.rows == 0 || heads.columns == 0 {
        return;
    }
    let table = ColorTable::new(
        ColorScale::of(ScaleKind::Log),
        ColorMap::Magma,
        SpecialColors::for_dark(palette.dark),
    );
    let row = ((ui.available_height() - 4.0) / heads.rows as f32).clamp(3.0, 12.0);
    let size = vec2((ui.available_width() - GUTTER - MEANS).max(20.0), row * heads.rows as f32);
    let map = CellMap {
        name: "Attention by layer and head",
        rows: heads.rows,
        columns: heads.columns,
        value: &*heads.value,
        color: &|value| {
            let [r, g, b] = table.rgb((value as f32).max(1e-6));
            Color32::from_rgb(r, g, b)
        },
        missing: palette.raised,
        marked: None,
        key: None,
    };
    let output = ui
        .horizontal_top(|ui| {
            ui.spacing_mut().item_spacing.x = 0.0;
            ui.add_space(GUTTER);
            map.show(ui, size)
        })
        .inner;
    let hovered = output.hovered;
    for layer in 0..heads.rows {
        let is_hovered = hovered.is_some_and(|(row, _)| row == layer);
        if layer % label_step(row) != 0 && !is_hovered {
            continue;
        }
        let y = output.rect.top() + row * (layer as f32 + 0.5);
        let color = if is_hovered { palette.text } else { palette.weak };
        let write = |x: f32, text: String| {
            ui.painter().text(pos2(x, y), Align2::RIGHT_CENTER, text, FontId::monospace(9.5), color);
        };
        write(output.rect.left() - 4.0, layer.to_string());
        let mean = layer_mean(&heads, layer);
        write(output.rect.right() + MEANS, mean.map_or_else(|| "n/a".to_owned(), short));
    }
    if let Some((layer, head)) = hovered {
        if output.response.clicked() {
            commands.push(Command::FocusHead(HeadId { layer, head }));
        }
        output.response.on_hover_text(says(run, &heads, layer, head));
    }
}

fn heads<'a>(state: &'a AppState, run: &'a Run) -> Option<Heads<'a>> {
    if let Some(partners) = state.selection_partners() {
        return Some(of_partners(partners));
    }
    let facts = run.focus.as_ref()?;
    let label = run.capture.tokens.tokens[facts.index].label();
    Some(Heads {
        title: "INCOMING BY LAYER AND HEAD",
        caption: format!("α of token {} {label}; log, right: mean", facts.index),
        value: Box::new(|layer, head| facts.alpha.get(layer)?.get(head).copied()),
        strongest: Box::new(|_, _| None),
        rows: facts.alpha.len(),
        columns: facts.alpha.first().map_or(0, Vec::len),
    })
}

fn of_partners(partners: &Partners) -> Heads<'_> {
    let several = partners.key.tokens.len() > 1;
    let caption = match (partners.key.outgoing, several) {
        (false, false) => "mean weight on it (α); log, right: mean",
        (false, true) => "mean weight on them together; log, right: mean",
        (true, false) => "largest weight that it gives; log, right: mean",
        (true, true) => "largest weight that they give; log, right: mean",
    };
    let cell = |layer: usize, head: usize| partners.by_head.get(layer)?.get(head).copied();
    Heads {
        title: if partners.key.outgoing {
            "OUTGOING BY LAYER AND HEAD"
        } else {
            "INCOMING BY LAYER AND HEAD"
        },
        caption: caption.to_owned(),
        value: Box::new(move |layer, head| cell(layer, head)?.value.map(f64::from)),
        strongest: Box::new(move |layer, head| cell(layer, head)?.strongest),
        rows: partners.by_head.len(),
        columns: partners.by_head.first().map_or(0, Vec::len),
    }
}

fn layer_mean(heads: &Heads<'_>, layer: usize) -> Option<f64> {
    let values: Vec<f64> = (0..heads.columns).filter_map(|head| (heads.value)(layer, head)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn says(run: &Run, heads: &Heads<'_>, layer: usize, head: usize) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), |value| format!("{value:.3}"));
    let (value, mean) = (number((heads.value)(layer, head)), number(layer_mean(heads, layer)));
    let most = (heads.strongest)(layer, head).map_or_else(String::new, |token| {
        format!("\nMost with token {token} {}", run.capture.tokens.tokens[token].label())
    });
    format!("Layer {layer}, head {head}: {value} (layer's mean {mean}){most}\nClick to see that head")
}

/// A weight in at most five characters.
fn short(weight: f64) -> String {
    if weight > 0.0 && weight < 5e-4 { "<.001".to_owned() } else { format!("{weight:.3}") }
}

fn label_step(row: f32) -> usize {
    if row >= 10.0 { 1 } else { 5 }
}
