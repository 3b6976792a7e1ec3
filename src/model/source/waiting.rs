//! Waiting for blocking calls without being held by them.

use crate::progress::{CancelToken, Cancelled};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often a wait looks at the cancel flag: well below the 200 ms in which a job must give up.
pub(super) const POLL: Duration = Duration::from_millis(50);

/// Why a wait ended without a result.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Interrupted {
    Cancelled(Cancelled),
    /// The time was up.
    TooSlow,
    /// The call ended without a result, or could not be started.
    Died,
}

/// Runs a blocking call on a thread of its own and waits for it at most `patience`.
///
/// A call that is given up is left to end by its own timeouts; its result is dropped. This is what bounds a
/// name look-up, which no HTTP client can interrupt.
pub(super) fn wait_for<T: Send + 'static>(
    patience: Duration,
    cancel: &CancelToken,
    call: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Interrupted> {
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::Builder::new()
        .name("source-call".into())
        .spawn(move || drop(sender.send(call())))
        .map_err(|_| Interrupted::Died)?;
    receive(&receiver, patience, cancel)
}

/// Waits for the next message at most `patience`, looking at the cancel flag.
pub(super) fn receive<T>(
    receiver: &mpsc::Receiver<T>,
    patience: Duration,
    cancel: &CancelToken,
) -> Result<T, Interrupted> {
    let deadline = Instant::now() + patience;
    loop {
        cancel.check().map_err(Interrupted::Cancelled)?;
        let left = deadline.saturating_duration_since(Instant::now());
        match receiver.recv_timeout(left.min(POLL)) {
            Ok(message) => return Ok(message),
            Err(RecvTimeoutError::Disconnected) => return Err(Interrupted::Died),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => return Err(Interrupted::TooSlow),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Sleeps, unless somebody asks to stop.
pub(super) fn pause(duration: Duration, cancel: &CancelToken) -> Result<(), Cancelled> {
    let deadline = Instant::now() + duration;
    loop {
        cancel.check()?;
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(POLL));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stuck() {
        std::thread::sleep(Duration::from_secs(60));
    }

    #[test]
    fn a_call_that_never_answers_is_given_up_in_time() {
        let start = Instant::now();
        let result = wait_for(Duration::from_millis(120), &CancelToken::new(), stuck);
        assert_eq!(result, Err(Interrupted::TooSlow));
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn cancelling_ends_the_wait_within_200_ms() {
        let cancel = CancelToken::new();
        let canceller = cancel.clone();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            canceller.cancel();
            Instant::now()
        });
        let result = wait_for(Duration::from_secs(60), &cancel, stuck);
        let ended = Instant::now();
        assert_eq!(result, Err(Interrupted::Cancelled(Cancelled)));
        assert!(ended.duration_since(thread.join().unwrap()) < Duration::from_millis(200));
    }

    #[test]
    fn a_call_that_panics_is_no_hang() {
        let result = wait_for(Duration::from_secs(60), &CancelToken::new(), || panic!("on purpose"));
        assert_eq!(result, Err::<(), _>(Interrupted::Died));
    }
}
