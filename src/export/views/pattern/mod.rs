//! Patterns, large: a head's or a mean's, a difference of two, or lines between tokens.

mod difference;
mod large;
mod lines;

pub(super) use difference::difference;
pub(in crate::export) use difference::minuend_and_subtrahend;
pub(super) use lines::draw as draw_lines;
pub(in crate::export) use lines::window;

use super::{Scene, pixels_in, pooling_note};
use crate::capture::{Hiding, PatternOf, PatternTile, TileArea};
use crate::color::{ColorScale, ColorTable};
use crate::export::ExportError;
use crate::export::axes::{Patch, special_entries};
use crate::export::drawing::Drawing;
use crate::progress::CancelToken;
use large::{Large, SIDE};

/// What a pattern is called.
pub(super) fn name_of(of: PatternOf) -> String {
    match of {
        PatternOf::Head { layer, head } => format!("layer {layer}, head {head}"),
        PatternOf::LayerMean(layer) => format!("layer {layer}, mean of its heads"),
        PatternOf::ModelMean => "mean of all heads".to_owned(),
    }
}

/// A head or a mean.
pub(super) fn draw(scene: &Scene<'_>, of: PatternOf, cancel: &CancelToken) -> Result<Drawing, ExportError> {
    scene.check(of)?;
    let shaping = scene.shaping();
    let n = scene.capture.len();
    let area = area(scene, n);
    let tile = scene.capture.tile(of, &area, &shaping, cancel)?;
    let labels = scene.capture.tokens.tokens.iter().enumerate();
    let mut legend: Vec<(Patch, &str)> = special_entries(&scene.palette).to_vec();
    if !shaping.is_plain() {
        legend.push((Patch::Hatch, "hidden sink"));
    }
    if shaping.renormalised {
        legend.push((Patch::Fill(scene.palette.special.not_available), "n/a: row emptied"));
    }
    let large = Large {
        title: format!("{} · {}", scene.model(), name_of(of)),
        note: note(scene, of, &tile),
        colors: colors(scene, &tile),
        tile,
        bar_title: if shaping.renormalised {
            format!("weight without sinks ({} scale)", scene.options.color.name())
        } else {
            scene.weight_title()
        },
        labels: &labels.map(|(index, token)| (token.label(), index.to_string())).collect::<Vec<_>>(),
        sinks: &scene.analysis.detection.flagged,
        hidden: &shaping.hidden,
        legend,
    };
    Ok(large.draw(scene))
}

/// The part that is drawn, as fine as the picture allows.
fn area(scene: &Scene<'_>, side: usize) -> TileArea {
    let (rows, keys) = scene.part(side);
    TileArea { rows, keys, ..TileArea::whole(side, pixels_in(SIDE, scene.options.scale)) }
}

/// Colours of weights; where sinks are hidden and the rest rescaled, they end at the largest that is left.
fn colors(scene: &Scene<'_>, tile: &PatternTile) -> ColorTable {
    if scene.options.hiding != Hiding::Rescaled || scene.options.range.is_some() {
        return scene.weight_colors();
    }
    let largest = tile.values.iter().copied().fold(0.0, f32::max);
    let scale = ColorScale::of(scene.options.color);
    let low = scale.min().min(largest / 100.0);
    ColorTable::new(scale.over(low, largest), scene.options.map, scene.palette.special)
}

fn note(scene: &Scene<'_>, of: PatternOf, tile: &PatternTile) -> String {
    let n = scene.capture.len();
    let layer = match of {
        PatternOf::Head { layer, .. } | PatternOf::LayerMean(layer) => Some(layer),
        PatternOf::ModelMean => None,
    };
    let window_of = |layer: usize| scene.capture.model.spec.windows.get(layer).copied().flatten();
    let window = match layer.and_then(window_of) {
        Some(window) => format!(" · local layer, window {window}"),
        None => String::new(),
    };
    let part = if tile.rows.len() < n || tile.keys.len() < n {
        let range =
            |range: &std::ops::Range<usize>| format!("{}–{}", range.start, range.end.saturating_sub(1));
        format!(" · queries {}, keys {}", range(&tile.rows), range(&tile.keys))
    } else {
        " · rows are queries, columns are keys".to_owned()
    };
    format!("{n} tokens{part} · {}{window}", pooling_note(tile.pool))
}
