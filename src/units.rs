//! Bytes as people read them: one way for the window, the terminal and every message.

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
const GIB: f64 = 1024.0 * MIB;

/// Bytes in binary units, for example `512 B`, `9.5 MiB`, `514 MiB`, `4.58 GiB`.
#[must_use]
pub fn format_bytes(bytes: u64) -> String {
    let exact = bytes as f64;
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..0x10_0000 => format!("{:.0} KiB", exact / KIB),
        0x10_0000..0x00a0_0000 => format!("{:.1} MiB", exact / MIB),
        0x00a0_0000..0x4000_0000 => format!("{:.0} MiB", exact / MIB),
        0x4000_0000..0x0002_8000_0000 => format!("{:.2} GiB", exact / GIB),
        _ => format!("{:.1} GiB", exact / GIB),
    }
}

/// The same for a need, rounded up so that it is never understated.
#[must_use]
pub fn format_bytes_needed(bytes: u64) -> String {
    let step: u64 = if bytes < 1 << 30 { 1 << 20 } else { 1 << 24 };
    format_bytes(bytes.checked_next_multiple_of(step).unwrap_or(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_magnitude_has_its_unit() {
        for (bytes, said) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1 KiB"),
            (1 << 20, "1.0 MiB"),
            (10 << 20, "10 MiB"),
            (538_000_000, "513 MiB"),
            (1 << 30, "1.00 GiB"),
            (4_920_000_000, "4.58 GiB"),
            (20 << 30, "20.0 GiB"),
        ] {
            assert_eq!(format_bytes(bytes), said);
        }
    }

    #[test]
    fn a_need_is_never_understated() {
        assert_eq!(format_bytes_needed(1), "1.0 MiB");
        assert_eq!(format_bytes_needed((512 << 20) + 1), "513 MiB");
        assert_eq!(format_bytes_needed((1 << 30) + 1), "1.02 GiB");
        assert!(format_bytes_needed(u64::MAX).ends_with("GiB"));
    }
}
