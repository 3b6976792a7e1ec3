//! Writing results: the format from the name, the file all at once or not at all.

use super::drawing::Drawing;
use super::{ExportError, png, svg};
use std::io::Write as _;
use std::path::Path;
use tempfile::NamedTempFile;

/// Formats of exported files, told apart by the file's extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// An image of pixels.
    Png,
    /// An image of lines, text as text.
    Svg,
    /// Numbers as a table.
    Csv,
    /// Numbers as JSON.
    Json,
    /// Patterns as safetensors.
    Safetensors,
    /// Patterns as a NumPy array.
    Npy,
}

impl FileFormat {
    /// All formats.
    pub const ALL: [Self; 6] = [Self::Png, Self::Svg, Self::Csv, Self::Json, Self::Safetensors, Self::Npy];

    /// The format that a file's name asks for.
    ///
    /// # Errors
    /// [`ExportError::UnknownFormat`] for any other extension.
    pub fn of(path: &Path) -> Result<Self, ExportError> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let known = Self::ALL.into_iter().find(|format| extension.as_deref() == Some(format.extension()));
        known.ok_or_else(|| ExportError::UnknownFormat { path: path.to_owned() })
    }

    /// The extension of its files.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Safetensors => "safetensors",
            Self::Npy => "npy",
        }
    }

    /// What a menu says of it.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Png => "An image of pixels, as many a point as chosen",
            Self::Svg => "An image of lines, text as text",
            Self::Csv => "The numbers behind the view as a table",
            Self::Json => "The numbers behind the view as JSON",
            Self::Safetensors => "The patterns as tensors l{L}h{H}",
            Self::Npy => "The patterns as a NumPy array",
        }
    }

    /// Whether it is an image.
    #[must_use]
    pub fn is_image(self) -> bool {
        matches!(self, Self::Png | Self::Svg)
    }
}

/// Writes a drawing to a `.png` (at `scale` pixels per point) or `.svg` file. Returns what a reader
/// should know of the result, one line each.
///
/// # Errors
/// [`ExportError::UnknownFormat`] for anything but an image, [`ExportError::Write`], [`ExportError::TooLarge`], [`ExportError::Raster`].
pub fn write_image(drawing: &Drawing, path: &Path, scale: f32) -> Result<Vec<String>, ExportError> {
    let (bytes, notices) = match FileFormat::of(path)? {
        FileFormat::Png => png::encode(drawing, scale)?,
        FileFormat::Svg => (svg::document(drawing)?.into_bytes(), Vec::new()),
        _ => return Err(ExportError::UnknownFormat { path: path.to_owned() }),
    };
    write_atomically(path, |file| file.write_all(&bytes))?;
    Ok(notices)
}

/// Writes a file so that at no moment a half-written one lies at its path.
///
/// # Errors
/// [`ExportError::Write`] when the folder is missing, not writable, or full.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut NamedTempFile) -> std::io::Result<()>,
) -> Result<(), ExportError> {
    try_write(path, write)
        .map_err(|error| ExportError::Write { why: reason(&error, path), path: path.to_owned() })
}

fn try_write(
    path: &Path,
    write: impl FnOnce(&mut NamedTempFile) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        // Temporary files are private; a result is as readable as any file that the user creates.
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.prefix(".sinkscope-").tempfile_in(folder)?;
    write(&mut file)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// The system's reason in words, without the temporary file's name.
fn reason(error: &std::io::Error, path: &Path) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => "no such folder".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::NotADirectory => "its parent is not a folder".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "read-only file system".to_owned(),
        ErrorKind::StorageFull => "the disk is full".to_owned(),
        _ if path.is_dir() => "it is a folder".to_owned(),
        kind => kind.to_string(),
    }
}
