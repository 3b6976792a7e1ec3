//! Two columns of labels and weighted lines between them.
//!
//! Rows (left) and columns (right) are a window of one text. The weights of several named layers of
//! lines are drawn over each other, each in its own colour; pointing at a label shows only its lines.

use super::heatmap::value_text;
use egui::{
    Align2, Color32, EventFilter, FontId, Id, Key, Painter, Rect, Role, Sense, Stroke, Ui, WidgetInfo, pos2,
    vec2,
};

/// Height of a label, in points.
pub const ROW: f32 = 15.0;
const FONT: f32 = 11.0;
/// Share of the width that a column of labels takes.
const COLUMN: f32 = 0.34;
const GAP: f32 = 5.0;
/// Room for the readout below.
const READOUT: f32 = 18.0;
/// Partners that the readout names.
const NAMED: usize = 3;
/// Wheel travel for one label.
const WHEEL_PER_ROW: f32 = 25.0;

/// One set of lines.
#[derive(Debug, Clone, Copy)]
pub struct LineSet<'a> {
    /// For example `H3`.
    pub name: &'a str,
    /// Colour of its lines.
    pub color: Color32,
    /// Weights `[rows, columns]`; below 0 where there is no line.
    pub weights: &'a [f32],
}

/// Colours beside those of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinesColors {
    /// Labels and readout.
    pub text: Color32,
    /// Positions.
    pub faint: Color32,
    /// What is selected.
    pub accent: Color32,
    /// What is marked.
    pub mark: Color32,
    /// Behind the label under the pointer.
    pub hover: Color32,
}

/// A window of two label columns with lines between them.
pub struct LinesView<'a> {
    /// Accessible name.
    pub name: &'a str,
    /// What a row and what a column is.
    pub names: (&'a str, &'a str),
    /// One label for each position of the text.
    pub labels: &'a [String],
    /// Positions on the left.
    pub rows: &'a [usize],
    /// Positions on the right.
    pub columns: &'a [usize],
    /// The lines.
    pub sets: &'a [LineSet<'a>],
    /// Weights below this draw no line.
    pub least: f32,
    /// The selected position.
    pub selected: Option<usize>,
    /// Positions with a mark.
    pub marked: &'a [usize],
    /// Colours.
    pub colors: LinesColors,
}

/// Something the user did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinesEvent {
    /// Clicked a label of this position.
    Picked(usize),
    /// Begin the window so many positions later.
    Scroll(isize),
}

/// Which label is pointed at: on the left or the right, by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pointed {
    Row(usize),
    Column(usize),
}

/// How many labels fit below each other.
#[must_use]
pub fn labels_that_fit(height: f32) -> usize {
    (((height - READOUT) / ROW) as usize).max(1)
}

impl LinesView<'_> {
    /// Shows the view in all the space that is left.
    pub fn show(&self, ui: &mut Ui) -> Vec<LinesEvent> {
        let (area, _) = ui.allocate_exact_size(ui.available_size(), Sense::hover());
        let id = ui.scope_id().with("lines");
        let response = ui.interact(area, id, Sense::click());
        let mut events = Vec::new();
        let pointed = self.labels_of_both_columns(ui, id, area, &mut events);
        let readout = pointed.map(|pointed| self.readout(pointed));
        response.widget_info(|| WidgetInfo {
            current_text_value: Some(readout.clone().unwrap_or_default()),
            ..WidgetInfo::labeled(Role::Canvas, true, self.name)
        });
        if response.clicked() {
            response.request_focus();
        }
        self.scrolling(ui, id, response.contains_pointer(), &mut events);
        let painter = ui.painter().with_clip_rect(area.intersect(ui.clip_rect()));
        if ui.is_rect_visible(area) {
            self.lines(&painter, area, pointed);
            let at = area.left_bottom() - vec2(0.0, READOUT / 2.0);
            let idle = "Point at a token for its lines · wheel or ↑ ↓ moves the window · click selects";
            let (text, font, color) = match readout {
                Some(text) => (text, FontId::monospace(FONT), self.colors.text),
                None => (idle.to_owned(), FontId::proportional(FONT), self.colors.faint),
            };
            painter.text(at, Align2::LEFT_CENTER, text, font, color);
        }
        events
    }

    fn column_width(area: Rect) -> f32 {
        (area.width() * COLUMN).min(150.0)
    }

    fn y(area: Rect, index: usize) -> f32 {
        area.top() + ROW * (index as f32 + 0.5)
    }

    fn labels_of_both_columns(
        &self,
        ui: &Ui,
        id: Id,
        area: Rect,
        events: &mut Vec<LinesEvent>,
    ) -> Option<Pointed> {
        let width = Self::column_width(area);
        let left = Rect::from_min_size(area.min, vec2(width, area.height()));
        let right = Rect::from_min_size(pos2(area.right() - width, area.top()), vec2(width, area.height()));
        let mut pointed = None;
        for (index, &position) in self.rows.iter().enumerate() {
            if self.token(ui, id, (left, self.names.0, true), index, position, events) {
                pointed = Some(Pointed::Row(index));
            }
        }
        for (index, &position) in self.columns.iter().enumerate() {
            if self.token(ui, id, (right, self.names.1, false), index, position, events) {
                pointed = Some(Pointed::Column(index));
            }
        }
        pointed
    }

    /// Draws one label; whether the pointer is on it.
    fn token(
        &self,
        ui: &Ui,
        id: Id,
        (column, name, on_left): (Rect, &str, bool),
        index: usize,
        position: usize,
        events: &mut Vec<LinesEvent>,
    ) -> bool {
        let top = column.top() + ROW * index as f32;
        let rect = Rect::from_min_size(pos2(column.left(), top), vec2(column.width(), ROW));
        let response = ui.interact(rect, id.with((on_left, index)), Sense::click());
        let label = self.labels.get(position).map_or("", String::as_str);
        let selected = self.selected == Some(position);
        response.widget_info(|| {
            WidgetInfo::selected(Role::Button, true, selected, format!("{name} {position} {label}"))
        });
        if response.clicked() {
            events.push(LinesEvent::Picked(position));
        }
        let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
        if response.hovered() || response.has_focus() {
            painter.rect_filled(rect, 2.0, self.colors.hover);
        }
        let color = if selected {
            self.colors.accent
        } else if self.marked.contains(&position) {
            self.colors.mark
        } else {
            self.colors.text
        };
        let number = position.to_string();
        let (text_at, number_at, text_align, number_align) = if on_left {
            (rect.right() - GAP, rect.left(), Align2::RIGHT_CENTER, Align2::LEFT_CENTER)
        } else {
            (rect.left() + GAP, rect.right() - 2.0, Align2::LEFT_CENTER, Align2::RIGHT_CENTER)
        };
        let y = rect.center().y;
        let numbers = FONT * 0.62 * number.len() as f32 + GAP;
        painter.text(
            pos2(number_at, y),
            number_align,
            number,
            FontId::monospace(FONT - 1.0),
            self.colors.faint,
        );
        let room = if on_left {
            rect.with_min_x(rect.left() + numbers)
        } else {
            rect.with_max_x(rect.right() - numbers)
        };
        let painter = painter.with_clip_rect(room.intersect(painter.clip_rect()));
        painter.text(pos2(text_at, y), text_align, label, FontId::monospace(FONT), color);
        response.hovered()
    }

    fn scrolling(&self, ui: &Ui, id: Id, pointer_here: bool, events: &mut Vec<LinesEvent>) {
        if pointer_here {
            let wheel = ui.input_mut(|input| std::mem::take(&mut input.smooth_scroll_delta).y);
            // Travel that is no whole label yet is kept for the next frame.
            let travel = ui.data(|data| data.get_temp::<f32>(id)).unwrap_or(0.0) - wheel / WHEEL_PER_ROW;
            ui.data_mut(|data| data.insert_temp(id, travel.fract()));
            if travel.abs() >= 1.0 {
                events.push(LinesEvent::Scroll(travel.trunc() as isize));
            }
        }
        if !ui.memory(|memory| memory.has_focus(id)) {
            return;
        }
        let arrows = EventFilter { vertical_arrows: true, ..EventFilter::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(id, arrows));
        let page = isize::try_from(self.rows.len().saturating_sub(1)).unwrap_or(1).max(1);
        let keys = [(Key::ArrowUp, -1), (Key::ArrowDown, 1), (Key::PageUp, -page), (Key::PageDown, page)];
        for (key, by) in keys {
            if ui.input(|input| input.key_pressed(key)) {
                events.push(LinesEvent::Scroll(by));
            }
        }
    }

    fn lines(&self, painter: &Painter, area: Rect, pointed: Option<Pointed>) {
        let width = Self::column_width(area);
        let (left, right) = (area.left() + width + 1.0, area.right() - width - 1.0);
        for (index, set) in self.sets.iter().enumerate() {
            let aside = side_by_side(index, self.sets.len());
            for (row, weights) in set.weights.chunks_exact(self.columns.len().max(1)).enumerate() {
                for (column, &weight) in weights.iter().enumerate() {
                    let shown = match pointed {
                        Some(Pointed::Row(index)) => index == row,
                        Some(Pointed::Column(index)) => index == column,
                        None => true,
                    };
                    if shown && weight >= self.least.max(f32::MIN_POSITIVE) {
                        let ends = [
                            pos2(left, Self::y(area, row) + aside),
                            pos2(right, Self::y(area, column) + aside),
                        ];
                        painter.line_segment(ends, stroke(set.color, weight));
                    }
                }
            }
        }
    }

    /// The heaviest lines at a label, with the share that the shown ones leave out.
    fn readout(&self, pointed: Pointed) -> String {
        let width = self.columns.len();
        let (name, position) = match pointed {
            Pointed::Row(index) => (self.names.0, self.rows[index]),
            Pointed::Column(index) => (self.names.1, self.columns[index]),
        };
        let mut partners: Vec<(f32, usize, &str)> = Vec::new();
        let mut inside = 0.0_f64;
        for set in self.sets {
            let cells: Vec<(usize, f32)> = match pointed {
                Pointed::Row(row) => {
                    set.weights[row * width..(row + 1) * width].iter().copied().enumerate().collect()
                }
                Pointed::Column(column) => {
                    set.weights.iter().skip(column).step_by(width).copied().enumerate().collect()
                }
            };
            for (other, weight) in cells.into_iter().filter(|(_, weight)| *weight >= 0.0) {
                inside += f64::from(weight);
                let other = match pointed {
                    Pointed::Row(_) => self.columns[other],
                    Pointed::Column(_) => self.rows[other],
                };
                partners.push((weight, other, set.name));
            }
        }
        partners.sort_by(|a, b| b.0.total_cmp(&a.0));
        let named = partners.iter().take(NAMED).map(|&(weight, other, set)| {
            let label = self.labels.get(other).map_or("", String::as_str);
            format!("{set} {} {other} {label}", value_text(Some(weight)))
        });
        let named: Vec<String> = named.collect();
        let outside = match pointed {
            Pointed::Row(_) => {
                let share = 1.0 - inside / self.sets.len().max(1) as f64;
                format!(" · {:.0} % outside", share.clamp(0.0, 1.0) * 100.0)
            }
            Pointed::Column(_) => String::new(),
        };
        let label = self.labels.get(position).map_or("", String::as_str);
        format!("{name} {position} {label}: {}{outside}", named.join(" · "))
    }
}

/// How far the lines of a set are moved down, so that sets lie side by side and none hides the others.
fn side_by_side(index: usize, sets: usize) -> f32 {
    let step = (ROW * 0.6 / sets.max(1) as f32).min(2.0);
    (index as f32 - (sets.saturating_sub(1)) as f32 / 2.0) * step
}

/// A heavier weight is a stronger and a wider line.
fn stroke(color: Color32, weight: f32) -> Stroke {
    let weight = weight.clamp(0.0, 1.0);
    Stroke::new(0.6 + 2.4 * weight, color.gamma_multiply(weight.sqrt()))
}

/// The colour of a set of lines.
#[must_use]
pub fn set_color(index: usize, dark: bool) -> Color32 {
    let [r, g, b] = crate::color::set_color(index, dark);
    Color32::from_rgb(r, g, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view<'a>(labels: &'a [String], sets: &'a [LineSet<'a>]) -> LinesView<'a> {
        let grey = Color32::GRAY;
        LinesView {
            name: "Lines",
            names: ("Query", "Key"),
            labels,
            rows: &[2, 3],
            columns: &[0, 2, 3],
            sets,
            least: 0.1,
            selected: None,
            marked: &[],
            colors: LinesColors { text: grey, faint: grey, accent: grey, mark: grey, hover: grey },
        }
    }

    #[test]
    fn the_readout_names_the_heaviest_and_what_is_left_out() {
        let labels: Vec<String> = ["<s>", "a", "b", "c"].map(str::to_owned).to_vec();
        let weights = [0.5, 0.25, -3.0, 0.625, 0.125, 0.125];
        let sets = [LineSet { name: "H3", color: Color32::RED, weights: &weights }];
        let lines = view(&labels, &sets);
        assert_eq!(
            lines.readout(Pointed::Row(0)),
            "Query 2 b: H3 0.50000 0 <s> · H3 0.25000 2 b · 25 % outside"
        );
        assert_eq!(lines.readout(Pointed::Column(1)), "Key 2 b: H3 0.25000 2 b · H3 0.12500 3 c");
    }

    #[test]
    fn a_heavier_line_is_stronger_and_wider() {
        let (light, heavy) = (stroke(Color32::WHITE, 0.1), stroke(Color32::WHITE, 0.9));
        assert!(heavy.width > light.width && heavy.color.a() > light.color.a());
    }

    #[test]
    fn sets_lie_side_by_side_within_their_label() {
        assert_eq!(side_by_side(0, 1), 0.0);
        assert_eq!((side_by_side(0, 3), side_by_side(1, 3), side_by_side(2, 3)), (-2.0, 0.0, 2.0));
        assert!(side_by_side(63, 64) < ROW / 2.0);
    }

    #[test]
    fn at_least_one_label_fits() {
        assert_eq!((labels_that_fit(0.0), labels_that_fit(READOUT + 3.5 * ROW)), (1, 3));
    }
}
