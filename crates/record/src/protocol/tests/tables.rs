//! Checks every row of every table, that every stage is reached, and the documented number of calls.

use std::collections::{BTreeSet, HashSet};

use crate::answer::Relation;
use crate::points::Severity;
use crate::settings::Position;

use super::super::*;
use super::course::{Course, ScriptedReply, first, good, settings};

/// A text whose decision no other text shares.
fn decided(step: &Step) -> ScriptedReply {
    if ["findings", "confirmation"].contains(&step.key.stage.as_str()) {
        return good(step);
    }
    ScriptedReply::Text(format!("A text.\n\n## Decisions\n- Do as {} says", step.key.agent_id))
}

#[test]
fn each_table_has_exactly_these_rows() {
    let tables: Vec<String> = PROTOCOLS.iter().map(|one| format!("{}\n\n{}", one.name, one.table())).collect();
    insta::assert_snapshot!("tables", tables.join("\n"));
}

#[test]
fn a_diagram_shows_every_row() {
    for protocol in PROTOCOLS {
        let diagram = protocol.mermaid();
        assert!(diagram.starts_with("stateDiagram-v2\n    [*] --> initialization\n"));
        assert_eq!(diagram.lines().count(), protocol.rows().count() + 2);
    }
    for line in [
        "    clarification_input --> suspended: WAITING_FOR_INPUT\n",
        "    poll_before --> opening: POLLED\n",
        "    verdict --> [*]: VERDICT_READY\n",
    ] {
        assert!(OXFORD.mermaid().contains(line), "{line}");
    }
}

#[test]
fn a_pair_leads_where_its_row_says_and_no_other_pair_leads_anywhere() {
    for protocol in PROTOCOLS {
        let triggers: HashSet<Trigger> = protocol.rows().map(|(_, row)| row.0).collect();
        for stage in protocol.stages {
            for trigger in &triggers {
                let row = stage.rows.iter().find(|row| row.0 == *trigger);
                assert_eq!(protocol.next(stage.info.id, *trigger).ok(), row.map(|row| row.1), "{}", stage.info.id);
            }
        }
    }
    let error = DIALECTIC.next(DIALECTIC.closing, Trigger("ALL_CLEAR")).unwrap_err();
    assert_eq!(error.to_string(), "protocol dialectic has no transition from synthesis after ALL_CLEAR");
}

#[test]
fn stages_and_pairs_appear_once_and_lead_to_stages() {
    let mut names = HashSet::new();
    for protocol in PROTOCOLS {
        assert!(names.insert(protocol.name));
        assert_eq!(Protocol::named(protocol.name).map(|found| found.name), Some(protocol.name));
        let ids: HashSet<_> = protocol.stages.iter().map(|stage| stage.info.id).collect();
        assert_eq!(ids.len(), protocol.stages.len(), "{} has a stage twice", protocol.name);
        for stage in protocol.stages {
            let triggers: HashSet<_> = stage.rows.iter().map(|row| row.0).collect();
            assert_eq!(triggers.len(), stage.rows.len(), "{} has a pair twice", stage.info.id);
            assert_eq!(stage.rows.is_empty(), !stage.info.is_transition_target, "{}", stage.info.id);
            for Row(trigger, next) in stage.rows {
                assert!(!Trigger::COMMON.contains(trigger), "{} belongs to every stage", trigger.0);
                if let Next::Go(to) | Next::Begin(to) = next {
                    assert!(
                        protocol.stage(*to).is_some_and(|to| to.info.is_transition_target),
                        "{} leads to {to}",
                        stage.info.id
                    );
                }
            }
        }
    }
    assert!(Protocol::named("unknown").is_none());
}

#[test]
fn the_common_events_work_in_every_stage() {
    for protocol in PROTOCOLS {
        for stage in protocol.stages.iter().filter(|stage| stage.info.is_transition_target) {
            let next = |trigger| protocol.next(stage.info.id, trigger);
            assert_eq!(next(Trigger::RETRY), Ok(Next::Go(stage.info.id)));
            assert_eq!(next(Trigger::FALLBACK), Ok(stage.rows[0].1));
            assert_eq!(next(Trigger::FAILED), Ok(Next::Fail));
            assert_eq!(next(Trigger::PAUSE), Ok(Next::Pause));
            assert_eq!(next(Trigger::STOP), Ok(Next::Go(protocol.closing)));
        }
        for stage in protocol.stages.iter().filter(|stage| !stage.info.is_transition_target) {
            assert!(Trigger::COMMON.iter().all(|trigger| protocol.next(stage.info.id, *trigger).is_err()));
            assert!((stage.outcome)(&Course::start(protocol, settings(protocol, 2, 2)).debate).is_err());
        }
    }
}

#[test]
fn every_stage_is_reached() {
    for protocol in PROTOCOLS {
        let mut reached = BTreeSet::new();
        for choice in 0..2 {
            let agents = protocol.built_in_agents.unwrap_or(3);
            let rounds = protocol.default_rounds.min(3);
            let mut settings = settings(protocol, agents, rounds);
            settings.debate.check = 3;
            settings.debate.interactive_clarifications = true;
            (settings.debate.arena.observer, settings.debate.arena.trickster) = (true, true);
            let agents = settings.agents.iter_mut().map(|agent| &mut agent.summarization);
            agents.chain([&mut settings.judge.summarization]).for_each(|rules| rules.enabled = true);
            let reply = |step: &Step| match &step.answer {
                OutputSpec::Questions { .. } if step.key.pass == 1 => ScriptedReply::Text("How many?".to_owned()),
                OutputSpec::Word(words) => ScriptedReply::Word(words[choice]),
                OutputSpec::Text => decided(step),
                OutputSpec::Check(_) => ScriptedReply::Checked(vec![Severity::Blocking]),
                OutputSpec::Relations => ScriptedReply::Related([Some(Relation::Same), None][choice]),
                _ => good(step),
            };
            let course = Course::start(protocol, settings).run(&reply, &mut first);
            assert!(course.debate.final_solution.is_some());
            reached.extend(course.visited);
            reached.extend(course.calls.iter().map(|step| step.key.stage));
        }
        let missed = protocol.stages.iter().filter(|stage| !reached.contains(&stage.info.id));
        assert_eq!(missed.map(|stage| stage.info.id).collect::<Vec<_>>(), [], "{}", protocol.name);
    }
}

#[test]
fn as_many_calls_are_made_as_the_formula_says() {
    for protocol in PROTOCOLS {
        let mut tried = 0;
        for (agents, rounds, neutral) in
            (1..=5_u32).flat_map(|n| [1, 2, 3, 6].into_iter().flat_map(move |r| (0..=n.min(3)).map(move |a| (n, r, a))))
        {
            let mut settings = settings(protocol, agents as usize, rounds);
            settings.debate.check = 3;
            // The last agents listen, and the others take sides in turn.
            if neutral > 0 {
                for (place, agent) in settings.agents.iter_mut().enumerate() {
                    let sides = [Position::For, Position::Against];
                    let listens = place >= (agents - neutral) as usize;
                    agent.position = Some(if listens { Position::Neutral } else { sides[place % 2] });
                }
            }
            if (protocol.check)(&settings).is_err() {
                continue;
            }
            tried += 1;
            let debaters =
                settings.agents.iter().filter(|agent| motion::side(&settings, &agent.id) != Position::Neutral);
            let (n, r, d) = (agents, rounds, u32::try_from(debaters.count()).unwrap());
            let expected = match protocol.calls {
                "n + r·n² + 1, and 3 to 8 for the check" => n + r * n * n + 1 + 4,
                "2·n + 1, and 3 to 8 for the check" => 2 * n + 1 + 4,
                "d·r + 2·(n - d) + 2, where d of the n agents are on a side" => d * r + 2 * (n - d) + 2,
                "at most r·n² + 1, where each part of the change is a round" => r * n * n + 1,
                "2·r + 6" => 2 * r + 6,
                "n·r + 2" => n * r + 2,
                "at most n² + 2·n + r·(n + 1) + 3, and n² + 2·n + 3 more for each extension, and 3 to 8 for the check" => {
                    n * n + 2 * n + r * (n + 1) + 3 + 4
                }
                "1, and 3 to 8 with `--check 3`" => 1 + 4,
                "at most 2·r + 1, and 3 to 8 with `--check 3`" => 2 * r + 1 + 4,
                "n + 1, and 3 to 8 with `--check 3`" => n + 1 + 4,
                other => {
                    panic!("a line above is to say how many calls are {other:?}, the `calls` of {}", protocol.name)
                }
            };
            let reply = |step: &Step| match &step.answer {
                OutputSpec::Text => decided(step),
                OutputSpec::Check(_) => ScriptedReply::Checked(vec![Severity::Blocking]),
                _ => good(step),
            };
            let course = Course::start(protocol, settings).run(&reply, &mut first);
            assert_eq!(course.calls.len(), expected as usize, "{} with {n} agents and {r} rounds", protocol.name);
            assert_eq!(course.debate.rounds.len(), rounds as usize);
        }
        assert!(tried >= 2, "{}", protocol.name);
    }
}
