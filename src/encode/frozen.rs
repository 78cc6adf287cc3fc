//! Banks made beforehand: which of them suit elements, and what they cost beside a bank made for them (coding-model §5).

use std::sync::Arc;

use crate::core::bank::{Bank, TokenClass};
use crate::core::element::ElementType;
use crate::core::model::Model;
use crate::core::pairs::PairTokens;
use crate::core::plain::PlainTokens;
use crate::encode::bank::{Cover, Statistics, covers};
use crate::encode::choose::{MOSTLY_EQUAL, best, equal_eighths, fit_scales, sampled};
use crate::encode::coding::Coding;
use crate::encode::estimate::{self, Run, scaled};
use crate::encode::level::Level;
use crate::encode::pairs::WORTH_SPEED;
use crate::encode::workspace::Workspace;
use crate::wire::bank_file::{BankFile, FileBank};
use crate::wire::built_in;

/// Frozen banks that the chunks of a kind choose among, at most.
const CHOICES: usize = 4;
/// A built-in bank must be so much of the cost better than those of a file.
const PREFERRED: u64 = 200;

/// Where a frozen bank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Number of a built-in bank.
    BuiltIn(u8),
    /// Number of a bank in the file given.
    File(u16),
}

/// A frozen bank, and how elements are coded with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The bank.
    pub origin: Origin,
    /// The coding.
    pub coding: Coding,
}

/// The banks that an encoder may use besides those it makes.
#[derive(Clone, Debug, Default)]
pub struct Frozen {
    /// The user's.
    pub file: Option<Arc<BankFile>>,
    /// Leave the tables of the file's banks out of the stream.
    pub external: bool,
    /// Make no banks, however badly these suit.
    pub only: bool,
    /// Banks of pairs may be used: the stream has them, or has not begun yet.
    pub pairs: bool,
}

/// What frozen banks have cost, and what banks made for the content would have, by samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Bytes of content coded with frozen banks.
    pub content: u64,
    /// Bytes of content that took a bank of their own, although there were frozen ones for them.
    pub refused: u64,
    /// Bits of the content with the frozen banks.
    pub frozen: u64,
    /// Bits of the same content with banks of its own, tables included.
    pub own: u64,
}

/// How a kind is best coded with frozen banks.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The banks, the cheapest first; not empty.
    pub choices: Vec<Choice>,
    /// Cost with the cheapest, in units of 2^−16 bits.
    pub cost: u64,
    /// Cost with a bank made for the kind.
    pub own: u64,
}

impl Choice {
    /// Elements of a symbol.
    fn elements(&self) -> usize {
        self.coding.class.elements()
    }
}

impl Frozen {
    /// The bank of an origin.
    #[must_use]
    pub fn bank(&self, origin: Origin) -> Option<&Bank> {
        match origin {
            Origin::BuiltIn(number) => Some(&built_in::banks().get(usize::from(number))?.bank),
            Origin::File(number) => Some(&self.file.as_ref()?.banks().get(usize::from(number))?.bank),
        }
    }

    /// The codings that banks allow for elements like these.
    fn choices(&self, element: ElementType, shift: u8, reference: bool, masks: bool) -> Vec<Choice> {
        let file = self.file.iter().flat_map(|file| (0..).zip(file.banks())).map(|(n, b)| (Origin::File(n), b));
        let fitting = |(origin, entry): (Origin, &FileBank)| {
            let wanted = match entry.model {
                Model::Plain => !reference,
                Model::Residual => reference && !masks,
                Model::Mask => reference,
            };
            let coding = Coding {
                model: entry.model,
                element,
                shift,
                block: entry.block,
                class: entry.bank.class,
                hold: 0,
                clip: None,
            };
            let wanted = wanted && (self.pairs || entry.bank.class.elements() == 1);
            (wanted && serves(&entry.bank, &coding)).then_some((entry.element == element, Choice { origin, coding }))
        };
        let built_in = (0..).zip(built_in::banks()).map(|(n, b)| (Origin::BuiltIn(n), b));
        let all: Vec<(bool, Choice)> = file.chain(built_in).filter_map(fitting).collect();
        // Banks of other types may do, but those of the same one nearly always do better.
        let own_type = all.iter().any(|(same, _)| *same);
        all.into_iter().filter(|(same, _)| *same || !own_type).map(|(_, choice)| choice).collect()
    }

    /// Costs of `of` elements like the sample with each choice, in units of 2^−16 bits.
    fn costs(&self, choices: &[Choice], runs: &[Run], of: u64, workspace: &mut Workspace) -> Vec<u64> {
        let mut costs = vec![u64::MAX; choices.len()];
        for (i, Choice { coding, .. }) in choices.iter().enumerate() {
            if choices.iter().take(i).any(|choice| choice.coding == *coding) {
                continue;
            }
            with_counts(coding, runs, workspace, |statistics| {
                let raw = statistics.raw(coding);
                for (cost, choice) in costs.iter_mut().zip(choices).filter(|(_, choice)| choice.coding == *coding) {
                    let coded = self.bank(choice.origin).and_then(|bank| statistics.cost(bank, coding));
                    *cost = coded.map_or(u64::MAX, |coded| scaled(coded + raw, sampled(runs, coding.element), of));
                }
            });
        }
        costs
    }

    /// How `of` elements like the sample are best coded with these banks; `None` where there is none for them.
    #[must_use]
    pub fn judge(
        &self,
        element: ElementType,
        shift: u8,
        reference: bool,
        level: Level,
        runs: &[Run],
        of: u64,
    ) -> Option<Verdict> {
        // With a file speed is the aim.
        let search = if self.file.is_some() { Level::Fast } else { level };
        let masks = reference && level == Level::Fast && equal_eighths(runs, element) >= MOSTLY_EQUAL;
        let mut choices = self.choices(element, shift, reference, masks);
        if choices.is_empty() {
            choices = self.choices(element, shift, reference, false);
        }
        let mut workspace = Workspace::default();
        // The same for all choices: it hangs on the elements.
        let mut fitted = choices.first()?.coding;
        fit_scales(&mut fitted, runs, &workspace);
        for choice in &mut choices {
            (choice.coding.clip, choice.coding.hold) = (fitted.clip, fitted.hold);
        }
        let costs = self.costs(&choices, runs, of, &mut workspace);
        let mut ranked: Vec<(u64, Choice)> = costs.into_iter().zip(choices).filter(|(c, _)| *c < u64::MAX).collect();
        // Whoever has given a file means it, unless a built-in bank is better beyond doubt.
        let given = |choice: &Choice| matches!(choice.origin, Origin::File(_)) || self.file.is_none();
        let rank = |cost: u64, choice: &Choice| {
            let cost = if choice.elements() > 1 { cost - cost / WORTH_SPEED } else { cost };
            if given(choice) { cost } else { cost.saturating_add(cost / PREFERRED) }
        };
        ranked.sort_by_key(|(cost, choice)| rank(*cost, choice));
        if ranked.first().is_some_and(|(_, choice)| given(choice)) {
            ranked.retain(|(_, choice)| given(choice));
        }
        let &(cost, first) = ranked.first()?;
        // Those that are nowhere near will suit no chunk; and pairs are a matter of speed, which chunks do not weigh.
        ranked.retain(|(other, c)| *other <= cost.saturating_add(cost / 4) && c.elements() == first.elements());
        ranked.truncate(CHOICES);
        let mut codings = vec![first.coding];
        codings.push(best(element, shift, reference, search, runs, of).0);
        codings.dedup();
        let own = codings.iter().map(|coding| own_cost(coding, runs, of, &mut workspace)).min().unwrap_or(u64::MAX);
        Some(Verdict { choices: ranked.into_iter().map(|(_, choice)| choice).collect(), cost, own })
    }

    /// Which of several choices suits a sample best; the first where that makes no difference.
    #[must_use]
    pub fn pick(&self, choices: &[Choice], runs: &[Run], workspace: &mut Workspace) -> usize {
        let costs = self.costs(choices, runs, 1 << 20, workspace);
        (0..costs.len()).min_by_key(|&i| costs.get(i).copied().unwrap_or(u64::MAX)).unwrap_or(0)
    }
}

/// Calls `f` with the counts of a sample.
fn with_counts<T>(coding: &Coding, runs: &[Run], workspace: &mut Workspace, f: impl FnOnce(&Statistics) -> T) -> T {
    let units = estimate::units(coding, runs, workspace);
    let base = estimate::base(coding, runs, &units);
    estimate::with_statistics(coding, runs, &units, base, workspace, f)
}

/// Cost of `of` elements like the sample with a bank made for them, in units of 2^−16 bits.
#[must_use]
pub fn own_cost(coding: &Coding, runs: &[Run], of: u64, workspace: &mut Workspace) -> u64 {
    /// `Record_Header` and CRC of a Bind record, in units of 2^−16 bits.
    const RECORD: u64 = (16 * 8) << 16;
    let sampled = sampled(runs, coding.element);
    with_counts(coding, runs, workspace, |statistics| {
        estimate::exact_cost(coding, statistics, sampled, of, Cover::Counted) + RECORD
    })
}

/// Whether a bank fits a coding, and can code whatever elements there may be.
fn serves(bank: &Bank, coding: &Coding) -> bool {
    let class = match bank.class {
        TokenClass::Plain(form) => PlainTokens::new(coding.element, coding.shift, form).is_some(),
        TokenClass::Pairs(form) => PairTokens::new(coding.element, coding.shift, form).is_some(),
        class => {
            let relative = coding.model == Model::Plain && coding.element.is_float() && coding.element.width() > 1;
            !relative && class == TokenClass::of_lengths(coding.element)
        }
    };
    class && !bank.elements.is_empty() && covers(bank, coding)
}
