//! Which sinks of a run stay in others, which move, which fade: a table.

use crate::analysis::{Fate, RunSinks, fates, newcomers};
use crate::capture::{AlignBy, Alignment};
use crate::export::axes::{NOTE_SIZE, TICK_SIZE, heading};
use crate::export::drawing::{Anchor, Drawing, Label, shortened};
use crate::export::views::Scene;
use crate::text::letter;

const LEFT: f32 = 24.0;
const TOP: f32 = 60.0;
const ROW: f32 = 16.0;
const TOKEN_X: f32 = LEFT + 44.0;
const FIRST_RUN_X: f32 = LEFT + 200.0;
const RUN_WIDTH: f32 = 120.0;
const LABEL_CHARS: usize = 22;

/// A sink of the shown run with its fate in each of the others, or one that only another run has.
pub(in crate::export) enum Row {
    /// Position here, and what became of it in each other run.
    Ours(usize, Vec<Fate>),
    /// A sink of run `run` at `position` there; `here` it is none.
    Theirs { run: usize, position: usize, here: Option<usize> },
}

/// The rows: our sinks, then what only the others have.
pub(in crate::export) fn rows(scene: &Scene<'_>) -> Vec<Row> {
    let ours = &scene.analysis.detection.flagged;
    let alignments: Vec<Alignment> = scene
        .others
        .iter()
        .map(|other| Alignment::of(&scene.capture.tokens, &other.capture.tokens, AlignBy::Tokens))
        .collect();
    let places: Vec<Vec<Option<usize>>> =
        alignments.iter().map(|alignment| alignment.places(scene.capture.len())).collect();
    let by_run: Vec<Vec<Fate>> = scene
        .others
        .iter()
        .zip(&places)
        .map(|(other, place)| {
            let detection = &other.analysis.detection;
            let theirs = RunSinks { flagged: &detection.flagged, z: &detection.z };
            fates(ours, theirs, |token| place.get(token).copied().flatten())
        })
        .collect();
    let mut rows: Vec<Row> = ours
        .iter()
        .enumerate()
        .map(|(sink, &position)| Row::Ours(position, by_run.iter().map(|fates| fates[sink]).collect()))
        .collect();
    for (run, (other, place)) in scene.others.iter().zip(&places).enumerate() {
        let theirs = newcomers(ours, &other.analysis.detection.flagged, place);
        rows.extend(theirs.into_iter().map(|(position, here)| Row::Theirs { run, position, here }));
    }
    rows
}

pub(in crate::export::views) fn draw(scene: &Scene<'_>) -> Drawing {
    let rows = rows(scene);
    let palette = &scene.palette;
    let width = FIRST_RUN_X + RUN_WIDTH * scene.others.len().max(2) as f32 + LEFT;
    let runs_top = TOP + ROW * (rows.len() as f32 + 2.5);
    let height = runs_top + ROW * scene.others.len() as f32 + 16.0;
    let title = format!("{} · stability of its sinks in {} other runs", scene.model(), scene.others.len());
    let mut drawing = Drawing::new(width, height, palette.background, &*title);
    let note = "place: another token at its place is a sink there; ×: its z there; +: a sink there only";
    heading(&mut drawing, palette, LEFT, &title, note);
    let head = |x: f32, text: String| Label::new(x, TOP + 10.0, TICK_SIZE, palette.soft, text);
    drawing.text(head(LEFT + 30.0, "#".to_owned()).anchored(Anchor::End));
    drawing.text(head(TOKEN_X, "token".to_owned()));
    for run in 0..scene.others.len() {
        drawing.text(head(run_x(run), format!("in {}", letter(run))));
    }
    drawing.line((LEFT, TOP + 15.0), (width - LEFT, TOP + 15.0), palette.line, 0.75);
    for (place, row) in rows.iter().enumerate() {
        draw_row(&mut drawing, scene, row, TOP + ROW * (place as f32 + 1.0) + 12.0);
    }
    for (run, other) in scene.others.iter().enumerate() {
        let y = runs_top + ROW * run as f32;
        let model = &other.capture.model;
        let sinks = other.analysis.detection.flagged.len();
        let tokens = other.capture.len();
        let text =
            format!("{}: {} ({}), {tokens} tokens, {sinks} sinks", letter(run), model.name, model.dtype);
        drawing.text(Label::new(LEFT, y, NOTE_SIZE, palette.soft, text));
    }
    drawing
}

fn draw_row(drawing: &mut Drawing, scene: &Scene<'_>, row: &Row, y: f32) {
    let palette = &scene.palette;
    let cell = |x: f32, color, text: String| Label::new(x, y, NOTE_SIZE, color, text).mono();
    match row {
        Row::Ours(position, fates) => {
            drawing.text(cell(LEFT + 30.0, palette.ink, position.to_string()).anchored(Anchor::End));
            let token = shortened(&scene.token_label(*position), LABEL_CHARS);
            drawing.text(cell(TOKEN_X, palette.sink, token));
            for (run, fate) in fates.iter().enumerate() {
                let color = if fate.is_sink() { palette.ink } else { palette.soft };
                drawing.text(cell(run_x(run), color, said(*fate)));
            }
        }
        Row::Theirs { run, position, here } => {
            let here = here.map_or_else(|| "–".to_owned(), |here| here.to_string());
            drawing.text(cell(LEFT + 30.0, palette.soft, here).anchored(Anchor::End));
            let token = scene.others[*run].capture.tokens.tokens[*position].label();
            drawing.text(cell(TOKEN_X, palette.soft, shortened(&token, LABEL_CHARS)));
            drawing.text(cell(run_x(*run), palette.ink, format!("+ new {position}")));
        }
    }
}

fn run_x(run: usize) -> f32 {
    FIRST_RUN_X + RUN_WIDTH * run as f32
}

/// A fate in a word and a sign.
fn said(fate: Fate) -> String {
    match fate {
        Fate::Stays { .. } => "● stays".to_owned(),
        Fate::Moves { to, .. } => format!("→ moves {to}"),
        Fate::PlaceStays { .. } => "○ place".to_owned(),
        Fate::Fades { z, .. } => z.map_or_else(|| "× z n/a".to_owned(), |z| format!("× z {z:.2}")),
        Fate::Absent => "– absent".to_owned(),
    }
}
