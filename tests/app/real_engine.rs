//! The window with the real engine on a tiny model: nothing is a stand-in but the screen.

use crate::stage::{builder, step_until};
use crate::support::Answering;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use sinkscope::app::eviction::EvictionCommand;
use sinkscope::app::prompt::PromptKind;
use sinkscope::app::settings::Settings;
use sinkscope::app::view::Tab;
use sinkscope::app::{App, AppState, Command, Picked, Services};
use sinkscope::engine::Engine;
use sinkscope::eviction::PinChoice;
use sinkscope::model::source::ModelRef;
use std::path::Path;

pub(crate) const TEXT: &str =
    "The quick brown fox jumps over the lazy dog, and the dog sleeps on in the sun.";

fn window_on(model: &Path) -> Harness<'static, App> {
    window_with(model, TEXT)
}

/// A window that runs a text on a model.
pub(crate) fn window_with(model: &Path, text: &str) -> Harness<'static, App> {
    let services = Services {
        engine: Box::new(Engine::start(|| {})),
        dialogs: Box::new(Answering::new(Picked::Cancelled)),
        wake: Box::new(|| {}),
    };
    let mut state = AppState::new(services, Settings::default(), true);
    state.handle(Command::SetPromptKind(PromptKind::Text));
    state.handle(Command::SetPromptText(text.to_owned()));
    state.handle(Command::OpenModel(ModelRef::Path(model.to_owned())));
    builder(egui::Theme::Dark).build_eframe(move |creation| App::new(&creation.egui_ctx, state))
}

#[test]
fn a_model_folder_is_opened_and_its_prompt_analysed() {
    let mut harness = window_on(Path::new("tests/fixtures/tiny/llama"));
    step_until(&mut harness, "a run", |state| state.run.is_some());
    let state = harness.state().state();
    let run = state.run.as_ref().expect("a run");
    let text: Vec<u8> = run.capture.tokens.tokens.iter().flat_map(|token| token.bytes.clone()).collect();
    assert_eq!(String::from_utf8_lossy(&text), TEXT, "labels rejoin to the text");
    assert!(run.capture.checks.max_row_sum_error < 1e-5);
    assert!(state.plan.is_some(), "memory is predicted before the run");
    assert!(state.job.is_none());

    let label = format!("Token 0 {}", run.capture.tokens.tokens[0].label());
    harness.get_by_label(&label).click();
    step_until(&mut harness, "partners", |state| state.shown_partners().is_some());
    let state = harness.state().state();
    let partners = state.shown_partners().expect("partners of token 0");
    let run = state.run.as_ref().expect("a run");
    let mean: f32 = run
        .capture
        .layers
        .iter()
        .enumerate()
        .flat_map(|(layer, _)| (0..run.capture.model.spec.heads).map(move |head| (layer, head)))
        .map(|(layer, head)| run.capture.weight(layer, head, 3, 0).expect("query 3 sees key 0"))
        .sum::<f32>()
        / (run.capture.layers.len() * run.capture.model.spec.heads) as f32;
    assert!((partners.weights[3].expect("query 3 sees key 0") - mean).abs() < 1e-6);
}

#[test]
fn a_folder_without_a_model_says_what_is_missing_and_the_window_lives_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut harness = window_on(folder.path());
    step_until(&mut harness, "a failure", |state| state.model_failure.is_some());
    let said = harness.state().state().model_failure.clone().expect("a failure");
    assert!(said.contains("config.json"), "{said}");
    assert!(!harness.state().state().toasts.is_empty());
    harness
        .state_mut()
        .state_mut()
        .handle(Command::OpenModel(ModelRef::Path("tests/fixtures/tiny/llama".into())));
    step_until(&mut harness, "a run after a failure", |state| state.run.is_some());
}

#[test]
fn evicting_a_small_cache_draws_its_exact_curve() {
    let mut harness = window_on(Path::new("tests/fixtures/tiny/llama"));
    step_until(&mut harness, "a run", |state| state.run.is_some());
    let state = harness.state_mut().state_mut();
    state.handle(Command::Eviction(EvictionCommand::SetPins(PinChoice::First(1))));
    state.handle(Command::Eviction(EvictionCommand::SetBudget { budget: 8, sliding: false }));
    state.handle(Command::ShowTab(Tab::Eviction));
    step_until(&mut harness, "both curves", |state| {
        state.eviction.live_runs().filter(|run| run.finished.is_some()).count() == 2
    });
    let state = harness.state().state();
    assert!(state.job.is_none() && state.toasts.is_empty());
    let full = &state.eviction.full_nll_nats;
    for run in state.eviction.live_runs() {
        assert_eq!(run.nll_nats.len(), full.len());
        assert_eq!(run.nll_nats[..9], full[..9], "rows 0…budget equal the full cache's");
        assert!(run.nll_nats[9..].iter().zip(&full[9..]).any(|(ours, full)| (ours - full).abs() > 1e-4));
    }
    let [window, pinned]: [_; 2] =
        state.eviction.live_runs().collect::<Vec<_>>().try_into().ok().expect("two");
    assert_ne!(window.nll_nats, pinned.nll_nats);
    let retention = &pinned.finished.as_ref().expect("finished").retention;
    assert_eq!(retention.share_after(12).iter().filter(|share| **share > 0.0).count(), 8);
    assert!(retention.share_after(12)[0] > 0.0, "the pin is held");
    harness.get_by_label_contains("with a window of 8");
}
