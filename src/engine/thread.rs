//! The thread behind [`Engine`]: one running job, one waiting slot, the latest wins.

use super::jobs::{analyze, check_memory_with, evict, open_model, tokenize};
use super::listing::{Listings, MakeLocator};
use super::{Event, Job, JobId};
use crate::capture::PrefillOptions;
use crate::model::source::Locator;
use crate::model::{LoadedModel, ModelError};
use crate::progress::{CancelToken, Progress, Reporter};
use crate::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

type Wake = Arc<dyn Fn() + Send + Sync>;

/// A handle on the engine thread. Dropping it cancels what runs and ends the thread.
pub struct Engine {
    shared: Arc<Shared>,
    events: Receiver<(JobId, Event)>,
    sender: Sender<(JobId, Event)>,
    wake: Wake,
    listings: Mutex<Listings>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    last_id: u64,
    running: Option<(bool, CancelToken)>,
    waiting: Option<(JobId, Job)>,
    /// A run that was asked for while an open job still waits.
    after_open: Option<(JobId, Job)>,
    closed: bool,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Starts the thread. `wake` is called after every event, from the engine's threads.
    #[must_use]
    pub fn start(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self::start_with(Locator::from_environment, wake)
    }

    /// Starts the thread with another way to find models, given whether the network is off limits.
    #[must_use]
    pub fn start_with(
        locator: impl Fn(bool) -> Locator + Send + Sync + 'static,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        let (sender, events) = channel();
        let (locator, wake): (MakeLocator, Wake) = (Arc::new(locator), Arc::new(wake));
        let listings = Mutex::new(Listings::new(Arc::clone(&locator)));
        let worker = Worker {
            shared: Arc::clone(&shared),
            sender: sender.clone(),
            wake: Arc::clone(&wake),
            model: None,
        };
        let run = move || worker.run(&*locator);
        let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(run);
        Self { shared, events, sender, wake, listings, thread: thread.ok() }
    }

    /// Hands in a job. It takes the place of one that waits, and cancels one that runs, except that
    /// a run waits for the model that is being opened.
    pub fn submit(&self, job: Job) -> JobId {
        let mut queue = self.shared.queue();
        queue.last_id += 1;
        let id = JobId(queue.last_id);
        if matches!(job, Job::List { .. }) {
            drop(queue);
            let reporter = JobReporter { id, sender: self.sender.clone(), wake: Arc::clone(&self.wake) };
            self.listings.lock().unwrap_or_else(PoisonError::into_inner).start(job, reporter);
            return id;
        }
        let opens = matches!(job, Job::Open { .. });
        if let Some((running_opens, cancel)) = &queue.running
            && (opens || !running_opens)
        {
            cancel.cancel();
        }
        // A run must not push out the open job that it needs.
        if !opens && matches!(&queue.waiting, Some((_, Job::Open { .. }))) {
            queue.after_open = Some((id, job));
        } else {
            queue.waiting = Some((id, job));
            queue.after_open = None;
        }
        self.shared.changed.notify_all();
        id
    }

    /// Cancels what runs and forgets what waits.
    pub fn cancel(&self) {
        let mut queue = self.shared.queue();
        queue.waiting = None;
        queue.after_open = None;
        if let Some((_, cancel)) = &queue.running {
            cancel.cancel();
        }
    }

    /// The next event, if there is one.
    #[must_use]
    pub fn try_recv(&self) -> Option<(JobId, Event)> {
        self.events.try_recv().ok()
    }

    /// The next event, waited for.
    #[must_use]
    pub fn recv_timeout(&self, timeout: std::time::Duration) -> Option<(JobId, Event)> {
        self.events.recv_timeout(timeout).ok()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.cancel();
        self.shared.queue().closed = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It only fails when the thread panicked, which was reported as an event.
            let _ = thread.join();
        }
    }
}

struct Worker {
    shared: Arc<Shared>,
    sender: Sender<(JobId, Event)>,
    wake: Wake,
    model: Option<LoadedModel>,
}

impl Worker {
    fn run(mut self, locator: &dyn Fn(bool) -> Locator) {
        while let Some((id, job, cancel)) = self.next() {
            let reporter = JobReporter { id, sender: self.sender.clone(), wake: Arc::clone(&self.wake) };
            let result = catch_unwind(AssertUnwindSafe(|| self.run_job(job, locator, &reporter, &cancel)));
            self.shared.queue().running = None;
            let result = result.unwrap_or_else(|panic| Err(Error::Panic(panic_message(&*panic))));
            if let Err(error) = result {
                reporter.send(Event::Failed(error));
            }
        }
    }

    /// Waits for a job; `None` when the engine is dropped.
    fn next(&self) -> Option<(JobId, Job, CancelToken)> {
        let mut queue = self.shared.queue();
        loop {
            if queue.closed {
                return None;
            }
            if let Some((id, job)) = queue.waiting.take() {
                queue.waiting = queue.after_open.take();
                let cancel = CancelToken::new();
                queue.running = Some((matches!(job, Job::Open { .. }), cancel.clone()));
                return Some((id, job, cancel));
            }
            queue = self.shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn run_job(
        &mut self,
        job: Job,
        locator: &dyn Fn(bool) -> Locator,
        reporter: &JobReporter,
        cancel: &CancelToken,
    ) -> Result<()> {
        match job {
            Job::Open { model, offline, options } => {
                let opened = open_model(&locator(offline), &model, options, reporter, cancel)?;
                reporter.send(Event::ModelReady(Arc::clone(&opened.info)));
                self.model = Some(opened);
            }
            // Runs beside this thread.
            Job::List { .. } => {}
            Job::Analyze { prompt, bos, spare_bytes } => {
                let model = self.model.as_ref().ok_or(ModelError::NotOpen)?;
                let tokens = Arc::new(tokenize(&model.tokenizer, &model.info.spec, &prompt, bos)?);
                let plan = check_memory_with(model, tokens.len(), spare_bytes)?;
                reporter.send(Event::TokensReady(Arc::clone(&tokens), plan));
                let done = analyze(model, &tokens, PrefillOptions::default(), reporter, cancel)?;
                reporter.send(Event::CaptureReady(Arc::new(done.capture)));
            }
            Job::Evict { capture, cases, detector } => {
                let model = self.model.as_ref().ok_or(ModelError::NotOpen)?;
                for (index, case) in cases.iter().enumerate() {
                    let mut emit = |point| reporter.send(Event::CurvePoint { case: index, point });
                    let run = evict(model, &capture, case, &detector, &mut emit, cancel)?;
                    reporter.send(Event::RunDone { case: index, run: Arc::new(run) });
                }
            }
        }
        Ok(())
    }
}

/// Sends a job's reports as events.
pub(super) struct JobReporter {
    id: JobId,
    sender: Sender<(JobId, Event)>,
    wake: Wake,
}

impl JobReporter {
    pub(super) fn send(&self, event: Event) {
        // Nobody listens any more when the window is closing.
        let _ = self.sender.send((self.id, event));
        (self.wake)();
    }
}

impl Reporter for JobReporter {
    fn progress(&self, progress: Progress) {
        self.send(Event::Progress(progress));
    }

    fn notice(&self, line: &str) {
        self.send(Event::Notice(line.to_owned()));
    }
}

pub(super) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}
