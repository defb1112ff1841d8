//! The contents of responses.

use std::collections::BTreeMap;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use dialectic_base::sanitize::escaped_json;

use super::catalogue::{DebateRow, DebateStanding};
use super::problem::ProblemDetails;

/// JSON without control characters.
pub(super) struct Json<T>(pub(super) StatusCode, pub(super) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_string(&self.1) {
            Ok(text) => (self.0, [(header::CONTENT_TYPE, "application/json")], escaped_json(text)).into_response(),
            Err(error) => ProblemDetails::internal(error.to_string()).into_response(),
        }
    }
}

pub(super) fn ok<T: Serialize>(value: T) -> Response {
    Json(StatusCode::OK, value).into_response()
}

/// A page of the list.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DebateListPage {
    /// The debates, newest first.
    pub(super) debates: Vec<DebateRow>,
    /// The total number of matches.
    pub(super) total: usize,
}

/// A debate.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Debate")]
pub(super) struct DebateBody {
    /// The row in the list.
    pub(super) summary: DebateRow,
    /// Open questions.
    pub(super) questions: Vec<QuestionView>,
    /// The side of each agent, if there are sides.
    pub(super) sides: BTreeMap<String, &'static str>,
    /// The number of each agent: of its text, and of the points against it.
    pub(super) numbers: BTreeMap<String, u32>,
    /// The failure, if it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<ProblemDetails>,
    /// Warnings about its files.
    pub(super) warnings: Vec<String>,
    /// The state as in its file: see `docs/record.md`.
    pub(super) state: Value,
}

/// An open question.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OpenQuestion")]
pub(super) struct QuestionView {
    pub(super) agent_id: String,
    pub(super) agent_name: String,
    pub(super) question_id: String,
    pub(super) question: String,
    /// The pass in which it was asked, from 1; absent in older records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pass: Option<u8>,
}

/// The judge's answer to a question about a debate.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FollowUpAnswer {
    /// The answer, in Markdown.
    pub(super) answer: String,
}

/// A recorded debate.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Started {
    /// The id.
    pub(super) id: String,
    /// Whether it runs or waits for a slot.
    pub(super) status: DebateStanding,
    /// Warnings.
    pub(super) warnings: Vec<String>,
}
