//! Whatever the calls return, and in whatever order, every debate ends, and always in the same way.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashSet};
use std::hash::{Hash, Hasher};

use proptest::prelude::*;

use super::super::*;
use super::course::{Course, ScriptedReply, settings};
use crate::answer::Relation;
use crate::debate::{Status, StopReason};
use crate::points::Severity;
use crate::settings::{Position, TerminationKind};

/// A debate to run.
#[derive(Debug, Clone)]
struct Case {
    protocol: &'static Protocol,
    settings: Settings,
    /// Seeds the results of the calls.
    replies: u64,
    /// One in this many calls fails; 0 for none.
    failures: u64,
}

fn number(parts: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

impl Case {
    /// A reply that depends only on the call.
    fn reply(&self, step: &Step) -> ScriptedReply {
        let number = |salt: u64| number((self.replies, &step.key, salt));
        let place = |salt: u64, count: usize| usize::try_from(number(salt) % count as u64).unwrap();
        if self.failures > 0 && number(0).is_multiple_of(self.failures) {
            return ScriptedReply::Failed;
        }
        let decisions = || ["", "\n\n## Decisions\n- this\n- that", "\n\n## Decisions\n- it"][place(9, 3)];
        let text = || ScriptedReply::Text("words ".repeat(1 + place(1, 12)) + decisions());
        let score = |salt| [0.0, 50.0, 79.5, 80.0, 100.0][place(salt, 5)];
        match &step.answer {
            OutputSpec::Questions { .. } | OutputSpec::Score(_) if place(2, 3) == 0 => ScriptedReply::Nothing,
            OutputSpec::Score(_) => ScriptedReply::Score(score(3)),
            OutputSpec::Text if step.key.stage.as_str() == "findings" => {
                let texts =
                    ["No findings.", "1. [major] a.rs:1-9: x", "1. [minor] a.rs:9: x\n2. [blocking] b.rs:3: y", "?"];
                ScriptedReply::Text(texts[place(40, 4)].to_owned())
            }
            OutputSpec::Text
            | OutputSpec::Summary
            | OutputSpec::Questions { .. }
            | OutputSpec::Amendment
            | OutputSpec::Solution(_)
            | OutputSpec::FindingRulings
            | OutputSpec::FollowUp => text(),
            OutputSpec::Check(_) => {
                ScriptedReply::Checked([vec![], vec![Severity::Minor], vec![Severity::Blocking]][place(20, 3)].clone())
            }
            OutputSpec::Choice => ScriptedReply::Choice(place(4, 6)),
            OutputSpec::Word(words) => ScriptedReply::Word(words[place(5, words.len())]),
            OutputSpec::Judgement => {
                let agents = self.settings.agents.len();
                let winner = Some(place(6, agents + 1)).filter(|winner| *winner < agents);
                ScriptedReply::Judgement(winner, (10..).take(agents).map(score).collect())
            }
            OutputSpec::Relations => ScriptedReply::Related(
                [None, Some(Relation::Same), Some(Relation::Same), Some(Relation::Opposite)][place(7, 4)],
            ),
            OutputSpec::Challenge => ScriptedReply::Challenged(place(8, 2)),
            OutputSpec::Kinds => ScriptedReply::Observed,
            OutputSpec::Json(kind) => unreachable!("no built-in protocol asks for `{}`", kind.name),
            OutputSpec::Scores(_) => {
                let agents = self.settings.agents.len();
                let missing = (0..agents).filter(|agent| place(30 + *agent as u64, 3) == 0);
                ScriptedReply::Scored((10..).take(agents).map(score).collect(), missing.collect())
            }
        }
    }

    fn run(&self, order: u64) -> Course {
        let mut happened = 0;
        let mut pick = |count: usize| {
            happened += 1;
            usize::try_from(number((order, happened)) % count as u64).unwrap()
        };
        Course::start(self.protocol, self.settings.clone()).run(&|step| self.reply(step), &mut pick)
    }
}

fn case() -> impl Strategy<Value = Case> {
    let position = prop_oneof![
        Just(None),
        Just(Some(Position::For)),
        Just(Some(Position::Against)),
        Just(Some(Position::Neutral)),
    ];
    let kind =
        prop_oneof![Just(TerminationKind::Fixed), Just(TerminationKind::Convergence), Just(TerminationKind::Quality)];
    let panel = (prop::collection::vec(position, 1..=5), any::<bool>());
    let rules = (1..=5_u32, kind, any::<bool>(), any::<bool>());
    let fate = (any::<u64>(), prop_oneof![Just(0_u64), 2..12_u64]);
    (prop::sample::select(PROTOCOLS), panel, rules, fate)
        .prop_map(|(protocol, (positions, with_positions), (rounds, kind, asks, sums_up), (replies, failures))| {
            let mut settings = settings(protocol, positions.len(), rounds);
            for (agent, position) in settings.agents.iter_mut().zip(positions) {
                agent.position = position.filter(|_| with_positions);
                agent.summarization.enabled = sums_up;
            }
            settings.judge.summarization.enabled = sums_up;
            settings.debate.termination_condition.kind = kind;
            settings.debate.interactive_clarifications = asks;
            settings.debate.arena.trickster = asks;
            settings.debate.check = if sums_up { 3 } else { u32::from(asks) };
            settings.debate.arena.observer = sums_up;
            settings.debate.arena.team.size = Some(3).filter(|_| with_positions);
            settings.debate.arena.extended_rounds = u32::from(asks) * 2;
            Case { protocol, settings, replies, failures }
        })
        .prop_filter("settings that a protocol refuses", |case| (case.protocol.check)(&case.settings).is_ok())
}

/// The properties of every finished debate.
fn check(case: &Case, course: &Course) {
    let debate = &course.debate;
    match debate.status {
        Status::Completed => assert!(debate.final_solution.is_some() && debate.outcome.is_some()),
        Status::Failed => {
            let says_what = debate.error.as_ref().is_some_and(|error| error.contains(' '));
            assert!(says_what, "an `outcome` fails without words: {:?}", debate.error);
            assert!(case.failures > 0 || debate.stop_reason.is_some(), "{:?}", debate.error);
        }
        Status::Pending | Status::Running | Status::Paused => panic!("it has no end"),
    }
    let mut stages: BTreeSet<StageId> = BTreeSet::new();
    stages.extend(debate.rounds.iter().flat_map(|round| &round.contributions).map(|one| one.stage));
    assert!(stages.iter().all(|stage| debate.stage(*stage).is_some()));
    let extensions = debate.extensions.len();
    assert!(debate.rounds.len() <= case.settings.debate.rounds as usize + extensions);
    let keys: HashSet<_> = course.calls.iter().map(|step| &step.key).collect();
    assert_eq!(keys.len(), course.calls.len(), "a call was made twice");
    let agents = case.settings.agents.len() + 1;
    let rounds = case.settings.debate.rounds as usize + 4 + 2 * extensions;
    assert!(course.calls.len() <= agents * agents * rounds, "too many calls");
    // A text must exist before a call can show it.
    for (place, step) in course.calls.iter().enumerate() {
        let before: HashSet<_> = course.calls[..place].iter().map(|call| &call.key).collect();
        let free = |key| debate.contribution(key).is_some_and(|one| one.metadata.carried_over);
        let is_closing = step.key.stage == case.protocol.closing && debate.stop_reason.is_some();
        assert!(is_closing || step.inputs.iter().all(|key| before.contains(key) || free(key)), "{step:#?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_debate_ends_and_the_order_of_its_calls_changes_nothing(case in case(), orders in any::<[u64; 2]>()) {
        let [one, other] = orders.map(|order| case.run(order));
        check(&case, &one);
        check(&case, &other);
        let ending = |course: &Course| {
            (course.debate.status, course.debate.error.clone(), course.stage(), course.debate.current_round)
        };
        prop_assert_eq!(ending(&one), ending(&other));
        // What had started early when a debate failed depends on timing.
        if one.debate.status == Status::Completed {
            prop_assert_eq!(&one.debate, &other.debate);
        }
    }

    #[test]
    fn a_branch_from_anywhere_comes_to_the_same_end(case in case(), order in any::<u64>(), at: prop::sample::Index) {
        let course = case.run(order);
        prop_assume!(course.debate.status == Status::Completed);
        let calls = course.calls.iter().filter(|step| course.debate.stage(step.key.stage).unwrap().is_transition_target);
        let calls: Vec<_> = calls.map(|step| format!("{}.{}", step.key.round, step.key.stage)).collect();
        let point = at.get(&calls);
        let branch = course.fork(&point.parse().unwrap()).run(&|step| case.reply(step), &mut |_| 0);
        let fate = |debate: &Debate| {
            let Debate { rounds, clarifications, polls, verdict, final_solution, failures, settled, .. } = debate.clone();
            let said: Vec<_> = rounds.into_iter().map(|round| (round.contributions, round.summaries)).collect();
            (said, clarifications, polls, verdict, final_solution, failures, settled)
        };
        prop_assert_eq!(fate(&branch.debate), fate(&course.debate), "{}", point);
    }

    #[test]
    fn a_debate_can_be_stopped_anywhere(case in case(), order in any::<u64>(), after in 0..60_usize, broke: bool) {
        let mut course = Course::start(case.protocol, case.settings.clone());
        for happened in 0..after {
            let ready = course.ready();
            let Some(step) = (!ready.is_empty())
                .then(|| &ready[usize::try_from(number((order, happened)) % ready.len() as u64).unwrap()])
            else {
                // Enters the next stage, unless the debate ends.
                let outcome = (case.protocol.stage(course.stage()).unwrap().outcome)(&course.debate);
                let has_facts = !(case.protocol.stage(course.stage()).unwrap().facts)(&course.debate).is_empty();
                if has_facts || case.protocol.is_closing(course.stage()) || outcome.is_err() {
                    break;
                }
                course.leave(outcome.unwrap());
                continue;
            };
            let reply = case.reply(step);
            course.settle(step, reply);
            course.take_facts();
        }
        course.stop(if broke { StopReason::Budget } else { StopReason::User });
        let has_said_something = course.debate.final_round().is_some();
        let course = course.run(&|step| case.reply(step), &mut |_| 0);
        check(&case, &course);
        prop_assert!(case.protocol.is_closing(course.stage()));
        if !broke {
            prop_assert_eq!(course.stage(), case.protocol.closing);
        }
        if case.failures == 0 {
            let expected = if has_said_something { Status::Completed } else { Status::Failed };
            prop_assert_eq!(course.debate.status, expected, "{:?}", course.debate.error);
        }
    }
}
