//! Complete reports. Whatever a debate contains, its report keeps its structure.

use std::fmt::Write as _;
use std::sync::Arc;

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use serde_json::json;

use dialectic_base::markdown::is_bidi_control;
use dialectic_record::debate::Debate;
use dialectic_record::debate::fixture::argued;
use dialectic_record::ids::{AgentId, ResultKind, StageId, StageInfo, StageWords};
use dialectic_record::protocol::{DIALECTIC, upgrade_state};
use dialectic_record::settings::default_settings;

use super::*;

fn report_on(debate: &Debate, has_usage: bool) -> String {
    let mut report = Vec::new();
    markdown(&View::new(debate, None).with_usage(has_usage), &mut report).unwrap();
    String::from_utf8(report).unwrap()
}

#[test]
fn objections_are_reported_with_all_that_became_of_them() {
    let report = report_on(&argued(), false);
    let from = report.find("\n## Objections\n").unwrap();
    insta::assert_snapshot!(report[from..]);
}

#[test]
fn a_debate_whose_record_holds_no_readings_is_reported_as_ever() {
    let mut debate = argued();
    for one in debate.rounds.iter_mut().flat_map(|round| &mut round.contributions) {
        let one = Arc::make_mut(one);
        (one.reading, one.content) = (None, "1. [blocking] It is lost.".into());
    }
    let report = report_on(&debate, false);
    assert!(report.ends_with("### Final Synthesis\n```text\nOne store, one leader.\n```\n"), "{report}");
}

#[test]
fn a_debate_that_says_next_to_nothing_has_a_report() {
    let state = json!({"id": "d", "problem": "", "status": "pending", "rounds": [{"roundNumber": 1, "contributions": [
        {"agentId": "", "agentRole": "", "type": "critique", "content": ""},
    ]}]});
    let mut debate: Debate = serde_json::from_value(state).unwrap();
    upgrade_state(&mut debate);
    insta::assert_snapshot!(report_on(&debate, false));
}

/// Texts that try to change the page.
fn hostile() -> Vec<String> {
    let mut texts: Vec<String> = [
        "<script>alert(1)</script>",
        "</pre></code><img src=x onerror=alert(1)> <!-- ",
        "[x](javascript:alert(1)) ![i](javascript:y) <javascript:z> [r]: javascript:q",
        "```",
        "`",
        "````text\n# Out of the fence\n````\n~~~\n",
        "``` ` ``````` ``",
        "a | b || c \\| d \\\\| e \\",
        "|---|---|",
        "\u{202e}live\u{2066} \u{200f}",
        "one\r\n# two\r\n\r\n| x |\r\n|---|\r\n\rthree\r",
        "# heading #",
        "- item\n1. first\n> quote\n    code\n***\n===\n---\n+ x",
        "1. first",
        "*",
        "_ __ * ** ~~s~~ __u__ **b** a*b*c",
        "&lt;b&gt; &#106; &amp; [^1] [ ] [x] :x: $y$",
        "\u{0}\u{1b}[2J\u{7}\u{b}x\u{85}\u{2028}y",
        "\\",
        "word",
    ]
    .map(str::to_owned)
    .into();
    texts.push("long | line ` ".repeat(500));
    texts.push("`".repeat(1_000));
    texts
}

/// A debate in which every text and every agent's name is `text`.
fn debate(text: &str) -> Debate {
    let (one, two) = (text.to_owned(), text.repeat(2));
    let mut settings = default_settings();
    settings.agents.truncate(2);
    settings.debate.protocol.clone_from(&one);
    for (agent, id) in settings.agents.iter_mut().chain([&mut settings.judge]).zip([&one, &two, &text.repeat(3)]) {
        agent.id = AgentId::new(id);
        for field in [&mut agent.name, &mut agent.role, &mut agent.model, &mut agent.provider] {
            field.clone_from(&one);
        }
        agent.system_prompt_path = Some(text.into());
        agent.summary_prompt_path = Some(text.into());
        agent.summarization.enabled = true;
        agent.summarization.method.clone_from(&one);
    }
    let said = |kind: &str, target: Option<&str>| {
        json!({"agentId": one, "agentRole": one, "type": kind, "content": text, "targetAgentId": target,
            "metadata": {"latencyMs": 5}})
    };
    let usage =
        json!({"requests": 1, "inputTokens": u64::MAX, "cachedInputTokens": 0, "outputTokens": 2, "costUsd": null});
    let invented = [
        (text.repeat(2), ResultKind::Ballot),
        (text.repeat(3), ResultKind::Ballot),
        (one.clone(), ResultKind::Speech),
        (text.repeat(4), ResultKind::Ballot),
        (text.repeat(5), ResultKind::Verdict),
    ];
    let invented = invented.map(|(id, yields)| {
        let mut words = StageWords::new([""; 6]);
        (words.noun, words.plural) = (one.clone().into(), one.clone().into());
        StageInfo { words, ..StageInfo::new(StageId::from(id), [""; 6]) }.yielding(yields)
    });
    let stages: Vec<StageInfo> = DIALECTIC.infos().iter().cloned().chain(invented).collect();
    let judged = |pass: u8, winner: &str, reasoning: &str| json!({"pass": pass, "winner": winner, "scores": {&one: 50}, "criteria": {&one: text}, "reasoning": reasoning});
    let mut verdict = judged(1, &one, text);
    verdict["stable"] = json!(false);
    let poll = |stage: &str| json!({"stage": stage, "votes": {&one: text}, "reasons": {&one: text}});
    let mut ballot = said(&text.repeat(4), Some(&two));
    ballot["metadata"]["confidence"] = json!(60);
    let count = json!({
        "rule": "majority", "voters": 2, "cast": 2, "quorum": 2, "selfVotes": 0,
        "dissent": [{"agentId": one, "for": two, "reason": text}],
    });
    serde_json::from_value(json!({
        "id": one, "problem": text, "status": "failed", "stages": stages,
        "polls": [poll(&text.repeat(3)), poll(&two)], "verdict": verdict,
        "judgements": [judged(1, &one, text), judged(2, &two, &two)],
        "error": text, "settings": settings,
        "rounds": [{
            "roundNumber": 1,
            "contributions": [
                said("proposal", None), said("critique", Some(&two)), said("refinement", None), ballot,
                said(text, Some(&two)), said(&text.repeat(6), None),
            ],
            "evaluation": {"type": "quality", "score": 1e300, "threshold": 80},
        }],
        "clarifications": [{"agentId": one, "agentName": one, "role": one,
            "items": [{"id": one, "question": text, "answer": text}, {"id": one, "question": text, "answer": ""}]}],
        "finalSolution": {"description": text},
        "voting": {"tally": {&one: 1, &two: 1}, "tied": [one, two], "winner": one, "count": count},
        "failures": [{"agentId": one, "phase": "critique", "round": 1, "targetAgentId": two, "error": text,
            "attempts": 4, "at": "2025-01-01T01:02:03.000Z"}],
        "usage": {&one: usage, &two: usage},
        "stopReason": "user", "outcome": {"kind": "stopped", "reasons": [text, text]},
    }))
    .unwrap()
}

/// An outline of `word` with this text in place of the word.
fn expected(outline: &[String], text: &str) -> Vec<String> {
    let first_line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let line = |line: &String| match line.as_str() {
        "h1 Debate: word" => format!("h1 Debate: {}", flat(first_line)),
        "h3 word (word)" => format!("h3 {}", flat(&format!("{text} ({text})"))),
        line if line.starts_with("code ") => {
            format!("code {}", plain_lines(&format!("{}\n", text.repeat(line.matches("word").count()))))
        }
        // The longest first.
        line => (1..=6).rev().fold(line.to_owned(), |line, times| {
            let (word, name) = ("word".repeat(times), flat(&text.repeat(times)));
            line.replace(&word, &name).replace(&capitalized(&word), &capitalized(&name))
        }),
    };
    outline.iter().map(|one| one_spaced(&line(one))).collect()
}

/// What one line may show of `text`.
fn flat(text: &str) -> String {
    let visible = |c: char| match c {
        _ if c.is_control() => ' ',
        _ if is_bidi_control(c) => char::REPLACEMENT_CHARACTER,
        _ => c,
    };
    text.chars().map(visible).collect::<String>().trim().to_owned()
}

/// A text with normalized line breaks and without NUL, which Markdown does not have.
fn plain_lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}")
}

/// Whitespace within lines is not compared, except in code.
fn one_spaced(line: &str) -> String {
    if line.starts_with("code ") { line.to_owned() } else { line.split_whitespace().collect::<Vec<_>>().join(" ") }
}

/// The blocks of a document in order: headings, paragraphs, items, rows and code, each with its text.
fn outline(markdown: &str) -> Vec<String> {
    let arena = Arena::new();
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    let mut blocks = Vec::new();
    for block in parse_document(&arena, markdown, &options).children() {
        match &block.data.borrow().value {
            NodeValue::Heading(heading) => blocks.push(format!("h{} {}", heading.level, text_of(block))),
            NodeValue::Paragraph => blocks.push(format!("p {}", text_of(block))),
            NodeValue::CodeBlock(code) => {
                assert_eq!(code.info, "text");
                blocks.push(format!("code {}", plain_lines(&code.literal)));
            }
            NodeValue::Table(table) => blocks.extend(block.children().map(|row| {
                let cells: Vec<String> = row.children().map(text_of).collect();
                assert_eq!(cells.len(), table.num_columns);
                format!("row {}", cells.join(" ¦ "))
            })),
            NodeValue::List(_) => {
                let paragraphs =
                    block.descendants().filter(|node| matches!(node.data.borrow().value, NodeValue::Paragraph));
                blocks.extend(paragraphs.map(|item| format!("li {}", text_of(item))));
                for inner in block.descendants() {
                    let value = &inner.data.borrow().value;
                    assert!(!value.block() || is_of_a_list(value), "{value:?} in a list");
                }
            }
            other => blocks.push(format!("{other:?}")),
        }
    }
    blocks.iter().map(|line| one_spaced(line)).collect()
}

fn is_of_a_list(value: &NodeValue) -> bool {
    matches!(value, NodeValue::List(_) | NodeValue::Item(_) | NodeValue::Paragraph)
}

/// The text of a block. Anything other than text and our own italics shows as markup.
fn text_of<'a>(node: &'a AstNode<'a>) -> String {
    node.descendants().skip(1).fold(String::new(), |mut text, inner| {
        match &inner.data.borrow().value {
            NodeValue::Text(part) => text.push_str(part),
            NodeValue::SoftBreak => text.push(' '),
            NodeValue::Emph => {}
            other => write!(text, "{other:?}").unwrap(),
        }
        text
    })
}

/// Checks that the outline of this part is the same for every text.
fn assert_same_outline(outline_of: impl Fn(&str) -> Vec<String>) {
    let of_word = outline_of("word");
    for text in hostile() {
        let (found, expected) = (outline_of(&text), expected(&of_word, &text));
        let sample: String = text.chars().take(80).collect();
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "of {sample:?}");
        }
        assert_eq!(found.len(), expected.len(), "of {sample:?}");
    }
}

fn whole_outline(text: &str) -> Vec<String> {
    outline(&report_on(&debate(text), true))
}

#[test]
fn no_text_changes_the_structure_of_a_report() {
    insta::assert_snapshot!("outline", whole_outline("word").join("\n"));
    assert_same_outline(whole_outline);
}

#[test]
fn objections_stay_in_their_section_whatever_they_say() {
    let objections = |text: &str| {
        let two = text.repeat(2);
        let [critic, target] = [text, &two].map(|id| id.replace('%', "%25").replace('/', "%2F"));
        let point = format!("r1/{critic}/{target}/1");
        let said = |agent: &str, kind: &str, target: Option<&str>, reading: serde_json::Value| {
            json!({"agentId": agent, "agentRole": "r", "type": kind, "content": "", "targetAgentId": target,
                "reading": reading})
        };
        let mut debate = debate(text);
        debate.rounds = serde_json::from_value(json!([
            {"roundNumber": 1, "contributions": [
                said(text, "critique", Some(&two), json!({"points": [
                    {"severity": "blocking", "about": text, "text": text, "resolution": text},
                ]})),
                said(&two, "refinement", None, json!({"answers": [
                    {"point": point, "answer": "rejected", "reason": text},
                ], "change": {"added": 1, "removed": 2}})),
            ]},
            {"roundNumber": 2, "contributions": [
                said(text, "critique", Some(&two), json!({"points": [], "rechecks": [
                    {"point": point, "standing": "maintained", "reason": text},
                ]})),
            ]},
        ]))
        .unwrap();
        let ruling = json!({"point": point, "decision": "partly", "where": text, "reason": text});
        debate.final_solution.as_mut().unwrap().rulings = vec![serde_json::from_value(ruling).unwrap()];
        let mut found = outline(&report_on(&debate, false));
        let from = found.iter().position(|block| block == "h2 Objections").unwrap();
        found.split_off(from)
    };
    insta::assert_snapshot!("objections", objections("word").join("\n"));
    assert_same_outline(objections);
}

#[test]
fn a_line_of_200_kilobytes_is_a_line() {
    let long = "long | line ` <b> ".repeat(11_000);
    let mut debate = debate("word");
    debate.problem = long.as_str().into();
    debate.failures[0].error.clone_from(&long);
    debate.final_solution.as_mut().unwrap().description.clone_from(&long);
    let report = report_on(&debate, true);
    let (found, flat) = (outline(&report), one_spaced(&long));
    assert_eq!(found.len(), whole_outline("word").len());
    assert_eq!(found[0], format!("h1 Debate: {flat}"));
    assert!(found.contains(&format!("row word ¦ critique of wordword ¦ 1 ¦ 4 ¦ {flat}")));
    assert_eq!(found.last(), Some(&format!("code {long}\n")));
}

#[test]
fn the_test_sees_what_an_unescaped_text_would_do() {
    for (text, shows) in [("<b>", "Html"), ("[a](b)", "Link"), ("`c`", "Code"), ("**s**", "Strong")] {
        assert!(outline(&format!("# {text}"))[0].contains(shows), "{text}");
    }
    assert_eq!(outline("```text\na\n```\nout"), ["code a\n", "p out"]);
    assert_eq!(outline("| a |\n|---|\n| b | c |"), ["row a", "row b"], "a row loses what it has no column for");
}

#[test]
fn an_error_of_the_stream_is_handed_on() {
    let mut room = [0; 100];
    let written = markdown(&View::new(&debate("word"), None), &mut room.as_mut_slice());
    assert_eq!(written.unwrap_err().kind(), io::ErrorKind::WriteZero);
}
