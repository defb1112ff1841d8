//! Who speaks when, what each speaker hears, and how a debate on a motion ends.

use super::super::motion::{DEFAULT_CRITERIA, debaters, side};
use super::super::*;
use super::course::{Course, ScriptedReply, first, good, settings};
use crate::answer::Polls;
use crate::debate::{Contribution, Status, StopReason};
use crate::ids::{AgentId, ResultKind};
use crate::settings::Position;

fn ids(agents: &[&crate::settings::AgentSettings]) -> String {
    agents.iter().map(|agent| agent.id.as_str()).collect::<Vec<_>>().join(" ")
}

fn with_positions(protocol: &Protocol, positions: &[Option<Position>], rounds: u32) -> Settings {
    let mut settings = settings(protocol, positions.len(), rounds);
    for (agent, position) in settings.agents.iter_mut().zip(positions) {
        agent.position = *position;
    }
    settings
}

/// Who said what, in recorded order.
fn said(round: &crate::debate::Round) -> Vec<String> {
    let line = |one: &std::sync::Arc<Contribution>| {
        let about = one.target_agent_id.as_ref().map_or_else(String::new, |target| format!(" {target}"));
        format!("{} {}{about}", one.stage, one.agent_id)
    };
    round.contributions.iter().map(line).collect()
}

fn heard(step: &Step) -> Vec<String> {
    step.inputs.iter().map(|key| format!("{} {}", key.stage, key.agent_id)).collect()
}

fn judged(winners: [Option<usize>; 2], scores: [&[f64]; 2]) -> impl Fn(&Step) -> ScriptedReply {
    let scores = scores.map(<[f64]>::to_vec);
    move |step| {
        let pass = usize::from(step.key.pass) - 1;
        if step.answer == OutputSpec::Judgement {
            ScriptedReply::Judgement(winners[pass], scores[pass].clone())
        } else {
            good(step)
        }
    }
}

fn description(course: &Course) -> &str {
    &course.debate.final_solution.as_ref().unwrap().description
}

/// The verdict without the advice to the user.
fn before_advice(course: &Course) -> String {
    description(course).split_once("\n\n### What to do\n\n").unwrap().0.to_owned()
}

#[test]
fn sides_follow_positions_and_else_the_order() {
    use Position::{Against, For, Neutral};
    let sides = |protocol: &Protocol, positions: &[Option<Position>]| {
        let settings = with_positions(protocol, positions, 5);
        settings.agents.iter().map(|agent| side(&settings, &agent.id)).collect::<Vec<_>>()
    };
    assert_eq!(sides(&OXFORD, &[None; 4]), [For, Against, Neutral, Neutral]);
    assert_eq!(sides(&OXFORD, &[None, Some(For), Some(Against)]), [Neutral, For, Against]);
    assert_eq!(sides(&LINCOLN_DOUGLAS, &[Some(Against), Some(For)]), [Against, For]);
    assert_eq!(sides(&ROUNDTABLE, &[Some(For), None]), [Neutral, Neutral]);
    let settings = settings(&OXFORD, 2, 5);
    assert_eq!(side(&settings, &settings.judge.id), Neutral);
    assert_eq!(side(&settings, &AgentId::new("nobody")), Neutral);
}

#[test]
fn unfit_settings_are_refused_with_a_hint() {
    use Position::{Against, For, Neutral};
    let refused = |protocol: &Protocol, positions: &[Option<Position>], rounds| {
        let unfit = (protocol.check)(&with_positions(protocol, positions, rounds)).unwrap_err();
        assert!(!unfit.hint.is_empty());
        unfit.problem
    };
    for protocol in [&OXFORD, &LINCOLN_DOUGLAS, &ROUNDTABLE] {
        for rounds in [1, 11] {
            let problem = format!("{} has 2 to 10 rounds, not {rounds}", protocol.name);
            assert_eq!(refused(protocol, &[None; 2], rounds), problem);
        }
        for rounds in [2, 10] {
            assert_eq!((protocol.check)(&settings(protocol, 2, rounds)), Ok(()));
        }
        assert_eq!(protocol.default_rounds, 5);
    }
    assert_eq!(refused(&OXFORD, &[None], 5), "oxford needs agents on both sides, but nobody speaks against the motion");
    assert_eq!(
        refused(&OXFORD, &[Some(Against), Some(Neutral), None], 5),
        "oxford needs agents on both sides, but nobody speaks for the motion"
    );
    let two = "lincoln-douglas needs exactly two agents, but";
    assert_eq!(refused(&LINCOLN_DOUGLAS, &[None], 5), format!("{two} 1 agent takes part"));
    assert_eq!(refused(&LINCOLN_DOUGLAS, &[None; 3], 5), format!("{two} 3 agents take part"));
    let sides = "lincoln-douglas needs one agent for the motion and one against it";
    assert_eq!(refused(&LINCOLN_DOUGLAS, &[Some(For), Some(For)], 5), sides);
    assert_eq!(refused(&LINCOLN_DOUGLAS, &[Some(For), None], 5), sides);
    assert_eq!(refused(&ROUNDTABLE, &[None], 5), "roundtable needs at least two agents, but only one takes part");
}

#[test]
fn the_rounds_are_an_opening_rebuttals_and_a_closing() {
    let places = |rounds| {
        let course = Course::start(&OXFORD, settings(&OXFORD, 3, rounds)).run(&good, &mut first);
        course.visited.iter().skip(2).map(|stage| stage.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(places(2), "poll-before opening closing poll-after verdict");
    assert_eq!(places(4), "poll-before opening rebuttal rebuttal closing poll-after verdict");
}

#[test]
fn both_sides_of_an_oxford_debate_speak_at_once_and_the_audience_is_silent() {
    let mut course = Course::start(&OXFORD, settings(&OXFORD, 4, 3));
    course.go_on_until(|course| course.debate.current_round == 2, &good);
    let ready = course.ready();
    let speakers: Vec<_> = ready.iter().map(|step| step.key.agent_id.as_str()).collect();
    assert_eq!(speakers, ["a", "b"]);
    assert!(ready.iter().all(|step| step.inputs.is_empty() && step.shows == PromptContext::Transcript));
    assert_eq!(course.debate.polls[0].votes.len(), 2);
}

#[test]
fn each_constructive_is_examined_before_the_other_side_opens() {
    // The first agent speaks against the motion, so the second one opens.
    let positions = [Some(Position::Against), Some(Position::For)];
    let course = Course::start(&LINCOLN_DOUGLAS, with_positions(&LINCOLN_DOUGLAS, &positions, 3));
    let course = course.run(&good, &mut first);
    let order = [
        "opening b",
        "cross-examination a b",
        "cross-examination-answer b",
        "opening a",
        "cross-examination b a",
        "cross-examination-answer a",
    ];
    assert_eq!(said(&course.debate.rounds[0]), order);
    assert_eq!(said(&course.debate.rounds[1]), ["rebuttal b", "rebuttal a"]);
    assert_eq!(said(&course.debate.rounds[2]), ["closing b", "closing a"]);
    assert_eq!(heard(&course.calls[3]), ["opening b", "cross-examination a", "cross-examination-answer b"]);
    assert_eq!(heard(&course.calls[5]).len(), 5);
    assert_eq!(heard(&course.calls[7]), ["rebuttal b"]);
    assert_eq!(course.calls.len(), 12);
}

#[test]
fn who_did_not_open_is_not_examined_and_who_was_not_asked_does_not_answer() {
    let failing = |stage: &'static str, agent: &'static str| {
        let reply = move |step: &Step| {
            let fails = step.key.stage.as_str() == stage && step.key.agent_id.as_str() == agent;
            if fails { ScriptedReply::Failed } else { good(step) }
        };
        Course::start(&LINCOLN_DOUGLAS, settings(&LINCOLN_DOUGLAS, 2, 2)).run(&reply, &mut first)
    };
    let course = failing("cross-examination", "b");
    let first_round = said(&course.debate.rounds[0]);
    assert_eq!(first_round, ["opening a", "opening b", "cross-examination a b", "cross-examination-answer b"]);
    assert_eq!(course.debate.status, Status::Completed);
    let course = failing("opening", "a");
    assert_eq!(said(&course.debate.rounds[0]), ["opening b", "cross-examination a b", "cross-examination-answer b"]);
    assert_eq!(course.debate.error.as_deref(), Some("nobody spoke for the motion in the opening round"));
    let course = failing("rebuttal", "a");
    assert_eq!(course.debate.status, Status::Completed);
    let course = failing("closing", "b");
    assert_eq!(said(&course.debate.rounds[1]), ["closing a"]);
    assert_eq!(course.debate.status, Status::Completed);
}

#[test]
fn at_a_roundtable_each_knows_what_was_said_before() {
    let positions = [Some(Position::Against), None, Some(Position::For)];
    let course = Course::start(&ROUNDTABLE, with_positions(&ROUNDTABLE, &positions, 2)).run(&good, &mut first);
    assert_eq!(said(&course.debate.rounds[0]), ["opening a", "opening b", "opening c"]);
    let heard: Vec<_> = course.calls.iter().take(6).map(heard).collect();
    assert_eq!(heard[2], ["opening a", "opening b"]);
    // Speeches of finished rounds are not inputs.
    assert_eq!(heard[3..], [vec![], vec!["closing a".to_owned()], vec!["closing a".into(), "closing b".into()]]);
    let fails = |step: &Step| if step.key.agent_id.as_str() == "c" { good(step) } else { ScriptedReply::Failed };
    let course = Course::start(&ROUNDTABLE, settings(&ROUNDTABLE, 3, 2)).run(&fails, &mut first);
    assert_eq!(course.debate.error.as_deref(), Some("the debate needs 2 openings, but has only 1"));
}

#[test]
fn the_judge_is_asked_twice_in_opposite_orders_and_the_means_decide() {
    let course = Course::start(&OXFORD, settings(&OXFORD, 2, 2))
        .run(&judged([Some(1), Some(1)], [&[60.0, 70.0], &[64.0, 71.0]]), &mut first);
    let [.., one, other] = course.calls.as_slice() else { panic!("the judge was not asked") };
    assert_eq!((one.key.pass, one.cost), (1, BudgetClass::Closing));
    assert_eq!(one.shows, PromptContext::AnonymousTranscript { reversed: false });
    assert_eq!((other.key.pass, other.cost), (2, BudgetClass::Decision));
    assert_eq!(other.shows, PromptContext::AnonymousTranscript { reversed: true });
    assert_eq!(
        (ids(&debaters(&course.debate, false)), ids(&debaters(&course.debate, true))),
        ("a b".into(), "b a".into())
    );
    let verdict = course.debate.verdict.as_ref().unwrap();
    assert_eq!((verdict.winner.as_ref().unwrap().as_str(), verdict.stable), ("b", Some(true)));
    assert_eq!(verdict.scores.values().copied().collect::<Vec<_>>(), [62.0, 70.5]);
    assert_eq!(
        description(&course),
        "\
## Verdict

This is a rehearsal: no model was called.

**Winner: Ben**, against the motion.

The judge named Ben in both readings.

| debater | side | score | first reading | second reading |
| --- | --- | ---: | ---: | ---: |
| Ben | against | 70.5 | 70 | 71 |
| Ada | for | 62 | 60 | 64 |

### Criteria

- **logic**: Ada was closer.

### Reasoning

Pass 1: Ada met Ben.

### Reasoning in the second reading

Pass 2: Ben met Ada.

### What to do

- **Adopt if**: the load grows
- **Reject if**: pass 1 is right
- **Reject if**: pass 2 is right"
    );
    let solution = course.debate.final_solution.as_ref().unwrap();
    assert_eq!((solution.synthesized_by.as_ref().unwrap().as_str(), solution.confidence), ("judge", None));
}

#[test]
fn a_winner_that_changes_with_the_order_is_unstable() {
    let course = Course::start(&LINCOLN_DOUGLAS, settings(&LINCOLN_DOUGLAS, 2, 2))
        .run(&judged([Some(0), Some(1)], [&[80.0, 70.0], &[70.0, 75.0]]), &mut first);
    let verdict = course.debate.verdict.as_ref().unwrap();
    assert_eq!((verdict.winner.as_ref().unwrap().as_str(), verdict.stable), ("a", Some(false)));
    let text = description(&course);
    assert!(text.contains("**Winner: Ada**, for the motion."), "{text}");
    assert!(text.contains("**This verdict is unstable**: the judge named Ada in its first reading"), "{text}");
    assert!(text.contains("### Reasoning in the second reading\n\nPass 2: Ben met Ada.\n"), "{text}");
}

#[test]
fn equal_means_have_no_winner() {
    let course = Course::start(&ROUNDTABLE, settings(&ROUNDTABLE, 3, 2))
        .run(&judged([None, Some(2)], [&[70.1, 60.0, 69.9], &[69.9, 60.0, 70.1]]), &mut first);
    let verdict = course.debate.verdict.as_ref().unwrap();
    assert_eq!((&verdict.winner, verdict.stable), (&None, Some(false)));
    assert!(description(&course).contains("**No winner**: the best scores are equal."));
    assert!(description(&course).contains("the judge named nobody in its first reading and Cleo"));
    assert!(description(&course).contains("| Ada | 70 |"), "{}", description(&course));
}

#[test]
fn one_judgement_is_enough_and_none_is_not() {
    let failing = |passes: &'static [u8]| {
        let reply = move |step: &Step| {
            let fails = step.answer == OutputSpec::Judgement && passes.contains(&step.key.pass);
            if fails { ScriptedReply::Failed } else { good(step) }
        };
        Course::start(&OXFORD, settings(&OXFORD, 2, 2)).run(&reply, &mut first)
    };
    for pass in [&[1], &[2]] {
        let course = failing(pass);
        assert_eq!(course.debate.verdict.as_ref().unwrap().stable, None);
        assert!(description(&course).contains("The judge read the debate only once."));
    }
    // Uses the labels of the only judgement.
    assert!(before_advice(&failing(&[1])).ends_with("Pass 2: Ben met Ada."));
    assert_eq!(failing(&[1, 2]).debate.error.as_deref(), Some("the judge could not give a verdict: 503"));
}

#[test]
fn a_debate_that_is_stopped_is_judged_by_what_was_said() {
    let stopped = |after: usize, reason| {
        let mut course = Course::start(&LINCOLN_DOUGLAS, settings(&LINCOLN_DOUGLAS, 2, 3));
        course.leave(Trigger("START"));
        course.leave(Trigger("ALL_CLEAR"));
        for _ in 0..after {
            let step = course.ready().remove(0);
            course.settle(&step, good(&step));
        }
        course.stop(reason);
        course.run(&good, &mut first)
    };
    let course = stopped(0, StopReason::User);
    assert_eq!(course.debate.error.as_deref(), Some("no one spoke, so there is nothing to judge"));
    let course = stopped(1, StopReason::User);
    assert_eq!((course.calls.len(), &course.debate.verdict.as_ref().unwrap().winner), (2, &None));
    assert!(description(&course).contains("**No winner**: only one debater spoke."));
    assert_eq!(stopped(4, StopReason::User).calls.len(), 6);
    // What is left of the cost limit pays for one judgement.
    let course = stopped(4, StopReason::Budget);
    assert_eq!((course.calls.len(), course.debate.verdict.as_ref().unwrap().stable), (5, None));
}

#[test]
fn what_failed_is_tried_again_when_the_debate_is_resumed() {
    // One side's opening and the questions about the other's fail.
    let reply = |step: &Step| match (step.key.stage.as_str(), step.key.agent_id.as_str()) {
        ("opening" | "cross-examination", "a") => ScriptedReply::Failed,
        _ => good(step),
    };
    let course = Course::start(&LINCOLN_DOUGLAS, settings(&LINCOLN_DOUGLAS, 2, 2)).run(&reply, &mut first);
    assert_eq!((course.debate.status, course.calls.len()), (Status::Failed, 3));
    let course = course.resumed().run(&good, &mut first);
    assert_eq!((course.debate.status, course.debate.failures.len()), (Status::Completed, 0));
    assert_eq!(course.debate.rounds[0].contributions.len(), 6);
    let fails = |step: &Step| if step.answer == OutputSpec::Judgement { ScriptedReply::Failed } else { good(step) };
    let course = Course::start(&OXFORD, settings(&OXFORD, 2, 2)).run(&fails, &mut first);
    assert_eq!(course.resumed().run(&good, &mut first).debate.verdict.as_ref().unwrap().stable, Some(true));
}

#[test]
fn criteria_are_the_judges_or_the_usual_ones() {
    let mut settings = settings(&OXFORD, 2, 2);
    assert_eq!(motion::criteria_or(&settings, &DEFAULT_CRITERIA), ["logic", "evidence", "rebuttal", "clarity"]);
    settings.judge.criteria = Some(Vec::new());
    assert_eq!(motion::criteria_or(&settings, &DEFAULT_CRITERIA).len(), 4);
    settings.judge.criteria = Some(vec!["charm".to_owned()]);
    assert_eq!(motion::criteria_or(&settings, &DEFAULT_CRITERIA), ["charm"]);
}

/// A debate with an audience that votes like this before and after; `-` is a failed ballot.
fn polled(before: &str, after: &str) -> Course {
    let votes = [before, after].map(str::to_owned);
    let reply = move |step: &Step| {
        let OutputSpec::Word(_) = step.answer else { return good(step) };
        let place = usize::from(step.key.agent_id.as_str().as_bytes()[0] - b'c');
        match votes[usize::from(step.key.round > 0)].as_bytes()[place] {
            b'f' => ScriptedReply::Word("for"),
            b'a' => ScriptedReply::Word("against"),
            b'u' => ScriptedReply::Word("undecided"),
            _ => ScriptedReply::Failed,
        }
    };
    Course::start(&OXFORD, settings(&OXFORD, 2 + before.len(), 2)).run(&reply, &mut first)
}

/// The side that gained most in that debate.
fn floor_vote(before: &str, after: &str) -> Option<String> {
    Polls::of(&polled(before, after).debate).unwrap().gained_most().map(str::to_owned)
}

#[test]
fn a_failed_ballot_makes_no_majority() {
    let course = polled("uu-", "faf");
    assert_eq!(Polls::of(&course.debate).unwrap().uncounted, [&AgentId::new("e")]);
    let text = before_advice(&course);
    let section = text.split_once("### Audience\n\n").unwrap().1;
    assert_eq!(
        section,
        "\
| voter | before | after |
| --- | --- | --- |
| Cleo | undecided | for |
| Dora | undecided | against |
| Emil | no vote | for |

- for the motion: 0 before, 1 after (+1)
- against the motion: 0 before, 1 after (+1)
- undecided: 2 before, 0 after (-2)
- not counted, because a vote before or after is missing: Emil

Nobody wins the floor vote: the missing votes could have decided it."
    );
    for (before, after, side) in [("uuaa", "ffaa", "for"), ("fuua", "faaa", "against")] {
        let vote = format!("The side {side} the motion wins the floor vote: it gained more votes or lost fewer.");
        assert!(before_advice(&polled(before, after)).ends_with(&vote));
    }
    assert!(
        before_advice(&polled("uu", "fa"))
            .ends_with("The floor vote is a tie: the votes of both sides changed by the same number.")
    );
    // The missing voter may have switched sides.
    assert_eq!(floor_vote("uuuf", "fff-"), Some("for".to_owned()));
    assert_eq!(floor_vote("uuf", "ff-"), None);
    let course = polled("u-f-", "ff--");
    assert_eq!(Polls::of(&course.debate).unwrap().uncounted, ["d", "e", "f"].map(AgentId::new).each_ref());
    assert!(before_advice(&polled("--", "ff")).ends_with("no agent voted both before and after the debate."));
}

#[test]
fn without_an_audience_nobody_is_polled() {
    let course = Course::start(&OXFORD, settings(&OXFORD, 2, 2)).run(&good, &mut first);
    assert!(Polls::of(&course.debate).is_none());
    assert!(course.debate.polls.is_empty() && !description(&course).contains("Audience"));
    let ballots = |course: &Course| {
        let yields = |step: &&Step| course.debate.stage(step.key.stage).unwrap().yields == Some(ResultKind::Ballot);
        course.calls.iter().filter(yields).map(|step| step.key.round).collect::<Vec<_>>()
    };
    assert!(ballots(&course).is_empty());
    assert_eq!(ballots(&polled("u", "f")), [0, 2]);
}
