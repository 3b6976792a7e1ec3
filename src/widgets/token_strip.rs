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
    /// Its frame.
    pub frame: ChipFrame,
    /// Whether it is underlined, as what a search found is.
    pub underlined: bool,
}

/// How a chip is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChipFrame {
    /// Not at all.
    #[default]
    None,
    /// Selected: a full line.
    Selected,
    /// Kept to be compared with: a dashed line.
    Kept,
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
    /// The token selected last: the strip scrolls to it.
    pub selected: Option<usize>,
    /// Colour of frames.
    pub accent: Color32,
    /// Colour of underlines.
    pub found: Color32,
    /// What the tooltip of a token says.
    pub tooltip: &'a dyn Fn(&mut Ui, usize),
}

/// How wide the labels are: measured once a text.
#[derive(Debug, Clone, PartialEq)]
struct Widths {
    key: u64,
    labels: Vec<f32>,
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
        let selected = chip.frame == ChipFrame::Selected;
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
        if chip.underlined {
            let line = Rect::from_min_max(rect.left_bottom() - vec2(0.0, 2.5), rect.right_bottom());
            painter.rect_filled(line, radius, self.found);
        }
        if selected {
            painter.rect_stroke(rect, radius, Stroke::new(2.0, self.accent), egui::StrokeKind::Middle);
        } else if chip.frame == ChipFrame::Kept {
            let r = rect.shrink(0.5);
            let corners = [r.left_top(), r.right_top(), r.right_bottom(), r.left_bottom(), r.left_top()];
            painter.extend(egui::Shape::dashed_line(&corners, Stroke::new(1.5, self.accent), 3.0, 2.0));
        } else if response.hovered() {
            painter.rect_stroke(rect, radius, Stroke::new(1.0, self.accent), egui::StrokeKind::Inside);
        }
        let clicked = response.clicked();
        response.on_hover_ui(|ui| (self.tooltip)(ui, token));
        clicked
    }

    fn label_widths(&self, ui: &Ui, id: egui::Id) -> Arc<Widths> {
        let kept: Option<Arc<Widths>> = ui.data(|data| data.get_temp(id));
        if let Some(widths) = kept.filter(|widths| widths.key == self.key && widths.labels.len() == self.len)
        {
            return widths;
        }
        let labels: Vec<String> = (0..self.len).map(|token| cut(&(self.label)(token))).collect();
        let labels =
            ui.fonts_mut(|fonts| labels.iter().map(|label| width_of(fonts, label)).collect::<Vec<_>>());
        let widths = Arc::new(Widths { key: self.key, labels });
        ui.data_mut(|data| data.insert_temp(id, Arc::clone(&widths)));
        widths
    }

    fn layout(&self, ui: &Ui, id: egui::Id, width: f32) -> Arc<Layout> {
        let kept: Option<Arc<Layout>> = ui.data(|data| data.get_temp(id));
        #[expect(clippy::float_cmp, reason = "any change of width is a change")]
        let fits = |l: &Arc<Layout>| {
            l.key == self.key && l.badged == self.badged && l.width == width && l.chips.len() == self.len
        };
        if let Some(layout) = kept.filter(fits) {
            return layout;
        }
        let labels = self.label_widths(ui, id.with("widths"));
        let widths = labels.labels.iter().enumerate().map(|(token, label)| {
            let badge = if self.badged.binary_search(&token).is_ok() { BADGE + 2.0 } else { 0.0 };
            label.max(4.0) + 2.0 * PADDING + badge
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

/// The width of a label from the widths of its glyphs: no text is laid out for a chip out of sight.
fn width_of(fonts: &mut egui::epaint::FontsView<'_>, label: &str) -> f32 {
    let font = font();
    if label.is_ascii() {
        return fonts.glyph_width(&font, '0') * label.len() as f32;
    }
    label.chars().map(|glyph| fonts.glyph_width(&font, glyph)).sum()
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
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;
    use std::cell::Cell;
    use std::rc::Rc;

    #[test]
    fn of_32k_tokens_only_those_in_sight_are_laid_out() {
        const LEN: usize = 32_768;
        let (labels, chips) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let (labelled, shown) = (Rc::clone(&labels), Rc::clone(&chips));
        let selected = Rc::new(Cell::new(None));
        let now_selected = Rc::clone(&selected);
        let mut harness = Harness::builder().with_size([800.0, 120.0]).build_ui(move |ui| {
            let strip = TokenStrip {
                key: 1,
                len: LEN,
                label: &|token| {
                    labelled.set(labelled.get() + 1);
                    format!("·t{token}")
                },
                badged: &[],
                chip: &|_| {
                    shown.set(shown.get() + 1);
                    Chip {
                        fill: Color32::BLACK,
                        text: Color32::WHITE,
                        badge: None,
                        value: String::new(),
                        frame: ChipFrame::None,
                        underlined: false,
                    }
                },
                selected: now_selected.get(),
                accent: Color32::WHITE,
                found: Color32::WHITE,
                tooltip: &|_, _| {},
            };
            strip.show(ui);
        });
        harness.run_steps(2);
        for jump in [None, Some(20_000), Some(LEN - 1)] {
            selected.set(jump);
            harness.run_steps(30);
            labels.set(0);
            chips.set(0);
            harness.step();
            // 120 points hold five or six rows of at most some 26 chips.
            assert!((20..200).contains(&chips.get()), "{jump:?}: {} chips", chips.get());
            assert!(labels.get() <= chips.get(), "{jump:?}: {} labels", labels.get());
            let label = format!("Token {0} ·t{0}", jump.unwrap_or(0));
            harness.get_by_label(&label);
        }
    }

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
