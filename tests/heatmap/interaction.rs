//! Pointer, wheel, keys and options.

use crate::scene::{Scene, cell_of, cell_of_any, cell_pos, click, matrix, readout, settle};
use crate::synthetic::capture;
use egui::{Key, Role, vec2};
use egui_kittest::kittest::Queryable as _;
use sinkscope::app::panels::attention::Hiding;
use sinkscope::capture::Capture;
use sinkscope::color::ScaleKind;
use sinkscope::widgets::heatmap::value_text;
use std::sync::Arc;

#[test]
fn the_pointer_reads_the_exact_weight() {
    let mut harness = Scene::new(capture(2, 3, 60, 7)).harness();
    settle(&mut harness);
    let plot = matrix(&harness);
    for (query, key) in [(59, 0), (30, 12), (17, 17), (1, 0)] {
        harness.hover_at(cell_pos(plot, 60, query, key));
        harness.run_steps(2);
        let weight = harness.state().capture.weight(0, 0, query, key);
        assert!(weight.is_some());
        let expected = format!("{} · query {query} t{query} → key {key} t{key}", value_text(weight));
        assert_eq!(readout(&harness), expected);
    }
    harness.hover_at(cell_pos(plot, 60, 10, 40));
    harness.run_steps(2);
    assert_eq!(readout(&harness), "masked · query 10 t10 → key 40 t40");
}

#[test]
fn a_pooled_cell_says_what_it_stands_for() {
    let n = 1200;
    let mut harness = Scene::new(capture(1, 1, n, 3)).harness();
    settle(&mut harness);
    harness.hover_at(cell_pos(matrix(&harness), n, 1000, 500));
    harness.run_steps(2);
    let text = readout(&harness);
    assert!(text.contains(" · query 1000 t1000 → key 500 t500 · heaviest of 6 × 6: "), "{text}");
}

#[test]
fn a_click_on_a_column_selects_its_key() {
    let mut harness = Scene::new(capture(1, 1, 50, 1)).harness();
    settle(&mut harness);
    let at = cell_pos(matrix(&harness), 50, 40, 23);
    click(&mut harness, at);
    assert_eq!(harness.state().selected, Some(23));
}

#[test]
fn the_grid_focuses_heads_by_click_and_arrow() {
    let mut harness = Scene::new(capture(6, 4, 40, 5)).harness();
    settle(&mut harness);
    let head = harness.get_by_role_and_label(Role::Button, "Layer 3, head 2");
    let alpha = alpha(&harness.state().capture, 3, 2, 0);
    assert_eq!(head.value(), Some(format!("α of key 0: {alpha:.3}")));
    head.click();
    harness.run_steps(2);
    assert_eq!(harness.state().focus, (3, 2));
    harness.key_press(Key::ArrowRight);
    harness.run_steps(2);
    assert_eq!(harness.state().focus, (3, 3));
    harness.key_press(Key::ArrowUp);
    harness.run_steps(2);
    assert_eq!(harness.state().focus, (2, 3));
    assert!(harness.query_by_label("Layer 2 · head 3").is_some(), "the heading follows");
}

#[test]
fn wheel_keys_and_drag_move_the_view() {
    let n = 400;
    let mut harness = Scene::new(capture(1, 1, n, 9)).harness();
    settle(&mut harness);
    let plot = matrix(&harness);
    click(&mut harness, cell_pos(plot, n, 300, 100));
    harness.run_steps(2);
    assert_eq!(cell_of(&readout(&harness)), (300, 100));
    for _ in 0..4 {
        harness.key_press(Key::Plus);
        harness.run_steps(2);
    }
    harness.hover_at(cell_pos(plot, n, 300, 100));
    harness.run_steps(2);
    let zoomed = cell_of(&readout(&harness));
    assert!(
        zoomed.0.abs_diff(300) <= 1 && zoomed.1.abs_diff(100) <= 1,
        "zoom stays at the pointer: {zoomed:?}"
    );

    let (from, to) = (cell_pos(plot, n, 300, 100), cell_pos(plot, n, 300, 100) + vec2(60.0, 30.0));
    harness.drag_at(from);
    harness.run_steps(1);
    harness.hover_at(to);
    harness.run_steps(1);
    harness.drop_at(to);
    harness.run_steps(1);
    harness.hover_at(to);
    harness.run_steps(2);
    let dragged = cell_of(&readout(&harness));
    assert!(
        dragged.0.abs_diff(300) <= 1 && dragged.1.abs_diff(100) <= 1,
        "the cell moves along: {dragged:?}"
    );
    assert_eq!(harness.state().picked, [100], "a drag is no click");

    harness.key_press(Key::Num0);
    harness.run_steps(2);
    harness.hover_at(from);
    harness.run_steps(2);
    assert_eq!(cell_of(&readout(&harness)), (300, 100), "0 shows the whole pattern again");

    harness.event(egui::Event::MouseWheel {
        unit: egui::MouseWheelUnit::Point,
        delta: vec2(0.0, 300.0),
        phase: egui::TouchPhase::Move,
        modifiers: egui::Modifiers::NONE,
        source: egui::MouseWheelSource::Unknown,
    });
    harness.run_steps(12);
    harness.hover_at(plot.min + vec2(1.0, 1.0));
    harness.run_steps(2);
    let corner = cell_of_any(&readout(&harness));
    assert!(corner.0 > 100 && corner.1 > 20, "the wheel magnifies: {corner:?}");
}

#[test]
fn arrows_move_the_crosshair_when_the_pattern_has_the_focus() {
    let mut harness = Scene::new(capture(1, 1, 30, 2)).harness();
    settle(&mut harness);
    let at = cell_pos(matrix(&harness), 30, 20, 5);
    click(&mut harness, at);
    harness.key_press(Key::ArrowDown);
    harness.run_steps(2);
    assert_eq!(cell_of(&readout(&harness)), (21, 5));
    harness.key_press(Key::ArrowLeft);
    harness.run_steps(2);
    assert_eq!(cell_of(&readout(&harness)), (21, 4));
    harness.key_press(Key::Enter);
    harness.run_steps(2);
    assert_eq!(harness.state().selected, Some(4));
}

#[test]
fn a_resting_pointer_gives_way_to_the_keyboard() {
    let mut harness = Scene::new(capture(1, 1, 30, 2)).harness();
    settle(&mut harness);
    let at = cell_pos(matrix(&harness), 30, 20, 5);
    click(&mut harness, at);
    harness.hover_at(at);
    harness.run_steps(2);
    for _ in 0..3 {
        harness.key_press(Key::ArrowLeft);
        harness.run_steps(2);
    }
    assert_eq!(cell_of(&readout(&harness)), (20, 2));
    harness.hover_at(cell_pos(matrix(&harness), 30, 22, 7));
    harness.run_steps(2);
    assert_eq!(cell_of(&readout(&harness)), (22, 7), "until it moves again");
}

#[test]
fn the_options_change_scale_and_hide_sinks() {
    let mut harness = Scene::new(capture(1, 2, 30, 2)).harness();
    settle(&mut harness);
    harness.get_by_label("sqrt").click();
    harness.run_steps(2);
    assert_eq!(harness.state().attention.scale().kind, ScaleKind::Sqrt);
    harness.get_by_label("Hide sinks").click();
    harness.run_steps(2);
    assert_eq!(harness.state().attention.hiding(), Hiding::Rescaled);
    settle(&mut harness);
}

#[test]
fn a_new_capture_replaces_every_tile() {
    let mut harness = Scene::new(capture(2, 2, 30, 2)).harness();
    settle(&mut harness);
    harness.state_mut().capture = Arc::new(capture(3, 2, 45, 8));
    harness.run_steps(1);
    assert!(!harness.state().shows_everything(), "the old thumbnails are gone");
    settle(&mut harness);
    harness.hover_at(cell_pos(matrix(&harness), 45, 44, 0));
    harness.run_steps(2);
    assert!(readout(&harness).ends_with(" · query 44 t44 → key 0 t0"));
}

#[test]
fn one_token_and_large_models_are_drawn() {
    for (layers, heads, n) in [(1, 1, 1), (80, 64, 6), (4, 4, 2)] {
        let mut harness = Scene::new(capture(layers, heads, n, 1)).harness();
        settle(&mut harness);
        assert!(harness.query_by_label("Layer 0, head 0").is_some());
    }
}

fn alpha(capture: &Capture, layer: usize, head: usize, key: usize) -> f32 {
    let n = capture.len();
    let sum: f32 = (key..n).filter_map(|query| capture.weight(layer, head, query, key)).sum();
    sum / (n - key) as f32
}
