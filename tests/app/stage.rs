//! A window on a stage: what surrounds it is under the test's control.

use crate::support::{self, Answering, ScriptedEngine};
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use egui_kittest::{Harness, HarnessBuilder};
use sinkscope::app::fonts::SystemFonts;
use sinkscope::app::settings::Settings;
use sinkscope::app::{App, AppState, Command, Picked, Services};
use sinkscope::engine::Event;
use sinkscope::model::source::ModelRef;
use std::time::{Duration, Instant};

/// Sinks planted in most tests: position, and how strongly.
pub(crate) const SINKS: [(usize, f32); 2] = [(0, 14.0), (22, 9.0)];

pub(crate) struct Stage {
    pub(crate) harness: Harness<'static, App>,
    pub(crate) engine: ScriptedEngine,
    pub(crate) dialogs: Answering,
}

pub(crate) fn builder(theme: egui::Theme) -> HarnessBuilder<App> {
    Harness::builder().with_size([1280.0, 800.0]).with_theme(theme).with_max_steps(20)
}

/// A window that has just asked for the default model.
pub(crate) fn opening(theme: egui::Theme) -> Stage {
    opening_on(theme, 1.0, SystemFonts::default())
}

/// The same with other fonts for what the bundled ones lack.
pub(crate) fn opening_with_fonts(theme: egui::Theme, fonts: SystemFonts) -> Stage {
    opening_on(theme, 1.0, fonts)
}

/// The same on a screen with so many pixels per point.
fn opening_on(theme: egui::Theme, pixels_per_point: f32, fonts: SystemFonts) -> Stage {
    let engine = ScriptedEngine::default();
    let dialogs = Answering::new(Picked::Cancelled);
    let services = Services {
        engine: Box::new(engine.clone()),
        dialogs: Box::new(dialogs.clone()),
        wake: Box::new(|| {}),
    };
    let preference = match theme {
        egui::Theme::Dark => egui::ThemePreference::Dark,
        egui::Theme::Light => egui::ThemePreference::Light,
    };
    let settings = Settings { theme: preference, ..Settings::default() };
    let mut state = AppState::new(services, settings, true);
    state.handle(Command::OpenModel(ModelRef::Default));
    let builder = builder(theme).with_pixels_per_point(pixels_per_point);
    let mut harness = builder.build_eframe(move |creation| App::with_fonts(&creation.egui_ctx, state, fonts));
    harness.input_mut().max_texture_side = Some(8192);
    Stage { harness, engine, dialogs }
}

/// A window that shows a run of `text` with sinks planted.
pub(crate) fn showing(theme: egui::Theme, text: &str, sinks: &[(usize, f32)]) -> Stage {
    run_in(opening(theme), text, sinks)
}

/// The same on a screen with so many pixels per point.
pub(crate) fn showing_on(
    theme: egui::Theme,
    pixels_per_point: f32,
    text: &str,
    sinks: &[(usize, f32)],
) -> Stage {
    run_in(opening_on(theme, pixels_per_point, SystemFonts::default()), text, sinks)
}

fn run_in(mut stage: Stage, text: &str, sinks: &[(usize, f32)]) -> Stage {
    let model = support::model(12, 6, 16);
    stage.engine.say(Event::ModelReady(model.clone()));
    stage.settle();
    let tokens = support::tokens(text);
    stage.engine.say(Event::TokensReady(tokens.clone(), support::plan()));
    stage.engine.say(Event::CaptureReady(support::capture(1, &model, &tokens, sinks)));
    stage.settle();
    stage
}

impl Stage {
    pub(crate) fn settle(&mut self) {
        self.harness.run_steps(4);
    }

    pub(crate) fn state(&self) -> &AppState {
        self.harness.state().state()
    }

    /// Steps until `done`, for what a worker thread computes.
    pub(crate) fn step_until(&mut self, what: &str, done: impl Fn(&AppState) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !done(self.state()) {
            assert!(Instant::now() < deadline, "never happened: {what}");
            std::thread::sleep(Duration::from_millis(5));
            self.harness.step();
        }
        self.settle();
    }

    /// Moves the window to a screen with so many pixels per point.
    pub(crate) fn move_to_screen(&mut self, pixels_per_point: f32) {
        let viewport = self.harness.input_mut().viewports.entry(egui::ViewportId::ROOT).or_default();
        viewport.native_pixels_per_point = Some(pixels_per_point);
        self.settle();
    }

    pub(crate) fn click(&mut self, label: &str) {
        self.harness.get_by_label(label).click();
        self.settle();
    }

    pub(crate) fn press(&mut self, key: Key) {
        self.harness.key_press(key);
        self.settle();
    }

    pub(crate) fn press_with(&mut self, modifiers: Modifiers, key: Key) {
        self.harness.key_press_modifiers(modifiers, key);
        self.settle();
    }

    pub(crate) fn tell(&mut self, command: Command) {
        self.harness.state_mut().state_mut().handle(command);
        self.settle();
    }

    /// Opens the palette, types and takes what is chosen then.
    pub(crate) fn by_palette(&mut self, query: &str) {
        self.press_with(Modifiers::COMMAND, Key::K);
        self.write(query);
        self.press(Key::Enter);
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.harness.event(egui::Event::Text(text.to_owned()));
        self.settle();
    }

    pub(crate) fn is_shown(&self, label: &str) -> bool {
        self.harness.query_all_by_label(label).next().is_some()
    }
}

/// Steps a window with the real engine until something is so.
pub(crate) fn step_until(harness: &mut Harness<'static, App>, what: &str, done: impl Fn(&AppState) -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !done(harness.state().state()) {
        assert!(Instant::now() < deadline, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
        harness.step();
    }
    harness.run_steps(3);
}
