//! Views as images and numbers as files.
//!
//! A view is drawn once, as a list of primitives ([`Drawing`]); SVG and PNG are written from it.

mod axes;
mod differences;
mod drawing;
mod file;
mod fonts;
mod npy;
mod numbers;
mod patterns;
mod png;
mod reports;
mod svg;
mod tables;
mod theme;
mod view_tables;
mod views;
mod write;

pub(crate) use fonts::{rank as font_rank, system_font_files};

pub use drawing::{Anchor, Area, Drawing, Face, Item, Label, Raster};
pub use file::{FileFormat, write_atomically, write_image};
pub use npy::{NpyType, npy_header, write_npy};
pub use numbers::{write_json, write_tensors};
pub use patterns::{PatternFormat, write_patterns};
pub use png::{MAX_SIDE_PX, encode as encode_png};
pub use reports::{AnalysisReport, CaseReport, EvictionReport};
pub use svg::document as svg_document;
pub use tables::{Field, evictions_csv, heads_csv, tokens_csv, write_csv};
pub use theme::{Palette, Rgb, Theme, ink_on};
pub use views::{GridView, LinesView, Material, Part, RunRef, StripBy, StripView, View, ViewOptions, draw};
pub use write::write_view;

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
    /// The file's name does not say which format is wanted.
    #[error(
        "Unknown format: choose a name that ends in .png or .svg, or for the numbers in .csv, .json, .safetensors or .npy: {path}"
    )]
    UnknownFormat {
        /// The name.
        path: std::path::PathBuf,
    },
    /// The view has no numbers that this format could hold.
    #[error("A .{extension} holds patterns, which this view has not: choose .csv or .json: {path}")]
    NoTensors {
        /// The format.
        extension: &'static str,
        /// The name.
        path: std::path::PathBuf,
    },
    /// The text has fewer tokens.
    #[error("There is no token {index}: the text has {tokens}, counted from 0")]
    NoSuchToken {
        /// The position asked for.
        index: usize,
        /// Tokens of the text.
        tokens: usize,
    },
    /// The file's name does not say how patterns should be written.
    #[error("Unknown pattern format: choose a name that ends in .safetensors, .npy, .csv or .json: {path}")]
    UnknownPatternFormat {
        /// The name.
        path: std::path::PathBuf,
    },
    /// A format that holds one pattern was asked to hold several.
    #[error(
        "A .csv or .json holds the pattern of one head, not of {heads}: choose .safetensors or .npy: {path}"
    )]
    OneHeadOnly {
        /// Heads that were asked for.
        heads: usize,
        /// The file.
        path: std::path::PathBuf,
    },
    /// Statistics alone were kept.
    #[error("This session keeps no queries and keys, so that there are no patterns: run the prompt again")]
    NoPatterns,
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
