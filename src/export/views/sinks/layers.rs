//! The profile of every key in every layer, with the layer in which each sink is born.

use super::cells::{Cells, map_height};
use crate::analysis::{birth_layer, far_lift_by_layer, profile_by_layer};
use crate::color::{ColorScale, ColorTable, ProfileScale, ScaleKind};
use crate::export::axes::{NOTE_SIZE, TICK_SIZE, heading};
use crate::export::drawing::{Anchor, Area, Drawing, Item, Label, Raster};
use crate::export::views::Scene;

const LEFT: f32 = 60.0;
const TOP: f32 = 58.0;
const WIDTH: f32 = 620.0;

/// The chosen profile `[layer][key]` over all heads.
pub(in crate::export) fn by_layer(scene: &Scene<'_>) -> Vec<Vec<Option<f64>>> {
    profile_by_layer(scene.capture, scene.analysis.options.profile)
}

/// Each sink with the layer in which it is born.
pub(in crate::export) fn births(scene: &Scene<'_>) -> Vec<(usize, Option<usize>)> {
    let far_lift = far_lift_by_layer(scene.capture);
    let born = |sink: &usize| (*sink, birth_layer(&far_lift, *sink));
    scene.analysis.detection.flagged.iter().map(born).collect()
}

pub(in crate::export::views) fn draw(scene: &Scene<'_>) -> Drawing {
    let layers = by_layer(scene);
    let (kind, n) = (scene.analysis.options.profile, scene.capture.len());
    let map = Area::new(LEFT, TOP, WIDTH, map_height(layers.len()));
    let title = format!("{} · {} by layer and key", scene.model(), kind.name());
    let mut drawing =
        Drawing::new(map.right() + 110.0, map.bottom() + 44.0, scene.palette.background, &*title);
    let note =
        format!("{n} tokens · over all heads of a layer · a ring marks the layer in which a sink is born");
    heading(&mut drawing, &scene.palette, LEFT, &title, &note);
    let scale = ProfileScale::of(kind, n);
    let table = ColorTable::new(ColorScale::of(ScaleKind::Linear), scene.options.map, scene.palette.special);
    let cells = Cells {
        size: (layers.len(), n),
        columns_are: "key (index)",
        value: &|layer, key| layers[layer][key],
        color: &|value| {
            value.map_or(scene.palette.special.masked, |value| table.rgb(scale.position(value) as f32))
        },
    };
    cells.draw(&mut drawing, scene, map);
    for (sink, birth) in births(scene) {
        let Some(layer) = birth else { continue };
        let x = map.x + map.width * (sink as f32 + 0.5) / n.max(1) as f32;
        let y = map.y + map.height * (layer as f32 + 0.5) / layers.len().max(1) as f32;
        // A dark ring around a light one shows on every colour.
        for (radius, color, width) in [(4.0, [0; 3], 2.5), (4.0, [255; 3], 1.2)] {
            let ring = Area::new(x - radius, y - radius, 2.0 * radius, 2.0 * radius);
            drawing.items.push(Item::Frame(ring, color, width, radius));
        }
    }
    bar(&mut drawing, scene, &table, &scale, Area::new(map.right() + 16.0, map.y, 12.0, map.height));
    drawing
}

/// A colour bar with the decades of the profile.
fn bar(drawing: &mut Drawing, scene: &Scene<'_>, table: &ColorTable, scale: &ProfileScale, area: Area) {
    const STEPS: usize = 256;
    let pixels = (0..STEPS).rev().map(|step| table.at(step as f32 / 255.0)).collect();
    drawing.image(Raster { area, width: 1, height: STEPS, pixels });
    drawing.frame(area, scene.palette.line, 0.5);
    let first = scale.low.log10().ceil() as i32;
    for decade in first..=scale.high.log10().floor() as i32 {
        let value = 10f64.powi(decade);
        let y = area.bottom() - scale.position(value) as f32 * area.height;
        drawing.line((area.right(), y), (area.right() + 3.0, y), scene.palette.line, 0.5);
        let text = crate::export::axes::compact(value);
        drawing.text(Label::new(area.right() + 6.0, y + 3.0, TICK_SIZE, scene.palette.soft, text));
    }
    let kind = scene.analysis.options.profile;
    let title = format!("{} ({}, log scale)", kind.name(), kind.unit());
    let label =
        Label::new(area.right() + 48.0, area.y + area.height / 2.0, NOTE_SIZE, scene.palette.soft, title);
    drawing.text(label.turned().anchored(Anchor::Middle));
}
