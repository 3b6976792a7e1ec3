//! Box zoom, minimap, colour bar, hidden sinks, orders, means, differences, lines.

use crate::scene::{Scene, cell_of, cell_of_any, cell_pos, click, matrix, readout, settle};
use crate::synthetic::capture;
use egui::{Key, Modifiers, Pos2, Role, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use sinkscope::app::panels::attention::{AttentionCommand, HeadOrder, Hiding, Mode, Subtrahend};
use sinkscope::capture::{AlignBy, PatternOf, Shaping};
use sinkscope::progress::CancelToken;
use sinkscope::widgets::heatmap::value_text;
use sinkscope::widgets::viewport::Viewport;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn tell(harness: &mut Harness<'_, Scene>, command: AttentionCommand) {
    harness.state_mut().attention.handle(command);
    harness.run_steps(2);
}

fn drag(harness: &mut Harness<'_, Scene>, from: Pos2, to: Pos2) {
    harness.hover_at(from);
    harness.run_steps(1);
    harness.drag_at(from);
    harness.run_steps(1);
    for part in [0.3, 0.7, 1.0] {
        harness.hover_at(from + (to - from) * part);
        harness.run_steps(1);
    }
    harness.drop_at(to);
    harness.run_steps(2);
}

fn step_until(harness: &mut Harness<'_, Scene>, what: &str, done: impl Fn(&Scene) -> bool) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while !done(harness.state()) {
        assert!(Instant::now() < deadline, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(2));
        harness.step();
    }
    harness.run_steps(2);
}

#[test]
fn a_box_is_zoomed_to() {
    let n = 400;
    for by_shift in [true, false] {
        let mut harness = Scene::new(capture(1, 1, n, 9)).harness();
        settle(&mut harness);
        let plot = matrix(&harness);
        let (from, to) = (cell_pos(plot, n, 200, 50), cell_pos(plot, n, 300, 150));
        if by_shift {
            harness.event(egui::Event::ModifiersChanged(Modifiers::SHIFT));
        } else {
            harness.get_by_label("Box").click();
            harness.run_steps(2);
        }
        drag(&mut harness, from, to);
        harness.event(egui::Event::ModifiersChanged(Modifiers::NONE));
        let view = harness.state().attention.view(n);
        assert!((view.cells - 100.0).abs() < 3.0, "{by_shift} {view:?}");
        assert!((view.row - 200.0).abs() < 3.0 && (view.column - 50.0).abs() < 3.0, "{by_shift} {view:?}");
        assert!(harness.state().picked.is_empty(), "a box is no click");
    }
}

#[test]
fn the_minimap_shows_where_and_moves_the_view() {
    let n = 400;
    let mut harness = Scene::new(capture(1, 1, n, 9)).harness();
    settle(&mut harness);
    assert!(harness.query_by_label("Minimap").is_none(), "the whole pattern needs none");
    tell(&mut harness, AttentionCommand::Zoom(Viewport::fit(n).zoomed(8.0, 0.0, 0.0, n)));
    let map = harness.get_by_role_and_label(Role::Canvas, "Minimap");
    assert_eq!(map.value().as_deref(), Some("query 0 to 49, key 0 to 49"));
    let rect = map.rect();
    click(&mut harness, rect.min + rect.size() * vec2(0.25, 0.75));
    let view = harness.state().attention.view(n);
    assert!((view.row - 275.0).abs() < 4.0 && (view.column - 75.0).abs() < 4.0, "{view:?}");
    assert_eq!(harness.state().selected, None, "a click on the map selects no token");
}

#[test]
fn the_colour_bar_is_dragged_and_reset() {
    let mut harness = Scene::new(capture(1, 1, 40, 9)).harness_with_frames_of(1.0 / 60.0);
    settle(&mut harness);
    let bar = harness.get_by_role_and_label(Role::Slider, "Colour range");
    assert_eq!(bar.value().as_deref(), Some("1e-4 to 1"));
    let rect = bar.rect();
    let top = rect.center_top() + vec2(0.0, 10.0);
    // Four decades on the bar's own height, which is 12 less than the place that takes the pointer.
    let decade = (rect.height() - 12.0) / 4.0;
    drag(&mut harness, top, top + vec2(0.0, decade));
    let scale = harness.state().attention.scale();
    assert!((scale.max.log10() + 1.0).abs() < 0.05, "{scale:?}");
    let at = rect.center();
    harness.hover_at(at);
    harness.run_steps(1);
    for _ in 0..2 {
        harness.drag_at(at);
        harness.run_steps(1);
        harness.drop_at(at);
        harness.run_steps(1);
    }
    harness.run_steps(2);
    assert_eq!(harness.state().attention.scale().max, 1.0);
}

#[test]
fn a_percentile_clamps_what_is_drawn() {
    let mut harness = Scene::new(capture(1, 1, 60, 9)).harness();
    settle(&mut harness);
    harness.get_by_label("Colours ▾").click();
    harness.run_steps(3);
    harness.get_by_label("95 %").click();
    harness.run_steps(4);
    let capture = Arc::clone(&harness.state().capture);
    let tile = capture.pattern_tile(0, 0, 0..60, 0..60, 60, &CancelToken::new()).expect("a tile");
    let mut weights: Vec<f32> = tile.values.into_iter().filter(|weight| *weight > 0.0).collect();
    weights.sort_by(f32::total_cmp);
    let wanted = weights[(0.95 * (weights.len() - 1) as f32).round() as usize];
    let drawn = harness.state().attention.drawn_scale();
    assert!((drawn.max - wanted).abs() < 1e-6, "{drawn:?} for {wanted}");
}

#[test]
fn hidden_sinks_leave_the_rest_renormalised() {
    let n = 40;
    let mut harness = Scene::new(capture(1, 1, n, 9)).harness();
    settle(&mut harness);
    harness.get_by_label("Hide sinks").click();
    harness.run_steps(2);
    assert_eq!(harness.state().attention.hiding(), Hiding::Rescaled);
    settle(&mut harness);
    harness.run_steps(2);
    let highest = harness.state().attention.drawn_scale().max;
    let capture = Arc::clone(&harness.state().capture);
    let rest = (1..n).flat_map(|query| (1..=query).map(move |key| (query, key)));
    let largest = rest.filter_map(|(query, key)| capture.weight(0, 0, query, key)).fold(0.0, f32::max);
    assert!((highest - largest).abs() < 1e-6, "colours span the rest: {highest} for {largest}");

    tell(&mut harness, AttentionCommand::SetHiding(Hiding::Renormalised));
    settle(&mut harness);
    let plot = matrix(&harness);
    harness.hover_at(cell_pos(plot, n, 30, 12));
    harness.run_steps(2);
    let (weight, sink) =
        (capture.weight(0, 0, 30, 12).expect("seen"), capture.weight(0, 0, 30, 0).expect("seen"));
    let value: f32 =
        readout(&harness).split(' ').next().and_then(|text| text.parse().ok()).expect("a number");
    assert!((value - weight / (1.0 - sink)).abs() < 1e-5, "{value}");
    harness.hover_at(cell_pos(plot, n, 0, 0));
    harness.run_steps(2);
    assert!(readout(&harness).starts_with("n/a · query 0"), "{}", readout(&harness));
}

#[test]
fn heads_are_put_in_the_order_of_a_metric() {
    let mut harness = Scene::new(capture(3, 4, 50, 9)).harness();
    settle(&mut harness);
    let capture = Arc::clone(&harness.state().capture);
    harness.get_by_label("Order of the heads").click();
    harness.run_steps(3);
    harness.get_by_label("previous token").click();
    let previous = |index: usize| -> f32 {
        (1..50).filter_map(|query| capture.weight(index / 4, index % 4, query, query - 1)).sum()
    };
    let mut wanted: Vec<usize> = (0..12).collect();
    wanted.sort_by(|a, b| previous(*b).total_cmp(&previous(*a)));
    step_until(&mut harness, "the order", |scene| scene.attention.ranked_heads() == wanted);
    let (first, second) = (wanted[0], wanted[1]);
    let name = |index: usize| format!("Layer {}, head {}", index / 4, index % 4);
    let place = |harness: &Harness<'_, Scene>, index| {
        harness.get_by_role_and_label(Role::Button, &name(index)).rect().min
    };
    let (a, b) = (place(&harness, first), place(&harness, second));
    assert!(a.y == b.y && a.x < b.x, "the largest comes first");
    let value = harness.get_by_role_and_label(Role::Button, &name(first)).value().unwrap_or_default();
    assert_eq!(value, format!("previous token: {:.3}", previous(first) / 49.0));
}

#[test]
fn the_most_similar_head_is_the_focused_one() {
    let mut harness = Scene::new(capture(3, 4, 50, 9)).harness();
    settle(&mut harness);
    harness.state_mut().focus = (2, 1);
    tell(&mut harness, AttentionCommand::SetOrder(HeadOrder::Similarity));
    step_until(&mut harness, "similarities", |scene| scene.attention.ranked_heads().first() == Some(&9));
    let value = harness.get_by_role_and_label(Role::Button, "Layer 2, head 1").value();
    assert_eq!(value.as_deref(), Some("cosine: 1.000"));
}

#[test]
fn the_share_on_the_selected_token_asks_for_one() {
    let mut harness = Scene::new(capture(1, 4, 50, 9)).harness();
    settle(&mut harness);
    tell(&mut harness, AttentionCommand::SetOrder(HeadOrder::OnSelected));
    assert!(harness.query_by_label("select a token").is_some());
    harness.state_mut().selected = Some(0);
    harness.run_steps(3);
    let capture = Arc::clone(&harness.state().capture);
    let share = |head: usize| capture.layers[0].column_sums[head * 50] / 50.0;
    let value = harness.get_by_role_and_label(Role::Button, "Layer 0, head 3").value().unwrap_or_default();
    assert_eq!(value, format!("share on selected: {:.3}", share(3)));
}

#[test]
fn means_are_shown_like_heads() {
    let n = 40;
    let mut harness = Scene::new(capture(3, 4, n, 9)).harness();
    settle(&mut harness);
    let capture = Arc::clone(&harness.state().capture);
    for (name, title, of) in [
        ("Layer 1, mean", "Layer 1 · mean", PatternOf::LayerMean(1)),
        ("Model mean", "Model mean", PatternOf::ModelMean),
    ] {
        harness.get_by_role_and_label(Role::Button, name).click();
        harness.run_steps(2);
        settle(&mut harness);
        assert_eq!(harness.state().attention.focused((0, 0)), of);
        assert!(harness.get_all_by_label(title).count() > 0, "the heading says so");
        harness.hover_at(cell_pos(matrix(&harness), n, 30, 4));
        harness.run_steps(2);
        let weight = value_text(capture.cell(of, &Shaping::default(), 30, 4));
        assert!(readout(&harness).starts_with(&format!("{weight} · query 30")), "{}", readout(&harness));
    }
    harness.get_by_role_and_label(Role::Button, "Layer 2, head 0").click();
    harness.run_steps(2);
    assert_eq!(harness.state().attention.focused((2, 0)), PatternOf::Head { layer: 2, head: 0 });
}

fn difference_readout(harness: &Harness<'_, Scene>) -> String {
    harness.get_by_role_and_label(Role::Canvas, "Attention difference").value().unwrap_or_default()
}

#[test]
fn two_heads_are_subtracted() {
    let n = 40;
    let mut harness = Scene::new(capture(2, 3, n, 9)).harness();
    settle(&mut harness);
    harness.get_by_label("Difference").click();
    harness.run_steps(3);
    assert_eq!(harness.state().attention.mode(), Mode::Difference);
    let subtrahend = Subtrahend { run: None, layer: 1, head: 2, by: AlignBy::Tokens };
    tell(&mut harness, AttentionCommand::Subtract(subtrahend));
    settle(&mut harness);
    let plot = harness.get_by_role_and_label(Role::Canvas, "Attention difference").rect();
    harness.hover_at(cell_pos(plot, n, 30, 12));
    harness.run_steps(2);
    let capture = &harness.state().capture;
    let (a, b) = (capture.weight(0, 0, 30, 12).expect("seen"), capture.weight(1, 2, 30, 12).expect("seen"));
    let sign = if a > b { "+" } else { "" };
    let (difference, a, b) = (value_text(Some(a - b)), value_text(Some(a)), value_text(Some(b)));
    assert_eq!(
        difference_readout(&harness),
        format!("{sign}{difference} · {a} − {b} · query 30 t30 → key 12 t12")
    );
    let bar = harness.get_by_role_and_label(Role::Slider, "Colour range").value().unwrap_or_default();
    assert!(bar.starts_with("0 to "), "the range follows the differences: {bar}");
}

#[test]
fn another_open_run_is_subtracted_with_its_tokens_aligned() {
    let n = 30;
    let mut harness = Scene::new(capture(1, 2, n, 9)).harness();
    settle(&mut harness);
    harness.get_by_label("Difference").click();
    harness.run_steps(3);
    let before = Arc::clone(&harness.state().capture);
    // The same tokens with one more in front.
    let mut longer = capture(1, 2, n + 1, 5);
    let mut tokens = before.tokens.tokens.clone();
    tokens.insert(
        0,
        sinkscope::model::tokenizer::Token {
            id: 999,
            bytes: b"<s>".to_vec(),
            origin: sinkscope::model::tokenizer::TokenOrigin::Special,
        },
    );
    longer.tokens = Arc::new(sinkscope::model::tokenizer::TokenSequence {
        tokens,
        ..sinkscope::model::tokenizer::TokenSequence::default()
    });
    harness.state_mut().capture = Arc::new(longer);
    harness.state_mut().others = vec![Arc::clone(&before)];
    harness.run_steps(2);
    assert_eq!(harness.state().attention.mode(), Mode::Difference, "another run changes no mode");
    step_until(&mut harness, "the difference", |scene| scene.attention.shows_something());
    settle(&mut harness);
    let plot = harness.get_by_role_and_label(Role::Canvas, "Attention difference").rect();
    harness.hover_at(cell_pos(plot, n + 1, 21, 8));
    harness.run_steps(2);
    let now = &harness.state().capture;
    let (a, b) = (now.weight(0, 0, 21, 8).expect("seen"), before.weight(0, 0, 20, 7).expect("seen"));
    let text = difference_readout(&harness);
    assert!(text.contains(&format!("{} − {}", value_text(Some(a)), value_text(Some(b)))), "{text}");
    assert!(text.contains("query 21|20 t20 → key 8|7 t7"), "{text}");
    harness.hover_at(cell_pos(plot, n + 1, 21, 0));
    harness.run_steps(2);
    let text = difference_readout(&harness);
    assert!(text.starts_with("n/a · ") && text.contains("key 0|– +<s>"), "{text}");
    assert!(harness.query_by_label("aligning").is_none());

    let subtrahend = Subtrahend { run: Some(before.id), layer: 0, head: 0, by: AlignBy::Position };
    tell(&mut harness, AttentionCommand::Subtract(subtrahend));
    step_until(&mut harness, "the other alignment", |scene| scene.attention.is_settled());
    harness.hover_at(cell_pos(plot, n + 1, 21, 8));
    harness.run_steps(2);
    let b = before.weight(0, 0, 21, 8).expect("seen");
    let text = difference_readout(&harness);
    assert!(text.contains(&format!("{} − {}", value_text(Some(a)), value_text(Some(b)))), "{text}");
}

#[test]
fn lines_are_drawn_for_a_window_and_chosen_heads() {
    let n = 60;
    let mut harness = Scene::new(capture(2, 3, n, 9)).harness();
    settle(&mut harness);
    harness.get_by_label("Lines").click();
    harness.run_steps(4);
    let hover = |harness: &mut Harness<'_, Scene>, name: &str| {
        let at = harness.get_by_role_and_label(Role::Button, name).rect().center();
        harness.hover_at(at);
        harness.run_steps(2);
        harness.get_by_role_and_label(Role::Canvas, "Attention lines").value().unwrap_or_default()
    };
    let text = hover(&mut harness, "Query 5 t5");
    let capture = Arc::clone(&harness.state().capture);
    let heaviest = (0..=5)
        .map(|key| (capture.weight(0, 0, 5, key).expect("seen"), key))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .expect("six");
    let wanted = format!("Query 5 t5: H0 {} {} t{}", value_text(Some(heaviest.0)), heaviest.1, heaviest.1);
    assert!(text.starts_with(&wanted) && text.ends_with(" · 0 % outside"), "{text} for {wanted}");

    harness.get_by_role_and_label(Role::Button, "H2").click();
    harness.run_steps(2);
    let text = hover(&mut harness, "Key 0 t0");
    assert!(text.contains("H0 ") && text.contains("H2 "), "both heads: {text}");

    tell(&mut harness, AttentionCommand::LinesFrom(30));
    assert!(harness.query_by_label("Query 29 t29").is_none());
    assert!(harness.query_by_label("Key 0 t0").is_some(), "a sink before the window keeps its place");
    let text = hover(&mut harness, "Query 31 t31");
    let inside: f32 = [0, 30, 31]
        .iter()
        .flat_map(|&key| [0, 2].map(|head| capture.weight(0, head, 31, key).expect("seen")))
        .sum();
    let outside = ((1.0 - inside / 2.0) * 100.0).round();
    assert!(text.ends_with(&format!(" · {outside} % outside")), "{text} for {outside}");

    harness.get_by_role_and_label(Role::Button, "Query 31 t31").click();
    harness.run_steps(2);
    assert_eq!(harness.state().selected, Some(31));
}

#[test]
fn the_value_under_the_cursor_is_the_one_that_files_hold_at_any_zoom() {
    let n = 500;
    let mut harness = Scene::new(capture(2, 2, n, 9)).harness();
    harness.state_mut().focus = (1, 1);
    harness.run_steps(2);
    let capture = Arc::clone(&harness.state().capture);
    // What `analyze --patterns` writes.
    let file = capture.pattern_tile(1, 1, 0..n, 0..n, n, &CancelToken::new()).expect("a tile");
    let mut random = 12_345_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % below
    };
    for _ in 0..40 {
        let zoom = 1.0 + next(300) as f64 / 5.0;
        let (x, y) = (next(1000) as f64 / 1000.0, next(1000) as f64 / 1000.0);
        tell(&mut harness, AttentionCommand::Zoom(Viewport::fit(n).zoomed(zoom, x, y, n)));
        let plot = matrix(&harness);
        // Left of the minimap.
        let at = plot.min + vec2(next(700) as f32, next(1000) as f32) / 1000.0 * plot.width();
        harness.hover_at(at);
        harness.run_steps(2);
        let text = readout(&harness);
        let (query, key) = cell_of_any(&text);
        let weight = file.values[query * n + key];
        if key > query {
            assert!(text.starts_with("masked"), "{text}");
            continue;
        }
        assert_eq!(cell_of(&text), (query, key));
        let shown: f32 = text.split(' ').next().and_then(|text| text.parse().ok()).expect("a number");
        assert!((shown - weight).abs() <= 1.1e-5 * weight.max(0.5), "{shown} for {weight}: {text}");
    }
}

#[test]
fn the_keyboard_alone_reaches_the_tools() {
    let n = 200;
    let mut harness = Scene::new(capture(2, 3, n, 9)).harness();
    settle(&mut harness);
    harness.get_by_role_and_label(Role::Canvas, "Attention pattern").focus();
    harness.run_steps(2);
    harness.key_press(Key::ArrowDown);
    harness.run_steps(2);
    let first = cell_of_any(&readout(&harness));
    harness.key_press(Key::ArrowDown);
    harness.run_steps(2);
    assert_eq!(cell_of_any(&readout(&harness)).0, first.0 + 1);
    harness.key_press(Key::Plus);
    harness.run_steps(2);
    assert!(harness.state().attention.view(n).zoom(n) > 1.4);
    harness.key_press(Key::Enter);
    harness.run_steps(2);
    assert!(harness.state().selected.is_some());
    harness.key_press(Key::Num0);
    harness.run_steps(2);
    assert!(harness.state().attention.view(n).is_fit(n));
    harness.get_by_label("Difference").focus();
    harness.run_steps(1);
    harness.key_press(Key::Space);
    harness.run_steps(2);
    assert_eq!(harness.state().attention.mode(), Mode::Difference);
}
