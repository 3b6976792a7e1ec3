//! The grid of heads: patterns or values, by layer or in the order of a metric.

use super::controls::pattern_name;
use super::draw::{AttentionAction, AttentionView};
use super::options::{AttentionCommand, HeadOrder};
use super::patterns::picture_of;
use super::pictures::Pictures;
use super::state::AttentionState;
use crate::analysis::ComparedRows;
use crate::app::format;
use crate::capture::{Capture, PatternOf};
use crate::color::{ColorMap, ColorScale, ColorTable, ScaleKind, SpecialColors};
use crate::widgets::color_bar::short_number;
use crate::widgets::controls::options_menu;
use crate::widgets::grid_layout::GridLayout;
use crate::widgets::pattern_grid::{GridPicture, PatternGrid};
use egui::{Color32, ComboBox, Rect, Ui, pos2, vec2};

/// Width of the row from which on its caption is spelled out, in points.
const CAPTION_FITS: f32 = 220.0;
/// Room that the choices behind the order need, else they move into a menu, in points.
const MAP_FITS: f32 = 56.0;
const CHOICES_FIT: f32 = 132.0;
/// Room that the range needs, in points.
const RANGE_WIDTH: f32 = 84.0;

/// The row above the grid: order, and patterns or values.
pub(super) fn header(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    actions: &mut Vec<AttentionAction>,
) {
    let mut own = |command| actions.push(AttentionAction::Own(command));
    ui.label(if ui.available_width() >= CAPTION_FITS { "Heads by" } else { "By" });
    let shown = ComboBox::from_id_salt("order")
        .selected_text(state.grid.order.name())
        .width(112.0)
        .truncate()
        .height(260.0);
    let shown = shown.show_ui(ui, |ui| {
        for order in HeadOrder::ALL {
            let name = match sampling(order, view.capture) {
                Some((said, _)) => format!("{}, {said}", order.name()),
                None => order.name().to_owned(),
            };
            let chosen = ui.selectable_label(state.grid.order == order, name);
            if chosen.on_hover_text(hint(order, view.capture)).clicked() {
                own(AttentionCommand::SetOrder(order));
            }
        }
    });
    let tip = hint(state.grid.order, view.capture);
    shown.response.on_hover_text(tip).accessible_name("Order of the heads");
    if state.grid.order == HeadOrder::Layer {
        return;
    }
    let needed = if state.grid.order == HeadOrder::Similarity { CHOICES_FIT } else { MAP_FITS };
    if ui.available_width() >= needed {
        choices(ui, state, &mut own);
    } else {
        let tip = "What the grid shows";
        options_menu(ui, "⋯", tip, |ui| choices(ui, state, &mut own)).accessible_name("More about the heads");
    }
    range_legend(ui, state, view);
}

/// What is left out where a similarity is of some rows only: in short, and why.
fn sampling(order: HeadOrder, capture: &Capture) -> Option<(String, String)> {
    let n = capture.len();
    let compared = ComparedRows::compared(n);
    (order == HeadOrder::Similarity && compared < n).then(|| {
        let said = format!("compared on {compared} of {} rows", format::count(n as u64));
        let why = format!(
            "Patterns of up to {} tokens are compared whole; of a longer text {compared} rows are taken, evenly \
             spaced up to the last, each with all its keys",
            ComparedRows::MOST
        );
        (said, why)
    })
}

fn hint(order: HeadOrder, capture: &Capture) -> String {
    match sampling(order, capture) {
        Some((said, why)) => format!("{}, {said}.\n{why}", order.hint()),
        None => order.hint().to_owned(),
    }
}

fn choices(ui: &mut Ui, state: &AttentionState, own: &mut impl FnMut(AttentionCommand)) {
    let mut values = state.grid.shows_values;
    let hint = "Colours say the value, layers down and heads across";
    if ui.checkbox(&mut values, "Map").on_hover_text(hint).changed() {
        own(AttentionCommand::ShowValues(values));
    }
    if state.grid.order == HeadOrder::Similarity {
        let mut without = state.grid.compares_without_sinks;
        let hint = "Leave the columns of detected sinks out of the cosine: nearly all heads share them";
        if ui.checkbox(&mut without, "No sinks").on_hover_text(hint).changed() {
            own(AttentionCommand::CompareWithoutSinks(without));
        }
    }
}

/// The values' range, as a small bar between its ends.
fn range_legend(ui: &mut Ui, state: &AttentionState, view: &AttentionView<'_>) {
    let text = |text: String| egui::RichText::new(text).monospace().size(10.0);
    let Some((low, high)) = value_range(state) else {
        let why = match state.grid.order {
            HeadOrder::OnSelected if view.selected.is_none() => "select a token",
            HeadOrder::OnSinks if view.sinks.is_empty() => "no sinks",
            HeadOrder::Induction if state.heads.metrics_at(view.capture, 0).is_some() => "no token repeats",
            _ => "computing…",
        };
        ui.add(egui::Label::new(egui::RichText::new(why).weak()).truncate());
        return;
    };
    if ui.available_width() < RANGE_WIDTH {
        // The grid's own labels say the values, too.
        return;
    }
    if !state.grid.shows_values {
        ui.weak(text(format!("{} … {}", short(high), short(low))))
            .on_hover_text("Largest and smallest value");
        return;
    }
    let table = value_table(ui.visuals().dark_mode);
    ui.weak(text(short(low)));
    let (rect, response) = ui.allocate_exact_size(vec2(28.0, 9.0), egui::Sense::hover());
    for step in 0..14_u8 {
        let left = rect.left() + f32::from(step) * 2.0;
        let part = Rect::from_min_max(pos2(left, rect.top()), pos2(left + 2.0, rect.bottom()));
        ui.painter().rect_filled(part, 0.0, rgb(table.at(f32::from(step) / 13.0)));
    }
    response.on_hover_text(format!("{}{}", state.grid.order.hint(), unit_note(state.grid.order)));
    ui.weak(text(short(high)));
}

fn unit_note(order: HeadOrder) -> String {
    if order.unit().is_empty() { String::new() } else { format!(", in{}", order.unit()) }
}

fn short(value: f64) -> String {
    if value.abs() >= 10.0 { format!("{value:.0}") } else { short_number(value as f32) }
}

fn value_range(state: &AttentionState) -> Option<(f64, f64)> {
    let values = state.heads.ranking().values.iter().flatten().copied().filter(|value| value.is_finite());
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

fn value_table(dark: bool) -> ColorTable {
    let scale = ColorScale::of(ScaleKind::Linear);
    ColorTable::new(scale, ColorMap::Viridis, SpecialColors::for_dark(dark))
}

fn rgb([red, green, blue]: [u8; 3]) -> Color32 {
    Color32::from_rgb(red, green, blue)
}

/// What lies where in the grid.
struct Places<'a> {
    layers: usize,
    heads: usize,
    /// Heads in order of a metric; `None`: by layer, with means.
    flow: Option<&'a [usize]>,
    layout: GridLayout,
}

impl Places<'_> {
    fn at(&self, row: usize, column: usize) -> Option<PatternOf> {
        let head_of = |index: usize| PatternOf::Head { layer: index / self.heads, head: index % self.heads };
        if let Some(order) = self.flow {
            return order.get(row * self.layout.columns + column).copied().map(head_of);
        }
        match (row < self.layers, column < self.heads) {
            (true, true) => Some(PatternOf::Head { layer: row, head: column }),
            (true, false) => Some(PatternOf::LayerMean(row)),
            (false, false) => Some(PatternOf::ModelMean),
            (false, true) => None,
        }
    }

    fn of(&self, pattern: PatternOf) -> Option<(usize, usize)> {
        match (self.flow, pattern) {
            (Some(order), PatternOf::Head { layer, head }) => {
                let place = order.iter().position(|&index| index == layer * self.heads + head)?;
                Some((place / self.layout.columns, place % self.layout.columns))
            }
            (Some(_), _) => None,
            (None, PatternOf::Head { layer, head }) => Some((layer, head)),
            (None, PatternOf::LayerMean(layer)) => Some((layer, self.heads)),
            (None, PatternOf::ModelMean) => Some((self.layers, self.heads)),
        }
    }
}

/// The grid; returns the size of a picture in physical pixels.
pub(super) fn show(
    ui: &mut Ui,
    state: &AttentionState,
    view: &AttentionView<'_>,
    actions: &mut Vec<AttentionAction>,
) -> [usize; 2] {
    let (layers, heads) = (view.capture.layers.len(), view.capture.model.spec.heads);
    let maps_values = state.grid.shows_values && state.grid.order != HeadOrder::Layer;
    let flows = state.grid.order != HeadOrder::Layer && !maps_values;
    if let Some((said, why)) = sampling(state.grid.order, view.capture) {
        let text = egui::RichText::new(format!("Similarity {said}")).size(11.0);
        ui.add(egui::Label::new(text.weak()).truncate()).on_hover_text(why);
    }
    let room = ui.available_size();
    let ranking = state.heads.ranking();
    let layout = if flows {
        GridLayout::flow(layers * heads, room)
    } else {
        // A map of values has no means.
        let means = usize::from(!maps_values);
        GridLayout::fit(layers + means, heads + means, room)
    };
    let places = Places { layers, heads, flow: flows.then_some(&ranking.order), layout };
    let atlas = state.pictures.as_ref().and_then(Pictures::atlas);
    let value_of = |of: PatternOf| match of {
        PatternOf::Head { layer, head } => ranking.values.get(layer * heads + head).copied().flatten(),
        _ => None,
    };
    let (range, table) = (value_range(state), maps_values.then(|| value_table(ui.visuals().dark_mode)));
    let picture = |row, column| {
        let of = places.at(row, column)?;
        if let Some(table) = &table {
            let color = value_of(of).zip(range).map(|(value, (low, high))| {
                let part = (value - low) / (high - low).max(f64::MIN_POSITIVE);
                GridPicture::Color(rgb(table.at(part as f32)))
            });
            return Some(color.unwrap_or(GridPicture::Coming));
        }
        let uv = atlas.and_then(|atlas| atlas.uv(picture_of(of, layers, heads)));
        Some(uv.map_or(GridPicture::Coming, GridPicture::Texture))
    };
    let name = |row, column| match places.at(row, column) {
        Some(PatternOf::Head { layer, head }) => format!("Layer {layer}, head {head}"),
        Some(of) => pattern_name(of).replace(" ·", ","),
        None => String::new(),
    };
    let token = view.selected.unwrap_or(0);
    let output = PatternGrid {
        name: "Heads",
        layout,
        row_label: &|row| row_label(state, &places, row),
        column_label: &|column| match column {
            _ if flows => String::new(),
            column if column == heads => "avg".to_owned(),
            column => format!("H{column}"),
        },
        texture: atlas.map(crate::widgets::atlas::Atlas::texture),
        picture: &picture,
        label: &name,
        describe: &|row, column| describe(state, view.capture, token, places.at(row, column), &value_of),
        details: &|row, column| details(state, view.capture, heads, places.at(row, column)),
        focus: places
            .of(state.focused(view.focus))
            .filter(|(row, column)| *row < layout.rows && *column < layout.columns),
        colors: view.grid,
    }
    .show(ui);
    match output.focused.and_then(|(row, column)| places.at(row, column)) {
        Some(PatternOf::Head { layer, head }) => {
            actions.push(AttentionAction::Own(AttentionCommand::ShowMean(None)));
            actions.push(AttentionAction::FocusHead(layer, head));
        }
        Some(mean) => actions.push(AttentionAction::Own(AttentionCommand::ShowMean(Some(mean)))),
        None => {}
    }
    if flows {
        [output.cell_px[0].max(state.cell_px[0]), output.cell_px[1].max(state.cell_px[1])]
    } else {
        output.cell_px
    }
}

/// By layer: its number. In order: the value at which the row begins.
fn row_label(state: &AttentionState, places: &Places<'_>, row: usize) -> String {
    match places.flow {
        None if row < places.layers => format!("L{row}"),
        None => "all".to_owned(),
        Some(order) => {
            let first = order.get(row * places.layout.columns);
            let value = first.and_then(|&index| state.heads.ranking().values.get(index).copied().flatten());
            value.map_or_else(String::new, short)
        }
    }
}

fn describe(
    state: &AttentionState,
    capture: &Capture,
    token: usize,
    of: Option<PatternOf>,
    value_of: &dyn Fn(PatternOf) -> Option<f64>,
) -> String {
    match of {
        Some(PatternOf::Head { layer, head }) if state.grid.order == HeadOrder::Layer => {
            match alpha(capture, layer, head, token) {
                Some(alpha) => format!("α of key {token}: {alpha:.3}"),
                None => format!("α of key {token}: n/a"),
            }
        }
        Some(of @ PatternOf::Head { .. }) => {
            let order = state.grid.order;
            let value =
                value_of(of).map_or_else(|| "n/a".to_owned(), |value| format!("{value:.3}{}", order.unit()));
            let name = if order == HeadOrder::Similarity { "cosine" } else { order.name() };
            match sampling(order, capture) {
                Some((said, _)) => format!("{name}: {value}, {said}"),
                None => format!("{name}: {value}"),
            }
        }
        Some(PatternOf::LayerMean(_)) => "Mean over the layer's heads".to_owned(),
        Some(PatternOf::ModelMean) => "Mean over all heads of all layers".to_owned(),
        None => String::new(),
    }
}

fn details(state: &AttentionState, capture: &Capture, heads: usize, of: Option<PatternOf>) -> String {
    let Some(PatternOf::Head { layer, head }) = of else { return String::new() };
    let Some(metrics) = state.heads.metrics_at(capture, layer * heads + head) else { return String::new() };
    let orders = [
        HeadOrder::Entropy,
        HeadOrder::MeanDistance,
        HeadOrder::PreviousToken,
        HeadOrder::Induction,
        HeadOrder::PeakShare,
    ];
    let line = |order: HeadOrder| {
        let value =
            order.of(metrics).map_or_else(|| "n/a".to_owned(), |value| format!("{value:.3}{}", order.unit()));
        format!("{}: {value}", order.name())
    };
    orders.map(line).join("\n")
}

/// Mean weight that the queries which can see a key give it, in one head.
fn alpha(capture: &Capture, layer: usize, head: usize, key: usize) -> Option<f32> {
    let n = capture.len();
    let sums = &capture.layers.get(layer)?.column_sums;
    let queries = match capture.model.spec.windows.get(layer).copied().flatten() {
        Some(window) => (n - key.min(n)).min(window),
        None => n - key.min(n),
    };
    sums.get(head * n + key).filter(|_| key < n).map(|sum| sum / queries as f32)
}
