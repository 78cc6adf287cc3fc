//! The end of `-v`: what was done, as a line for people or, with `--json`, as one JSON object.

use serde_json::{Value, json};
use ulpack::Summary;

use super::progress::Progress;

/// The object.
pub(super) fn object(subject: &str, summary: &Summary, progress: &Progress) -> Value {
    let frozen = summary.frozen.map(|frozen| {
        json!({
            "content_bytes": frozen.content_bytes,
            "refused_bytes": frozen.refused_bytes,
            "frozen_cost": frozen.frozen_cost,
            "inline_cost": frozen.inline_cost,
            "loss": frozen.frozen_cost as f64 / frozen.inline_cost.max(1) as f64 - 1.0,
        })
    });
    json!({
        "file": subject,
        "content_bytes": summary.content_bytes,
        "coded_bytes": summary.coded_bytes,
        "chunks": summary.chunks,
        "content_crc": format!("{:08x}", summary.content_crc),
        "identical": summary.identical,
        "missing": summary.missing,
        "seconds": progress.elapsed().as_secs_f64(),
        "frozen": frozen,
    })
}
