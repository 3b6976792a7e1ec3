//! Who is who in the profile: the sinks by name, and the evidence where nothing is tested.

use super::axis::{Axis, center_x};
use super::{LABEL_HEIGHT, PLOT};
use crate::analysis::Sink;
use crate::export::axes::{NOTE_SIZE, TICK_SIZE, TOKEN_SIZE, compact};
use crate::export::drawing::{Anchor, Area, Drawing, Face, Label, shortened, text_width};
use crate::export::views::Scene;

const LABEL_CHARS: usize = 16;

/// A sink's label before it has its place.
struct Tag {
    name: String,
    detail: String,
    width: f32,
    /// Top of the sink's bar.
    tip: (f32, f32),
}

/// Labels the sinks, each above its bar and clear of the others. Returns how many found no room.
pub(super) fn sink_labels(drawing: &mut Drawing, scene: &Scene<'_>, axis: &Axis) -> usize {
    let tags = tags(scene, axis);
    let mut taken: Vec<Area> = tags.iter().map(bar).collect();
    let mut without_room = 0;
    for tag in &tags {
        let Some(place) = free_place(tag.tip, tag.width, is_crowded(tag, &tags), &taken) else {
            without_room += 1;
            continue;
        };
        let (foot, tip) = (leader_foot(&place, tag.tip), tag.tip);
        if tip.1 - foot.1 > 6.0 || (foot.0 - tip.0).abs() > 4.0 {
            drawing.line(foot, (tip.0, tip.1 - 1.0), scene.palette.sink, 0.6);
            taken.extend(along(foot, tip));
        }
        taken.push(place);
        let x = place.x + place.width / 2.0;
        let name = Label::new(x, place.y + 8.0, TOKEN_SIZE, scene.palette.ink, &*tag.name);
        drawing.text(name.mono().anchored(Anchor::Middle));
        let detail = Label::new(x, place.y + 17.5, TICK_SIZE, scene.palette.sink, &*tag.detail);
        drawing.text(detail.anchored(Anchor::Middle));
    }
    without_room
}

/// The sinks' labels, those nearest to the middle of the plot first: in a crowd labels lean towards
/// the middle, so that each leaves the way up free for those further out.
fn tags(scene: &Scene<'_>, axis: &Axis) -> Vec<Tag> {
    let n = scene.capture.len();
    let tag = |sink: &Sink| {
        let name = format!("{} {}", sink.index, shortened(&scene.token_label(sink.index), LABEL_CHARS));
        let detail = format!("z {:.1} · {}", sink.z, sink.class.name());
        let width = text_width(&name, TOKEN_SIZE, Face::Mono).max(text_width(&detail, TICK_SIZE, Face::Sans));
        Tag { name, detail, width, tip: (center_x(n, sink.index), axis.y(sink.value)) }
    };
    let mut tags: Vec<Tag> = scene.analysis.sinks.iter().map(tag).collect();
    let from_middle = |tag: &Tag| (tag.tip.0 - middle()).abs();
    tags.sort_by(|a, b| from_middle(a).total_cmp(&from_middle(b)));
    tags
}

fn middle() -> f32 {
    PLOT.x + PLOT.width / 2.0
}

fn bar(tag: &Tag) -> Area {
    Area::new(tag.tip.0 - 1.0, tag.tip.1, 2.0, PLOT.bottom() - tag.tip.1)
}

/// Whether a label centred above its bar would be in the way of another's.
fn is_crowded(tag: &Tag, tags: &[Tag]) -> bool {
    let near = |other: &&Tag| (other.tip.0 - tag.tip.0).abs() < tag.width / 2.0 + 6.0;
    tags.iter().filter(near).count() > 1
}

/// The lowest free place for a label above the tip of a bar, with a free line from there to the tip.
fn free_place(tip: (f32, f32), width: f32, crowded: bool, taken: &[Area]) -> Option<Area> {
    let leftmost = PLOT.x + 3.0;
    let rightmost = (PLOT.right() - width - 3.0).max(leftmost);
    let centered = [tip.0 - width / 2.0, tip.0 - 4.0, tip.0 - width + 4.0];
    let (left, right) = (tip.0 - width - 1.0, tip.0 + 1.0);
    let leaning = if tip.0 > middle() { [left, right] } else { [right, left] };
    let is_free = |area: &Area| !taken.iter().any(|other| other.overlaps(area));
    let fits = |x: f32, top: f32| {
        let place = Area::new(x.clamp(leftmost, rightmost), top, width, LABEL_HEIGHT);
        let roomy = Area::new(place.x - 1.5, top - 1.0, width + 3.0, LABEL_HEIGHT + 2.0);
        let free = is_free(&roomy) && along(leader_foot(&place, tip), tip).iter().all(is_free);
        free.then_some(place)
    };
    let lowest = tip.1 - LABEL_HEIGHT - 4.0;
    let tops = || (0..).map(|step| lowest - 3.0 * step as f32).take_while(|&top| top > PLOT.y);
    let search = |lefts: &[f32]| tops().find_map(|top| lefts.iter().find_map(|&x| fits(x, top)));
    if crowded { search(&leaning) } else { search(&centered).or_else(|| search(&leaning)) }
}

/// Where the line from a label to the tip of its bar starts.
fn leader_foot(place: &Area, tip: (f32, f32)) -> (f32, f32) {
    (tip.0.clamp(place.x, place.right()), place.bottom() + 1.0)
}

/// Small squares along a line down to the tip of a bar, but for its last point: there is the bar.
fn along(from: (f32, f32), to: (f32, f32)) -> Vec<Area> {
    const SQUARES: usize = 16;
    let square = |step: usize| {
        let part = step as f32 / SQUARES as f32;
        let (x, y) = (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
        Area::new(x - 0.4, y - 0.4, 0.8, 0.8)
    };
    (0..SQUARES).map(square).filter(|square| square.bottom() < to.1 - 1.0).collect()
}

/// What can be said of a prompt that is too short to test: index 0 and the structural tokens, most
/// attended first.
pub(super) fn evidence(drawing: &mut Drawing, scene: &Scene<'_>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stands_right_above_its_bar_or_gives_up() {
        let tip = (300.0, 200.0);
        let bar = Area::new(tip.0 - 1.0, tip.1, 2.0, 50.0);
        let free = free_place(tip, 60.0, false, &[bar]).unwrap();
        assert!((free.bottom() - 196.0).abs() < 1e-3);
        assert!((free.x - 270.0).abs() < 1e-3);
        let wall = Area::new(0.0, 0.0, 800.0, 400.0);
        assert_eq!(free_place(tip, 60.0, false, &[wall]), None);
    }

    #[test]
    fn a_crowd_of_sinks_gets_labels_and_lines_that_do_not_overlap() {
        // At either edge, the one nearest to the middle first.
        for (first, step) in [(PLOT.right() - 20.0, 3.0), (PLOT.x + 20.0, -3.0)] {
            let (mut labels, mut lines): (Vec<Area>, Vec<Area>) = (Vec::new(), Vec::new());
            for index in 0..6 {
                let tip = (first + step * index as f32, PLOT.bottom() - 80.0);
                let taken: Vec<Area> = labels.iter().chain(&lines).copied().collect();
                let place = free_place(tip, 60.0, true, &taken).unwrap();
                let line = along(leader_foot(&place, tip), tip);
                assert!(taken.iter().all(|other| !other.overlaps(&place)), "{place:?}");
                assert!(labels.iter().all(|label| line.iter().all(|square| !square.overlaps(label))));
                assert!(place.x >= PLOT.x && place.right() <= PLOT.right() && place.y >= PLOT.y);
                labels.push(place);
                lines.extend(line);
            }
        }
    }
}
