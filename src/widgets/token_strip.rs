//! A flow of chips, one a token, that scrolls; only the visible ones are drawn.

use super::controls::paint_badge;
use egui::{Align2, Color32, CornerRadius, FontId, Rect, Sense, Stroke, Ui, Vec2, pos2, vec2};
use std::sync::Arc;

/// Height of a chip, in points.
pub const CHIP_HEIGHT: f32 = 20.0;
/// Distance between chips, in points.
pub const GAP: f32 = 3.0;
const PADDING: f32 = 5.0;
const BADGE: f32 = 13.0;
/// Room for the floating scroll bar.
const SCROLL_BAR: f32 = 14.0;
/// Longer labels are cut.
const MAX_LABEL_CHARS: usize = 24;

/// How one chip looks.
#[derive(Debug, Clone, PartialEq)]
pub struct Chip {
    /// Fill.
    pub fill: Color32,
    /// Text on it.
    pub text: Color32,
    /// A letter in a small box, the box's fill, the letter's colour.
    pub badge: Option<(&'static str, Color32, Color32)>,
    /// Accessible value, for example "far-lift 22.9 × uniform".
    pub value: String,
}

/// A strip of chips.
pub struct TokenStrip<'a> {
    /// Identifies the tokens: their layout is kept while this stays the same.
    pub key: u64,
    /// Number of tokens.
    pub len: usize,
    /// Label of each token.
    pub label: &'a dyn Fn(usize) -> String,
    /// Which tokens carry a badge, ascending: they are wider.
    pub badged: &'a [usize],
    /// Look of one token, asked for the visible ones only.
    pub chip: &'a dyn Fn(usize) -> Chip,
    /// The selected token.
    pub selected: Option<usize>,
    /// Colour of the selection's frame.
    pub accent: Color32,
    /// What the tooltip of a token says.
    pub tooltip: &'a dyn Fn(&mut Ui, usize),
}

/// Where every chip lies, for one width.
#[derive(Debug, Clone, PartialEq)]
struct Layout {
    key: u64,
    badged: Vec<usize>,
    width: f32,
    chips: Vec<Rect>,
    height: f32,
}

impl TokenStrip<'_> {
    /// Draws the strip into the space that is left; the token that was clicked.
    pub fn show(&self, ui: &mut Ui) -> Option<usize> {
        let id = ui.scope_id().with("token strip");
        let width = ui.available_width() - SCROLL_BAR;
        let layout = self.layout(ui, id, width);
        let mut clicked = None;
        egui::ScrollArea::vertical().auto_shrink(false).show_viewport(ui, |ui, viewport| {
            ui.set_min_size(vec2(width, layout.height));
            let origin = ui.min_rect().min.to_vec2();
            self.follow_selection(ui, id, &layout, origin);
            let first = layout.chips.partition_point(|rect| rect.bottom() < viewport.top());
            let below = |rect: &Rect| rect.top() > viewport.bottom();
            for (token, rect) in
                layout.chips.iter().enumerate().skip(first).take_while(|(_, rect)| !below(rect))
            {
                if self.show_chip(ui, id, token, rect.translate(origin)) {
                    clicked = Some(token);
                }
            }
        });
        clicked
    }

    /// Scrolls once to a token that was newly selected.
    fn follow_selection(&self, ui: &Ui, id: egui::Id, layout: &Layout, origin: Vec2) {
        let id = id.with("shown");
        let shown: Option<usize> = ui.data(|data| data.get_temp(id)).unwrap_or_default();
        if self.selected != shown {
            ui.data_mut(|data| data.insert_temp(id, self.selected));
            if let Some(rect) = self.selected.and_then(|token| layout.chips.get(token)) {
                ui.scroll_to_rect(rect.translate(origin).expand(GAP), None);
            }
        }
    }

    fn show_chip(&self, ui: &Ui, id: egui::Id, token: usize, rect: Rect) -> bool {
        // Chips take no keyboard focus: the arrow keys move the selection instead.
        let response = ui.interact(rect, id.with(token), Sense::CLICK);
        let (chip, label) = ((self.chip)(token), (self.label)(token));
        let selected = self.selected == Some(token);
        response.widget_info(|| {
            let name = format!("Token {token} {label}");
            let mut info = egui::WidgetInfo::selected(egui::Role::Button, true, selected, name);
            info.current_text_value = Some(chip.value.clone());
            info
        });
        let (painter, radius) = (ui.painter(), CornerRadius::same(3));
        painter.rect_filled(rect, radius, chip.fill);
        let text_at = pos2(rect.left() + PADDING, rect.center().y);
        painter.text(text_at, Align2::LEFT_CENTER, cut(&label), font(), chip.text);
        if let Some((letter, fill, text)) = chip.badge {
            let center = pos2(rect.right() - PADDING - BADGE / 2.0 + 2.0, rect.center().y);
            paint_badge(painter, Rect::from_center_size(center, Vec2::splat(BADGE)), letter, fill, text);
        }
        if selected {
            painter.rect_stroke(rect, radius, Stroke::new(2.0, self.accent), egui::StrokeKind::Middle);
        } else if response.hovered() {
            painter.rect_stroke(rect, radius, Stroke::new(1.0, self.accent), egui::StrokeKind::Inside);
        }
        let clicked = response.clicked();
        response.on_hover_ui(|ui| (self.tooltip)(ui, token));
        clicked
    }

    fn layout(&self, ui: &Ui, id: egui::Id, width: f32) -> Arc<Layout> {
        let kept: Option<Arc<Layout>> = ui.data(|data| data.get_temp(id));
        #[expect(clippy::float_cmp, reason = "any change of width is a change")]
        let fits = |l: &Arc<Layout>| l.key == self.key && l.badged == self.badged && l.width == width;
        if let Some(layout) = kept.filter(fits) {
            return layout;
        }
        let text_width = |token: usize| {
            ui.painter().layout_no_wrap(cut(&(self.label)(token)), font(), Color32::WHITE).size().x
        };
        let widths = (0..self.len).map(|token| {
            let badge = if self.badged.binary_search(&token).is_ok() { BADGE + 2.0 } else { 0.0 };
            text_width(token).max(4.0) + 2.0 * PADDING + badge
        });
        let (chips, height) = flow(widths, width);
        let layout = Arc::new(Layout { key: self.key, badged: self.badged.to_vec(), width, chips, height });
        ui.data_mut(|data| data.insert_temp(id, Arc::clone(&layout)));
        layout
    }
}

fn font() -> FontId {
    FontId::monospace(12.0)
}

fn cut(label: &str) -> String {
    if label.chars().count() <= MAX_LABEL_CHARS {
        return label.to_owned();
    }
    label.chars().take(MAX_LABEL_CHARS - 1).chain(['…']).collect()
}

/// Places chips of the given widths in rows no wider than `width`; their rectangles and the height.
fn flow(widths: impl Iterator<Item = f32>, width: f32) -> (Vec<Rect>, f32) {
    let (mut x, mut y) = (0.0, 0.0);
    let chips: Vec<Rect> = widths
        .map(|chip| {
            if x > 0.0 && x + chip > width {
                x = 0.0;
                y += CHIP_HEIGHT + GAP;
            }
            let rect = Rect::from_min_size(pos2(x, y), vec2(chip, CHIP_HEIGHT));
            x += chip + GAP;
            rect
        })
        .collect();
    (chips, y + CHIP_HEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_flow_into_rows_without_overlap() {
        let (chips, height) = flow([40.0, 50.0, 30.0, 200.0, 10.0].into_iter(), 100.0);
        let rows: Vec<f32> = chips.iter().map(|rect| (rect.top() / (CHIP_HEIGHT + GAP)).round()).collect();
        assert_eq!(rows, [0.0, 0.0, 1.0, 2.0, 3.0], "a chip wider than the strip has a row of its own");
        assert!((height - (4.0 * CHIP_HEIGHT + 3.0 * GAP)).abs() < 1e-3);
        for (i, a) in chips.iter().enumerate() {
            for b in &chips[i + 1..] {
                assert!(!a.shrink(0.1).intersects(b.shrink(0.1)), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn long_labels_are_cut_by_characters() {
        assert_eq!(cut("short"), "short");
        let long = "é".repeat(30);
        assert_eq!(cut(&long).chars().count(), MAX_LABEL_CHARS);
        assert!(cut(&long).ends_with('…'));
    }
}
