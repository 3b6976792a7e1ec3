//! Numbers as the window writes them: short, of steady width, with their unit.

use crate::analysis::ProfileKind;

pub(super) use crate::units::format_bytes as bytes;

/// A duration, for example "12 ms" or "1.59 s".
#[must_use]
pub(super) fn millis(ms: f64) -> String {
    match ms {
        ..1.0 => format!("{ms:.2} ms"),
        ..1000.0 => format!("{ms:.0} ms"),
        ..100_000.0 => format!("{:.2} s", ms / 1e3),
        _ => format!("{:.0} s", ms / 1e3),
    }
}

/// A count with thin thousands, for example "134 515 008".
#[must_use]
pub(super) fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// Parameters in short, for example "135 M".
#[must_use]
pub(super) fn parameters(count: u64) -> String {
    match count {
        0..10_000_000 => format!("{:.2} M", count as f64 / 1e6),
        10_000_000..1_000_000_000 => format!("{:.0} M", count as f64 / 1e6),
        _ => format!("{:.2} B", count as f64 / 1e9),
    }
}

/// A positive number with three significant digits and no exponent where it is near 1.
#[must_use]
pub(super) fn significant(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        ..1e-4 => format!("{value:.1e}"),
        ..0.0095 => format!("{value:.5}"),
        ..0.0995 => format!("{value:.4}"),
        ..0.995 => format!("{value:.3}"),
        ..9.95 => format!("{value:.2}"),
        ..99.5 => format!("{value:.1}"),
        ..1e5 => format!("{value:.0}"),
        _ => format!("{value:.1e}"),
    }
}

/// A profile's value without its unit: a percentage for shares.
#[must_use]
pub(super) fn profile_value(kind: ProfileKind, value: Option<f64>) -> String {
    match (kind, value) {
        (_, None) => "n/a".to_owned(),
        (ProfileKind::Share, Some(value)) => percent(value),
        (_, Some(value)) => significant(value),
    }
}

/// A share as a percentage.
#[must_use]
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 9.95 || percent == 0.0 { format!("{percent:.0}%") } else { format!("{percent:.1}%") }
}

/// z with a sign that keeps its width.
#[must_use]
pub(super) fn z(z: Option<f64>) -> String {
    z.map_or_else(|| "n/a".to_owned(), |z| format!("{z:+.1}").replace('-', "−"))
}

/// A power of ten as a tick label: plain where short, `10ⁿ` otherwise.
#[must_use]
pub(super) fn decade(exponent: i32) -> String {
    match exponent {
        -3..=-1 => format!("{:.*}", exponent.unsigned_abs() as usize, 10_f64.powi(exponent)),
        0..=4 => format!("{}", 10_u32.pow(exponent.unsigned_abs())),
        _ => format!("1e{exponent}").replace('-', "−"),
    }
}

/// The beginning and the end of a text that is too long: file names differ at their ends.
#[must_use]
pub(super) fn shorten(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let head = most.saturating_sub(1) / 2;
    let tail = most.saturating_sub(1) - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(millis(0.25), "0.25 ms");
        assert_eq!(millis(1590.0), "1.59 s");
        assert_eq!(count(134_515_008), "134\u{202f}515\u{202f}008");
        assert_eq!(count(12), "12");
        assert_eq!(parameters(134_515_008), "135 M");
        assert_eq!(percent(0.398), "40%");
        assert_eq!(percent(0.0643), "6.4%");
        assert_eq!(z(Some(-1.23)), "−1.2");
        assert_eq!(z(None), "n/a");
    }

    #[test]
    fn significant_digits_survive_every_magnitude() {
        for (value, said) in [
            (0.0, "0"),
            (22.936, "22.9"),
            (0.168_4, "0.168"),
            (0.057_4, "0.0574"),
            (4.89, "4.89"),
            (3.0e-7, "3.0e-7"),
        ] {
            assert_eq!(significant(value), said);
        }
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("abcdefghij", 10), "abcdefghij");
        assert_eq!(shorten("abcdefghijk", 7), "abc…ijk");
        assert_eq!(shorten("abc", 0), "…");
    }

    #[test]
    fn decades_are_plain_where_short() {
        let said: Vec<String> = [-5, -2, -1, 0, 1, 3, 6].into_iter().map(decade).collect();
        assert_eq!(said, ["1e−5", "0.01", "0.1", "1", "10", "1000", "1e6"]);
    }
}
