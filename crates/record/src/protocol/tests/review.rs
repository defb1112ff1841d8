//! Who is asked to write again, and which text closes a review.

use super::super::*;
use super::course::{Course, ScriptedReply, first, good, settings};
use crate::debate::{Status, StopReason};

/// A review in which the calls named so, as `<stage> <agent> <round>`, fail, and the reviewers decide by `demands`.
fn reviewed(agents: usize, rounds: u32, demands: &[&str], failures: &[&str]) -> Course {
    let reply = |step: &Step| {
        let name = format!("{} {} {}", step.key.stage, step.key.agent_id, step.key.round);
        match &step.answer {
            _ if failures.contains(&name.as_str()) => ScriptedReply::Failed,
            OutputSpec::Word(_) if demands.contains(&name.as_str()) => ScriptedReply::Word("rewrite"),
            OutputSpec::Text => ScriptedReply::Text(name),
            _ => good(step),
        }
    };
    Course::start(&REVIEW, settings(&REVIEW, agents, rounds)).run(&reply, &mut first)
}

fn calls(course: &Course) -> Vec<String> {
    let called = course.calls.iter().map(|step| &step.key);
    called.map(|key| format!("{} {} {}", key.stage, key.agent_id, key.round)).collect()
}

fn inputs(course: &Course, place: usize) -> Vec<String> {
    let inputs = course.calls[place].inputs.iter();
    inputs.map(|key| format!("{} {} {}", key.stage, key.agent_id, key.round)).collect()
}

fn solution(course: &Course) -> &str {
    &course.debate.final_solution.as_ref().unwrap().description
}

fn reasons(course: &Course) -> &[String] {
    &course.debate.outcome.as_ref().unwrap().reasons
}

#[test]
fn a_draft_that_is_accepted_is_the_solution() {
    let course = reviewed(3, 3, &[], &[]);
    assert_eq!(calls(&course), ["draft a 1", "review b 1", "review c 1", "synthesis judge 1"]);
    assert_eq!(inputs(&course, 3), ["draft a 1", "review b 1", "review c 1"]);
    assert_eq!(course.calls[3].answer, OutputSpec::Solution(Authorship::Kept(course.calls[0].key.clone())));
    assert_eq!(solution(&course), "draft a 1");
    assert!(reasons(&course).is_empty());
    let review = &course.debate.rounds[0].contributions[1];
    assert_eq!((review.metadata.choice.as_deref(), &*review.content), (Some("accept"), "1. ChoiceReason."));
    assert_eq!(review.target_agent_id.as_ref().unwrap().as_str(), "a");
}

#[test]
fn any_demand_means_a_rewrite_that_answers_the_demands() {
    let course = reviewed(3, 3, &["review c 1"], &[]);
    assert_eq!(
        calls(&course),
        ["draft a 1", "review b 1", "review c 1", "rewrite a 2", "review b 2", "review c 2", "synthesis judge 2"]
    );
    assert_eq!(inputs(&course, 3), ["draft a 1", "review c 1"]);
    assert_eq!(inputs(&course, 4), ["rewrite a 2", "review c 1"]);
    assert_eq!(inputs(&course, 6), ["rewrite a 2", "review b 2", "review c 2"]);
    assert_eq!(solution(&course), "rewrite a 2");
    assert!(reasons(&course).is_empty());
    let second = course.debate.rounds[1].contributions.iter().map(|one| one.stage.as_str());
    assert_eq!(second.collect::<Vec<_>>(), ["rewrite", "review", "review"]);
}

#[test]
fn the_last_rewrite_is_reviewed_and_closes_whatever_is_demanded_of_it() {
    let course = reviewed(2, 3, &["review b 1", "review b 2"], &[]);
    assert_eq!(
        calls(&course),
        ["draft a 1", "review b 1", "rewrite a 2", "review b 2", "rewrite a 3", "review b 3", "synthesis judge 3"]
    );
    assert_eq!(inputs(&course, 6), ["rewrite a 3", "review b 3"]);
    assert_eq!(solution(&course), "rewrite a 3");
    assert!(reasons(&course).is_empty());
}

#[test]
fn who_failed_has_accepted_nothing() {
    let course = reviewed(3, 3, &["review c 1"], &["review b 1"]);
    assert_eq!(solution(&course), "rewrite a 2");
    let course = reviewed(3, 3, &[], &["review b 1"]);
    assert_eq!(calls(&course), ["draft a 1", "review b 1", "review c 1", "synthesis judge 1"]);
    // Nobody is left: the draft closes the debate, which is said.
    let course = reviewed(3, 3, &[], &["review b 1", "review c 1"]);
    assert_eq!(inputs(&course, 3), ["draft a 1"]);
    assert_eq!(solution(&course), "draft a 1");
    let reasons = reasons(&course);
    assert!(
        reasons.len() == 3 && reasons[2] == "a's last draft was accepted by nobody: it had no review",
        "{reasons:?}"
    );
}

#[test]
fn a_rewrite_that_fails_leaves_the_draft() {
    let course = reviewed(2, 4, &["review b 1"], &["rewrite a 2"]);
    assert_eq!(calls(&course), ["draft a 1", "review b 1", "rewrite a 2", "synthesis judge 2"]);
    assert_eq!(inputs(&course, 3), ["draft a 1", "review b 1"]);
    assert_eq!(solution(&course), "draft a 1");
}

#[test]
fn without_a_draft_or_a_judge_there_is_no_answer() {
    let course = reviewed(2, 3, &[], &["draft a 1"]);
    assert_eq!(course.debate.error.as_deref(), Some("there is no draft: 503"));
    assert_eq!(solution(&course.resumed().run(&good, &mut first)), "text of a");
    let course = reviewed(2, 3, &[], &["synthesis judge 1"]);
    assert_eq!(course.debate.error.as_deref(), Some("the judge could not assess the draft: 503"));
    let mut course = Course::start(&REVIEW, settings(&REVIEW, 2, 3));
    course.stop(StopReason::User);
    let course = course.run(&good, &mut first);
    assert_eq!(course.debate.status, Status::Failed);
    assert_eq!(course.debate.error.as_deref(), Some("there is no draft to close the debate with"));
}

#[test]
fn one_agent_or_one_round_is_no_review() {
    let problem = |agents, rounds| (REVIEW.check)(&settings(&REVIEW, agents, rounds)).unwrap_err().problem;
    assert_eq!(problem(2, 1), "review needs 2 rounds, a draft and a rewrite, not 1");
    assert_eq!(problem(1, 3), "review needs two agents, one to write and one to review, but only one takes part");
    let settings = settings(&REVIEW, 3, 2);
    let (author, reviewers) = author_and_reviewers(&settings).unwrap();
    assert_eq!((author.id.as_str(), reviewers.len()), ("a", 2));
}
