//! The running job: what it does, how far it is, how long it will take.

use super::format;
use crate::engine::JobId;
use crate::model::source::TransferRate;
use crate::progress::{Progress, ProgressUnit};
use std::time::{Duration, Instant};

/// A job that the engine works on.
#[derive(Debug, Clone)]
pub struct RunningJob {
    /// Which one; events of others are stale.
    pub id: JobId,
    /// Whether it loads a model (else it runs the prompt).
    pub opens_a_model: bool,
    /// Whether it was asked to stop.
    pub cancelling: bool,
    /// What it last reported.
    pub progress: Option<Progress>,
    stage_began: Instant,
    done_at_begin: u64,
    time_left: Option<Duration>,
    rate: TransferRate,
}

impl RunningJob {
    /// A job that was just handed over.
    #[must_use]
    pub fn new(id: JobId, opens_a_model: bool) -> Self {
        Self {
            id,
            opens_a_model,
            cancelling: false,
            progress: None,
            stage_began: Instant::now(),
            done_at_begin: 0,
            time_left: None,
            rate: TransferRate::new(),
        }
    }

    /// Notes a report, and reckons how long the stage will take at its mean speed.
    pub fn note(&mut self, progress: Progress) {
        let same_stage = self.progress.as_ref().is_some_and(|last| last.stage == progress.stage);
        if !same_stage {
            self.stage_began = Instant::now();
            self.done_at_begin = progress.done;
            self.rate = TransferRate::new();
        }
        if progress.unit == ProgressUnit::Bytes {
            self.rate.observe(self.stage_began.elapsed(), progress.done);
        }
        self.time_left = remaining(self.stage_began.elapsed(), self.done_at_begin, &progress);
        self.progress = Some(progress);
    }

    /// How much is done, 0…1, where the total is known.
    #[must_use]
    pub fn fraction(&self) -> Option<f32> {
        let progress = self.progress.as_ref()?;
        let total = progress.total.filter(|&total| total > 0)?;
        Some((progress.done as f64 / total as f64).clamp(0.0, 1.0) as f32)
    }

    /// What it does, for example "Prefill · layer 12 of 30 · 2 s left".
    #[must_use]
    pub fn line(&self) -> String {
        self.line_within(usize::MAX)
    }

    /// The same in at most so many characters, as far as shortening what it does helps: how far it is and how long
    /// it will take matter more.
    #[must_use]
    pub fn line_within(&self, most: usize) -> String {
        if self.cancelling {
            return "Cancelling…".to_owned();
        }
        let Some(progress) = &self.progress else { return "Starting…".to_owned() };
        let amount = if progress.unit == ProgressUnit::Bytes {
            Some(self.rate.describe(progress.done, progress.total))
        } else {
            let left = self.time_left.map(time_left);
            let said: Vec<String> = amount(progress).into_iter().chain(left).collect();
            (!said.is_empty()).then(|| said.join(" · "))
        };
        let Some(amount) = amount else { return progress.stage.clone() };
        let room = most.saturating_sub(amount.chars().count() + 3).max(16);
        format!("{} · {amount}", format::shorten(&progress.stage, room))
    }
}

fn remaining(elapsed: Duration, done_at_begin: u64, progress: &Progress) -> Option<Duration> {
    let total = progress.total?;
    let done = progress.done.checked_sub(done_at_begin).filter(|&done| done > 0)?;
    let left = total.saturating_sub(progress.done);
    // Too early to tell.
    (elapsed > Duration::from_millis(200))
        .then(|| elapsed.mul_f64(left as f64 / done as f64))
        .filter(|left| *left < Duration::from_hours(24))
}

fn amount(progress: &Progress) -> Option<String> {
    match (progress.unit, progress.total) {
        (ProgressUnit::Layers, Some(total)) => Some(format!("layer {} of {total}", progress.done)),
        (ProgressUnit::Tensors, Some(total)) => Some(format!("tensor {} of {total}", progress.done)),
        (ProgressUnit::Rows, Some(total)) => Some(format!("row {} of {total}", progress.done)),
        (ProgressUnit::Bytes, _) | (_, None) => None,
    }
}

fn time_left(left: Duration) -> String {
    let seconds = left.as_secs();
    match seconds {
        0 => "under 1 s left".to_owned(),
        1..=89 => format!("{seconds} s left"),
        90..=5399 => format!("{} min left", (seconds + 30) / 60),
        _ => format!("{} h left", (seconds + 1800) / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(done: u64, total: Option<u64>, unit: ProgressUnit) -> Progress {
        Progress { stage: "Prefill".to_owned(), done, total, unit }
    }

    #[test]
    fn time_left_follows_the_mean_speed_since_the_stage_began() {
        let report = progress(30, Some(60), ProgressUnit::Layers);
        let left = remaining(Duration::from_secs(2), 10, &report);
        assert_eq!(left, Some(Duration::from_secs(3)));
        assert_eq!(remaining(Duration::from_millis(100), 10, &report), None, "too early to tell");
        assert_eq!(remaining(Duration::from_secs(2), 30, &report), None, "nothing done yet");
    }

    #[test]
    fn a_line_says_what_how_much_and_how_long() {
        let mut job = RunningJob::new(JobId(1), false);
        assert_eq!(job.line(), "Starting…");
        job.note(progress(12, Some(30), ProgressUnit::Layers));
        assert_eq!(job.line(), "Prefill · layer 12 of 30");
        job.time_left = Some(Duration::from_millis(2100));
        assert_eq!(job.line(), "Prefill · layer 12 of 30 · 2 s left");
        assert_eq!(job.fraction(), Some(0.4));
        job.note(progress(3 << 20, None, ProgressUnit::Bytes));
        assert_eq!(job.line(), "Prefill · 3.0 MiB");
        assert_eq!(job.fraction(), None);
        let stage = "Downloading a-model-with-quite-a-long-name-Q4_K_M.gguf".to_owned();
        job.note(Progress { stage, done: 1 << 20, total: Some(3 << 20), unit: ProgressUnit::Bytes });
        assert_eq!(job.line_within(44), "Downloading a…e-Q4_K_M.gguf · 1.0 of 3.0 MiB");
        job.cancelling = true;
        assert_eq!(job.line(), "Cancelling…");
    }

    #[test]
    fn times_are_short() {
        for (seconds, said) in
            [(0, "under 1 s left"), (89, "89 s left"), (120, "2 min left"), (7200, "2 h left")]
        {
            assert_eq!(time_left(Duration::from_secs(seconds)), said);
        }
    }
}
