//! Points over the rounds of the default protocol: who criticises whom, and when no point is open.

use super::super::*;
use super::course::{Course, ScriptedReply, first, good, settings};
use crate::ids::ResultKind;
use crate::points::Ledger;
use crate::settings::{Critics, TerminationKind};

fn critiques(course: &Course, round: u32) -> Vec<(String, String)> {
    let of = course.calls.iter().filter(|step| {
        step.key.round == round && course.debate.stage(step.key.stage).unwrap().yields == Some(ResultKind::Critique)
    });
    let mut pairs: Vec<_> = of
        .map(|step| (step.key.agent_id.to_string(), step.key.target_agent_id.as_ref().unwrap().to_string()))
        .collect();
    pairs.sort();
    pairs
}

fn with_critics(agents: usize, rounds: u32, critics: Critics, seed: u32) -> Course {
    let mut settings = settings(&DIALECTIC, agents, rounds);
    settings.debate.critics = critics;
    settings.debate.seed = Some(seed);
    Course::start(&DIALECTIC, settings).run(&good, &mut first)
}

#[test]
fn the_same_two_critics_that_follow_an_author_read_it_in_every_round() {
    let course = with_critics(4, 2, Critics::Number(2), 5);
    let pairs = critiques(&course, 1);
    let expected = [("a", "c"), ("a", "d"), ("b", "a"), ("b", "d"), ("c", "a"), ("c", "b"), ("d", "b"), ("d", "c")];
    assert_eq!(pairs, expected.map(|(critic, target)| (critic.to_owned(), target.to_owned())));
    assert_eq!(critiques(&course, 2), pairs);
    assert_eq!(critiques(&with_critics(4, 1, Critics::Number(2), 6), 1), pairs, "whatever the seed");
    assert_eq!(course.calls.len(), 4 + 2 * (8 + 4) + 1);
}

#[test]
fn more_critics_than_there_are_others_are_all_of_them() {
    let all = critiques(&with_critics(3, 2, Critics::All, 7), 2);
    assert_eq!(all.len(), 6);
    for number in [2, 3, 50] {
        assert_eq!(critiques(&with_critics(3, 2, Critics::Number(number), 7), 2), all);
    }
    assert!(with_critics(1, 1, Critics::Number(3), 7).debate.final_solution.is_some());
}

/// Two agents: `a` criticises `b` with the text from `critique`, and nobody else objects to anything.
fn until_resolved(min_rounds: u32, critique: fn(u32) -> &'static str, answer: fn(u32) -> &'static str) -> Course {
    let mut settings = settings(&DIALECTIC, 2, 4);
    settings.debate.termination_condition.kind = TerminationKind::Resolved;
    settings.debate.termination_condition.min_rounds = min_rounds;
    let reply = move |step: &Step| {
        let yields = DIALECTIC.stage(step.key.stage).and_then(|stage| stage.info.yields);
        let (round, is_b) = (step.key.round, step.key.agent_id.as_str() == "b");
        match yields {
            Some(ResultKind::Critique) if is_b => ScriptedReply::Text("No objections.".to_owned()),
            Some(ResultKind::Critique) => ScriptedReply::Text(critique(round).to_owned()),
            Some(ResultKind::Proposal) if is_b && step.inputs.len() > 1 => {
                ScriptedReply::Text(answer(round).to_owned())
            }
            _ => good(step),
        }
    };
    Course::start(&DIALECTIC, settings).run(&reply, &mut first)
}

const POINT: &str =
    "1. [blocking] Leases: two workers hold one. Resolved by: a token.\n2. [minor] Names: they are long.";
/// Covers both numbers that the text of `b` can have.
const ACCEPTED: &str = "# B\n\n## Response to critiques\n\n- 1.1 accepted (Writes): every write carries a token.\n\
    - 2.1 accepted (Writes): every write carries a token.";
const REJECTED: &str = "# B\n\n## Response to critiques\n\n- 1.1 rejected: the budget rules it out.\n\
    - 2.1 rejected: the budget rules it out.";

#[test]
fn a_debate_ends_with_the_round_in_which_nothing_grave_is_open() {
    let accepted = until_resolved(1, |_| POINT, |_| ACCEPTED);
    assert_eq!(accepted.debate.rounds.len(), 1);
    assert!(accepted.debate.rounds[0].evaluation.is_none(), "nobody is asked for a score");
    let content = |round| if round == 1 { POINT } else { "No objections." };
    assert_eq!(until_resolved(3, content, |_| ACCEPTED).debate.rounds.len(), 3);
    // A rejection resolves nothing until the critic withdraws.
    let gives_in = |round| {
        if round < 3 {
            "1. [blocking] Leases: two workers hold one."
        } else {
            "- 1.1 withdrawn: the budget is what it is.\n- 2.1 withdrawn: the budget is what it is.\n\
                - 1.2 withdrawn.\n- 2.2 withdrawn."
        }
    };
    let rejected = until_resolved(1, gives_in, |_| REJECTED);
    assert_eq!(rejected.debate.rounds.len(), 3);
    assert!(Ledger::of(&rejected.debate).objections.iter().all(|one| !one.is_undecided()));
    assert_eq!(until_resolved(1, |_| POINT, |_| REJECTED).debate.rounds.len(), 4);
    assert_eq!(until_resolved(1, |_| POINT, |_| "# B").debate.rounds.len(), 4);
    // Accepting without naming a change does not count.
    let polite = |_| "# B\n\n## Response to critiques\n\n- 1.1 accepted: done.\n- 2.1 accepted: done.";
    assert_eq!(until_resolved(1, |_| POINT, polite).debate.rounds.len(), 4, "it names no section");
}

#[test]
fn a_critique_that_cannot_be_read_resolves_nothing() {
    assert_eq!(until_resolved(1, |_| "Hm.", |_| "# B").debate.rounds.len(), 4);
    assert_eq!(until_resolved(1, |_| "No objections.", |_| "# B").debate.rounds.len(), 1);
}
