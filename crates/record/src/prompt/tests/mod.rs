//! Renders every template with every role: variables, layout, shared prefixes, and text that stays in its fence.

mod catalog;
mod properties;
mod protocols;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use crate::debate::{Attachment, Clarification, Question};
use crate::protocol::PROTOCOLS;
use crate::protocol::questions::ANSWER;
use dialectic_base::markdown::fenced;

use super::step::{environment, line};
use super::*;

/// A rendered template and its values.
struct PromptSample {
    file: &'static str,
    values: Value,
    text: String,
}

fn sample(prompt: &Prompt, values: &impl Serialize) -> PromptSample {
    PromptSample {
        file: prompt.file,
        values: serde_json::to_value(values).unwrap(),
        text: prompt.render(values).unwrap(),
    }
}

/// The distinct prompts of all protocols.
fn prompts() -> Vec<&'static Prompt> {
    let mut seen = BTreeSet::new();
    let all = PROTOCOLS.iter().flat_map(|protocol| protocol.prompts.iter().copied()).chain([&ANSWER]);
    all.filter(|prompt| seen.insert(prompt.file)).collect()
}

fn prompt(file: &str) -> &'static Prompt {
    prompts().into_iter().find(|prompt| prompt.file == file).unwrap()
}

fn label(word: &str) -> Label {
    Label { word: word.to_owned(), author: word.into(), name: String::new() }
}

/// What a call shows; `text` creates each text from its name.
struct Texts(BTreeMap<&'static str, String>);

impl Texts {
    fn of(text: &impl Fn(&str) -> String) -> Self {
        let texts = ["input-1", "input-2", "input-3", "candidate", "entry-1", "entry-2", "draft", "summary", "asked"];
        let own = ["proposal", "critique", "refinement"];
        let told = ["points", "accepted", "raised", "approaches", "dispute", "decision", "assessment"];
        Self(texts.into_iter().chain(own).chain(told).map(|name| (name, text(name))).collect())
    }

    fn values<'a>(&'a self, role: FocusedRole<'a>) -> Values<'a> {
        let at = |name: &str| self.0[name].as_str();
        let authored = |author: &str, name: &str| authored(author, at(name));
        let points = |name| PointList { text: at(name).to_owned(), ..PointList::default() };
        let entries =
            vec![Titled::new("Opening of Ada, for", at("entry-1")), Titled::new("Opening of Ben", at("entry-2"))];
        Values {
            role,
            inputs: [1, 2, 3].map(|number| authored(&format!("author-{number}"), &format!("input-{number}"))).into(),
            candidates: ["AA", "BB"].map(|label| Titled::new(label, at("candidate"))).into(),
            own_summary: Some(at("summary")),
            rounds: vec![OwnRound {
                proposal: Some(authored("author", "proposal")),
                critiques: vec![authored("critic", "critique")],
                refinement: Some(authored("refiner", "refinement")),
            }],
            material: vec![MaterialPart { heading: "Heading", entries: entries.clone() }],
            entries,
            claims: "CLAIMS".to_owned(),
            approaches: at("approaches").to_owned(),
            draft: Some(CheckedDraft {
                text: at("draft").to_owned(),
                assessment: at("assessment").to_owned(),
                lens: "requirements",
                accepted: points("accepted"),
                points: at("raised").to_owned(),
                may_rethink: true,
            }),
            question: Some(at("asked")),
            dispute: Some(at("dispute").to_owned()),
            listing: Listing {
                labels: ["Indigo", "Amber"].map(label).into(),
                points: points("points"),
                decisions: vec![at("decision").to_owned()],
                requirements: vec!["REQUIREMENT".to_owned()],
                criteria: ["logic", "charm"].map(str::to_owned).into(),
                ..Listing::default()
            },
            base: Some("AA".to_owned()),
            side: "for",
            target: Some("TARGET"),
            max_questions: 9,
            max_words: 2345,
            length: 0,
        }
    }
}

/// Whether only the judge makes calls with this prompt.
fn is_judges(prompt: &Prompt) -> bool {
    let (folder, file) = prompt.file.split_once('/').unwrap();
    let is_comparison = folder == "arena" && matches!(file, "relate.md" | "challenge.md" | "observe.md" | "score.md");
    let is_last = matches!(file, "finalise.md" | "synthesize.md" | "verdict.md" | "solve.md" | "rule.md");
    folder == "judge" || is_comparison || is_last
}

fn authored<'a>(author: &str, text: &'a str) -> Authored<'a> {
    Authored { author: author.to_owned(), text: text.into() }
}

fn asked(id: &str, question: &str, answer: &str) -> Clarification {
    let [id, question, answer] = [id, question, answer].map(str::to_owned);
    Clarification { id, question, answer, answered_by: None, pass: None }
}

/// Every template with all values set; `text` creates each text from its name.
fn full(role: &Role, judge: &Role, text: impl Fn(&str) -> String) -> Vec<PromptSample> {
    let [problem, attached, path, question, answer, summary, error, first, second, solution, points] = [
        "problem", "attached", "path", "question", "answer", "summary", "error", "first", "second", "solution",
        "points",
    ]
    .map(&text);
    let clarifications = [&Question { number: 1, text: &question, answer: &answer, pass: None, items: Vec::new() }];
    let items = vec![asked("q1", &question, &answer)];
    let groups = [json!({"agent": "asker", "role": "role", "items": items})];
    let attachments =
        [&Attachment { name: "notes.md".to_owned(), sha256: "abcd".to_owned(), text: (*attached).into(), part: None }];
    let entries = vec![Titled::new("title-1", &*first), Titled::new("title-2", &*second)];
    let candidates = [Titled::new("AA", &*first), Titled::new("BB", &*second)];
    let own = [OwnRound {
        proposal: Some(authored("author", &first)),
        critiques: vec![authored("critic", &second)],
        refinement: Some(authored("refiner", &solution)),
    }];
    let fixed = [
        sample(
            &BEGINNING,
            &Beginning {
                problem: &problem,
                attachments: &attachments,
                context_dir: Some(&path),
                gathered: &entries,
                clarifications: &clarifications,
            },
        ),
        sample(&HISTORY, &BTreeMap::from([("entries", &entries)])),
        sample(&OWN_HISTORY, &serde_json::json!({ "rounds": own, "own_summary": summary })),
        sample(
            &ASSESS,
            &Assess {
                candidates: &candidates,
                points: &points,
                answered: true,
                solution: &solution,
                role: judge.focusing(Focus::None),
            },
        ),
        sample(&SECOND_CHANCE, &BTreeMap::from([("error", &error)])),
        sample(&POINTS_AGAIN, &BTreeMap::from([("texts", Some("Text 2"))])),
        sample(&FINDINGS_AGAIN, &serde_json::json!({})),
        sample(&OPINIONS_AGAIN, &serde_json::json!({})),
        sample(&SOLUTION_AGAIN, &serde_json::json!({})),
        sample(&EVALUATOR_CLARIFICATIONS, &BTreeMap::from([("clarifications", &clarifications)])),
        sample(&PLAIN_CLARIFICATIONS, &BTreeMap::from([("groups", &groups)])),
    ];
    let texts = Texts::of(&text);
    let of_protocols = prompts().into_iter().map(|prompt| {
        let role = if is_judges(prompt) { judge } else { role };
        sample(prompt, &texts.values(role.focusing(prompt.focus)))
    });
    fixed.into_iter().chain(of_protocols).collect()
}

/// The templates with their optional values left out.
fn bare(role: &Role) -> Vec<PromptSample> {
    let own = [OwnRound { proposal: None, critiques: vec![], refinement: Some(authored("author", "refinement")) }];
    vec![
        sample(
            &BEGINNING,
            &Beginning { problem: "problem", attachments: &[], context_dir: None, gathered: &[], clarifications: &[] },
        ),
        sample(&OWN_HISTORY, &serde_json::json!({ "rounds": own, "own_summary": null })),
        sample(
            &ASSESS,
            &Assess {
                candidates: &[],
                points: "",
                answered: true,
                solution: "solution",
                role: role.focusing(Focus::None),
            },
        ),
        sample(&EVALUATOR_CLARIFICATIONS, &BTreeMap::from([("clarifications", Vec::<&str>::new())])),
        sample(&PLAIN_CLARIFICATIONS, &BTreeMap::from([("groups", Vec::<&str>::new())])),
    ]
}

fn roles() -> impl Iterator<Item = Arc<Role>> {
    Role::built_in_names().into_iter().map(|name| Role::built_in(name).unwrap())
}

fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        // Flags are not displayed.
        Value::Null | Value::Bool(_) => {}
        Value::String(text) => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| leaves(value, found)),
        Value::Object(values) => values.values().for_each(|value| leaves(value, found)),
        Value::Number(number) => found.push(number.to_string()),
    }
}

#[test]
fn templates_and_values_have_the_same_variables() {
    let role = Role::built_in("kiss").unwrap();
    let samples = full(&role, &Role::judge(), str::to_owned);
    let fixed: Vec<_> = TEMPLATES.iter().map(|template| template.file).collect();
    assert_eq!(samples.iter().map(|sample| sample.file).take(fixed.len()).collect::<Vec<_>>(), fixed);
    let passed = |sample: &PromptSample| sample.values.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    for (sample, template) in samples.iter().zip(TEMPLATES) {
        let template = environment().template_from_named_str(template.file, template.text).unwrap();
        let read = template.undeclared_variables(false);
        assert_eq!(read.into_iter().collect::<BTreeSet<_>>(), passed(sample), "{}", sample.file);
    }
    // A prompt uses some of its values, and each value is used by some prompt.
    let mut needed = BTreeSet::new();
    for prompt in prompts() {
        let template = environment().template_from_named_str(prompt.file, prompt.text).unwrap();
        needed.extend(template.undeclared_variables(false));
    }
    assert_eq!(needed, passed(samples.last().unwrap()));
}

#[test]
fn every_text_that_a_template_asks_for_reaches_it() {
    for role in roles() {
        let samples = full(&role, &Role::judge(), |name| format!("<{name}>"));
        for PromptSample { file, values, text } in &samples[..TEMPLATES.len()] {
            let mut expected = Vec::new();
            leaves(values, &mut expected);
            for leaf in expected {
                assert!(text.contains(&leaf), "{file} lacks {leaf}");
            }
        }
    }
}

fn assert_tidy(file: &str, text: &str) {
    assert!(!text.contains("\n\n\n"), "{file}: two blank lines\n{text}");
    assert!(text.lines().all(|line| line == line.trim_end()), "{file}: space at a line's end\n{text}");
    assert_eq!(text, text.trim(), "{file}: blank lines around it");
    assert!(!text.contains("{%") && !text.contains("{{"), "{file}\n{text}");
    assert!(text.lines().all(|line| line != "none" && !line.ends_with(" none")), "{file}\n{text}");
    for (heading, before) in text.lines().skip(1).zip(text.lines()).filter(|(line, _)| line.starts_with('#')) {
        assert_eq!(before, "", "{file}: no blank line before {heading}");
    }
}

#[test]
fn texts_are_tidy_with_and_without_optional_values() {
    for role in roles() {
        for PromptSample { file, text, .. } in full(&role, &Role::judge(), str::to_owned).into_iter().chain(bare(&role))
        {
            assert_tidy(file, &text);
        }
    }
}

#[test]
fn absent_values_leave_no_heading_behind() {
    let role = Role::built_in("testing").unwrap();
    let headings =
        |text: &str| text.lines().filter(|line| line.starts_with("# ")).map(str::to_owned).collect::<Vec<_>>();
    let expected: [&[&str]; 4] = [
        &["# Problem"],
        &["# Text author, refined"],
        &["# Solution", "# Your role: Testing", "# Your task: assess"],
        &[],
    ];
    for (PromptSample { file, text, .. }, expected) in bare(&role).iter().zip(expected) {
        assert_eq!(headings(text), expected, "{file}");
    }
    let texts = Texts::of(&str::to_owned);
    for (file, expected) in [
        ("phases/propose.md", &["# Your role: Testing", "# Your task: propose"][..]),
        ("phases/critique.md", &["# Text author-1", "# Your role: Testing", "# Your task: critique"]),
        ("phases/refine.md", &["# Text author-1", "# Your role: Testing", "# Your task: refine"]),
    ] {
        let prompt = prompt(file);
        let all = texts.values(role.focusing(prompt.focus));
        let values = Values { inputs: all.inputs[..1].to_vec(), own_summary: None, listing: Listing::default(), ..all };
        assert_eq!(headings(&prompt.render(&values).unwrap()), expected, "{file}");
    }
}

#[test]
fn json_keys_are_named_where_json_is_asked_for_and_reasons_come_before_numbers() {
    let keys = ["tradeoffs", "recommendations", "unfulfilledMajorRequirements", "partlyFulfilled", "openQuestions"];
    let keys = keys.into_iter().chain(["rulings", "title", "confidence"]).map(|key| format!("`{key}`"));
    let keys: Vec<String> = keys.collect();
    let rest = r#""tradeoffs":[],"recommendations":[],"unfulfilledMajorRequirements":[],"partlyFulfilled":[],"openQuestions":[],"rulings":[{"point":"2.7","where":"...","remains":"...","reason":"...","decision":"met"}],"title":"...","confidence":0}"#;
    let block = format!("\n```json\n{{{rest}\n```\n");
    let merged = format!("\n```json\n{{\"base\":\"2\",{rest}\n```\n");
    let alone = format!("`{{\"base\":\"2\",{rest}`");
    let of_an_assessment = |more: [&str; 2]| [keys.clone(), more.map(str::to_owned).into()].concat();
    for sample in full(&Role::built_in("kiss").unwrap(), &Role::judge(), str::to_owned) {
        let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        let needed: Vec<String> = match sample.file {
            "phases/clarify.md" => owned(&[r#"{"questions":[{"id":"q1","text":"..."}]}"#]),
            "phases/vote.md" => owned(&[r#"{"reason":"...","choice":"2","confidence":0}"#]),
            "phases/refine.md" => owned(&["`## Response to critiques`", "`## Requirements Coverage`"]),
            "judge/evaluate-convergence.md" | "judge/evaluate-quality.md" => {
                owned(&[r#"{"reason":"...","confidence":0}"#])
            }
            "judge/synthesize.md" => of_an_assessment([&block, ""]),
            "judge/merge.md" => of_an_assessment(["`base`", &merged]),
            "judge/assess.md" => of_an_assessment(["`base`", &alone]),
            "motion/question.md" => owned(&["Cross-examine TARGET"]),
            "motion/poll.md" => {
                owned(&[r#"{"reason":"...","choice":"for","confidence":0}"#, "`for`, `against` or `undecided`"])
            }
            "motion/verdict.md" => owned(&[
                r#"{"criteria":[{"name":"logic","assessment":"..."}],"reasoning":"...","adoptIf":"...","rejectIf":"...","measure":"...","scores":[{"debater":"Indigo","score":0}],"winner":"Indigo"}"#,
                "`none`",
                "- charm\n",
                "- logic: do the conclusions",
                "The debaters are Indigo and Amber.",
            ]),
            _ => vec![],
        };
        for key in needed {
            assert!(sample.text.contains(&key), "{} lacks {key}\n{}", sample.file, sample.text);
        }
        // This rule would teach the judge to hide unmet requirements.
        assert!(sample.file == "judge/evaluate-quality.md" || !sample.text.contains("at most 40"), "{}", sample.file);
    }
}

#[test]
fn what_is_paid_on_every_call_stays_short() {
    for protocol in PROTOCOLS {
        let system = protocol.system.render(&()).unwrap();
        let (length, file) = (system.chars().count(), protocol.system.file);
        assert!(length <= 2800, "{file}: {length}");
        assert!(!system.contains("{{") && !system.contains("{%") && !system.contains("\n\n\n"), "{file}: {system}");
        // Task-specific rules belong in the task's prompt; elsewhere they would split the cache.
        for of_a_task in ["## Requirements Coverage", "Resolved by", "## Response to critiques", "No objections"] {
            assert!(!system.contains(of_a_task), "{file} has {of_a_task}");
        }
    }
    let texts = Texts::of(&str::to_owned);
    for prompt in prompts() {
        // The judge makes few calls, and the default protocol uses the prompts of its phases for most of its calls.
        let (file, of_judge) = (prompt.file, is_judges(prompt));
        let (most, whose) = if file.starts_with("phases/") {
            (2200, "an agent's in the default protocol")
        } else if of_judge {
            (4500, "the judge's")
        } else {
            (2500, "an agent's (see `is_judges`)")
        };
        for role in roles().chain([Role::judge()]).filter(|role| (role.name == "judge") == of_judge) {
            for side in ["for", "neutral"] {
                let values = Values { side, ..texts.values(role.focusing(prompt.focus)) };
                let text = prompt.render(&values).unwrap();
                let own = text.find("# Your role").map_or(0, |start| text[start..].chars().count());
                let role = &role.name;
                assert!(own <= most, "{file} with the role {role} has {own} characters, over the {most} of {whose}");
            }
        }
    }
    let judge = Role::judge();
    let assess = full(&judge, &judge, str::to_owned).into_iter().find(|sample| sample.file == ASSESS.file).unwrap();
    let own = assess.text.find("# Your role").map(|start| assess.text[start..].chars().count()).unwrap();
    assert!(own <= 4500, "{} has {own} characters", assess.file);
}

#[test]
fn critique_refinement_and_summary_begin_alike() {
    let proposal = authored("b", "The proposal of b.");
    let critiques = ["a", "c"].map(|author| authored(author, "1. A point."));
    let [mine, other] = ["security", "kiss"].map(|name| Role::built_in(name).unwrap());
    let texts = Texts::of(&str::to_owned);
    let render = |file: &str, role: &Role, inputs: Vec<Authored<'_>>, rounds: Vec<OwnRound<'_>>, own_summary| {
        let prompt = prompt(file);
        prompt.render(&Values { inputs, own_summary, rounds, ..texts.values(role.focusing(prompt.focus)) }).unwrap()
    };
    let inputs = [&[proposal.clone()][..], &critiques].concat();
    let refine = render("phases/refine.md", &mine, inputs, Vec::new(), Some("What b knows."));
    let critique = render("phases/critique.md", &other, vec![proposal.clone()], Vec::new(), Some("What c knows."));
    let shared = format!("# Text b\n\n{}\n\n", fenced("text", &proposal.text));
    assert!(refine.starts_with(&shared) && critique.starts_with(&shared));

    let refinement = Some(authored("b", "Better."));
    let round = OwnRound { proposal: Some(proposal), critiques: critiques.to_vec(), refinement };
    let summarize = render("phases/summarize.md", &mine, Vec::new(), vec![round], None);
    assert!(summarize.starts_with(&shared));
}

#[test]
fn prompts_begin_alike_with_and_without_history() {
    let entries = [Titled::new("Proposal of a", "x")];
    let values = Beginning { problem: "p", attachments: &[], context_dir: None, gathered: &[], clarifications: &[] };
    let beginning = BEGINNING.render(&values).unwrap();
    let history = HISTORY.with("entries", &entries).unwrap();
    assert_eq!(*compose(&beginning, Some(&history), "body"), format!("{beginning}\n\n{history}\n\nbody"));
    assert_eq!(*compose(&beginning, None, "body"), format!("{beginning}\n\nbody"));
}
