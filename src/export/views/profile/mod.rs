//! The attention-mass profile: bars over positions, the detector's line, the sinks by name.

mod axis;
mod labels;

use super::Scene;
use crate::analysis::{FAR_DELTA, FAR_MIN_QUERIES, ProfileKind, TokenClass};
use crate::export::axes::{Patch, TICK_SIZE, TOKEN_SIZE, compact, heading, legend, nice_step};
use crate::export::drawing::{Anchor, Area, Drawing, Face, Label, text_width};
use crate::export::theme::Rgb;
use axis::{Axis, pitch, x_axis, y_axis};
use labels::{evidence, sink_labels};
use std::fmt::Write as _;

const PLOT: Area = Area { x: 64.0, y: 54.0, width: 620.0, height: 260.0 };
const SIZE: (f32, f32) = (730.0, 382.0);
const LABEL_HEIGHT: f32 = 19.0;

pub(super) fn draw(scene: &Scene<'_>) -> Drawing {
    let kind = scene.analysis.options.profile;
    let title = format!("{} · attention mass of each key: {}", scene.model(), kind.name());
    let mut drawing = Drawing::new(SIZE.0, SIZE.1, scene.palette.background, &*title);
    let values = scene.analysis.profile(kind);
    let axis = Axis::of(scene, values);
    if scene.analysis.detection.usable > 0 {
        y_axis(&mut drawing, scene, &axis);
    }
    missing(&mut drawing, scene, values);
    bars(&mut drawing, scene, values, &axis);
    drawing.frame(PLOT, scene.palette.line, 0.75);
    if scene.analysis.detection.tested {
        line(&mut drawing, scene, &axis);
    } else {
        evidence(&mut drawing, scene);
    }
    let unlabelled = sink_labels(&mut drawing, scene, &axis);
    x_axis(&mut drawing, scene);
    heading(&mut drawing, &scene.palette, PLOT.x, &title, &note(scene, unlabelled));
    explain(&mut drawing, scene, values);
    drawing
}

/// The legend: only what is there.
fn explain(drawing: &mut Drawing, scene: &Scene<'_>, values: &[Option<f64>]) {
    let detection = &scene.analysis.detection;
    let threshold = format!(
        "log-MAD z > {}: above {} {}",
        compact(detection.threshold),
        compact(detection.line),
        scene.analysis.options.profile.unit()
    );
    let structural = scene.analysis.classes.contains(&TokenClass::Structural);
    let entries = [
        (detection.tested, Patch::Dash, &*threshold),
        (!scene.analysis.sinks.is_empty(), Patch::Fill(scene.palette.sink), "sink"),
        (structural, Patch::Fill(scene.palette.structural), "structural token"),
        (detection.usable > 0, Patch::Fill(scene.palette.bar), "other token"),
        (values.contains(&None), Patch::Hatch, "not available"),
    ];
    let shown: Vec<_> =
        entries.into_iter().filter(|entry| entry.0).map(|(_, patch, meaning)| (patch, meaning)).collect();
    let indent = if detection.tested { 4.0 } else { 0.0 };
    legend(drawing, &scene.palette, PLOT.x + indent, SIZE.1 - 20.0, &shown);
}

fn note(scene: &Scene<'_>, unlabelled: usize) -> String {
    let spec = &scene.capture.model.spec;
    let selection = &scene.analysis.options.selection;
    let layers = selection.layers_of(spec.layers).len();
    let heads = selection.heads_of(spec.heads).len();
    let mut note = format!(
        "{} tokens · {layers} of {} layers, {heads} of {} heads",
        scene.capture.len(),
        spec.layers,
        spec.heads
    );
    if scene.analysis.options.profile == ProfileKind::FarLift {
        let _ = write!(note, " · queries at least {FAR_DELTA} tokens behind the key");
    }
    if scene.analysis.detection.tested && scene.analysis.sinks.is_empty() {
        note.push_str(" · no sink detected");
    }
    if let Some(virtual_key) = &scene.analysis.virtual_key {
        // It stands at no position, so it has no bar.
        let _ = write!(note, " · virtual key: {:.1} % of all attention", virtual_key.share * 100.0);
    }
    if unlabelled > 0 {
        let _ = write!(note, " · sinks without room for a label: {unlabelled}");
    }
    note
}

/// Hatches the runs of keys that the profile has no value for.
fn missing(drawing: &mut Drawing, scene: &Scene<'_>, values: &[Option<f64>]) {
    let pitch = pitch(values.len());
    let mut start = 0;
    for run in values.chunk_by(|a, b| a.is_some() == b.is_some()) {
        if run[0].is_none() {
            let width = run.len() as f32 * pitch;
            let area = Area::new(PLOT.x + start as f32 * pitch, PLOT.y, width, PLOT.height);
            drawing.hatch(area, scene.palette.faint, 7.0);
            missing_label(drawing, scene, area);
        }
        start += run.len();
    }
}

fn missing_label(drawing: &mut Drawing, scene: &Scene<'_>, area: Area) {
    if !scene.analysis.detection.tested && area.width >= PLOT.width {
        // The evidence takes this place.
        return;
    }
    let reason = format!("fewer than {FAR_MIN_QUERIES} far queries");
    let lines = match scene.analysis.options.profile {
        ProfileKind::FarLift => vec!["n/a".to_owned(), reason],
        _ => vec!["n/a".to_owned()],
    };
    let mut y = area.y + area.height * 0.55;
    for text in lines {
        let width = text_width(&text, TICK_SIZE, Face::Sans) + 6.0;
        if width > area.width {
            continue;
        }
        let middle = area.x + area.width / 2.0;
        let backdrop = Area::new(middle - width / 2.0, y - 9.0, width, 12.0);
        drawing.fill(backdrop, scene.palette.background);
        let label = Label::new(middle, y, TICK_SIZE, scene.palette.soft, text);
        drawing.text(label.anchored(Anchor::Middle));
        y += 13.0;
    }
}

/// One bar per key, or per run of keys (its highest) where they would be thinner than half a point.
fn bars(drawing: &mut Drawing, scene: &Scene<'_>, values: &[Option<f64>], axis: &Axis) {
    let pitch = pitch(values.len());
    let keys_per_bar = if pitch < 0.5 { nice_step(0.5 / pitch) } else { 1 };
    let width = pitch * keys_per_bar as f32;
    let gap = if width > 3.0 { width * 0.14 } else { 0.0 };
    for (bar, run) in values.chunks(keys_per_bar).enumerate() {
        let Some(value) = run.iter().flatten().copied().reduce(f64::max) else { continue };
        let first = bar * keys_per_bar;
        let color = bar_color(scene, first..first + run.len());
        // A value that underflowed still shows that there is one.
        let height = axis.height(value).max(0.8);
        let x = PLOT.x + first as f32 * pitch + gap / 2.0;
        drawing.fill(Area::new(x, PLOT.bottom() - height, width - gap, height), color);
    }
}

fn bar_color(scene: &Scene<'_>, mut keys: std::ops::Range<usize>) -> Rgb {
    let structural = |key| matches!(scene.analysis.classes[key], TokenClass::Bos | TokenClass::Structural);
    if keys.clone().any(|key| scene.is_sink(key)) {
        scene.palette.sink
    } else if keys.any(structural) {
        scene.palette.structural
    } else {
        scene.palette.bar
    }
}

fn line(drawing: &mut Drawing, scene: &Scene<'_>, axis: &Axis) {
    let (detection, ink) = (&scene.analysis.detection, scene.palette.ink);
    let y = axis.y(detection.line);
    drawing.dashed((PLOT.x, y), (PLOT.right() + 3.0, y), ink, 1.0);
    let right = PLOT.right() + 6.0;
    drawing.text(Label::new(right, y + 3.0, TICK_SIZE, ink, compact(detection.line)));
    let z = format!("z = {}", compact(detection.threshold));
    drawing.text(Label::new(right, y + 13.0, TOKEN_SIZE, scene.palette.soft, z));
}
