//! Two columns of tokens and weighted lines between them.

use crate::capture::{LineWindow, PatternOf};
use crate::color::set_color;
use crate::export::ExportError;
use crate::export::axes::{NOTE_SIZE, Patch, heading, legend};
use crate::export::drawing::{Anchor, Area, Drawing, Label, shortened};
use crate::export::theme::{Rgb, Theme};
use crate::export::views::{LinesView, Scene, check};

const ROW: f32 = 13.0;
const SIZE: f32 = 9.0;
const TOP: f32 = 72.0;
const LEFT: f32 = 24.0;
/// Width of a column of labels.
const COLUMN: f32 = 150.0;
const BETWEEN: f32 = 260.0;
const LABEL_CHARS: usize = 20;

/// The weights of the chosen window; it is moved to where the text has tokens.
pub(in crate::export) fn window(scene: &Scene<'_>, view: &LinesView) -> Result<LineWindow, ExportError> {
    for &head in &view.heads {
        check(scene.capture, PatternOf::Head { layer: view.layer, head })?;
    }
    let n = scene.capture.len();
    let count = view.tokens.clamp(1, n.max(1));
    let first = view.first.min(n.saturating_sub(count));
    let rows = first..(first + count).min(n);
    Ok(LineWindow::of(scene.capture, view.layer, &view.heads, rows, &scene.analysis.detection.flagged))
}

pub(in crate::export) fn draw(scene: &Scene<'_>, view: &LinesView) -> Result<Drawing, ExportError> {
    let window = window(scene, view)?;
    let height = TOP + ROW * window.keys.len().max(window.rows.len()) as f32;
    let title = format!("{} · layer {}, {}", scene.model(), view.layer, names(&view.heads));
    let width = 2.0 * (LEFT + COLUMN) + BETWEEN;
    let mut drawing = Drawing::new(width, height + 44.0, scene.palette.background, &*title);
    let note = format!(
        "queries {}–{} of {} tokens, left · keys, right · a line is a weight of at least {}",
        window.rows.start,
        window.rows.end.saturating_sub(1),
        scene.capture.len(),
        view.least
    );
    heading(&mut drawing, &scene.palette, LEFT, &title, &note);
    lines(&mut drawing, scene, &window, view.least);
    let (left, right) = (LEFT + COLUMN, LEFT + COLUMN + BETWEEN);
    for (row, query) in window.rows.clone().enumerate() {
        label(&mut drawing, scene, row, query, (left, Anchor::End));
    }
    for (row, &key) in window.keys.iter().enumerate() {
        label(&mut drawing, scene, row, key, (right, Anchor::Start));
    }
    for (x, anchor, name) in [(left, Anchor::End, "query"), (right, Anchor::Start, "key")] {
        let label = Label::new(x, TOP - 14.0, NOTE_SIZE, scene.palette.soft, name);
        drawing.text(label.anchored(anchor));
    }
    let names: Vec<String> = window.heads.iter().map(|(head, _)| format!("head {head}")).collect();
    let colors = window.heads.iter().map(|(head, _)| Patch::Fill(color(scene, *head)));
    let entries: Vec<(Patch, &str)> = colors.zip(names.iter().map(String::as_str)).collect();
    // Few enough to stand in a row; the colours repeat after eight.
    legend(&mut drawing, &scene.palette, LEFT, height + 20.0, &entries[..entries.len().min(8)]);
    Ok(drawing)
}

fn names(heads: &[usize]) -> String {
    let list: Vec<String> = heads.iter().map(usize::to_string).collect();
    let heads = if list.len() == 1 { "head" } else { "heads" };
    format!("{heads} {}", list.join(", "))
}

/// A head has the same colour whichever others are shown.
fn color(scene: &Scene<'_>, head: usize) -> Rgb {
    set_color(head, scene.options.theme == Theme::Dark)
}

fn y(row: usize) -> f32 {
    TOP + ROW * (row as f32 + 0.5)
}

/// The lightest first, so that none hides a heavier one.
fn lines(drawing: &mut Drawing, scene: &Scene<'_>, window: &LineWindow, least: f32) {
    let place = |key: usize| window.keys.iter().position(|&other| other == key).unwrap_or_default();
    let set = |head: usize| window.heads.iter().position(|(other, _)| *other == head).unwrap_or_default();
    let mut lines: Vec<(usize, usize, usize, f32)> = window.lines(least).collect();
    lines.sort_by(|a, b| a.3.total_cmp(&b.3));
    let aside = |set: usize| {
        let sets = window.heads.len();
        let step = (ROW * 0.6 / sets.max(1) as f32).min(2.0);
        (set as f32 - sets.saturating_sub(1) as f32 / 2.0) * step
    };
    for (head, query, key, weight) in lines {
        let set = set(head);
        let from = (LEFT + COLUMN + 4.0, y(query - window.rows.start) + aside(set));
        let to = (LEFT + COLUMN + BETWEEN - 4.0, y(place(key)) + aside(set));
        let weight = weight.clamp(0.0, 1.0);
        let color = blend(scene.palette.background, color(scene, head), weight.sqrt());
        drawing.line(from, to, color, 0.5 + 2.0 * weight);
    }
}

/// A colour laid over the paper.
fn blend(paper: Rgb, ink: Rgb, strength: f32) -> Rgb {
    std::array::from_fn(|part| {
        let (paper, ink) = (f32::from(paper[part]), f32::from(ink[part]));
        (paper + (ink - paper) * strength).round() as u8
    })
}

fn label(drawing: &mut Drawing, scene: &Scene<'_>, row: usize, index: usize, (x, anchor): (f32, Anchor)) {
    let baseline = y(row) + 3.0;
    let color = if scene.is_sink(index) { scene.palette.sink } else { scene.palette.ink };
    let text = shortened(&scene.token_label(index), LABEL_CHARS);
    drawing.text(Label::new(x, baseline, SIZE, color, text).mono().anchored(anchor));
    let (number_at, other_end) = match anchor {
        Anchor::End => (x - COLUMN, Anchor::Start),
        _ => (x + COLUMN, Anchor::End),
    };
    let number = Label::new(number_at, baseline, SIZE - 1.0, scene.palette.soft, index.to_string());
    drawing.text(number.mono().anchored(other_end));
    if scene.is_sink(index) {
        let side = if anchor == Anchor::End { x + 1.0 } else { x - 3.0 };
        drawing.fill(Area::new(side, y(row) - ROW * 0.35, 2.0, ROW * 0.7), scene.palette.sink);
    }
}
