//! The course of a debate in a few lines.

use dialectic_base::figures::{UNKNOWN, duration, thousands};
use dialectic_record::debate::{Debate, Status, StopReason};

use crate::report::block::{Block, ListItem, figure, foreign, line};

use super::status;

/// The outcome or status.
pub(crate) fn ending(debate: &Debate) -> Vec<ListItem<'_>> {
    let mut items = Vec::new();
    let explained = |line, reasons: &'_ [String]| {
        let reasons: Vec<ListItem<'_>> =
            reasons.iter().map(|reason| ListItem::of(line![foreign(reason.clone())])).collect();
        ListItem::with(line, vec![Block::List(reasons)])
    };
    if debate.status != Status::Completed {
        items.push(ListItem::of(line!["Status: ", debate.status.name()]));
    }
    items.extend(debate.error.as_ref().map(|error| explained(line!["Error:"], std::slice::from_ref(error))));
    let outcome = debate.outcome.as_ref();
    let run = debate.run_in_words();
    let run = run.split(':').next().unwrap_or_default().to_owned();
    items.extend(outcome.map(|outcome| explained(line!["Run: ", figure(run)], &outcome.reasons)));
    items.extend(status(debate).map(|status| ListItem::of(line!["Check of the answer: ", figure(status)])));
    items.extend(debate.stop_reason.map(|reason| {
        let by = match reason {
            StopReason::Budget => debate.limit_in_words(),
            StopReason::User => "the user",
        };
        ListItem::of(line!["Stopped early by: ", by])
    }));
    items
}

/// The rounds and duration.
pub(crate) fn extent(debate: &Debate) -> Vec<ListItem<'_>> {
    let mut items = Vec::new();
    let rounds = thousands(debate.rounds.len() as u64);
    items.extend(debate.forked_from.as_ref().map(|parent| {
        let at = foreign(parent.at.to_string());
        ListItem::of(line![
            "Forked from: ",
            foreign(parent.id.as_str()),
            " at ",
            at,
            "; earlier calls were paid for there"
        ])
    }));
    let settings = debate.settings.as_ref().map(|settings| &settings.debate);
    items.extend(settings.map(|settings| ListItem::of(line!["Protocol: ", foreign(&*settings.protocol)])));
    let rounds: String = match settings.map(|settings| settings.rounds) {
        // A protocol may exceed the configured rounds.
        Some(most) => match (debate.rounds.len() as u64).checked_sub(most.into()) {
            Some(more @ 1..) => format!("{rounds}, {more} more than the {} that were set", thousands(most.into())),
            Some(0) | None => format!("{rounds} of {}", thousands(most.into())),
        },
        None => rounds,
    };
    items.push(ListItem::of(line!["Rounds: ", figure(rounds)]));
    let took = debate.took_ms().map(|took| figure(duration(took)));
    items.push(ListItem::of(line!["Duration: ", took.unwrap_or_else(|| UNKNOWN.into())]));
    items
}
