//! A drawing as PNG: vectors through resvg, heatmaps pixel by pixel so that no cell is lost.

use super::drawing::{Area, Drawing, Item, Raster};
use super::theme::Rgb;
use super::{ExportError, fonts, svg};
use resvg::tiny_skia::{Color, FilterQuality, IntSize, Pixmap, PixmapPaint, Transform};
use resvg::usvg;

/// Largest side of a PNG, in pixels.
pub const MAX_SIDE_PX: f32 = 16_384.0;

const POINTS_PER_METER: f32 = 72.0 / 0.0254;

/// Rasterises a drawing at a number of pixels per point. Returns the file's bytes and what a reader
/// should know of them (missing glyphs), one line each.
///
/// # Errors
/// [`ExportError::TooLarge`] above [`MAX_SIDE_PX`]; [`ExportError::Raster`] when drawing fails.
pub fn encode(drawing: &Drawing, pixels_per_point: f32) -> Result<(Vec<u8>, Vec<String>), ExportError> {
    let mut canvas = Canvas::new(drawing, pixels_per_point)?;
    // Vectors are drawn in runs between heatmaps, so that the order of the drawing holds.
    for run in drawing.items.chunk_by(|a, b| is_image(a) == is_image(b)) {
        canvas.draw(drawing, run)?;
    }
    let bytes = encode_opaque(&canvas.pixmap, Some(pixels_per_point))?;
    Ok((bytes, canvas.fonts.notices()))
}

/// Opaque pixels as a PNG without an alpha channel, with its print size where that is known.
fn encode_opaque(pixmap: &Pixmap, pixels_per_point: Option<f32>) -> Result<Vec<u8>, ExportError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, pixmap.width(), pixmap.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    if let Some(pixels_per_point) = pixels_per_point {
        let pixels_per_meter = (pixels_per_point * POINTS_PER_METER).round() as u32;
        encoder.set_pixel_dims(Some(png::PixelDimensions {
            xppu: pixels_per_meter,
            yppu: pixels_per_meter,
            unit: png::Unit::Meter,
        }));
    }
    // Premultiplied and plain colours are the same where everything is opaque.
    let rgb: Vec<u8> = pixmap.data().chunks_exact(4).flat_map(|pixel| &pixel[..3]).copied().collect();
    let write = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&rgb)?;
        writer.finish()
    });
    write.map_err(|error| ExportError::Raster(error.to_string()))?;
    Ok(bytes)
}

/// A heatmap as a PNG of its own, one pixel per cell.
pub(super) fn encode_raster(raster: &Raster) -> Result<Vec<u8>, ExportError> {
    encode_opaque(&pixmap_of(raster)?, None)
}

fn is_image(item: &Item) -> bool {
    matches!(item, Item::Image(_))
}

struct Canvas {
    pixmap: Pixmap,
    scale: f32,
    fonts: fonts::Fonts,
}

impl Canvas {
    fn new(drawing: &Drawing, scale: f32) -> Result<Self, ExportError> {
        let (width, height) = ((drawing.width * scale).ceil(), (drawing.height * scale).ceil());
        if width > MAX_SIDE_PX || height > MAX_SIDE_PX {
            return Err(ExportError::TooLarge { width: width as u64, height: height as u64 });
        }
        let mut pixmap = Pixmap::new(width as u32, height as u32)
            .ok_or_else(|| ExportError::Raster("the picture is empty".to_owned()))?;
        pixmap.fill(opaque(drawing.background));
        Ok(Self { pixmap, scale, fonts: fonts::Fonts::bundled() })
    }

    fn draw(&mut self, drawing: &Drawing, run: &[Item]) -> Result<(), ExportError> {
        if !run.first().is_some_and(is_image) {
            return self.draw_vectors(drawing, run);
        }
        for item in run {
            if let Item::Image(raster) = item {
                self.draw_raster(raster)?;
            }
        }
        Ok(())
    }

    fn draw_vectors(&mut self, drawing: &Drawing, run: &[Item]) -> Result<(), ExportError> {
        let layer = svg::vector_layer(drawing, run);
        let tree = usvg::Tree::from_str(&layer, &self.fonts.options())
            .map_err(|error| ExportError::Raster(error.to_string()))?;
        // usvg turns points into CSS pixels; the wanted scale is from points.
        let scale = self.scale * drawing.width / tree.size().width();
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut self.pixmap.as_mut());
        Ok(())
    }

    fn draw_raster(&mut self, raster: &Raster) -> Result<(), ExportError> {
        let cells = pixmap_of(raster)?;
        let area = pixel_area(raster.area, self.scale);
        let transform = Transform::from_row(
            area.width / raster.width as f32,
            0.0,
            0.0,
            area.height / raster.height as f32,
            area.x,
            area.y,
        );
        let paint = PixmapPaint { quality: FilterQuality::Nearest, ..PixmapPaint::default() };
        self.pixmap.draw_pixmap(0, 0, cells.as_ref(), &paint, transform, None);
        Ok(())
    }
}

/// An area in whole pixels: heatmaps have hard edges.
fn pixel_area(area: Area, scale: f32) -> Area {
    let (x, y) = ((area.x * scale).round(), (area.y * scale).round());
    Area::new(x, y, (area.right() * scale).round() - x, (area.bottom() * scale).round() - y)
}

fn pixmap_of(raster: &Raster) -> Result<Pixmap, ExportError> {
    let side = |cells: usize| u32::try_from(cells).ok().filter(|&side| side > 0);
    let size = side(raster.width).zip(side(raster.height)).and_then(|(w, h)| IntSize::from_wh(w, h));
    let bytes = raster.pixels.iter().flat_map(|&[red, green, blue]| [red, green, blue, 255]).collect();
    size.and_then(|size| Pixmap::from_vec(bytes, size))
        .ok_or_else(|| ExportError::Raster("a heatmap has no cells".to_owned()))
}

fn opaque([red, green, blue]: Rgb) -> Color {
    Color::from_rgba8(red, green, blue, 255)
}
