//! The draft and its points, as shown to its checkers and to the author of the final text.

use std::collections::BTreeMap;

use dialectic_base::markdown::single_spaced;
use dialectic_record::debate::{
    Debate, Draft, Found, Ledger, Lens, PartlyFulfilled, Point, PointId, RaisedPoint, Remark, Response, Solution,
    Statement,
};
use dialectic_record::prompt::CheckedDraft;
use dialectic_record::protocol::{Delivery, OutputSpec, Step};

use super::excerpt::length;
use super::points::ListedPoints;

/// A draft, and lists of points about it.
#[derive(Debug, Clone, Default)]
pub(super) struct DraftTexts {
    text: String,
    assessment: String,
    lens: Option<Lens>,
    /// Accepted points that a checker should find, or did not find.
    pub(super) accepted: ListedPoints,
    points: String,
    may_rethink: bool,
}

impl DraftTexts {
    /// The newest draft as `step` shows it.
    pub(super) fn of(debate: &Debate, step: &Step) -> Option<Self> {
        let draft = debate.newest_draft()?;
        let text = draft.text.without_answers().into_owned();
        let assessment = debate.draft.as_ref().map(assessment).unwrap_or_default();
        let shown = Self { text, assessment, ..Self::default() };
        if let OutputSpec::Check(lens) = step.answer {
            let accepted = if lens == Lens::Requirements { accepted(debate) } else { ListedPoints::default() };
            return Some(Self { lens: Some(lens), accepted, ..shown });
        }
        if matches!(step.answer, OutputSpec::Amendment | OutputSpec::Solution(_)) {
            let ledger = Ledger::of(debate);
            return Some(Self {
                points: points(&ledger, &draft),
                accepted: not_found(&ledger, &draft),
                may_rethink: step.delivery == Delivery::DraftIfRethought,
                ..shown
            });
        }
        Some(shown)
    }

    pub(super) fn length(&self) -> usize {
        [&self.text, &self.assessment, &self.accepted.text, &self.points].into_iter().map(|text| length(text)).sum()
    }

    /// The characters missing for accepted points that the list left out.
    pub(super) fn room(&self) -> usize {
        self.accepted.room
    }

    /// The draft as shown in a prompt.
    pub(super) fn shown(&self) -> CheckedDraft<'_> {
        CheckedDraft {
            text: &self.text,
            assessment: Some(&*self.assessment).filter(|list| !list.is_empty()),
            lens: self.lens.map_or("", Lens::name),
            accepted: Some(&*self.accepted.text).filter(|list| !list.is_empty()),
            points: Some(&*self.points).filter(|list| !list.is_empty()),
            may_rethink: self.may_rethink,
        }
    }
}

/// The draft's assessment as lists.
fn assessment(draft: &Solution) -> String {
    let partly = draft.partly_fulfilled.iter().map(|one| {
        let PartlyFulfilled { requirement, holds, fails } = one;
        format!("{requirement} | holds: {holds} | fails: {fails}")
    });
    let lists = [
        ("Major requirements not fulfilled", draft.unfulfilled_major_requirements.clone()),
        ("Major requirements fulfilled in part", partly.collect()),
        ("Open questions", draft.open_questions.clone()),
        ("Recommendations", draft.recommendations.clone()),
        ("Trade-offs", draft.tradeoffs.clone()),
    ];
    let lists = lists.into_iter().filter(|(_, items)| !items.is_empty());
    let list = |(title, items): (&str, Vec<String>)| {
        let items: Vec<String> = items.iter().map(|item| format!("- {}", single_spaced(item))).collect();
        format!("{title}:\n{}", items.join("\n"))
    };
    lists.map(list).collect::<Vec<_>>().join("\n\n")
}

/// The accepted points of the debate in full, each with its author's changes.
fn accepted(debate: &Debate) -> ListedPoints {
    let ledger = Ledger::of(debate);
    ListedPoints::new(&ledger.to_verify(debate), |one| {
        let answer = one.answer();
        let section = answer.and_then(Remark::section);
        let section = section.map(|section| format!(" ({})", single_spaced(section))).unwrap_or_default();
        let reason = answer.and_then(Remark::reason);
        let reason = reason.map(|reason| format!(": {}", single_spaced(reason))).unwrap_or_default();
        let response = one.response().map_or("unanswered", Response::name);
        format!("- {} {} - {response}{section}{reason}", one.number(), whole(&one.point))
    })
}

/// The points of the check of a draft.
fn points(ledger: &Ledger, draft: &Draft<'_>) -> String {
    let of_draft = ledger.objections.iter().filter(|one| one.draft == Some(draft.number.into()));
    let lens = |one: &Point| one.lens.clone().unwrap_or_default();
    let line = |one: &Point| format!("- {} ({}) {}", one.number(), lens(one), whole(&one.point));
    of_draft.map(line).collect::<Vec<_>>().join("\n")
}

/// The accepted points that the check did not find in the draft, each with the checker's remark.
fn not_found(ledger: &Ledger, draft: &Draft<'_>) -> ListedPoints {
    let readings = draft.checks.iter().filter_map(|one| one.reading.as_ref());
    let missing = readings.flat_map(|reading| &reading.verifications).filter(|one| one.verdict == Found::NotFound);
    let missing: BTreeMap<&PointId, &Statement<Found>> = missing.map(|one| (&one.point, one)).collect();
    let points: Vec<_> = ledger.objections.iter().filter(|one| missing.contains_key(&one.id)).collect();
    ListedPoints::new(&points, |one| {
        let reason = missing.get(&one.id).and_then(|missing| missing.reason.as_deref());
        let reason = reason.map(|reason| format!(": {}", single_spaced(reason))).unwrap_or_default();
        format!("- {} {} - not found{reason}", one.number(), whole(&one.point))
    })
}

/// A whole point on one line.
fn whole(point: &RaisedPoint) -> String {
    format!("[{}] {}", point.severity.name(), single_spaced(&point.in_full()))
}
