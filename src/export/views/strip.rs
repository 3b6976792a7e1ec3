//! The tokens in reading order, each a chip coloured by its attention mass, sinks badged.

use super::{Scene, StripBy, StripView};
use crate::analysis::{Partners, PartnersKey, Sink, partners_of};
use crate::color::{ColorScale, ColorTable};
use crate::export::ExportError;
use crate::export::axes::{Patch, TICK_SIZE, TOKEN_SIZE, flat_color_bar, heading, legend};
use crate::export::drawing::{Anchor, Area, Drawing, Face, Item, Label, shortened, text_width};
use crate::export::theme::ink_on;
use crate::progress::{CancelToken, Cancelled};

const WIDTH: f32 = 724.0;
const LEFT: f32 = 52.0;
const RIGHT: f32 = 20.0;
const TOP: f32 = 52.0;
const FOOTER: f32 = 74.0;
const CHIP_HEIGHT: f32 = 16.0;
const CHIP_SIZE: f32 = 9.0;
const BADGE_SIZE: f32 = 7.5;
/// Room above the chips of a line that has a badge.
const BADGE_ROOM: f32 = 12.0;
const LINE_GAP: f32 = 5.0;
const LABEL_CHARS: usize = 28;

/// A token and its place within a line.
struct Chip<'a> {
    index: usize,
    text: String,
    x: f32,
    width: f32,
    sink: Option<&'a Sink>,
}

/// What is behind the colours: a value for each token, and what it is.
struct Values {
    each: Vec<Option<f64>>,
    name: String,
    title: String,
}

impl Values {
    fn of(scene: &Scene<'_>, view: &StripView, cancel: &CancelToken) -> Result<Self, ExportError> {
        if view.by == StripBy::Mass {
            let kind = scene.analysis.options.profile;
            return Ok(Self {
                each: scene.analysis.profile(kind).to_vec(),
                name: format!("{} ({}", kind.name(), kind.unit()),
                title: format!("tokens by attention mass: {}", kind.name()),
            });
        }
        let weights = partners(scene, view, cancel)?.weights;
        let chosen: Vec<String> = view
            .tokens
            .iter()
            .take(4)
            .map(|&token| format!("{token} {}", scene.token_label(token)))
            .collect();
        let more = if view.tokens.len() > 4 { ", …" } else { "" };
        let (verb, name) = match view.by {
            StripBy::Outgoing => ("from", "weight of the chosen tokens on each (mean over heads"),
            _ => ("to", "weight of each on the chosen tokens (mean over heads"),
        };
        Ok(Self {
            each: weights.into_iter().map(|weight| weight.map(f64::from)).collect(),
            name: name.to_owned(),
            title: format!("attention {verb} {}{more}", chosen.join(", ")),
        })
    }
}

/// The weights between the chosen tokens and all others, over the profile's layers and heads.
pub(in crate::export) fn partners(
    scene: &Scene<'_>,
    view: &StripView,
    cancel: &CancelToken,
) -> Result<Partners, ExportError> {
    let selection = &scene.analysis.options.selection;
    let key = PartnersKey {
        capture: scene.capture.id,
        tokens: view.tokens.clone(),
        outgoing: view.by == StripBy::Outgoing,
        layers: selection.layers.clone(),
        // A selection of heads is one head or all, as in the window.
        head: selection.heads.as_ref().and_then(|heads| heads.first().copied()),
    };
    partners_of(scene.capture, key, cancel).ok_or(ExportError::Cancelled(Cancelled))
}

pub(super) fn draw(
    scene: &Scene<'_>,
    view: &StripView,
    cancel: &CancelToken,
) -> Result<Drawing, ExportError> {
    let values = Values::of(scene, view, cancel)?;
    let lines = lines(chips(scene));
    let heights: Vec<f32> = lines.iter().map(|line| line_height(line)).collect();
    let body: f32 = heights.iter().sum();
    let title = format!("{} · {}", scene.model(), values.title);
    let mut drawing = Drawing::new(WIDTH, TOP + body + FOOTER, scene.palette.background, &*title);
    heading(&mut drawing, &scene.palette, LEFT, &title, &note(scene));

    let colors = colors(scene, &values.each);
    let mut top = TOP;
    for (line, height) in lines.iter().zip(heights) {
        let y = top + height - LINE_GAP - CHIP_HEIGHT;
        draw_line(&mut drawing, scene, &colors, &values.each, &view.tokens, line, y);
        top += height;
    }
    footer(&mut drawing, scene, &colors, &values.name, top + 24.0);
    Ok(drawing)
}

fn note(scene: &Scene<'_>) -> String {
    let outcome = match (scene.analysis.not_tested(), scene.analysis.sinks.len()) {
        (Some(reason), _) => reason,
        (None, 0) => "no sink detected".to_owned(),
        (None, 1) => "1 sink".to_owned(),
        (None, count) => format!("{count} sinks"),
    };
    format!(
        "{} tokens · {outcome} · the number before a line is its first token's index",
        scene.capture.len()
    )
}

fn chips<'a>(scene: &'a Scene<'_>) -> Vec<Chip<'a>> {
    (0..scene.capture.len())
        .map(|index| {
            let text = shortened(&scene.token_label(index), LABEL_CHARS);
            let sink = scene.analysis.sinks.iter().find(|sink| sink.index == index);
            let badge = sink.map_or(0.0, |sink| text_width(&badge(sink), BADGE_SIZE, Face::Sans) + 2.0);
            let width = (text_width(&text, CHIP_SIZE, Face::Mono) + 7.0).max(badge).max(10.0);
            Chip { index, text, x: 0.0, width, sink }
        })
        .collect()
}

fn badge(sink: &Sink) -> String {
    format!("z {:.1} {}", sink.z, sink.class.name())
}

/// Breaks the chips into lines of the picture's width.
fn lines(chips: Vec<Chip<'_>>) -> Vec<Vec<Chip<'_>>> {
    let mut lines: Vec<Vec<Chip<'_>>> = Vec::new();
    let mut x = f32::MAX;
    for mut chip in chips {
        if x + chip.width > WIDTH - RIGHT {
            lines.push(Vec::new());
            x = LEFT;
        }
        chip.x = x;
        x += chip.width + 1.5;
        if let Some(line) = lines.last_mut() {
            line.push(chip);
        }
    }
    lines
}

fn line_height(line: &[Chip<'_>]) -> f32 {
    let badges = line.iter().any(|chip| chip.sink.is_some());
    CHIP_HEIGHT + LINE_GAP + if badges { BADGE_ROOM } else { 0.0 }
}

/// A table that spans the values.
fn colors(scene: &Scene<'_>, values: &[Option<f64>]) -> ColorTable {
    let positive = values.iter().flatten().copied().filter(|value| *value > 0.0);
    let smallest = positive.clone().reduce(f64::min).unwrap_or(1e-3) as f32;
    let largest = positive.reduce(f64::max).unwrap_or(1.0) as f32;
    let scale = ColorScale {
        kind: scene.options.color,
        floor: smallest,
        low: 0.0,
        max: largest.max(smallest * 1.001),
    };
    ColorTable::new(scale, scene.options.map, scene.palette.special)
}

fn draw_line(
    drawing: &mut Drawing,
    scene: &Scene<'_>,
    colors: &ColorTable,
    values: &[Option<f64>],
    chosen: &[usize],
    line: &[Chip<'_>],
    y: f32,
) {
    let baseline = y + CHIP_HEIGHT - 5.0;
    if let Some(first) = line.first() {
        let number = first.index.to_string();
        let label = Label::new(LEFT - 7.0, baseline, TOKEN_SIZE, scene.palette.soft, number);
        drawing.text(label.mono().anchored(Anchor::End));
    }
    for chip in line {
        let area = Area::new(chip.x, y, chip.width, CHIP_HEIGHT);
        let color = values[chip.index].map_or(scene.palette.special.masked, |value| colors.rgb(value as f32));
        drawing.items.push(Item::Fill(area, color, 2.5));
        if let Some(sink) = chip.sink {
            drawing.items.push(Item::Frame(area, scene.palette.sink, 1.6, 2.5));
            drawing.text(Label::new(chip.x + 1.0, y - 3.0, BADGE_SIZE, scene.palette.sink, badge(sink)));
        }
        if chosen.binary_search(&chip.index).is_ok() {
            drawing.items.push(Item::Frame(area, scene.palette.ink, 1.6, 2.5));
        }
        let text = Label::new(chip.x + chip.width / 2.0, baseline, CHIP_SIZE, ink_on(color), &*chip.text);
        drawing.text(text.mono().anchored(Anchor::Middle));
    }
}

fn footer(drawing: &mut Drawing, scene: &Scene<'_>, colors: &ColorTable, name: &str, y: f32) {
    let title = format!("{name}, {} scale)", scene.options.color.name());
    flat_color_bar(drawing, &scene.palette, Area::new(LEFT, y, 260.0, 10.0), colors, &title);
    let entries = [
        (Patch::Frame(scene.palette.sink), "sink, with z and class"),
        (Patch::Fill(scene.palette.special.masked), "n/a"),
        (Patch::Fill(scene.palette.special.zero), "exactly 0"),
    ];
    legend(drawing, &scene.palette, LEFT + 300.0, y, &entries);
    if scene.analysis.sinks.is_empty() {
        let text = scene.analysis.not_tested().unwrap_or_else(|| "No sink detected".to_owned());
        drawing.text(Label::new(LEFT + 300.0, y + 24.0, TICK_SIZE, scene.palette.soft, text));
    }
}
