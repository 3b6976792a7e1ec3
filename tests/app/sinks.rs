//! The Sinks view: its pages, the virtual key, and the open runs.

use crate::stage::{SINKS, Stage, showing};
use crate::support;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use sinkscope::analysis::ProfileKind;
use sinkscope::app::Command;
use sinkscope::app::run::Run;
use sinkscope::app::shelf::Shelf;
use sinkscope::app::view::{LayerChoice, SinksPage, ViewOptions};
use sinkscope::capture::Capture;
use sinkscope::engine::{Event, Job, MemoryPlan};
use sinkscope::model::ModelInfo;
use std::sync::Arc;

fn page(stage: &mut Stage, page: SinksPage) {
    stage.click("Sinks");
    stage.harness.state_mut().state_mut().handle(Command::ShowSinksPage(page));
    stage.settle();
}

/// Runs another prompt on the same model.
fn run_another(stage: &mut Stage, id: u64, text: &str, sinks: &[(usize, f32)]) {
    let model = stage.state().model.clone().expect("a model");
    stage.harness.state_mut().state_mut().handle(Command::Run);
    let capture = support::capture(id, &model, &support::tokens(text), sinks);
    stage.engine.say(Event::CaptureReady(capture));
    stage.settle();
}

#[test]
fn the_slider_moves_tokens_from_the_tail_to_the_peak() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    page(&mut stage, SinksPage::Peak);
    let shares =
        |stage: &Stage| stage.harness.get_by_label("Shares of peak and tail").value().expect("shares");
    let with_four = shares(&stage);
    assert!(with_four.starts_with("peak ") && with_four.contains("virtual key 0%"), "{with_four}");
    let slider = stage.harness.get_by_label("Peak keys");
    slider.focus();
    stage.settle();
    (0..8).for_each(|_| stage.harness.key_press(egui::Key::ArrowRight));
    stage.settle();
    let keys = stage.state().view.peak_keys;
    assert!(keys > 4, "{keys}");
    assert_ne!(shares(&stage), with_four);
    // The shares are those of the definition.
    let run = stage.state().run.as_ref().expect("a run");
    let (n, heads) = (run.capture.len(), run.capture.model.spec.heads);
    let split = run.peaks.split(5, heads - 1, keys).expect("rows behind the peak");
    let peak: f64 = (keys..n)
        .flat_map(|query| (0..keys).map(move |key| (query, key)))
        .map(|(query, key)| f64::from(run.capture.weight(5, heads - 1, query, key).expect("visible")))
        .sum::<f64>()
        / (n - keys) as f64;
    assert!((split.peak - peak).abs() < 1e-5, "{split:?} is not {peak}");
    assert!((split.peak + split.tail - 1.0).abs() < 1e-9);
    stage.harness.get_by_label("Heads by peak share");
    stage.harness.get_by_label("Peak share by layer and head");
}

#[test]
fn norms_of_the_selected_token_are_told_by_layer() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    stage.harness.state_mut().state_mut().handle(Command::SelectToken(22));
    page(&mut stage, SinksPage::Norms);
    stage.harness.get_by_label_contains("Norms of 22 ");
    let at = stage.harness.get_by_label("Norms by layer").rect().center();
    stage.harness.hover_at(at);
    stage.settle();
    let said = stage.harness.get_by_label("Norms by layer").value().expect("norms");
    let norms = &stage.state().run.as_ref().expect("a run").focus.as_ref().expect("facts").norms;
    assert_eq!(norms.len(), 12);
    assert!(said.starts_with("Layer ") && said.contains("hidden ") && said.contains("value 0."), "{said}");
    let layer = &stage.state().run.as_ref().expect("a run").capture.layers[9];
    let mut sorted = layer.hidden_norm.clone();
    sorted.sort_by(f32::total_cmp);
    let n = sorted.len();
    let middle = f64::midpoint(f64::from(sorted[(n - 1) / 2]), f64::from(sorted[n / 2]));
    let expected = f64::from(layer.hidden_norm[22]) / middle;
    assert!((norms[9].hidden.expect("a ratio") - expected).abs() < 1e-9);
}

#[test]
fn the_map_by_layer_shows_the_chosen_profile() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    stage.click("Sinks");
    stage.harness.get_by_label("far-lift by layer and position");
    stage.harness.state_mut().state_mut().handle(Command::SetProfile(ProfileKind::Share));
    stage.settle();
    stage.harness.get_by_label("share by layer and position");
    let run = stage.state().run.as_ref().expect("a run");
    let sum: f64 = run.profile_by_layer[4].iter().flatten().sum();
    assert!((sum - 1.0).abs() < 1e-5, "the shares of a layer sum to 1: {sum}");
}

#[test]
fn earlier_runs_stay_open_and_can_be_shown_again_and_closed() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    let shown = |stage: &Stage| stage.state().run.as_ref().expect("a run").capture.id;
    let kept =
        |stage: &Stage| -> Vec<u64> { stage.state().shelf.runs().iter().map(|run| run.capture.id).collect() };
    assert!(stage.harness.query_by_label("Runs 1 ▾").is_none(), "one run needs no list");
    let other = support::CHAT.replace("Mars", "Venus");
    run_another(&mut stage, 2, &other, &SINKS);
    assert_eq!((shown(&stage), kept(&stage)), (2, vec![1]));
    run_another(&mut stage, 3, &other, &SINKS);
    assert_eq!((shown(&stage), kept(&stage)), (3, vec![1]), "the same prompt again takes its place");

    stage.click("Runs 2 ▾");
    stage.harness.get_by_label_contains("Close the others");
    {
        let mut lines = stage.harness.get_all_by_label_contains("tokens · Synthetic-Instruct f32");
        let is_line = |label: String| !label.starts_with("Close");
        lines
            .rfind(|node| node.accesskit_node().label().is_some_and(is_line))
            .expect("the earlier run")
            .click();
    }
    stage.settle();
    assert_eq!((shown(&stage), kept(&stage)), (1, vec![3]));

    stage.click("Runs 2 ▾");
    stage.harness.get_by_label_contains("Close run").click();
    stage.settle();
    assert!(kept(&stage).is_empty());
    assert_eq!(shown(&stage), 1);
}

/// A short run with a prompt of its own.
fn run_of(id: u64) -> Run {
    run_with_prompt(id, id)
}

fn run_with_prompt(id: u64, prompt: u64) -> Run {
    let text = format!("<|im_start|>run {prompt} {}", "word ".repeat(20));
    let capture = support::capture(id, &support::model(2, 2, 8), &support::tokens(&text), &[]);
    Run::new(capture, &ViewOptions::default())
}

fn ids(shelf: &Shelf) -> Vec<u64> {
    shelf.runs().iter().map(|run| run.capture.id).collect()
}

#[test]
fn runs_that_no_longer_fit_are_closed_the_oldest_first() {
    let mut shelf = Shelf::default();
    let one = run_of(1).capture.bytes();
    for id in 1..=3 {
        shelf.put(run_of(id), 2 * one + one / 2, None);
    }
    assert_eq!(ids(&shelf), [3, 2]);
    assert!(shelf.bytes() <= 2 * one + one / 2);
    let mut shelf = Shelf::default();
    let closed: usize = (1..=10).map(|id| shelf.put(run_of(id), u64::MAX, None)).sum();
    assert_eq!((closed, ids(&shelf).len(), ids(&shelf)[0]), (2, Shelf::MOST_RUNS, 10));
}

#[test]
fn the_run_that_is_subtracted_is_closed_last() {
    let mut shelf = Shelf::default();
    let one = run_of(1).capture.bytes();
    for id in 1..=4 {
        shelf.put(run_of(id), 2 * one + one / 2, Some(1));
    }
    assert_eq!(ids(&shelf), [4, 1]);
    assert_eq!(
        shelf.put(run_of(5), one / 2, Some(1)),
        3,
        "one that fits nowhere is not kept for being subtracted"
    );

    let mut shelf = Shelf::default();
    let closed: usize = (1..=4).map(|id| shelf.put(run_of(id), u64::MAX, None)).sum();
    assert_eq!(closed, 0);
    assert_eq!(shelf.give_way(0, Some(1)), 0);
    assert_eq!((shelf.give_way(one + 1, Some(1)), ids(&shelf)), (2, vec![4, 1]));
    assert_eq!((shelf.give_way(2 * one, Some(1)), ids(&shelf)), (2, vec![]));
}

#[test]
fn the_same_prompt_again_does_not_replace_the_run_that_is_subtracted() {
    let mut shelf = Shelf::default();
    shelf.put(run_of(1), u64::MAX, Some(1));
    shelf.put(run_of(2), u64::MAX, Some(1));
    shelf.put(run_with_prompt(3, 1), u64::MAX, Some(1));
    assert_eq!(ids(&shelf), [1, 2], "it moves to the front");
    shelf.put(run_with_prompt(4, 2), u64::MAX, Some(1));
    assert_eq!(ids(&shelf), [4, 1]);
}

#[test]
fn open_runs_give_way_to_a_run_that_needs_their_memory() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    run_another(&mut stage, 2, &support::CHAT.replace("Mars", "Venus"), &SINKS);
    run_another(&mut stage, 3, &support::CHAT.replace("Mars", "Pluto"), &SINKS);
    assert_eq!(ids(&stage.state().shelf), [2, 1]);
    let one = stage.state().shelf.runs()[0].capture.bytes();
    stage.harness.state_mut().state_mut().handle(Command::Run);
    let Some(Job::Analyze { spare_bytes, .. }) = stage.engine.last_job() else { panic!("a run") };
    assert_eq!(spare_bytes, 2 * one, "what can be given back is counted before the run is refused");

    let enough = MemoryPlan {
        capture_bytes: 3 * one,
        scratch_bytes: one,
        available_bytes: 4 * one,
        ..support::plan()
    };
    let tokens = support::tokens(support::CHAT);
    stage.engine.say(Event::TokensReady(tokens.clone(), enough));
    stage.settle();
    assert_eq!(ids(&stage.state().shelf), [2, 1], "it fits beside them");
    stage.engine.say(Event::TokensReady(tokens, MemoryPlan { available_bytes: 4 * one - 1, ..enough }));
    stage.settle();
    assert_eq!(ids(&stage.state().shelf), [2]);
    stage.harness.get_by_label("An earlier run was closed: the new one needs the memory");
}

#[test]
fn stability_says_which_sinks_stay_move_and_fade() {
    let text = |front: &str| support::CHAT.replacen("You are", &format!("{front}You are"), 1);
    let mut stage = showing(egui::Theme::Dark, &text("Yes yes "), &[(0, 14.0), (24, 9.0), (40, 9.0)]);
    run_another(&mut stage, 2, &text(""), &[(0, 14.0), (22, 9.0), (30, 9.0)]);
    assert_eq!(stage.state().run.as_ref().expect("a run").analysis.detection.flagged, [0, 22, 30]);
    let before = &stage.state().shelf.runs()[0];
    assert_eq!(before.analysis.detection.flagged, [0, 24, 40]);
    page(&mut stage, SinksPage::Runs);
    stage.step_until("places", |state| state.shelf.place(2, 1).is_some());
    stage.harness.get_by_label("● stays");
    stage.harness.get_by_label("→ moves 24");
    stage.harness.get_by_label_contains("× z ");
    stage.harness.get_by_label("+ new 40");
}

/// The capture with a virtual key in every layer whose logit is `logit`.
fn with_virtual_key(capture: &Arc<Capture>, logit: f64) -> Arc<Capture> {
    let n = capture.len();
    let mut model = ModelInfo::clone(&capture.model);
    // Every other layer is local, as in gpt-oss; the window is wider than the text.
    model.spec.windows = (0..model.spec.layers).map(|layer| (layer % 2 == 1).then_some(n + 1)).collect();
    let mut layers = capture.layers.clone();
    for layer in &mut layers {
        layer.score.sink_logits = Some(vec![logit; model.spec.heads].into());
        for head in 0..model.spec.heads {
            for row in 0..n {
                let lse = &mut layer.lse[head * n + row];
                *lse = (f64::from(*lse).exp() + logit.exp()).ln() as f32;
            }
        }
    }
    let mut out = Capture {
        id: capture.id + 100,
        model: Arc::new(model),
        tokens: Arc::clone(&capture.tokens),
        layers,
        nll_nats: capture.nll_nats.clone(),
        checks: capture.checks,
        prefill_ms: capture.prefill_ms,
    };
    let sums: Vec<Vec<(Vec<f64>, Vec<f64>)>> = (0..out.layers.len())
        .map(|layer| (0..out.model.spec.heads).map(|head| out.head_column_sums(layer, head, n, 16)).collect())
        .collect();
    for (layer, heads) in out.layers.iter_mut().zip(sums) {
        let narrow = |sums: Vec<f64>| sums.into_iter().map(|sum| sum as f32).collect::<Vec<_>>();
        let (all, far): (Vec<_>, Vec<_>) = heads.into_iter().unzip();
        layer.column_sums = narrow(all.concat());
        layer.far_column_sums = narrow(far.concat());
    }
    Arc::new(out)
}

#[test]
fn a_virtual_key_has_its_own_row_and_column_and_no_z() {
    let mut stage = showing(egui::Theme::Dark, support::CHAT, &SINKS);
    let plain = Arc::clone(&stage.state().run.as_ref().expect("a run").capture);
    let capture = with_virtual_key(&plain, 2.0);
    stage.harness.state_mut().state_mut().handle(Command::Run);
    stage.engine.say(Event::CaptureReady(capture));
    stage.settle();
    stage.harness.state_mut().state_mut().handle(Command::SetLayers(LayerChoice::All));
    stage.click("Sinks");
    stage.harness.get_by_label("V sink logit");
    let run = stage.state().run.as_ref().expect("a run");
    let virtual_key = run.analysis.virtual_key.as_ref().expect("a virtual key");
    assert!(virtual_key.share > 0.02, "{virtual_key:?}");
    let on_keys: f64 = run.analysis.share.iter().flatten().sum();
    assert!((on_keys + virtual_key.share - 1.0).abs() < 1e-5, "{on_keys} and {}", virtual_key.share);
    assert_eq!(run.analysis.detection.z.len(), run.capture.len(), "z knows positions only");
    let said = stage.harness.get_by_label("Virtual key").value().expect("a share");
    assert!(said.ends_with("% of all attention"), "{said}");

    assert_eq!(stage.state().view.layers, LayerChoice::All);
    stage.click("Global only");
    assert_eq!(stage.state().view.layers, LayerChoice::Global, "one click");
    stage.click("Global only");
    assert_eq!(stage.state().view.layers, LayerChoice::All, "and one back");
    stage.harness.state_mut().state_mut().handle(Command::ShowSinksPage(SinksPage::Peak));
    stage.settle();
    let shares = stage.harness.get_by_label("Shares of peak and tail").value().expect("shares");
    assert!(!shares.contains("virtual key 0%"), "{shares}");
}
