//! Sessions, exports and commands as a person uses them in the window.

use crate::stage::{SINKS, Stage, builder, opening, showing, step_until};
use crate::support::{self, Answering, CHAT};
use clap::Parser as _;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use sinkscope::app::eviction::EvictionCommand;
use sinkscope::app::files::FilesCommand;
use sinkscope::app::files::export::ExportChoice;
use sinkscope::app::panels::attention::{AttentionCommand, HeadOrder, Hiding, Mode};
use sinkscope::app::prompt::PromptKind;
use sinkscope::app::settings::Settings;
use sinkscope::app::tokens::TokensCommand;
use sinkscope::app::view::{HeadId, LayerChoice, SinksPage, StripColour, Tab};
use sinkscope::app::{App, AppState, Command, PickKind, Picked, Services};
use sinkscope::capture::PatternOf;
use sinkscope::cli::render::ViewName;
use sinkscope::color::ScaleKind;
use sinkscope::engine::{Engine, Event};
use sinkscope::eviction::PinChoice;
use sinkscope::export::{FileFormat, Theme};
use sinkscope::model::source::ModelRef;
use sinkscope::model::tokenizer::BosChoice;
use sinkscope::progress::CancelToken;
use sinkscope::session::{Kept, read_session};
use sinkscope::widgets::viewport::Viewport;
use std::path::{Path, PathBuf};

const TEXT: &str =
    "It's \"quoted\", $HOME `costs` 5 %;\nand é \\ goes on: the quick brown fox jumps over it.";

/// A window that shows a run of a prompt that the user wrote.
fn with_own_prompt() -> Stage {
    let mut stage = showing(egui::Theme::Dark, CHAT, &SINKS);
    let state = stage.harness.state_mut().state_mut();
    state.handle(Command::SetPromptKind(PromptKind::Text));
    state.handle(Command::SetPromptText(TEXT.to_owned()));
    state.handle(Command::Run);
    let (model, tokens) = (support::model(12, 6, 16), support::tokens(CHAT));
    stage.engine.say(Event::TokensReady(tokens.clone(), support::plan()));
    stage.engine.say(Event::CaptureReady(support::capture(7, &model, &tokens, &SINKS)));
    stage.settle();
    stage
}

fn answer(stage: &Stage, path: &Path) {
    *stage.dialogs.answer.borrow_mut() = Picked::Path(path.to_owned());
}

fn said(state: &AppState, part: &str) -> bool {
    state.toasts.iter().any(|toast| toast.text.contains(part))
}

fn save_to(stage: &mut Stage, path: &Path) {
    answer(stage, path);
    stage.harness.state_mut().state_mut().handle(Command::Files(FilesCommand::Save));
    stage.settle();
    stage.click("Choose file…");
    stage.step_until("saved", |state| said(state, "Saved"));
}

#[test]
fn a_session_is_saved_and_opens_in_a_window_without_its_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stage = with_own_prompt();
    let state = stage.harness.state_mut().state_mut();
    state.handle(Command::SelectToken(5));
    state.handle(Command::FocusHead(HeadId { layer: 3, head: 2 }));
    state.handle(Command::ShowTab(Tab::Sinks));
    save_to(&mut stage, &folder.path().join("mine"));
    let path = folder.path().join("mine.sinkscope");
    assert!(path.is_file(), "the extension is added");
    assert_eq!(stage.dialogs.asked.borrow().last(), Some(&PickKind::SaveSession));
    assert_eq!(stage.state().settings.recent_sessions, std::slice::from_ref(&path));

    let mut other = opening(egui::Theme::Dark);
    other.engine.say(Event::Failed(sinkscope::Error::Usage("no network".to_owned())));
    other.settle();
    assert!(other.state().model.is_none() && other.state().run.is_none());
    other.harness.state_mut().state_mut().handle(Command::OpenPath(path));
    other.step_until("opened", |state| state.run.is_some());
    let state = other.state();
    let (ours, theirs) = (state.run.as_ref().expect("a run"), stage.state().run.as_ref().expect("a run"));
    assert_eq!(ours.capture.weight(3, 2, 9, 4), theirs.capture.weight(3, 2, 9, 4));
    assert_eq!(ours.analysis, theirs.analysis);
    assert_eq!((state.view.tab, state.view.selected), (Tab::Sinks, Some(5)));
    assert_eq!(state.view.focus, HeadId { layer: 3, head: 2 });
    assert_eq!(state.prompt.text, TEXT);
    other.harness.state_mut().state_mut().handle(Command::Run);
    assert!(said(other.state(), "No model is loaded"), "running needs the model and says so");
    // When the model comes, the run on show stays.
    other.harness.state_mut().state_mut().handle(Command::OpenModel(ModelRef::Default));
    let jobs = other.engine.jobs();
    other.engine.say(Event::ModelReady(support::model(12, 6, 16)));
    other.settle();
    assert_eq!(other.engine.jobs(), jobs, "nothing runs unasked");
}

#[test]
fn a_damaged_session_is_refused_and_the_run_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stage = with_own_prompt();
    let path = folder.path().join("a.sinkscope");
    save_to(&mut stage, &path);
    let bytes = std::fs::read(&path).expect("the file");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).expect("written");
    let before = stage.state().run.as_ref().expect("a run").capture.id;
    stage.harness.state_mut().state_mut().handle(Command::OpenPath(path));
    stage.step_until("refused", |state| said(state, "This session is damaged"));
    assert_eq!(stage.state().run.as_ref().expect("a run").capture.id, before);
    assert!(stage.state().settings.recent_sessions.is_empty(), "it is no recent one");
}

#[test]
fn statistics_alone_show_sinks_and_say_why_there_is_no_pattern() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stage = with_own_prompt();
    let path = folder.path().join("small.sinkscope");
    stage.harness.state_mut().state_mut().handle(Command::Files(FilesCommand::ShowSave(true)));
    stage.settle();
    let statistics = stage.harness.get_by_label_contains("Statistics only ·");
    statistics.click();
    stage.settle();
    assert_eq!(stage.state().files.kept, Kept::Statistics);
    answer(&stage, &path);
    stage.click("Choose file…");
    stage.step_until("saved", |state| said(state, "Saved (statistics only)"));
    assert!(!read_session(&path).expect("opened").capture.has_patterns());
    stage.harness.state_mut().state_mut().handle(Command::OpenPath(path));
    stage.step_until("opened", |state| state.run.as_ref().is_some_and(|run| !run.capture.has_patterns()));
    stage.harness.state_mut().state_mut().handle(Command::SelectToken(3));
    stage.settle();
    stage.harness.get_by_label("This session keeps statistics only, no patterns");
}

fn ask_to_close(stage: &mut Stage) {
    let input = stage.harness.input_mut();
    let root = input.viewports.entry(egui::ViewportId::ROOT).or_default();
    root.events.push(egui::ViewportEvent::Close);
    stage.harness.step();
    stage.harness.input_mut().viewports.entry(egui::ViewportId::ROOT).or_default().events.clear();
    stage.settle();
}

#[test]
fn closing_asks_only_where_something_of_the_users_would_be_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stage = showing(egui::Theme::Dark, CHAT, &SINKS);
    assert!(!stage.state().has_unsaved_changes(), "a sample is no work");
    ask_to_close(&mut stage);
    assert!(!stage.state().files.asks_to_close);

    let mut stage = with_own_prompt();
    assert!(stage.state().has_unsaved_changes());
    ask_to_close(&mut stage);
    stage.harness.get_by_label("Save the session before closing?");
    stage.click("Don't close");
    assert!(!stage.state().files.asks_to_close && !stage.state().files.may_close());
    ask_to_close(&mut stage);
    answer(&stage, &folder.path().join("a.sinkscope"));
    stage.click("Save and close");
    stage.click("Choose file…");
    stage.step_until("may close", |state| state.files.may_close());
    assert!(!stage.state().has_unsaved_changes());

    let mut stage = with_own_prompt();
    ask_to_close(&mut stage);
    stage.click("Close without saving");
    assert!(stage.state().files.may_close());
}

#[test]
fn a_session_that_a_killed_program_left_is_offered_and_recovered() {
    let (ours, theirs) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let mut stage = with_own_prompt();
    stage.harness.state_mut().state_mut().autosave_in(ours.path());
    let sessions = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).expect("the folder").flatten().map(|entry| entry.path());
        entries.filter(|path| path.extension().is_some_and(|e| e == "sinkscope")).collect()
    };
    let place = ours.path().to_owned();
    stage.step_until("put aside", |_| !sessions(&place).is_empty());
    // What a kill leaves: the file, and a lock that nobody holds.
    let orphan = theirs.path().join("99-0.sinkscope");
    std::fs::copy(&sessions(&place)[0], &orphan).expect("copied");
    drop(stage);
    assert!(sessions(&place).is_empty(), "a program that ends as it should leaves nothing");

    let mut next = showing(egui::Theme::Dark, CHAT, &SINKS);
    next.harness.state_mut().state_mut().autosave_in(theirs.path());
    next.settle();
    next.harness.get_by_label("Recover the last session?");
    next.click("Later");
    assert!(orphan.exists(), "nothing is lost by waiting");
    next.harness.state_mut().state_mut().autosave_in(theirs.path());
    next.settle();
    next.click("Recover");
    next.step_until("recovered", |state| said(state, "Recovered"));
    assert_eq!(next.state().prompt.text, TEXT);
    assert!(next.state().has_unsaved_changes(), "it is in no file of the user's yet");
    next.step_until("put aside again", |_| !orphan.exists());
    assert_eq!(sessions(theirs.path()).len(), 1, "it is never in no file at all");
    save_to(&mut next, &ours.path().join("kept"));
    assert!(sessions(theirs.path()).is_empty());
}

#[test]
fn a_view_is_exported_by_clicks_and_a_path_is_typed_where_there_is_no_dialog() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stage = showing(egui::Theme::Dark, CHAT, &SINKS);
    stage.click("Export…");
    stage.click("svg");
    let path = folder.path().join("head");
    *stage.dialogs.answer.borrow_mut() = Picked::Unavailable;
    stage.click("Choose file…");
    assert_eq!(stage.dialogs.asked.borrow().last(), Some(&PickKind::Export(FileFormat::Svg)));
    stage.harness.get_by_label("Save to a path");
    stage.harness.state_mut().state_mut().handle(Command::SetPathField(path.display().to_string()));
    stage.settle();
    stage.click("Save");
    stage.step_until("exported", |state| said(state, "Exported"));
    let svg = std::fs::read_to_string(folder.path().join("head.svg")).expect("the file");
    assert!(svg.contains("Synthetic-Instruct"), "text is text");
    assert!(stage.state().files.export.is_none(), "the dialog is closed");
}

/// The words of a line, as a shell reads them.
fn words(line: &str) -> Vec<String> {
    let script = format!("for word in {line}; do printf '%s\\0' \"$word\"; done");
    let output = std::process::Command::new("sh").args(["-c", &script]).output().expect("a shell");
    let mut words: Vec<String> = output
        .stdout
        .split(|&byte| byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    words.pop();
    words
}

/// A window with the real engine and a tiny model, and the answers to its dialogs.
fn window_with_engine() -> (Harness<'static, App>, Answering) {
    let dialogs = Answering::new(Picked::Cancelled);
    let services = Services {
        engine: Box::new(Engine::start(|| {})),
        dialogs: Box::new(dialogs.clone()),
        wake: Box::new(|| {}),
    };
    let mut state = AppState::new(services, Settings::default(), true);
    state.handle(Command::SetPromptKind(PromptKind::Text));
    state.handle(Command::SetPromptText(TEXT.to_owned()));
    state.handle(Command::OpenModel(ModelRef::Path(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny/llama"),
    )));
    let mut harness =
        builder(egui::Theme::Dark).build_eframe(move |creation| App::new(&creation.egui_ctx, state));
    harness.input_mut().max_texture_side = Some(8192);
    step_until(&mut harness, "a run", |state| state.run.is_some());
    (harness, dialogs)
}

/// Exports what the dialog describes, runs the copied line, and compares the files.
fn assert_line_writes_the_same(harness: &mut Harness<'static, App>, dialogs: &Answering) {
    let folder = tempfile::tempdir().expect("a folder");
    let state = harness.state_mut().state_mut();
    let choice = state.files.export.clone().expect("a choice");
    let (format, view) = (choice.format, choice.render.view);
    state.handle(Command::Files(FilesCommand::CopyCommand));
    let line = state.take_clipboard().expect("a command");
    let window = folder.path().join(format!("window.{}", format.extension()));
    *dialogs.answer.borrow_mut() = Picked::Path(window.clone());
    state.toasts.clear();
    state.handle(Command::Files(FilesCommand::Export));
    step_until(harness, &line, |state| said(state, "Exported"));

    // The same line, but for where it writes.
    let name = harness.state().state().run.as_ref().expect("a run").capture.model.name.clone();
    let command = folder.path().join(format!("command.{}", format.extension()));
    let mut words = words(&line);
    let out = words.iter_mut().find(|word| word.contains(&format!("--out={name}-"))).expect("an output");
    *out = format!("--out={}", command.display());
    let arguments = sinkscope::cli::Arguments::try_parse_from(&words).expect(&line);
    let context = arguments.context();
    sinkscope::cli::run(arguments.command.expect("a command"), context, &CancelToken::new()).expect(&line);
    let (window, command) = (std::fs::read(&window).unwrap(), std::fs::read(&command).unwrap());
    let has_times = matches!(view, ViewName::Profile | ViewName::Strip | ViewName::Eviction);
    if format == FileFormat::Json && has_times {
        assert!(without_times(&window) == without_times(&command), "{line}");
    } else {
        assert!(window == command, "{line}");
    }
}

#[test]
fn the_copied_command_writes_what_the_window_exports() {
    let (mut harness, dialogs) = window_with_engine();
    let state = harness.state_mut().state_mut();
    state.handle(Command::SetLayers(LayerChoice::Range(1, 2)));
    state.handle(Command::SetHead(Some(1)));
    state.handle(Command::SetThreshold(2.1));
    state.handle(Command::SelectToken(3));
    state.handle(Command::SetPeakKeys(2));
    state.handle(Command::Eviction(EvictionCommand::SetPins(PinChoice::First(2))));
    state.handle(Command::Eviction(EvictionCommand::SetBudget { budget: 9, sliding: false }));
    state.handle(Command::ShowTab(Tab::Eviction));
    step_until(&mut harness, "both curves", |state| {
        state.eviction.live_runs().filter(|run| run.finished.is_some()).count() == 2
    });
    let alone = [ViewName::Difference, ViewName::Stability];
    for view in ViewName::ALL.into_iter().filter(|view| !alone.contains(view)) {
        for format in FileFormat::ALL.into_iter().filter(|format| view.takes(*format)) {
            let state = harness.state_mut().state_mut();
            state.handle(Command::Files(FilesCommand::ShowExport(true)));
            assert!(state.can_export(view), "{view:?}");
            state.handle(Command::Files(FilesCommand::ExportView(view)));
            let suggested = state.files.export.clone().expect("a suggestion");
            assert_eq!(suggested.render.view, view);
            let mut render = suggested.render;
            (render.layer, render.head, render.scale) = (Some(2), Some(3), 1.5);
            (render.color, render.range) = (ScaleKind::Sqrt, Some((0.01, 0.7)));
            let choice = ExportChoice { render, format };
            state.handle(Command::Files(FilesCommand::SetExport(Box::new(choice))));
            assert_line_writes_the_same(&mut harness, &dialogs);
        }
    }
}

/// Tells the window something, and lets it draw until tiles and differences are there.
fn tell(harness: &mut Harness<'static, App>, command: Command) {
    harness.state_mut().state_mut().handle(command);
    step_until(harness, "what was told is shown", |state| {
        state.attention.is_settled() && state.attention.shows_something()
            || state.attention.mode() == Mode::Lines
    });
}

#[test]
fn what_is_exported_is_what_is_looked_at() {
    let (mut harness, dialogs) = window_with_engine();
    let own = |command| Command::Attention(command);
    tell(&mut harness, Command::SetThreshold(0.8));
    tell(&mut harness, Command::FocusHead(HeadId { layer: 1, head: 2 }));
    let state = harness.state().state();
    let run = state.run.as_ref().expect("a run");
    assert!(!run.analysis.sinks.is_empty(), "there is something to hide");
    let side = run.capture.len();
    tell(&mut harness, own(AttentionCommand::SetHiding(Hiding::Rescaled)));
    tell(&mut harness, own(AttentionCommand::Zoom(Viewport::fit(side).zoomed(2.0, 0.1, 0.9, side))));
    let export = |harness: &mut Harness<'static, App>| {
        let state = harness.state_mut().state_mut();
        state.handle(Command::Files(FilesCommand::ShowExport(true)));
        state.files.export.clone().expect("a suggestion").render
    };
    let render = export(&mut harness);
    assert_eq!(render.theme, Theme::Dark, "as the window, which follows the system");
    assert_eq!((render.view, render.sinks), (ViewName::Head, Hiding::Rescaled));
    assert!(
        render.range.is_some() && render.queries.clone().is_some_and(|rows| rows.len() < side),
        "{render:?}"
    );
    assert_line_writes_the_same(&mut harness, &dialogs);
    // The whole of it, by the check box.
    export(&mut harness);
    harness.run_steps(3);
    harness.get_by_label("Only what is seen").click();
    harness.run_steps(3);
    let render = &harness.state().state().files.export.as_ref().expect("a choice").render;
    assert_eq!((&render.queries, &render.keys), (&None, &None));
    assert_line_writes_the_same(&mut harness, &dialogs);

    tell(&mut harness, own(AttentionCommand::SetMode(Mode::Lines)));
    tell(&mut harness, own(AttentionCommand::AllLineHeads(true)));
    let render = export(&mut harness);
    assert_eq!((render.view, render.head, render.also_heads.len()), (ViewName::Lines, Some(0), 3));
    assert_line_writes_the_same(&mut harness, &dialogs);

    // The grid by similarity to a mean, as a map; the strip by the weights on two tokens.
    tell(&mut harness, own(AttentionCommand::SetMode(Mode::Pattern)));
    tell(&mut harness, own(AttentionCommand::ShowMean(Some(PatternOf::LayerMean(2)))));
    tell(&mut harness, own(AttentionCommand::SetOrder(HeadOrder::Similarity)));
    for as_map in [false, true] {
        tell(&mut harness, own(AttentionCommand::ShowValues(as_map)));
        export(&mut harness);
        harness.state_mut().state_mut().handle(Command::Files(FilesCommand::ExportView(ViewName::Grid)));
        let render = &harness.state().state().files.export.as_ref().expect("a choice").render;
        assert_eq!((render.order, render.as_map, render.layer), (HeadOrder::Similarity, as_map, Some(2)));
        assert_line_writes_the_same(&mut harness, &dialogs);
    }
    tell(&mut harness, Command::SelectToken(5));
    tell(&mut harness, Command::Tokens(TokensCommand::Toggle(9)));
    for by in [StripColour::Incoming, StripColour::Outgoing, StripColour::Mass] {
        tell(&mut harness, Command::SetStripColour(by));
        export(&mut harness);
        harness.state_mut().state_mut().handle(Command::Files(FilesCommand::ExportView(ViewName::Strip)));
        assert_line_writes_the_same(&mut harness, &dialogs);
    }

    // Another text, without BOS: the run before stays open and can be subtracted.
    let state = harness.state_mut().state_mut();
    let before = state.run.as_ref().expect("a run").capture.id;
    state.handle(Command::SetBos(BosChoice::No));
    state.handle(Command::SetPromptText(format!("Now {TEXT}")));
    state.handle(Command::Run);
    step_until(&mut harness, "another run", |state| {
        state.run.as_ref().is_some_and(|run| run.capture.id != before)
    });
    tell(&mut harness, own(AttentionCommand::SetMode(Mode::Difference)));
    step_until(&mut harness, "a difference of two runs", |state| {
        let difference = state.attention.shown_difference();
        difference.is_some_and(|difference| difference.b.0.id == before) && state.attention.is_settled()
    });
    let render = export(&mut harness);
    assert_eq!((render.view, render.minus), (ViewName::Difference, Some((1, 2))));
    assert_line_writes_the_same(&mut harness, &dialogs);
    for format in [FileFormat::Csv, FileFormat::Json, FileFormat::Npy] {
        let render = export(&mut harness);
        let choice = Box::new(ExportChoice { render, format });
        harness.state_mut().state_mut().handle(Command::Files(FilesCommand::SetExport(choice)));
        assert_line_writes_the_same(&mut harness, &dialogs);
    }
    let state = harness.state_mut().state_mut();
    state.handle(Command::ShowSinksPage(SinksPage::Runs));
    assert_eq!(export(&mut harness).view, ViewName::Stability);
    assert_line_writes_the_same(&mut harness, &dialogs);
}

/// A report without what differs from run to run.
fn without_times(json: &[u8]) -> serde_json::Value {
    let mut value: serde_json::Value = serde_json::from_slice(json).expect("JSON");
    for name in ["timing_ms", "memory", "full_prefill_ms"] {
        value.as_object_mut().expect("an object").remove(name);
    }
    if let Some(model) = value.get_mut("model").and_then(|model| model.as_object_mut()) {
        // It says how much memory was free.
        model.remove("dtype_reason");
    }
    if let Some(cases) = value.get_mut("cases").and_then(|cases| cases.as_array_mut()) {
        cases.iter_mut().for_each(|case| drop(case.as_object_mut().expect("a case").remove("timing_ms")));
    }
    value
}

#[test]
fn a_prompt_too_long_for_a_command_line_goes_to_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stage = showing(egui::Theme::Dark, CHAT, &SINKS);
    let state = stage.harness.state_mut().state_mut();
    state.autosave_in(&folder.path().join("autosave"));
    let long = "it's long; ".repeat(9000);
    state.handle(Command::SetPromptKind(PromptKind::Text));
    state.handle(Command::SetPromptText(long.clone()));
    state.handle(Command::Run);
    let (model, tokens) = (support::model(12, 6, 16), support::tokens(CHAT));
    stage.engine.say(Event::CaptureReady(support::capture(8, &model, &tokens, &SINKS)));
    stage.settle();
    let state = stage.harness.state_mut().state_mut();
    state.handle(Command::Files(FilesCommand::CopyCommand));
    let line = state.take_clipboard().expect("a command");
    assert!(line.len() < 1000, "{} bytes", line.len());
    let file =
        words(&line).into_iter().find_map(|word| word.strip_prefix("--prompt-file=").map(str::to_owned));
    assert_eq!(std::fs::read_to_string(file.expect("a file")).expect("there"), long);
}
