//! The eviction view: what a person does there, and what is shown then.

use crate::stage::{Stage, showing};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use sinkscope::app::Command;
use sinkscope::app::eviction::{EvictionCommand, Purpose, ShownRun};
use sinkscope::app::view::Tab;
use sinkscope::engine::{Event, Job, PromptInput};
use sinkscope::eviction::{
    EvictionCase, EvictionRun, PinChoice, Pins, PolicyName, Retention, Schedule, SimulationPoint,
};
use sinkscope::model::tokenizer::BosChoice;
use sinkscope::progress::Cancelled;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Tokens of the text on the stage.
const TOKENS: usize = 300;

/// A text of `TOKENS` tokens that starts with BOS.
fn long_text() -> String {
    let words =
        ["the", "cache", "holds", "few", "keys", "and", "evicts", "others", "as", "text", "goes", "on"];
    let text: Vec<&str> = (1..TOKENS).map(|i| words[i * 7 % words.len()]).collect();
    format!("<|im_start|>{}", text.join(" "))
}

/// The view on a long text, the engine waiting to be told what it computed.
pub(crate) fn opened(theme: egui::Theme) -> Stage {
    let mut stage = showing(theme, &long_text(), &[(0, 14.0)]);
    assert_eq!(stage.state().run.as_ref().expect("a run").capture.len(), TOKENS);
    stage.click("Eviction");
    stage
}

/// The cases that the engine was last asked for.
fn asked(stage: &Stage) -> Vec<EvictionCase> {
    match stage.engine.last_job() {
        Some(Job::Evict { cases, .. }) => cases,
        other => panic!("no eviction was asked for: {other:?}"),
    }
}

fn full_nll(stage: &Stage) -> Vec<f64> {
    let run = stage.state().run.as_ref().expect("a run");
    run.capture.nll_nats.iter().map(|&nll| f64::from(nll)).collect()
}

/// A run whose NLL exceeds the full cache's by so many nats wherever it can differ.
fn run_of(full_nll_nats: &[f64], case: &EvictionCase, excess_nats: f64) -> EvictionRun {
    let n = full_nll_nats.len() + 1;
    let tokens: BTreeSet<usize> = match &case.pins {
        PinChoice::None => BTreeSet::new(),
        PinChoice::Bos => BTreeSet::from([0]),
        PinChoice::Tokens(tokens) => tokens.clone(),
        other => panic!("not scripted: {other}"),
    };
    let budget = case.budget.expect("a budget");
    let bump = |row: usize| if row > budget { excess_nats * (1.0 + (row % 5) as f64 / 10.0) } else { 0.0 };
    EvictionRun {
        case: case.clone(),
        retention: Retention::Shared(Schedule::of(case, &tokens, n)),
        pins: Pins { tokens, scored_from: 0 },
        nll_nats: full_nll_nats.iter().enumerate().map(|(row, nll)| nll + bump(row)).collect(),
        first_differing_row: (budget + 1 < n).then_some(budget + 1),
        wall_ms: 120.0,
    }
}

/// Half a nat more with pins, two without, less the larger the budget.
fn excess(case: &EvictionCase) -> f64 {
    let pinned = if case.pins == PinChoice::None { 2.0 } else { 0.2 };
    pinned * 64.0 / case.budget.expect("a budget") as f64
}

/// Has the engine compute all that it was asked for.
pub(crate) fn finish(stage: &mut Stage) {
    let full = full_nll(stage);
    for (case, wanted) in asked(stage).iter().enumerate() {
        let run = run_of(&full, wanted, excess(wanted));
        for (i, rows) in run.nll_nats.chunks(100).enumerate() {
            let point = SimulationPoint { first_row: i * 100, nll_nats: rows.to_vec() };
            stage.engine.say(Event::CurvePoint { case, point });
        }
        stage.engine.say(Event::RunDone { case, run: Arc::new(run) });
    }
    stage.settle();
}

/// A label's text.
fn said(node: &egui_kittest::Node<'_>) -> Option<String> {
    node.value().or_else(|| node.accesskit_node().label())
}

fn headline(stage: &Stage) -> String {
    let said = stage
        .harness
        .get_all_by_label_contains("perplexity")
        .find_map(|node| said(&node).filter(|said| said.starts_with("Once the cache is full")));
    said.expect("a headline")
}

fn plot_value(stage: &Stage, name: &str) -> String {
    stage.harness.get_by_label(name).value().unwrap_or_default()
}

fn do_(stage: &mut Stage, command: EvictionCommand) {
    stage.harness.state_mut().state_mut().handle(Command::Eviction(command));
    stage.settle();
}

#[test]
fn opening_the_view_tells_window_against_bos_pinned_at_128() {
    let mut stage = opened(egui::Theme::Dark);
    let wanted = [EvictionCase::fifo(128, PinChoice::None), EvictionCase::fifo(128, PinChoice::Bos)];
    assert_eq!(asked(&stage), wanted);
    stage.harness.get_by_label_contains("Computing from token 130");
    finish(&mut stage);
    let said = headline(&stage);
    assert!(said.contains("with the full cache") && said.contains("with a window of 128"), "{said}");
    assert!(said.contains("with BOS pinned"), "{said}");
    let drawn = plot_value(&stage, "Rolling perplexity plot");
    assert!(drawn.contains("Full cache; A Window 128 to token 299"), "{drawn}");
    assert!(drawn.contains("B Window 128 · BOS pinned to token 299"), "{drawn}");
    assert_eq!(plot_value(&stage, "Retained keys"), "A: 128 keys held; B: 128 keys held");
    assert!(stage.state().job.is_none(), "the job is over");
}

#[test]
fn the_headline_compares_over_the_rows_that_can_differ() {
    let mut stage = opened(egui::Theme::Dark);
    finish(&mut stage);
    let full = full_nll(&stage);
    let rows = &full[129..];
    let perplexity = (rows.iter().sum::<f64>() / rows.len() as f64).exp();
    let ours = run_of(&full, &EvictionCase::fifo(128, PinChoice::None), 1.0).nll_nats;
    let ratio = ((ours[129..].iter().sum::<f64>() - rows.iter().sum::<f64>()) / rows.len() as f64).exp();
    let said = headline(&stage);
    assert!(said.contains(&format!("perplexity is {perplexity:.1} with the full cache")), "{said}");
    assert!(said.contains(&format!("(×{ratio:.2}) with a window of 128")), "{said}");
}

#[test]
fn curves_draw_themselves_in_while_they_are_computed() {
    let mut stage = opened(egui::Theme::Dark);
    let full = full_nll(&stage);
    let run = run_of(&full, &asked(&stage)[0], 1.0);
    let point = SimulationPoint { first_row: 0, nll_nats: run.nll_nats[..200].to_vec() };
    stage.engine.say(Event::CurvePoint { case: 0, point });
    stage.settle();
    let said = headline(&stage);
    assert!(said.contains("so far (to token 200)") && !said.contains("BOS pinned"), "{said}");
    assert!(plot_value(&stage, "Rolling perplexity plot").contains("A Window 128 to token 200"));
    stage.harness.get_by_label_contains("Eviction · row 71 of 340");
}

#[test]
fn moving_the_slider_changes_curve_and_headline() {
    let mut stage = opened(egui::Theme::Dark);
    finish(&mut stage);
    let before = (headline(&stage), plot_value(&stage, "Rolling perplexity plot"));
    let slider = stage.harness.get_by_role_and_label(egui::Role::Slider, "Budget").rect();
    let jobs = stage.engine.jobs();
    stage.harness.drag_at(slider.center());
    stage.harness.step();
    for share in [0.45, 0.4, 0.35] {
        stage.harness.hover_at(slider.left_center() + egui::vec2(slider.width() * share, 0.0));
        stage.harness.run_steps(2);
    }
    assert!(stage.engine.jobs() >= jobs + 3, "each place is asked for at once, the latest wins");
    stage.harness.drop_at(slider.left_center() + egui::vec2(slider.width() * 0.35, 0.0));
    stage.settle();
    let budget = stage.state().eviction.choices.budget;
    assert!(budget < 60, "a third along a logarithmic slider: {budget}");
    assert_eq!(asked(&stage)[0].budget, Some(budget));
    finish(&mut stage);
    let after = (headline(&stage), plot_value(&stage, "Rolling perplexity plot"));
    assert!(after.0.contains(&format!("with a window of {budget}")), "{}", after.0);
    assert_ne!(before.1, after.1);
    let names: Vec<String> = stage.state().eviction.runs.iter().map(|run| run.key.name()).collect();
    assert_eq!(names.len(), 4, "what the slider only passed is not kept: {names:?}");
}

#[test]
fn a_run_that_was_computed_before_reappears_at_once() {
    let mut stage = opened(egui::Theme::Dark);
    finish(&mut stage);
    let before = headline(&stage);
    stage.harness.key_press(egui::Key::OpenBracket);
    stage.settle();
    assert_eq!(asked(&stage)[0].budget, Some(96));
    finish(&mut stage);
    let jobs = stage.engine.jobs();
    stage.harness.key_press(egui::Key::CloseBracket);
    stage.harness.run_steps(2);
    assert_eq!(headline(&stage), before);
    assert_eq!(stage.engine.jobs(), jobs, "nothing is computed again");
}

#[test]
fn toggling_pins_shows_both_curves_or_one() {
    let mut stage = opened(egui::Theme::Dark);
    finish(&mut stage);
    stage.click("With pins");
    let said = headline(&stage);
    assert!(!said.contains("BOS pinned"), "{said}");
    assert_eq!(stage.state().eviction.live_runs().count(), 1);
    let jobs = stage.engine.jobs();
    stage.click("With pins");
    assert!(headline(&stage).contains("with BOS pinned"));
    assert_eq!(stage.state().eviction.live_runs().count(), 2);
    assert_eq!(stage.engine.jobs(), jobs);
}

#[test]
fn clicking_a_token_in_the_strip_pins_it_and_clicking_again_lets_it_go() {
    let mut stage = opened(egui::Theme::Dark);
    finish(&mut stage);
    let strip = stage.harness.get_by_label("Retained keys").rect();
    // The axis spans −0.5% … 103% of the text, behind the room for the letters.
    let n = TOKENS as f32;
    let x = |token: f32| strip.left() + (token + n * 0.005) / (n * 1.035) * strip.width();
    let at = egui::pos2(x(60.0), strip.center().y);
    stage.harness.hover_at(at);
    stage.settle();
    let token = stage.state().eviction.hovered.expect("a token under the pointer");
    assert!((59..=61).contains(&token), "{token}");
    stage.harness.drag_at(at);
    stage.harness.drop_at(at);
    stage.settle();
    assert_eq!(stage.state().eviction.choices.pins, PinChoice::Tokens(BTreeSet::from([0, token])));
    assert_eq!(asked(&stage).last().expect("a case").pins, PinChoice::Tokens(BTreeSet::from([0, token])));
    finish(&mut stage);
    assert!(headline(&stage).contains("2 picked pinned"));
    stage.harness.drag_at(at);
    stage.harness.drop_at(at);
    stage.settle();
    assert_eq!(stage.state().eviction.choices.pins, PinChoice::Tokens(BTreeSet::from([0])));
}

#[test]
fn pointing_reads_exact_values_and_a_click_selects_the_token_everywhere() {
    let mut stage = opened(egui::Theme::Dark);
    finish(&mut stage);
    let plot = stage.harness.get_by_label("Rolling perplexity plot").rect();
    stage.harness.hover_at(plot.center());
    stage.settle();
    let token = stage.state().eviction.hovered.expect("a token under the pointer");
    let full = full_nll(&stage)[token - 1];
    let label = stage.state().run.as_ref().expect("a run").capture.tokens.tokens[token].label();
    let wanted = format!("{token} {label}  full PPL");
    let readout = said(&stage.harness.get_by_label_contains(&wanted)).expect("a readout");
    assert!(readout.contains(&format!("NLL {full:.2}")) && readout.contains("Δ +"), "{readout}");
    stage.harness.drag_at(plot.center());
    stage.harness.drop_at(plot.center());
    stage.settle();
    assert_eq!(stage.state().view.selected, Some(token));
}

#[test]
fn escape_stops_the_run_and_it_can_be_run_again() {
    let mut stage = opened(egui::Theme::Dark);
    stage.harness.key_press(egui::Key::Escape);
    stage.settle();
    assert_eq!(stage.engine.0.borrow().cancelled, 1);
    stage.engine.say(Event::Failed(Cancelled.into()));
    stage.settle();
    assert!(stage.state().job.is_none());
    stage.harness.get_by_label_contains("Stopped");
    let jobs = stage.engine.jobs();
    stage.click("Run again");
    assert_eq!(stage.engine.jobs(), jobs + 1);
    finish(&mut stage);
    assert!(headline(&stage).contains("BOS pinned"));
    assert!(stage.harness.query_by_label_contains("Stopped").is_none());
}

#[test]
fn a_cache_that_has_not_filled_says_so() {
    let mut stage = opened(egui::Theme::Dark);
    finish(&mut stage);
    do_(&mut stage, EvictionCommand::SetBudget { budget: TOKENS, sliding: false });
    stage
        .harness
        .get_by_label_contains("The cache has not filled: the text has 300 tokens and the budget is 300");
}

#[test]
fn what_makes_no_sense_is_said_before_anything_runs() {
    let mut stage = opened(egui::Theme::Dark);
    finish(&mut stage);
    let jobs = stage.engine.jobs();
    do_(&mut stage, EvictionCommand::SetBudget { budget: 1, sliding: false });
    stage.harness.get_by_label("Budget 1 must exceed the 1 pinned tokens");
    assert_eq!(asked(&stage), [EvictionCase::fifo(1, PinChoice::None)], "the run without pins makes sense");
    finish(&mut stage);
    stage.click("Slots");
    stage.click("H2O");
    stage.harness.get_by_label("H2O, TOVA and Lowest take original positions only");
    assert!(stage.state().job.is_none(), "what is no longer asked for is stopped");
    assert!(stage.engine.jobs() <= jobs + 2, "nothing was asked for that makes no sense");
    stage.click("Original");
    do_(&mut stage, EvictionCommand::SetBudget { budget: 128, sliding: false });
    assert!(asked(&stage).iter().all(|case| case.policy == PolicyName::H2o && case.recent.is_none()));
}

#[test]
fn without_bos_the_window_says_what_to_do_instead() {
    let mut stage = showing(egui::Theme::Dark, &long_text().replace("<|im_start|>", "Now "), &[(0, 14.0)]);
    stage.click("Eviction");
    assert_eq!(asked(&stage), [EvictionCase::fifo(128, PinChoice::None)]);
    stage.harness.get_by_label("The text does not start with BOS: pin first:1, or prepend BOS");
    stage.click("Pin the first token");
    let cases = [PinChoice::None, PinChoice::First(1)].map(|pins| EvictionCase::fifo(128, pins));
    assert_eq!(asked(&stage), cases);
    stage.click("Text");
    stage.harness.state_mut().state_mut().handle(Command::Eviction(EvictionCommand::SetPins(PinChoice::Bos)));
    stage.settle();
    stage.click("Prepend BOS");
    assert!(matches!(stage.engine.last_job(), Some(Job::Analyze { bos: BosChoice::Yes, .. })));
}

#[test]
fn a_short_prompt_offers_the_sample_text_with_bos() {
    let mut stage = showing(egui::Theme::Dark, "<|im_start|>Why is the sky blue?", &[(0, 14.0)]);
    stage.click("Eviction");
    stage.harness.get_by_label_contains("The cache has not filled");
    stage.harness.get_by_label_contains("Use the sample text").click();
    stage.settle();
    let Some(Job::Analyze { prompt: PromptInput::Text { text, .. }, bos, .. }) = stage.engine.last_job()
    else {
        panic!("the sample text must be run: {:?}", stage.engine.last_job())
    };
    assert!(text.starts_with("When in the Course") && bos == BosChoice::Yes);
}

#[test]
fn every_run_stays_until_it_is_hidden_or_removed() {
    let mut stage = opened(egui::Theme::Dark);
    finish(&mut stage);
    stage.harness.key_press(egui::Key::OpenBracket);
    stage.settle();
    finish(&mut stage);
    assert!(plot_value(&stage, "Rolling perplexity plot").contains("D Window 96 · BOS pinned"));
    stage.click("Hide run B");
    let drawn = plot_value(&stage, "Rolling perplexity plot");
    assert!(!drawn.contains("B Window 128") && drawn.contains("A Window 128"), "{drawn}");
    stage.click("Remove run A");
    let letters: String = stage.state().eviction.runs.iter().map(ShownRun::letter).collect();
    assert_eq!(letters, "BCD");
}

#[test]
fn a_sweep_streams_in_and_a_point_shows_its_curves() {
    let mut stage = opened(egui::Theme::Dark);
    finish(&mut stage);
    stage.click("Sweep");
    stage.harness.get_by_label_contains("Run the sweep").click();
    stage.settle();
    let budgets: BTreeSet<usize> = asked(&stage).iter().filter_map(|case| case.budget).collect();
    assert_eq!(budgets, BTreeSet::from([8, 12, 16, 24, 32, 48, 64, 96, 192, 256]), "128 is known already");
    assert!(stage.state().eviction_job().is_some_and(|job| job.purpose == Purpose::Sweep));
    stage.harness.get_by_label_contains("Run 1 of 20 · Budget sweep · row 0 of");
    finish(&mut stage);
    let said = plot_value(&stage, "Budget sweep plot");
    for budget in [8, 64, 128, 256] {
        assert_eq!(said.matches(&format!("{budget} → ")).count(), if budget == 8 { 6 } else { 2 }, "{said}");
    }
    assert!(stage.harness.query_by_label_contains("Run the sweep").is_none(), "everything is known");
}

#[test]
fn another_text_starts_afresh_and_stale_rows_change_nothing() {
    let mut stage = opened(egui::Theme::Dark);
    let stale = stage.engine.jobs() as u64;
    let full = full_nll(&stage);
    stage.click("▶ Run");
    let run = run_of(&full, &EvictionCase::fifo(128, PinChoice::None), 1.0);
    let id = sinkscope::engine::JobId(stale);
    stage.engine.say_of(id, Event::RunDone { case: 0, run: Arc::new(run) });
    stage.settle();
    assert!(stage.state().eviction.all_finished().next().is_none());
    assert!(stage.state().job.is_some(), "the prompt's job goes on");
    assert_eq!(stage.state().view.tab, Tab::Eviction);
}
