//! Prose of the long help and of the man page, which both come from the same sections.

pub(super) const ABOUT: &str = "Lossless streaming compression of checkpoints, with the previous one as reference";

pub(super) const USAGE: &str = "ulp [OPTIONS] [FILE]";

pub(super) const SHORT_END: &str = "\
Compress against the checkpoint before, and back:
  ulp --ref prev.bin < next.bin > d.ulp
  ulp -d --ref prev.bin < d.ulp > next.bin
More: ulp --help";

/// A section after the options.
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) text: &'static str,
    /// Terms and what they mean.
    pub(super) items: &'static [(&'static str, &'static str)],
}

pub(super) const SECTIONS: [Section; 7] = [
    Section {
        title: "Notes",
        text: "The input is read once, from its start to its end, and is never changed or removed. Options may come in \
               any order; after '--' an argument is a FILE. Several streams one after the other decompress to their \
               contents one after the other. Options that only matter for compression are ignored with -d, -t and -l, \
               as tar -I 'ulp -9 --ref prev.tar' needs it. What has been written when the program ends with an error \
               is a true prefix of the content, whole chunks only; a file named with -o is not made or changed then.",
        items: &[],
    },
    Section {
        title: "Examples",
        text: "",
        items: &[
            ("ulp --ref prev.bin < next.bin > d.ulp", "compress against the checkpoint before"),
            ("ulp -d --ref prev.bin < d.ulp > next.bin", "and back"),
            ("ulp -t --ref prev.bin d.ulp", "check without writing anything"),
            ("ulp next.bin -o d.ulp --ref <(fetch prev)", "a reference from a pipe"),
            ("ulp -d --ref prev.bin --tensor 'layer.3.*' d.ulp -o part", "only these tensors"),
            ("ulp -d --chain --ref base.bin d1 d2 d3 > step3.bin", "deltas on deltas"),
            ("ulp apply --in-place prev.bin < d.ulp", "prev.bin becomes next.bin"),
            ("tar -I 'ulp --ref prev.tar' -xf next.tar.ulp", "inside tar, which adds -d"),
        ],
    },
    Section {
        title: "Exit codes",
        text: "",
        items: &[
            ("0", "done"),
            ("1", "usage or environment: a missing file, a full disk, an existing output"),
            ("2", "the input is invalid or truncated, or the reference is not that of the stream"),
            ("3", "the input needs a later version, a missing bank, or more than a limit allows"),
            ("101", "an error of this program; please report it"),
            ("141", "the reader of the output closed it"),
        ],
    },
    Section {
        title: "Summary",
        text: "The line of -v: size of the input → size of the output; ratio: size of the stream over size of the \
               content; speed: content, in units of 10^6 bytes per second.",
        items: &[],
    },
    Section {
        title: "Environment",
        text: "A wrong value is reported and ignored.",
        items: &[
            ("ULP_LEVEL", "level where no flag gives one, 1 to 9"),
            ("ULP_THREADS", "worker threads where -T is not given"),
        ],
    },
    Section {
        title: "Files",
        text: "",
        items: &[
            (
                "FILE.ulp-XXXX",
                "what FILE of -o is called until it is complete; removed after an error and at SIGINT, SIGTERM and SIGHUP",
            ),
            (
                "FILE.ulp-journal",
                "what ulp apply is about to write to FILE; where one is left, the same command completes FILE and removes it",
            ),
        ],
    },
    Section { title: "Signals", text: "", items: &[("SIGUSR1", "prints the progress")] },
];

/// The sections as text, for a terminal.
pub(super) fn long_end() -> String {
    const WIDTH: usize = 13;
    let mut text = String::new();
    for section in &SECTIONS {
        text.push_str(&format!("{}:\n", section.title));
        if !section.text.is_empty() {
            text.push_str(&format!("  {}\n", section.text));
        }
        for (term, meaning) in section.items {
            // Short terms beside their meaning, long ones above it.
            if term.len() < WIDTH {
                text.push_str(&format!("  {term:<WIDTH$}{meaning}\n"));
            } else {
                text.push_str(&format!("  {term}\n  {:WIDTH$}{meaning}\n", ""));
            }
        }
        text.push('\n');
    }
    text
}
