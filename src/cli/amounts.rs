//! Amounts as people read them.

use std::time::Duration;

/// An exact number, in groups of three digits.
pub(super) fn exact(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes in three digits or so, in powers of 1000.
pub(super) fn rough(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1e3;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        // Where two decimals would round up to 1000.
        if value < 999.995 {
            break;
        }
        value /= 1e3;
        unit = next;
    }
    format!("{value:.2} {unit}")
}

/// Bytes of memory, in MiB, rounded up: what `--memory` takes.
pub(super) fn memory(bytes: u64) -> String {
    format!("{} MiB", exact(bytes.div_ceil(1 << 20)))
}

/// Coded size over content size.
pub(super) fn ratio(content: u64, coded: u64) -> String {
    if content == 0 {
        return String::from("-");
    }
    format!("{:.4}", coded as f64 / content as f64)
}

/// A part in percent of the whole.
pub(super) fn share(part: u64, whole: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// How much larger a size is than another, in percent.
pub(super) fn excess(size: u64, other: u64) -> String {
    format!("{:.2} %", 100.0 * (size as f64 / other.max(1) as f64 - 1.0))
}

/// Content bytes per second, in MB/s (10^6 bytes per second).
pub(super) fn speed(content: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(1e-6);
    format!("{:.1} MB/s", content as f64 / seconds / 1e6)
}

/// A time to wait, in hours, minutes and seconds.
pub(super) fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_amounts() {
        assert_eq!(exact(0), "0");
        assert_eq!(exact(999), "999");
        assert_eq!(exact(2_686_976), "2,686,976");
        assert_eq!(rough(999), "999 B");
        assert_eq!(rough(999_994), "999.99 kB");
        assert_eq!(rough(999_999), "1.00 MB");
        assert_eq!(rough(u64::MAX), "18.45 EB");
        assert_eq!(memory((20 << 20) + 1), "21 MiB");
        assert_eq!(ratio(0, 68), "-");
        assert_eq!(ratio(1000, 80), "0.0800");
        assert_eq!(speed(3_000_000, Duration::from_secs(2)), "1.5 MB/s");
        assert_eq!(clock(59), "0:59");
        assert_eq!(clock(3661), "1:01:01");
    }
}
