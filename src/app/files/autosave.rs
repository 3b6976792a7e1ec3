//! The session of this process, put aside while it runs, and those that killed processes left.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two autosaves lies at least this.
const PAUSE: Duration = Duration::from_secs(10);
/// A capture whose patterns take more than this is put aside without them.
pub(super) const MOST_BYTES: u64 = 512 << 20;

/// This process's place for its session. It is emptied when the program ends as it should; a lock tells the
/// next program that this one lives.
pub(super) struct Autosave {
    path: PathBuf,
    lock_path: PathBuf,
    _lock: File,
    last: Option<Instant>,
    /// What was put aside last.
    pub(super) mark: Option<super::Mark>,
    /// Whether the worker is at it.
    pub(super) is_running: bool,
}

impl Autosave {
    /// Takes a place in a folder; `None` where that can't be written, and nothing is put aside then.
    pub(super) fn take_place(folder: &Path) -> Option<Self> {
        std::fs::create_dir_all(folder).ok()?;
        // Another one of this process may have a place already.
        for attempt in 0..64 {
            let name = format!("{}-{attempt}", std::process::id());
            let lock_path = folder.join(format!("{name}.lock"));
            let path = folder.join(format!("{name}.sinkscope"));
            if path.exists() {
                // Left by a program that had this one's number.
                continue;
            }
            let lock = File::options().write(true).create(true).truncate(false).open(&lock_path).ok()?;
            if lock.try_lock().is_ok() {
                return Some(Self {
                    path,
                    lock_path,
                    _lock: lock,
                    last: None,
                    mark: None,
                    is_running: false,
                });
            }
        }
        None
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is time again; begins the pause.
    pub(super) fn is_due(&mut self) -> bool {
        let due = !self.is_running && self.last.is_none_or(|last| last.elapsed() >= PAUSE);
        if due {
            self.last = Some(Instant::now());
        }
        due
    }

    /// Nothing is worth keeping any more.
    pub(super) fn clear(&mut self) {
        self.mark = None;
        // It may never have been written.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Drop for Autosave {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.clear();
        let _ = std::fs::remove_file(&self.lock_path);
    }
}

/// Sessions in a folder whose programs are gone, the newest first.
pub(super) fn left_behind(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_orphan = |path: &PathBuf| {
        let is_session = path.extension().is_some_and(|extension| extension == crate::session::EXTENSION);
        is_session && !is_locked(&path.with_extension("lock"))
    };
    let mut orphans: Vec<_> = entries
        .flatten()
        .filter(|entry| is_orphan(&entry.path()))
        .map(|entry| (entry.metadata().and_then(|meta| meta.modified()).ok(), entry.path()))
        .collect();
    orphans.sort();
    orphans.into_iter().rev().map(|(_, path)| path).collect()
}

fn is_locked(lock: &Path) -> bool {
    let Ok(file) = File::options().write(true).open(lock) else { return false };
    // Locked by this check only for a moment: it ends with the file.
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Takes away what was recovered or refused.
pub(super) fn discard(session: &Path) {
    let _ = std::fs::remove_file(session);
    let _ = std::fs::remove_file(session.with_extension("lock"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_dead_programs_left_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ours = Autosave::take_place(folder.path()).expect("a place");
        assert!(ours.is_due() && !ours.is_due(), "once, then a pause");
        std::fs::write(ours.path(), b"ours").expect("written");
        let theirs = folder.path().join("1-0.sinkscope");
        std::fs::write(&theirs, b"theirs").expect("written");
        std::fs::write(theirs.with_extension("lock"), b"").expect("written");
        assert_eq!(left_behind(folder.path()), std::slice::from_ref(&theirs));
        discard(&theirs);
        assert!(left_behind(folder.path()).is_empty());
        let path = ours.path().to_owned();
        drop(ours);
        assert!(!path.exists() && std::fs::read_dir(folder.path()).expect("the folder").count() == 0);
    }

    #[test]
    fn what_another_program_of_the_same_number_left_is_not_touched() {
        let folder = tempfile::tempdir().expect("a folder");
        let theirs = folder.path().join(format!("{}-0.sinkscope", std::process::id()));
        std::fs::write(&theirs, b"theirs").expect("written");
        let ours = Autosave::take_place(folder.path()).expect("a place");
        assert_ne!(ours.path(), theirs);
        drop(ours);
        assert_eq!(std::fs::read(&theirs).expect("there"), b"theirs");
    }

    #[test]
    fn two_of_one_process_have_two_places() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = Autosave::take_place(folder.path()).expect("a place");
        let second = Autosave::take_place(folder.path()).expect("a place");
        assert_ne!(first.path(), second.path());
    }
}
