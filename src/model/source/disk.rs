//! Room on the disk, asked before a transfer rather than found out in the middle of it.

use super::SourceError;
use std::path::{Path, PathBuf};
use sysinfo::{DiskRefreshKind, Disks};

/// Refuses a transfer that can't fit. A disk that doesn't say how full it is gets the benefit of the doubt.
pub(super) fn require_room(needed_bytes: u64, folder: &Path) -> Result<(), SourceError> {
    compare(needed_bytes, free_bytes(folder), folder)
}

fn compare(needed_bytes: u64, free_bytes: Option<u64>, folder: &Path) -> Result<(), SourceError> {
    match free_bytes {
        Some(free) if free < needed_bytes => {
            Err(SourceError::DiskFull { missing_bytes: Some(needed_bytes - free), path: folder.to_owned() })
        }
        _ => Ok(()),
    }
}

fn free_bytes(folder: &Path) -> Option<u64> {
    let folder = nearest_existing(folder)?.canonicalize().ok()?;
    let disks = Disks::new_with_refreshed_list_specifics(DiskRefreshKind::nothing().with_storage()).ok()?;
    let mounts = disks.iter().map(|disk| (disk.mount_point().to_owned(), disk.available_space()));
    free_on_mount(&folder, mounts)
}

/// The space of the mount that holds `folder`: the one with the longest matching mount point.
fn free_on_mount(folder: &Path, mounts: impl Iterator<Item = (PathBuf, u64)>) -> Option<u64> {
    mounts
        .filter(|(mount, _)| folder.starts_with(mount))
        .max_by_key(|(mount, _)| mount.components().count())
        // Pseudo file systems report nothing at all, which says nothing about the room.
        .and_then(|(_, free)| (free > 0).then_some(free))
}

fn nearest_existing(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|ancestor| ancestor.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_room_is_refused_with_what_is_missing() {
        let folder = Path::new("/cache");
        let error = compare(5_000_000, Some(3_000_000), folder).unwrap_err();
        assert_eq!(
            error.to_string(),
            "The disk is full (2 MB more needed); free some space or set SINKSCOPE_HOME and HF_HOME to another disk: /cache"
        );
        assert!(compare(5, Some(5), folder).is_ok());
        assert!(compare(5, None, folder).is_ok());
    }

    #[test]
    fn the_innermost_mount_counts() {
        let mounts = [("/", 10), ("/home", 20), ("/home/user/cache", 30), ("/homes", 40)];
        let mounts = || mounts.iter().map(|&(mount, free)| (PathBuf::from(mount), free));
        assert_eq!(free_on_mount(Path::new("/home/user/cache/hub"), mounts()), Some(30));
        assert_eq!(free_on_mount(Path::new("/home/other"), mounts()), Some(20));
        assert_eq!(free_on_mount(Path::new("/var"), mounts()), Some(10));
        assert_eq!(free_on_mount(Path::new("relative"), mounts()), None);
    }

    #[test]
    fn no_disk_has_an_exabyte_free() {
        let error = require_room(u64::MAX, &std::env::temp_dir().join("not/there/yet"));
        // A machine whose temporary folder is on a file system without figures can't tell.
        if free_bytes(&std::env::temp_dir()).is_some() {
            assert!(matches!(error, Err(SourceError::DiskFull { .. })));
        }
    }
}
