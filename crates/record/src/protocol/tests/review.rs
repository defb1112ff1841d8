//! Reviews of a change: who is asked, what happens to findings, and how the review ends.

use crate::debate::{Outcome, OutcomeKind, Status, StopReason};
use crate::ids::CallStatus;
use crate::points::{FindingDecision, FindingRuling, ReviewText, ReviewedFinding, Severity, Voices, describe_review};

use super::super::*;
use super::course::{Course, ScriptedReply, first, good, settings};

/// A review by three agents; the agent with number `n` replies with `texts[n - 1]`.
fn review(texts: [&str; 3], opinion: impl Fn(&Step) -> Option<String>) -> Course {
    let course = Course::start(&REVIEW, settings(&REVIEW, 3, 1));
    assert!(ReviewText::of(&course.debate, Vec::new()).verdict().contains("The review is not finished"));
    let number = |debate: &Debate, step: &Step| debate.text_number(&step.key.agent_id).unwrap() as usize;
    let debate = course.debate.clone();
    let reply = |step: &Step| match step.key.stage.as_str() {
        "findings" => ScriptedReply::Text(texts[number(&debate, step) - 1].to_owned()),
        "confirmation" => opinion(step).map_or_else(|| good(step), ScriptedReply::Text),
        _ => good(step),
    };
    course.run(&reply, &mut first)
}

fn ruling(
    finding: &str,
    decision: FindingDecision,
    severity: Option<Severity>,
    same_as: Option<&str>,
) -> FindingRuling {
    let (finding, same_as, reason) = (finding.to_owned(), same_as.map(str::to_owned), String::new());
    FindingRuling { finding, decision, severity, same_as, reason }
}

fn shown(findings: &[ReviewedFinding]) -> Vec<String> {
    let reports = |one: &ReviewedFinding| one.reports.iter().map(|report| report.number.clone()).collect::<Vec<_>>();
    findings.iter().map(|one| format!("{} [{}] {}", one.number, one.severity.name(), reports(one).join("+"))).collect()
}

#[test]
fn findings_are_one_where_the_judge_or_their_words_say_so_and_never_for_their_lines() {
    let course = review(
        [
            "1. [minor] a.rs:10-14: x\n2. [blocking] a.rs:40: y",
            "1. [major] a.rs:14-20: x again\n2. [minor] b.rs:10: z",
            "1. [minor] a.rs:13: x too\n2. [minor] A  B\n3. [major] b.rs:10: Z",
        ],
        |_| None,
    );
    let debate = &course.debate;
    assert_eq!(
        shown(&debate.findings()),
        [
            "1.2 [blocking] 1.2",
            "2.1 [major] 2.1",
            "2.2 [major] 2.2+3.3",
            "3.2 [minor] 3.2",
            "1.1 [minor] 1.1",
            "3.1 [minor] 3.1"
        ]
    );
    let stands = FindingDecision::Stands;
    let rulings = [
        ruling("2.1", stands, Some(Severity::Blocking), None),
        ruling("1.1", stands, Some(Severity::Minor), Some("2.1")),
        ruling("3.1", FindingDecision::Dismissed, None, Some("2.1")),
        ruling("1.2", stands, Some(Severity::Minor), None),
        ruling("2.2", stands, None, None),
        ruling("3.3", FindingDecision::Dismissed, None, None),
    ];
    let ruled = debate.findings_ruled(&rulings);
    assert_eq!(
        shown(&ruled),
        [
            "2.1 [blocking] 2.1+1.1",
            "3.2 [minor] 3.2",
            "1.2 [minor] 1.2",
            "2.2 [minor] 2.2",
            "3.3 [major] 3.3",
            "3.1 [minor] 3.1",
        ],
        "what is ruled differently is not the same"
    );
    assert!(ruled[5].is_dismissed() && ruled[1].ruling.is_none());
}

#[test]
fn neither_words_that_are_not_ruled_on_nor_a_lesser_severity_hide_what_stands() {
    let words = "1. [major] a.rs:1: x";
    let debate = review([words; 3], |_| None).debate;
    let ruling = |finding, decision, severity| ruling(finding, decision, Some(severity), None);
    let (stands, dismissed) = (FindingDecision::Stands, FindingDecision::Dismissed);
    let ruled = |rulings: &[FindingRuling]| shown(&debate.findings_ruled(rulings));
    let of_two = [ruling("1.1", dismissed, Severity::Minor), ruling("3.1", stands, Severity::Blocking)];
    assert_eq!(ruled(&of_two), ["3.1 [blocking] 3.1", "1.1 [minor] 1.1+2.1"]);
    let of_two = [ruling("1.1", stands, Severity::Minor), ruling("3.1", stands, Severity::Blocking)];
    assert_eq!(ruled(&of_two), ["1.1 [blocking] 1.1+2.1+3.1"]);
}

#[test]
fn a_refutation_of_one_report_never_stands_under_another() {
    let said = |_: &Step| Some("- 1.1 refuted: no\n- 2.1 left: its caller".to_owned());
    let course = review(["1. [major] a.rs:1: x", "1. [minor] a.rs:1: y", "No findings."], said);
    let same = ruling("2.1", FindingDecision::Stands, None, Some("1.1"));
    let text = describe_review(&course.debate, &[same], "");
    assert!(text.contains("## 1.1 [major]"), "{text}");
    let [first, second] = ["- 1.1 [major] found by", "- 2.1 [minor] found by"].map(|line| text.find(line).unwrap());
    let [against, other] = ["- Objection to 1.1 by", ", as: y; confirmed by"].map(|line| text.find(line).unwrap());
    assert!(first < against && against < second && second < other && !text.contains("Objection to 2.1"), "{text}");
    assert!(text.contains("- No verdict on 2.1 by") && text.contains(": its caller\n"), "{text}");
}

#[test]
fn rulings_on_groups_of_an_older_version_decide_nothing_and_are_pointed_at() {
    let mut debate = review(["1. [major] a.rs:1: x", "No findings.", "No findings."], |_| None).debate;
    debate.change = Some(std::sync::Arc::default());
    let ruling = ruling("F1", FindingDecision::Dismissed, None, None);
    debate.final_solution.as_mut().unwrap().finding_rulings = vec![ruling];
    assert_eq!(debate.answer_state(), None, "whether it stands is not known");
    assert!(describe_review(&debate, &[], "").contains("its rulings appear only in the saved answer"));
}

#[test]
fn each_reads_the_findings_of_each_other_that_has_some() {
    let course = review(["1. [major] a.rs:1: x", "No findings.", "I like it."], |_| None);
    let confirmations: Vec<_> = course.calls.iter().filter(|step| step.key.stage.as_str() == "confirmation").collect();
    assert_eq!(confirmations.len(), 2, "of the findings of one");
    let debate = &course.debate;
    let author = debate.agents().iter().find(|agent| debate.text_number(&agent.id) == Some(1)).unwrap();
    assert!(confirmations.iter().all(|step| step.key.target_agent_id.as_ref() == Some(&author.id)));
    let findings = debate.findings();
    assert_eq!(findings[0].confirmed_by().len(), 2);
    let outcome = Outcome::derive(debate);
    assert_eq!(outcome.kind, OutcomeKind::Degraded);
    assert!(outcome.reasons[0].ends_with("'s findings could not be read"), "{:?}", outcome.reasons);
    assert!(outcome.reasons[1].ends_with("did not rule on 1.1"), "{:?}", outcome.reasons);
}

#[test]
fn without_findings_nobody_is_asked_to_rule() {
    let course = review(["No findings."; 3], |_| None);
    assert_eq!(course.calls.len(), 3);
    assert_eq!(course.debate.final_solution.as_ref().unwrap().description, "**No findings.**\n");
    assert_eq!(Outcome::derive(&course.debate).kind, OutcomeKind::Full);
    let unread = review(["?", "?", "No findings."], |_| None);
    let description = &unread.debate.final_solution.as_ref().unwrap().description;
    assert!(description.starts_with("**No findings, with results from only 1 of 3 agents.**"), "{description}");
    let nothing = review(["?"; 3], |_| None);
    assert!(
        nothing
            .debate
            .final_solution
            .as_ref()
            .unwrap()
            .description
            .starts_with("**No agent returned readable findings.**")
    );
    assert_eq!(Outcome::derive(&nothing.debate).kind, OutcomeKind::Degraded);
}

#[test]
fn findings_beyond_the_limit_are_a_reason() {
    let many: Vec<_> = (1..=31).map(|number| format!("{number}. [minor] a.rs:{number}: x{number}\n")).collect();
    let many = many.concat();
    let course = review([&many, "No findings.", "No findings."], |_| None);
    let [unread, _unruled] = Outcome::derive(&course.debate).reasons.try_into().unwrap();
    assert!(unread.starts_with("1 of "), "{unread}");
    assert!(unread.ends_with("'s findings was not read, because there were too many"), "{unread}");
}

#[test]
fn a_word_that_cannot_be_read_confirms_nothing() {
    let course = review(["1. [major] a.rs:1: x", "No findings.", "No findings."], |_| Some("I agree.".to_owned()));
    let debate = &course.debate;
    assert!(debate.findings()[0].confirmed_by().is_empty());
    let reasons = Outcome::derive(debate).reasons;
    assert_eq!(reasons.iter().filter(|reason| reason.contains("could not be read")).count(), 2, "{reasons:?}");
}

#[test]
fn a_review_fails_only_where_nobody_reads() {
    let failing = |names: &'static [&'static str]| {
        let fails =
            move |step: &Step| step.key.stage.as_str() == "findings" && names.contains(&step.key.agent_id.as_str());
        let course = Course::start(&REVIEW, settings(&REVIEW, 3, 1));
        course.run(&move |step| if fails(step) { ScriptedReply::Failed } else { good(step) }, &mut first)
    };
    let one = failing(&["a"]);
    assert_eq!(one.debate.status, Status::Completed);
    assert_eq!(Outcome::derive(&one.debate).kind, OutcomeKind::Degraded);
    let text = &one.debate.final_solution.as_ref().unwrap().description;
    assert_eq!(one.debate.settled.values().filter(|status| **status == CallStatus::Failed).count(), 1, "{text}");
    let all = failing(&["a", "b", "c"]);
    assert_eq!(all.debate.status, Status::Failed);
    assert_eq!(all.debate.error.as_deref(), Some("no agent could review the change: 503"));
}

#[test]
fn a_review_that_is_stopped_is_ruled_on_as_far_as_it_came() {
    let mut course = Course::start(&REVIEW, settings(&REVIEW, 3, 1));
    course.go_on_until(|course| course.stage().as_str() == "findings", &good);
    let step = course.ready().into_iter().next().unwrap();
    course.settle(&step, good(&step));
    course.stop(StopReason::User);
    let course = course.run(&good, &mut first);
    assert_eq!(course.debate.status, Status::Completed);
    assert_eq!(course.calls.last().unwrap().key.stage.as_str(), "ruling");
}

#[test]
fn who_confirms_is_said_by_family_and_by_agent_where_there_is_one() {
    let course = review(["1. [major] a.rs:1: x", "No findings.", "No findings."], |_| None);
    let mut debate = course.debate;
    let all: Vec<_> = debate.agents().iter().map(|agent| agent.id.clone()).collect();
    assert!(Voices::of(&debate).note().is_some());
    assert_eq!(Voices::of(&debate).names(&all).len(), 3, "by agent");
    let agents = &mut debate.settings.as_mut().unwrap().agents;
    for (agent, model) in agents.iter_mut().zip(["gpt-5.6-luna", "openai/gpt-5", "claude-haiku-5-5"]) {
        agent.model = model.to_owned();
    }
    let voices = Voices::of(&debate);
    assert_eq!((voices.note(), voices.names(&all)), (None, vec!["GPT".to_owned(), "Claude".to_owned()]));
}
