//! The check of the answer.

use dialectic_base::figures::{counted, list};
use dialectic_record::debate::{Contribution, Debate, Found, Ledger, Lens, ResultKind, Severity, Tally};

use crate::report::block::{Block, ListItem, Phrase, TableBlock, TableHead, figure, foreign, line};

/// The status of an answer that nobody checked.
const NOT_CHECKED: &str = "not checked";

/// Whether nobody checked an answer that could have been checked.
pub(crate) fn is_unchecked(debate: &Debate) -> bool {
    status(debate).is_some_and(|status| status == NOT_CHECKED)
}

/// `checked by 3 lenses, 5 points: 1 open, 4 claimed`; `None` without a checkable answer.
pub(crate) fn status(debate: &Debate) -> Option<String> {
    let may_be_checked = debate.stages.iter().any(|stage| stage.yields == Some(ResultKind::Check));
    if !may_be_checked || (debate.draft.is_none() && debate.final_solution.is_none()) {
        return None;
    }
    let draft = debate.newest_draft();
    let lenses =
        draft.as_ref().map_or(0, |draft| Lens::ALL.iter().filter(|lens| draft.read_through(**lens).is_some()).count());
    let Some(draft) = draft.filter(|_| lenses > 0) else { return Some(NOT_CHECKED.to_owned()) };
    let ledger = Ledger::of(debate);
    let tally = Tally::of(ledger.objections.iter().filter(|one| one.draft == Some(draft.number.into())));
    let points = if tally.all() == 0 { "no point".to_owned() } else { counted(tally.all() as u64, "point") };
    let statuses = Some(tally.statuses()).filter(|statuses| !statuses.is_empty());
    let statuses = statuses.map(|statuses| format!(": {statuses}")).unwrap_or_default();
    let said = [format!("checked by {lenses} {}", if lenses == 1 { "lens" } else { "lenses" }), points + &statuses];
    let unread: Vec<String> = debate.unread_lenses().iter().map(|lens| lens.subject().to_owned()).collect();
    let unread = (!unread.is_empty()).then(|| format!("not checked for {}", list(&unread)));
    Some(said.into_iter().chain(unread).collect::<Vec<_>>().join(", "))
}

/// Each draft's checkers and lenses, their findings and changes, and what was left unchecked; empty without a draft.
pub(crate) fn check(debate: &Debate) -> Vec<Block<'_>> {
    if debate.checks.is_empty() {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    blocks.extend(status(debate).map(|status| Block::Paragraph(line!["The answer: ", figure(status), "."])));
    let mut rows = Vec::new();
    let (mut draft, mut before) = (0, None);
    for one in &debate.checks {
        match one.metadata.lens {
            Some(lens) => rows.push(vec![line![figure(draft)], line![lens.name()], line![&one.agent_id], found(one)]),
            None if before.is_none() || one.metadata.rethought => {
                (draft, before) = (draft + 1, Some(one));
            }
            None => {}
        }
    }
    let missing = debate.unread_lenses().into_iter().filter(|lens| {
        debate.newest_draft().is_some_and(|draft| draft.checks.iter().all(|one| one.metadata.lens != Some(*lens)))
    });
    rows.extend(missing.map(|lens| vec![line![figure(draft)], line![lens.name()], line!["-"], line!["not read"]]));
    let columns =
        [TableHead::figures("Draft"), TableHead::words("Lens"), TableHead::words("Read by"), TableHead::words("Found")];
    let table = TableBlock::new("small", "Objections to the draft", columns, rows);
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    blocks.extend(unverified(debate));
    blocks
}

/// `2 points: 1 blocking, 1 minor; of accepted points 3 verified, 1 not found`
fn found(one: &Contribution) -> Phrase<'_> {
    let reading = one.reading.as_deref();
    let Some(points) = reading.and_then(|reading| reading.points.as_ref()) else { return line!["could not be read"] };
    let grades =
        Severity::ALL.map(|grade| (points.iter().filter(|point| point.severity == grade).count(), grade.name()));
    let some = |counts: &[(usize, &str)]| {
        let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        counts.collect::<Vec<_>>().join(", ")
    };
    let mut said = if points.is_empty() {
        "no point".to_owned()
    } else {
        format!("{}: {}", counted(points.len() as u64, "point"), some(&grades))
    };
    let verifications = reading.map(|reading| reading.verifications.as_slice()).unwrap_or_default();
    let kinds = [Found::Verified, Found::NotFound, Found::Moot];
    let kinds = kinds.map(|kind| (verifications.iter().filter(|one| one.verdict == kind).count(), kind.name()));
    if !verifications.is_empty() {
        said = format!("{said}; of accepted points {}", some(&kinds));
    }
    line![figure(said)]
}

/// The unchecked parts of the answer.
fn unverified(debate: &Debate) -> Option<Block<'_>> {
    let unverified = &debate.final_solution.as_ref()?.unverified;
    let items: Vec<ListItem<'_>> = unverified.iter().map(|one| ListItem::of(line![foreign(one)])).collect();
    (!items.is_empty()).then(|| Block::Warning(vec![Block::List(items)]))
}
