//! The default protocol with missing proposals, critiques, scores and majorities.

use super::super::*;
use super::course::{Course, ScriptedReply, first, good, settings};
use crate::debate::StopReason;
use crate::settings::TerminationKind;

fn name(step: &Step) -> String {
    let about = step.key.target_agent_id.as_ref().map_or_else(String::new, |target| format!(" {target}"));
    format!("{} {}{about} {}", step.key.stage, step.key.agent_id, step.key.round)
}

fn run(settings: Settings, reply: impl Fn(&Step, &str) -> ScriptedReply) -> Course {
    Course::start(&DIALECTIC, settings).run(&|step| reply(step, &name(step)), &mut first)
}

fn failing(agents: usize, rounds: u32, failures: &[&str]) -> Course {
    run(
        settings(&DIALECTIC, agents, rounds),
        |step, name| {
            if failures.contains(&name) { ScriptedReply::Failed } else { good(step) }
        },
    )
}

fn inputs(course: &Course, of: &str) -> Vec<String> {
    let step = course.calls.iter().find(|step| name(step) == of).unwrap();
    step.inputs.iter().map(|key| format!("{} {}", key.stage, key.agent_id)).collect()
}

#[test]
fn a_failed_proposal_is_neither_criticised_nor_refined() {
    let course = failing(3, 1, &["proposal b 1"]);
    let called: Vec<_> = course.calls.iter().map(name).collect();
    assert!(
        called.iter().all(|call| !call.ends_with(" b 1") || call == "proposal b 1" || call.starts_with("critique b"))
    );
    assert_eq!(inputs(&course, "refinement a 1"), ["proposal a", "critique b", "critique c"]);
    let course = failing(3, 1, &["proposal a 1", "proposal b 1"]);
    assert_eq!(course.debate.error.as_deref(), Some("round 1 has only 1 of the 2 proposals that a debate needs"));
    assert!(failing(1, 1, &[]).debate.final_solution.is_some());
}

#[test]
fn refinements_are_carried_over_and_missing_ones_asked_for_anew() {
    let course = failing(2, 2, &["refinement b 1"]);
    let second = &course.debate.rounds[1];
    let proposals: Vec<_> = second.contributions.iter().take(2).map(|one| one.metadata.carried_over).collect();
    assert_eq!(proposals, [true, false]);
    let asked = course.calls.iter().find(|step| name(step) == "proposal b 2").unwrap();
    assert_eq!(asked.notice.as_deref(), Some("b did not write a refinement in round 1; asking for a new proposal"));
}

#[test]
fn a_score_ends_the_debate_and_an_unreadable_one_does_not() {
    let scored = |reply: ScriptedReply| {
        let mut settings = settings(&DIALECTIC, 2, 3);
        settings.debate.termination_condition.kind = TerminationKind::Quality;
        run(settings, |step, _| if matches!(step.answer, OutputSpec::Score(_)) { reply.clone() } else { good(step) })
    };
    assert_eq!(scored(ScriptedReply::Score(80.0)).debate.rounds.len(), 1);
    assert_eq!(scored(ScriptedReply::Score(79.9)).debate.rounds.len(), 3);
    for unreadable in [ScriptedReply::Nothing, ScriptedReply::Failed] {
        let course = scored(unreadable);
        assert_eq!(course.debate.rounds.len(), 3);
        assert!(course.debate.rounds.iter().all(|round| round.evaluation.as_ref().unwrap().score.is_none()));
    }
}

#[test]
fn a_debate_that_is_stopped_before_its_first_proposal_has_no_answer() {
    let mut course = Course::start(&DIALECTIC, settings(&DIALECTIC, 2, 2));
    course.stop(StopReason::Budget);
    let course = course.run(&good, &mut first);
    assert_eq!(course.debate.error.as_deref(), Some("there are no proposals to base a solution on"));
    let course = failing(2, 1, &["synthesis judge 1"]);
    assert_eq!(course.debate.error.as_deref(), Some("the judge could not write the solution: 503"));
}
