//! Whole debates by hand.

use std::sync::Arc;

use futures_util::FutureExt;
use proptest::prelude::*;
use serde_json::Value;

use crate::debate::AgentId;
use crate::llm::{Brief, Material, MaterialKind, Timeouts};

use super::*;

const RATE_LIMITING: &str = "Design a rate limiting system";
const ROLES: [&str; 3] = ["architect", "performance", "kiss"];

/// Nobody listens.
struct Deaf;

impl Listener for Deaf {
    fn on_token(&self, _: &str) {}
}

async fn asked(model: &Rehearsal, request: &Request) -> Result<Reply, FailedAttempt> {
    let timeouts = Timeouts { first_token: Duration::from_secs(9), idle: Duration::from_secs(1) };
    model.ask(request, Live { listener: &Deaf, timeouts, attempt: 1 }).await
}

struct Table {
    model: Rehearsal,
    problem: Arc<str>,
    clarifications: Arc<[(String, String)]>,
    roles: Vec<&'static str>,
}

/// What a debate left behind.
struct Record {
    proposals: Vec<Vec<String>>,
    critiques: Vec<Vec<Material>>,
    refinements: Vec<Vec<String>>,
    scores: Vec<u64>,
    solution: Value,
}

impl Table {
    fn new(problem: &str, roles: &[&'static str]) -> Self {
        Self {
            model: Rehearsal::default(),
            problem: problem.into(),
            clarifications: Arc::new([]),
            roles: roles.to_vec(),
        }
    }

    fn id(role: &str) -> AgentId {
        AgentId::new(format!("agent-{role}"))
    }

    fn material(role: &str, kind: MaterialKind, text: &str) -> Material {
        Material { author: Self::id(role), role: role.into(), kind, text: text.into() }
    }

    fn request(&self, round: u32, phase: Phase, role: &str, target: Option<&str>, material: Vec<Material>) -> Request {
        Request {
            brief: Brief {
                key: CallKey { round, phase, agent_id: Self::id(role), target_agent_id: target.map(Self::id) },
                role: role.into(),
                problem: Arc::clone(&self.problem),
                clarifications: Arc::clone(&self.clarifications),
                material,
            },
            model: MODEL.into(),
            temperature: 0.5,
            max_tokens: None,
            system: "".into(),
            prompt: "".into(),
            turns: Vec::new(),
            answer: None,
            tools: Arc::new([]),
        }
    }

    fn ask(&self, round: u32, phase: Phase, role: &str, target: Option<&str>, material: Vec<Material>) -> String {
        let request = self.request(round, phase, role, target, material);
        asked(&self.model, &request).now_or_never().unwrap().unwrap().text
    }

    fn debate(&self, rounds: u32) -> Record {
        let roles = self.roles.clone();
        let mut record = Record {
            proposals: Vec::new(),
            critiques: Vec::new(),
            refinements: Vec::new(),
            scores: Vec::new(),
            solution: Value::Null,
        };
        for round in 1..=rounds {
            let proposals = match record.refinements.last() {
                Some(refinements) => refinements.clone(),
                None => roles.iter().map(|role| self.ask(round, Phase::Proposal, role, None, vec![])).collect(),
            };
            let mut refinements = Vec::new();
            let mut all_critiques = Vec::new();
            for (target, proposal) in roles.iter().zip(&proposals) {
                let own = Self::material(target, MaterialKind::Proposal, proposal);
                let critiques: Vec<Material> = roles
                    .iter()
                    .filter(|critic| critic != &target)
                    .map(|critic| {
                        let text = self.ask(round, Phase::Critique, critic, Some(target), vec![own.clone()]);
                        Self::material(critic, MaterialKind::Critique, &text)
                    })
                    .collect();
                let material = std::iter::once(own).chain(critiques.iter().cloned()).collect();
                refinements.push(self.ask(round, Phase::Refinement, target, None, material));
                all_critiques.extend(critiques);
            }
            let evaluation = self.ask(round, Phase::Evaluation, "generalist", None, self.labelled(&refinements));
            let evaluation: Value = serde_json::from_str(&evaluation).unwrap();
            record.scores.push(evaluation["confidence"].as_u64().unwrap());
            record.proposals.push(proposals);
            record.critiques.push(all_critiques);
            record.refinements.push(refinements);
        }
        let last = self.labelled(record.refinements.last().unwrap());
        record.solution = taken_apart(&self.ask(rounds, Phase::Synthesis, "generalist", None, last));
        record
    }

    /// Refinements as a judge gets them: without names and roles.
    fn labelled(&self, refinements: &[String]) -> Vec<Material> {
        let labels = (0..self.roles.len()).map(crate::markdown::letters);
        labels
            .zip(refinements)
            .map(|(label, text)| Material {
                author: AgentId::new(label),
                role: "".into(),
                kind: MaterialKind::Refinement,
                text: text.as_str().into(),
            })
            .collect()
    }
}

/// A judge's answer as one value: its assessment, and the solution before it.
fn taken_apart(answer: &str) -> Value {
    let (solution, block) = answer.rsplit_once("```json\n").unwrap();
    let mut value: Value = serde_json::from_str(block.strip_suffix("\n```").unwrap()).unwrap();
    value["solution"] = solution.into();
    value
}

fn points_of(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("- **")).count()
}

#[test]
fn a_debate_grows_is_answered_and_rises() {
    for problem in [
        RATE_LIMITING,
        "Design an online shop. It must take payments. It should be cheap.",
        "Something entirely without words that rules know",
    ] {
        let record = Table::new(problem, &ROLES).debate(3);
        for round in 0..3 {
            for (agent, refinement) in record.refinements[round].iter().enumerate() {
                let proposal = &record.proposals[round][agent];
                assert!(points_of(refinement) > points_of(proposal), "{problem}: round {round} adds nothing");
                assert_eq!(refinement.matches("## Answers to the critiques").count(), 1);
                assert_eq!(refinement.matches("## Requirements Coverage").count(), 1);
                assert_eq!(refinement.matches("no model was called").count(), 1);
                for critique in record.critiques[round].iter().skip(agent * 2).take(2) {
                    let raised = document::points(&critique.text);
                    assert!(!raised.is_empty() && raised.len() <= 2);
                    let answers = refinement.split("## Answers to the critiques").nth(1).unwrap();
                    for point in raised {
                        let answer = answers.lines().find(|line| line.contains(&format!(" **{}.**", point.title)));
                        let answer = answer.unwrap_or_else(|| panic!("{} is not answered", point.title));
                        assert!(answer.contains("Accepted") || answer.contains("Rejected"), "{answer}");
                    }
                }
            }
        }
        assert!(record.scores.windows(2).all(|pair| pair[0] < pair[1]), "{problem}: {:?}", record.scores);
    }
}

#[test]
fn the_answer_is_about_the_problem() {
    let record = Table::new(RATE_LIMITING, &ROLES).debate(3);
    let solution = record.solution["solution"].as_str().unwrap();
    for part in ["the rate limiting system", "token bucket", "rate limit", "## Design", "## Requirements Coverage"] {
        assert!(solution.contains(part), "{part} is missing in\n{solution}");
    }
    assert!(!solution.contains(['{', '}']));
    for list in ["tradeoffs", "recommendations", "openQuestions"] {
        assert!(!record.solution[list].as_array().unwrap().is_empty(), "{list}");
    }
    assert!(record.solution["unfulfilledMajorRequirements"].as_array().unwrap().is_empty());
    assert!(record.solution["confidence"].as_u64().unwrap() > 40);
    let all: String = record.refinements.concat().concat();
    assert!(all.matches("the rate limiting system").count() > 20);
    assert!(!all.contains(['{', '}']));
}

#[test]
fn a_requirement_that_nobody_answers_is_reported_and_costs_confidence() {
    let table =
        Table::new("Design a chat app. It must deliver messages in 200 ms. It must play zither melodies.", &ROLES);
    let record = table.debate(2);
    assert_eq!(record.solution["unfulfilledMajorRequirements"], serde_json::json!(["It must play zither melodies."]));
    assert!(record.solution["confidence"].as_u64().unwrap() <= 40);
    assert!(record.proposals[0][0].contains("R2 (major), “It must play zither melodies.”: not addressed yet."));
    assert!(record.critiques[0][0].text.contains("nothing in the design answers R"));
    assert!(record.refinements[1][1].contains("“It must deliver messages in 200 ms.”: Latency budget by hop"));
}

#[test]
fn twins_are_rejected_with_the_reason_and_raised_only_once() {
    let table = Table::new("Design a checkout with card payments", &["kiss", "security"]);
    let record = table.debate(3);
    let reason = "Rejected: **Hosted payment page** already covers it";
    assert!(record.refinements[0][0].contains(reason), "{}", record.refinements[0][0]);
    assert!(record.refinements[0][0].contains("Also answers **Card data kept out of reach**."));
    assert!(!record.refinements[1][0].contains(reason));
}

#[test]
fn a_satisfied_critic_says_what_convinced() {
    let record = Table::new(RATE_LIMITING, &ROLES).debate(8);
    let last = &record.critiques[7][0].text;
    assert!(last.contains("Nothing further from a performance engineer. What convinced: **"), "{last}");
    assert!(record.refinements[7][0].contains("It makes no numbered point"));
    assert_eq!(points_of(&record.refinements[7][0]), points_of(&record.refinements[6][0]));
}

#[test]
fn the_same_input_gives_the_same_output() {
    let once = Table::new(RATE_LIMITING, &ROLES).debate(2);
    let again = Table::new(RATE_LIMITING, &ROLES).debate(2);
    assert_eq!(once.refinements, again.refinements);
    assert_eq!(once.solution, again.solution);
}

#[test]
fn votes_name_a_candidate_and_follow_coverage() {
    let table = Table::new(RATE_LIMITING, &ROLES);
    let record = table.debate(1);
    let mut candidates = table.labelled(&record.refinements[0]);
    candidates[1].text = "Nothing that any checklist knows.".into();
    for role in ["architect", "security", "poet"] {
        let vote: Value = serde_json::from_str(&table.ask(1, Phase::Vote, role, None, candidates.clone())).unwrap();
        assert!(["A", "C"].contains(&vote["choice"].as_str().unwrap()), "{vote}");
        assert!((1..=100).contains(&vote["confidence"].as_u64().unwrap()));
        assert!(vote["reason"].as_str().unwrap().contains("the rate limiting system"));
    }
    // The order in which the candidates are shown decides nothing.
    let straight = table.ask(1, Phase::Vote, "architect", None, candidates.clone());
    candidates.reverse();
    assert_eq!(table.ask(1, Phase::Vote, "architect", None, candidates), straight);
}

#[test]
fn ties_are_broken_by_the_seed_alone() {
    let mut table = Table::new(RATE_LIMITING, &ROLES);
    let texts = ["no known point", "none here either"].map(str::to_owned);
    let candidates = table.labelled(&texts);
    let mut choices = std::collections::BTreeSet::new();
    for seed in 0..20 {
        table.model = Rehearsal::new(RehearsalOptions { seed, ..RehearsalOptions::default() });
        choices.insert(table.ask(1, Phase::Vote, "kiss", None, candidates.clone()));
    }
    assert_eq!(choices.len(), 2);
}

#[test]
fn questions_are_asked_once() {
    let mut table = Table::new(RATE_LIMITING, &ROLES);
    let ask = |table: &Table| -> Vec<String> {
        let answer: Value =
            serde_json::from_str(&table.ask(0, Phase::Clarification, "architect", None, vec![])).unwrap();
        answer["questions"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap().to_owned()).collect()
    };
    let first = ask(&table);
    assert_eq!(first.len(), 2);
    table.clarifications = Arc::new([(first[0].clone(), "The tenant".to_owned())]);
    assert_eq!(ask(&table), first[1..]);
    table.clarifications = first.iter().map(|question| (question.clone(), "NA".to_owned())).collect();
    assert_eq!(ask(&table), Vec::<String>::new());
}

#[test]
fn answered_questions_are_no_longer_open() {
    let mut table = Table::new(RATE_LIMITING, &ROLES);
    let open = |table: &Table| table.debate(1).solution["openQuestions"].as_array().unwrap().clone();
    let question = open(&table)[0].as_str().unwrap().to_owned();
    table.clarifications = Arc::new([(question.clone(), "By tenant".to_owned())]);
    assert!(!open(&table).contains(&Value::from(question.as_str())));
    table.clarifications = Arc::new([(question.clone(), "NA".to_owned())]);
    assert!(open(&table).contains(&Value::from(question)));
}

#[test]
fn summaries_are_short_and_can_be_judged() {
    let table = Table::new(RATE_LIMITING, &ROLES);
    let record = table.debate(3);
    let mut material: Vec<Material> = record.critiques[2].clone();
    material.push(Table::material("kiss", MaterialKind::Refinement, &record.refinements[2][2]));
    let own = table.ask(4, Phase::Summarization, "kiss", None, material);
    assert!(own.contains("Own points kept: **Limits in the gateway we have**") && own.len() < 1500, "{own}");
    let labelled = table.labelled(&record.refinements[2]);
    let summary = table.ask(3, Phase::JudgeSummary, "generalist", None, labelled);
    let material = vec![Table::material("judge", MaterialKind::Summary, &summary)];
    let solution: Value = taken_apart(&table.ask(3, Phase::Synthesis, "generalist", None, material));
    let points = |solution: &Value| points_of(solution["solution"].as_str().unwrap());
    assert_eq!(points(&solution), points(&record.solution));
}

#[test]
fn texts_of_real_models_are_worked_with() {
    let table = Table::new(RATE_LIMITING, &ROLES);
    let own = Table::material(
        "architect",
        MaterialKind::Proposal,
        "# Mine\n\nA gateway counts.\n\n## Requirements Coverage\n\n- all",
    );
    let critique = Table::material(
        "performance",
        MaterialKind::Critique,
        "1. Clock skew: two zones differ.\n2. **Cold start**: slow",
    );
    let refinement = table.ask(1, Phase::Refinement, "architect", None, vec![own, critique]);
    assert!(refinement.starts_with("# Mine\n\nA gateway counts.\n\n## Design\n\n- **Clock skew.**"), "{refinement}");
    assert!(refinement.contains("2. **Cold start.** Accepted as it stands"));
    assert_eq!(refinement.matches("## Requirements Coverage").count(), 1);
    let solution =
        table.ask(1, Phase::Synthesis, "judge", None, table.labelled(&["Prose of a model.".to_owned(), refinement]));
    assert!(solution.contains("Agent A: Prose of a model.") && solution.contains("**Cold start.**"), "{solution}");
}

#[tokio::test(start_paused = true)]
async fn latency_and_failures_are_as_asked() {
    let table = Table::new(RATE_LIMITING, &ROLES);
    let request = table.request(1, Phase::Proposal, "kiss", None, vec![]);
    let latency = Duration::from_millis(200);
    let model = Rehearsal::new(RehearsalOptions { latency, fail_every: NonZeroU32::new(2), seed: 7 });
    let mut took = Vec::new();
    for number in 1..=4 {
        let start = tokio::time::Instant::now();
        let reply = asked(&model, &request).await;
        took.push(start.elapsed());
        match reply {
            Ok(reply) => {
                assert_eq!(number % 2, 1);
                assert_eq!((reply.served_model.as_deref(), reply.stated_cost), (Some(MODEL), Some(Usd::ZERO)));
                assert_eq!(reply.tokens, Some(Tokens::default()));
            }
            Err(FailedAttempt { error, .. }) => assert!(number % 2 == 0 && error.is_transient(), "{error}"),
        }
    }
    assert!(took.iter().all(|one| *one == took[0] && (100..=301).contains(&one.as_millis())), "{took:?}");
}

#[test]
fn large_and_strange_problems_are_answered() {
    let large = "It must do x, y and {subject} — ünïcödé 🦀. ".repeat(2200);
    for problem in ["", "\n\n", "...", "{subject}", "Design {{subject}} {% raw %}", "**", "- ", "1. ", &large] {
        let record = Table::new(problem, &ROLES[..2]).debate(1);
        assert!(record.solution["solution"].as_str().unwrap().contains("## Design"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_text_makes_it_panic(problem in "\\PC{0,300}", text in "(\\PC|\n|\\*\\*|## |- |1\\. |```){0,60}") {
        let table = Table::new(&problem, &ROLES);
        let phases = [
            Phase::Clarification, Phase::Summarization, Phase::Proposal, Phase::Critique, Phase::Refinement,
            Phase::Evaluation, Phase::Vote, Phase::JudgeSummary, Phase::Synthesis,
        ];
        for kind in [MaterialKind::Proposal, MaterialKind::Critique, MaterialKind::Refinement, MaterialKind::Summary] {
            let material = vec![
                Table::material("kiss", MaterialKind::Proposal, &text),
                Table::material("architect", kind, &text),
            ];
            for phase in phases {
                prop_assert!(!table.ask(1, phase, "kiss", Some("architect"), material.clone()).is_empty());
            }
        }
    }
}
