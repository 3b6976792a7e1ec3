//! The strip's tools: several tokens, search, history, lock, copy.

use crate::stage::{SINKS, Stage, showing};
use crate::support;
use egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use sinkscope::app::Command;
use sinkscope::app::partners::Partners;
use sinkscope::app::tokens::{LowerPlot, TokensCommand};
use sinkscope::app::view::{LayerChoice, StripColour};
use sinkscope::capture::Capture;

fn chip(stage: &Stage, token: usize) -> String {
    let run = stage.state().run.as_ref().expect("a run");
    format!("Token {token} {}", run.capture.tokens.tokens[token].label())
}

fn click_chip(stage: &mut Stage, token: usize, held: Modifiers) {
    let chip = chip(stage, token);
    stage.harness.get_by_label(&chip).click_modifiers(held);
    stage.settle();
}

fn selection(stage: &Stage) -> Vec<usize> {
    stage.state().view.selection().all()
}

fn tell(stage: &mut Stage, command: Command) {
    stage.harness.state_mut().state_mut().handle(command);
    stage.settle();
}

fn find(stage: &mut Stage, text: &str) {
    tell(stage, Command::Tokens(TokensCommand::Find(text.into())));
}

/// What the definition says: the mean, over chosen heads that see one of them, of the weights' sum.
fn expected(
    capture: &Capture,
    tokens: &[usize],
    outgoing: bool,
    layers: &[usize],
    other: usize,
) -> Option<f64> {
    let heads = 0..capture.model.spec.heads;
    let sums = layers.iter().flat_map(|&layer| heads.clone().map(move |head| (layer, head)));
    let sums: Vec<f64> = sums
        .filter_map(|(layer, head)| {
            let weights = tokens.iter().filter_map(|&token| {
                let (query, key) = if outgoing { (token, other) } else { (other, token) };
                capture.weight(layer, head, query, key).map(f64::from)
            });
            weights.reduce(|a, b| a + b)
        })
        .collect();
    (!sums.is_empty()).then(|| sums.iter().sum::<f64>() / sums.len() as f64)
}

fn assert_exact(stage: &Stage, partners: &Partners, layers: &[usize]) {
    let capture = &stage.state().run.as_ref().expect("a run").capture;
    assert_eq!(partners.weights.len(), capture.len());
    for (other, weight) in partners.weights.iter().enumerate() {
        let expected = expected(capture, &partners.key.tokens, partners.key.outgoing, layers, other);
        assert_eq!(weight.is_some(), expected.is_some(), "token {other}");
        let (weight, expected) = (f64::from(weight.unwrap_or(0.0)), expected.unwrap_or(0.0));
        assert!((weight - expected).abs() < 1e-6, "token {other}: {weight} is not {expected}");
    }
}

#[test]
fn several_selected_tokens_add_up_exactly_in_both_directions() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    click_chip(&mut stage, 22, Modifiers::NONE);
    click_chip(&mut stage, 0, Modifiers::COMMAND);
    click_chip(&mut stage, 30, Modifiers::COMMAND);
    assert_eq!(selection(&stage), [0, 22, 30]);
    stage.harness.get_by_label("3 SELECTED");
    let all: Vec<usize> = (0..12).collect();
    stage.step_until("partners", |state| state.selection_partners().is_some());
    let incoming = stage.state().selection_partners().expect("partners").clone();
    assert_exact(&stage, &incoming, &all);
    // Query 30 is the first to see all three; what it gives to each of them adds up.
    let said = stage.harness.get_by_label_contains("Token 31 ").value().expect("a value");
    assert!(said.starts_with("attends to 3 tokens: 0."), "{said}");

    stage.click("Outgoing");
    stage.step_until("the row", |state| state.shown_partners().is_some_and(|p| p.key.outgoing));
    let outgoing = stage.state().selection_partners().expect("partners").clone();
    assert_exact(&stage, &outgoing, &all);
    assert!((outgoing.weights.iter().flatten().sum::<f32>() - 3.0).abs() < 1e-5, "three rows sum to 3");
    stage.harness.get_by_label("OUTGOING BY LAYER AND HEAD");

    tell(&mut stage, Command::SetLayers(LayerChoice::Range(2, 3)));
    stage.step_until("two layers", |state| state.selection_partners().is_some());
    let narrow = stage.state().selection_partners().expect("partners").clone();
    assert_exact(&stage, &narrow, &[2, 3]);
    assert_eq!(narrow.by_head, outgoing.by_head, "the map shows every head, chosen or not");
}

#[test]
fn each_heads_weight_is_alpha_of_one_token_and_the_largest_of_a_row() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    click_chip(&mut stage, 22, Modifiers::NONE);
    stage.step_until("partners", |state| state.selection_partners().is_some());
    let run = stage.state().run.as_ref().expect("a run");
    let by_head = &stage.state().selection_partners().expect("partners").by_head;
    let alpha = &run.focus.as_ref().expect("facts").alpha;
    for (ours, alpha) in by_head.iter().flatten().zip(alpha.iter().flatten()) {
        assert!((f64::from(ours.value.expect("visible")) - alpha).abs() < 1e-5, "{ours:?} is not {alpha}");
    }
    tell(&mut stage, Command::SetStripColour(StripColour::Outgoing));
    stage.step_until("the row", |state| state.selection_partners().is_some());
    let run = stage.state().run.as_ref().expect("a run");
    let cell = stage.state().selection_partners().expect("partners").by_head[7][4];
    let weights = (0..=22).map(|key| run.capture.weight(7, 4, 22, key).expect("visible"));
    let (at, most) = weights.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).expect("a key");
    assert_eq!(cell.strongest, Some(at));
    assert!((cell.value.expect("a weight") - most).abs() < 1e-6);
}

#[test]
fn shift_selects_a_range_and_a_plain_click_one_token_again() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    click_chip(&mut stage, 5, Modifiers::NONE);
    click_chip(&mut stage, 9, Modifiers::SHIFT);
    assert_eq!(selection(&stage), [5, 6, 7, 8, 9]);
    assert_eq!(stage.state().view.selected, Some(5), "the anchor stays");
    click_chip(&mut stage, 7, Modifiers::COMMAND);
    assert_eq!(selection(&stage), [5, 6, 8, 9]);
    click_chip(&mut stage, 5, Modifiers::NONE);
    assert_eq!(selection(&stage), [5], "one of several: that one alone");
    click_chip(&mut stage, 5, Modifiers::NONE);
    assert!(selection(&stage).is_empty(), "the only one: none");
}

#[test]
fn a_locked_selection_stays_beside_the_current_one() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    click_chip(&mut stage, 22, Modifiers::NONE);
    stage.click("Lock");
    click_chip(&mut stage, 40, Modifiers::NONE);
    assert_eq!(stage.state().tokens.locked, [22]);
    assert_eq!(stage.harness.get_by_label("Index").value().as_deref(), Some("40, locked 22"));
    let share = stage.harness.get_by_label("Share").value().expect("a share");
    assert!(share.contains("%, locked ") && share.ends_with('%'), "{share}");
    stage.step_until("both", |state| {
        state.selection_partners().is_some() && state.locked_partners().is_some()
    });
    assert_eq!(stage.state().locked_partners().expect("locked").key.tokens, [22]);
    let plots = stage.harness.get_all_by_label("Selection").last().expect("the plot's button");
    plots.click();
    stage.settle();
    assert_eq!(stage.state().tokens.plot, LowerPlot::Selection);
    let plot = stage.harness.get_by_label("Attention of the selection");
    assert!(plot.value().is_some_and(|value| value.starts_with("strongest: token ")), "{:?}", plot.value());
    let at = plot.rect().center();
    stage.harness.hover_at(at);
    stage.settle();
    let said = stage.harness.get_by_label("Attention of the selection").value().expect("a value");
    assert!(said.contains(" gives ") && said.contains("locked 0."), "{said}");
    stage.click("Unlock");
    assert!(stage.state().tokens.locked.is_empty() && stage.state().locked_partners().is_none());
    assert_eq!(stage.harness.get_by_label("Index").value().as_deref(), Some("40"));
}

#[test]
fn typing_in_the_search_field_finds_tokens_and_enter_goes_on() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    stage.harness.key_press_modifiers(Modifiers::COMMAND, Key::F);
    stage.settle();
    stage.harness.get_by_label("Find tokens").type_text("blue");
    stage.settle();
    let blue: Vec<usize> = {
        let tokens = &stage.state().run.as_ref().expect("a run").capture.tokens.tokens;
        (0..tokens.len()).filter(|&i| tokens[i].text().contains("blue")).collect()
    };
    assert!(blue.len() > 2);
    stage.harness.get_by_label(&format!("{} hits", blue.len()));
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(stage.state().view.selected, Some(blue[0]));
    stage.harness.get_by_label(&format!("1 of {}", blue.len()));
    stage.harness.key_press(Key::Enter);
    stage.settle();
    assert_eq!(stage.state().view.selected, Some(blue[1]), "the field keeps the keyboard");
    stage.harness.key_press_modifiers(Modifiers::SHIFT, Key::F3);
    stage.settle();
    assert_eq!(stage.state().view.selected, Some(blue[0]));
    stage.harness.get_by_label("Previous hit").click();
    stage.settle();
    assert_eq!(stage.state().view.selected, blue.last().copied(), "round at the start");
}

#[test]
fn ids_classes_positions_and_patterns_are_found_and_nonsense_is_said() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    find(&mut stage, "class:structural");
    let structural = stage.state().tokens.search.hits.len();
    assert!(structural > 5, "{structural}");
    find(&mut stage, "id:1");
    assert_eq!(stage.state().tokens.search.hits.len(), structural + 1, "and BOS");
    find(&mut stage, "#40");
    stage.harness.get_by_label("Next hit").click();
    stage.settle();
    assert_eq!(selection(&stage), [40]);
    find(&mut stage, r"/\bsun\w+/");
    assert!(!stage.state().tokens.search.hits.is_empty());
    find(&mut stage, "zebra");
    stage.harness.get_by_label("no hit");
    find(&mut stage, "/(/");
    stage.harness.get_by_label("?");
    assert_eq!(selection(&stage), [40], "searching selects nothing by itself");
}

#[test]
fn alt_and_arrows_go_back_and_forward_through_selections() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    click_chip(&mut stage, 3, Modifiers::NONE);
    click_chip(&mut stage, 9, Modifiers::NONE);
    click_chip(&mut stage, 11, Modifiers::COMMAND);
    for (key, expected) in [
        (Key::ArrowLeft, &[9][..]),
        (Key::ArrowLeft, &[3]),
        (Key::ArrowLeft, &[]),
        (Key::ArrowLeft, &[]),
        (Key::ArrowRight, &[3]),
        (Key::ArrowRight, &[9]),
        (Key::ArrowRight, &[9, 11]),
        (Key::ArrowRight, &[9, 11]),
    ] {
        stage.harness.key_press_modifiers(Modifiers::ALT, key);
        stage.settle();
        assert_eq!(selection(&stage), expected, "after {key:?}");
    }
    stage.harness.get_by_label("Selection back").click();
    stage.settle();
    assert_eq!(selection(&stage), [9]);
}

fn copied(stage: &mut Stage) -> String {
    stage.harness.step();
    let commands = &stage.harness.output().platform_output.commands;
    let text = commands.iter().find_map(|command| match command {
        egui::OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    });
    text.unwrap_or_else(|| panic!("nothing was copied: {commands:?}"))
}

#[test]
fn tokens_are_copied_as_text_ids_positions_and_as_a_table() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    click_chip(&mut stage, 5, Modifiers::NONE);
    click_chip(&mut stage, 7, Modifiers::SHIFT);
    let tokens = stage.state().run.as_ref().expect("a run").capture.tokens.clone();
    let three: String = tokens.tokens[5..8].iter().map(sinkscope::model::tokenizer::Token::text).collect();
    stage.harness.event(egui::Event::Copy);
    assert_eq!(copied(&mut stage), three);
    stage.settle();
    for (item, expected) in [
        ("Positions", "5 6 7".to_owned()),
        ("Ids", tokens.ids()[5..8].iter().map(u32::to_string).collect::<Vec<_>>().join(" ")),
    ] {
        stage.click("Copy");
        stage.harness.get_by_label(item).click();
        assert_eq!(copied(&mut stage), expected);
        stage.settle();
    }
    stage.click("Copy");
    stage.harness.get_by_label("All tokens of the prompt").click();
    let all = copied(&mut stage);
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines.len(), tokens.len() + 1);
    assert_eq!(lines[1], r#"0	1	bos	"<|im_start|>""#);
    assert!(lines[3].ends_with(r#""\n""#), "a newline stays within its line: {}", lines[3]);
}
