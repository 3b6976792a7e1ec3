//! Speed and time left of a transfer, from successive progress reports. Pure: the caller brings the clock.

use crate::units::format_bytes;
use std::collections::VecDeque;
use std::time::Duration;

/// How far back the speed is averaged.
const WINDOW: Duration = Duration::from_secs(5);
/// Below this span a speed would be noise.
const SHORTEST_SPAN: Duration = Duration::from_millis(250);

/// Speed over the last seconds of a transfer.
///
/// Bytes that were there before the first observation (a resumed transfer) count as done, not as speed.
#[derive(Debug, Clone, Default)]
pub struct TransferRate {
    samples: VecDeque<(Duration, u64)>,
}

impl TransferRate {
    /// A rate that has seen nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in one report: `elapsed` since any fixed start, and the bytes done by then.
    ///
    /// Going back (another file, a transfer that starts over) forgets what was seen.
    pub fn observe(&mut self, elapsed: Duration, done_bytes: u64) {
        if self.samples.back().is_some_and(|&(at, done)| elapsed < at || done_bytes < done) {
            self.samples.clear();
        }
        self.samples.push_back((elapsed, done_bytes));
        while self.samples.len() > 2 && elapsed.saturating_sub(self.samples[1].0) >= WINDOW {
            self.samples.pop_front();
        }
    }

    /// Bytes per second over the window, once it spans a quarter of a second.
    #[must_use]
    pub fn bytes_per_second(&self) -> Option<f64> {
        let (&(start, first), &(end, last)) = (self.samples.front()?, self.samples.back()?);
        let span = end.checked_sub(start).filter(|span| *span >= SHORTEST_SPAN)?;
        Some((last - first) as f64 / span.as_secs_f64())
    }

    /// Time until `total_bytes` are done at this speed; nothing while it stands still.
    #[must_use]
    pub fn time_left(&self, total_bytes: u64) -> Option<Duration> {
        let speed = self.bytes_per_second().filter(|speed| *speed > 0.0)?;
        let left = total_bytes.saturating_sub(self.samples.back()?.1);
        Duration::try_from_secs_f64(left as f64 / speed).ok()
    }

    /// One short line, for example `61 of 88 MiB · 5.1 MiB/s · 16 s left`.
    #[must_use]
    pub fn describe(&self, done_bytes: u64, total_bytes: Option<u64>) -> String {
        let amount = match total_bytes {
            Some(total) => amount(&format_bytes(done_bytes), &format_bytes(total)),
            None => format_bytes(done_bytes),
        };
        let speed = self.bytes_per_second().map(|speed| format!("{}/s", format_bytes(speed as u64)));
        let left = total_bytes.and_then(|total| self.time_left(total));
        let left = left.map(|left| format!("{} left", duration_in_words(left)));
        [Some(amount), speed, left].into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }
}

/// `61 of 88 MiB`; with both units where they differ.
fn amount(done: &str, total: &str) -> String {
    let unit = |text: &str| text.rsplit_once(' ').map(|(number, unit)| (number.to_owned(), unit.to_owned()));
    match (unit(done), unit(total)) {
        (Some((number, one)), Some((_, other))) if one == other => format!("{number} of {total}"),
        _ => format!("{done} of {total}"),
    }
}

fn duration_in_words(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().ceil() as u64;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn nothing_is_claimed_before_there_is_something_to_measure() {
        let mut rate = TransferRate::new();
        assert_eq!(rate.bytes_per_second(), None);
        rate.observe(at(0), 5);
        rate.observe(at(100), 500);
        assert_eq!(rate.bytes_per_second(), None);
        assert_eq!(rate.time_left(1000), None);
        assert_eq!(rate.describe(500, None), "500 B");
    }

    #[test]
    fn a_resumed_transfer_counts_only_what_arrives() {
        let mut rate = TransferRate::new();
        rate.observe(at(0), 60_000_000);
        rate.observe(at(2000), 64_000_000);
        assert_eq!(rate.bytes_per_second(), Some(2e6));
        assert_eq!(rate.time_left(92_000_000), Some(Duration::from_secs(14)));
        assert_eq!(rate.describe(64_000_000, Some(92_000_000)), "61 of 88 MiB · 1.9 MiB/s · 14 s left");
    }

    #[test]
    fn the_speed_forgets_what_is_older_than_the_window() {
        let mut rate = TransferRate::new();
        for second in 0..=10 {
            rate.observe(at(second * 1000), second * 1_000_000);
        }
        for second in 11..=16 {
            rate.observe(at(second * 1000), 10_000_000);
        }
        assert_eq!(rate.bytes_per_second(), Some(0.0));
        assert_eq!(rate.time_left(20_000_000), None);
    }

    #[test]
    fn another_file_starts_anew() {
        let mut rate = TransferRate::new();
        rate.observe(at(0), 0);
        rate.observe(at(1000), 9_000_000);
        rate.observe(at(1100), 10);
        assert_eq!(rate.bytes_per_second(), None);
    }

    #[test]
    fn long_waits_are_in_minutes_and_hours() {
        assert_eq!(duration_in_words(Duration::from_secs(59)), "59 s");
        assert_eq!(duration_in_words(Duration::from_secs(125)), "2 min 5 s");
        assert_eq!(duration_in_words(Duration::from_mins(121)), "2 h 1 min");
    }

    proptest! {
        #[test]
        fn a_steady_transfer_has_its_speed_and_its_time_left(
            speed in 1_000_u64..100_000_000, start in 0_u64..1_000_000_000, ticks in 4_usize..200,
        ) {
            let mut rate = TransferRate::new();
            let mut done = start;
            for tick in 0..ticks {
                done = start + speed * tick as u64 / 10;
                rate.observe(at(tick as u64 * 100), done);
            }
            let measured = rate.bytes_per_second().unwrap();
            // Each sample is rounded down to a whole byte, over at least 0.3 s.
            prop_assert!((measured - speed as f64).abs() <= 1.0 / 0.3 + 1e-6 * speed as f64);
            let left = rate.time_left(done + speed * 10).unwrap().as_secs_f64();
            prop_assert!((left - 10.0).abs() < 0.1, "{}", left);
        }
    }
}
