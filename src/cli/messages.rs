//! Messages, all on standard error.

use std::ffi::OsStr;
use std::io::{self, Write};

/// Prints one message. Standard error may be closed or full; then there is nobody to tell.
pub(super) fn say(text: &str) {
    let _ = io::stderr().write_all(format!("ulp: {text}\n").as_bytes());
}

/// Prints one line for programs.
pub(super) fn tell(line: &str) {
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// A file's name as messages show it: control characters, which would garble a terminal or forge a second line, are escaped.
pub(super) fn shown(name: &OsStr) -> String {
    let mut text = String::new();
    for c in name.to_string_lossy().chars() {
        if c.is_control() {
            text.extend(c.escape_default());
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_on_one_line() {
        assert_eq!(shown(OsStr::new("é a\nb\u{1b}[2J")), "é a\\nb\\u{1b}[2J");
    }
}
