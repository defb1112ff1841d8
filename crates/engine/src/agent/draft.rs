//! What the check of a draft shows: to its checkers, and to who writes the text that takes its place.

use std::fmt::Write;

use dialectic_record::debate::{Answered, CheckPoint, Debate, Ledger, Lens, Objection, Point, Standing};
use dialectic_record::prompt::CheckedDraft;
use dialectic_record::protocol::{Delivery, OutputSpec, Step};

use super::excerpt::length;

/// A draft, and lists of points about it.
#[derive(Debug, Clone, Default)]
pub(super) struct DraftTexts {
    text: String,
    lens: Option<Lens>,
    accepted: String,
    points: String,
    may_rethink: bool,
    changed: Vec<String>,
}

impl DraftTexts {
    /// What `step` shows of the newest draft.
    pub(super) fn of(debate: &Debate, step: &Step) -> Option<Self> {
        let draft = debate.newest_draft()?;
        let text = draft.text.without_answers().into_owned();
        let shown = Self { text, ..Self::default() };
        Some(match &step.answer {
            OutputSpec::Check(lens) => {
                let accepted = if *lens == Lens::Requirements { accepted(debate) } else { String::new() };
                Self { lens: Some(*lens), accepted, ..shown }
            }
            OutputSpec::Amendment | OutputSpec::Solution(_) => {
                let points = debate.check_points();
                let of_draft = points.iter().filter(|point| point.draft == draft.number);
                let lines: Vec<String> = of_draft.map(|one| line(one)).collect();
                Self { points: lines.join("\n"), may_rethink: step.delivery == Delivery::DraftIfRethought, ..shown }
            }
            OutputSpec::Text
            | OutputSpec::Questions { .. }
            | OutputSpec::Summary
            | OutputSpec::Score(_)
            | OutputSpec::Choice
            | OutputSpec::Word(_)
            | OutputSpec::Relations
            | OutputSpec::Challenge
            | OutputSpec::Kinds
            | OutputSpec::Judgement
            | OutputSpec::Scores(_)
            | OutputSpec::FollowUp => shown,
        })
    }

    pub(super) fn length(&self) -> usize {
        [&self.text, &self.accepted, &self.points].into_iter().map(|text| length(text)).sum()
    }

    /// As it stands in a prompt.
    pub(super) fn shown(&self) -> CheckedDraft<'_> {
        CheckedDraft {
            text: &self.text,
            lens: self.lens.map_or("", Lens::name),
            accepted: Some(&*self.accepted).filter(|list| !list.is_empty()),
            points: Some(&*self.points).filter(|list| !list.is_empty()),
            may_rethink: self.may_rethink,
            changed: &self.changed,
        }
    }
}

/// The points of the debate that were accepted, whole, each with what its author says was changed.
fn accepted(debate: &Debate) -> String {
    let ledger = Ledger::of(debate);
    let is_accepted = |one: &&Objection| {
        matches!(one.answer, Answered::Accepted | Answered::Partly) && one.critic != Some(Standing::Withdrawn)
    };
    let mut list = String::new();
    for one in ledger.objections.iter().filter(is_accepted) {
        let reason = one.reason.as_deref().map(|reason| format!(": {}", flat(reason))).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(list, "- {} {} - {}{reason}", one.id, whole(&one.point), one.answer.name());
    }
    list.trim_end().to_owned()
}

fn line(one: &CheckPoint<'_>) -> String {
    format!("- {} ({}) {}", one.number, one.lens.name(), whole(one.point))
}

/// A point on one line, with nothing left out.
fn whole(point: &Point) -> String {
    let resolution = point.resolution.as_deref().map(|how| format!(" Resolved by: {}", flat(how))).unwrap_or_default();
    format!("[{}] {}{resolution}", point.severity.name(), flat(&point.in_words()))
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
