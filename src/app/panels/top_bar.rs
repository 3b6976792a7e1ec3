//! The top bar: which model, which prompt, run and cancel, progress.

use crate::app::command::{Command, PickKind};
use crate::app::hub::HubCommand;
use crate::app::prompt::PromptKind;
use crate::app::shortcuts;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::model::source::ModelRef;
use crate::model::tokenizer::BosChoice;
use crate::widgets::controls::{self, paint_bar, segmented};
use egui::{Align, Align2, FontId, Layout, RichText, Sense, ThemePreference, Ui, vec2};

/// Draws the bar.
pub(super) fn ui(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    ui.horizontal(|ui| {
        super::files::menu(ui, state, commands);
        model_menu(ui, state, commands);
        precision(ui, state, palette);
        ui.add_space(2.0);
        ui.separator();
        prompt_choices(ui, state, commands);
        ui.separator();
        run_and_cancel(ui, state, commands, palette);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            theme_menu(ui, state, commands);
            progress(ui, state, palette);
        });
    });
}

fn model_menu(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let name = state.model.as_ref().map_or("No model", |model| model.name.as_str());
    let button = ui.menu_button(RichText::new(format!("{name} ▾")).size(14.0).strong(), |ui| {
        ui.set_min_width(240.0);
        let shortcut = ui.ctx().format_shortcut(&shortcuts::OPEN);
        let file = egui::Button::new("Open GGUF file…").shortcut_text(shortcut);
        if ui.add(file).on_hover_text("A model in one .gguf file").clicked() {
            commands.push(Command::Pick(PickKind::ModelFile));
        }
        let tip = "config.json, safetensors and tokenizer.json in one folder";
        if ui.button("Open model folder…").on_hover_text(tip).clicked() {
            commands.push(Command::Pick(PickKind::ModelFolder));
        }
        let tip = "List the models of a repository with their sizes, choose and download one";
        if ui.button("Open from the Hub…").on_hover_text(tip).clicked() {
            commands.push(Command::Hub(HubCommand::Show(true)));
        }
        if ui.button("Type a path…").on_hover_text("Open a model or prompt by its path").clicked() {
            commands.push(Command::ShowPathField(true));
        }
        ui.separator();
        if ui.button("Default model").on_hover_text("SmolLM2-135M-Instruct").clicked() {
            commands.push(Command::OpenModel(ModelRef::Default));
        }
        for recent in &state.settings.recents {
            if ui.button(recent.label()).on_hover_text(recent.place()).clicked() {
                commands.push(Command::OpenModel(recent.model()));
            }
        }
    });
    button.response.on_hover_text("Open another model");
}

fn precision(ui: &mut Ui, state: &AppState, palette: Palette) {
    let Some(model) = &state.model else { return };
    let text = format!("{} · {}", model.device, model.dtype);
    let tip = format!("Computed on {} in {}; the file keeps {}", model.device, model.dtype, model.stored_as);
    ui.label(RichText::new(text).monospace().color(palette.weak)).on_hover_text(tip);
}

fn prompt_choices(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let kinds = [
        (PromptKind::Text, "Text", "Plain text, as it is"),
        (PromptKind::Chat, "Chat", "Turns, rendered with the model's own template"),
    ];
    if let Some(kind) = segmented(ui, state.prompt.kind, &kinds) {
        commands.push(Command::SetPromptKind(kind));
    }
    let is_text = state.prompt.kind == PromptKind::Text;
    ui.add_enabled_ui(is_text, |ui| {
        let caption = ui.label(RichText::new("BOS").color(palette_weak(ui)));
        let choice = match state.prompt.bos {
            BosChoice::Auto => "auto",
            BosChoice::Yes => "yes",
            BosChoice::No => "no",
        };
        egui::ComboBox::from_id_salt("bos")
            .width(58.0)
            .selected_text(choice)
            .show_ui(ui, |ui| {
                for (bos, label) in [
                    (BosChoice::Auto, "auto: as the model's metadata says"),
                    (BosChoice::Yes, "yes: always exactly one"),
                    (BosChoice::No, "no: never"),
                ] {
                    if ui.selectable_label(state.prompt.bos == bos, label).clicked() {
                        commands.push(Command::SetBos(bos));
                    }
                }
            })
            .response
            .labelled_by(caption.id)
            .on_hover_text("Whether plain text starts with the model's BOS token")
            .on_disabled_hover_text("The chat template decides about BOS");
    });
}

fn palette_weak(ui: &Ui) -> egui::Color32 {
    Palette::of(ui).weak
}

fn run_and_cancel(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>, palette: Palette) {
    let shortcut = ui.ctx().format_shortcut(&shortcuts::RUN);
    let label = RichText::new("▶ Run").color(palette.on_accent).strong();
    let run = egui::Button::new(label).fill(palette.accent).min_size(vec2(64.0, 22.0));
    let tip = format!("Run the model over the prompt ({shortcut})");
    if ui.add_enabled(state.can_run(), run).on_hover_text(tip).clicked() {
        commands.push(Command::Run);
    }
    let cancel = egui::Button::new("Cancel").min_size(vec2(60.0, 22.0));
    let running = state.job.as_ref().is_some_and(|job| !job.cancelling);
    if ui.add_enabled(running, cancel).on_hover_text("Stop the running job (Esc)").clicked() {
        commands.push(Command::Cancel);
    }
}

/// A character of the progress line is about as wide, in points.
const CHARACTER_WIDTH: f32 = 5.7;

/// The bar keeps its place while nothing runs, so that nothing moves when a job begins.
fn progress(ui: &mut Ui, state: &AppState, palette: Palette) {
    let size = vec2((ui.available_width() - 8.0).clamp(60.0, 420.0), 22.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let Some(job) = &state.job else { return };
    let line = job.line();
    let shown = job.line_within((rect.width() / CHARACTER_WIDTH) as usize);
    let bar = egui::Rect::from_min_max(egui::pos2(rect.left(), rect.bottom() - 4.0), rect.max);
    paint_bar(ui.painter(), bar, job.fraction().unwrap_or(0.0), palette.raised, palette.accent);
    let text = rect.left_top() + vec2(0.0, 1.0);
    ui.painter_at(rect).text(text, Align2::LEFT_TOP, &shown, FontId::proportional(12.0), palette.text);
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ProgressIndicator, true, &line));
    response.on_hover_text(line);
}

fn theme_menu(ui: &mut Ui, state: &AppState, commands: &mut Vec<Command>) {
    let (sign, next, tip) = match state.settings.theme {
        ThemePreference::Dark => ("●", ThemePreference::Light, "Dark theme; click for light"),
        ThemePreference::Light => ("○", ThemePreference::System, "Light theme; click to follow the system"),
        ThemePreference::System => ("◐", ThemePreference::Dark, "Theme of the system; click for dark"),
    };
    let button = ui.add(egui::Button::new(sign).frame(false)).on_hover_text(tip);
    controls::name(&button, "Theme");
    if button.clicked() {
        commands.push(Command::SetTheme(next));
    }
}
