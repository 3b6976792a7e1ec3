//! Byte counts on their way to the reporter, a few times a second.

use crate::progress::{Progress, ProgressUnit, Reporter};
use std::time::{Duration, Instant};

const BETWEEN_REPORTS: Duration = Duration::from_millis(100);

/// Counts the bytes of one or several files that are transferred or checked one after the other.
pub(super) struct Meter<'a> {
    reporter: &'a dyn Reporter,
    verb: &'static str,
    total_bytes: Option<u64>,
    finished_bytes: u64,
    last_report: Option<Instant>,
}

impl<'a> Meter<'a> {
    /// `verb` begins the stage's name, for example "Downloading".
    pub(super) fn new(reporter: &'a dyn Reporter, verb: &'static str, total_bytes: Option<u64>) -> Self {
        Self { reporter, verb, total_bytes, finished_bytes: 0, last_report: None }
    }

    /// How much of the current file is done.
    pub(super) fn at(&mut self, file: &str, file_bytes: u64) {
        if self.last_report.is_none_or(|last| last.elapsed() >= BETWEEN_REPORTS) {
            self.report(file, file_bytes);
        }
    }

    /// The current file is done; the next one counts on from here.
    pub(super) fn finish(&mut self, file: &str, file_bytes: u64) {
        self.report(file, file_bytes);
        self.finished_bytes += file_bytes;
    }

    fn report(&mut self, file: &str, file_bytes: u64) {
        self.last_report = Some(Instant::now());
        self.reporter.progress(Progress {
            stage: format!("{} {file}", self.verb),
            done: self.finished_bytes + file_bytes,
            total: self.total_bytes,
            unit: ProgressUnit::Bytes,
        });
    }
}
