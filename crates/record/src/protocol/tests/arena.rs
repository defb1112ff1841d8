//! Which course an arena debate takes (convergence, challenge, vote, extension), and what each agent is asked.

use super::super::*;
use super::course::{Course, ScriptedReply, first, good, settings};
use crate::answer::{Relation, Undecided};
use crate::debate::{Gathered, OutcomeKind, Standings, Status, StopReason};
use crate::event::Event;
use crate::ids::AgentId;
use crate::settings::{Settings, VotingRule};

/// The replies to calls, by `<stage> <agent> <round>` or just by stage.
type Script<'a> = &'a [(&'a str, ScriptedReply)];

fn name(step: &Step) -> String {
    format!("{} {} {}", step.key.stage, step.key.agent_id, step.key.round)
}

/// A text with these decisions.
fn deciding(decisions: &[&str]) -> ScriptedReply {
    ScriptedReply::Text(format!("A text.\n\n## Decisions\n- {}", decisions.join("\n- ")))
}

fn run_with(settings: Settings, script: Script<'_>) -> Course {
    let reply = |step: &Step| {
        let scripted = |wanted: &str| script.iter().find(|(name, _)| *name == wanted).map(|(_, reply)| reply.clone());
        scripted(&name(step)).or_else(|| scripted(step.key.stage.as_str())).unwrap_or_else(|| match &step.answer {
            OutputSpec::Text => deciding(&[&format!("Do as {} says", step.key.agent_id)]),
            _ => good(step),
        })
    };
    Course::start(&ARENA, settings).run(&reply, &mut first)
}

fn run(agents: usize, rounds: u32, script: Script<'_>) -> Course {
    run_with(settings(&ARENA, agents, rounds), script)
}

/// Each stage with the rounds and number of its calls.
fn counted(course: &Course) -> String {
    let places: Vec<String> =
        course.calls.iter().map(|step| format!("{} {}", step.key.stage, step.key.round)).collect();
    let chunks = places.chunk_by(|one, next| one == next);
    chunks.map(|calls| format!("{}: {}", calls[0], calls.len())).collect::<Vec<_>>().join(", ")
}

fn agreements(course: &Course) -> Vec<Option<f64>> {
    course.debate.rounds.iter().map(|round| round.convergence.as_ref().and_then(|one| one.agreement)).collect()
}

fn base(course: &Course) -> String {
    let solve = course.calls.last().unwrap();
    match &solve.answer {
        OutputSpec::Solution(Authorship::Based(key)) => format!("{} {} {}", key.stage, key.agent_id, key.round),
        other => format!("{other:?}"),
    }
}

fn same(relation: Relation) -> ScriptedReply {
    ScriptedReply::Related(Some(relation))
}

#[test]
fn texts_that_decide_alike_in_other_words_are_judged_at_once() {
    let course = run(3, 3, &[("convergence", same(Relation::Same))]);
    let expected = "proposal 1: 3, critique 1: 6, revision 1: 3, convergence 1: 1, scoring 1: 2, judgement 1: 1";
    assert_eq!(counted(&course), expected);
    assert_eq!(agreements(&course), [Some(100.0)]);
    assert_eq!(base(&course), "revision a 1");
    assert!(course.debate.voting.is_none());
}

#[test]
fn texts_in_equal_words_need_nobody_to_relate_them() {
    let course = run(3, 3, &[("proposal", deciding(&["x"])), ("revision", deciding(&["Use it.", "Now"]))]);
    assert_eq!(course.calls.len(), 3 + 6 + 3 + 2 + 1);
    assert_eq!(agreements(&course), [Some(100.0)]);
}

#[test]
fn texts_that_decide_differently_are_put_to_a_vote_however_stable_they_are() {
    let course = run(3, 3, &[]);
    let expected = "proposal 1: 3, critique 1: 6, revision 1: 3, convergence 1: 1, revision 2: 3, convergence 2: 1, \
         revision 3: 3, convergence 3: 1, final-refinement 3: 3, voting 3: 3, scoring 3: 2, \
         judgement 3: 1";
    assert_eq!(counted(&course), expected);
    assert_eq!(agreements(&course), [Some(0.0); 3]);
    let measured = course.debate.rounds[2].convergence.as_ref().unwrap();
    // The same words again.
    assert!(measured.stability.values().all(|stability| (*stability - 100.0).abs() < 1e-9), "{measured:?}");
    assert!(measured.similarity.unwrap() > 60.0, "{measured:?}");
    assert_eq!(course.debate.voting.as_ref().unwrap().winner, Some(AgentId::new("a")));
    assert_eq!(base(&course), "final-refinement a 3");
}

#[test]
fn a_text_without_decisions_keeps_the_agreement_unknown() {
    let course = run(
        2,
        2,
        &[("revision b 1", ScriptedReply::Text("Nothing in particular.".to_owned())), ("revision", deciding(&["x"]))],
    );
    assert_eq!(agreements(&course), [None, Some(100.0)]);
    let unknown = course.debate.rounds[0].convergence.as_ref().unwrap().unknown.as_deref();
    assert_eq!(unknown, Some("b's text lists no decisions"));
    assert!(!course.calls.iter().any(|step| name(step) == "convergence judge 1"));
}

#[test]
fn a_comparison_that_failed_is_no_agreement() {
    let course = run(2, 1, &[("convergence", ScriptedReply::Failed)]);
    assert_eq!(agreements(&course), [None]);
    assert!(course.visited.contains(&StageId::new("voting")));
    assert_eq!(course.debate.status, Status::Completed);
}

#[test]
fn an_agreement_is_challenged_twice_at_most() {
    let mut with = settings(&ARENA, 3, 5);
    with.debate.arena.trickster = true;
    let course =
        run_with(with.clone(), &[("convergence", same(Relation::Same)), ("challenge", ScriptedReply::Challenged(1))]);
    let challenges = course.calls.iter().filter(|step| step.answer == OutputSpec::Challenge);
    assert_eq!(challenges.map(name).collect::<Vec<_>>(), ["challenge judge 1", "challenge judge 2"]);
    assert_eq!(course.debate.current_round, 3);
    assert_eq!(agreements(&course), [Some(100.0); 3]);
    // The agents receive the objections.
    let rework = course.calls.iter().find(|step| name(step) == "revision b 2").unwrap();
    assert_eq!(rework.shows, PromptContext::InputsAndDispute);
    assert_eq!(course.debate.rounds[0].challenge.as_ref().unwrap().claims, ["claim 0"]);
    // The challenge finds nothing, so the debate has converged.
    let course = run_with(with.clone(), &[("convergence", same(Relation::Same))]);
    assert_eq!(course.debate.current_round, 1);
    // The challenge failed, so the debate has not converged.
    let failed = [("convergence", same(Relation::Same)), ("challenge judge 1", ScriptedReply::Failed)];
    assert_eq!(run_with(with, &failed).debate.current_round, 2);
}

#[test]
fn a_round_has_its_texts_marked_where_an_observer_is_wanted() {
    let mut with = settings(&ARENA, 2, 1);
    with.debate.arena.observer = true;
    let course = run_with(with, &[]);
    let observed = &course.debate.rounds[0].observations;
    let of: Vec<String> = observed.iter().map(|one| format!("{} {}", one.of.stage, one.of.agent_id)).collect();
    assert_eq!(of, ["proposal a", "proposal b", "critique b", "critique a", "revision a", "revision b"]);
    let call = course.calls.iter().find(|step| step.answer == OutputSpec::Kinds).unwrap();
    assert_eq!(call.cost, BudgetClass::Extra);
}

#[test]
fn a_winner_that_misses_something_is_sent_back_to_the_critics() {
    let scored = |missing: &[usize]| ScriptedReply::Scored(vec![90.0, 60.0, 50.0], missing.to_vec());
    let script =
        [("convergence", same(Relation::Same)), ("scoring judge 1", scored(&[0])), ("scoring judge 2", scored(&[0]))];
    let course = run(3, 3, &script);
    let expected = "proposal 1: 3, critique 1: 6, revision 1: 3, convergence 1: 1, scoring 1: 2, critique 2: 6, \
         revision 2: 3, convergence 2: 1, scoring 2: 2, judgement 2: 1";
    assert_eq!(counted(&course), expected);
    let debate = &course.debate;
    assert_eq!(debate.extensions.len(), 1, "there is one extension at most");
    assert_eq!(debate.extensions[0].missing, ["a requirement"]);
    assert!(debate.extensions[0].verdict.is_some());
    assert_eq!(debate.judgements.iter().map(|one| one.pass).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(debate.verdict.as_ref().unwrap().missing.contains_key(&AgentId::new("a")));
    // After a vote, one more round may follow.
    let course = run(3, 1, &[("scoring judge 1", scored(&[0]))]);
    assert_eq!(course.debate.current_round, 2);
    assert!(counted(&course).ends_with("judgement 2: 1"), "{}", counted(&course));
    // One order alone may be wrong, and it does not matter what a losing text misses.
    let (mut with, both) = (settings(&ARENA, 3, 3), ("convergence", same(Relation::Same)));
    assert_eq!(run_with(with.clone(), &[both.clone(), ("scoring", scored(&[1, 2]))]).debate.extensions.len(), 0);
    with.debate.arena.extended_rounds = 0;
    assert_eq!(run_with(with, &[both, ("scoring", scored(&[0]))]).debate.extensions.len(), 0);
}

#[test]
fn an_extension_without_room_closes_with_what_led_to_it() {
    let scored = ScriptedReply::Scored(vec![90.0, 60.0], vec![0]);
    let mut course = Course::start(&ARENA, settings(&ARENA, 2, 1));
    // The replies until the extension.
    let reply = |step: &Step| match &step.answer {
        OutputSpec::Text => deciding(&["x"]),
        OutputSpec::Scores(_) => scored.clone(),
        _ => good(step),
    };
    course.go_on_until(|course| !course.debate.extensions.is_empty(), &reply);
    course.stop(StopReason::Budget);
    let course = course.run(&reply, &mut first);
    assert_eq!(course.debate.status, Status::Completed, "{:?}", course.debate.error);
    assert!(counted(&course).ends_with("judgement 1: 1"), "{}", counted(&course));
    assert_eq!(base(&course), "revision a 1");
}

/// A vote under this rule. Each agent votes for the candidate at the given index; `None` fails.
fn voted(rule: VotingRule, votes: &[Option<usize>]) -> Course {
    let names = ["voting a 1", "voting b 1", "voting c 1", "voting d 1", "voting e 1", "voting f 1"];
    let script: Vec<(&str, ScriptedReply)> = names
        .into_iter()
        .zip(votes)
        .map(|(name, vote)| (name, vote.map_or(ScriptedReply::Failed, ScriptedReply::Choice)))
        .collect();
    let mut settings = settings(&ARENA, votes.len(), 1);
    settings.debate.arena.voting.rule = rule;
    run_with(settings, &script)
}

#[test]
fn each_rule_needs_its_share_of_the_voters() {
    use VotingRule::{Majority, Supermajority, Unanimous};
    for (rule, votes, undecided) in [
        (Majority, &[Some(1), Some(1), Some(0)][..], None),
        (Majority, &[Some(1), Some(1), Some(0), Some(2)][..], Some(Undecided::ShortOfRule)),
        (Majority, &[Some(1), Some(1), Some(0), Some(0)][..], Some(Undecided::Tie)),
        (Supermajority, &[Some(1), Some(1), Some(0)][..], None),
        (Supermajority, &[Some(1), Some(1), Some(1), Some(0), Some(2)][..], Some(Undecided::ShortOfRule)),
        (Unanimous, &[Some(1), Some(1)][..], None),
        (Unanimous, &[Some(1), Some(1), Some(0)][..], Some(Undecided::ShortOfRule)),
        // A failed ballot is not counted, lowers the turnout, and does not help the rest to a majority.
        (Majority, &[Some(1), Some(1), None][..], None),
        (Majority, &[Some(1), Some(1), None, None][..], Some(Undecided::ShortOfRule)),
        (Supermajority, &[Some(1), Some(1), None, None][..], Some(Undecided::ShortOfRule)),
        (Unanimous, &[Some(1), Some(1), Some(1), None][..], Some(Undecided::ShortOfRule)),
        (Majority, &[Some(1), None, None][..], Some(Undecided::NoQuorum)),
        (Majority, &[Some(1), Some(1), None, None, None][..], Some(Undecided::NoQuorum)),
        (Majority, &[Some(1), None][..], Some(Undecided::NoQuorum)),
    ] {
        let course = voted(rule, votes);
        let voting = course.debate.voting.as_ref().unwrap();
        let count = &voting.count;
        assert_eq!(count.undecided, undecided, "{rule:?} {votes:?}");
        assert_eq!(count.cast as usize, votes.iter().flatten().count());
        let winner = if undecided.is_none() { Some(AgentId::new("b")) } else { None };
        assert_eq!(voting.winner, winner, "{rule:?} {votes:?}");
        // Without a winner, the judge's scores decide.
        assert_eq!(base(&course), if undecided.is_none() { "final-refinement b 1" } else { "final-refinement a 1" });
    }
}

#[test]
fn self_votes_are_counted_and_dissent_is_kept_word_for_word() {
    let course = voted(VotingRule::Majority, &[Some(1), Some(1), Some(2)]);
    let count = course.debate.voting.as_ref().unwrap().count.clone();
    assert_eq!((count.self_votes, count.voters, count.quorum), (2, 3, 2));
    let dissent: Vec<_> =
        count.dissent.iter().map(|one| (one.agent_id.as_str(), one.preferred.as_str(), one.reason.as_str())).collect();
    assert_eq!(dissent, [("c", "c", "better")]);
    let tied = voted(VotingRule::Majority, &[Some(0), Some(1)]);
    let voting = tied.debate.voting.as_ref().unwrap();
    assert_eq!(voting.tied, ["a", "b"].map(AgentId::new));
    assert!(voting.count.dissent.is_empty());
}

#[test]
fn the_judge_scores_in_opposite_orders_and_chooses_where_scores_are_equal() {
    let course =
        run(2, 1, &[("revision", deciding(&["x"])), ("scoring", ScriptedReply::Scored(vec![70.0, 70.0], Vec::new()))]);
    let scorings: Vec<_> = course.calls.iter().filter(|step| matches!(step.answer, OutputSpec::Scores(_))).collect();
    let (PromptContext::Candidates { salt: one }, PromptContext::CandidatesReversed { salt: other }) =
        (scorings[0].shows, scorings[1].shows)
    else {
        panic!("{scorings:?}");
    };
    assert_eq!(one, other);
    assert_eq!(course.debate.verdict.as_ref().unwrap().winner, None);
    assert_eq!(course.calls.last().unwrap().answer, OutputSpec::Solution(Authorship::Amended));
}

#[test]
fn an_answer_is_written_without_scores_where_the_judge_gives_none() {
    let unscored = ("scoring", ScriptedReply::Failed);
    let course = run(2, 1, &[("revision", deciding(&["x"])), unscored.clone()]);
    assert_eq!((course.debate.status, &course.debate.verdict), (Status::Completed, &None));
    assert_eq!(course.debate.outcome.as_ref().unwrap().kind, OutcomeKind::Degraded);
    assert_eq!(course.calls.last().unwrap().answer, OutputSpec::Solution(Authorship::Amended));
    // The winner of the vote wins.
    let course = run(3, 1, &[("voting", ScriptedReply::Choice(1)), unscored.clone()]);
    assert!(course.debate.verdict.is_none() && course.debate.extensions.is_empty());
    assert!(base(&course).starts_with("final-refinement "), "{}", base(&course));
    // If the answer also failed, resuming scores the texts again.
    let failed = run(2, 1, &[("revision", deciding(&["x"])), unscored, ("judgement", ScriptedReply::Failed)]);
    assert_eq!(failed.debate.status, Status::Failed);
    let again = failed.resumed().run(&good, &mut first);
    assert_eq!(again.debate.status, Status::Completed);
    assert!(again.debate.verdict.is_some());
}

#[test]
fn who_fails_stands_by_the_text_before() {
    let course = run(
        3,
        2,
        &[
            ("revision b 2", ScriptedReply::Failed),
            ("final-refinement b 2", ScriptedReply::Failed),
            ("voting", ScriptedReply::Choice(1)),
        ],
    );
    assert_eq!(base(&course), "revision b 1");
    let course = run(3, 1, &[("proposal b 1", ScriptedReply::Failed)]);
    let candidates = &course.calls.last().unwrap().inputs;
    assert_eq!(candidates.len(), 2);
    assert!(!course.calls.iter().any(|step| name(step) == "revision b 1"));
    let course = run(2, 1, &[("proposal b 1", ScriptedReply::Failed)]);
    assert_eq!(course.debate.error.as_deref(), Some("round 1 has only 1 of the 2 proposals that an arena needs"));
}

#[test]
fn only_those_who_were_chosen_are_asked() {
    let mut with = settings(&ARENA, 4, 1);
    with.debate.arena.team.size = Some(2);
    let mut course = Course::start(&ARENA, with);
    let standings: Standings = serde_json::from_value(serde_json::json!({"debates": 20, "agents": [
        {"agentId": "a", "rating": 1400.0, "calibration": 0.60, "debates": 20},
        {"agentId": "b", "rating": 1620.0, "calibration": 0.10, "debates": 8},
        {"agentId": "c", "debates": 0},
        {"agentId": "d", "rating": 1500.0, "debates": 12},
    ]}))
    .unwrap();
    course.record(Event::Gathered { gathered: Gathered { standings, ..Gathered::default() } });
    let course = course.run(&good, &mut first);
    let selection = course.debate.selection.as_ref().unwrap();
    let scores: Vec<String> = selection.candidates.iter().map(|one| format!("{:.6}", one.score)).collect();
    // (1400-1500)/400 + (0.5-0.60) and (1620-1500)/400 + (0.5-0.10); unknown values add nothing.
    assert_eq!(scores, ["-0.350000", "0.700000", "0.000000", "0.000000"]);
    assert_eq!(selection.candidates.iter().map(|one| one.chosen).collect::<Vec<_>>(), [false, true, true, false]);
    let asked: std::collections::BTreeSet<&str> = course.calls.iter().map(|step| step.key.agent_id.as_str()).collect();
    assert_eq!(asked.into_iter().collect::<Vec<_>>(), ["b", "c", "judge"]);
    assert_eq!(course.debate.voting.as_ref().unwrap().count.voters, 2);
}

#[test]
fn an_arena_needs_two() {
    assert!((ARENA.check)(&settings(&ARENA, 1, 1)).is_err());
    let mut with = settings(&ARENA, 3, 1);
    with.debate.arena.team.size = Some(1);
    assert!((ARENA.check)(&with).unwrap_err().to_string().contains("`debate.arena.team.size` is 1"));
}
