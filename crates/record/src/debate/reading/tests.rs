//! What the corpus does not show: the parts of a point, the reasons of answers, and what a text can cost.

use std::time::{Duration, Instant};

use super::*;

fn points(text: &str) -> Vec<(Severity, Option<String>, String, Option<String>)> {
    let points = read_critique(text, &[]).points.unwrap_or_default();
    points.into_iter().map(|one| (one.severity, one.about, one.text, one.resolution)).collect()
}

fn severities(text: &str) -> Vec<Severity> {
    points(text).into_iter().map(|(severity, ..)| severity).collect()
}

/// The answers to two points of Safety, one of Operations and an earlier one.
fn answers(text: &str) -> Vec<(&'static str, Response, Option<String>)> {
    const LABELS: [&str; 4] = ["1.1", "1.2", "2.1", "P1"];
    let one = |critique, number, text| Raised { critique, number, text };
    let raised = [
        one(Some((1, "Safety")), 1, "Dry rails assumed: all tests were dry."),
        one(Some((1, "Safety")), 2, "Odometers share a cable"),
        one(Some((2, "Operations")), 1, "Retraining of 90 drivers"),
        one(None, 1, "Emergency brake bypass"),
    ];
    let text = format!("Body.\n\n## Response to critiques\n\n{text}");
    let mut answers: Vec<_> =
        read_answers(&text, &raised).answers.into_iter().map(|(at, answer, why)| (LABELS[at], answer, why)).collect();
    answers.sort_by_key(|(label, ..)| *label);
    answers
}

#[test]
fn a_point_is_told_apart_into_its_parts() {
    let read = points("1. **[blocking] Keys:** one for all. *Resolved by:* one each.\n   - a detail\n2. Names (low)\n");
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        read,
        [
            (Severity::Blocking, some("Keys"), "**Keys:** one for all.".to_owned(), some("one each.\n- a detail")),
            (Severity::Minor, None, "Names".to_owned(), None),
        ]
    );
    let read = points("### Logout\n**Severity:** minor\n**Concerns:** R4\n\nIt does not log out.\n");
    assert_eq!(read[0].1, some("R4"));
    assert!(read[0].2.starts_with("Logout\n") && read[0].2.ends_with("It does not log out."), "{read:?}");
}

#[test]
fn the_middle_of_three_words_is_major() {
    let [blocking, major, minor] = [Severity::Blocking, Severity::Major, Severity::Minor];
    assert_eq!(
        severities("1. [blockierend] A b c.\n2. [schwerwiegend] D e f.\n3. [gering] G h i."),
        [blocking, major, minor]
    );
    assert_eq!(severities("1. [critical] A b c.\n2. [medium] D e f.\n3. [low] G h i."), [blocking, major, minor]);
    assert_eq!(severities("1. [blocking] A b c.\n2. [high] D e f.\n3. [medium] G h i."), [blocking, blocking, major]);
    assert_eq!(severities("- 🔴 A b c.\n- 🟡 D e f.\n- 🟢 G h i."), [blocking, major, minor]);
    assert_eq!(severities("- Major cities have no coverage.\n- High-level design is missing."), [major, major]);
}

#[test]
fn none_is_told_from_nothing_readable() {
    for text in [
        "No objections.",
        "Keine Einwände.",
        "没有异议。",
        "I can't find any issues.",
        "1. None.",
        "### Blocking\n\nNone.",
    ] {
        assert_eq!(read_critique(text, &[]).points, Some(Vec::new()), "{text}");
    }
    for text in ["", "Nice weather.", "1.", "1. [blo", "<think>No objections."] {
        assert_eq!(read_critique(text, &[]).points, None, "{text}");
    }
    assert_eq!(read_critique("P1 withdrawn.", &[1]).points, Some(Vec::new()));
}

#[test]
fn a_standing_is_that_of_its_own_label() {
    let read = |text: &str| -> Vec<(usize, bool)> {
        let rechecks = read_critique(text, &[1, 2, 3]).rechecks;
        let mut rechecks: Vec<_> =
            rechecks.into_iter().map(|(number, standing, _)| (number, standing == Standing::Withdrawn)).collect();
        rechecks.sort_unstable();
        rechecks
    };
    assert_eq!(
        read("P1 is resolved. P2 is not resolved. P3 cannot be withdrawn."),
        [(1, true), (2, false), (3, false)]
    );
    assert_eq!(read("- P1-P3: withdrawn\n- P7: maintained"), [(1, true), (2, true), (3, true)]);
    assert_eq!(read("Withdrawn: P1, P3\nMaintained: P2"), [(1, true), (2, false), (3, true)]);
    assert_eq!(read("P1: withdrawn, as P2's lock covers it."), [(1, true)]);
    assert_eq!(read("Moderator: mark P1 as withdrawn.\n\n`{\"point\": \"P2\", \"standing\": \"withdrawn\"}`"), []);
}

#[test]
fn answers_are_found_by_label_name_and_title() {
    let yes = Response::Accepted;
    assert_eq!(answers("### Operations\n1. Accepted.\n\n### Safety\n1. Accepted.\n").len(), 2);
    for text in ["Safety's first point: accepted", "- **Dry rails assumed**: accepted", "Critique 1, point 1: accepted"]
    {
        assert_eq!(answers(text), [("1.1", yes, None)], "{text}");
    }
    let why = Some("new plan".to_owned());
    assert_eq!(
        answers("1.1, 1.2 and 2.1 accepted: new plan"),
        ["1.1", "1.2", "2.1"].map(|label| (label, yes, why.clone()))
    );
    assert_eq!(answers("> 1.1 accepted: x\n\n```\n1.2 accepted: x\n```\n<!-- 2.1 accepted: x -->\n"), []);
}

#[test]
fn the_verdict_is_the_one_that_is_meant() {
    let answer = |text: &str| answers(text).into_iter().map(|(_, answer, _)| answer).next_back();
    assert_eq!(answer("1.1 not accepted: no."), Some(Response::Rejected));
    assert_eq!(answer("1.1: I do not reject this; it is accepted."), Some(Response::Accepted));
    assert_eq!(answer("1.1 accepted in part: half."), Some(Response::Partly));
    assert_eq!(answer("1.1 accepted.\n\nP1 受け入れません。"), Some(Response::Rejected));
    assert_eq!(answer("1.1 accep"), None);
}

#[test]
fn courtesy_and_the_title_are_no_reasons() {
    for text in [
        "1.1 accepted",
        "1.1 accepted: good point, thanks!",
        "1.1 accepted. Dry rails assumed.",
        "| 1.1 | accepted | - |",
    ] {
        assert!(answers(text).iter().all(|(_, _, why)| why.is_none()), "{text}");
    }
    assert_eq!(answers("1.1 accepted: wet tests")[0].2.as_deref(), Some("wet tests"));
}

#[test]
fn the_section_is_where_the_answers_are() {
    let raised = [Raised { critique: Some((1, "Safety")), number: 1, text: "Dry rails assumed" }];
    let text = "# A\n\n1.1 Accepted: a state.\n\n## Response to critiques\n- 1.1 rejected: no.\n\n## Costs\n\nNone.";
    let read = read_answers(text, &raised);
    assert_eq!(read.answers[0].1, Response::Rejected);
    assert_eq!(&text[read.section.unwrap()], "## Response to critiques\n- 1.1 rejected: no.\n\n");
    assert_eq!(read_answers("1.1 Accepted orders are stored.", &raised), ReadAnswers::default());
}

#[test]
fn only_the_section_that_was_asked_for_is_one() {
    let raised = [Raised { critique: Some((1, "Safety")), number: 1, text: "Dry rails assumed" }];
    let section = |text: &str| read_answers(text, &raised).section.map(|range| text[range].to_owned());
    for heading in [
        "## Response to critiques",
        "# RESPONSE TO CRITIQUES",
        "###### Response to Critiques:",
        "## **Response to critiques**",
        "## 3. Response to critiques",
        "**Response to critiques:**",
        "**Response to critiques**:",
    ] {
        for answer in
            ["- 1.1 rejected: no.", "2.7 accepted: of another critique.", "| 1.1 | partly | half |", "**P9** rejected"]
        {
            let own = format!("{heading}\n\n{answer}\n\n");
            let level = heading.find(|c| c != '#').unwrap().max(1);
            let next = format!("{} Costs\n\nNone.", "#".repeat(level));
            assert_eq!(section(&format!("# A\n\nText.\n\n{own}{next}")), Some(own), "{heading}");
        }
        assert_eq!(section(&format!("# A\n\n{heading}\n\nThere was none.\n")), None, "{heading}: no answer");
    }
    for heading in [
        "## Response headers",
        "## Replies",
        "# Answers",
        "## Response to critiques of the old design",
        "## Antwort auf Kritik",
        "Response to critiques",
        "- Response to critiques",
        "```\n## Response to critiques\n```",
    ] {
        assert_eq!(section(&format!("# A\n\n{heading}\n\n- 1.1 rejected: no.\n")), None, "{heading}");
    }
    // What stands below a title in bold ends at the next one.
    let text = "A.\n\n**Response to critiques**\n\n- 1.1 rejected: no.\n\n**Costs**\n\nNone.";
    assert_eq!(section(text).as_deref(), Some("**Response to critiques**\n\n- 1.1 rejected: no.\n\n"));
    let text = "## Response to critiques\n\n### Safety\n\n1. Accepted.\n\n- 1.1 accepted: wet.\n\n## Costs\n";
    assert!(section(text).is_some_and(|section| section.ends_with("wet.\n\n")));
}

#[test]
fn hostile_texts_cost_no_more_than_long_ones() {
    let raised = [Raised { critique: Some((1, "Safety")), number: 1, text: "Dry rails assumed" }];
    let stairs: Vec<String> = (0..300).map(|depth| format!("{}- a\n", " ".repeat(2 * depth))).collect();
    let blanks = "\n".repeat(30_000);
    let mut texts = vec![stairs.concat() + &blanks, format!("{}a{blanks}", "- ".repeat(5_000))];
    for piece in [
        ">",
        "- ",
        "[",
        "*a **a ",
        "1. [",
        "P1 x ",
        "1.1 accepted ",
        "<!-- ",
        "</think>",
        "```\n",
        "# a\n",
        "一、",
        "\r",
        "\0",
    ] {
        texts.push(piece.repeat(30_000 / piece.len()));
    }
    for text in texts {
        let start = Instant::now();
        let _ = (read_critique(&text, &[1]), read_answers(&text, &raised));
        // What grows with the square of the length takes minutes.
        assert!(start.elapsed() < Duration::from_secs(20), "{text:.20}");
    }
}
