//! The Sinks view: the table of sinks and structural tokens, beside maps of where they hold.

use super::{sinks_maps, sinks_norms, sinks_peak, sinks_runs};
use crate::analysis::TokenClass;
use crate::app::command::Command;
use crate::app::format;
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::app::view::SinksPage;
use crate::widgets::controls::{self, segmented_wrapped};
use egui::{Align, Layout, Panel, RichText, Sense, Ui};
use egui_extras::{Column, TableBuilder, TableRow};

const ROW_HEIGHT: f32 = 19.0;
/// Least width of what stands beside the table, and what it leaves to the table, in points.
const PAGE_LEAST: f32 = 220.0;
const TABLE_LEAST: f32 = 200.0;
/// Width that all columns need; in less the table scrolls.
const COLUMNS_LEAST: f32 = 400.0;

/// Draws table and maps.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let Some(run) = &state.run else { return };
    let frame = egui::Frame::new();
    let most = (ui.available_width() - TABLE_LEAST).max(PAGE_LEAST);
    Panel::right("sink maps")
        .frame(frame.inner_margin(egui::Margin { left: 10, ..egui::Margin::ZERO }))
        .resizable(true)
        .default_size(330.0)
        .size_range(PAGE_LEAST..=most)
        .show(ui, |ui| page(ui, state, run, commands));
    let frame = frame.inner_margin(egui::Margin { right: 8, ..egui::Margin::ZERO });
    egui::CentralPanel::default().frame(frame).show(ui, |ui| {
        caption(ui, run);
        if ui.available_width() >= COLUMNS_LEAST {
            table(ui, state, run, commands);
            return;
        }
        egui::ScrollArea::horizontal().id_salt("sink table").show(ui, |ui| {
            ui.set_min_width(COLUMNS_LEAST);
            table(ui, state, run, commands);
        });
    });
}

/// What stands beside the table.
fn page(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let pages = [
        (SinksPage::Maps, "Maps", "α by layer and head, and the profile by layer and position"),
        (SinksPage::Peak, "Peak and tail", "The two components of each head's mass"),
        (SinksPage::Norms, "Norms", "Hidden, key and value norms of the selected token by layer"),
        (SinksPage::Runs, "Stability", "Which sinks stay in the other open runs, and which move"),
    ];
    ui.take_available_width();
    if let Some(page) = segmented_wrapped(ui, state.view.sinks_page, &pages) {
        commands.push(Command::ShowSinksPage(page));
    }
    ui.add_space(2.0);
    let least = match state.view.sinks_page {
        SinksPage::Peak => 250.0,
        SinksPage::Maps | SinksPage::Norms | SinksPage::Runs => 130.0,
    };
    let height = ui.available_height().max(least);
    // In a low window a page keeps the height in which it can be read, and scrolls.
    egui::ScrollArea::vertical().id_salt("sinks page").auto_shrink(false).show(ui, |ui| {
        ui.set_max_height(height);
        page_content(ui, state, run, commands);
    });
}

fn page_content(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    match state.view.sinks_page {
        SinksPage::Maps => sinks_maps::ui(ui, run, commands),
        SinksPage::Peak => sinks_peak::ui(ui, state, run, commands),
        SinksPage::Norms => {
            if let Some(facts) = &run.focus {
                sinks_norms::ui(ui, run, facts);
            }
        }
        SinksPage::Runs => sinks_runs::ui(ui, state, run, commands),
    }
}

fn caption(ui: &mut Ui, run: &Run) {
    let palette = Palette::of(ui);
    if let Some(why) = run.analysis.not_tested() {
        ui.label(RichText::new(why).color(palette.warn));
        return;
    }
    let used = if run.analysis.options.selection == crate::analysis::Selection::default() {
        "all layers and heads"
    } else {
        "chosen layers and heads"
    };
    let text = format!(
        "{} flagged: {} over {used}, z > {:.2}; structural tokens are listed too",
        run.analysis.sinks.len(),
        run.analysis.options.profile.name(),
        run.analysis.detection.threshold,
    );
    ui.label(RichText::new(text).color(palette.weak).size(11.5));
}

/// The rows: flagged tokens by z, then the evidence that is not flagged, by position.
fn token_rows(run: &Run) -> Vec<usize> {
    let mut sinks: Vec<(usize, f64)> = run.analysis.sinks.iter().map(|sink| (sink.index, sink.z)).collect();
    sinks.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut rows: Vec<usize> = sinks.into_iter().map(|(index, _)| index).collect();
    rows.extend(run.analysis.evidence().into_iter().filter(|&index| !run.is_sink(index)));
    rows
}

fn table(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let mut rows: Vec<Option<usize>> = token_rows(run).into_iter().map(Some).collect();
    if run.analysis.virtual_key.is_some() {
        rows.insert(0, None);
    }
    let kind = run.analysis.options.profile;
    let unit = format!("{}, {}: the profile below", kind.name(), kind.unit());
    let heads = [
        ("#", "Position in the prompt, from 0"),
        ("token", "The token; whitespace is made visible"),
        ("class", "What the token is, from the tokenizer's metadata and the chat template"),
        (kind.name(), unit.as_str()),
        ("z", "Robust standard deviations above the median, in logarithms"),
        ("share", "Share of all attention"),
        ("rate", "Sink rate: share of heads with α > 0.3; it falls with the number of tokens"),
        ("born", "First layer whose far-lift over all heads exceeds 5"),
    ];
    ui.spacing_mut().item_spacing.x = 4.0;
    // The scroll bar lies beside the last column's digits, not on them.
    ui.spacing_mut().scroll.floating_allocated_width = 7.0;
    TableBuilder::new(ui)
        .id_salt("sinks")
        .striped(true)
        .sense(Sense::click())
        .cell_layout(Layout::left_to_right(Align::Center))
        .column(Column::exact(36.0))
        .column(Column::remainder().at_least(70.0).clip(true))
        .column(Column::exact(66.0))
        .column(Column::exact(50.0))
        .column(Column::exact(42.0))
        .column(Column::exact(42.0))
        .column(Column::exact(38.0))
        .column(Column::exact(36.0))
        .header(20.0, |mut header| {
            for (i, (name, tip)) in heads.iter().enumerate() {
                cell(&mut header, name, |ui| heading(ui, name, tip, i == 1 || i == 2));
            }
        })
        .body(|body| {
            body.rows(ROW_HEIGHT, rows.len(), |mut row| {
                let Some(index) = rows[row.index()] else {
                    virtual_cells(&mut row, run);
                    return;
                };
                row.set_selected(state.view.selected == Some(index));
                cells(&mut row, run, index);
                if row.response().clicked() {
                    commands.push(Command::SelectToken(index));
                }
            });
        });
}

fn heading(ui: &mut Ui, name: &str, tip: &str, left: bool) {
    let palette = Palette::of(ui);
    let text = RichText::new(name).size(11.0).color(palette.weak);
    if left {
        ui.label(text).on_hover_text(tip);
    } else {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.label(text).on_hover_text(tip));
    }
}

fn cells(row: &mut TableRow<'_, '_>, run: &Run, index: usize) {
    let analysis = &run.analysis;
    let flagged = run.is_sink(index);
    let kind = analysis.options.profile;
    let class = analysis.classes[index];
    let birth = run.birth_layer(index).map_or_else(|| "–".to_owned(), |layer| layer.to_string());
    let share = analysis.share[index].map_or_else(|| "n/a".to_owned(), format::percent);
    number(row, &index.to_string(), flagged);
    let label = run.capture.tokens.tokens[index].label();
    cell(row, &label, |ui| {
        let palette = Palette::of(ui);
        let color = if flagged { palette.sink } else { palette.text };
        let mark = if flagged { "● " } else { "" };
        ui.label(RichText::new(format!("{mark}{label}")).monospace().color(color));
    });
    cell(row, class.name(), |ui| {
        ui.label(RichText::new(class.name()).size(12.0)).on_hover_text(format!(
            "{}: {}",
            class.letter(),
            class.meaning()
        ));
    });
    number(row, &format::profile_value(kind, analysis.profile(kind)[index]), flagged);
    number(row, &format::z(analysis.detection.z[index]), flagged);
    number(row, &share, flagged);
    number(row, &format::percent(analysis.sink_rate[index]), flagged);
    number(row, &birth, flagged);
}

/// The virtual key: at no position, so without profile, z and birth.
fn virtual_cells(row: &mut TableRow<'_, '_>, run: &Run) {
    let Some(virtual_key) = &run.analysis.virtual_key else { return };
    let class = TokenClass::Virtual;
    number(row, "–", true);
    cell(row, "sink logit", |ui| {
        let color = Palette::of(ui).sink;
        ui.label(RichText::new("V sink logit").monospace().color(color)).on_hover_text(class.meaning());
    });
    cell(row, class.name(), |ui| {
        ui.label(RichText::new(class.name()).size(12.0)).on_hover_text(class.meaning());
    });
    number(row, "–", true);
    number(row, "–", true);
    number(row, &format::percent(virtual_key.share), true);
    number(row, &format::percent(virtual_key.sink_rate), true);
    number(row, "–", true);
}

/// A cell senses the row's clicks, so it has a name.
fn cell(row: &mut TableRow<'_, '_>, name: &str, draw: impl FnOnce(&mut Ui)) {
    let (_, response) = row.col(draw);
    controls::name(&response, name);
}

fn number(row: &mut TableRow<'_, '_>, text: &str, strong: bool) {
    cell(row, text, |ui| {
        let palette = Palette::of(ui);
        let color = if strong { palette.text } else { palette.weak };
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            ui.label(RichText::new(text).monospace().color(color));
        });
    });
}
