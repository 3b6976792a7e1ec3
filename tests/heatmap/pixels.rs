//! What is seen, pixel by pixel. These need a software Vulkan; without `WGPU_BACKEND` they are skipped.

use crate::scene::{SIZE, Scene, cell_pos, matrix, settle};
use crate::synthetic::{capture, plant};
use egui::{Color32, Pos2, vec2};
use egui_kittest::Harness;
use image::RgbaImage;
use sinkscope::app::panels::attention::{AttentionCommand, Hiding};
use sinkscope::color::{ScaleKind, SpecialColors};
use sinkscope::widgets::viewport::Viewport;
use std::sync::Arc;

fn rendered(scene: Scene) -> Option<Harness<'static, Scene>> {
    if std::env::var_os("WGPU_BACKEND").is_none() {
        eprintln!("skipped: set WGPU_BACKEND=vulkan and install a software Vulkan to run it");
        return None;
    }
    let builder = Harness::builder().with_size(SIZE).with_theme(egui::Theme::Dark).wgpu();
    let mut harness = builder.build_ui_state(Scene::ui, scene);
    harness.run_steps(3);
    settle(&mut harness);
    Some(harness)
}

fn picture(harness: &mut Harness<'_, Scene>) -> RgbaImage {
    harness.render().expect("a picture")
}

fn show(harness: &mut Harness<'_, Scene>, view: Viewport) {
    harness.state_mut().attention.handle(AttentionCommand::Zoom(view));
    harness.run_steps(1);
    settle(harness);
}

fn pixel(image: &RgbaImage, at: Pos2) -> [u8; 3] {
    let [r, g, b, _] = image.get_pixel(at.x as u32, at.y as u32).0;
    [r, g, b]
}

fn brightness(rgb: [u8; 3]) -> u32 {
    rgb.iter().map(|&channel| u32::from(channel)).sum()
}

#[test]
fn one_column_and_one_cell_survive_pooling_at_every_zoom() {
    let (n, query, key) = (2048, 1500, 700);
    let mut made = capture(1, 1, n, 6);
    plant(&mut made, query, key);
    let weight = made.weight(0, 0, query, key);
    assert!(weight > Some(0.8), "{weight:?}");
    let Some(mut harness) = rendered(Scene::new(made)) else { return };
    harness.state_mut().attention.handle(AttentionCommand::SetScale(ScaleKind::Linear));
    harness.run_steps(2);
    let plot = matrix(&harness);
    let at = cell_pos(plot, n, query, key);
    let part = (at - plot.min) / plot.width();
    for zoom in [1.0, 1.7, 2.3, 5.1, 17.0, 60.0] {
        // The point at the cell, and then the left edge, stay where they are.
        let at_cell = Viewport::fit(n).zoomed(zoom, part.x.into(), part.y.into(), n);
        show(&mut harness, at_cell);
        let image = picture(&mut harness);
        let near = (-2..=2).flat_map(|x| (-2..=2).map(move |y| at + vec2(x as f32, y as f32)));
        let brightest = near.map(|at| brightness(pixel(&image, at))).max();
        let elsewhere = brightness(pixel(&image, at + vec2(-60.0, 5.0)));
        assert!(brightest > Some(500) && elsewhere < 150, "zoom {zoom}: {brightest:?} beside {elsewhere}");

        show(&mut harness, Viewport::fit(n).zoomed(zoom, 0.0, 1.0, n));
        let image = picture(&mut harness);
        for y in [0.3, 0.5, 0.7, 0.9] {
            let at = Pos2::new(plot.left() + 0.5, plot.top() + y * plot.height());
            let (column, beside) = (pixel(&image, at), pixel(&image, at + vec2(60.0, 0.0)));
            assert!(
                brightness(column) > brightness(beside) + 60,
                "zoom {zoom}: {column:?} beside {beside:?}"
            );
        }
    }
}

#[test]
fn masked_and_nan_have_their_own_colours() {
    let n = 60;
    let mut made = capture(1, 1, n, 6);
    made.layers[0].lse[40] = f32::NAN;
    let Some(mut harness) = rendered(Scene::new(made)) else { return };
    let plot = matrix(&harness);
    let image = picture(&mut harness);
    let special = SpecialColors::DARK;
    assert_eq!(pixel(&image, cell_pos(plot, n, 10, 50)), special.masked);
    assert_eq!(pixel(&image, cell_pos(plot, n, 40, 20)), special.nan);
    assert_eq!(pixel(&image, cell_pos(plot, n, 40, 50)), special.masked, "beyond the diagonal");
}

#[test]
fn every_head_s_picture_is_its_own() {
    let n = 48;
    let mut made = capture(3, 3, n, 6);
    // Head 2 of layer 1 is broken: its picture, and no other, turns to the colour of NaN.
    made.layers[1].lse[2 * n..].fill(f32::NAN);
    let Some(mut harness) = rendered(Scene::new(made)) else { return };
    let image = picture(&mut harness);
    for layer in 0..3 {
        for head in 0..3 {
            let rect = crate::scene::head(&harness, layer, head);
            let at = rect.left_bottom() + vec2(rect.width() * 0.25, -rect.height() * 0.25);
            let broken = pixel(&image, at) == SpecialColors::DARK.nan;
            assert_eq!(broken, (layer, head) == (1, 2), "layer {layer}, head {head}");
        }
    }
}

#[test]
fn hidden_sinks_are_covered() {
    let n = 40;
    let Some(mut harness) = rendered(Scene::new(capture(1, 1, n, 6))) else { return };
    let plot = matrix(&harness);
    let at = cell_pos(plot, n, 30, 0);
    let shown = brightness(pixel(&picture(&mut harness), at));
    harness.state_mut().attention.handle(AttentionCommand::SetHiding(Hiding::AsTheyAre));
    harness.run_steps(2);
    let image = picture(&mut harness);
    let column = (20..39).map(|query| brightness(pixel(&image, cell_pos(plot, n, query, 0)))).max();
    assert!(shown > 500 && column < Some(shown), "{shown} then {column:?}");
    let ground = Color32::from_rgb(40, 44, 54);
    let covered = (plot.center().y as u32..plot.bottom() as u32)
        .any(|y| pixel(&image, Pos2::new(at.x, y as f32)) == [ground.r(), ground.g(), ground.b()]);
    assert!(covered, "the strip lies on the colour of masked cells");
}

#[test]
fn another_capture_is_another_picture() {
    let n = 40;
    let Some(mut harness) = rendered(Scene::new(capture(1, 1, n, 6))) else { return };
    let before = picture(&mut harness);
    harness.state_mut().capture = Arc::new(capture(1, 1, n, 7));
    harness.run_steps(1);
    settle(&mut harness);
    assert_ne!(before.as_raw(), picture(&mut harness).as_raw());
}
