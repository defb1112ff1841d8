//! Reports of debates whose protocols this program does not have: all that they say of stages is in the record.

use serde_json::{Value, json};

use dialectic_record::debate::Debate;
use dialectic_record::ids::{ResultKind, StageId, StageInfo};
use dialectic_record::settings::default_settings;

use super::*;

fn stage(id: &'static str, noun: &'static str, plural: &'static str, yields: ResultKind) -> StageInfo {
    StageInfo::new(StageId::new(id), [noun, plural, noun, noun, noun, noun]).yielding(yields)
}

fn debate(stages: &[StageInfo], more: &Value) -> Debate {
    let mut state = json!({"id": "d", "problem": "A name for the boat", "status": "completed", "stages": stages});
    state.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(state).unwrap()
}

fn said(agent: &str, stage: &str, target: Option<&str>, content: &str) -> Value {
    json!({"agentId": agent, "agentRole": "kiss", "type": stage, "content": content, "targetAgentId": target})
}

/// The Markdown from the given line on.
fn markdown_from(debate: &Debate, line: &str) -> String {
    let mut report = Vec::new();
    markdown(&View::new(debate, None), &mut report).unwrap();
    let report = String::from_utf8(report).unwrap();
    let from = report.find(&format!("\n{line}\n")).unwrap_or_else(|| panic!("{line} is not in\n{report}"));
    report[from + 1..].to_owned()
}

/// The text of a part of a page, and its tags as spaces.
pub(super) fn text_of(html: &str) -> String {
    let parts = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    parts.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text of a page's body.
fn body_of(page: &str) -> String {
    text_of(page.split_once("<body>").unwrap().1)
}

#[track_caller]
fn assert_says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn an_invented_protocol_is_reported_in_its_own_words() {
    let stages = [
        stage("pitch", "pitch", "pitches", ResultKind::Proposal).in_round().essential(),
        stage("hands", "show of hands", "shows of hands", ResultKind::Ballot),
        stage("wrap", "wrap-up", "wrap-ups", ResultKind::Solution),
    ];
    let texts = [
        said("a", "pitch", None, "Call it Swift."),
        said("b", "pitch", None, "Call it Calm."),
        said("a", "hands", Some("b"), "It is calmer."),
        said("b", "encore", None, "Bravo."),
    ];
    let debate = debate(
        &stages,
        &json!({
            "rounds": [{"roundNumber": 1, "contributions": texts}, {"roundNumber": 2, "contributions": []}],
            "voting": {
                "tally": {"a": 0, "b": 1}, "winner": "b",
                "count": {"rule": "majority", "voters": 2, "cast": 1, "quorum": 1, "selfVotes": 0},
            },
            "finalSolution": {"description": "Calm.", "synthesizedBy": "b", "base": "b"},
            "outcome": {"kind": "full", "reasons": []},
        }),
    );
    insta::assert_snapshot!(markdown_from(&debate, "### Show of hands"));
    let text = body_of(&html(&View::new(&debate, None)));
    assert_says(
        &text,
        &[
            "The pitch of b won the vote.",
            "In short Proposed Two agents wrote pitches. a : Call it Swift. b : Call it Calm.",
            "Pitches Other texts Show of hands",
            "Shows of hands a for b It is calmer.",
            "a · pitch",
            "b · encore",
        ],
    );
    for foreign in ["efinement", "ritique", "ynthes", "roposal", "Votes of"] {
        assert!(!text.contains(foreign), "{foreign} is in\n{text}");
    }
}

/// A debate on a motion in an invented protocol.
fn motion(stable: bool) -> Debate {
    let stages = [
        stage("early", "early show of hands", "early shows of hands", ResultKind::Ballot),
        stage("plea", "plea", "pleas", ResultKind::Speech).in_round(),
        stage("heckle", "heckle", "heckles", ResultKind::Speech).in_round(),
        stage("late", "late show of hands", "late shows of hands", ResultKind::Ballot),
        stage("ruling", "ruling", "rulings", ResultKind::Verdict),
    ];
    let judged = |pass: u8, winner: &str, a: f64, b: f64, reasoning: &str| {
        json!({"pass": pass, "winner": winner, "scores": {"a": a, "b": b}, "criteria": {"wit": "A has more of it."},
            "reasoning": reasoning})
    };
    let second = if stable { judged(2, "b", 60.0, 75.0, "B again.") } else { judged(2, "a", 80.0, 75.0, "Now A.") };
    let mut verdict = judged(1, "b", 70.5, 77.5, "B was clearer.");
    verdict["stable"] = json!(stable);
    let poll = |stage: &str, votes: Value| json!({"stage": stage, "votes": votes, "reasons": {"c": "Because."}});
    debate(
        &stages,
        &json!({
            "rounds": [
                {"roundNumber": 1, "contributions": [
                    said("a", "plea", None, "Yes."), said("b", "heckle", Some("a"), "Why?"), said("b", "plea", None, "No."),
                ]},
                {"roundNumber": 2, "contributions": [said("b", "plea", None, "Still no.")]},
            ],
            "polls": [
                poll("early", json!({"c": "for", "d": "undecided", "e": "for"})),
                poll("late", json!({"c": "against", "d": "against"})),
            ],
            "judgements": [judged(1, "b", 61.0, 80.0, "B was clearer."), second],
            "verdict": verdict,
            "finalSolution": {"description": "b won.", "synthesizedBy": "judge"},
            "outcome": {"kind": "full", "reasons": []},
        }),
    )
}

#[test]
fn a_debate_on_a_motion_is_reported_with_polls_speeches_and_verdict() {
    let debate = motion(true);
    insta::assert_snapshot!(markdown_from(&debate, "### Polls"));
    let text = body_of(&html(&View::new(&debate, None)));
    assert_says(
        &text,
        &[
            "Ruling By judge .",
            "Speeches Round 1 a · plea 1 word Yes. Yes. b · heckle addressed to a",
            "Round 2 b · plea 2 words Still no.",
            "Gained most: against",
            "for 1 0 -1 against 0 2 +2 undecided 1 0 -1",
            "Not counted, because a vote is missing: e",
            "e for none",
            "c , late show of hands : Because.",
            "Winner: b",
            "Stable: yes; the result was the same in both orders of the debaters",
            "b 77.5 80 75 a 70.5 61 60",
            "wit A has more of it.",
            "Reason B was clearer. Reason in pass 2: B again.",
        ],
    );
}

#[test]
fn a_verdict_that_depends_on_the_order_says_so() {
    let debate = motion(false);
    let report = markdown_from(&debate, "### Ruling");
    assert_says(&report, &["Stable: no; the winner changed when the debaters were judged in the opposite order\n"]);
    assert_says(&report, &["| winner | b | b | a |\n", "Reason in pass 2:\n\n```text\nNow A.\n```\n"]);
    let text = body_of(&html(&View::new(&debate, None)));
    let unstable = "Stable: no; the winner changed when the debaters were judged in the opposite order";
    assert_says(&text, &[unstable, "winner b b a"]);
    assert!(html(&View::new(&debate, None)).contains("<div class=\"notice warn\"><p>Stable: no"));
}

/// The decision record of a debate.
fn record(debate: &Debate) -> String {
    let mut written = Vec::new();
    decision_record(&View::new(debate, None), &mut written).unwrap();
    String::from_utf8(written).unwrap()
}

#[test]
fn a_decision_record_of_a_motion_weighs_its_sides_and_repeats_no_title() {
    let mut debate = motion(true);
    debate.problem = "# A motion\n\nIt must be argued.".into();
    let record = record(&debate);
    assert_says(&record, &["\n# A motion\n", "## Context and Problem Statement\n\nIt must be argued.\n"]);
    assert_eq!(record.matches("A motion").count(), 1, "{record}");
    assert_says(&record, &["## Considered Options\n\n- Yes.\n- No.\n"]);
    assert_says(
        &record,
        &["Chosen option: “No”, because it won: b (a 70.5, b 77.5).\n", "- Round 1: ", "</details>\n"],
    );
}

#[test]
fn an_agreement_reaches_its_threshold_or_not_or_is_unknown() {
    let cases = [
        (json!({"agreement": 90.0}), "They did."),
        (json!({"agreement": 70.0}), "They did not."),
        (json!({"unknown": "no matters"}), "It is unknown whether they did."),
    ];
    for (mut convergence, said) in cases {
        convergence["threshold"] = json!(80);
        let rounds = json!([{"roundNumber": 1, "contributions": [], "convergence": convergence}]);
        let debate = debate(&[], &json!({"rounds": rounds}));
        let text = body_of(&html(&View::new(&debate, None)));
        assert_says(&text, &[&format!(" when it reaches the threshold. {said} The similarity")]);
    }
}

#[test]
fn one_self_vote_is_counted_in_the_singular() {
    let count = json!({"rule": "majority", "voters": 2, "cast": 2, "quorum": 2, "selfVotes": 1});
    let voting = json!({"tally": {"a": 2}, "tied": [], "winner": "a", "count": count});
    let debate = debate(&[], &json!({"rounds": [], "voting": voting, "settings": default_settings()}));
    assert_says(&markdown_from(&debate, "### Vote"), &["- Rule: majority; 2 of 2 voted (quorum: 2); 1 self-vote\n"]);
}

#[test]
fn nothing_breaks_out_of_the_front_matter_of_a_decision_record() {
    let mut debate = dialectic_record::debate::fixture::argued();
    let hostile = "x\"]\nstatus: accepted\n---\n# owned";
    let mut settings = debate.settings.take().unwrap_or_else(|| panic!("it has settings"));
    settings.judge.name = hostile.to_owned();
    settings.agents[0].model = hostile.to_owned();
    debate.settings = Some(settings);
    let record = record(&debate);
    let front: Vec<&str> = record.lines().skip(1).take_while(|line| *line != "---").collect();
    assert_eq!(front.iter().filter(|line| line.starts_with("status:")).count(), 1, "{record}");
    let lists: Vec<Vec<String>> = front
        .iter()
        .filter_map(|line| line.split_once(": ").filter(|(_, value)| value.starts_with('[')))
        .map(|(_, value)| serde_json::from_str(value).unwrap())
        .collect();
    assert_eq!(lists.len(), 2, "{record}");
    assert!(lists[0][0].starts_with("x\"] status: accepted --- # owned ("), "{:?}", lists[0]);
}

/// A debate whose draft was read through two lenses of three and written anew.
fn checked() -> Debate {
    let mut debate = dialectic_record::debate::fixture::argued();
    debate.stages = dialectic_record::protocol::DIALECTIC.infos();
    if let Some(settings) = &mut debate.settings {
        settings.debate.check = 3;
    }
    let judge = debate.settings.as_ref().map(|settings| settings.judge.id.clone());
    let judge = judge.unwrap_or_else(|| panic!("it has a judge"));
    let text = |stage: &str, content: &str, reading: Value| json!({"agentId": judge, "agentRole": "judge", "type": stage, "content": content, "reading": reading});
    let seen = |lens: &str, agent: &str, reading: Value| {
        json!({"agentId": agent, "agentRole": "kiss", "type": "check", "content": "1. x", "targetAgentId": judge,
            "metadata": {"lens": lens}, "reading": reading})
    };
    let resolution = "a <b>lock</b> for each row";
    let point = |severity: &str, text: &str| json!({"severity": severity, "text": text, "resolution": resolution});
    let verified = |point: &str, found: &str| json!({"point": point, "found": found});
    debate.checks = serde_json::from_value(json!([
        text("synthesis", "# Queue\n\nOne store.\n\nA lock stops the dashboards.\n", Value::Null),
        seen(
            "requirements",
            "agent-kiss",
            json!({
                "points": [point("blocking", "The dashboards **stop** every month."), point("minor", "No name.")],
                "verifications": [verified("r1/agent-architect/agent-kiss/1", "verified"),
                    verified("r1/agent-kiss/agent-architect/2", "notFound")],
            })
        ),
        seen("execute", "agent-architect", json!({"points": []})),
        text(
            "final",
            "# Queue\n\nOne store.\n\nA row is locked at a time.\n\n## Response to the check\n\n\
            - D1 accepted (Queue): rows.\n",
            json!({"answers": [], "answersAt": {"start": 47, "end": 104}})
        ),
    ]))
    .unwrap();
    debate.draft.clone_from(&debate.final_solution);
    let solution = debate.final_solution.as_mut().unwrap_or_else(|| panic!("it has a solution"));
    solution.unverified = vec!["The answer was not checked for facts.".to_owned()];
    solution.title = Some("One <store>".to_owned());
    let partly = json!([{"requirement": "No gaps", "holds": "in one place", "fails": "when two are cut off."}]);
    solution.partly_fulfilled = serde_json::from_value(partly).unwrap();
    solution.rulings =
        serde_json::from_value(json!([{"point": "r1/agent-kiss/agent-architect/1", "decision": "partly",
        "where": "Failover", "remains": "Clients that are gone.", "reason": "Most repeat it."}]))
        .unwrap();
    debate
}

#[test]
fn the_check_is_reported_with_what_was_read_found_and_changed() {
    let debate = checked();
    let report = markdown_from(&debate, "## Check");
    insta::assert_snapshot!(report.split("\n## Objections").next().unwrap_or_default(), @r"
    ## Check

    The answer: checked in 2 areas, 2 points: 2 open, not checked for facts.

    | Draft | Area | Read by | Found |
    | ---: | --- | --- | --- |
    | 1 | requirements | agent-kiss | 2 points: 1 blocking, 1 minor; accepted points: 1 verified, 1 not found |
    | 1 | execute | agent-architect | no points |
    | 1 | facts | - | not checked |

    - The answer was not checked for facts.
    ");
    let view = View::new(&debate, None);
    let page = html(&view);
    let text = body_of(&page);
    assert_says(
        &text,
        &[
            "Check of the answer The answer: checked in 2 areas, 2 points",
            "1 requirements Simplicity Advocate 2 points: 1 blocking, 1 minor; accepted points: 1 verified, 1 not found",
            "1 execute System Architect no points",
            "1 facts - not checked",
            "Major requirements partly fulfilled No gaps. Holds: in one place. Fails: when two are cut off.",
            "Not verified The answer was not checked for facts.",
            "Skip to the solution Debate deb-20250101-010203-ab12 One &lt;store&gt;",
        ],
    );
    assert!(!page.contains("<store>"), "{page}");
    assert_says(&text, &["Remaining objections", "1.1 (blocking): Clients that are gone."]);
    let shown = overview(&view, "x");
    assert_says(&shown, &["checked in 2 areas, 2 points", "## Not verified", "## Major requirements partly fulfilled"]);
    let texts = super::said(&view);
    let stages: Vec<&str> = texts.iter().rev().take(5).filter_map(|one| Some(one.stage.as_ref()?.as_str())).collect();
    assert_eq!(stages, ["final", "final", "check", "check", "synthesis"]);
    assert_says(&record(&debate), &["Partly fulfilled: No gaps", "- Check of the answer: checked in 2 areas"]);
}

#[test]
fn an_answer_that_nobody_checked_says_so_where_it_could_have_been() {
    let mut debate = checked();
    debate.checks.clear();
    debate.draft = None;
    debate.final_solution.as_mut().unwrap_or_else(|| panic!("it has a solution")).unverified.clear();
    assert_says(&body_of(&html(&View::new(&debate, None))), &["By Judge . Not checked."]);
    assert!(markdown_from(&debate, "## Run").contains("- Check of the answer: not checked\n"));
    // Debates of the older program have no such stage.
    debate.stages = debate.stages.iter().filter(|stage| stage.yields != Some(ResultKind::Check)).cloned().collect();
    assert!(!html(&View::new(&debate, None)).contains("ot checked"));
}

#[test]
fn critiques_that_could_not_be_read_are_named_and_not_counted_as_agreement() {
    let mut debate = dialectic_record::debate::fixture::argued();
    let critiques = debate.rounds.iter_mut().flat_map(|round| &mut round.contributions);
    let mut critiques = critiques.filter(|one| one.target_agent_id.is_some()).map(std::sync::Arc::make_mut);
    let unread = critiques.next().and_then(|one| one.reading.as_mut()).unwrap_or_else(|| panic!("a critique"));
    unread.points = None;
    let cut = critiques.next().and_then(|one| one.reading.as_mut()).unwrap_or_else(|| panic!("another"));
    cut.unread = 4;
    let report = markdown_from(&debate, "## Objections");
    let named = "Not read, and not counted above:\n\n\
                 - the critique by *agent-architect* on *agent-kiss*, round 1\n\
                 - 4 more points by *agent-kiss* on *agent-architect*, round 1\n";
    assert_says(&report, &[named]);
    let text = body_of(&html(&View::new(&debate, None)));
    assert_says(&text, &["the critique by System Architect on Simplicity Advocate , round 1"]);
}
