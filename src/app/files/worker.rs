//! Saving, opening and exporting on a thread of its own: the window never waits for a disk.

use super::export::{ExportChoice, Exported};
use crate::Error;
use crate::session::{Kept, Session, read_session, write_session};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Something to do with a file.
pub(super) enum FileJob {
    Save { session: Box<Session>, kept: Kept, path: PathBuf, mark: super::Mark },
    Autosave { session: Box<Session>, kept: Kept, path: PathBuf, mark: super::Mark },
    Open { path: PathBuf, recovered: bool },
    Export { choice: Box<ExportChoice>, of: Box<Exported>, path: PathBuf },
}

/// How it went.
#[derive(Debug)]
pub enum FileDone {
    /// A session was saved.
    Saved {
        /// Where.
        path: PathBuf,
        /// What of the capture was kept.
        kept: Kept,
        /// What was saved.
        mark: super::Mark,
        /// How it went.
        result: Result<(), Error>,
    },
    /// The session was put aside in case the program is killed.
    Autosaved {
        /// What was saved.
        mark: super::Mark,
        /// How it went.
        result: Result<(), Error>,
    },
    /// A session was read.
    Opened {
        /// The file.
        path: PathBuf,
        /// Whether it was put aside by a program that was killed.
        recovered: bool,
        /// What it holds.
        result: Result<Box<Session>, Error>,
    },
    /// A view was exported.
    Exported {
        /// The file.
        path: PathBuf,
        /// What a reader should know of it.
        result: Result<Vec<String>, Error>,
    },
}

/// The thread. It finishes what it has begun when the handle is dropped.
pub(super) struct FilesWorker {
    jobs: Option<Sender<FileJob>>,
    done: Receiver<FileDone>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl FilesWorker {
    /// Starts the thread; `wake` is called when something is done.
    pub(super) fn start(wake: impl Fn() + Send + 'static) -> Self {
        let (jobs, inbox) = channel::<FileJob>();
        let (outbox, done) = channel();
        let thread = std::thread::spawn(move || {
            for job in inbox {
                if outbox.send(carry_out(job)).is_err() {
                    return;
                }
                wake();
            }
        });
        Self { jobs: Some(jobs), done, thread: Some(thread) }
    }

    pub(super) fn submit(&self, job: FileJob) {
        if let Some(jobs) = &self.jobs {
            // The thread ends only with this handle.
            let _ = jobs.send(job);
        }
    }

    pub(super) fn poll(&self) -> Option<FileDone> {
        self.done.try_recv().ok()
    }
}

impl Drop for FilesWorker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A file that is being written is written to its end.
            let _ = thread.join();
        }
    }
}

fn carry_out(job: FileJob) -> FileDone {
    match job {
        FileJob::Save { session, kept, path, mark } => {
            let result = write_session(&session, kept, &path).map_err(Error::from);
            FileDone::Saved { path, kept, mark, result }
        }
        FileJob::Autosave { session, kept, path, mark } => {
            let result = write_session(&session, kept, &path).map_err(Error::from);
            FileDone::Autosaved { mark, result }
        }
        FileJob::Open { path, recovered } => {
            let result = read_session(&path).map(Box::new).map_err(Error::from);
            FileDone::Opened { path, recovered, result }
        }
        FileJob::Export { choice, of, path } => {
            let result = choice.write(&of, &path).map_err(Error::from);
            FileDone::Exported { path, result }
        }
    }
}
