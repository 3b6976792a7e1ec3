//! The date for templates that write it (`strftime_now`).

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_A_DAY: u64 = 86_400;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// Now, in UTC, in Python's `strftime` notation.
pub(super) fn strftime_now(format: &str) -> String {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    strftime(format, since_epoch.as_secs())
}

/// A time in seconds since 1970 in UTC; directives that no template uses stay as they are.
fn strftime(format: &str, seconds: u64) -> String {
    let days = seconds / SECONDS_A_DAY;
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let (year, month, day) = date_of(days);
    let month_name = MONTHS[month - 1];
    let day_name = DAYS[usize::try_from(days % 7).expect("below 7")];
    let mut out = String::new();
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let written = match rest.next() {
            Some('Y') => write!(out, "{year}"),
            Some('m') => write!(out, "{month:02}"),
            Some('d') => write!(out, "{day:02}"),
            Some('B') => write!(out, "{month_name}"),
            Some('b') => write!(out, "{}", &month_name[..3]),
            Some('A') => write!(out, "{day_name}"),
            Some('a') => write!(out, "{}", &day_name[..3]),
            Some('H') => write!(out, "{hour:02}"),
            Some('M') => write!(out, "{minute:02}"),
            Some('S') => write!(out, "{second:02}"),
            None | Some('%') => write!(out, "%"),
            Some(other) => write!(out, "%{other}"),
        };
        written.expect("a String takes everything");
    }
    out
}

/// Year, month (1 to 12) and day of a number of days since 1970 in the Gregorian calendar.
fn date_of(mut days: u64) -> (u64, usize, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::strftime;

    /// Reference: Python's `datetime.fromtimestamp(…, UTC).strftime(…)`.
    #[test]
    fn dates_are_pythons() {
        let long = "%A %a %d %B %b %Y-%m-%d %H:%M:%S 100%% %q";
        assert_eq!(strftime(long, 0), "Thursday Thu 01 January Jan 1970-01-01 00:00:00 100% %q");
        assert_eq!(strftime(long, 951_827_696), "Tuesday Tue 29 February Feb 2000-02-29 12:34:56 100% %q");
        assert_eq!(strftime("%d %b %Y", 4_107_542_399), "28 Feb 2100");
        assert_eq!(strftime("%d %b %Y", 4_107_542_400), "01 Mar 2100");
        assert_eq!(strftime("%d %B %Y %A", 1_798_761_599), "31 December 2026 Thursday");
    }
}
