//! The open issues of an answer, as texts that may contain a model's Markdown.

use dialectic_record::debate::{Ledger, PartlyFulfilled, Solution};

/// Major requirements that hold except in one case.
pub(crate) fn partly_fulfilled(solution: &Solution) -> Vec<String> {
    let in_words = |PartlyFulfilled { requirement, holds, fails }: &PartlyFulfilled| {
        format!("{}. Holds: {}. Fails: {}.", ended(requirement), ended(holds), ended(fails))
    };
    solution.partly_fulfilled.iter().map(in_words).collect()
}

/// The remaining work on points with rulings.
pub(crate) fn remaining(ledger: &Ledger) -> Vec<String> {
    let ruled = ledger.objections.iter().filter_map(|one| Some((one, one.ruling()?)));
    let left = ruled.filter(|(_, ruling)| ruling.leaves_something() && !ruling.missing);
    left.map(|(one, ruling)| {
        let remains = Some(ruling.remains.trim()).filter(|remains| !remains.is_empty());
        let remains = remains.map_or_else(|| one.point.in_words().into_owned(), str::to_owned);
        format!("{}, {}: {remains}", one.number(), ruling.in_words())
    })
    .collect()
}

/// A text without its full stop, which is added later.
fn ended(text: &str) -> &str {
    text.trim().trim_end_matches('.')
}
