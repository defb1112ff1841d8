//! How points change state, given parsed contributions.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::debate::Debate;
use crate::ids::{AgentId, CallKey, StageId};
use crate::points::Severity;

use super::*;

/// A debate from lists of contributions by round: author, target if any, and parsed content.
fn debate(rounds: &[&[(&str, Option<&str>, Value)]]) -> Debate {
    let contribution = |(agent, target, reading): &(&str, Option<&str>, Value)| {
        let mut one = json!({"agentId": agent, "agentRole": "kiss", "type": "said", "content": "", "reading": reading});
        if let Some(target) = target {
            one["targetAgentId"] = json!(target);
        }
        one
    };
    let rounds = (1..).zip(rounds).map(|(number, said): (u32, _)| {
        json!({"roundNumber": number, "contributions": said.iter().map(contribution).collect::<Vec<_>>()})
    });
    let rounds: Vec<Value> = rounds.collect();
    serde_json::from_value(json!({"id": "d", "problem": "p", "status": "running", "rounds": rounds})).unwrap()
}

/// The debate with the judge's ruling on its first point.
fn ruled(mut debate: Debate, mut ruling: Value) -> Debate {
    ruling["point"] = json!("r1/a/b/1");
    debate.final_solution = Some(serde_json::from_value(json!({"description": "", "rulings": [ruling]})).unwrap());
    debate
}

fn is_bare(point: &Point) -> bool {
    point.answer().is_some_and(Remark::is_bare_acceptance)
}

fn points(severities: &[&str]) -> Value {
    let points = severities.iter().map(|severity| json!({"severity": severity, "text": "It fails."}));
    json!({"points": points.collect::<Vec<_>>()})
}

fn answers(given: &[(&str, &str, Option<&str>)]) -> Value {
    let answers = given.iter().map(|(point, answer, reason)| {
        let mut one = json!({"point": point, "answer": answer});
        if let Some(reason) = reason {
            one["reason"] = json!(reason);
        }
        one
    });
    json!({"answers": answers.collect::<Vec<_>>(), "change": {"added": 2, "removed": 1}})
}

fn rechecks(given: &[(&str, &str)]) -> Value {
    let rechecks = given.iter().map(|(point, standing)| json!({"point": point, "standing": standing, "reason": "why"}));
    json!({"points": [], "rechecks": rechecks.collect::<Vec<_>>()})
}

/// Each point with its answer, its critic, and whether it is open.
fn lives(ledger: &Ledger) -> Vec<String> {
    let life = |one: &Point| {
        let critic = one.recheck().map_or("-", RecheckStanding::name);
        format!(
            "{} {} {critic} {}",
            one.id,
            one.response().map_or("unanswered", Response::name),
            if one.is_undecided() { "open" } else { "closed" }
        )
    };
    ledger.objections.iter().map(life).collect()
}

#[test]
fn only_a_stated_change_or_a_withdrawal_closes_a_point() {
    let debate = debate(&[&[
        ("a", Some("b"), points(&["blocking", "major", "major", "minor", "major"])),
        (
            "b",
            None,
            answers(&[
                ("r1/a/b/1", "accepted", Some("a token")),
                ("r1/a/b/2", "accepted", None),
                ("r1/a/b/3", "rejected", Some("the budget")),
                ("r1/a/b/4", "partly", Some("half")),
            ]),
        ),
    ]]);
    let ledger = Ledger::of(&debate);
    assert_eq!(
        lives(&ledger),
        [
            "r1/a/b/1 accepted - closed",
            "r1/a/b/2 accepted - open",
            "r1/a/b/3 rejected - open",
            "r1/a/b/4 partly - open",
            "r1/a/b/5 unanswered - open",
        ]
    );
    assert!(is_bare(&ledger.objections[1]) && !is_bare(&ledger.objections[0]));
    assert_eq!(ledger.tally(1).unwrap().to_string(), "5 points · 3 open · 1 claimed · 1 rejected");
    let decided: Vec<_> = ledger.to_decide().into_iter().map(|one| one.id.to_string()).collect();
    assert_eq!(decided, ["r1/a/b/2", "r1/a/b/3", "r1/a/b/5"], "a minor one is not the judge's");
}

#[test]
fn critics_of_the_next_round_whoever_they_are_withdraw_or_maintain() {
    let first: &[_] = &[
        ("a", Some("b"), points(&["blocking", "major", "major"])),
        (
            "b",
            None,
            answers(&[
                ("r1/a/b/1", "accepted", Some("done")),
                ("r1/a/b/2", "rejected", Some("no")),
                ("r1/a/b/3", "rejected", Some("no")),
            ]),
        ),
    ];
    let second: &[_] = &[
        // Maintaining outweighs withdrawing, whatever the order.
        ("a", Some("b"), rechecks(&[("r1/a/b/1", "maintained"), ("r1/a/b/2", "withdrawn"), ("r1/a/b/3", "withdrawn")])),
        ("c", Some("b"), rechecks(&[("r1/a/b/1", "withdrawn"), ("r1/a/b/2", "maintained")])),
    ];
    let ledger = Ledger::of(&debate(&[first, second]));
    assert_eq!(
        lives(&ledger),
        [
            "r1/a/b/1 accepted maintained open",
            "r1/a/b/2 rejected maintained open",
            "r1/a/b/3 rejected withdrawn closed",
        ]
    );
    assert_eq!(ledger.tally(2).unwrap().to_string(), "3 points · 2 open · 1 rejected");
    // A withdrawn point stays closed, whatever its author says about it.
    let third: &[_] = &[("b", None, answers(&[("r1/a/b/1", "accepted", Some("now")), ("r1/a/b/3", "rejected", None)]))];
    let ledger = Ledger::of(&debate(&[first, second, third]));
    assert_eq!(
        lives(&ledger),
        [
            "r1/a/b/1 accepted maintained closed",
            "r1/a/b/2 rejected maintained open",
            "r1/a/b/3 rejected withdrawn closed",
        ]
    );
    assert_eq!(ledger.moves.len(), 2);
    assert_eq!(ledger.moves[1].unanswered, [ledger.objections[1].id.clone()]);
    assert_eq!(ledger.moves[1].change, Some(Change { added: 2, removed: 1 }));
}

#[test]
fn an_accepted_point_is_looked_at_once_more_and_then_settled() {
    let rounds: [&[(&str, Option<&str>, Value)]; 3] = [
        &[("a", Some("b"), points(&["major"])), ("b", None, answers(&[("r1/a/b/1", "accepted", Some("done"))]))],
        &[("c", Some("b"), points(&[])), ("b", None, answers(&[]))],
        &[("a", Some("b"), points(&[]))],
    ];
    let settled = |upto| Ledger::of(&debate(&rounds[..upto])).objections[0].is_settled();
    // A point is not settled by another critic's silence.
    assert_eq!([settled(1), settled(2), settled(3)], [false, false, true]);
    // Silence never settles an open point.
    let silent: [&[(&str, Option<&str>, Value)]; 2] =
        [&[("a", Some("b"), points(&["major"]))], &[("c", Some("b"), points(&["minor"]))]];
    let ledger = Ledger::of(&debate(&silent));
    assert!(!ledger.objections[0].is_settled() && ledger.objections[0].is_undecided());
    // Only `a` and `c` spoke, so they have numbers 1 and 2, and `b` has none.
    assert_eq!(ledger.objections.iter().map(Point::number).collect::<Vec<_>>(), ["0.1", "0.2"]);
}

#[test]
fn a_prompt_sees_finished_rounds_and_its_inputs_and_nothing_else() {
    let debate = debate(&[
        &[
            ("b", None, json!({})),
            ("a", Some("b"), points(&["major"])),
            ("c", Some("b"), points(&["major"])),
            ("a", Some("c"), points(&["minor"])),
        ],
        &[("a", Some("b"), points(&["major"])), ("c", Some("b"), points(&["major"]))],
    ]);
    let seen = |round, inputs: &[CallKey]| {
        let ledger = Ledger::seen_by(&debate, &"b".into(), round, inputs);
        ledger.objections.iter().map(|one| format!("{} {}", one.number(), one.id)).collect::<Vec<_>>()
    };
    let input = CallKey::new(2, StageId::new("said"), &"c".into()).about(&"b".into());
    assert_eq!(seen(1, &[]), Vec::<String>::new());
    assert_eq!(seen(2, &[]), ["1.1 r1/a/b/1", "1.2 r1/c/b/1"]);
    assert_eq!(seen(2, &[input]), ["1.1 r1/a/b/1", "1.2 r1/c/b/1", "1.3 r2/c/b/1"]);
    // The order of the answers does not matter, since labels follow the record.
    assert_eq!(seen(3, &[])[2..], ["1.3 r2/a/b/1", "1.4 r2/c/b/1"]);
}

#[test]
fn rulings_are_kept_with_their_points_and_the_file_says_all_of_it() {
    let ruling = json!({"decision": "notMet", "remains": "all", "reason": "true"});
    let debate = ruled(debate(&[&[("a", Some("b"), points(&["blocking"]))]]), ruling);
    let ledger = Ledger::of(&debate);
    assert!(ledger.objections[0].is_unmet());
    let file = serde_json::to_value(crate::debate::DebateFile::of(&debate)).unwrap();
    assert_eq!(
        file["ledger"],
        json!([{
            "id": "r1/a/b/1", "number": "0.1", "round": 1, "criticId": "a", "targetId": "b", "severity": "blocking",
            "text": "It fails.", "answer": "unanswered",
            "ruling": {"point": "r1/a/b/1", "decision": "notMet", "remains": "all", "reason": "true"}, "open": true,
        }])
    );
    let read: Debate = serde_json::from_value(file).unwrap();
    assert_eq!(Ledger::of(&read), ledger, "what the file adds is not read");
}

/// A critique in round 1, the revised text, and a critique in round 2 with this verdict on the point.
fn rechecked(answer: Value, second_text: &str, standing: &str) -> Ledger {
    let recheck = json!({"points": [], "rechecks": [{"point": "r1/a/b/1", "standing": standing, "where": "Storage"}]});
    let mut debate = debate(&[
        &[("b", None, json!({})), ("a", Some("b"), points(&["blocking"])), ("b", None, answer)],
        &[("a", Some("b"), recheck)],
    ]);
    let texts = &mut debate.rounds[0].contributions;
    Arc::make_mut(&mut texts[0]).content = "# Text\n\nOne lease.".into();
    Arc::make_mut(&mut texts[2]).content = second_text.into();
    Ledger::of(&debate)
}

fn accepted_in(section: &str) -> Value {
    json!({"answers": [{"point": "r1/a/b/1", "answer": "accepted", "where": section, "reason": "a token"}]})
}

#[test]
fn a_point_is_verified_in_a_text_that_has_changed_and_in_no_other() {
    let ledger = rechecked(accepted_in("Storage"), "# Text\n\nOne lease with a token.", "verified");
    let point = &ledger.objections[0];
    assert!(!point.is_claimed() && !point.is_undecided() && point.is_settled());
    assert_eq!(point.remarks.last().and_then(Remark::section), Some("Storage"));
    assert_eq!(point.story_in_words(), "r1 raised → r1 accepted → r2 verified");
    assert_eq!(point.status(), PointStatus::Fixed);

    let ledger = rechecked(accepted_in("Storage"), "# Text\n\n\nOne lease.  ", "verified");
    let point = &ledger.objections[0];
    assert!(point.is_claimed(), "{point:?}");
    assert_eq!(point.story_in_words(), "r1 raised → r1 accepted → r2 verified, although the text is unchanged");
    assert_eq!(point.status(), PointStatus::Claimed);

    let ledger = rechecked(accepted_in("Storage"), "# Text\n\nAnother lease.", "maintained");
    assert!(
        ledger.objections[0].is_undecided()
            && ledger.objections[0].is_maintained()
            && !ledger.objections[0].is_claimed()
    );
}

#[test]
fn a_point_is_open_claimed_fixed_or_rejected() {
    let raised = || ("a", Some("b"), points(&["major"]));
    let answered = |answer: &str, reason: Option<&str>| ("b", None, answers(&[("r1/a/b/1", answer, reason)]));
    let again = |standing: &str| ("a", Some("b"), rechecks(&[("r1/a/b/1", standing)]));
    let status = |rounds: &[&[(&str, Option<&str>, Value)]], ruling: Option<&str>| {
        let debate = match ruling {
            Some(decision) => ruled(debate(rounds), json!({"decision": decision, "reason": "why"})),
            None => debate(rounds),
        };
        Ledger::of(&debate).objections[0].status()
    };
    let (accepted, rejected) = (|| answered("accepted", Some("a token")), || answered("rejected", Some("no")));
    assert_eq!(status(&[&[raised()]], None), PointStatus::Open);
    assert_eq!(status(&[&[raised(), answered("accepted", None)]], None), PointStatus::Open, "no change is named");
    assert_eq!(status(&[&[raised(), answered("partly", Some("half"))]], None), PointStatus::Open);
    assert_eq!(status(&[&[raised(), accepted()]], None), PointStatus::Claimed);
    assert_eq!(status(&[&[raised(), accepted()], &[again("withdrawn")]], None), PointStatus::Fixed);
    assert_eq!(status(&[&[raised(), accepted()], &[again("maintained")]], None), PointStatus::Open);
    assert_eq!(status(&[&[raised(), rejected()]], None), PointStatus::Rejected);
    assert_eq!(status(&[&[raised(), answered("rejected", None)]], None), PointStatus::Open, "no reason is given");
    assert_eq!(status(&[&[raised(), rejected()], &[again("maintained"), rejected()]], None), PointStatus::Open);
    assert_eq!(status(&[&[raised(), rejected()], &[again("withdrawn")]], None), PointStatus::Rejected);
    // The judge's ruling is final.
    for (decision, expected) in [
        ("met", PointStatus::Fixed),
        ("partly", PointStatus::Open),
        ("notMet", PointStatus::Open),
        ("dismissed", PointStatus::Rejected),
    ] {
        assert_eq!(status(&[&[raised(), rejected()]], Some(decision)), expected, "{decision}");
    }
}

#[test]
fn an_acceptance_closes_a_point_only_where_it_names_a_section() {
    let first = |answer: Value| {
        let debate = debate(&[&[("b", None, json!({})), ("a", Some("b"), points(&["blocking"])), ("b", None, answer)]]);
        Ledger::of(&debate).objections.remove(0)
    };
    assert!(!first(accepted_in("Storage")).is_undecided());
    assert!(first(accepted_in("")).is_undecided() && is_bare(&first(accepted_in(" "))));
}

#[test]
fn after_a_ruling_a_point_is_open_as_far_as_something_remains() {
    let open = |ruling: Value| {
        let debate = ruled(debate(&[&[("a", Some("b"), points(&["blocking"]))]]), ruling);
        let point = Ledger::of(&debate).objections.remove(0);
        (point.is_undecided(), point.ruling().unwrap().in_words(), point.is_unmet())
    };
    assert_eq!(open(json!({"decision": "met", "where": "Storage"})), (false, "met", false));
    assert_eq!(open(json!({"decision": "partly", "remains": "the rest"})), (true, "partly met", false));
    assert_eq!(open(json!({"decision": "notMet"})), (true, "not met", true));
    assert_eq!(open(json!({"decision": "notMet", "missing": true})), (true, "not ruled", true));
    assert_eq!(open(json!({"decision": "dismissed", "reason": "wrong"})), (false, "dismissed", false));
}

#[test]
fn one_critique_of_several_texts_raises_points_against_each() {
    let raised = json!({"points": [
        {"severity": "major", "text": "One.", "target": "b"},
        {"severity": "minor", "text": "Two.", "target": "c"},
        {"severity": "minor", "text": "Three.", "target": "b"},
    ]});
    let ledger = Ledger::of(&debate(&[&[("b", None, json!({})), ("c", None, json!({})), ("a", None, raised)]]));
    let raised: Vec<_> = ledger.objections.iter().map(|one| format!("{} {}", one.number(), one.id)).collect();
    assert_eq!(raised, ["1.1 r1/a/b/1", "1.2 r1/a/b/2", "2.1 r1/a/c/1"]);
    assert!(ledger.objections.iter().all(|one| one.point.target.is_none()));
}

#[test]
fn what_is_carried_over_answers_nothing_twice() {
    let mut debate = debate(&[
        &[("a", Some("b"), points(&["major"])), ("b", None, answers(&[("r1/a/b/1", "rejected", None)]))],
        &[("b", None, json!({"answersAt": {"start": 0, "end": 0}}))],
    ]);
    Arc::make_mut(&mut debate.rounds[1].contributions[0]).metadata.carried_over = true;
    let ledger = Ledger::of(&debate);
    assert_eq!(ledger.moves.len(), 1);
    assert!(ledger.tally(2).is_none());
}

#[test]
fn finished_rounds_are_folded_once_and_anew_when_the_record_was_changed() {
    let mut debate = debate(&[
        &[
            ("a", Some("b"), points(&["blocking", "major"])),
            ("b", None, answers(&[("r1/a/b/1", "accepted", Some("c"))])),
        ],
        &[("a", Some("b"), rechecks(&[("r1/a/b/1", "withdrawn")])), ("b", None, json!({}))],
        &[("c", Some("b"), points(&["minor"])), ("a", Some("b"), points(&["major"]))],
    ]);
    let (author, inputs) = (AgentId::new("b"), [CallKey::new(3, StageId::new("said"), &"a".into()).about(&"b".into())]);
    let all = |debate: &Debate| {
        let seen = |round| Ledger::seen_by(debate, &author, round, &inputs).objections.clone();
        (Ledger::of(debate), [1, 2, 3].map(|round| Ledger::at_end_of(debate, round)), [1, 2, 3, 4].map(seen))
    };
    let whole = all(&debate);
    for round in 1..=4 {
        debate.past = std::mem::take(&mut debate.past).until(&debate, round);
        assert_eq!(all(&debate), whole, "with the rounds before {round}");
    }
    let first = Arc::make_mut(&mut debate.rounds[0].contributions[0]).reading.as_mut().unwrap();
    first.points.as_mut().unwrap().pop();
    let changed = all(&debate);
    debate.past = Past::default();
    assert_eq!(all(&debate), changed);
    assert_ne!(changed, whole);
}

#[test]
fn a_statement_needs_the_keys_of_its_kind_and_an_error_names_them() {
    let answer = |value: Value| serde_json::from_value::<Statement<Response>>(value).map_err(|error| error.to_string());
    let stance = |value: Value| serde_json::from_value::<Statement<Stance>>(value).map_err(|error| error.to_string());
    let point = "r1:kiss:architect:1";
    let missing = |key: &str| Some(format!("missing field `{key}`"));
    assert_eq!(answer(json!({"point": point})).err(), missing("answer"));
    assert_eq!(answer(json!({"point": point, "verdict": "rejected"})).err(), missing("answer"));
    assert_eq!(answer(json!({"finding": point, "answer": "rejected"})).err(), missing("point"));
    assert_eq!(stance(json!({"point": point, "stance": "left"})).err(), missing("finding"));
    assert_eq!(stance(json!({"finding": point})).err(), missing("stance"));
    let sequence = "invalid type: sequence, expected a statement with `point` and `answer`";
    assert_eq!(answer(json!([])).err(), Some(sequence.to_owned()));
    // The key of another kind is ignored.
    let read = answer(json!({"point": point, "answer": "rejected", "standing": "maintained", "where": "2"})).unwrap();
    assert_eq!((read.verdict, read.section.as_deref(), read.reason), (Response::Rejected, Some("2"), None));
}

#[test]
fn a_point_says_all_of_it_also_where_its_parts_share_words() {
    let point = |about: &str, text: &str, remedy: &str| RaisedPoint {
        about: Some(about.to_owned()),
        resolution: Some(remedy.into()),
        ..RaisedPoint::new(Severity::Major, text)
    };
    let said = point("99 %", "the share is below 99 % at night, with RSA-2048 or without.", "RSA-2048").in_full();
    assert_eq!(said, "99 %: the share is below 99 % at night, with RSA-2048 or without. Resolved by: RSA-2048");
}

#[test]
fn an_approach_to_give_up_is_labelled_once() {
    let given_up = |target: Option<&str>, reason: &str| RejectedApproach {
        target: target.map(Into::into),
        reason: reason.to_owned(),
    };
    for (reason, remark) in [
        ("Text 2: it waits. Instead: Text 1.", "it waits. Instead: Text 1."),
        ("**Text 12:** it waits.", "it waits."),
        ("*Text 2* — it waits.", "it waits."),
        ("Text 2 (mine): it waits.", "Text 2 (mine): it waits."),
        ("Text 2 waits: for ever.", "Text 2 waits: for ever."),
        ("Text: it waits.", "Text: it waits."),
        ("Text 2:", "Text 2:"),
        ("été: it waits.", "été: it waits."),
    ] {
        assert_eq!(given_up(Some("agent-kiss"), reason).remark(), remark);
        // Without a target, nothing else would say whose approach it is.
        assert_eq!(given_up(None, reason).remark(), reason);
    }
}

#[test]
fn a_review_and_the_sections_that_were_asked_for_again_are_one() {
    let texts = [(1, "agent-a"), (2, "agent-b"), (3, "agent-c")].map(|(number, id)| (number, AgentId::new(id)));
    let reads = AnswerFormat::Review { texts: texts.into(), own: None };
    let point = |part: &str| format!("1. [major] {part}: it fails. Resolved by: another.");
    let section = |number: u32, part: &str| format!("## Text {number}\n\n{}", point(part));
    let first = format!("{}\n\n## Text 2\n\nIt worries me.\n\n{}", section(1, "Store"), section(3, "Queue"));
    let abouts = |reading: &ParsedAnswer| {
        let points = reading.points.iter().flatten();
        points.map(|one| one.about.clone().unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(reads.unread_texts(&first), [2]);
    let whole = format!("{}\n\n{}\n\n{}", section(1, "Store"), section(2, "Clock"), section(3, "Queue"));
    // With a title, without one, and with all other sections repeated.
    for second in [section(2, "Clock"), point("Clock"), whole.clone()] {
        let (text, reading) = reads.joined(&first, &second).unwrap();
        assert_eq!((text.as_str(), reading.unread_texts), (whole.as_str(), 0), "{second}");
        assert_eq!(abouts(&reading), ["Store", "Queue", "Clock"]);
    }
    assert!(reads.joined(&first, &section(3, "Queue")).is_none());
    let short = section(1, "Store");
    assert_eq!(reads.unread_texts(&short), [2, 3]);
    let (text, reading) = reads.joined(&short, &section(3, "Queue")).unwrap();
    assert_eq!((text, reading.unread_texts), (format!("{short}\n\n{}", section(3, "Queue")), 1));
    // A section that is still unreadable is repeated in full and stands alone.
    assert_eq!(reads.unread_texts("It worries me."), [0; 0]);
    assert_eq!(reads.joined("It worries me.", &whole).unwrap().0, whole);
    assert!(reads.joined("It worries me.", "I told you so.").is_none());
}
