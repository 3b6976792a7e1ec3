//! What a person does, and what the window does then.

use crate::stage::{SINKS, Stage, opening, showing};
use crate::support;
use egui_kittest::kittest::Queryable as _;
use sinkscope::app::panels::attention::{AttentionCommand, HeadOrder};
use sinkscope::app::prompt::PromptKind;
use sinkscope::app::settings::Recent;
use sinkscope::app::shelf::RunsCommand;
use sinkscope::app::view::Tab;
use sinkscope::app::{Command, PickKind, Picked};
use sinkscope::engine::{Event, Job, JobId, PromptInput};
use sinkscope::model::source::ModelRef;
use sinkscope::model::tokenizer::PromptError;
use sinkscope::progress::{Cancelled, Progress, ProgressUnit};
use std::sync::Arc;

#[test]
fn the_sample_chat_runs_as_soon_as_the_model_is_there() {
    let mut stage = opening(egui::Theme::Dark);
    stage.settle();
    assert!(matches!(
        stage.engine.last_job(),
        Some(Job::Open { model: ModelRef::Default, offline: true, .. })
    ));
    stage.engine.say(Event::ModelReady(support::model(2, 2, 8)));
    stage.settle();
    let Some(Job::Analyze { prompt: PromptInput::Chat(turns), .. }) = stage.engine.last_job() else {
        panic!("the sample chat must be run: {:?}", stage.engine.last_job());
    };
    assert_eq!(turns[0].role, "system");
    assert_eq!(stage.state().settings.recents, [Recent::Default]);
}

#[test]
fn typing_a_prompt_and_running_it_hands_over_exactly_what_was_typed() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    stage.click("Text");
    stage.harness.state_mut().state_mut().handle(Command::SetPromptText(String::new()));
    stage.settle();
    stage.harness.get_by_label("Prompt text").focus();
    stage.settle();
    stage.harness.get_by_label("Prompt text").type_text("Attention, please");
    stage.settle();
    stage.harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Enter);
    stage.settle();
    let Some(Job::Analyze { prompt, .. }) = stage.engine.last_job() else { panic!("nothing was run") };
    assert_eq!(prompt, PromptInput::Text { text: "Attention, please".into(), parse_specials: false });
}

#[test]
fn clicking_a_token_selects_it_and_shows_who_attends_to_it() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    let before = stage.harness.get_by_label_contains("Token 30 ").value();
    stage.harness.get_by_label("Token 0 <|im_start|>").click();
    stage.settle();
    assert_eq!(stage.state().view.selected, Some(0));
    assert_eq!(stage.harness.get_by_label("Index").value().as_deref(), Some("0"));
    assert_eq!(stage.harness.get_by_label("Class").value().as_deref(), Some("bos"));
    stage.step_until("partners", |state| state.shown_partners().is_some());
    let after = stage.harness.get_by_label_contains("Token 30 ").value();
    assert_ne!(before, after, "the strip must be recoloured");
    assert!(after.is_some_and(|value| value.starts_with("attends to 0: 0.")), "token 30 sees the sink");
}

#[test]
fn arrow_keys_move_the_selected_token() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    for (key, expected) in [
        (egui::Key::ArrowRight, Some(0)),
        (egui::Key::ArrowRight, Some(1)),
        (egui::Key::ArrowLeft, Some(0)),
        (egui::Key::ArrowLeft, Some(0)),
        (egui::Key::Escape, None),
    ] {
        stage.harness.key_press(key);
        stage.settle();
        assert_eq!(stage.state().view.selected, expected, "after {key:?}");
    }
}

#[test]
fn sinks_are_flagged_in_strip_and_table() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    let run = stage.state().run.as_ref().expect("a run");
    assert_eq!(run.analysis.detection.flagged, [0, 22]);
    stage.click("Sinks");
    assert_eq!(stage.state().view.tab, Tab::Sinks);
    assert_eq!(stage.harness.get_all_by_label_contains("● ").count(), 2);
}

#[test]
fn clicking_a_cell_of_the_head_map_focuses_that_head() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    stage.click("Sinks");
    let rect = stage.harness.get_by_label("α by layer and head").rect();
    // Layer 7 of 12, head 4 of 6.
    let at = rect.min + egui::vec2(rect.width() * 4.5 / 6.0, rect.height() * 7.5 / 12.0);
    stage.harness.drag_at(at);
    stage.harness.drop_at(at);
    stage.settle();
    let focus = stage.state().view.focus;
    assert_eq!((focus.layer, focus.head), (7, 4));
}

#[test]
fn dragging_the_threshold_line_changes_what_is_flagged() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    let line = stage.harness.get_by_label("Threshold line");
    assert!(line.value().is_some_and(|value| value.starts_with("z 3.50 → ")), "{:?}", line.value());
    let from = line.rect().center();
    let to = from + egui::vec2(0.0, 48.0);
    stage.harness.drag_at(from);
    stage.harness.step();
    stage.harness.hover_at(to);
    stage.harness.run_steps(2);
    stage.harness.drop_at(to);
    stage.settle();
    let threshold = stage.state().view.threshold;
    assert!(threshold < 3.0, "dragging down lowers the threshold: {threshold}");
    let moved = stage.harness.get_by_label("Threshold line").rect().center();
    assert!((moved.y - to.y).abs() < 1.5, "the line follows the pointer: {moved} {to}");
    let flagged = stage.state().run.as_ref().expect("a run").analysis.sinks.len();
    assert!(flagged > 2, "a lower line flags more: {flagged}");
}

#[test]
fn a_failed_run_says_why_in_one_line_and_can_be_copied() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    stage.click("▶ Run");
    stage.engine.say(Event::Failed(PromptError::Empty.into()));
    stage.settle();
    stage.harness.get_by_label("The prompt is empty: type some text");
    stage.harness.get_by_label("Copy").click();
    stage.harness.step();
    let commands = &stage.harness.output().platform_output.commands;
    assert!(
        commands.iter().any(
            |c| matches!(c, egui::OutputCommand::CopyText(text) if text.starts_with("The prompt is empty"))
        ),
        "{commands:?}"
    );
    stage.settle();
    stage.click("Dismiss");
    assert!(stage.harness.query_by_label("The prompt is empty: type some text").is_none());
    assert!(stage.state().run.is_some(), "the last result stays");
}

#[test]
fn a_stale_job_changes_nothing() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    stage.click("▶ Run");
    let jobs = stage.engine.jobs() as u64;
    stage.engine.say_of(JobId(jobs - 1), Event::Failed(PromptError::Empty.into()));
    stage.settle();
    assert!(stage.state().job.is_some(), "the running job goes on");
    assert!(stage.state().toasts.is_empty());
}

#[test]
fn escape_cancels_the_running_job() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    stage.click("▶ Run");
    stage.engine.say(Event::Progress(Progress {
        stage: "Prefill".into(),
        done: 4,
        total: Some(12),
        unit: ProgressUnit::Layers,
    }));
    stage.settle();
    stage.harness.get_by_label_contains("Prefill · layer 4 of 12");
    stage.harness.key_press(egui::Key::Escape);
    stage.settle();
    assert_eq!(stage.engine.0.borrow().cancelled, 1);
    stage.engine.say(Event::Failed(Cancelled.into()));
    stage.settle();
    assert!(stage.state().job.is_none());
    stage.harness.get_by_label("Cancelled");
}

#[test]
fn a_short_prompt_shows_its_evidence() {
    let mut stage = showing(egui::Theme::Dark, "<|im_start|>Why is the sky blue?", &[(0, 14.0)]);
    assert!(stage.state().run.as_ref().expect("a run").analysis.sinks.is_empty());
    assert!(stage.harness.get_all_by_label_contains("Not tested: needs 51 tokens").count() >= 1);
    assert!(stage.harness.query_by_label("Threshold line").is_none());
    stage.click("Sinks");
    stage.harness.get_all_by_label_contains("<|im_start|>").next().expect("the table shows index 0");
}

#[test]
fn a_picked_model_is_opened() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    *stage.dialogs.answer.borrow_mut() = Picked::Path("other.gguf".into());
    stage.harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::O);
    stage.settle();
    assert_eq!(*stage.dialogs.asked.borrow(), [PickKind::ModelFile]);
    let Some(Job::Open { model, .. }) = stage.engine.last_job() else { panic!("nothing was opened") };
    assert_eq!(model, ModelRef::Path("other.gguf".into()));
}

#[test]
fn without_a_dialog_a_path_can_be_typed() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    *stage.dialogs.answer.borrow_mut() = Picked::Unavailable;
    stage.harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::O);
    stage.settle();
    stage.harness.get_by_label("No file dialog on this machine: type the path");
    stage.harness.get_by_label("Path").type_text("models/tiny");
    stage.settle();
    stage.click("Open path");
    let Some(Job::Open { model, .. }) = stage.engine.last_job() else { panic!("nothing was opened") };
    assert_eq!(model, ModelRef::Path("models/tiny".into()));
    assert!(stage.state().path_field.is_none());
}

#[test]
fn a_prompt_file_becomes_the_prompt_and_runs() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("prompt.txt");
    std::fs::write(&path, "From a file").expect("a file");
    stage.harness.state_mut().state_mut().handle(Command::OpenPath(path));
    stage.settle();
    assert_eq!(stage.state().prompt.kind, PromptKind::Text);
    let Some(Job::Analyze { prompt, .. }) = stage.engine.last_job() else { panic!("nothing was run") };
    assert_eq!(prompt, PromptInput::Text { text: "From a file".into(), parse_specials: false });
}

#[test]
fn a_dropped_model_is_opened() {
    #[derive(Debug)]
    struct Dropped(std::path::PathBuf);
    impl egui::DroppedFile for Dropped {
        fn path(&self) -> &std::path::Path {
            &self.0
        }
        fn bytes(&self) -> Result<Vec<u8>, String> {
            Err("a model is not read by the window".to_owned())
        }
    }
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    stage.harness.input_mut().dropped_files.push(std::sync::Arc::new(Dropped("dropped.gguf".into())));
    stage.settle();
    let Some(Job::Open { model, .. }) = stage.engine.last_job() else { panic!("nothing was opened") };
    assert_eq!(model, ModelRef::Path("dropped.gguf".into()));
}

#[test]
fn tokens_are_shown_before_the_run_is_done() {
    let mut stage = opening(egui::Theme::Dark);
    stage.engine.say(Event::ModelReady(support::model(2, 2, 8)));
    stage.settle();
    stage.engine.say(Event::TokensReady(support::tokens("Hello there"), support::plan()));
    stage.settle();
    assert_eq!(stage.harness.get_by_label("Token 1 ·there").value().as_deref(), Some("not computed yet"));
}

#[test]
fn without_a_model_the_window_says_what_was_tried_and_what_to_do() {
    let mut stage = opening(egui::Theme::Dark);
    stage.engine.say(Event::Notice("The Hub can't be reached: trying the package index".into()));
    stage.engine.say(Event::Failed(sinkscope::Error::Panic("no model".into())));
    stage.settle();
    stage.harness.get_by_label_contains("The Hub can't be reached");
    stage.harness.get_by_label("Open model…");
}

#[test]
fn chat_turns_can_be_added_and_removed() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    let before = stage.state().prompt.turns.len();
    stage.harness.get_by_label("Remove turn 2").click();
    stage.settle();
    assert_eq!(stage.state().prompt.turns.len(), before - 1);
    assert_eq!(stage.state().prompt.turns[1].role, "assistant", "the second turn is the one that went");
}

#[test]
fn nothing_moves_when_a_result_arrives() {
    let mut stage = opening(egui::Theme::Dark);
    stage.engine.say(Event::ModelReady(support::model(12, 6, 16)));
    stage.settle();
    let name = "Hub name";
    let before = stage.harness.get_by_label(name).rect();
    let tokens = support::tokens(support::CHAT);
    stage.engine.say(Event::CaptureReady(support::capture(1, &support::model(12, 6, 16), &tokens, &SINKS)));
    stage.settle();
    let after = stage.harness.get_by_label(name).rect();
    assert_eq!(before, after, "the left panel stays where it was");
}

/// What the menu of the difference says is subtracted.
fn subtracted(stage: &Stage) -> String {
    stage.harness.get_by_label("Run that is subtracted").value().unwrap_or_default()
}

/// Runs another prompt on the same model.
fn run_another(stage: &mut Stage, id: u64, text: &str) {
    let model = stage.state().model.clone().expect("a model");
    stage.harness.state_mut().state_mut().handle(Command::Run);
    stage.engine.say(Event::CaptureReady(support::capture(id, &model, &support::tokens(text), &SINKS)));
    stage.settle();
}

#[test]
fn a_difference_is_made_with_the_open_runs() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    stage.click("Difference");
    assert_eq!(subtracted(&stage), "this run");
    stage.click("Run that is subtracted");
    stage.harness.get_by_label("Run another prompt, model or BOS choice: earlier runs stay open");
    stage.harness.key_press(egui::Key::Escape);
    stage.settle();

    run_another(&mut stage, 2, &support::CHAT.replace("Mars", "Venus"));
    assert_eq!(subtracted(&stage), "run A", "the latest other run, where nothing is chosen");
    run_another(&mut stage, 3, &support::CHAT.replace("Mars", "Pluto"));
    stage.click("Run that is subtracted");
    let line = |letter: char| {
        format!("{letter}  system You are a careful assistant… · 143 tokens · Synthetic-Instruct f32")
    };
    stage.harness.get_by_label(&line('A'));
    stage.click(&line('B'));
    assert_eq!((subtracted(&stage).as_str(), stage.state().attention.subtracted_run()), ("run B", Some(1)));

    // Closing it leaves this run; the head beside, as a head minus itself shows nothing.
    stage.harness.state_mut().state_mut().handle(Command::Runs(RunsCommand::Close(1)));
    stage.settle();
    assert_eq!(subtracted(&stage), "this run");
    let focus = stage.state().view.focus;
    let head = stage.harness.get_by_label("Head that is subtracted").value();
    assert_eq!(head, Some(format!("H{}", (focus.head + 1) % 6)));
}

#[test]
fn the_run_that_was_subtracted_and_the_shown_one_can_change_places() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    run_another(&mut stage, 2, &support::CHAT.replace("Mars", "Venus"));
    stage.click("Difference");
    stage.click("Run that is subtracted");
    stage.harness.get_by_label_contains("A  system").click();
    stage.settle();
    assert_eq!(stage.state().attention.subtracted_run(), Some(1));
    stage.harness.state_mut().state_mut().handle(Command::Runs(RunsCommand::Show(1)));
    stage.settle();
    assert_eq!(subtracted(&stage), "run A", "the one that was shown");
    assert_eq!(stage.state().shelf.runs()[0].capture.id, 2);
}

#[test]
fn patterns_of_closed_runs_are_let_go() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    run_another(&mut stage, 2, &support::CHAT.replace("Mars", "Venus"));
    stage.click("Difference");
    stage.step_until("a difference", |state| state.attention.is_settled());
    stage.click("Pattern");
    let other = Arc::downgrade(&stage.state().shelf.runs()[0].capture);
    stage.harness.state_mut().state_mut().handle(Command::Runs(RunsCommand::CloseOthers));
    stage.step_until("the memory of the closed run", |_| other.strong_count() == 0);
}

#[test]
fn a_similarity_of_sampled_rows_says_so() {
    let set = |stage: &mut Stage, order| {
        stage.harness.state_mut().state_mut().handle(Command::Attention(AttentionCommand::SetOrder(order)));
        stage.settle();
    };
    let said = "Similarity compared on 256 of 401 rows";
    let long = format!("<|im_start|>{}", "word ".repeat(400));
    let mut stage = showing(egui::Theme::Dark, long.trim_end(), &SINKS);
    assert!(stage.harness.query_by_label(said).is_none());
    set(&mut stage, HeadOrder::Similarity);
    stage.harness.get_by_label(said);
    stage.click("Order of the heads");
    stage.harness.get_by_label("similar heads, compared on 256 of 401 rows");
    stage.harness.key_press(egui::Key::Escape);
    stage.settle();
    set(&mut stage, HeadOrder::Entropy);
    assert!(stage.harness.query_by_label(said).is_none(), "a metric is of all rows");

    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    set(&mut stage, HeadOrder::Similarity);
    assert!(
        stage.harness.query_all_by_label_contains("compared on").next().is_none(),
        "all rows of a short text"
    );
}
