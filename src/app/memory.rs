//! Looks at this process's resident memory, away from the window's thread.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};

/// Smaller changes are not worth a repaint.
const WORTH_SHOWING_BYTES: u64 = 1 << 20;

/// A thread that reports resident memory when it changed. It ends with the handle.
pub(super) struct MemoryWatch(Receiver<u64>);

impl MemoryWatch {
    /// Starts the thread; `wake` is called after each report.
    #[must_use]
    pub(super) fn start(wake: impl Fn() + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let Ok(pid) = sysinfo::get_current_pid() else { return };
            let Ok(mut system) = System::new() else { return };
            let mut last = 0;
            loop {
                let what = ProcessRefreshKind::nothing().with_memory();
                system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, what);
                let now = system.process(pid).map_or(0, sysinfo::Process::memory);
                if now.abs_diff(last) >= WORTH_SHOWING_BYTES {
                    last = now;
                    if sender.send(now).is_err() {
                        return;
                    }
                    wake();
                }
                std::thread::sleep(Duration::from_secs(1));
            }
        });
        Self(receiver)
    }

    /// The latest report that was not seen yet.
    #[must_use]
    pub(super) fn latest(&self) -> Option<u64> {
        self.0.try_iter().last()
    }
}
