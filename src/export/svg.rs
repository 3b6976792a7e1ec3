//! A drawing as SVG: text stays text, heatmaps are embedded as PNG with hard-edged pixels.

use super::drawing::{Anchor, Area, Drawing, Face, Item, Label, Raster};
use super::theme::Rgb;
use super::{ExportError, png};
use base64::Engine as _;
use svg::node::element;
use svg::{Document, Node};

/// Faces with what stands in for them where they are not installed.
const SANS: &str = "Ubuntu Light, Ubuntu, Helvetica Neue, Helvetica, Arial, sans-serif";
const MONO: &str = "Hack, DejaVu Sans Mono, Menlo, Consolas, monospace";

/// Stroke around sans texts in PNGs, in em.
const HAIRLINE_EM: f32 = 0.03;

/// Writes a drawing as an SVG document.
///
/// # Errors
/// [`ExportError::Raster`] when a heatmap can't be encoded.
pub fn document(drawing: &Drawing) -> Result<String, ExportError> {
    let mut document = sized(drawing);
    document.append(worded("title", &drawing.title));
    let paper = Area::new(0.0, 0.0, drawing.width, drawing.height);
    document.append(fill(paper, drawing.background, 0.0));
    for item in &drawing.items {
        match item {
            Item::Image(raster) => document.append(image(raster)?),
            vector => append_vector(&mut document, vector, false),
        }
    }
    Ok(document.to_string())
}

/// The vector part of some items as a document of the drawing's size, without paper. Its sans texts
/// get a hairline around them: the bundled face is a light one, too light for print.
pub(super) fn vector_layer<'a>(drawing: &Drawing, items: impl IntoIterator<Item = &'a Item>) -> String {
    let mut document = sized(drawing);
    for item in items {
        append_vector(&mut document, item, true);
    }
    document.to_string()
}

fn sized(drawing: &Drawing) -> Document {
    Document::new()
        .set("width", format!("{}pt", drawing.width))
        .set("height", format!("{}pt", drawing.height))
        .set("viewBox", (0, 0, drawing.width, drawing.height))
        .set("role", "img")
}

fn append_vector(document: &mut Document, item: &Item, embolden: bool) {
    match item {
        Item::Fill(area, color, radius) => document.append(fill(*area, *color, *radius)),
        Item::Frame(area, color, width, radius) => {
            let frame = rectangle(*area, *radius).set("fill", "none");
            document.append(frame.set("stroke", hex(*color)).set("stroke-width", *width));
        }
        Item::Line { from, to, color, width, dashed } => {
            let line = element::Line::new()
                .set("x1", rounded(from.0))
                .set("y1", rounded(from.1))
                .set("x2", rounded(to.0))
                .set("y2", rounded(to.1))
                .set("stroke", hex(*color))
                .set("stroke-width", *width);
            document.append(if *dashed { line.set("stroke-dasharray", "5 3") } else { line });
        }
        Item::Curve { points, color, width } => {
            let points: Vec<String> =
                points.iter().map(|(x, y)| format!("{},{}", rounded(*x), rounded(*y))).collect();
            let curve = element::Polyline::new()
                .set("points", points.join(" "))
                .set("fill", "none")
                .set("stroke", hex(*color))
                .set("stroke-width", *width)
                .set("stroke-linejoin", "round");
            document.append(curve);
        }
        Item::Text(label) => {
            let mut text = text(label);
            if embolden && label.face == Face::Sans {
                text.assign("stroke", hex(label.color));
                text.assign("stroke-width", label.size * HAIRLINE_EM);
            }
            document.append(text);
        }
        Item::Image(_) => {}
    }
}

fn fill(area: Area, color: Rgb, radius: f32) -> element::Rectangle {
    rectangle(area, radius).set("fill", hex(color))
}

fn rectangle(area: Area, radius: f32) -> element::Rectangle {
    let rectangle = element::Rectangle::new()
        .set("x", rounded(area.x))
        .set("y", rounded(area.y))
        .set("width", rounded(area.width))
        .set("height", rounded(area.height));
    if radius > 0.0 { rectangle.set("rx", rounded(radius)) } else { rectangle }
}

/// An element with a text inside, on one line: the crate's own text elements put line breaks around
/// it, which `xml:space` would keep.
fn worded(name: &str, text: &str) -> element::Element {
    let mut element = element::Element::new(name);
    element.append(svg::node::Text::new(printable(text)));
    element
}

fn text(label: &Label) -> element::Element {
    let anchor = match label.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let (x, y) = (rounded(label.x), rounded(label.y));
    let mut text = worded("text", &label.text);
    text.assign("x", x);
    text.assign("y", y);
    text.assign("font-family", if label.face == Face::Mono { MONO } else { SANS });
    text.assign("font-size", rounded(label.size));
    text.assign("fill", hex(label.color));
    text.assign("text-anchor", anchor);
    // Token labels are exact: two spaces are two spaces.
    text.assign("xml:space", "preserve");
    if label.upright {
        text.assign("transform", format!("rotate(-90 {x} {y})"));
    }
    text
}

fn image(raster: &Raster) -> Result<element::Image, ExportError> {
    let png = png::encode_raster(raster)?;
    let data = base64::engine::general_purpose::STANDARD.encode(png);
    Ok(element::Image::new()
        .set("x", rounded(raster.area.x))
        .set("y", rounded(raster.area.y))
        .set("width", rounded(raster.area.width))
        .set("height", rounded(raster.area.height))
        .set("preserveAspectRatio", "none")
        .set("style", "image-rendering:pixelated")
        .set("href", format!("data:image/png;base64,{data}")))
}

fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A hundredth of a point is finer than any printer, and keeps files small.
fn rounded(points: f32) -> f32 {
    (points * 100.0).round() / 100.0
}

/// XML can't hold control characters: the Unicode pictures of them stand in.
fn printable(text: &str) -> String {
    let picture = |c: char| match u32::from(c) {
        code @ 0..=0x1F => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7F => '\u{2421}',
        0x80..=0x9F | 0xFFFE | 0xFFFF => char::REPLACEMENT_CHARACTER,
        _ => c,
    };
    text.chars().map(picture).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_look_like_markup_survive() {
        let mut drawing = Drawing::new(100.0, 20.0, [255; 3], "a < b & \"c\"");
        drawing.text(Label::new(1.0, 9.0, 8.0, [0; 3], "</text><s>&\u{0}"));
        let svg = document(&drawing).unwrap();
        assert!(svg.contains("&lt;/text&gt;&lt;s&gt;&amp;\u{2400}"), "{svg}");
        assert!(resvg::usvg::Tree::from_str(&svg, &resvg::usvg::Options::default()).is_ok());
    }
}
