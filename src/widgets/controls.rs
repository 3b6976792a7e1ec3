//! Small controls: a segmented choice, a badge, a caption with its value.

use egui::{Align2, Color32, CornerRadius, FontId, Rect, Response, RichText, Sense, Stroke, Ui, vec2};

/// A row of buttons of which one is chosen; the new choice when another was clicked.
///
/// Each choice is its value, what the button shows and what its tooltip says.
pub fn segmented<T: Copy + PartialEq>(ui: &mut Ui, current: T, choices: &[(T, &str, &str)]) -> Option<T> {
    ui.horizontal(|ui| segments(ui, current, choices)).inner
}

/// The same in as many rows as the width asks for.
pub fn segmented_wrapped<T: Copy + PartialEq>(
    ui: &mut Ui,
    current: T,
    choices: &[(T, &str, &str)],
) -> Option<T> {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.y = 2.0;
        segments(ui, current, choices)
    })
    .inner
}

fn segments<T: Copy + PartialEq>(ui: &mut Ui, current: T, choices: &[(T, &str, &str)]) -> Option<T> {
    let mut chosen = None;
    ui.spacing_mut().item_spacing.x = 2.0;
    for &(value, label, tip) in choices {
        let response = ui.add(egui::Button::selectable(value == current, label)).on_hover_text(tip);
        if response.clicked() && value != current {
            chosen = Some(value);
        }
    }
    chosen
}

/// A menu that stays open while several things are chosen in it; one click outside closes it.
pub fn options_menu(ui: &mut Ui, title: &str, tip: &str, add: impl FnOnce(&mut Ui)) -> Response {
    let config = egui::containers::menu::MenuConfig::new()
        .close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    let (button, _) = egui::containers::menu::MenuButton::new(title).config(config).ui(ui, add);
    button.on_hover_text(tip)
}

/// A small filled letter, which tells apart by shape what the colour tells apart.
pub fn paint_badge(painter: &egui::Painter, rect: Rect, letter: &str, fill: Color32, text: Color32) {
    painter.rect_filled(rect, CornerRadius::same(3), fill);
    painter.text(rect.center(), Align2::CENTER_CENTER, letter, FontId::monospace(rect.height() * 0.78), text);
}

/// A caption left and its value right, both on one line of fixed height; digits are monospaced.
pub fn fact(ui: &mut Ui, caption: &str, value: &str, tip: &str) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 17.0), Sense::hover());
    let (weak, text) = (ui.visuals().weak_text_color(), ui.visuals().text_color());
    let painter = ui.painter_at(rect);
    painter.text(rect.left_center(), Align2::LEFT_CENTER, caption, FontId::proportional(12.0), weak);
    painter.text(rect.right_center(), Align2::RIGHT_CENTER, value, FontId::monospace(12.0), text);
    response.widget_info(|| {
        // A label's name is its value; an item of a list has both.
        let mut info = egui::WidgetInfo::labeled(egui::Role::ListItem, true, caption);
        info.current_text_value = Some(value.to_owned());
        info
    });
    response.on_hover_text(tip)
}

/// Gives a widget its accessible name, where the widget itself has no text.
pub fn name(response: &Response, name: &str) {
    response.ctx.accesskit_node_builder(response.id, |node| node.set_label(name));
}

/// Whether a thing that was drawn without sensing clicks is pressed, by pointer or keyboard.
///
/// It senses under an id of its own: a response that senses more than it did at first gives the keyboard
/// away in every frame, and Tab would never get beyond it.
pub fn pressed(ui: &Ui, response: &Response, name: &str, tip: &str) -> bool {
    let button = ui.interact(response.rect, response.id.with("pressed"), Sense::click());
    button.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Button, true, name));
    if button.has_focus() {
        let stroke = ui.visuals().widgets.active.bg_stroke;
        ui.painter().rect_stroke(response.rect, 2.0, stroke, egui::StrokeKind::Inside);
    }
    button.on_hover_text(tip).clicked()
}

/// A quiet heading of a section.
pub fn section(ui: &mut Ui, title: &str) {
    if ui.layout().is_vertical() {
        ui.add_space(4.0);
    }
    ui.label(RichText::new(title).size(11.0).strong().color(ui.visuals().weak_text_color()));
}

/// A horizontal bar with a value of 0…1 inside `rect`.
pub fn paint_bar(painter: &egui::Painter, rect: Rect, fraction: f32, ground: Color32, fill: Color32) {
    painter.rect_filled(rect, CornerRadius::same(1), ground);
    let filled = Rect::from_min_size(rect.min, vec2(rect.width() * fraction.clamp(0.0, 1.0), rect.height()));
    painter.rect_filled(filled, CornerRadius::same(1), fill);
}

/// What a sign says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// A tick: this holds.
    Good,
    /// A triangle with an exclamation mark: look here.
    Warning,
    /// A disc with an i: for information.
    Info,
}

/// A small sign that tells apart by its shape, drawn so that no font needs to have it.
pub fn sign(ui: &mut Ui, sign: Sign, color: Color32) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(13.0, 13.0), Sense::hover());
    let (painter, middle) = (ui.painter(), rect.center());
    let ground = ui.visuals().panel_fill;
    let mark = |text: &str| {
        painter.text(middle + vec2(0.0, 0.5), Align2::CENTER_CENTER, text, FontId::monospace(10.0), ground);
    };
    match sign {
        Sign::Good => {
            let points = vec![middle + vec2(-4.0, 0.0), middle + vec2(-1.5, 3.0), middle + vec2(4.5, -4.0)];
            painter.line(points, Stroke::new(1.8, color));
        }
        Sign::Warning => {
            let corners = vec![middle + vec2(0.0, -6.0), middle + vec2(6.5, 5.5), middle + vec2(-6.5, 5.5)];
            painter.add(egui::Shape::convex_polygon(corners, color, Stroke::NONE));
            mark("!");
        }
        Sign::Info => {
            painter.circle_filled(middle, 6.0, color);
            mark("i");
        }
    }
    response
}

/// A line of text behind a warning sign.
pub fn warning(ui: &mut Ui, text: &str, color: Color32) {
    ui.horizontal_top(|ui| {
        sign(ui, Sign::Warning, color);
        ui.add(egui::Label::new(RichText::new(text).color(color).size(12.0)).wrap());
    });
}
