//! The baselines: how often the text is written, and which text is delivered.

use super::super::*;
use super::course::{Course, ScriptedReply, first, good, settings};
use crate::debate::{Status, StopReason};
use crate::points::Severity;

const FAULTY: &str = "1. [major] Clocks: they drift. Resolved by: one clock.";
const MENDED: &str = "Mended.\n\n## Response to critiques\n\n1.1 accepted (Clocks): one clock.";
const VERIFIED: &str = "## Earlier points\n\n- 1.1 verified (Clocks): it is there\n\n## New points\n\nNo objections.";

/// Runs a debate. Calls named `<stage> <agent> <round>` give the listed replies; all others reply with their name.
fn run(protocol: &'static Protocol, agents: usize, rounds: u32, said: &[(&str, Option<&str>)]) -> Course {
    started(protocol, agents, rounds, 0).run(&|step| reply(step, said), &mut first)
}

fn started(protocol: &'static Protocol, agents: usize, rounds: u32, check: u32) -> Course {
    let mut settings = settings(protocol, agents, rounds);
    settings.debate.check = check;
    Course::start(protocol, settings)
}

fn reply(step: &Step, said: &[(&str, Option<&str>)]) -> ScriptedReply {
    let name = format!("{} {} {}", step.key.stage, step.key.agent_id, step.key.round);
    match (said.iter().find(|(call, _)| *call == name), &step.answer) {
        (Some((_, None)), _) => ScriptedReply::Failed,
        (Some((_, Some(text))), OutputSpec::Text) => ScriptedReply::Text((*text).to_owned()),
        (None, OutputSpec::Text) => ScriptedReply::Text(name),
        (Some((_, Some(_))) | None, _) => good(step),
    }
}

fn calls(course: &Course) -> Vec<String> {
    let called = course.calls.iter().map(|step| &step.key);
    called.map(|key| format!("{} {} {}", key.stage, key.agent_id, key.round)).collect()
}

fn solution(course: &Course) -> &str {
    &course.debate.final_solution.as_ref().unwrap().description
}

#[test]
fn one_call_is_a_single_answer() {
    let course = run(&SINGLE, 1, 1, &[]);
    assert_eq!(calls(&course), ["proposal a 1"]);
    assert_eq!(solution(&course), "proposal a 1");
    assert!(course.debate.outcome.as_ref().unwrap().reasons.is_empty());
    let failed = run(&SINGLE, 1, 1, &[("proposal a 1", None)]);
    assert_eq!(failed.debate.error.as_deref(), Some("there is no answer: 503"));
    assert_eq!(solution(&failed.resumed().run(&good, &mut first)), "text of a");
}

#[test]
fn a_first_text_that_failed_is_not_criticised() {
    let failed = run(&SELF_REFINE, 1, 2, &[("proposal a 1", None)]);
    assert_eq!(calls(&failed), ["proposal a 1"]);
    assert_eq!(failed.debate.error.as_deref(), Some("there is no answer: 503"));
    assert_eq!(solution(&failed.resumed().run(&good, &mut first)), "text of a");
}

#[test]
fn an_author_rewrites_what_it_finds_and_stops_where_it_finds_nothing() {
    let said = [("critique a 1", Some(FAULTY)), ("refinement a 1", Some(MENDED)), ("critique a 2", Some(VERIFIED))];
    let course = run(&SELF_REFINE, 1, 5, &said);
    assert_eq!(calls(&course), ["proposal a 1", "critique a 1", "refinement a 1", "critique a 2"]);
    assert_eq!(solution(&course), "Mended.");
    assert!(course.debate.outcome.as_ref().unwrap().reasons.is_empty(), "{:?}", course.debate.outcome);
    // A first text without faults is not rewritten.
    let course = run(&SELF_REFINE, 1, 5, &[("critique a 1", Some("No objections."))]);
    assert_eq!(calls(&course), ["proposal a 1", "critique a 1"]);
    assert_eq!(solution(&course), "proposal a 1");
}

#[test]
fn a_point_that_its_author_maintains_is_something_to_mend() {
    let said = [
        ("critique a 1", Some(FAULTY)),
        ("refinement a 1", Some(MENDED)),
        (
            "critique a 2",
            Some("## Earlier points\n\n- 1.1 maintained: it is not there\n\n## New points\n\nNo objections."),
        ),
        ("critique a 3", Some(VERIFIED)),
    ];
    let course = run(&SELF_REFINE, 1, 5, &said);
    let rewritten =
        ["proposal a 1", "critique a 1", "refinement a 1", "critique a 2", "refinement a 2", "critique a 3"];
    assert_eq!(calls(&course), rewritten);
    assert_eq!(solution(&course), "refinement a 2");
}

#[test]
fn the_last_round_ends_it_and_what_fails_leaves_the_text_before() {
    let faulty = [("critique a 1", Some(FAULTY)), ("critique a 2", Some(FAULTY))];
    let course = run(&SELF_REFINE, 1, 2, &faulty);
    assert_eq!(course.calls.len(), 5);
    assert_eq!(solution(&course), "refinement a 2");
    let course = run(&SELF_REFINE, 1, 3, &[("critique a 1", Some(FAULTY)), ("refinement a 1", None)]);
    assert_eq!(calls(&course), ["proposal a 1", "critique a 1", "refinement a 1"]);
    assert_eq!(solution(&course), "proposal a 1");
    assert!(!course.debate.outcome.as_ref().unwrap().reasons.is_empty());
    let course = run(&SELF_REFINE, 1, 3, &[("critique a 1", None)]);
    assert_eq!(calls(&course), ["proposal a 1", "critique a 1"]);
    assert_eq!(solution(&course), "proposal a 1");
}

#[test]
fn the_text_that_the_judge_chooses_is_the_answer() {
    let course = run(&BEST_OF_N, 3, 1, &[]);
    assert_eq!(calls(&course), ["proposal a 1", "proposal b 1", "proposal c 1", "choice judge 1"]);
    let ballot = &course.debate.rounds[0].contributions[3];
    let chosen = ballot.target_agent_id.as_ref().unwrap();
    assert_eq!(solution(&course), format!("proposal {chosen} 1"));
    assert_eq!(course.debate.final_solution.as_ref().unwrap().base.as_ref(), Some(chosen));
    assert!(course.debate.outcome.as_ref().unwrap().reasons.is_empty());
}

#[test]
fn nothing_is_chosen_where_nothing_is_to_choose_from() {
    let course = run(&BEST_OF_N, 2, 1, &[("choice judge 1", None)]);
    assert_eq!(course.debate.status, Status::Failed);
    assert_eq!(course.debate.error.as_deref(), Some("the judge could not choose an answer: 503"));
    let course = run(&BEST_OF_N, 3, 1, &[("proposal a 1", None), ("proposal b 1", None)]);
    assert_eq!(course.debate.status, Status::Failed);
    // A debate that was stopped after its first text delivers it.
    let mut course = started(&BEST_OF_N, 3, 1, 0);
    course.go_on_until(|course| !course.ready().is_empty(), &good);
    let proposals = course.ready();
    course.settle(&proposals[1], ScriptedReply::Text("the only one".to_owned()));
    course.settle(&proposals[0], ScriptedReply::Failed);
    course.settle(&proposals[2], ScriptedReply::Failed);
    course.stop(StopReason::User);
    assert_eq!(solution(&course.run(&good, &mut first)), "the only one");
}

#[test]
fn an_answer_is_checked_where_that_is_asked_for_and_amended_by_its_author() {
    for (protocol, agents, amended_by) in [(&SINGLE, 1, "a"), (&SELF_REFINE, 1, "a"), (&BEST_OF_N, 3, "judge's choice")]
    {
        let checked = |step: &Step| match &step.answer {
            OutputSpec::Check(_) => ScriptedReply::Checked(vec![Severity::Blocking]),
            OutputSpec::Amendment => ScriptedReply::Text("amended".to_owned()),
            _ => reply(step, &[]),
        };
        let course = started(protocol, agents, 1, 2).run(&checked, &mut first);
        let last = &course.calls.last().unwrap().key;
        assert_eq!(last.stage.as_str(), "final", "{}", protocol.name);
        assert!(solution(&course).starts_with("amended"), "{}", solution(&course));
        if amended_by == "a" {
            assert_eq!(last.agent_id.as_str(), amended_by);
        }
        assert_eq!(course.calls.iter().filter(|step| step.key.stage == CHECK).count(), 2);
    }
}

#[test]
fn each_takes_the_agents_and_rounds_that_it_can_use() {
    for (protocol, agents, rounds, problem) in [
        (&SINGLE, 2, 1, "single uses one agent, but 2 take part"),
        (&SINGLE, 1, 2, "single has one round, but 2 were requested"),
        (&SELF_REFINE, 3, 1, "self-refine uses one agent, but 3 take part"),
        (&BEST_OF_N, 1, 1, "best-of-n needs at least two agents, but only one takes part"),
        (&BEST_OF_N, 2, 3, "best-of-n has one round, but 3 were requested"),
    ] {
        assert_eq!((protocol.check)(&settings(protocol, agents, rounds)).unwrap_err().to_string(), problem);
    }
}
