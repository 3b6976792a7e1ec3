//! Small windows: every control of every view can be reached, and none lies on another.

use crate::stage::{SINKS, Stage, showing};
use crate::support;
use egui::accesskit::Role;
use egui::{Rect, Vec2, vec2};
use egui_kittest::Node;
use egui_kittest::kittest::{NodeT, Queryable as _, by};
use sinkscope::app::Command;
use sinkscope::app::eviction::{EvictionCommand, Mode as EvictionMode};
use sinkscope::app::panels::attention::{AttentionCommand, HeadOrder, Hiding, Mode};
use sinkscope::app::view::{SinksPage, Tab};
use sinkscope::engine::Event;
use sinkscope::eviction::{PinChoice, PolicyName};

/// 1280 × 800 at 150 %, and the smallest window that is promised.
const SIZES: [Vec2; 2] = [vec2(853.0, 533.0), vec2(960.0, 620.0)];

/// A labelled widget: where it is, and where it can be seen and clicked.
#[derive(Debug)]
struct Placed {
    #[expect(dead_code, reason = "said when a test fails")]
    label: String,
    rect: Rect,
    seen: Rect,
    is_input: bool,
}

/// Whether a node lies in something that scrolls: what is cut there can be brought into sight.
fn is_scrolled(node: &Node<'_>) -> bool {
    let mut above = node.accesskit_node().parent();
    while let Some(parent) = above {
        if parent.children().any(|child| child.role() == Role::ScrollBar) {
            return true;
        }
        above = parent.parent();
    }
    false
}

fn placed_node(stage: &Stage, node: &Node<'_>) -> Option<Placed> {
    let node = node.accesskit_node();
    let (id, _) = node.locate();
    let widget = stage.harness.ctx.viewport(|viewport| {
        let mut all = viewport.prev_pass.widgets.layers().flat_map(|(_, widgets)| widgets);
        all.find(|widget| widget.id.accesskit_id() == id).copied()
    })?;
    Some(Placed {
        label: node.label().unwrap_or_default(),
        rect: widget.rect,
        seen: widget.interact_rect,
        is_input: matches!(
            node.role(),
            Role::Button | Role::CheckBox | Role::ComboBox | Role::SpinButton | Role::Slider
        ),
    })
}

fn placed(stage: &Stage) -> Vec<Placed> {
    let nodes = stage.harness.query_all(by().predicate(|node| node.label().is_some()));
    nodes.filter(|node| !is_scrolled(node)).filter_map(|node| placed_node(stage, &node)).collect()
}

fn check(what: &str, stage: &mut Stage) {
    stage.settle();
    let size = stage.harness.ctx.content_rect();
    let what = format!("{what} at {} × {}", size.width(), size.height());
    let all = placed(stage);
    assert!(all.len() > 30, "{what}: {} widgets", all.len());
    let cut: Vec<&Placed> = all
        .iter()
        .filter(|it| !size.expand(0.5).contains_rect(it.rect) || !it.seen.expand(0.5).contains_rect(it.rect))
        .collect();
    assert!(cut.is_empty(), "{what}: cut off: {cut:#?}");
    let inputs: Vec<&Placed> = all.iter().filter(|it| it.is_input).collect();
    for (i, one) in inputs.iter().enumerate() {
        for other in &inputs[i + 1..] {
            let both = one.rect.intersect(other.rect);
            let covers = both.width() > 1.0 && both.height() > 1.0;
            assert!(!covers, "{what}: {one:?} and {other:?} lie on each other");
        }
    }
}

fn tell(stage: &mut Stage, command: Command) {
    stage.harness.state_mut().state_mut().handle(command);
    stage.settle();
}

fn small(size: Vec2, text: &str) -> Stage {
    let mut stage = showing(egui::Theme::Dark, text, &SINKS);
    stage.harness.set_size(size);
    stage.settle();
    stage
}

#[test]
fn nothing_of_the_attention_view_is_cut_off() {
    for size in SIZES {
        let mut stage = small(size, support::CHAT);
        let model = stage.state().model.clone().expect("a model");
        let other = support::tokens(&support::CHAT.replace("Mars", "Venus"));
        tell(&mut stage, Command::Run);
        stage.engine.say(Event::CaptureReady(support::capture(2, &model, &other, &SINKS)));
        for mode in [Mode::Pattern, Mode::Difference, Mode::Lines] {
            tell(&mut stage, Command::Attention(AttentionCommand::SetMode(mode)));
            for order in HeadOrder::ALL {
                tell(&mut stage, Command::Attention(AttentionCommand::SetOrder(order)));
                check(&format!("{mode:?} by {order:?}"), &mut stage);
            }
        }
        tell(&mut stage, Command::Attention(AttentionCommand::SetMode(Mode::Pattern)));
        for hiding in Hiding::WAYS {
            tell(&mut stage, Command::Attention(AttentionCommand::SetHiding(hiding)));
            check(&format!("{hiding:?}"), &mut stage);
        }
    }
}

#[test]
fn nothing_of_the_sinks_view_is_cut_off() {
    for size in SIZES {
        let mut stage = small(size, support::CHAT);
        tell(&mut stage, Command::ShowTab(Tab::Sinks));
        for page in [SinksPage::Maps, SinksPage::Peak, SinksPage::Norms, SinksPage::Runs] {
            tell(&mut stage, Command::ShowSinksPage(page));
            check(&format!("{page:?}"), &mut stage);
        }
    }
}

#[test]
fn nothing_of_the_eviction_view_is_cut_off() {
    for size in SIZES {
        // Too short for the budget, so that there is a notice.
        let mut stage = small(size, support::CHAT);
        tell(&mut stage, Command::ShowTab(Tab::Eviction));
        for mode in [EvictionMode::Curves, EvictionMode::Sweep] {
            tell(&mut stage, Command::Eviction(EvictionCommand::SetMode(mode)));
            for policy in [PolicyName::Fifo, PolicyName::H2o, PolicyName::Random] {
                tell(&mut stage, Command::Eviction(EvictionCommand::SetPolicy(policy)));
                check(&format!("{mode:?} of {policy:?}"), &mut stage);
            }
            for pins in [PinChoice::First(4), PinChoice::Detected, PinChoice::DetectedPrefix(64)] {
                tell(&mut stage, Command::Eviction(EvictionCommand::SetPins(pins.clone())));
                check(&format!("{mode:?} with pins {pins}"), &mut stage);
            }
            let lowest = if mode == EvictionMode::Curves { "Retained keys" } else { "Budget sweep plot" };
            stage.harness.get_by_label(lowest).scroll_to_me();
            stage.settle();
            let lowest = placed_node(&stage, &stage.harness.get_by_label(lowest)).expect("drawn");
            assert!(
                lowest.seen.expand(0.5).contains_rect(lowest.rect),
                "cut off when scrolled to: {lowest:?}"
            );
        }
    }
}
