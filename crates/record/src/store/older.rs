//! Reads state files of the TypeScript version and of other programs leniently: a state that cannot be read is
//! converted to the current form, as JSON, and read again. Only known deviations are repaired; other errors remain, and
//! current files are never converted.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::debate::{Debate, Status};
use crate::ids::{AgentId, StageId, Timestamp};
use crate::protocol::{PROTOCOLS, upgrade_state};

type Object = Map<String, Value>;

/// Metadata keys whose values are whole numbers.
const COUNTS: &[&str] = &[
    "tokensUsed",
    "latencyMs",
    "inputTokens",
    "cachedInputTokens",
    "outputTokens",
    "attempts",
    "toolCallIterations",
    "beforeChars",
    "afterChars",
];

/// Metadata keys whose values are strings.
const TEXTS: &[&str] = &["model", "servedModel", "provider", "method"];

/// Solution keys whose values are lists of strings.
const LISTS: &[&str] = &["tradeoffs", "recommendations", "unfulfilledMajorRequirements", "openQuestions"];

pub(super) fn mend(state: &mut Value) {
    drop_nulls(state);
    let Some(state) = state.as_object_mut() else { return };
    if let Some(id) = state.get_mut("id").filter(|id| id.is_number()) {
        *id = json!(id.to_string());
    }
    mend_status(state);
    for key in ["createdAt", "updatedAt", "suspendedAt"] {
        mend_with(state, key, time);
    }
    for key in ["currentRound", "clarificationIterations"] {
        mend_with(state, key, count);
    }
    mend_with(state, "userFeedback", number);
    for (round, place) in objects(state.get_mut("rounds")).zip(1..) {
        mend_round(round, place);
    }
    let mut asked = 0;
    for group in objects(state.get_mut("clarifications")) {
        mend_author(group, "role", 0);
        let name = group.get("agentId").cloned().unwrap_or_default();
        group.entry("agentName").or_insert(name);
        group.entry("items").or_insert(json!([]));
        for item in objects(group.get_mut("items")) {
            asked += 1;
            mend_with(item, "id", text);
            item.entry("id").or_insert(json!(format!("q{asked}")));
            item.entry("question").or_insert(json!(""));
        }
    }
    state.get_mut("finalSolution").and_then(Value::as_object_mut).into_iter().for_each(mend_solution);
    state.get_mut("judgeSummary").and_then(Value::as_object_mut).into_iter().for_each(|summary| {
        mend_author(summary, "agentRole", 0);
        mend_metadata(summary);
    });
}

/// Removes all object keys whose value is `null`, at any depth.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.retain(|_, value| !value.is_null());
            entries.values_mut().for_each(drop_nulls);
        }
        Value::Array(elements) => elements.iter_mut().for_each(drop_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn mend_status(state: &mut Object) {
    let Some(written) = state.get("status") else { return };
    let lower = written.as_str().unwrap_or_default().trim().to_lowercase();
    let known = serde_json::from_value::<Status>(json!(lower)).ok();
    let status = known.unwrap_or(match (state.contains_key("finalSolution"), state.contains_key("suspendedAtNode")) {
        (true, _) => Status::Completed,
        (false, true) => Status::Paused,
        (false, false) => Status::Pending,
    });
    state.insert("status".to_owned(), json!(status));
}

fn mend_round(round: &mut Object, place: usize) {
    mend_with(round, "roundNumber", count);
    round.entry("roundNumber").or_insert(json!(place));
    mend_with(round, "timestamp", time);
    mend_with(round, "timedOut", |value| value.is_boolean().then(|| value.clone()));
    round.entry("contributions").or_insert(json!([]));
    for (contribution, place) in objects(round.get_mut("contributions")).zip(1..) {
        mend_author(contribution, "agentRole", place);
        mend_with(contribution, "targetAgentId", text);
        contribution.entry("content").or_insert(json!(""));
        mend_metadata(contribution);
    }
    let summaries = round.get_mut("summaries").and_then(Value::as_object_mut);
    for (id, summary) in summaries.into_iter().flatten() {
        if let Some(summary) = summary.as_object_mut() {
            summary.entry("agentId").or_insert(json!(id));
            mend_author(summary, "agentRole", 0);
            summary.entry("summary").or_insert(json!(""));
            mend_metadata(summary);
        }
    }
    if let Some(evaluation) = round.get_mut("evaluation").and_then(Value::as_object_mut) {
        mend_with(evaluation, "score", number);
        mend_with(evaluation, "threshold", number);
    }
}

/// If the id is missing, sets it to the role, or else to `unknown-` and the index (only `unknown` for index 0). If the
/// role is missing, sets it to the id.
fn mend_author(object: &mut Object, role: &str, place: usize) {
    mend_with(object, "agentId", text);
    mend_with(object, role, text);
    let unknown = || if place == 0 { json!("unknown") } else { json!(format!("unknown-{place}")) };
    let known = object.get("agentId").or_else(|| object.get(role)).cloned();
    let id = known.unwrap_or_else(unknown);
    object.entry("agentId").or_insert_with(|| json!(AgentId::new(id.as_str().unwrap_or_default())));
    object.entry(role).or_insert(id);
}

fn mend_metadata(object: &mut Object) {
    mend_with(object, "metadata", |metadata| metadata.is_object().then(|| metadata.clone()));
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    for key in COUNTS {
        mend_with(metadata, key, count);
    }
    for key in TEXTS {
        mend_with(metadata, key, text);
    }
    mend_with(metadata, "timestamp", time);
    for key in ["temperature", "confidence"] {
        mend_with(metadata, key, number);
    }
}

fn mend_solution(solution: &mut Object) {
    for key in LISTS {
        mend_with(solution, key, |list| match list {
            Value::Array(points) => Some(points.iter().filter_map(text).collect()),
            single => Some(json!([text(single)?])),
        });
    }
    mend_with(solution, "confidence", number);
    for key in ["implementation", "synthesizedBy", "description"] {
        mend_with(solution, key, text);
    }
    let description = solution.get("implementation").cloned().unwrap_or(json!(""));
    solution.entry("description").or_insert(description);
}

fn mend_with(object: &mut Object, key: &str, mended: impl Fn(&Value) -> Option<Value>) {
    match object.get(key).map(mended) {
        Some(Some(value)) => drop(object.insert(key.to_owned(), value)),
        Some(None) => drop(object.remove(key)),
        None => {}
    }
}

pub(super) fn complete(debate: &mut Debate) {
    let is_old = debate.stages.is_empty();
    upgrade_state(debate);
    if is_old {
        debate.current_stage = debate.current_stage.and_then(stage);
        debate.suspended_at_stage = debate.suspended_at_stage.and_then(stage);
        for one in debate.rounds.iter_mut().flat_map(|round| &mut round.contributions) {
            if let Some(known) = stage(one.stage).filter(|known| *known != one.stage) {
                Arc::make_mut(one).stage = known;
            }
        }
    }
}

/// Converts `clarification_input` and `ClarificationInput` to `clarification-input`. Returns `None` if no protocol has
/// the stage.
fn stage(written: StageId) -> Option<StageId> {
    let mut name = String::new();
    for c in written.as_str().trim().chars() {
        if c.is_ascii_uppercase() && name.ends_with(|before: char| before.is_ascii_lowercase()) {
            name.push('-');
        }
        name.push(if matches!(c, '_' | ' ') { '-' } else { c.to_ascii_lowercase() });
    }
    let name = name.trim_end_matches("-node");
    let mut stages = PROTOCOLS.iter().flat_map(|protocol| protocol.stages);
    stages.find(|stage| stage.info.id.as_str() == name).map(|stage| stage.info.id)
}

/// Accepts numbers and numeric strings, with or without a percent sign: `80%` becomes 80. Returns `None` for other
/// values.
fn number(value: &Value) -> Option<Value> {
    let number = value.as_f64().or_else(|| value.as_str()?.trim().trim_end_matches('%').parse().ok());
    number.filter(|number| number.is_finite()).map(|number| json!(number))
}

/// Rounds to a whole number. Returns `None` for negative numbers, implausibly large ones, and values that are not
/// numbers.
fn count(value: &Value) -> Option<Value> {
    let number = number(value)?.as_f64()?.round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a whole number in these bounds")]
    (0.0..=f64::from(u32::MAX)).contains(&number).then(|| json!(number as u32))
}

fn text(value: &Value) -> Option<Value> {
    match value {
        Value::String(_) => Some(value.clone()),
        Value::Number(number) => Some(json!(number.to_string())),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Converts milliseconds since 1970 to a timestamp, and keeps valid timestamps. Returns `None` for other values.
fn time(value: &Value) -> Option<Value> {
    let of_millis = || chrono::DateTime::from_timestamp_millis(value.as_i64()?).map(Timestamp::from);
    let time = serde_json::from_value(value.clone()).ok().or_else(of_millis)?;
    Some(json!(time))
}

fn objects(list: Option<&mut Value>) -> impl Iterator<Item = &mut Object> {
    list.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debate::Debate;

    fn read(mut state: Value) -> Result<Debate, serde_json::Error> {
        mend(&mut state);
        let mut debate = serde_json::from_value(state)?;
        complete(&mut debate);
        Ok(debate)
    }

    fn with(more: Value) -> Result<Debate, serde_json::Error> {
        let mut state = json!({"id": "d", "problem": "p", "status": "completed", "rounds": []});
        let Value::Object(more) = more else { panic!("an object") };
        state.as_object_mut().unwrap().extend(more);
        read(state)
    }

    #[test]
    fn nodes_are_known_in_every_spelling() {
        for name in ["clarification-input", "clarification_input", "ClarificationInput", "clarificationInputNode"] {
            let debate = with(json!({"suspendedAtNode": name})).unwrap();
            let stage = debate.suspended_at_stage.map(StageId::as_str);
            assert_eq!(stage, Some("clarification-input"), "{name}");
        }
        assert_eq!(with(json!({"suspendedAtNode": "nowhere"})).unwrap().suspended_at_stage, None);
    }

    #[test]
    fn an_unknown_status_is_what_the_rest_says() {
        for (more, status) in [
            (json!({"status": "archived", "finalSolution": {"description": "d"}}), Status::Completed),
            (json!({"status": "waiting", "suspendedAtNode": "clarification_input"}), Status::Paused),
            (json!({"status": "queued"}), Status::Pending),
            (json!({"status": "Completed"}), Status::Completed),
            (json!({"status": 3}), Status::Pending),
        ] {
            assert_eq!(with(more.clone()).unwrap().status, status, "{more}");
        }
    }

    #[test]
    fn odd_numbers_are_read_as_far_as_they_are_numbers() {
        let metadata =
            json!({"latencyMs": 812.6, "tokensUsed": "120", "attempts": -1, "model": 4, "timestamp": "soon"});
        let contribution = json!({"agentRole": "kiss", "type": "Proposal", "content": "c", "metadata": metadata});
        let debate = with(json!({
            "currentRound": 1.0, "userFeedback": "none", "createdAt": 1_735_693_323_000_i64, "updatedAt": "yesterday",
            "rounds": [{"contributions": [contribution, {"type": "critique", "metadata": null}], "timestamp": null}],
        }))
        .unwrap();
        let round = &debate.rounds[0];
        let [proposal, critique] = round.contributions.as_slice() else { panic!("two contributions") };
        assert_eq!((round.round_number, debate.current_round), (1, 1));
        assert_eq!((proposal.metadata.latency_ms, proposal.metadata.tokens_used), (Some(813), Some(120)));
        assert_eq!((proposal.metadata.attempts, proposal.metadata.model.as_deref()), (None, Some("4")));
        assert_eq!((proposal.agent_id.as_str(), &*proposal.agent_role), ("kiss", "kiss"));
        assert_eq!((critique.agent_id.as_str(), &*critique.content), ("unknown-2", ""));
        assert_eq!(debate.created_at.unwrap().to_string(), "2025-01-01T01:02:03.000Z");
        assert_eq!((debate.updated_at, debate.user_feedback), (None, None));
    }

    #[test]
    fn a_solution_is_read_for_what_it_says() {
        let solution = json!({"implementation": "i", "tradeoffs": null, "recommendations": "one", "confidence": "82%"});
        let solution = with(json!({"finalSolution": solution})).unwrap().final_solution.unwrap();
        assert_eq!((solution.description.as_str(), solution.confidence), ("i", Some(82.0)));
        assert_eq!((solution.tradeoffs.len(), solution.recommendations), (0, vec!["one".to_owned()]));
    }

    #[test]
    fn what_a_debate_cannot_do_without_is_missed() {
        for key in ["id", "problem", "status", "rounds"] {
            let mut state = json!({"id": 7, "problem": "p", "status": "completed", "rounds": []});
            assert!(read(state.clone()).is_ok());
            state.as_object_mut().unwrap().remove(key);
            let error = read(state).unwrap_err().to_string();
            assert!(error.contains(&format!("missing field `{key}`")), "{error}");
        }
    }

    #[test]
    fn a_contribution_of_an_unknown_stage_is_kept_under_its_name() {
        for (written, known) in [("Proposal", "proposal"), ("sermon", "sermon")] {
            let debate = with(json!({"rounds": [{"contributions": [{"type": written}]}]})).unwrap();
            assert_eq!(debate.rounds[0].contributions[0].stage.as_str(), known);
        }
    }
}
