//! A file on its way: hashed as it grows, kept when it breaks off, renamed only when it is whole.

use super::SourceError;
use crate::progress::CancelToken;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What a file must be to be taken for whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Expected {
    pub(super) size_bytes: Option<u64>,
    /// Lower-case hex.
    pub(super) sha256: Option<String>,
}

/// A partial file, open for appending.
pub(super) struct Partial {
    path: PathBuf,
    file: File,
    hasher: Sha256,
    length_bytes: u64,
}

impl Partial {
    /// Opens or creates a partial file and reads what an earlier try left, so that it can go on from there.
    pub(super) fn open(path: &Path, cancel: &CancelToken) -> Result<Self, SourceError> {
        let failed = |error: io::Error| SourceError::cache(&error, path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| SourceError::cache(&error, folder))?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        let there_bytes = file.metadata().map_err(failed)?.len();
        let mut hasher = Sha256::new();
        let length_bytes = copy((&mut file).take(there_bytes), &mut HashOnly(&mut hasher), cancel, |_| {})
            .map_err(|stop| stop.in_cache(path))?;
        Ok(Self { path: path.to_owned(), file, hasher, length_bytes })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), SourceError> {
        self.file.write_all(bytes).map_err(|error| SourceError::cache(&error, &self.path))?;
        self.hasher.update(bytes);
        self.length_bytes += bytes.len() as u64;
        Ok(())
    }

    /// Forgets everything received so far.
    pub(super) fn restart(&mut self) -> Result<(), SourceError> {
        if self.length_bytes > 0 {
            self.file.set_len(0).map_err(|error| SourceError::cache(&error, &self.path))?;
        }
        self.hasher = Sha256::new();
        self.length_bytes = 0;
        Ok(())
    }

    /// Whether this is the whole, undamaged file; `name` is what the error calls it.
    pub(super) fn check(&self, name: &str, expected: &Expected) -> Result<(), SourceError> {
        check(name, expected, self.length_bytes, &hex(self.hasher.clone()))
    }

    /// Flushes to the disk and gives the file its final name.
    pub(super) fn publish(self, destination: &Path) -> Result<(), SourceError> {
        let failed = |error: io::Error| SourceError::cache(&error, destination);
        self.file.sync_all().map_err(failed)?;
        drop(self.file);
        fs::rename(&self.path, destination).map_err(failed)?;
        flush_folder_of(destination);
        Ok(())
    }
}

/// Compares what is there with what should be.
pub(super) fn check(
    name: &str,
    expected: &Expected,
    size_bytes: u64,
    sha256: &str,
) -> Result<(), SourceError> {
    if let Some(announced) = expected.size_bytes
        && announced != size_bytes
    {
        let why = format!("it has {size_bytes} bytes, not {announced}");
        return Err(SourceError::Damaged { name: name.to_owned(), why });
    }
    match &expected.sha256 {
        Some(hash) if !hash.eq_ignore_ascii_case(sha256) => Err(SourceError::Checksum {
            name: name.to_owned(),
            expected: hash.clone(),
            found: sha256.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Makes a rename in this folder last through a power cut, where the platform can (it is a no-op elsewhere).
pub(super) fn flush_folder_of(file: &Path) {
    if let Some(folder) = file.parent()
        && let Ok(folder) = File::open(folder)
    {
        // Not all file systems can flush a folder; the file itself is safe by then.
        let _ = folder.sync_all();
    }
}

/// A hash in lower-case hex.
pub(super) fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Why a copy ended early.
#[derive(Debug)]
pub(super) enum CopyStop {
    Cancelled(crate::progress::Cancelled),
    Reading(io::Error),
    Writing(io::Error),
}

impl CopyStop {
    /// The error where both ends of the copy are files of the cache.
    pub(super) fn in_cache(self, path: &Path) -> SourceError {
        match self {
            Self::Cancelled(cancelled) => cancelled.into(),
            Self::Reading(error) | Self::Writing(error) => SourceError::cache(&error, path),
        }
    }
}

/// Copies in blocks, looking at the cancel flag between them; `after_block` gets the bytes done so far.
pub(super) fn copy(
    mut from: impl Read,
    to: &mut impl Write,
    cancel: &CancelToken,
    mut after_block: impl FnMut(u64),
) -> Result<u64, CopyStop> {
    let mut block = vec![0; 1 << 18];
    let mut done_bytes = 0;
    loop {
        cancel.check().map_err(CopyStop::Cancelled)?;
        let count = match from.read(&mut block) {
            Ok(0) => return Ok(done_bytes),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyStop::Reading(error)),
        };
        to.write_all(&block[..count]).map_err(CopyStop::Writing)?;
        done_bytes += count as u64;
        after_block(done_bytes);
    }
}

/// A writer that keeps nothing but the hash.
pub(super) struct HashOnly<'a>(pub(super) &'a mut Sha256);

impl Write for HashOnly<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A writer that hashes what it passes on.
pub(super) struct HashAnd<W> {
    pub(super) writer: W,
    pub(super) hasher: Sha256,
}

impl<W: Write> Write for HashAnd<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.writer.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn expected(size_bytes: u64) -> Expected {
        Expected { size_bytes: Some(size_bytes), sha256: Some(ABC.into()) }
    }

    #[test]
    fn a_file_received_in_two_tries_has_the_hash_of_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blobs/x.incomplete");
        let cancel = CancelToken::new();
        let mut first = Partial::open(&path, &cancel).unwrap();
        first.append(b"ab").unwrap();
        assert!(matches!(first.check("x", &expected(3)), Err(SourceError::Damaged { .. })));
        drop(first);

        let mut second = Partial::open(&path, &cancel).unwrap();
        assert_eq!(second.length_bytes(), 2);
        second.append(b"c").unwrap();
        second.check("x", &expected(3)).unwrap();
        let whole = folder.path().join("blobs/x");
        second.publish(&whole).unwrap();
        assert_eq!(fs::read(whole).unwrap(), b"abc");
        assert!(!path.exists());
    }

    #[test]
    fn starting_over_forgets_the_old_bytes_and_their_hash() {
        let folder = tempfile::tempdir().unwrap();
        let mut partial = Partial::open(&folder.path().join("x"), &CancelToken::new()).unwrap();
        partial.append(b"rubbish").unwrap();
        partial.restart().unwrap();
        partial.append(b"abc").unwrap();
        partial.check("x", &expected(3)).unwrap();
        partial.publish(&folder.path().join("y")).unwrap();
        assert_eq!(fs::read(folder.path().join("y")).unwrap(), b"abc");
    }

    #[test]
    fn a_wrong_hash_names_both() {
        let error = check("x", &expected(3), 3, "00").unwrap_err();
        assert_eq!(error.to_string(), format!("x is damaged: sha256 is 00, not {ABC}; fetch it again"));
    }

    #[test]
    fn a_copy_tells_a_failing_writer_from_a_failing_reader_and_can_be_cancelled() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let cancel = CancelToken::new();
        let stop = copy(&b"abc"[..], &mut Full, &cancel, |_| {}).unwrap_err();
        let CopyStop::Writing(error) = &stop else { panic!("{stop:?}") };
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(matches!(stop.in_cache(Path::new("/c")), SourceError::DiskFull { .. }));
        cancel.cancel();
        assert!(matches!(copy(&b"abc"[..], &mut Full, &cancel, |_| {}), Err(CopyStop::Cancelled(_))));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_partial_file_on_a_full_disk_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.incomplete");
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let mut partial = Partial::open(&path, &CancelToken::new()).unwrap();
        assert!(matches!(partial.append(b"abc"), Err(SourceError::DiskFull { .. })));
    }
}
