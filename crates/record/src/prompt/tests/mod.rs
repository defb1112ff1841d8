//! Renders every template with every role: variables, layout, shared prefixes, and text that stays in its fence.

mod catalog;
mod properties;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::debate::{Attachment, Clarification};
use crate::protocol::{ANSWER, PROTOCOLS};
use dialectic_base::markdown::fenced;

use super::step::TEMPLATES;
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
struct Texts {
    named: Vec<String>,
    summary: String,
    points: String,
    question: String,
    dispute: String,
    draft: String,
    assessment: String,
}

impl Texts {
    fn of(text: &impl Fn(&str) -> String) -> Self {
        let names = ["input-1", "input-2", "input-3", "first", "second", "proposal", "critique", "refinement"];
        Self {
            named: names.map(text).into(),
            summary: text("summary"),
            points: text("points"),
            question: text("asked"),
            dispute: text("dispute"),
            draft: text("draft"),
            assessment: text("assessment"),
        }
    }

    fn values<'a>(&'a self, role: FocusedRole<'a>) -> Values<'a> {
        let at = |place: usize| self.named[place].as_str();
        let authored = |author: &str, place| Authored { author: author.to_owned(), text: at(place).into() };
        let entries = vec![Titled::new("title-1, for", at(3)), Titled::new("title-2", at(4))];
        let points = || PointList { text: self.points.clone(), ..PointList::default() };
        Values {
            role,
            inputs: vec![authored("author-1", 0), authored("author-2", 1), authored("author-3", 2)],
            candidates: vec![Titled::new("AA", at(3)), Titled::new("BB", at(4))],
            own_summary: Some(&self.summary),
            rounds: vec![OwnRound {
                proposal: Some(authored("author", 5)),
                critiques: vec![authored("critic", 6)],
                refinement: Some(authored("refiner", 7)),
            }],
            material: vec![MaterialPart { heading: "Heading", entries: entries.clone() }],
            entries,
            claims: "2.7 (Storage)".to_owned(),
            approaches: self.points.clone(),
            draft: Some(CheckedDraft {
                text: self.draft.clone(),
                assessment: self.assessment.clone(),
                lens: "requirements",
                accepted: points(),
                points: self.points.clone(),
                may_rethink: true,
            }),
            question: Some(&self.question),
            dispute: Some(self.dispute.clone()),
            listing: Listing {
                labels: ["A", "B"].map(label).into(),
                points: points(),
                decisions: [at(3), at(4)].map(str::to_owned).into(),
                requirements: vec!["requirement".to_owned()],
                criteria: vec!["logic".to_owned()],
                ..Listing::default()
            },
            base: Some("AA".to_owned()),
            side: "for",
            target: Some("target"),
            max_questions: 9,
            max_words: 2345,
            length: 0,
        }
    }
}

/// The role for a prompt: the judge's, if it has the section that the prompt uses.
fn role_for<'a>(prompt: &Prompt, role: &'a Role, judge: &'a Role) -> FocusedRole<'a> {
    let is_judges = prompt.file.starts_with("judge/")
        || [
            "finalise.md",
            "synthesize.md",
            "assess.md",
            "relate.md",
            "challenge.md",
            "observe.md",
            "score.md",
            "solve.md",
            "rule.md",
        ]
        .iter()
        .any(|file| prompt.file.ends_with(file));
    if is_judges { judge.focusing(prompt.focus) } else { role.focusing(prompt.focus) }
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
    let clarifications = [AnsweredQuestion { question: &question, answer: &answer }];
    let items = vec![asked("q1", &question, &answer)];
    let groups = [Asker { agent: "asker", role: "role", items }];
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
        let values = texts.values(role_for(prompt, role, judge));
        sample(prompt, &values)
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
        let template = super::environment().template_from_named_str(template.file, template.text).unwrap();
        let read = template.undeclared_variables(false);
        assert_eq!(read.into_iter().collect::<BTreeSet<_>>(), passed(sample), "{}", sample.file);
    }
    // A prompt uses some of its values, and each value is used by some prompt.
    let mut needed = BTreeSet::new();
    for prompt in prompts() {
        let template = super::environment().template_from_named_str(prompt.file, prompt.text).unwrap();
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

#[test]
fn texts_are_tidy_with_and_without_optional_values() {
    for role in roles() {
        for PromptSample { file, text, .. } in full(&role, &Role::judge(), str::to_owned).into_iter().chain(bare(&role))
        {
            assert!(!text.contains("\n\n\n"), "{file}: two blank lines\n{text}");
            assert!(text.lines().all(|line| line == line.trim_end()), "{file}: space at a line's end\n{text}");
            assert_eq!(text, text.trim(), "{file}: blank lines around it");
            assert!(!text.contains("{%") && !text.contains("{{"), "{file}\n{text}");
            for (heading, before) in text.lines().skip(1).zip(text.lines()).filter(|(line, _)| line.starts_with('#')) {
                assert_eq!(before, "", "{file}: no blank line before {heading}");
            }
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
        let needed: Vec<String> = match sample.file {
            "phases/clarify.md" => vec![r#"{"questions":[{"id":"q1","text":"..."}]}"#.to_owned()],
            "phases/vote.md" => vec![r#"{"reason":"...","choice":"2","confidence":0}"#.to_owned()],
            "judge/evaluate-convergence.md" | "judge/evaluate-quality.md" => {
                vec![r#"{"reason":"...","confidence":0}"#.to_owned()]
            }
            "judge/synthesize.md" => of_an_assessment([&block, ""]),
            "judge/merge.md" => of_an_assessment(["`base`", &merged]),
            "judge/assess.md" => of_an_assessment(["`base`", &alone]),
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
    let judge = Role::judge();
    for role in roles() {
        for PromptSample { file, text, .. } in full(&role, &judge, str::to_owned) {
            let own = text.find("# Your role").map_or(0, |start| text[start..].chars().count());
            // The default protocol uses these for most calls; tests of other protocols limit theirs.
            let most = if file.contains("phases/") { 2200 } else { 4500 };
            assert!(own <= most, "{file} with the role {} has {own} characters, and {most} are the limit", role.name);
        }
    }
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
