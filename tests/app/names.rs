//! What a screen reader meets: everything that can be focused or clicked has a name, in every view.

use crate::stage::{SINKS, Stage, opening, showing};
use crate::support;
use egui::accesskit::{Action, Role};
use egui_kittest::kittest::{NodeT, Queryable as _, by};
use sinkscope::app::Command;
use sinkscope::app::guide::GuideCommand;
use sinkscope::app::hub::HubCommand;
use sinkscope::app::panels::attention::{AttentionCommand, Mode};
use sinkscope::app::view::Tab;
use sinkscope::engine::Event;
use sinkscope::model::tokenizer::PromptError;

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
    tell(&mut stage, Command::ShowTab(Tab::Attention));
    for mode in [Mode::Difference, Mode::Lines] {
        tell(&mut stage, Command::Attention(AttentionCommand::SetMode(mode)));
        check(&format!("{mode:?}"), &mut stage);
    }
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
    tell(&mut stage, Command::Hub(HubCommand::Show(false)));
    tell(&mut stage, Command::ShowPathField(true));
    check("path field", &mut stage);
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
