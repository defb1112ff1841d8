//! Shows a debate's questions as a form to the client's user, and reads the answers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequests, InputResponses, PrimitiveSchemaDefinition, StringSchema,
};
use serde_json::Value;

use crate::status::OpenQuestion;

/// The name of the form among a result's requests.
const FORM: &str = "answers";

/// Answers by the questions' ids; `None` skips.
pub(super) type Answers = BTreeMap<String, Option<String>>;

/// The form with a line for each question.
pub(super) fn form(questions: &[OpenQuestion]) -> ElicitRequestParams {
    let mut message =
        "Language models ask you these questions before their debate. Empty answers skip a question.\n".to_owned();
    let mut properties = BTreeMap::new();
    for OpenQuestion { id, from, question } in questions {
        // Writing to a string cannot fail.
        let _ = write!(message, "\n{id}, from {}: {question}", from.join(", "));
        let schema = StringSchema::new().title(id.clone()).description(question.clone());
        properties.insert(id.clone(), PrimitiveSchemaDefinition::String(schema));
    }
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: ElicitationSchema::new(properties),
    }
}

/// The form as a request in a result.
pub(super) fn requests(questions: &[OpenQuestion]) -> InputRequests {
    [(FORM.to_owned(), InputRequest::Elicitation(ElicitRequest::new(form(questions))))].into()
}

/// The answers in the client's responses.
pub(super) fn answers_in(responses: &InputResponses, questions: &[OpenQuestion]) -> Option<Answers> {
    let result: ElicitResult = serde_json::from_value(responses.get(FORM)?.clone()).ok()?;
    answers(&result, questions)
}

/// Whether the user declined to answer.
pub(super) fn is_declined(responses: &InputResponses) -> bool {
    let result = responses.get(FORM).and_then(|one| serde_json::from_value::<ElicitResult>(one.clone()).ok());
    result.is_some_and(|result| result.action == ElicitationAction::Decline)
}

/// The user's answers; `None` if the user declined.
pub(super) fn answers(result: &ElicitResult, questions: &[OpenQuestion]) -> Option<Answers> {
    if result.action != ElicitationAction::Accept {
        return None;
    }
    let answer = |id: &str| result.content.as_ref()?.get(id).and_then(Value::as_str).map(str::to_owned);
    Some(questions.iter().map(|one| (one.id.clone(), answer(&one.id))).collect())
}
