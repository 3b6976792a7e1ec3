//! The two components of each head's mass: the peak on the first P positions, and the tail.

use crate::analysis::{MOST_PEAK_KEYS, PEAK_BINS, PeakSplit, peak_bins};
use crate::app::command::Command;
use crate::app::format;
use crate::app::run::Run;
use crate::app::state::AppState;
use crate::app::theme::Palette;
use crate::app::view::HeadId;
use crate::color::{ColorMap, ColorScale, ColorTable, ScaleKind, SpecialColors};
use crate::widgets::cell_map::CellMap;
use crate::widgets::controls;
use egui::{Align2, Color32, FontId, Rect, RichText, Sense, Slider, Ui, pos2, vec2};

const HISTOGRAM_HEIGHT: f32 = 84.0;
const GUTTER: f32 = 20.0;

/// Draws the slider, the shares, the histogram over heads and the map of heads.
pub(super) fn ui(ui: &mut Ui, state: &AppState, run: &Run, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    let most = MOST_PEAK_KEYS.min(run.capture.len().saturating_sub(1)).max(1);
    let mut keys = state.view.peak_keys.min(most);
    ui.horizontal(|ui| {
        ui.label("Peak: first");
        ui.spacing_mut().slider_width = (ui.available_width() - 80.0).clamp(40.0, 110.0);
        let slider = ui
            // A step for the arrow keys: a point of the rail is less than a key.
            .add(Slider::new(&mut keys, 1..=most).logarithmic(true).step_by(1.0).show_value(false))
            .on_hover_text("How many first positions count as the peak; 4 is usual");
        controls::name(&slider, "Peak keys");
        if slider.changed() {
            commands.push(Command::SetPeakKeys(keys));
        }
        ui.monospace(format!("{keys:>3} keys"));
    });
    let chosen = chosen_heads(run);
    shares(ui, run.peaks.mean(chosen.iter().copied(), keys), palette);
    let splits: Vec<f64> =
        chosen.iter().filter_map(|&(layer, head)| Some(run.peaks.split(layer, head, keys)?.peak)).collect();
    histogram(ui, &splits, palette);
    map(ui, run, keys, commands);
}

/// The layers and heads that the profile averages over.
fn chosen_heads(run: &Run) -> Vec<(usize, usize)> {
    let spec = &run.capture.model.spec;
    run.analysis.options.selection.pairs(spec.layers, spec.heads)
}

/// The mean shares as one bar whose parts are named.
fn shares(ui: &mut Ui, mean: Option<PeakSplit>, palette: Palette) {
    let Some(mean) = mean else {
        ui.label(RichText::new("No row lies behind these keys").color(palette.weak));
        return;
    };
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 18.0), Sense::hover());
    let parts = [
        ("peak", mean.peak, palette.sink),
        ("tail", mean.tail, palette.bar),
        ("virtual", mean.virtual_key, palette.raised),
    ];
    let mut x = rect.left();
    for (name, share, fill) in parts {
        let part = Rect::from_min_size(pos2(x, rect.top()), vec2(rect.width() * share as f32, rect.height()));
        ui.painter().rect_filled(part.shrink2(vec2(0.5, 0.0)), 0.0, fill);
        x = part.right();
        let text = format!("{name} {}", format::percent(share));
        let galley = ui.painter().layout_no_wrap(text, FontId::proportional(11.5), palette.text_on(fill));
        if galley.size().x + 4.0 < part.width() {
            ui.painter().galley(
                Align2::CENTER_CENTER.anchor_size(part.center(), galley.size()).min,
                galley,
                palette.text,
            );
        }
    }
    let said = format!(
        "peak {}, tail {}, virtual key {}",
        format::percent(mean.peak),
        format::percent(mean.tail),
        format::percent(mean.virtual_key)
    );
    response.widget_info(|| {
        let mut info = egui::WidgetInfo::labeled(egui::Role::Image, true, "Shares of peak and tail");
        info.current_text_value = Some(said.clone());
        info
    });
    response.on_hover_text(format!(
        "Mean over the profile's layers and heads, of the rows behind the peak: {said}"
    ));
}

/// How many heads have which peak share.
fn histogram(ui: &mut Ui, splits: &[f64], palette: Palette) {
    ui.add_space(4.0);
    let caption = format!("{} heads by peak share", splits.len());
    ui.label(RichText::new(caption).size(11.0).color(palette.weak));
    let (rect, response) =
        ui.allocate_exact_size(vec2(ui.available_width(), HISTOGRAM_HEIGHT), Sense::hover());
    let plot = Rect::from_min_max(rect.min + vec2(GUTTER, 2.0), rect.max - vec2(0.0, 14.0));
    let bins = peak_bins(splits);
    let most = bins.iter().copied().max().unwrap_or(0).max(1);
    let width = plot.width() / PEAK_BINS as f32;
    let hovered = response
        .hover_pos()
        .filter(|pos| plot.expand2(vec2(0.0, 14.0)).contains(*pos))
        .map(|pos| (((pos.x - plot.left()) / width).max(0.0) as usize).min(PEAK_BINS - 1));
    ui.painter().rect_filled(plot, 0.0, palette.well);
    for (bin, &count) in bins.iter().enumerate() {
        let height = plot.height() * count as f32 / most as f32;
        let bar = Rect::from_min_max(
            pos2(plot.left() + width * bin as f32 + 0.5, plot.bottom() - height),
            pos2(plot.left() + width * (bin + 1) as f32 - 0.5, plot.bottom()),
        );
        ui.painter().rect_filled(bar, 0.0, if hovered == Some(bin) { palette.accent } else { palette.bar });
    }
    let text = |at, align, text: String| {
        ui.painter().text(at, align, text, FontId::monospace(9.5), palette.weak);
    };
    text(plot.left_top() - vec2(3.0, 0.0), Align2::RIGHT_TOP, most.to_string());
    text(plot.left_bottom() + vec2(0.0, 2.0), Align2::LEFT_TOP, "0%".to_owned());
    text(plot.center_bottom() + vec2(0.0, 2.0), Align2::CENTER_TOP, "50%".to_owned());
    text(plot.right_bottom() + vec2(0.0, 2.0), Align2::RIGHT_TOP, "100%".to_owned());
    let said = hovered.map(|bin| {
        format!(
            "{} heads with {}–{}% on the peak",
            bins[bin],
            bin * 100 / PEAK_BINS,
            (bin + 1) * 100 / PEAK_BINS
        )
    });
    response.widget_info(|| {
        let mut info = egui::WidgetInfo::labeled(egui::Role::Image, true, "Heads by peak share");
        info.current_text_value.clone_from(&said);
        info
    });
    if let Some(said) = said {
        response.on_hover_text(said);
    }
}

fn map(ui: &mut Ui, run: &Run, keys: usize, commands: &mut Vec<Command>) {
    let palette = Palette::of(ui);
    ui.label(RichText::new("peak share · layer × head · 0 to 1").size(11.0).color(palette.weak));
    let table = ColorTable::new(
        ColorScale::of(ScaleKind::Linear),
        ColorMap::Magma,
        SpecialColors::for_dark(palette.dark),
    );
    let spec = &run.capture.model.spec;
    let map = CellMap {
        name: "Peak share by layer and head",
        rows: spec.layers,
        columns: spec.heads,
        value: &|layer, head| run.peaks.split(layer, head, keys).map(|split| split.peak),
        color: &|value| {
            let [r, g, b] = table.rgb((value as f32).max(1e-6));
            Color32::from_rgb(r, g, b)
        },
        missing: palette.raised,
        marked: None,
        key: None,
    };
    let size = vec2(ui.available_width() - GUTTER, (ui.available_height() - 4.0).max(40.0));
    let output = super::sinks_maps::with_layer_numbers(ui, spec.layers, |ui| map.show(ui, size));
    if let Some((layer, head)) = output.hovered {
        if output.response.clicked() {
            commands.push(Command::FocusHead(HeadId { layer, head }));
        }
        let said = run.peaks.split(layer, head, keys).map_or_else(
            || "n/a".to_owned(),
            |split| format!("peak {}, tail {}", format::percent(split.peak), format::percent(split.tail)),
        );
        let chosen =
            if chosen_heads(run).contains(&(layer, head)) { "" } else { "\nNot in the shares above" };
        output
            .response
            .on_hover_text(format!("Layer {layer}, head {head}: {said}{chosen}\nClick to focus this head"));
    }
}
