//! The attention-mass profile: bars over positions, the detector's line, the sinks by name.

use super::Scene;
use crate::analysis::{FAR_DELTA, FAR_MIN_QUERIES, ProfileKind, TokenClass};
use crate::export::axes::{NOTE_SIZE, Patch, TICK_SIZE, TOKEN_SIZE, compact, heading, legend, nice_step};
use crate::export::drawing::{Anchor, Area, Drawing, Face, Label, shortened, text_width};
use crate::export::theme::Rgb;

const PLOT: Area = Area { x: 64.0, y: 54.0, width: 620.0, height: 260.0 };
const SIZE: (f32, f32) = (730.0, 382.0);
const LABEL_CHARS: usize = 16;
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
    legend(drawing, &scene.palette, PLOT.x + 4.0, SIZE.1 - 20.0, &shown);
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
        note.push_str(&format!(" · queries at least {FAR_DELTA} tokens behind the key"));
    }
    if scene.analysis.detection.tested && scene.analysis.sinks.is_empty() {
        note.push_str(" · no sink detected");
    }
    if unlabelled > 0 {
        note.push_str(&format!(" · {unlabelled} more sinks without room for a label"));
    }
    note
}

/// The logarithmic vertical axis.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn of(scene: &Scene<'_>, values: &[Option<f64>]) -> Self {
        let positive = values.iter().flatten().copied().filter(|value| value.is_finite() && *value > 0.0);
        let low = positive.clone().reduce(f64::min).unwrap_or(0.1);
        let mut high = positive.reduce(f64::max).unwrap_or(10.0);
        let line = scene.analysis.detection.line;
        if scene.analysis.detection.tested && line.is_finite() {
            high = high.max(line);
        }
        let low = low / 1.4;
        // Leave room above the highest bar for the labels.
        let headroom = match scene.analysis.sinks.len() {
            0 => 10.0,
            1..=4 => LABEL_HEIGHT + 8.0,
            _ => 2.0 * LABEL_HEIGHT + 12.0,
        };
        let stretch = f64::from(PLOT.height / (PLOT.height - headroom));
        Self { low, high: low * (high / low).powf(stretch) }
    }

    /// Height above the plot's floor, in points.
    fn height(&self, value: f64) -> f32 {
        let part = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        part.min(1.0) as f32 * PLOT.height
    }

    fn y(&self, value: f64) -> f32 {
        PLOT.bottom() - self.height(value)
    }

    /// Values with a label, at 1, or at 1, 2 and 5 of each decade where there are few decades.
    fn ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let steps: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let all = (first..=last).flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
        all.filter(|tick| (self.low..=self.high).contains(tick)).collect()
    }
}

fn y_axis(drawing: &mut Drawing, scene: &Scene<'_>, axis: &Axis) {
    let palette = &scene.palette;
    for tick in axis.ticks() {
        let y = axis.y(tick);
        drawing.line((PLOT.x, y), (PLOT.right(), y), palette.faint, 0.5);
        let label = Label::new(PLOT.x - 6.0, y + 3.0, TICK_SIZE, palette.soft, compact(tick));
        drawing.text(label.anchored(Anchor::End));
    }
    let kind = scene.analysis.options.profile;
    let title = format!("{} ({}, log scale)", kind.name(), kind.unit());
    let middle = PLOT.y + PLOT.height / 2.0;
    let label = Label::new(PLOT.x - 44.0, middle, NOTE_SIZE, palette.soft, title);
    drawing.text(label.turned().anchored(Anchor::Middle));
}

/// Width of one position, in points.
fn pitch(n: usize) -> f32 {
    PLOT.width / n.max(1) as f32
}

fn center_x(n: usize, index: usize) -> f32 {
    PLOT.x + (index as f32 + 0.5) * pitch(n)
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

/// What can be said of a prompt that is too short to test: index 0 and the structural tokens, most
/// attended first.
fn evidence(drawing: &mut Drawing, scene: &Scene<'_>) {
    let analysis = scene.analysis;
    let mut shown = analysis.evidence();
    shown.sort_by(|&a, &b| analysis.share[b].unwrap_or(0.0).total_cmp(&analysis.share[a].unwrap_or(0.0)));
    let mut lines = vec![analysis.not_tested().unwrap_or_default()];
    for index in shown.into_iter().take(6) {
        let (share, alpha) = (analysis.share[index].unwrap_or(0.0), analysis.alpha[index].unwrap_or(0.0));
        lines.push(format!(
            "{index} {}: {:.1}% of all attention, α {}, sink rate {:.0}%",
            shortened(&scene.token_label(index), LABEL_CHARS),
            100.0 * share,
            compact(alpha),
            100.0 * analysis.sink_rate[index]
        ));
    }
    let widest = lines.iter().map(|text| text_width(text, NOTE_SIZE, Face::Mono)).fold(0.0, f32::max);
    let backdrop = Area::new(PLOT.x + 16.0, PLOT.y + 14.0, widest + 20.0, lines.len() as f32 * 15.0 + 12.0);
    drawing.fill(backdrop, scene.palette.background);
    drawing.frame(backdrop, scene.palette.line, 0.5);
    for (row, text) in lines.into_iter().enumerate() {
        let y = backdrop.y + 16.0 + row as f32 * 15.0;
        drawing.text(Label::new(backdrop.x + 10.0, y, NOTE_SIZE, scene.palette.ink, text).mono());
    }
}

/// Labels the sinks, the strongest first, each above its bar and clear of the others.
/// Returns how many found no room.
fn sink_labels(drawing: &mut Drawing, scene: &Scene<'_>, axis: &Axis) -> usize {
    let n = scene.capture.len();
    let mut sinks: Vec<_> = scene.analysis.sinks.iter().collect();
    sinks.sort_by(|a, b| b.z.total_cmp(&a.z));
    let mut taken: Vec<Area> = sinks
        .iter()
        .map(|sink| {
            Area::new(center_x(n, sink.index) - 1.0, axis.y(sink.value), 2.0, axis.height(sink.value))
        })
        .collect();
    let mut without_room = 0;
    for sink in &sinks {
        let name = format!("{} {}", sink.index, shortened(&scene.token_label(sink.index), LABEL_CHARS));
        let detail = format!("z {:.1} · {}", sink.z, sink.class.name());
        let width = text_width(&name, TOKEN_SIZE, Face::Mono).max(text_width(&detail, TICK_SIZE, Face::Sans));
        let tip = (center_x(n, sink.index), axis.y(sink.value));
        let Some(place) = free_place(tip, width, &taken) else {
            without_room += 1;
            continue;
        };
        taken.push(place);
        if tip.1 - place.bottom() > 6.0 {
            let foot = (tip.0.clamp(place.x, place.right()), place.bottom() + 1.0);
            drawing.line(foot, (tip.0, tip.1 - 1.0), scene.palette.sink, 0.6);
        }
        let (x, top) = (place.x + place.width / 2.0, place.y);
        let name = Label::new(x, top + 8.0, TOKEN_SIZE, scene.palette.ink, name);
        drawing.text(name.mono().anchored(Anchor::Middle));
        let detail = Label::new(x, top + 17.5, TICK_SIZE, scene.palette.sink, detail);
        drawing.text(detail.anchored(Anchor::Middle));
    }
    without_room
}

/// The lowest free place for a label above the tip of a bar.
fn free_place(tip: (f32, f32), width: f32, taken: &[Area]) -> Option<Area> {
    let leftmost = PLOT.x + 3.0;
    let rightmost = (PLOT.right() - width - 3.0).max(leftmost);
    let lefts = [tip.0 - width / 2.0, tip.0 - 4.0, tip.0 - width + 4.0].map(|x| x.clamp(leftmost, rightmost));
    let mut top = tip.1 - LABEL_HEIGHT - 4.0;
    while top >= PLOT.y + 1.0 {
        for x in lefts {
            let place = Area::new(x, top, width, LABEL_HEIGHT);
            let roomy = Area::new(x - 3.0, top - 1.0, width + 6.0, LABEL_HEIGHT + 2.0);
            if !taken.iter().any(|area| area.overlaps(&roomy)) {
                return Some(place);
            }
        }
        top -= 3.0;
    }
    None
}

fn x_axis(drawing: &mut Drawing, scene: &Scene<'_>) {
    let palette = &scene.palette;
    let n = scene.capture.len();
    for index in (0..n).step_by(nice_step(44.0 / pitch(n))) {
        let x = center_x(n, index);
        drawing.line((x, PLOT.bottom()), (x, PLOT.bottom() + 4.0), palette.line, 0.6);
        let label = Label::new(x, PLOT.bottom() + 14.0, TICK_SIZE, palette.soft, index.to_string());
        drawing.text(label.anchored(Anchor::Middle));
    }
    let title = Label::new(
        PLOT.x + PLOT.width / 2.0,
        PLOT.bottom() + 29.0,
        NOTE_SIZE,
        palette.soft,
        "key (token index)",
    );
    drawing.text(title.anchored(Anchor::Middle));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_avoid_what_is_taken_and_give_up_at_the_top() {
        let tip = (300.0, 200.0);
        let free = free_place(tip, 60.0, &[]).unwrap();
        assert!((free.bottom() - 196.0).abs() < 1e-3, "right above the bar");
        let moved = free_place(tip, 60.0, &[free]).unwrap();
        assert!(!moved.overlaps(&free));
        let wall = Area::new(0.0, 0.0, 800.0, 400.0);
        assert_eq!(free_place(tip, 60.0, &[wall]), None);
    }

    #[test]
    fn ticks_lie_on_the_axis() {
        let axis = Axis { low: 0.04, high: 37.0 };
        let ticks = axis.ticks();
        assert_eq!(ticks.first().copied().map(compact).as_deref(), Some("0.05"));
        assert_eq!(ticks.last().copied().map(compact).as_deref(), Some("20"));
        assert!((axis.y(37.0) - PLOT.y).abs() < 1e-3 && (axis.y(0.04) - PLOT.bottom()).abs() < 1e-3);
    }
}
