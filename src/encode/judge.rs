//! Whether a kind is coded with frozen banks or with one of its own.

use crate::encode::choose::sample;
use crate::encode::kind::KindPlan;
use crate::encode::level::Level;
use crate::encode::slots::Slots;

/// Elements by which frozen banks are judged, at most.
pub(super) const JUDGED: usize = 1 << 16;

/// Lets a kind use the frozen banks that suit it, and tells their cost, if there are any; not where a bank of its own is clearly better or coding does
/// not pay. `raw`: its bits, in units of 2^−16 bits.
pub(super) fn use_frozen(kind: &mut KindPlan<'_>, level: Level, raw: u64, slots: &mut Slots) -> Option<u64> {
    let given = slots.frozen.file.is_some();
    // What is to be learned is what a bank of its own would hold.
    if slots.learned.is_some() {
        return None;
    }
    if !given && level != Level::Fast && kind.elements() > SMALL_KIND {
        return None;
    }
    let most = if given || level == Level::Fast { level.sample().min(JUDGED) } else { level.sample() };
    let runs = sample(kind, most);
    let (element, reference, count) = (kind.kind.element, kind.kind.reference.is_some(), kind.elements() as u64);
    let verdict = slots.frozen.judge(element, kind.shift, reference, level, &runs, count)?;
    let own = verdict.own.min(raw);
    let pays = verdict.cost < raw - (raw >> 9);
    let content = count * element.width() as u64;
    let margin = match (given, level) {
        (true, _) => own / CLEARLY_WRONG,
        (false, Level::Fast) => own / WORTH_COUNTING,
        _ => 0,
    };
    let refused = !pays || (verdict.cost > own + margin && !slots.frozen.only);
    if given && refused {
        slots.report.refused += content;
    } else if given {
        slots.report.content += content;
        slots.report.frozen += verdict.cost >> 16;
        slots.report.own += own >> 16;
    }
    if refused {
        return None;
    }
    kind.coding = verdict.choices.first().map(|c| c.coding);
    kind.frozen = verdict.choices;
    Some(verdict.cost)
}

/// Elements up to which a built-in bank may cost less than one of its own.
const SMALL_KIND: usize = 1 << 19;

/// A part of the cost that fast levels pay for not having to count.
const WORTH_COUNTING: u64 = 100;

/// A frozen bank that costs more than this part more than one of its own is clearly wrong.
const CLEARLY_WRONG: u64 = 50;
