//! What a model answers: texts of any length, and JSON in the form that its task asks for.

use rand::RngExt as _;
use rand_chacha::ChaCha12Rng;
use serde_json::{Value, json};

use crate::request::Asked;

const WORDS: [&str; 16] = [
    "audit", "backoff", "batch", "cache", "client", "cursor", "deadline", "gateway", "journal", "lease", "ledger",
    "policy", "queue", "quorum", "replica", "tenant",
];

/// An answer of about that many tokens.
pub(crate) fn answer(asked: &Asked, tokens: u64, random: &mut ChaCha12Rng) -> String {
    let again = asked.is_again();
    match asked.task() {
        "clarify" => json!({"questions": []}).to_string(),
        "score the consensus" | "score the best solution" => {
            json!({"confidence": random.random_range(1..=100)}).to_string()
        }
        "vote" => {
            json!({"choice": label(asked, random), "confidence": 70, "reason": "It is the plainest."}).to_string()
        }
        "poll" => {
            let choice = ["for", "against", "undecided"][random.random_range(0..3)];
            json!({"choice": choice, "confidence": 70, "reason": "It is cheaper."}).to_string()
        }
        "judge the debate" => verdict(asked, random).to_string(),
        "relate the decisions" => relations(asked).to_string(),
        "score the candidates" => scores(asked, random).to_string(),
        "mark the kinds of argument" => {
            let shown = asked.prompt().lines().filter(|line| line.starts_with("## Text ")).count();
            let texts: Vec<Value> = (1..=shown).map(|text| json!({"text": text, "kinds": ["evidence"]})).collect();
            json!({ "texts": texts }).to_string()
        }
        "challenge the agreement" => json!({"claims": [], "points": []}).to_string(),
        "assess" => assessment(asked).to_string(),
        "synthesise" | "write the answer" | "finalise" if again || asked.schema().is_some() => {
            assessment(asked).to_string()
        }
        "synthesise" | "write the answer" => {
            let text = prose(tokens, random);
            format!("## Design\n\n{text}\n\n## Requirements Coverage\n\n- All.\n\n```json\n{}\n```", assessment(asked))
        }
        "critique" => format!("1. [major] {}", prose(tokens, random)),
        "check" if random.random_bool(0.4) => "No objections.".to_owned(),
        "check" => format!("1. [major] Approach: {} Resolved by: a lease.", prose(tokens, random)),
        "review the texts" => {
            let others = labels(asked)
                .into_iter()
                .map(|label| format!("## Text {label}\n\n1. [minor] {}", prose(tokens / 2, random)));
            others.collect::<Vec<_>>().join("\n\n")
        }
        "finalise" => {
            let text = prose(tokens, random);
            format!(
                "## Approach\n\n{text}\n\n## Response to the check\n\n- D1 accepted (Approach): done.\n\n```json\n{}\n```",
                assessment(asked)
            )
        }
        "amend" => {
            let text = prose(tokens, random);
            format!(
                "## Approach\n\n{text}\n\n## Requirements Coverage\n\n- All.\n\n## Response to the check\n\n\
                 - D1 accepted (Approach): done.\n\n{{\"approach\":\"kept\"}}"
            )
        }
        _ => {
            let decision = WORDS[random.random_range(0..4)];
            let text = prose(tokens, random);
            format!("## Approach\n\n{text}\n\n## Requirements Coverage\n\n- All.\n\n## Decisions\n- Keep a {decision}")
        }
    }
}

/// Four bytes to a token.
fn prose(tokens: u64, random: &mut ChaCha12Rng) -> String {
    let bytes = usize::try_from(tokens * 4).unwrap_or(usize::MAX).max(40);
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(WORDS[random.random_range(0..WORDS.len())]);
        text.push_str(if random.random_bool(0.1) { ".\n" } else { " " });
    }
    text
}

fn assessment(asked: &Asked) -> Value {
    let mut assessment = json!({
        "tradeoffs": [], "recommendations": [], "unfulfilledMajorRequirements": [], "openQuestions": [],
        "confidence": 70,
    });
    if asked.prompt().contains("`base`")
        || asked.schema().is_some_and(|schema| schema["properties"]["base"].is_object())
    {
        assessment["base"] = json!("1");
    }
    let points = asked.prompt().contains("\"rulings\"");
    if points {
        assessment["rulings"] = json!([]);
    }
    assessment
}

fn labels(asked: &Asked) -> Vec<&str> {
    asked.prompt().lines().filter_map(|line| line.strip_prefix("## Text ")).collect()
}

fn label(asked: &Asked, random: &mut ChaCha12Rng) -> String {
    let labels = labels(asked);
    labels.get(random.random_range(0..labels.len().max(1))).map_or("1", |label| label).to_owned()
}

fn scores(asked: &Asked, random: &mut ChaCha12Rng) -> Value {
    let rows = labels(asked).into_iter().map(|label| {
        let scores = ["requirements", "soundness", "feasibility", "evidence"];
        let scores = scores.map(|criterion| json!({"criterion": criterion, "score": random.random_range(30..95)}));
        json!({"candidate": label, "scores": scores, "missing": []})
    });
    let rows: Vec<Value> = rows.collect();
    json!({"candidates": rows, "reasoning": "They differ in what they keep."})
}

/// Each decision is like those of the same words.
fn relations(asked: &Asked) -> Value {
    let list = asked.prompt().rsplit("# Decisions").next().unwrap_or_default();
    let list = list.split("# Your task").next().unwrap_or_default();
    let listed = list.lines().filter_map(|line| {
        let (number, words) = line.split_once(". ")?;
        Some((number.trim().parse::<usize>().ok()?, words))
    });
    let listed: Vec<(usize, &str)> = listed.collect();
    let rows = listed.iter().map(|(number, words)| {
        let same = listed.iter().filter(|(other, said)| other != number && said == words);
        let same: Vec<usize> = same.map(|(other, _)| *other).collect();
        json!({"decision": number, "same": same, "opposite": [], "requirement": 0})
    });
    json!({ "decisions": rows.collect::<Vec<_>>() })
}

fn verdict(asked: &Asked, random: &mut ChaCha12Rng) -> Value {
    let prompt = asked.prompt();
    let named = prompt.rsplit("The debaters are ").next().and_then(|rest| rest.split(". ").next()).unwrap_or_default();
    let named = named.replace(" and ", ", ");
    let scores = named.split(", ").map(|debater| {
        json!({"debater": debater.trim_start_matches("Debater ").trim(), "score": random.random_range(30..95)})
    });
    let scores: Vec<Value> = scores.collect();
    let best =
        scores.iter().max_by_key(|row| row["score"].as_u64()).map_or(json!("none"), |row| row["debater"].clone());
    let criteria = ["logic", "evidence", "rebuttal", "clarity"];
    let criteria = criteria.map(|name| json!({"name": name, "assessment": "All were sound."}));
    json!({"scores": scores, "criteria": criteria, "reasoning": "One was answered less.", "winner": best})
}
