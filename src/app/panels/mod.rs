//! The panels: free functions that draw the state and push commands.

pub mod attention;
mod eviction;
mod files;
mod guide;
mod hub;
mod inspector;
mod inspector_facts;
mod inspector_heads;
mod model_card;
mod overview;
mod path_field;
mod plots;
mod profile;
mod profile_axis;
mod profile_overlay;
mod profile_plot;
mod prompt;
pub(super) mod runs;
mod selection_plot;
mod sinks;
mod sinks_maps;
mod sinks_norms;
mod sinks_peak;
mod sinks_runs;
mod start;
mod status;
mod strip;
mod strip_tools;
mod top_bar;

use super::command::Command;
use super::files::FilesCommand;
use super::layout::{Layout, LayoutCommand, Side};
use super::state::AppState;
use super::theme::Palette;
use super::view::Tab;
use crate::widgets::controls::segmented;
use egui::{CentralPanel, Frame, Margin, Panel, Rect};
use guide::Sights;

/// What the panels beside and under the views leave to them, in points.
const VIEWS_LEAST: egui::Vec2 = egui::vec2(440.0, 232.0);
/// Least widths of prompt panel and inspector.
const PROMPT_LEAST: f32 = 200.0;
const INSPECTOR_LEAST: f32 = 190.0;
/// Least height of the plot under the views.
const PROFILE_LEAST: f32 = 150.0;

/// Draws the whole window.
pub fn window(ui: &mut egui::Ui, state: &AppState, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let frame = |x: i8, y: i8| Frame::new().fill(palette.panel).inner_margin(Margin::symmetric(x, y));

    Panel::top("top bar")
        .frame(frame(10, 7))
        .resizable(false)
        .show(ui, |ui| top_bar::ui(ui, state, commands));
    Panel::bottom("status").frame(frame(10, 2)).resizable(false).show(ui, |ui| {
        status::ui(ui, state, commands);
    });
    let layout = &state.settings.layout;
    let mut sights = Sights::default();
    let strip =
        Panel::top("token strip").frame(frame(10, 6)).resizable(true).default_size(106.0).min_size(60.0);
    sights.strip = closable(ui, strip, Side::Strip, layout, commands, |ui, commands| {
        strip::ui(ui, state, commands);
    });
    let others = VIEWS_LEAST.x + if layout.is_open(Side::Inspector) { INSPECTOR_LEAST } else { 0.0 };
    let most = (ui.available_width() - others).max(PROMPT_LEAST);
    let prompt = Panel::left("prompt").frame(frame(10, 6)).resizable(true).default_size(252.0);
    let prompt = prompt.size_range(PROMPT_LEAST..=most);
    closable(ui, prompt, Side::Prompt, layout, commands, |ui, commands| left(ui, state, commands));
    let most = (ui.available_width() - VIEWS_LEAST.x).max(INSPECTOR_LEAST);
    let right = Panel::right("inspector").frame(frame(10, 6)).resizable(true).default_size(232.0);
    let right = right.size_range(INSPECTOR_LEAST..=most);
    closable(ui, right, Side::Inspector, layout, commands, |ui, commands| {
        inspector::ui(ui, state, commands);
    });
    CentralPanel::default()
        .frame(Frame::new().fill(palette.base))
        .show(ui, |ui| centre(ui, state, &mut sights, commands));
    path_field::ui(ui, state, commands);
    hub::ui(ui, state, commands);
    files::ui(ui, state, commands);
    guide::ui(ui, state, &sights, commands);
    drop_hint(ui, palette);
}

/// Shows a panel that can be closed by its edge; where it is.
fn closable(
    ui: &mut egui::Ui,
    panel: Panel,
    side: Side,
    layout: &Layout,
    commands: &mut Vec<Command>,
    draw: impl FnOnce(&mut egui::Ui, &mut Vec<Command>),
) -> Rect {
    let was_open = layout.is_open(side);
    let mut is_open = was_open;
    let shown = panel.show_collapsible(ui, &mut is_open, |ui| draw(ui, commands));
    if is_open != was_open {
        commands.push(Command::Layout(LayoutCommand::Show(side, is_open)));
    }
    shown.map_or(Rect::NOTHING, |shown| shown.response.rect)
}

/// Lets panels be as large as at first.
pub(super) fn forget_sizes(ctx: &egui::Context) {
    ctx.data_mut(egui::util::IdTypeMap::remove_by_type::<egui::containers::panel::PanelState>);
}

/// What happens to a file that is held over the window.
fn drop_hint(ui: &egui::Ui, palette: Palette) {
    if ui.input(|input| input.raw.hovered_files.is_empty()) {
        return;
    }
    let layer = egui::LayerId::new(egui::Order::Foreground, egui::Id::unique("drop hint"));
    let painter = ui.ctx().layer_painter(layer);
    let rect = ui.ctx().content_rect();
    painter.rect_filled(rect, 0.0, palette.base.gamma_multiply(0.85));
    let frame = egui::Stroke::new(2.0, palette.accent);
    painter.rect_stroke(rect.shrink(12.0), 8.0, frame, egui::StrokeKind::Inside);
    let text = "Drop a .gguf file or a model folder to open it, a .txt, .md or chat .json to run it,\na .sinkscope session to look at it";
    painter.text(
        rect.center(),
        egui::Align2::CENTER_CENTER,
        text,
        egui::FontId::proportional(18.0),
        palette.text,
    );
}

fn left(ui: &mut egui::Ui, state: &AppState, commands: &mut Vec<Command>) {
    Panel::bottom("model card").frame(Frame::new()).resizable(false).show_separator_line(true).show(
        ui,
        |ui| {
            model_card::ui(ui, state, commands);
        },
    );
    CentralPanel::default().frame(Frame::new()).show(ui, |ui| prompt::ui(ui, state, commands));
}

fn centre(ui: &mut egui::Ui, state: &AppState, sights: &mut Sights, commands: &mut Vec<Command>) {
    if state.run.is_none() {
        start::ui(ui, state, commands);
        return;
    }
    let palette = Palette::of(ui);
    let margin = |x: i8, y: i8| Frame::new().fill(palette.base).inner_margin(Margin::symmetric(x, y));
    // The eviction view has plots of its own over the same axis.
    if state.view.tab != Tab::Eviction {
        let most = (ui.available_height() - VIEWS_LEAST.y).max(PROFILE_LEAST);
        let plot = Panel::bottom("profile").frame(margin(10, 6)).resizable(true).default_size(232.0);
        let plot = plot.size_range(PROFILE_LEAST..=most);
        sights.profile =
            closable(ui, plot, Side::Profile, &state.settings.layout, commands, |ui, commands| {
                profile::ui(ui, state, commands);
            });
    }
    let tabs = Panel::top("tabs").frame(margin(10, 5)).resizable(false).show_separator_line(false);
    sights.tabs = tabs.show(ui, |ui| tabs_ui(ui, state, commands)).response.rect;
    let view = CentralPanel::default().frame(margin(10, 2)).show(ui, |ui| match state.view.tab {
        Tab::Attention if state.run.as_ref().is_some_and(|run| !run.capture.has_patterns()) => {
            files::no_patterns(ui, state);
        }
        Tab::Attention => attention::ui(ui, state, commands),
        Tab::Sinks => sinks::ui(ui, state, commands),
        Tab::Eviction => eviction::ui(ui, state, commands),
    });
    sights.view = view.response.rect;
}

fn tabs_ui(ui: &mut egui::Ui, state: &AppState, commands: &mut Vec<Command>) {
    let tabs = [
        (Tab::Attention, "Attention", "The pattern of every head, and one head large"),
        (Tab::Sinks, "Sinks", "Sink table, and maps over layers, heads and positions"),
        (Tab::Eviction, "Eviction", "Perplexity of this text under a smaller KV cache"),
    ];
    ui.horizontal(|ui| {
        if let Some(tab) = segmented(ui, state.view.tab, &tabs) {
            commands.push(Command::ShowTab(tab));
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            runs::menu(ui, state, commands);
            let tip = "This view as an image, or its numbers";
            if ui.small_button("Export…").on_hover_text(tip).clicked() {
                commands.push(Command::Files(FilesCommand::ShowExport(true)));
            }
        });
    });
}
