//! One pattern minus another, of the same run or of another one.

use super::large::Large;
use super::{area, name_of};
use crate::capture::{AlignBy, Alignment, Capture, Difference, NOT_AVAILABLE, PatternOf};
use crate::color::{ColorScale, ColorTable, SpecialColors};
use crate::export::ExportError;
use crate::export::axes::Patch;
use crate::export::drawing::Drawing;
use crate::export::theme::Theme;
use crate::export::views::{Scene, pooling_note};
use crate::progress::CancelToken;

/// The two patterns with their runs, and how their tokens lie beside each other.
pub(in crate::export) struct Pair<'a> {
    pub(in crate::export) a: (&'a Capture, PatternOf),
    pub(in crate::export) b: (&'a Capture, PatternOf),
    pub(in crate::export) alignment: Alignment,
}

/// What is subtracted from what: the other run's pattern where there is another run.
pub(in crate::export) fn minuend_and_subtrahend<'a>(
    scene: &Scene<'a>,
    a: PatternOf,
    b: PatternOf,
    by: AlignBy,
) -> Result<Pair<'a>, ExportError> {
    let capture = scene.capture;
    let other = scene.others.first().map_or(capture, |other| other.capture);
    super::super::check(capture, a)?;
    super::super::check(other, b)?;
    let alignment = if std::ptr::eq(capture, other) {
        Alignment::identity(capture.len())
    } else {
        Alignment::of(&capture.tokens, &other.tokens, by)
    };
    Ok(Pair { a: (capture, a), b: (other, b), alignment })
}

pub(in crate::export) fn difference(
    scene: &Scene<'_>,
    a: PatternOf,
    b: PatternOf,
    by: AlignBy,
    cancel: &CancelToken,
) -> Result<Drawing, ExportError> {
    let pair = minuend_and_subtrahend(scene, a, b, by)?;
    let area = area(scene, pair.alignment.len());
    let tile = Difference::tile_between(pair.a, pair.b, &pair.alignment, &area, cancel)?;
    let two_runs = !std::ptr::eq(pair.a.0, pair.b.0);
    let special = SpecialColors::for_differences(scene.options.theme == Theme::Dark);
    let mut legend = vec![
        (Patch::Fill(special.masked), "query can't see the key"),
        (Patch::Fill(special.nan), "not a number"),
    ];
    if two_runs {
        legend.push((Patch::Fill(special.not_available), "in one run only"));
    }
    let flagged = scene.analysis.detection.flagged.iter();
    let sinks: Vec<usize> = flagged.filter_map(|&sink| pair.alignment.entry_of(sink)).collect();
    let labels = pair.alignment.labels(&pair.a.0.tokens, &pair.b.0.tokens);
    let large = Large {
        title: title(scene, &pair),
        note: note(scene, &pair, two_runs, tile.pool),
        colors: ColorTable::diverging(scale(scene, &tile.values), scene.options.diverging, special),
        tile,
        bar_title: format!("difference of attention weights ({} scale)", scene.options.color.name()),
        labels: &labels.into_iter().map(|label| (label.token, label.position)).collect::<Vec<_>>(),
        sinks: &sinks,
        hidden: &[],
        legend,
    };
    Ok(large.draw(scene))
}

/// Up to the largest difference that is drawn, unless a range was chosen.
fn scale(scene: &Scene<'_>, values: &[f32]) -> ColorScale {
    let scale = ColorScale::of(scene.options.color);
    if let Some((low, high)) = scene.options.range {
        return scale.over(low, high);
    }
    let magnitudes = values.iter().copied().filter(|value| *value > NOT_AVAILABLE).map(f32::abs);
    scale.over(scale.min(), magnitudes.fold(2.0 * scale.min(), f32::max))
}

fn title(scene: &Scene<'_>, pair: &Pair<'_>) -> String {
    let (a, b) = (name_of(pair.a.1), name_of(pair.b.1));
    if std::ptr::eq(pair.a.0, pair.b.0) {
        return format!("{} · {a} minus {b}", scene.model());
    }
    let other = &pair.b.0.model.name;
    let run = if other == scene.model() { "another run".to_owned() } else { format!("a run of {other}") };
    format!("{} · {a} minus {b} of {run}", scene.model())
}

fn note(scene: &Scene<'_>, pair: &Pair<'_>, two_runs: bool, pool: usize) -> String {
    let pooling = pooling_note(pool).replace("the largest", "the largest difference");
    if two_runs {
        let (here, there) = (pair.a.0.len(), pair.b.0.len());
        let aligned = pair.alignment.aligned();
        return format!(
            "{here} and {there} tokens, {aligned} of them in both (+ here only, − there only) · {pooling}"
        );
    }
    format!("{} tokens · rows are queries, columns are keys · {pooling}", scene.capture.len())
}
