//! All of the window by keyboard alone: no test here has a pointer. Each step is seen in the state and said by what
//! a screen reader is given.

use crate::stage::{SINKS, Stage, opening};
use crate::support;
use egui::accesskit::Toggled;
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT as _, Queryable as _, by};
use sinkscope::app::panels::attention::{Hiding, Mode};
use sinkscope::app::view::{HeadId, SinksPage, Tab};
use sinkscope::app::{PickKind, Picked};
use sinkscope::engine::{Event, Job};
use sinkscope::eviction::PinChoice;
use sinkscope::export::FileFormat;
use sinkscope::model::source::ModelRef;

impl Stage {
    /// Labels of what is on or chosen.
    fn switched_on(&self) -> Vec<String> {
        let on = self.harness.query_all(by().predicate(|node| node.toggled() == Some(Toggled::True)));
        on.filter_map(|node| node.accesskit_node().label()).collect()
    }

    #[track_caller]
    fn assert_on(&self, label: &str) {
        let on = self.switched_on();
        assert!(on.iter().any(|name| name == label), "{label} is not on: {on:?}");
    }

    /// The chip that is said to be selected.
    fn selected_chip(&self) -> Option<String> {
        self.switched_on().into_iter().find(|name| {
            name.strip_prefix("Token ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    }

    #[track_caller]
    fn assert_selected(&self, token: usize) {
        assert_eq!(self.state().view.selected, Some(token));
        let run = self.state().run.as_ref().expect("a run");
        let name = format!("Token {token} {}", run.capture.tokens.tokens[token].label());
        assert_eq!(self.selected_chip(), Some(name));
    }

    /// Goes on with Tab until a control has the keyboard.
    #[track_caller]
    fn tab_to(&mut self, label: &str) {
        let mut passed = Vec::new();
        for _ in 0..200 {
            // The node is borrowed from its tree: its method has no lifetime general enough.
            #[expect(
                clippy::redundant_closure_for_method_calls,
                reason = "the method alone does not compile"
            )]
            let focused = self.harness.query_all(by().predicate(|node| node.is_focused())).next();
            let name = focused.and_then(|node| node.accesskit_node().label());
            if name.as_deref() == Some(label) {
                return;
            }
            passed.extend(name);
            self.harness.key_press(Key::Tab);
            self.harness.run_steps(2);
        }
        panic!("Tab never reaches {label}: {passed:#?}");
    }

    /// What the control of this name says beside its name.
    #[track_caller]
    fn value_of(&self, label: &str) -> String {
        self.harness.get_by_label(label).value().unwrap_or_default()
    }

    fn says(&self, part: &str) -> bool {
        let any = self.harness.query_all(by().predicate(|node| {
            let has = |text: Option<String>| text.is_some_and(|text| text.contains(part));
            has(node.label()) || has(node.value())
        }));
        any.count() > 0
    }

    #[track_caller]
    fn assert_says(&self, part: &str) {
        assert!(self.says(part), "nothing says {part:?}");
    }
}

/// Opens a model by its typed path and runs the prompt.
fn run() -> Stage {
    let mut stage = opening(egui::Theme::Dark);
    stage.settle();
    stage.by_palette("typed path");
    stage.write("tiny.gguf");
    stage.press(Key::Enter);
    let Some(Job::Open { model, .. }) = stage.engine.last_job() else { panic!("nothing was opened") };
    assert_eq!(model, ModelRef::Path("tiny.gguf".into()));
    let model = support::model(12, 6, 16);
    stage.engine.say(Event::ModelReady(model.clone()));
    stage.settle();
    stage.assert_says("Synthetic-Instruct");
    let before = stage.engine.jobs();
    stage.press_with(Modifiers::COMMAND, Key::Enter);
    assert_eq!(stage.engine.jobs(), before + 1);
    assert!(stage.state().job.is_some());
    let tokens = support::tokens(support::CHAT);
    stage.engine.say(Event::CaptureReady(support::capture(1, &model, &tokens, &SINKS)));
    stage.settle();
    assert!(stage.state().run.is_some() && stage.state().job.is_none());
    stage.assert_says("Token 0 <|im_start|> receives");
    stage
}

fn sharp(stage: &mut Stage) {
    stage.step_until("a sharp matrix", |state| state.attention.is_settled());
}

#[test]
fn tokens_and_heads_are_found_by_keyboard() {
    let mut stage = run();
    stage.by_palette("64");
    stage.assert_selected(64);
    stage.assert_says("SELECTED");
    stage.press(Key::S);
    stage.assert_selected(0);
    stage.press(Key::S);
    stage.assert_selected(22);
    stage.press(Key::ArrowRight);
    stage.assert_selected(23);

    stage.press_with(Modifiers::COMMAND, Key::F);
    assert!(stage.harness.get_by_label("Find tokens").is_focused());
    stage.write("sky");
    let hits = stage.state().tokens.search.hits.clone();
    assert!(hits.len() > 1, "{hits:?}");
    stage.assert_says(&format!("{} hits", hits.len()));
    stage.press(Key::Enter);
    let behind = hits.iter().position(|hit| hit.start >= 23).unwrap_or(0);
    stage.assert_selected(hits[behind].start);
    stage.assert_says(&format!("{} of {}", behind + 1, hits.len()));
    stage.press(Key::F3);
    stage.assert_selected(hits[(behind + 1) % hits.len()].start);
    stage.press(Key::Escape);
    assert!(!stage.harness.get_by_label("Find tokens").is_focused(), "the field is left");
    stage.assert_selected(hits[(behind + 1) % hits.len()].start);
    stage.press_with(Modifiers::ALT, Key::ArrowLeft);
    stage.assert_selected(hits[behind].start);

    stage.by_palette("4:3");
    assert_eq!(stage.state().view.focus, HeadId { layer: 4, head: 3 });
    stage.assert_says("Layer 4 · head 3");
    stage.press(Key::H);
    stage.press_with(Modifiers::SHIFT, Key::L);
    assert_eq!(stage.state().view.focus, HeadId { layer: 3, head: 4 });
    stage.assert_says("Layer 3 · head 4");
    stage.assert_on("Layer 3, head 4");

    stage.press_with(Modifiers::COMMAND, Key::Z);
    assert_eq!(stage.state().view.focus, HeadId { layer: 4, head: 4 });
    stage.assert_says("Undone: focused head");
    stage.assert_says("Layer 4 · head 4");
    stage.press_with(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    assert_eq!(stage.state().view.focus, HeadId { layer: 3, head: 4 });
    stage.assert_says("Layer 3 · head 4");
    stage.press(Key::Escape);
    assert_eq!((stage.state().view.selected, stage.selected_chip()), (None, None));
}

#[test]
fn patterns_are_read_and_compared_by_keyboard() {
    let mut stage = run();
    stage.by_palette("show a difference");
    assert_eq!(stage.state().attention.mode(), Mode::Difference);
    sharp(&mut stage);
    stage.assert_on("Difference");
    stage.harness.get_by_label("Attention difference");
    stage.by_palette("show lines");
    assert_eq!(stage.state().attention.mode(), Mode::Lines);
    stage.assert_on("Lines");
    stage.harness.get_by_label("Attention lines");
    stage.by_palette("show one pattern");
    assert_eq!(stage.state().attention.mode(), Mode::Pattern);
    stage.assert_on("Pattern");
    stage.by_palette("hide sinks");
    assert_ne!(stage.state().attention.hiding(), Hiding::Shown);
    stage.assert_on("Hide sinks");
    stage.by_palette("show hidden sinks");
    assert_eq!(stage.state().attention.hiding(), Hiding::Shown);
    assert!(!stage.switched_on().iter().any(|name| name == "Hide sinks"));

    sharp(&mut stage);
    let n = stage.state().run.as_ref().expect("a run").capture.len();
    stage.tab_to("Attention pattern");
    stage.press(Key::ArrowDown);
    let said = stage.value_of("Attention pattern");
    assert!(said.contains(" · query ") && said.contains(" → key 0 "), "{said}");
    stage.press(Key::ArrowRight);
    let said = stage.value_of("Attention pattern");
    assert!(said.contains(" → key 1 "), "{said}");
    let (row, column) = (n / 2, 1);
    let HeadId { layer, head } = stage.state().view.focus;
    let weight = stage.state().run.as_ref().expect("a run").capture.weight(layer, head, row, column);
    let weight = sinkscope::widgets::heatmap::value_text(weight);
    assert!(said.starts_with(&format!("{weight} · query {row} ")), "{said}, not {weight} of {row}, {column}");

    for _ in 0..4 {
        stage.press(Key::Plus);
    }
    let zoomed = stage.state().attention.view(n);
    assert!((zoomed.zoom(n) - 1.5_f64.powi(4)).abs() < 0.01, "{zoomed:?}");
    stage.assert_says("5.1×");
    let map = stage.value_of("Minimap");
    for _ in 0..7 {
        stage.press_with(Modifiers::SHIFT, Key::ArrowDown);
    }
    let panned = stage.state().attention.view(n);
    assert!(panned.row > zoomed.row && panned.cells == zoomed.cells, "{zoomed:?} → {panned:?}");
    assert_ne!(stage.value_of("Minimap"), map);
    stage.press(Key::Enter);
    stage.assert_selected(1);
    stage.press(Key::Num0);
    assert!(stage.state().attention.view(n).is_fit(n));
    stage.assert_says("1.0×");
    assert!(stage.harness.query_by_label("Minimap").is_none());
}

#[test]
fn sinks_and_evictions_are_read_by_keyboard() {
    let mut stage = run();
    stage.press_with(Modifiers::COMMAND, Key::Num2);
    assert_eq!(stage.state().view.tab, Tab::Sinks);
    stage.assert_on("Sinks");
    for (query, page, name) in [
        ("peak and tail", SinksPage::Peak, "Heads by peak share"),
        ("norms by layer", SinksPage::Norms, "Norms"),
        ("sinks of the other runs", SinksPage::Runs, "Stability"),
        ("maps of sinks", SinksPage::Maps, "far-lift by layer and position"),
    ] {
        stage.by_palette(query);
        assert_eq!(stage.state().view.sinks_page, page);
        stage.assert_says(name);
    }

    stage.press(Key::S);
    stage.press(Key::S);
    stage.press_with(Modifiers::COMMAND, Key::Num3);
    assert_eq!(stage.state().view.tab, Tab::Eviction);
    stage.assert_on("Eviction");
    let budget = stage.state().eviction.choices.budget;
    stage.press(Key::OpenBracket);
    let smaller = stage.state().eviction.choices.budget;
    assert!(smaller < budget);
    stage.assert_says(&format!("{smaller} tokens"));
    stage.press(Key::CloseBracket);
    assert_eq!(stage.state().eviction.choices.budget, budget);
    // A number may be a token, too: the second row is the budget.
    stage.press_with(Modifiers::COMMAND, Key::K);
    stage.write("64");
    stage.assert_says("Set the budget to 64 tokens");
    stage.press(Key::ArrowDown);
    stage.press(Key::Enter);
    assert_eq!(stage.state().eviction.choices.budget, 64);
    stage.assert_says("64 tokens");
    assert!(matches!(stage.engine.last_job(), Some(Job::Evict { .. })), "the engine is asked");
    assert_eq!(stage.state().view.selected, Some(22));
    stage.press(Key::P);
    let pins = stage.state().eviction.choices.pins.clone();
    assert!(matches!(&pins, PinChoice::Tokens(tokens) if tokens.contains(&22)), "{pins:?}");
    stage.press(Key::P);
    let pins = stage.state().eviction.choices.pins.clone();
    assert!(!matches!(&pins, PinChoice::Tokens(tokens) if tokens.contains(&22)), "{pins:?}");
    stage.press_with(Modifiers::COMMAND, Key::Z);
    stage.assert_says("Undone: pins");
    let pins = stage.state().eviction.choices.pins.clone();
    assert!(matches!(&pins, PinChoice::Tokens(tokens) if tokens.contains(&22)), "{pins:?}");
}

#[test]
fn files_are_written_by_keyboard() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut stage = run();
    stage.press_with(Modifiers::COMMAND, Key::E);
    assert!(stage.state().files.export.is_some());
    stage.tab_to("svg");
    stage.press(Key::Space);
    assert_eq!(stage.state().files.export.as_ref().expect("open").format, FileFormat::Svg);
    stage.assert_on("svg");
    stage.press(Key::Escape);
    assert!(stage.state().files.export.is_none() && !stage.says("Choose file…"));

    stage.press_with(Modifiers::COMMAND, Key::E);
    *stage.dialogs.answer.borrow_mut() = Picked::Path(folder.path().join("head"));
    stage.tab_to("Choose file…");
    stage.press(Key::Enter);
    assert_eq!(stage.dialogs.asked.borrow().last(), Some(&PickKind::Export(FileFormat::Png)));
    stage.step_until("exported", |state| state.toasts.iter().any(|toast| toast.text.contains("Exported")));
    assert!(folder.path().join("head.png").is_file());
    stage.assert_says("Exported");

    stage.press_with(Modifiers::COMMAND, Key::S);
    assert!(stage.state().files.save_is_open);
    *stage.dialogs.answer.borrow_mut() = Picked::Path(folder.path().join("mine"));
    stage.tab_to("Choose file…");
    stage.press(Key::Space);
    assert_eq!(stage.dialogs.asked.borrow().last(), Some(&PickKind::SaveSession));
    stage.step_until("saved", |state| state.toasts.iter().any(|toast| toast.text.contains("Saved")));
    assert!(folder.path().join("mine.sinkscope").is_file());
    stage.assert_says("Saved");
    // It has a file now: the same key saves without asking.
    let asked = stage.dialogs.asked.borrow().len();
    stage.press_with(Modifiers::COMMAND, Key::S);
    assert_eq!(stage.dialogs.asked.borrow().len(), asked);
    assert!(!stage.state().files.save_is_open);
}

#[test]
fn panels_palette_and_sheet_come_and_go_by_keyboard() {
    let mut stage = run();
    stage.press_with(Modifiers::COMMAND, Key::I);
    assert!(!stage.state().settings.layout.inspector && !stage.says("THIS PROMPT"));
    stage.press_with(Modifiers::COMMAND, Key::I);
    assert!(stage.state().settings.layout.inspector && stage.says("THIS PROMPT"));
    stage.press(Key::Questionmark);
    assert!(stage.state().guide.sheet && stage.says("Next sink"));
    stage.press(Key::Escape);
    assert!(!stage.state().guide.sheet && !stage.says("Next sink"));
    stage.press_with(Modifiers::COMMAND, Key::K);
    stage.write("zzz");
    assert!(stage.state().guide.palette.is_some());
    stage.assert_says("No such command now");
    stage.press(Key::Escape);
    assert!(stage.state().guide.palette.is_none());
}
