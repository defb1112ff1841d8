//! Whatever a debate contains, its report keeps its structure.

use std::fmt::Write as _;

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use serde_json::json;

use dialectic_base::markdown::is_bidi_control;
use dialectic_record::debate::{AgentId, Debate, ResultKind, StageId, StageInfo, StageWords, default_settings};
use dialectic_record::protocol::DIALECTIC;

use super::*;

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

/// The expected outline of a report on that debate.
#[expect(clippy::too_many_lines, reason = "it is the report, line by line")]
fn expected(text: &str) -> Vec<String> {
    let first_line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let (title, one, two, three) = (flat(first_line), flat(text), flat(&text.repeat(2)), flat(&text.repeat(3)));
    let code = format!("code {}", plain_lines(&format!("{text}\n")));
    let (stage, titled) = (flat(&capitalized(text)), capitalized(&one));
    let member = |id: &str, temperature: &str| {
        let summarization = format!("{one}, from 5000 to 2500 characters");
        format!("row {id} ¦ {one} ¦ {one} ¦ {one} ¦ {one} ¦ {temperature} ¦ true ¦ N/A ¦ N/A ¦ {summarization}")
    };
    let columns = format!("row {}", participants_columns().join(" ¦ "));
    let most = "18,446,744,073,709,551,615";
    let lines = [
        format!("h1 Debate: {title}"),
        "p Time: N/A".to_owned(),
        "h2 Problem Description".to_owned(),
        code.clone(),
        "h2 Agents".to_owned(),
        columns.clone(),
        member(&one, "0.5"),
        member(&two, "0.5"),
        "h2 Clarifications".to_owned(),
        format!("h3 {}", flat(&format!("{text} ({text})"))),
        format!("p Question ({one}):"),
        code.clone(),
        "p Answer:".to_owned(),
        code.clone(),
        format!("p Question ({one}):"),
        code.clone(),
        "p Not answered yet.".to_owned(),
        "h2 Judge".to_owned(),
        columns,
        member(&three, "0.3"),
        "h2 Run".to_owned(),
        "li Status: failed".to_owned(),
        "li Error:".to_owned(),
        format!("li {one}"),
        "li Run: failed".to_owned(),
        format!("li {one}"),
        format!("li {one}"),
        "li Check of the answer: not checked".to_owned(),
        "li Stopped early by: the user".to_owned(),
        format!("li Protocol: {one}"),
        "li Rounds: 1 of 3".to_owned(),
        "li Duration: N/A".to_owned(),
        "h3 Usage".to_owned(),
        "row Model ¦ Calls ¦ Input tokens ¦ Of these cached ¦ Output tokens ¦ Cost".to_owned(),
        format!("row {one} ¦ 1 ¦ {most} ¦ 0 ¦ 2 ¦ unknown"),
        format!("row {two} ¦ 1 ¦ {most} ¦ 0 ¦ 2 ¦ unknown"),
        format!("row all models ¦ 2 ¦ {most} ¦ 0 ¦ 4 ¦ unknown"),
        "h3 Scores".to_owned(),
        "row Round ¦ Type ¦ Score ¦ Threshold".to_owned(),
        format!("row 1 ¦ quality ¦ {} ¦ 80", dialectic_base::figures::score(1e300)),
        format!("h3 {stage}"),
        "row Candidate ¦ Votes".to_owned(),
        format!("row {one} ¦ 1"),
        format!("row {two} ¦ 1"),
        format!("p Tied: {}, {}", shown_id(&one), shown_id(&two)),
        format!("p Winner: {} (by the votes)", shown_id(&one)),
        "li Rule: majority; 2 of 2 voted, the quorum is 2; 0 for the voter's own text".to_owned(),
        format!("li Dissent of {} for {}:", shown_id(&one), shown_id(&two)),
        code.clone(),
        "h3 Polls".to_owned(),
        format!("row Choice ¦ {titled} ¦ {titled} ¦ Change"),
        format!("row {one} ¦ 1 ¦ 1 ¦ 0"),
        "p Gained most: no side".to_owned(),
        format!("row Voter ¦ {titled} ¦ {titled}"),
        format!("row {one} ¦ {one} ¦ {one}"),
        format!("p {}, {one}:", shown_id(&one)),
        code.clone(),
        format!("p {}, {one}:", shown_id(&one)),
        code.clone(),
        format!("h3 {stage}"),
        format!("p Winner: {}, by the vote; by the scores: {}", shown_id(&one), shown_id(&one)),
        "p Stable: no, the winner changed when the debaters came in the opposite order".to_owned(),
        "row Debater ¦ Mean score ¦ Pass 1 ¦ Pass 2".to_owned(),
        format!("row {one} ¦ 50 ¦ 50 ¦ 50"),
        format!("row winner ¦ {one} ¦ {one} ¦ {two}"),
        "p The judge saw no names. Each letter in its texts is the label of a debater.".to_owned(),
        format!("p Criterion {}:", shown_id(&one)),
        code.clone(),
        "p Reason:".to_owned(),
        code.clone(),
        "p Reason in pass 2:".to_owned(),
        format!("code {}", plain_lines(&format!("{}\n", text.repeat(2)))),
        "h3 Failures".to_owned(),
        "row Agent ¦ Call ¦ Round ¦ Attempts ¦ Error".to_owned(),
        format!("row {one} ¦ critique of {two} ¦ 1 ¦ 4 ¦ {one}"),
        "h2 Rounds".to_owned(),
        "h3 Round 1".to_owned(),
        "h4 Proposals".to_owned(),
        format!("p Agent {} (latency=5ms, tokens=N/A):", shown_id(&one)),
        code.clone(),
        "h4 Critiques".to_owned(),
        format!("p {} → {} (latency=5ms, tokens=N/A):", shown_id(&one), shown_id(&two)),
        code.clone(),
        "h4 Refinements".to_owned(),
        format!("p Agent {} (latency=5ms, tokens=N/A):", shown_id(&one)),
        code.clone(),
        format!("h4 {stage}"),
        format!("p {} → {} (latency=5ms, tokens=N/A):", shown_id(&one), shown_id(&two)),
        code.clone(),
        format!("h4 {stage}"),
        format!("p {} → {} (latency=5ms, tokens=N/A):", shown_id(&one), shown_id(&two)),
        code.clone(),
        format!("h4 {}", flat(&capitalized(&text.repeat(6)))),
        format!("p Agent {} (latency=5ms, tokens=N/A):", shown_id(&one)),
        code.clone(),
        "h3 Final Synthesis".to_owned(),
        code,
    ];
    lines.iter().map(|line| one_spaced(line)).collect()
}

fn participants_columns() -> [&'static str; 10] {
    [
        "ID",
        "Name",
        "Role",
        "Model",
        "Provider",
        "Temperature",
        "Enabled",
        "SystemPromptPath",
        "SummaryPromptPath",
        "Summarization",
    ]
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

fn shown_id(flat: &str) -> &str {
    if flat.is_empty() { "N/A" } else { flat }
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

#[test]
fn no_text_changes_the_structure_of_a_report() {
    for text in hostile() {
        let debate = debate(&text);
        let report = report_on(&debate, ReportDetail::Verbose);
        let (found, expected) = (outline(&report), expected(&text));
        let sample: String = text.chars().take(80).collect();
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "of {sample:?}");
        }
        assert_eq!(found.len(), expected.len(), "of {sample:?}");
    }
}

#[test]
fn objections_stay_in_their_section_whatever_they_say() {
    for text in hostile() {
        let two = text.repeat(2);
        let [critic, target] = [&text, &two].map(|id| id.replace('%', "%25").replace('/', "%2F"));
        let point = format!("r1/{critic}/{target}/1");
        let said = |agent: &str, kind: &str, target: Option<&str>, reading: serde_json::Value| {
            json!({"agentId": agent, "agentRole": "r", "type": kind, "content": "", "targetAgentId": target,
                "reading": reading})
        };
        let mut debate = debate("word");
        debate.rounds = serde_json::from_value(json!([
            {"roundNumber": 1, "contributions": [
                said(&text, "critique", Some(&two), json!({"points": [
                    {"severity": "blocking", "about": text, "text": text, "resolution": text},
                ]})),
                said(&two, "refinement", None, json!({"answers": [
                    {"point": point, "answer": "rejected", "reason": text},
                ], "change": {"added": 1, "removed": 2}})),
            ]},
            {"roundNumber": 2, "contributions": [
                said(&text, "critique", Some(&two), json!({"points": [], "rechecks": [
                    {"point": point, "standing": "maintained", "reason": text},
                ]})),
            ]},
        ]))
        .unwrap();
        let ruling = json!({"point": point, "decision": "partly", "where": text, "reason": text});
        debate.final_solution.as_mut().unwrap().rulings = vec![serde_json::from_value(ruling).unwrap()];
        // Texts by authors missing from the settings have no number.
        let number = debate.text_number(&AgentId::new(&two)).unwrap_or(0);
        let (one, two, point) = (flat(&text), flat(&two), format!("{number}.1"));
        let code = format!("code {}", plain_lines(&format!("{text}\n")));
        let expected = [
            "h2 Objections".to_owned(),
            "p The critics raised 1 point. 1 is open: 1 blocking.".to_owned(),
            "row Point ¦ Severity ¦ Status ¦ Raised by ¦ Against".to_owned(),
            format!("row {point} ¦ blocking ¦ open ¦ {one} ¦ {two}"),
            format!("h3 {point} · blocking · {} on {}: open", shown_id(&one), shown_id(&two)),
            format!("p About: {one}"),
            "p Objection (blocking):".to_owned(),
            code.clone(),
            "p Asks for:".to_owned(),
            code.clone(),
            format!("p Round 1, {}, rejected:", shown_id(&two)),
            code.clone(),
            format!("p Round 2, {}, maintained:", shown_id(&one)),
            code.clone(),
            format!("p The judge, partly met ({}):", shown_id(&one)),
            code,
            "h3 Who moved, and why".to_owned(),
            "row Round ¦ Agent ¦ Accepted ¦ Accepted in part ¦ Rejected ¦ Unanswered ¦ Lines added ¦ Lines removed"
                .to_owned(),
            format!("row 1 ¦ {two} ¦ - ¦ - ¦ {point} ¦ - ¦ 1 ¦ 2"),
        ];
        let expected: Vec<String> = expected.iter().map(|line| one_spaced(line)).collect();
        let found = outline(&report_on(&debate, ReportDetail::Plain));
        let from = found.iter().position(|block| block == "h2 Objections").unwrap();
        let sample: String = text.chars().take(80).collect();
        assert_eq!(found[from..], expected, "of {sample:?}");
    }
}

#[test]
fn a_line_of_200_kilobytes_is_a_line() {
    let long = "long | line ` <b> ".repeat(11_000);
    let mut debate = debate("word");
    debate.problem = long.as_str().into();
    debate.failures[0].error.clone_from(&long);
    debate.final_solution.as_mut().unwrap().description.clone_from(&long);
    let report = report_on(&debate, ReportDetail::Verbose);
    let (found, flat) = (outline(&report), one_spaced(&long));
    assert_eq!(found.len(), expected("word").len());
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
    let written = markdown(&View::new(&debate("word"), None), ReportDetail::Plain, &mut room.as_mut_slice());
    assert_eq!(written.unwrap_err().kind(), io::ErrorKind::WriteZero);
}
