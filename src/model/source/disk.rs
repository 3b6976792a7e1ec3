//! Room on the disk, asked before a transfer rather than found out in the middle of it.

use super::SourceError;
use std::path::Path;

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

/// What the file system that holds the folder says; a list of mounted disks leaves out network and memory disks.
pub(super) fn free_bytes(folder: &Path) -> Option<u64> {
    fs4::available_space(nearest_existing(folder)?).ok()
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
        let error = compare(5 << 20, Some((3 << 20) + 5), folder).unwrap_err();
        assert_eq!(
            error.to_string(),
            "The disk is full (2.0 MiB more needed); free some space or set SINKSCOPE_HOME and HF_HOME to another disk: /cache"
        );
        assert!(compare(5, Some(5), folder).is_ok());
        assert!(compare(5, None, folder).is_ok());
    }

    #[test]
    fn no_disk_has_an_exabyte_free() {
        let folder = std::env::temp_dir().join("not/there/yet");
        assert!(matches!(require_room(u64::MAX, &folder), Err(SourceError::DiskFull { .. })));
        assert!(require_room(0, &folder).is_ok());
    }
}
