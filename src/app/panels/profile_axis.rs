//! The axes of the mass profile's plot: the logarithmic range, ticks and their labels, the tail that is n/a.

use crate::analysis::Detection;
use crate::app::format;
use egui_plot::GridMark;

/// The y axis in log₁₀ units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LogRange {
    /// Its lower end.
    pub(super) low: f64,
    /// Its upper end.
    pub(super) high: f64,
}

impl LogRange {
    /// A range that holds every positive value, with room for labels above. The line at the usual
    /// threshold is inside too, so that it can be reached.
    pub(super) fn of(values: &[Option<f64>], detection: &Detection) -> Self {
        let usual = detection.median_ln + crate::analysis::DEFAULT_THRESHOLD * detection.sigma_ln;
        let logs = values.iter().flatten().filter(|&&v| v > 0.0 && v.is_finite()).map(|v| v.log10());
        let (low, high) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if !low.is_finite() {
            return Self { low: -2.0, high: 1.0 };
        }
        let high = if detection.tested { high.max(usual / std::f64::consts::LN_10) } else { high };
        // Six decades are as many as can be read; what underflowed is drawn at the floor.
        let low = low.max(high - 6.0) - 0.15;
        Self { low, high: high + 0.14 * (high - low) + 0.05 }
    }
}

impl LogRange {
    /// Grown so that one more positive value is inside.
    pub(super) fn with(self, value: f64) -> Self {
        let log = if value > 0.0 { value.log10() } else { self.low };
        Self { low: self.low, high: self.high.max(log + 0.14 * (log - self.low).max(0.0) + 0.05) }
    }
}

/// The first key of the n/a region at the end, if there is one.
pub(super) fn first_of_tail(values: &[Option<f64>]) -> Option<usize> {
    let tail = values.iter().rev().take_while(|value| value.is_none()).count();
    (tail > 0).then(|| values.len() - tail)
}

/// Grid marks at decades, and finer ones between.
pub(super) fn decades((low, high): (f64, f64)) -> Vec<GridMark> {
    let mut marks = Vec::new();
    // A label must not stick out of the plot.
    let room = 0.03 * (high - low);
    let inside = |value: f64| value >= low + room && value <= high - room;
    for decade in low.floor() as i32..=high.ceil() as i32 {
        if inside(f64::from(decade)) {
            marks.push(GridMark { value: f64::from(decade), step_size: 1.0 });
        }
        let digits = (2..10).map(|digit| f64::from(decade) + f64::from(digit).log10());
        marks.extend(digits.map(|value| GridMark { value, step_size: 0.04 }));
    }
    marks
}

/// Grid marks at 1, 2 and 5 times powers of ten, all with labels: for ranges of few decades.
pub(super) fn thirds((low, high): (f64, f64)) -> Vec<GridMark> {
    let decades = low.floor() as i32..=high.ceil() as i32;
    let mark = |decade: i32, digit: f64| GridMark {
        value: f64::from(decade) + digit.log10(),
        step_size: if digit == 1.0 { 1.0 } else { 0.3 },
    };
    let marks = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| mark(decade, digit)));
    marks.filter(|mark| mark.value >= low && mark.value <= high).collect()
}

/// The label of a mark of [`thirds`].
pub(super) fn third_tick(log10: f64) -> String {
    let value = 10_f64.powf(log10);
    let digits = if log10 < -0.01 { (-log10 - 1e-6).ceil() as usize } else { 0 };
    if (-4.0..5.0).contains(&log10) { format!("{value:.digits$}") } else { tick(log10) }
}

/// Grid marks at round positions, about ten of them.
pub(super) fn positions((low, high): (f64, f64)) -> Vec<GridMark> {
    let step = round_step((high - low) / 10.0);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|i| GridMark { value: i as f64 * step, step_size: step }).collect()
}

/// The smallest of 1, 2, 5, 10, 20, … that is at least `wanted`.
fn round_step(wanted: f64) -> f64 {
    let decade = 10_f64.powf(wanted.max(1.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * decade)
        .find(|&step| step >= wanted)
        .unwrap_or(1.0)
}

/// Only decades carry a label.
pub(super) fn tick(log10: f64) -> String {
    let rounded = log10.round();
    if (log10 - rounded).abs() < 1e-6 { format::decade(rounded as i32) } else { String::new() }
}

/// Positions are whole numbers from 0.
pub(super) fn position_tick(mark: GridMark) -> String {
    if mark.value >= 0.0 && mark.value.fract() == 0.0 { format!("{:.0}", mark.value) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detection() -> Detection {
        let values: Vec<Option<f64>> =
            (1..=40).map(|i| Some(f64::from(i) / 10.0)).chain([Some(300.0)]).collect();
        Detection::of(&values, 3.5)
    }

    #[test]
    fn the_range_does_not_follow_the_line() {
        let values = [Some(0.1), Some(1.0), Some(30.0)];
        let a = LogRange::of(&values, &detection());
        let moved = Detection { threshold: 9.0, line: 1e9, ..detection() };
        assert_eq!(a, LogRange::of(&values, &moved));
        assert!(a.low < -1.0 && a.high > 30_f64.log10());
    }

    #[test]
    fn the_tail_is_what_is_missing_at_the_end() {
        assert_eq!(first_of_tail(&[Some(1.0), None, Some(1.0), None, None]), Some(3));
        assert_eq!(first_of_tail(&[None, Some(1.0)]), None);
    }

    #[test]
    fn steps_are_round() {
        for (wanted, step) in [(0.3, 1.0), (1.1, 2.0), (14.3, 20.0), (50.0, 50.0), (99.0, 100.0)] {
            assert!((round_step(wanted) - step).abs() < 1e-9, "{wanted}: {}", round_step(wanted));
        }
    }

    #[test]
    fn few_decades_are_labelled_at_1_2_and_5() {
        let said: Vec<String> = thirds((-1.5, 1.1)).iter().map(|mark| third_tick(mark.value)).collect();
        assert_eq!(said, ["0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10"]);
    }

    #[test]
    fn only_decades_are_labelled() {
        assert_eq!(tick(-1.0), "0.1");
        assert_eq!(tick(2.0), "100");
        assert_eq!(tick(0.301), "");
    }
}
