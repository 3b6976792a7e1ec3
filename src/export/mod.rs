//! Views as images and numbers as files.
//!
//! A view is drawn once, as a list of primitives ([`Drawing`]); SVG and PNG are written from it.

mod axes;
mod drawing;
mod file;
mod fonts;
mod npy;
mod numbers;
mod png;
mod svg;
mod theme;
mod views;

pub use drawing::{Anchor, Area, Drawing, Face, Item, Label, Raster};
pub use file::{ImageFormat, write_atomically, write_image};
pub use npy::{NpyType, npy_header, write_npy};
pub use numbers::{write_json, write_tensors};
pub use png::{MAX_SIDE_PX, encode as encode_png};
pub use svg::document as svg_document;
pub use theme::{Palette, Rgb, Theme, ink_on};
pub use views::{View, ViewOptions, draw, draw_eviction};

/// Why a result could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Somebody asked to stop.
    #[error(transparent)]
    Cancelled(#[from] crate::progress::Cancelled),
    /// The file system said no.
    #[error("Can't write the file ({why}): {path}")]
    Write {
        /// The system's reason.
        why: String,
        /// Where it should have gone.
        path: std::path::PathBuf,
    },
    /// The file's name does not say which image format is wanted.
    #[error("Unknown image format: choose a name that ends in .png or .svg: {path}")]
    UnknownFormat {
        /// The name.
        path: std::path::PathBuf,
    },
    /// The model lacks that head.
    #[error(
        "There is no layer {layer}, head {head}: choose a layer from 0 to {} and a head from 0 to {}",
        .layers.saturating_sub(1), .heads.saturating_sub(1)
    )]
    NoSuchHead {
        /// The layer asked for.
        layer: usize,
        /// The head asked for.
        head: usize,
        /// Layers of the model.
        layers: usize,
        /// Query heads of the model.
        heads: usize,
    },
    /// The picture has too many pixels.
    #[error("The picture would be {width} × {height} pixels: choose a smaller scale, or .svg")]
    TooLarge {
        /// Pixels across.
        width: u64,
        /// Pixels down.
        height: u64,
    },
    /// The picture could not be drawn.
    #[error("Can't draw the picture: {0}")]
    Raster(String),
}
