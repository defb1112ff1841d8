//! Points of critics as prompts list them.

use std::fmt::Write;

use dialectic_record::debate::{AgentId, Answered, Debate, Ledger, Objection, ResultKind};
use dialectic_record::protocol::{Authorship, OutputSpec, PromptContext, Step};

/// Characters of a list at most: what a call costs must not grow with all that was ever said. Points that do not fit are
/// left out whole.
const LIST: usize = 24_000;

/// Points that a prompt lists.
#[derive(Debug, Clone, Default)]
pub(super) struct Listed {
    /// A line for each.
    pub(super) text: String,
    /// The points in the order of the lines.
    pub(super) points: Vec<Objection>,
}

impl Listed {
    /// What `step` shows of the points. `label` says under which name a text is shown.
    pub(super) fn of(debate: &Debate, step: &Step, label: impl Fn(&AgentId) -> Option<String>) -> Option<Self> {
        let key = &step.key;
        let yields = debate.stage(key.stage).and_then(|stage| stage.yields);
        let listed = match (&step.answer, &key.target_agent_id, yields) {
            (OutputSpec::Challenge, ..) => {
                let ledger = Ledger::of(debate);
                let mut points = ledger.to_decide();
                points.retain(|one| one.answer == Answered::Unanswered);
                Self::new(&points, label)
            }
            (OutputSpec::Solution(_), ..) => {
                let ledger = Ledger::of(debate);
                let mut points = ledger.to_decide();
                // Who writes the final text answers the points of the check, and rules on the others again.
                let is_answered = matches!(step.answer, OutputSpec::Solution(Authorship::Judge));
                if step.shows == PromptContext::Draft && is_answered {
                    points.retain(|one| one.draft.is_none());
                }
                Self::new(&points, label)
            }
            (OutputSpec::Text | OutputSpec::Word(_), Some(target), Some(ResultKind::Critique | ResultKind::Ballot)) => {
                let ledger = Ledger::seen_by(debate, target, key.round, &step.inputs);
                Self::new(&ledger.to_recheck(debate, &key.agent_id, target, key.round), |_| None)
            }
            (OutputSpec::Text, None, Some(ResultKind::Proposal)) => {
                let ledger = Ledger::seen_by(debate, &key.agent_id, key.round, &step.inputs);
                Self::new(&ledger.to_answer(&key.agent_id), |_| None)
            }
            (
                OutputSpec::Text
                | OutputSpec::Questions { .. }
                | OutputSpec::Summary
                | OutputSpec::Score(_)
                | OutputSpec::Choice
                | OutputSpec::Word(_)
                | OutputSpec::Judgement
                | OutputSpec::FollowUp
                | OutputSpec::Check(_)
                | OutputSpec::Amendment
                | OutputSpec::Relations
                | OutputSpec::Kinds
                | OutputSpec::Scores(_),
                ..,
            ) => return None,
        };
        (!listed.points.is_empty()).then_some(listed)
    }

    /// As many as fit, the gravest and newest of them, in the order in which they were given.
    fn new(points: &[&Objection], label: impl Fn(&AgentId) -> Option<String>) -> Self {
        let mut by_weight: Vec<usize> = (0..points.len()).collect();
        by_weight.sort_by_key(|place| (points[*place].point.severity, std::cmp::Reverse(points[*place].round)));
        let (mut room, mut kept) = (LIST, Vec::new());
        for place in by_weight {
            let entry = entry(points[place], label(&points[place].target_id).as_deref());
            let Some(left) = room.checked_sub(entry.chars().count()) else { break };
            room = left;
            kept.push((place, entry));
        }
        kept.sort_unstable_by_key(|(place, _)| *place);
        let left_out = points.len() - kept.len();
        let entries = kept.iter().map(|(_, entry)| entry.clone());
        let more = (left_out > 0).then(|| format!("And {left_out} more, which are older or weigh less."));
        let text = entries.chain(more).collect::<Vec<_>>().join("\n");
        Self { text, points: kept.iter().map(|(place, _)| points[*place].clone()).collect() }
    }
}

/// A point and what became of it, word for word: the point, the answer and the last word of its critic, a line each.
fn entry(one: &Objection, on: Option<&str>) -> String {
    let mut entry = format!("- {} [{}] ", one.number(), one.point.severity.name());
    if let Some(on) = on {
        entry =
            format!("{entry}against {}{on}: ", if one.is_of_earlier_text() { "an earlier version of " } else { "" });
    }
    entry.push_str(&one.point.in_words());
    if let Some(remedy) = &one.point.resolution {
        entry = format!("{entry} Resolved by: {remedy}");
    }
    let mut say = |what: &str, verdict: &str, section: Option<&String>, reason: Option<&String>| {
        let section = section.filter(|section| !section.is_empty()).map(|section| format!(" ({section})"));
        let reason = reason.map(|reason| format!(": {reason}"));
        // Writing to a String cannot fail.
        let _ = write!(entry, "\n{what}: {verdict}{}{}", section.unwrap_or_default(), reason.unwrap_or_default());
    };
    if one.answer != Answered::Unanswered {
        let bare = if one.is_bare_acceptance() { ", no section named" } else { "" };
        say("Answer", &format!("{}{bare}", one.answer.name()), one.section.as_ref(), one.reason.as_ref());
    } else if one.was_shown_to_its_author() {
        say("Answer", "none", None, None);
    }
    if let Some(standing) = one.critic {
        let past = if one.is_of_earlier_text() { " of an earlier version" } else { "" };
        say(&format!("Recheck{past}"), standing.name(), one.critic_section.as_ref(), one.critic_reason.as_ref());
    }
    if let Some(check) = &one.check {
        say("Check", check.found.name(), check.section.as_ref(), check.reason.as_ref());
    }
    // What has several lines stays one item of the list.
    entry.replace('\n', "\n  ")
}
