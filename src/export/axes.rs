//! What the views share: numbers, ticks, token labels that thin out, colour bars, legends.

use super::drawing::{Anchor, Area, Drawing, Face, Label, Raster, text_width};
use super::theme::Palette;
use crate::color::{ColorTable, ScaleKind};

/// Font size of titles, in points.
pub(super) const TITLE_SIZE: f32 = 13.0;
/// Font size of axis titles and notes.
pub(super) const NOTE_SIZE: f32 = 9.5;
/// Font size of tick labels.
pub(super) const TICK_SIZE: f32 = 8.5;
/// Font size of token labels.
pub(super) const TOKEN_SIZE: f32 = 8.0;

/// A number with three significant digits, in powers of ten where it is very small or large.
pub(super) fn compact(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { "n/a".to_owned() };
    }
    let text = match magnitude {
        m if !(1e-4..1e5).contains(&m) => return format!("{value:.1e}"),
        m if m >= 100.0 => format!("{value:.0}"),
        m if m >= 10.0 => format!("{value:.1}"),
        m if m >= 1.0 => format!("{value:.2}"),
        m if m >= 0.1 => format!("{value:.3}"),
        m if m >= 0.01 => format!("{value:.4}"),
        m if m >= 0.001 => format!("{value:.5}"),
        _ => format!("{value:.6}"),
    };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The smallest of 1, 2, 5, 10, 20, 50, … that is at least `least`.
pub(super) fn nice_step(least: f32) -> usize {
    let mut decade = 1;
    loop {
        for step in [decade, 2 * decade, 5 * decade] {
            if step as f32 >= least || step >= usize::MAX / 20 {
                return step;
            }
        }
        decade *= 10;
    }
}

/// Which of `n` positions get a label when they lie `spacing` points apart and a label takes
/// `room` points: the wanted ones first, as far as they fit, then every so-many-th. Ascending.
pub(super) fn thinned(n: usize, spacing: f32, room: f32, wanted: &[usize]) -> Vec<usize> {
    let step = nice_step(room / spacing.max(f32::MIN_POSITIVE));
    let mut chosen: Vec<usize> = Vec::new();
    for index in wanted.iter().copied().chain((0..n).step_by(step)).filter(|&index| index < n) {
        let fits = |&other: &usize| index.abs_diff(other) as f32 * spacing >= room;
        if chosen.iter().all(fits) {
            chosen.push(index);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// Title and note at the top left of a picture, which grows where they are longer.
pub(super) fn heading(drawing: &mut Drawing, palette: &Palette, x: f32, title: &str, note: &str) {
    const MARGIN: f32 = 14.0;
    let words = text_width(title, TITLE_SIZE, Face::Sans).max(text_width(note, NOTE_SIZE, Face::Sans));
    drawing.width = drawing.width.max((x + words + MARGIN).ceil());
    drawing.text(Label::new(x, 22.0, TITLE_SIZE, palette.ink, title));
    drawing.text(Label::new(x, 37.0, NOTE_SIZE, palette.soft, note));
}

/// Values that a colour bar labels, with their positions 0…1: the ends, and ticks clear of them.
/// `clipped` says that smaller values than the scale's lowest exist and share its colour.
fn bar_ticks(table: &ColorTable, clipped: bool) -> Vec<(f32, String)> {
    let scale = table.scale();
    let lowest = if table.is_diverging() { -scale.max } else { scale.min() };
    let ends = [(0.0, lowest), (1.0, scale.max)];
    let inner = table.ticks().into_iter().map(|weight| (table.position(weight), weight));
    let inner = inner.filter(|(position, _)| (0.07..0.93).contains(position));
    let mut ticks: Vec<(f32, f32)> = ends.into_iter().chain(inner).collect();
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    let clipped = clipped && scale.kind == ScaleKind::Log && !table.is_diverging();
    let below = |position: f32| if position == 0.0 && clipped { "≤ " } else { "" };
    ticks
        .into_iter()
        .map(|(position, weight)| {
            // Through text, so that 0.1 as f32 does not become 0.10000000149.
            let exact = weight.to_string().parse().unwrap_or(f64::from(weight));
            (position, format!("{}{}", below(position), compact(exact)))
        })
        .collect()
}

/// A colour bar from bottom to top, its title to the right, reading upwards.
pub(super) fn color_bar(
    drawing: &mut Drawing,
    palette: &Palette,
    area: Area,
    table: &ColorTable,
    title: &str,
) {
    const STEPS: usize = 256;
    let pixels = (0..STEPS).rev().map(|step| table.at(step as f32 / 255.0)).collect();
    drawing.image(Raster { area, width: 1, height: STEPS, pixels });
    drawing.frame(area, palette.line, 0.5);
    let mut widest = 0.0f32;
    for (position, text) in bar_ticks(table, true) {
        let y = area.bottom() - position * area.height;
        drawing.line((area.right(), y), (area.right() + 3.0, y), palette.line, 0.5);
        widest = widest.max(text_width(&text, TICK_SIZE, Face::Sans));
        drawing.text(Label::new(area.right() + 6.0, y + 3.0, TICK_SIZE, palette.soft, text));
    }
    let middle = area.y + area.height / 2.0;
    let label = Label::new(area.right() + widest + 20.0, middle, NOTE_SIZE, palette.soft, title);
    drawing.text(label.turned().anchored(Anchor::Middle));
}

/// A colour bar from left to right, its title above.
pub(super) fn flat_color_bar(
    drawing: &mut Drawing,
    palette: &Palette,
    area: Area,
    table: &ColorTable,
    title: &str,
) {
    const STEPS: usize = 256;
    let pixels = (0..STEPS).map(|step| table.at(step as f32 / 255.0)).collect();
    drawing.text(Label::new(area.x, area.y - 5.0, NOTE_SIZE, palette.soft, title));
    drawing.image(Raster { area, width: STEPS, height: 1, pixels });
    drawing.frame(area, palette.line, 0.5);
    let mut free_from = f32::MIN;
    for (position, text) in bar_ticks(table, false) {
        let x = area.x + position * area.width;
        drawing.line((x, area.bottom()), (x, area.bottom() + 3.0), palette.line, 0.5);
        let half = text_width(&text, TICK_SIZE, Face::Sans) / 2.0;
        if x - half > free_from {
            free_from = x + half + 4.0;
            let label = Label::new(x, area.bottom() + 12.0, TICK_SIZE, palette.soft, text);
            drawing.text(label.anchored(Anchor::Middle));
        }
    }
}

/// What a patch of a legend looks like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Patch {
    /// Filled.
    Fill([u8; 3]),
    /// Hatched, for what has no value.
    Hatch,
    /// Framed, nothing inside.
    Frame([u8; 3]),
    /// A dashed line.
    Dash,
}

/// A row of patches with their meaning, from left to right.
pub(super) fn legend(drawing: &mut Drawing, palette: &Palette, x: f32, y: f32, entries: &[(Patch, &str)]) {
    let mut left = x;
    for (patch, meaning) in entries {
        let area = Area::new(left, y, 9.0, 9.0);
        match patch {
            Patch::Fill(color) => {
                drawing.fill(area, *color);
                drawing.frame(area, palette.line, 0.5);
            }
            Patch::Hatch => {
                drawing.hatch(area, palette.line, 4.0);
                drawing.frame(area, palette.line, 0.5);
            }
            Patch::Frame(color) => drawing.frame(area, *color, 1.5),
            Patch::Dash => drawing.dashed((left - 4.0, y + 4.5), (left + 9.0, y + 4.5), palette.ink, 1.0),
        }
        drawing.text(Label::new(left + 13.0, y + 7.5, TICK_SIZE, palette.soft, *meaning));
        left += 13.0 + text_width(meaning, TICK_SIZE, Face::Sans) + 16.0;
    }
}

/// The legend's entries for cells without a weight.
pub(super) fn special_entries(palette: &Palette) -> [(Patch, &'static str); 3] {
    [
        (Patch::Fill(palette.special.masked), "query can't see the key"),
        (Patch::Fill(palette.special.zero), "exactly 0"),
        (Patch::Fill(palette.special.nan), "not a number"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::{ColorMap, ColorScale, SpecialColors};

    #[test]
    fn numbers_are_short() {
        let numbers = [22.936_4, 0.1, 2.8, 0.0123, 1e-4, 123.4, 3.2e-7, 0.0, 1.0, 250_000.0, 5.0e-4];
        let texts = numbers.map(compact);
        assert_eq!(
            texts,
            ["22.9", "0.1", "2.8", "0.0123", "0.0001", "123", "3.2e-7", "0", "1", "2.5e5", "0.0005"]
        );
    }

    #[test]
    fn labels_keep_their_distance_and_wanted_ones_come_first() {
        let chosen = thinned(155, 3.0, 9.0, &[0, 19, 78, 88]);
        assert!([0, 19, 78, 88].iter().all(|index| chosen.contains(index)));
        assert!(chosen.windows(2).all(|pair| pair[1] - pair[0] >= 3), "{chosen:?}");
        assert!(chosen.len() > 20, "and there are enough of them: {}", chosen.len());
        assert_eq!(thinned(3, 20.0, 9.0, &[]), [0, 1, 2]);
        assert_eq!(thinned(3, 20.0, 9.0, &[7]), [0, 1, 2], "beyond the end");
    }

    #[test]
    fn steps_are_nice() {
        assert_eq!([0.2, 1.5, 3.0, 9.9, 11.0, 300.0].map(nice_step), [1, 2, 5, 10, 20, 500]);
    }

    #[test]
    fn a_bar_names_what_lies_below_its_floor() {
        let table = ColorTable::new(ColorScale::default(), ColorMap::Magma, SpecialColors::LIGHT);
        let texts = |clipped| bar_ticks(&table, clipped).into_iter().map(|tick| tick.1).collect::<Vec<_>>();
        assert_eq!(texts(true), ["≤ 0.0001", "0.001", "0.01", "0.1", "1"]);
        assert_eq!(texts(false)[0], "0.0001", "unless nothing does");
    }
}
