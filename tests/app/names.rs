//! What a screen reader meets: everything that can be focused or clicked has a name, in every view.

use crate::stage::{SINKS, Stage, opening, showing};
use crate::support;
use egui::accesskit::{Action, Role};
use egui_kittest::kittest::{NodeT, Queryable as _, by};
use sinkscope::app::Command;
use sinkscope::app::eviction::{EvictionCommand, Mode as EvictionMode};
use sinkscope::app::files::FilesCommand;
use sinkscope::app::guide::GuideCommand;
use sinkscope::app::hub::HubCommand;
use sinkscope::app::panels::attention::{AttentionCommand, Mode};
use sinkscope::app::tokens::{LowerPlot, TokensCommand};
use sinkscope::app::view::{SinksPage, Tab};
use sinkscope::engine::Event;
use sinkscope::model::tokenizer::PromptError;
use std::collections::BTreeSet;

/// Role and place of every node that can be acted on and has no name.
fn nameless(stage: &Stage) -> Vec<String> {
    let nodes = stage.harness.query_all(by().predicate(|node| {
        let data = node.data();
        data.supports_action(Action::Focus) || data.supports_action(Action::Click)
    }));
    let mut wrong = Vec::new();
    let mut count = 0;
    for node in nodes {
        count += 1;
        let node = node.accesskit_node();
        // egui draws these itself and lets nobody name them; screen readers say what they are.
        if node.role() == Role::ScrollBar {
            continue;
        }
        let said = node.label().or_else(|| node.value()).unwrap_or_default();
        if said.trim().is_empty() {
            wrong.push(format!("{:?} at {:?}", node.role(), node.raw_bounds()));
        }
    }
    assert!(count > 5, "there must be something to act on: {count}");
    wrong
}

fn check(what: &str, stage: &mut Stage) {
    stage.settle();
    let wrong = nameless(stage);
    assert!(wrong.is_empty(), "{what}: {wrong:#?}");
}

fn tell(stage: &mut Stage, command: Command) {
    stage.harness.state_mut().state_mut().handle(command);
    stage.settle();
}

#[test]
fn everything_that_can_be_acted_on_has_a_name() {
    let mut stage = opening(egui::Theme::Dark);
    check("while a model loads", &mut stage);
    stage.engine.say(Event::Failed(PromptError::Empty.into()));
    check("without a model", &mut stage);

    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    for tab in [Tab::Attention, Tab::Sinks, Tab::Eviction] {
        tell(&mut stage, Command::ShowTab(tab));
        check(&format!("{tab:?}"), &mut stage);
        tell(&mut stage, Command::SelectToken(22));
        check(&format!("{tab:?} with a token"), &mut stage);
        tell(&mut stage, Command::ClearSelection);
    }
    for page in [SinksPage::Maps, SinksPage::Peak, SinksPage::Norms, SinksPage::Runs] {
        tell(&mut stage, Command::ShowSinksPage(page));
        check(&format!("{page:?}"), &mut stage);
    }
    for mode in [EvictionMode::Curves, EvictionMode::Sweep] {
        tell(&mut stage, Command::ShowTab(Tab::Eviction));
        tell(&mut stage, Command::Eviction(EvictionCommand::SetMode(mode)));
        check(&format!("{mode:?}"), &mut stage);
    }
    tell(&mut stage, Command::ShowTab(Tab::Attention));
    for mode in [Mode::Pattern, Mode::Difference, Mode::Lines] {
        tell(&mut stage, Command::Attention(AttentionCommand::SetMode(mode)));
        stage.step_until("what the mode shows", |state| state.attention.is_settled());
        check(&format!("{mode:?}"), &mut stage);
    }
    tell(&mut stage, Command::Attention(AttentionCommand::SetMode(Mode::Pattern)));
    let zoomed = sinkscope::widgets::viewport::Viewport::fit(143).zoomed(6.0, 0.2, 0.2, 143);
    tell(&mut stage, Command::Attention(AttentionCommand::Zoom(zoomed)));
    check("a part of a pattern", &mut stage);
    tell(&mut stage, Command::Tokens(TokensCommand::ShowPlot(LowerPlot::Selection)));
    check("the plot of the selection", &mut stage);
    stage.click("Text");
    check("a plain prompt", &mut stage);
    tell(&mut stage, Command::OpenPath("/nowhere.txt".into()));
    check("a message", &mut stage);
    for (what, open, close) in [
        ("palette", GuideCommand::ShowPalette(true), GuideCommand::ShowPalette(false)),
        ("sheet", GuideCommand::ShowSheet(true), GuideCommand::ShowSheet(false)),
        ("tour", GuideCommand::StartTour, GuideCommand::EndTour),
    ] {
        tell(&mut stage, Command::Guide(open));
        check(what, &mut stage);
        tell(&mut stage, Command::Guide(close));
    }
    tell(&mut stage, Command::Hub(HubCommand::Show(true)));
    check("Hub", &mut stage);
    tell(&mut stage, Command::Hub(HubCommand::SetName("owner/SmolLM2-135M-Instruct-GGUF".to_owned())));
    tell(&mut stage, Command::Hub(HubCommand::List));
    stage.engine.say(Event::Listed(Box::new(crate::snapshots::listing())));
    check("Hub with choices", &mut stage);
    tell(&mut stage, Command::Hub(HubCommand::Show(false)));
    tell(&mut stage, Command::ShowPathField(true));
    check("path field", &mut stage);
    tell(&mut stage, Command::ShowPathField(false));
    for (what, command) in [
        ("export", FilesCommand::ShowExport(true)),
        ("no export", FilesCommand::ShowExport(false)),
        ("save", FilesCommand::ShowSave(true)),
        ("no save", FilesCommand::ShowSave(false)),
        ("a question before closing", FilesCommand::CloseRequested),
        ("no question", FilesCommand::StayOpen),
    ] {
        tell(&mut stage, Command::Files(command));
        check(what, &mut stage);
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("1-0.sinkscope"), b"left").expect("written");
    stage.harness.state_mut().state_mut().autosave_in(folder.path());
    check("a session left behind", &mut stage);
}

/// A part of the window, and what opens it.
type Part = (&'static str, fn(&mut Stage));

/// What lies over the window.
fn dialogs() -> Vec<Part> {
    vec![
        ("palette", |stage| tell(stage, Command::Guide(GuideCommand::ShowPalette(true)))),
        ("sheet", |stage| tell(stage, Command::Guide(GuideCommand::ShowSheet(true)))),
        ("hub", |stage| tell(stage, Command::Hub(HubCommand::Show(true)))),
        ("path", |stage| tell(stage, Command::ShowPathField(true))),
        ("export", |stage| tell(stage, Command::Files(FilesCommand::ShowExport(true)))),
        ("save", |stage| tell(stage, Command::Files(FilesCommand::ShowSave(true)))),
        ("close", |stage| tell(stage, Command::Files(FilesCommand::CloseRequested))),
    ]
}

#[test]
fn tab_stays_within_a_dialog_and_reaches_it() {
    for (what, open) in dialogs() {
        let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
        open(&mut stage);
        let reached = tab_order(&mut stage, 12);
        assert!(!reached.is_empty(), "{what}: nothing has the keyboard");
        let behind = ["▶ Run", "Attention", "Eviction", "Samples ▾", "Turn 1 content"];
        assert!(reached.iter().all(|name| !behind.contains(&name.as_str())), "{what}: {reached:?}");
    }
}

#[test]
fn escape_closes_each_dialog_and_nothing_else() {
    for (what, open) in dialogs() {
        let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
        tell(&mut stage, Command::SelectToken(22));
        open(&mut stage);
        assert!(stage.state().has_dialog(), "{what}");
        stage.press(egui::Key::Escape);
        assert!(!stage.state().has_dialog(), "{what}");
        assert_eq!(stage.state().view.selected, Some(22), "{what}");
    }
}

/// Everything that a click does something to says what, when the pointer rests on it.
#[test]
fn controls_have_tooltips() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    let places: [Part; 14] = [
        ("attention", |_| {}),
        ("difference", |stage| stage.click("Difference")),
        ("lines", |stage| stage.click("Lines")),
        ("maps", |stage| tell(stage, Command::ShowSinksPage(SinksPage::Maps))),
        ("peak", |stage| tell(stage, Command::ShowSinksPage(SinksPage::Peak))),
        ("norms", |stage| tell(stage, Command::ShowSinksPage(SinksPage::Norms))),
        ("runs", |stage| tell(stage, Command::ShowSinksPage(SinksPage::Runs))),
        ("eviction", |stage| tell(stage, Command::ShowTab(Tab::Eviction))),
        ("sheet", |stage| tell(stage, Command::Guide(GuideCommand::ShowSheet(true)))),
        ("export", |stage| {
            tell(stage, Command::Guide(GuideCommand::ShowSheet(false)));
            tell(stage, Command::Files(FilesCommand::ShowExport(true)));
        }),
        ("save", |stage| {
            tell(stage, Command::Files(FilesCommand::ShowExport(false)));
            tell(stage, Command::Files(FilesCommand::ShowSave(true)));
        }),
        ("close", |stage| {
            tell(stage, Command::Files(FilesCommand::ShowSave(false)));
            tell(stage, Command::Files(FilesCommand::CloseRequested));
        }),
        ("hub", |stage| {
            tell(stage, Command::Files(FilesCommand::StayOpen));
            tell(stage, Command::Hub(HubCommand::Show(true)));
        }),
        ("tour", |stage| {
            tell(stage, Command::Hub(HubCommand::Show(false)));
            tell(stage, Command::Guide(GuideCommand::StartTour));
        }),
    ];
    let (mut wrong, mut tried) = (Vec::new(), BTreeSet::new());
    for (place, open) in places {
        open(&mut stage);
        let (new, without) = without_tooltip(&mut stage, &tried);
        wrong.extend(without.into_iter().map(|name| format!("{place}: {name}")));
        tried.extend(new);
    }
    assert!(tried.len() > 60, "{tried:?}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Names of buttons that were not tried before, and of those among them at which nothing is said when the pointer
/// rests there.
fn without_tooltip(stage: &mut Stage, tried: &BTreeSet<String>) -> (BTreeSet<String>, Vec<String>) {
    let buttons: Vec<(String, egui::Rect)> = stage
        .harness
        .query_all(by().predicate(|node| {
            let role =
                matches!(node.role(), Role::Button | Role::CheckBox | Role::ComboBox | Role::RadioButton);
            role && !node.is_disabled() && node.data().supports_action(Action::Click)
        }))
        .filter_map(|node| Some((node.accesskit_node().label()?, node.rect())))
        .collect();
    let (mut new, mut wrong) = (BTreeSet::new(), Vec::new());
    for (name, rect) in buttons {
        // Chips, heads and tokens of lines are no controls; what was tried may lie behind a dialog now; turns may be
        // scrolled away.
        let others = ["Token ", "Layer ", "Query ", "Key "];
        let known = tried.contains(&name) || others.iter().any(|part| name.starts_with(part));
        if known || name.contains("turn ") && rect.bottom() > 500.0 || !new.insert(name.clone()) {
            continue;
        }
        let before = areas(stage);
        stage.harness.hover_at(rect.center());
        stage.harness.run_steps(6);
        if areas(stage) == before {
            wrong.push(name);
        }
        stage.harness.remove_cursor();
        stage.harness.run_steps(3);
    }
    (new, wrong)
}

/// How many tooltips are on the screen.
fn areas(stage: &Stage) -> usize {
    let order = |layer: &&egui::LayerId| layer.order == egui::Order::Tooltip;
    stage.harness.ctx.memory(|memory| memory.areas().visible_layer_ids().iter().filter(order).count())
}

#[test]
fn a_node_without_a_name_is_found() {
    let mut harness = egui_kittest::Harness::new_ui(|ui| {
        for _ in 0..6 {
            let _ = ui.button("named");
        }
        let (rect, _) = ui.allocate_exact_size(egui::vec2(9.0, 9.0), egui::Sense::hover());
        let _ = ui.interact(rect, egui::Id::unique("nameless"), egui::Sense::click());
    });
    harness.run();
    let clickable = harness.query_all(by().predicate(|node| {
        node.data().supports_action(Action::Click) && node.label().unwrap_or_default().is_empty()
    }));
    assert_eq!(clickable.count(), 1);
}

/// Labels of what Tab reaches, in order.
fn tab_order(stage: &mut Stage, most: usize) -> Vec<String> {
    let mut order = Vec::new();
    for _ in 0..most {
        stage.harness.key_press(egui::Key::Tab);
        stage.harness.run_steps(2);
        // The node is borrowed from its tree: its method has no lifetime general enough.
        #[expect(clippy::redundant_closure_for_method_calls, reason = "the method alone does not compile")]
        let focused = stage.harness.query_all(by().predicate(|node| node.is_focused())).next();
        let label = focused.map(|node| node.accesskit_node().label().unwrap_or_default());
        order.extend(label);
    }
    order
}

#[test]
fn tab_goes_from_the_top_bar_to_the_panels() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    let order = tab_order(&mut stage, 60);
    let at = |label: &str| {
        let found = order.iter().position(|name| name.contains(label));
        found.unwrap_or_else(|| panic!("{label} is not reached: {order:#?}"))
    };
    assert!(at("Synthetic-Instruct") < at("▶ Run"), "{order:#?}");
    assert!(at("▶ Run") < at("Incoming"), "{order:#?}");
    assert!(at("Incoming") < at("Turn 1 content"), "{order:#?}");
}
