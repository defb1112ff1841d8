//! Every template with every role: variables, layout, equal beginnings, and text that stays in its fence.

mod properties;

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;
use crate::markdown::fenced;

/// A rendered prompt and the values that went into it.
struct Sample {
    template: Template,
    values: Value,
    text: String,
}

fn sample<P: Prompt>(prompt: &P) -> Sample {
    let values = serde_json::to_value(prompt).unwrap();
    Sample { template: P::TEMPLATE, values, text: prompt.render().unwrap() }
}

/// Every template with every value there, each text being what `text` makes of its name.
fn full(role: &Role, judge: &Role, text: impl Fn(&str) -> String) -> Vec<Sample> {
    let [problem, path, question, answer, summary, error] =
        ["problem", "path", "question", "answer", "summary", "error"].map(&text);
    let [proposal, critiques @ .., refinement] = ["proposal", "critique-1", "critique-2", "refinement"].map(&text);
    let [first, second] = ["first", "second"].map(&text);
    let clarifications = [Clarification { agent: "asker", question: &question, answer: &answer }];
    let proposal = Authored { author: "author", text: &proposal };
    let critiques = ["critic-1", "critic-2"].iter().zip(&critiques);
    let critiques: Vec<_> = critiques.map(|(author, text)| Authored { author, text }).collect();
    let entries = vec![Entry { title: "title-1", text: &first }, Entry { title: "title-2", text: &second }];
    let candidates = [Candidate { label: "AA", text: &first }, Candidate { label: "BB", text: &second }];
    let own = [OwnRound {
        proposal: Some(proposal),
        critiques: critiques.clone(),
        refinement: Some(Authored { author: "refiner", text: &refinement }),
    }];
    let material = [MaterialPart { heading: "Heading", entries: entries.clone() }];
    let own_summary = Some(summary.as_str());
    let persona = judge.persona();
    vec![
        sample(&Foundation { problem: &problem, context_dir: Some(&path), clarifications: &clarifications }),
        sample(&History { entries: &entries }),
        sample(&Propose { own_summary, role: role.proposing() }),
        sample(&Critique { proposal, own_summary, role: role.critiquing() }),
        sample(&Refine { proposal, critiques: &critiques, own_summary, role: role.refining() }),
        sample(&OwnHistory { rounds: &own, own_summary }),
        sample(&Summarize { rounds: &own, own_summary, max_length: 2345, role: role.summarizing() }),
        sample(&Clarify { max_questions: 9, role: role.clarifying() }),
        sample(&Vote { candidates: &candidates, role: role.persona() }),
        sample(&EvaluateConvergence { candidates: &candidates, role: persona }),
        sample(&EvaluateQuality { candidates: &candidates, role: persona }),
        sample(&JudgeSummarize { entries: &entries, max_length: 2345, role: judge.summarizing() }),
        sample(&Synthesize { material: &material, role: persona }),
        sample(&Assess { candidates: &candidates, solution: &refinement, role: persona }),
        sample(&Merge { candidates: &candidates, role: persona }),
        sample(&SecondChance { error: &error }),
        sample(&NoSolution {}),
        sample(&EvaluatorClarifications { clarifications: &clarifications }),
    ]
}

/// The templates with optional values, each without them.
fn bare(role: &Role) -> Vec<Sample> {
    let proposal = Authored { author: "author", text: "proposal" };
    let own = [OwnRound { proposal: None, critiques: vec![], refinement: Some(proposal) }];
    vec![
        sample(&Foundation { problem: "problem", context_dir: None, clarifications: &[] }),
        sample(&Propose { own_summary: None, role: role.proposing() }),
        sample(&Critique { proposal, own_summary: None, role: role.critiquing() }),
        sample(&Refine { proposal, critiques: &[], own_summary: None, role: role.refining() }),
        sample(&OwnHistory { rounds: &own, own_summary: None }),
        sample(&Summarize { rounds: &own, own_summary: None, max_length: 2345, role: role.summarizing() }),
        sample(&Assess { candidates: &[], solution: "solution", role: role.persona() }),
        sample(&EvaluatorClarifications { clarifications: &[] }),
    ]
}

fn roles() -> impl Iterator<Item = Arc<Role>> {
    Role::built_in_names().into_iter().map(|name| Role::built_in(name).unwrap())
}

fn leaves(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::String(text) => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| leaves(value, found)),
        Value::Object(values) => values.values().for_each(|value| leaves(value, found)),
        other => found.push(other.to_string()),
    }
}

#[test]
fn templates_and_values_have_the_same_variables() {
    let role = Role::built_in("kiss").unwrap();
    let samples = full(&role, &Role::judge(), str::to_owned);
    assert_eq!(samples.iter().map(|sample| sample.template).collect::<Vec<_>>(), Template::ALL);
    for Sample { template, values, .. } in &samples {
        let read = catalog::environment().get_template(template.file()).unwrap().undeclared_variables(false);
        let passed: BTreeSet<_> = values.as_object().unwrap().keys().cloned().collect();
        assert_eq!(read.into_iter().collect::<BTreeSet<_>>(), passed, "{template}");
    }
}

#[test]
fn every_value_reaches_the_text_with_every_role() {
    for role in roles() {
        for Sample { template, values, text } in full(&role, &Role::judge(), |name| format!("<{name}>")) {
            let mut expected = Vec::new();
            leaves(&values, &mut expected);
            assert!(!expected.is_empty() || template == Template::NoSolution);
            for leaf in expected {
                assert!(text.contains(&leaf), "{template} lacks {leaf}");
            }
        }
    }
}

#[test]
fn texts_are_tidy_with_and_without_optional_values() {
    for role in roles() {
        for Sample { template, text, .. } in full(&role, &Role::judge(), str::to_owned).into_iter().chain(bare(&role)) {
            assert!(!text.contains("\n\n\n"), "{template}: two blank lines\n{text}");
            assert!(text.lines().all(|line| line == line.trim_end()), "{template}: space at a line's end\n{text}");
            assert_eq!(text, text.trim(), "{template}: blank lines around it");
            assert!(!text.contains("{%") && !text.contains("{{"), "{template}\n{text}");
            assert!(text.lines().all(|line| line != "none" && !line.ends_with(" none")), "{template}\n{text}");
            for (heading, before) in text.lines().skip(1).zip(text.lines()).filter(|(line, _)| line.starts_with('#')) {
                assert_eq!(before, "", "{template}: no blank line before {heading}");
            }
        }
    }
}

#[test]
fn absent_values_leave_no_heading_behind() {
    let role = Role::built_in("testing").unwrap();
    for Sample { template, text, .. } in bare(&role) {
        let headings: Vec<_> = text.lines().filter(|line| line.starts_with("# ")).collect();
        let expected: &[&str] = match template {
            Template::Foundation => &["# Problem"],
            Template::Propose => &["# Your role: Testing", "# Your task: propose"],
            Template::Critique => &["# Proposal of author", "# Your role: Testing", "# Your task: critique"],
            Template::Refine => &["# Proposal of author", "# Your role: Testing", "# Your task: refine"],
            Template::OwnHistory => &["# Refinement by author"],
            Template::Summarize => &["# Refinement by author", "# Your role: Testing", "# Your task: summarise"],
            Template::Assess => &["# Solution", "# Your role: Testing", "# Your task: assess"],
            Template::EvaluatorClarifications => &[],
            other => panic!("{other} has no optional values"),
        };
        assert_eq!(headings, expected, "{template}");
    }
}

#[test]
fn json_keys_are_named_where_json_is_asked_for() {
    let keys = "`tradeoffs` `recommendations` `unfulfilledMajorRequirements` `openQuestions` `confidence`";
    let rest =
        r#""tradeoffs":[],"recommendations":[],"unfulfilledMajorRequirements":[],"openQuestions":[],"confidence":0}"#;
    let block = format!("\n```json\n{{{rest}\n```\n");
    let merged = format!("\n```json\n{{\"base\":\"B\",{rest}\n```\n");
    let alone = format!("`{{\"base\":\"B\",{rest}`");
    for sample in full(&Role::built_in("kiss").unwrap(), &Role::judge(), str::to_owned) {
        let needed: Vec<_> = match sample.template {
            Template::Clarify => vec![r#"{"questions":[{"id":"q1","text":"..."}]}"#],
            Template::Vote => vec![r#"{"choice":"B","confidence":0,"reason":"..."}"#],
            Template::EvaluateConvergence | Template::EvaluateQuality => vec![r#"{"confidence":0}"#],
            Template::Synthesize => keys.split(' ').chain(["at most 40", &block]).collect(),
            Template::Merge => keys.split(' ').chain(["`base`", "at most 40", &merged]).collect(),
            Template::Assess => keys.split(' ').chain(["`base`", "at most 40", &alone]).collect(),
            _ => vec![],
        };
        for key in needed {
            assert!(sample.text.contains(key), "{} lacks {key}", sample.template);
        }
    }
}

#[test]
fn what_is_paid_on_every_call_stays_short() {
    assert!((2200..=2800).contains(&charter().chars().count()), "{}", charter().chars().count());
    assert!(!charter().contains("{{") && !charter().contains("{%"));
    for role in roles() {
        for Sample { template, text, .. } in bare(&role) {
            let own = text.find("# Your role").map_or(0, |start| text[start..].chars().count());
            // The judge's one call more comes once at most.
            let most = if template == Template::Assess { 2000 } else { 1200 };
            assert!(own <= most, "{template}, {}: {own} characters", role.name);
        }
        let clarify = Clarify { max_questions: 5, role: role.clarifying() }.render().unwrap();
        assert!(clarify.chars().count() <= 1200, "{}: {}", role.name, clarify.chars().count());
    }
}

#[test]
fn critique_refinement_and_summary_begin_alike() {
    let proposal = Authored { author: "b", text: "The proposal of b." };
    let critiques = ["a", "c"].map(|author| Authored { author, text: "1. A point." });
    let [mine, other] = ["security", "kiss"].map(|name| Role::built_in(name).unwrap());
    let refine =
        Refine { proposal, critiques: &critiques, own_summary: Some("What b knows."), role: mine.refining() }.render();
    let refine = refine.unwrap();

    let critique =
        Critique { proposal, own_summary: Some("What c knows."), role: other.critiquing() }.render().unwrap();
    let shared = format!("# Proposal of b\n\n{}\n\n", fenced("proposal", proposal.text));
    assert!(refine.starts_with(&shared) && critique.starts_with(&shared));

    let refinement = Some(Authored { author: "b", text: "Better." });
    let round = OwnRound { proposal: Some(proposal), critiques: critiques.to_vec(), refinement };
    let summarize = Summarize { rounds: &[round], own_summary: None, max_length: 100, role: mine.summarizing() };
    let (material, _) = refine.split_once("# Your summary of earlier rounds").unwrap();
    assert!(material.ends_with(&format!("{}\n\n", fenced("critique", critiques[1].text))));
    assert!(summarize.render().unwrap().starts_with(material));
}

#[test]
fn prompts_of_all_phases_begin_with_the_foundation() {
    let entries = [Entry { title: "Proposal of a", text: "x" }];
    let foundation = Foundation { problem: "p", context_dir: None, clarifications: &[] }.render().unwrap();
    let history = History { entries: &entries }.render().unwrap();
    let shared = format!("{foundation}\n\n{history}\n\n");
    for Sample { text, .. } in bare(&Role::built_in("kiss").unwrap()).into_iter().skip(1) {
        assert_eq!(*compose(&foundation, Some(&history), &text), format!("{shared}{text}"));
        assert_eq!(*compose(&foundation, None, &text), format!("{foundation}\n\n{text}"));
    }
}
