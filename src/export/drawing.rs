//! One description of a picture: a list of primitives, from which SVG is written and PNG rasterised.

use super::theme::Rgb;

/// A rectangle in points, y downwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// Left edge.
    pub x: f32,
    /// Top edge.
    pub y: f32,
    /// Width.
    pub width: f32,
    /// Height.
    pub height: f32,
}

impl Area {
    /// A rectangle from its corner and size.
    #[must_use]
    pub fn new(x: f32, y: f32, width: f32, height: f32) -> Self {
        Self { x, y, width, height }
    }

    /// Right edge.
    #[must_use]
    pub fn right(&self) -> f32 {
        self.x + self.width
    }

    /// Bottom edge.
    #[must_use]
    pub fn bottom(&self) -> f32 {
        self.y + self.height
    }

    /// Whether two rectangles share more than an edge.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.x < other.right() && other.x < self.right() && self.y < other.bottom() && other.y < self.bottom()
    }
}

/// Which of the two faces a text is set in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// Titles and axis labels.
    Sans,
    /// Tokens and numbers.
    Mono,
}

/// Which end of a text its position names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// It starts there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

/// A line of text; its position is on the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// Horizontal position in points.
    pub x: f32,
    /// Baseline in points.
    pub y: f32,
    /// What it says.
    pub text: String,
    /// Font size in points.
    pub size: f32,
    /// Colour.
    pub color: Rgb,
    /// Which end the position names.
    pub anchor: Anchor,
    /// Face.
    pub face: Face,
    /// Whether it reads from bottom to top.
    pub upright: bool,
}

impl Label {
    /// A label in the sans face that starts at a point.
    #[must_use]
    pub fn new(x: f32, y: f32, size: f32, color: Rgb, text: impl Into<String>) -> Self {
        let (anchor, face) = (Anchor::Start, Face::Sans);
        Self { x, y, text: text.into(), size, color, anchor, face, upright: false }
    }

    /// The same, placed by another end.
    #[must_use]
    pub fn anchored(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    /// The same in the monospaced face.
    #[must_use]
    pub fn mono(self) -> Self {
        Self { face: Face::Mono, ..self }
    }

    /// The same, turned to read from bottom to top.
    #[must_use]
    pub fn turned(self) -> Self {
        Self { upright: true, ..self }
    }
}

/// A picture made of equal cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Raster {
    /// Where it goes; each pixel becomes a rectangle, never blurred.
    pub area: Area,
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// `[height, width]`.
    pub pixels: Vec<Rgb>,
}

/// One primitive.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A filled rectangle, its corners rounded by a radius in points.
    Fill(Area, Rgb, f32),
    /// The outline of a rectangle: stroke width and corner radius in points.
    Frame(Area, Rgb, f32, f32),
    /// A line.
    Line {
        /// From, in points.
        from: (f32, f32),
        /// To, in points.
        to: (f32, f32),
        /// Colour.
        color: Rgb,
        /// Stroke width in points.
        width: f32,
        /// Whether it is dashed.
        dashed: bool,
    },
    /// A line through many points.
    Curve {
        /// The points, in points.
        points: Vec<(f32, f32)>,
        /// Colour.
        color: Rgb,
        /// Stroke width in points.
        width: f32,
    },
    /// A line of text.
    Text(Label),
    /// A heatmap.
    Image(Raster),
}

/// A picture, in points (1/72 inch).
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// Width in points.
    pub width: f32,
    /// Height in points.
    pub height: f32,
    /// What the picture shows, for readers who can't see it.
    pub title: String,
    /// Background.
    pub background: Rgb,
    /// The primitives, back to front.
    pub items: Vec<Item>,
}

impl Drawing {
    /// An empty picture.
    #[must_use]
    pub fn new(width: f32, height: f32, background: Rgb, title: impl Into<String>) -> Self {
        Self { width, height, title: title.into(), background, items: Vec::new() }
    }

    /// Adds a filled rectangle.
    pub fn fill(&mut self, area: Area, color: Rgb) {
        self.items.push(Item::Fill(area, color, 0.0));
    }

    /// Adds the outline of a rectangle.
    pub fn frame(&mut self, area: Area, color: Rgb, width: f32) {
        self.items.push(Item::Frame(area, color, width, 0.0));
    }

    /// Adds a solid line.
    pub fn line(&mut self, from: (f32, f32), to: (f32, f32), color: Rgb, width: f32) {
        self.items.push(Item::Line { from, to, color, width, dashed: false });
    }

    /// Adds a dashed line.
    pub fn dashed(&mut self, from: (f32, f32), to: (f32, f32), color: Rgb, width: f32) {
        self.items.push(Item::Line { from, to, color, width, dashed: true });
    }

    /// Adds a text.
    pub fn text(&mut self, label: Label) {
        self.items.push(Item::Text(label));
    }

    /// Adds a heatmap.
    pub fn image(&mut self, raster: Raster) {
        self.items.push(Item::Image(raster));
    }

    /// Adds diagonal hatching of a rectangle, for regions without a value.
    pub fn hatch(&mut self, area: Area, color: Rgb, spacing: f32) {
        let mut offset = spacing;
        while offset < area.width + area.height {
            // The line x + y = offset, clipped to the rectangle.
            let (x0, x1) = ((offset - area.height).max(0.0), offset.min(area.width));
            let point = |x: f32| (area.x + x, area.y + offset - x);
            self.line(point(x0), point(x1), color, 0.5);
            offset += spacing;
        }
    }
}

/// Width of a text in points, near enough to place it: the monospaced face is 0.602 em a column, of
/// the other one the widths of typical letters are known; wide scripts and emoji take two columns.
pub(super) fn text_width(text: &str, size: f32, face: Face) -> f32 {
    let width: f32 = match face {
        Face::Mono => text.chars().map(|c| 0.602 * columns(c) as f32).sum(),
        Face::Sans => text.chars().map(sans_width).sum(),
    };
    width * size
}

/// Width of a character of the sans face, in em.
fn sans_width(c: char) -> f32 {
    match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | ' ' | '.' | ',' | ':' | '|' | '\'' | '·' | '(' | ')' => {
            0.27
        }
        'm' | 'w' | 'M' | 'W' | '—' | '%' | '@' => 0.83,
        'A'..='Z' => 0.64,
        c => 0.53 * columns(c) as f32,
    }
}

fn columns(c: char) -> usize {
    let wide = matches!(u32::from(c),
        0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1F300..=0x1FAFF | 0x20000..=0x3FFFD);
    if wide { 2 } else { 1 }
}

/// A text of at most `max_chars` characters, the last one an ellipsis where it was cut. After right-to-left letters
/// comes a mark that turns the direction round again: a number behind them would be drawn in front of them.
pub(super) fn shortened(text: &str, max_chars: usize) -> String {
    const LEFT_TO_RIGHT_MARK: char = '\u{200e}';
    let mut short = if text.chars().count() <= max_chars {
        text.to_owned()
    } else {
        text.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect()
    };
    if short.chars().any(is_right_to_left) {
        short.push(LEFT_TO_RIGHT_MARK);
    }
    short
}

/// Letters of Hebrew, Arabic and the scripts between and beside them.
fn is_right_to_left(c: char) -> bool {
    matches!(u32::from(c), 0x0590..=0x08ff | 0xfb1d..=0xfdff | 0xfe70..=0xfefc | 0x1_0800..=0x1_0fff | 0x1_e800..=0x1_efff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_behind_right_to_left_letters_stays_behind_them() {
        assert_eq!(shortened("word", 6), "word");
        assert_eq!(shortened("longer than that", 6), "longe…");
        assert_eq!(shortened("שלום", 6), "שלום\u{200e}");
        assert_eq!(shortened("السلامعليكم", 4), "الس…\u{200e}");
    }

    #[test]
    fn hatching_stays_within_its_area() {
        let mut drawing = Drawing::new(100.0, 100.0, [0; 3], "");
        let area = Area::new(10.0, 20.0, 50.0, 30.0);
        drawing.hatch(area, [1; 3], 7.0);
        assert!(drawing.items.len() > 8);
        for item in &drawing.items {
            let Item::Line { from, to, .. } = item else { panic!("only lines") };
            for (x, y) in [from, to] {
                assert!((area.x..=area.right()).contains(x) && (area.y..=area.bottom()).contains(y));
            }
        }
    }

    #[test]
    fn shortening_keeps_what_fits() {
        assert_eq!(shortened("token", 5), "token");
        assert_eq!(shortened("tokens", 5), "toke…");
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert!((text_width("空の", 10.0, Face::Mono) - text_width("abcd", 10.0, Face::Mono)).abs() < 1e-6);
    }
}
