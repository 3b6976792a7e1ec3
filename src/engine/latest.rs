//! A thread that answers questions, the latest of them only.

use crate::progress::CancelToken;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A handle on the thread. A new question cancels the one before; dropping the handle ends the thread.
#[derive(Debug)]
pub struct LatestWorker<Q, A> {
    questions: Sender<(Q, CancelToken)>,
    answers: Receiver<A>,
    running: CancelToken,
}

impl<Q: Send + 'static, A: Send + 'static> LatestWorker<Q, A> {
    /// Starts the thread. `answer` gives up with `None` when its token is raised; `wake` is called
    /// whenever there is something to poll.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn spawn(
        name: &str,
        answer: impl Fn(&Q, &CancelToken) -> Option<A> + Send + 'static,
        wake: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        let (questions, inbox) = channel::<(Q, CancelToken)>();
        let (outbox, answers) = channel();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            while let Ok(first) = inbox.recv() {
                let (question, cancel) = inbox.try_iter().last().unwrap_or(first);
                // What panics has no answer; the thread lives on.
                let answered = catch_unwind(AssertUnwindSafe(|| answer(&question, &cancel)));
                drop(question);
                match answered {
                    Ok(Some(answer)) => {
                        if outbox.send(answer).is_err() {
                            return;
                        }
                        wake();
                    }
                    Ok(None) => {}
                    Err(_) => tracing::error!("answering a question panicked"),
                }
            }
        })?;
        Ok(Self { questions, answers, running: CancelToken::new() })
    }

    /// Asks; what was asked before is dropped.
    pub fn ask(&mut self, question: Q) {
        self.running.cancel();
        self.running = CancelToken::new();
        // The thread only ends when this handle is dropped.
        let _ = self.questions.send((question, self.running.clone()));
    }

    /// The next answer, if there is one; never blocks.
    #[must_use]
    pub fn poll(&self) -> Option<A> {
        self.answers.try_recv().ok()
    }
}

impl<Q, A> Drop for LatestWorker<Q, A> {
    fn drop(&mut self) {
        self.running.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_latest_question_is_answered_and_a_panic_ends_nothing() {
        let (woken, wakes) = channel();
        let answer = |question: &u32, cancel: &CancelToken| {
            assert_ne!(*question, 1, "this one panics");
            (!cancel.is_cancelled()).then_some(question * 10)
        };
        let mut worker = LatestWorker::spawn("test", answer, move || {
            let _ = woken.send(());
        })
        .expect("a thread");
        for question in [1, 2, 3] {
            worker.ask(question);
        }
        let mut answers = Vec::new();
        while answers.last() != Some(&30) {
            wakes.recv_timeout(Duration::from_secs(20)).expect("a wake");
            answers.extend(worker.poll());
        }
        assert!(answers.iter().all(|answer| [20, 30].contains(answer)), "{answers:?}");
    }
}
