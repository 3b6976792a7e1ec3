//! The faces that PNGs are set in: two bundled ones, and the system's for what they lack.

use resvg::usvg::{self, FontFamily, FontResolver, fontdb};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Font files above this are not looked at, in bytes.
const MAX_FONT_BYTES: u64 = 64 << 20;

/// The faces, and what happened with them while texts were laid out.
pub(super) struct Fonts {
    database: Arc<fontdb::Database>,
    sans: Option<fontdb::ID>,
    mono: Option<fontdb::ID>,
    fallback: Arc<Fallback>,
}

/// What happened with characters that the bundled faces lack.
#[derive(Default)]
struct Fallback {
    borrowed: AtomicBool,
    missing: Mutex<Vec<char>>,
    /// The system's fonts, read when first needed: most pictures need none.
    system: std::sync::OnceLock<Vec<Vec<u8>>>,
}

impl Fonts {
    /// Only the bundled faces, so that pictures are the same on every machine.
    pub(super) fn bundled() -> Self {
        let mut database = fontdb::Database::new();
        let mut load = |bytes: &'static [u8]| {
            database.load_font_source(fontdb::Source::Binary(Arc::new(bytes))).first().copied()
        };
        let sans = load(epaint_default_fonts::UBUNTU_LIGHT);
        let mono = load(epaint_default_fonts::HACK_REGULAR);
        Self { database: Arc::new(database), sans, mono, fallback: Arc::default() }
    }

    /// Options with which usvg lays texts out in these faces.
    pub(super) fn options(&self) -> usvg::Options<'static> {
        let (sans, mono) = (self.sans, self.mono);
        let fallback = Arc::clone(&self.fallback);
        let resolver = FontResolver {
            select_font: Box::new(move |font, _| {
                let is_mono = font.families().contains(&FontFamily::Monospace);
                if is_mono { mono } else { sans }
            }),
            select_fallback: Box::new(move |c, used, database| fallback.face_with(c, used, database)),
        };
        usvg::Options {
            font_resolver: resolver,
            fontdb: Arc::clone(&self.database),
            ..usvg::Options::default()
        }
    }

    /// What a reader should know, one line each.
    pub(super) fn notices(&self) -> Vec<String> {
        let missing = self.fallback.missing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut notices = Vec::new();
        if self.fallback.borrowed.load(Ordering::Relaxed) {
            notices.push("Some characters are set in a font of this system".to_owned());
        }
        if !missing.is_empty() {
            let list: String = missing.iter().take(12).collect();
            notices.push(format!("No font here has these characters, install one that does: {list}"));
        }
        notices
    }
}

impl Fallback {
    /// A face that has a character, among those loaded, then among the system's.
    fn face_with(
        &self,
        c: char,
        used: &[fontdb::ID],
        database: &mut Arc<fontdb::Database>,
    ) -> Option<fontdb::ID> {
        let select = FontResolver::default_fallback_selector();
        if let Some(bundled) = select(c, used, database) {
            return Some(bundled);
        }
        if c.is_control() || c.is_whitespace() {
            return None;
        }
        self.load_system_fonts(database);
        let found = select(c, used, database);
        match found {
            Some(_) => self.borrowed.store(true, Ordering::Relaxed),
            None => self.note_missing(c),
        }
        found
    }

    fn load_system_fonts(&self, database: &mut Arc<fontdb::Database>) {
        // Bundled faces come first; anything beyond them was loaded by an earlier call.
        if database.len() > 2 {
            return;
        }
        let fonts = self.system.get_or_init(read_system_fonts);
        let database = Arc::make_mut(database);
        for bytes in fonts {
            database.load_font_data(bytes.clone());
        }
    }

    fn note_missing(&self, c: char) {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if !missing.contains(&c) {
            missing.push(c);
        }
    }
}

fn read_system_fonts() -> Vec<Vec<u8>> {
    system_font_files().iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

/// Files of the system's regular faces, those first that go best with the bundled ones.
pub(crate) fn system_font_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in font_folders() {
        collect_fonts(&folder, 0, &mut files);
    }
    files.sort_by_key(|path| (rank(path), path.clone()));
    files
}

/// Plain sans-serif faces first; those last that have some letters beside their symbols.
pub(crate) fn rank(path: &Path) -> usize {
    const WORSE: [&str; 5] = ["symbol", "math", "serif", "condensed", "mono"];
    let name = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    WORSE
        .iter()
        .position(|style| name.contains(style) && !name.contains("sansserif"))
        .map_or(usize::from(!name.contains("sans")), |style| WORSE.len() + 1 - style)
}

fn font_folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = ["/usr/share/fonts", "/usr/local/share/fonts", "/System/Library/Fonts"]
        .iter()
        .chain(&["/Library/Fonts", "C:\\Windows\\Fonts"])
        .map(PathBuf::from)
        .collect();
    if let Some(base) = directories::BaseDirs::new() {
        folders.push(base.data_local_dir().join("fonts"));
    }
    folders
}

/// Regular faces only: one per family is enough to borrow a character from.
fn collect_fonts(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() && depth < 5 {
            collect_fonts(&path, depth + 1, files);
        } else if is_regular_font(&path) && entry.metadata().is_ok_and(|meta| meta.len() <= MAX_FONT_BYTES) {
            files.push(path);
        }
    }
}

fn is_regular_font(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_font = [".ttf", ".otf", ".ttc"].iter().any(|extension| name.ends_with(extension));
    is_font
        && !["bold", "italic", "oblique", "light", "thin", "black"].iter().any(|style| name.contains(style))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_sans_faces_come_first() {
        let mut names = ["Symbola.ttf", "XMath.ttf", "ASerif.ttf", "ZSans.ttf", "Other.ttf", "BMono.ttf"];
        names.sort_by_key(|name| (rank(Path::new(name)), *name));
        assert_eq!(names, ["ZSans.ttf", "Other.ttf", "BMono.ttf", "ASerif.ttf", "XMath.ttf", "Symbola.ttf"]);
    }
}
