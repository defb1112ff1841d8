//! The open issues of an answer, as texts that may contain a model's Markdown.

use dialectic_base::figures::{list, percent};
use dialectic_record::debate::{Ledger, PartlyFulfilled, Solution};

use crate::report::View;

use super::is_unchecked;

/// Major requirements that hold except in one case.
pub(crate) fn partly_fulfilled(solution: &Solution) -> Vec<String> {
    let in_words = |PartlyFulfilled { requirement, holds, fails }: &PartlyFulfilled| {
        format!("{}. Holds: {}. Fails: {}.", ended(requirement), ended(holds), ended(fails))
    };
    solution.partly_fulfilled.iter().map(in_words).collect()
}

/// The remaining work on points with rulings.
pub(crate) fn remaining(ledger: &Ledger) -> Vec<String> {
    let ruled = ledger.in_order().into_iter().filter_map(|one| Some((one, one.ruling()?)));
    let left = ruled.filter(|(_, ruling)| ruling.leaves_something() && !ruling.missing);
    left.map(|(one, ruling)| {
        let remains = Some(ruling.remains.trim()).filter(|remains| !remains.is_empty());
        let remains = remains.map_or_else(|| one.point.in_words().into_owned(), str::to_owned);
        format!("{} ({}): {remains}", one.number(), one.point.severity.name())
    })
    .collect()
}

/// What the judge's confidence is the chance of, and what it rests on; `None` without a model's estimate.
pub(crate) fn confidence(view: &View<'_>) -> Option<String> {
    let chance = percent(view.confidence()?);
    let solution = view.debate.final_solution.as_ref()?;
    let has_faults = !solution.unfulfilled_major_requirements.is_empty() || !solution.partly_fulfilled.is_empty();
    let other = if has_faults { "every other" } else { "every" };
    let limited = solution.limited_confidence().map(|why| format!(" ({why})")).unwrap_or_default();
    let is_unchecked = is_unchecked(view.debate);
    let caveats = [
        (view.debate.is_full() == Some(false), "the run is incomplete"),
        (is_unchecked, "nobody checked the answer"),
        (!is_unchecked && !solution.unverified.is_empty(), "its last changes are not checked"),
    ];
    let caveats: Vec<String> = caveats.iter().filter(|(holds, _)| *holds).map(|(_, what)| (*what).to_owned()).collect();
    let caveats = if caveats.is_empty() { String::new() } else { format!("; {}", list(&caveats)) };
    Some(format!("{chance} chance that it meets {other} major requirement, the judge estimates{limited}{caveats}"))
}

/// A text without its full stop, which is added later.
fn ended(text: &str) -> &str {
    text.trim().trim_end_matches('.')
}
