//! The window: state in one place, panels as free functions over it, commands in between.
//!
//! A frame: what came in (engine, dialogs, workers, keys) → commands → [`AppState::handle`]; then
//! the panels draw the state and push commands, which are handled before the next frame.

pub mod actions;
mod command;
pub mod dialogs;
pub mod engine_handle;
pub mod eviction;
pub mod files;
pub mod fonts;
mod format;
pub mod guide;
mod handle;
pub mod hub;
mod launch;
pub mod layout;
mod memory;
pub mod panels;
pub mod partners;
pub mod prompt;
pub mod run;
pub mod running;
pub mod settings;
pub mod shelf;
mod shortcuts;
mod state;
pub mod theme;
pub mod toasts;
pub mod tokens;
mod undo;
pub mod view;

pub use command::{Command, PickKind, Picked};
pub use handle::THRESHOLDS;
pub use launch::{RunOptions, StartEngine, Wake, WindowError, run};
pub use state::{AppState, Services};
pub use undo::{MOST_STEPS, UndoState};

use fonts::SystemFonts;
use settings::Settings;
use std::sync::Arc;

/// The application as eframe and the tests drive it.
pub struct App {
    state: AppState,
    fonts: Arc<SystemFonts>,
}

impl App {
    /// Dresses `ctx` and wraps the state.
    #[must_use]
    pub fn new(ctx: &egui::Context, state: AppState) -> Self {
        Self::with_fonts(ctx, state, SystemFonts::default())
    }

    /// The same with other fonts for what the bundled ones lack.
    #[must_use]
    pub fn with_fonts(ctx: &egui::Context, state: AppState, fonts: SystemFonts) -> Self {
        theme::install(ctx);
        let fonts = Arc::new(fonts);
        ctx.add_font_provider(Arc::<SystemFonts>::clone(&fonts));
        ctx.set_theme(state.settings.theme);
        ctx.set_zoom_factor(state.settings.layout.sane_zoom());
        // Zooming is one of our actions, with its keys in their table.
        ctx.options_mut(|options| options.zoom_with_keyboard = false);
        Self { state, fonts }
    }

    /// The state, for tests.
    #[must_use]
    pub fn state(&self) -> &AppState {
        &self.state
    }

    /// The state, for tests that play the part of the outside world.
    #[must_use]
    pub fn state_mut(&mut self) -> &mut AppState {
        &mut self.state
    }

    /// The first half of a frame: what came in is handled, what the views derive is prepared.
    pub fn prepare(&mut self, ctx: &egui::Context) {
        let mut commands = self.state.incoming();
        self.look_at_closing(ctx, &mut commands);
        commands.extend(self.fonts.take_missing().into_iter().map(Command::FontMissing));
        shortcuts::read(ctx, &self.state, &mut commands);
        self.carry_out(ctx, commands);
        self.state.frame(ctx);
    }

    /// The second half: the panels are drawn, and what they ask for is handled.
    pub fn show(&mut self, ui: &mut egui::Ui) {
        let mut commands = Vec::new();
        panels::window(ui, &self.state, &mut commands);
        toasts::ui(ui.ctx(), &self.state.toasts, &mut commands);
        self.carry_out(&ui.ctx().clone(), commands);
        if self.fonts.has_missing() {
            ui.ctx().request_repaint();
        }
    }

    /// Keeps the window open while something would be lost, and asks.
    fn look_at_closing(&self, ctx: &egui::Context, commands: &mut Vec<Command>) {
        if self.state.files.may_close() {
            ctx.send_viewport_cmd(egui::ViewportCommand::Close);
        } else if ctx.input(|input| input.viewport().close_requested()) && self.state.has_unsaved_changes() {
            ctx.send_viewport_cmd(egui::ViewportCommand::CancelClose);
            commands.push(Command::Files(files::FilesCommand::CloseRequested));
        }
    }

    /// Handles commands; what only the context can do follows.
    fn carry_out(&mut self, ctx: &egui::Context, commands: Vec<Command>) {
        for command in commands {
            self.state.handle(command);
            // What a command changed must be seen without waiting for the next input.
            ctx.request_repaint();
        }
        if let Some(text) = self.state.take_clipboard() {
            ctx.copy_text(text);
        }
        if std::mem::take(&mut self.state.guide.forget_sizes) {
            panels::forget_sizes(ctx);
        }
        if std::mem::take(&mut self.state.guide.wants_search) {
            ctx.memory_mut(|memory| memory.request_focus(tokens::keys::search_field()));
        }
        let zoom = self.state.settings.layout.sane_zoom();
        if ctx.zoom_factor() != zoom {
            ctx.set_zoom_factor(zoom);
        }
        let theme = self.state.settings.theme;
        if ctx.options(|options| options.theme_preference) != theme {
            ctx.set_theme(theme);
        }
    }
}

impl eframe::App for App {
    fn logic(&mut self, ctx: &egui::Context, _frame: &mut eframe::Frame) {
        self.prepare(ctx);
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        self.show(ui);
    }

    fn save(&mut self, storage: &mut dyn eframe::Storage) {
        eframe::set_value(storage, Settings::KEY, &self.state.settings);
    }
}
