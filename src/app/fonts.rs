//! Fonts of the system for characters that the bundled ones lack, found when they are first drawn.

use crate::export::{font_rank, system_font_files};
use crate::raw::MappedFile;
use egui::epaint::text::{
    FallbackRequest, FontData, FontFamily, FontInsert, FontPriority, FontProvider, InsertFontFamily,
};
use skrifa::MetadataProvider as _;
use skrifa::raw::FileRef;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Finds installed fonts, and remembers what none of them has.
#[derive(Default)]
pub struct SystemFonts {
    /// The files, mapped when a font is first needed.
    files: OnceLock<Vec<(PathBuf, MappedFile)>>,
    /// Instead of the system's files, for tests.
    given: Option<Vec<PathBuf>>,
    missing: Mutex<Missing>,
}

#[derive(Default)]
struct Missing {
    new: Vec<Writing>,
    told: Vec<Writing>,
}

/// Kinds of characters that fonts are made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writing {
    /// Chinese, Japanese, Korean.
    Cjk,
    /// Pictures.
    Emoji,
    /// Everything else.
    Other,
}

impl Writing {
    fn of(c: char) -> Self {
        match u32::from(c) {
            0x1100..=0x11ff | 0x2e80..=0x9fff | 0xac00..=0xd7ff | 0xf900..=0xfaff | 0xff00..=0xffef => {
                Self::Cjk
            }
            0x2_0000..=0x3_ffff => Self::Cjk,
            0x2600..=0x27bf | 0x1_f000..=0x1_faff | 0xfe0f => Self::Emoji,
            _ => Self::Other,
        }
    }

    /// What to tell the user, once.
    #[must_use]
    pub fn notice(self) -> &'static str {
        match self {
            Self::Cjk => {
                "No installed font has some Chinese, Japanese or Korean characters: install one, such as Noto Sans CJK"
            }
            Self::Emoji => "No installed font has some emoji: install one, such as Noto Emoji",
            Self::Other => {
                "No installed font has some characters: install one for their script, such as Noto Sans"
            }
        }
    }
}

impl SystemFonts {
    /// Looks into these files only.
    #[must_use]
    pub fn of(files: Vec<PathBuf>) -> Self {
        Self { given: Some(files), ..Self::default() }
    }

    /// Kinds of characters that were found missing since the last call; each is told once.
    #[must_use]
    pub fn take_missing(&self) -> Vec<Writing> {
        std::mem::take(&mut self.missing().new)
    }

    /// Whether something was found missing since.
    #[must_use]
    pub fn has_missing(&self) -> bool {
        !self.missing().new.is_empty()
    }

    fn missing(&self) -> MutexGuard<'_, Missing> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_missing(&self, c: char) {
        let (mut missing, writing) = (self.missing(), Writing::of(c));
        if !missing.told.contains(&writing) {
            missing.told.push(writing);
            missing.new.push(writing);
        }
    }

    fn files(&self) -> &[(PathBuf, MappedFile)] {
        self.files.get_or_init(|| {
            let mut paths = self.given.clone().unwrap_or_else(system_font_files);
            paths.sort_by_key(|path| (font_rank(path), path.clone()));
            paths.into_iter().filter_map(|path| Some((path.clone(), MappedFile::open(&path).ok()?))).collect()
        })
    }
}

/// The face of a file that draws a character.
fn face_with(bytes: &[u8], c: char) -> Option<u32> {
    let fonts = FileRef::new(bytes).ok()?.fonts().enumerate();
    let mut faces = fonts.filter_map(|(index, font)| Some((index as u32, font.ok()?)));
    // A face without outlines (a colour bitmap) would draw nothing.
    let draws = |font: &skrifa::FontRef<'_>| {
        font.charmap().map(c).is_some_and(|glyph| font.outline_glyphs().get(glyph).is_some())
    };
    faces.find(|(_, font)| draws(font)).map(|(index, _)| index)
}

impl FontProvider for SystemFonts {
    fn font_for(&self, request: &FallbackRequest<'_>) -> Option<FontInsert> {
        let c = request.cluster.chars().next()?;
        let found = self.files().iter().find_map(|(path, file)| Some((path, file, face_with(file, c)?)));
        let Some((path, file, index)) = found else {
            self.note_missing(c);
            return None;
        };
        let families = [FontFamily::Proportional, FontFamily::Monospace];
        let families = families.map(|family| InsertFontFamily { family, priority: FontPriority::Lowest });
        Some(FontInsert {
            name: format!("{}#{index}", path.display()),
            data: FontData { index, ..FontData::from_owned(file.to_vec()) },
            families: families.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bundled faces as files.
    fn fonts(folder: &std::path::Path) -> SystemFonts {
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            std::fs::write(&path, bytes).expect("a file");
            path
        };
        SystemFonts::of(vec![
            write("Broken-Sans.ttf", b"no font at all"),
            write("Hack-Mono.ttf", epaint_default_fonts::HACK_REGULAR),
            write("Ubuntu-Sans.ttf", epaint_default_fonts::UBUNTU_LIGHT),
        ])
    }

    fn request(cluster: &'static str) -> FallbackRequest<'static> {
        FallbackRequest { cluster, family: &FontFamily::Proportional }
    }

    #[test]
    fn the_first_file_with_the_glyph_is_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        let fonts = fonts(folder.path());
        let found = fonts.font_for(&request("a")).expect("both have it");
        assert!(found.name.ends_with("Ubuntu-Sans.ttf#0"), "{}", found.name);
        let found = fonts.font_for(&request("▁")).expect("Hack has it");
        assert!(found.name.ends_with("Hack-Mono.ttf#0"), "{}", found.name);
        assert!(!fonts.has_missing());
    }

    #[test]
    fn what_no_file_has_is_told_once_for_each_kind() {
        let folder = tempfile::tempdir().expect("a folder");
        let fonts = fonts(folder.path());
        for cluster in ["日", "本", "한"] {
            assert!(fonts.font_for(&request(cluster)).is_none());
        }
        assert!(fonts.has_missing());
        assert_eq!(fonts.take_missing(), [Writing::Cjk]);
        assert!(fonts.font_for(&request("語")).is_none());
        assert!(fonts.take_missing().is_empty(), "told already");
        assert!(fonts.font_for(&request("ꦗ")).is_none(), "Javanese");
        assert_eq!(fonts.take_missing(), [Writing::Other]);
    }
}
