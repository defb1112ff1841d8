//! Error objects, in the shapes in which servers send them.

use serde::Deserialize;
use serde_json::Value;

use super::lenient::{Text, tolerant};

/// An error object, reduced to what matters.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) message: Option<String>,
    /// The error's code or, without one, its type.
    pub(super) code: Option<String>,
    pub(super) param: Option<String>,
}

impl Fault {
    /// From the body of a refusal; nothing when it is not JSON or says nothing.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Envelope>(body).ok()?.into_fault()
    }
}

/// The value of an `error` field: an object, or a mere text.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ErrorField {
    Object(ErrorObject),
    Text(String),
}

/// An error object as it is sent: everything may be absent.
#[derive(Deserialize)]
pub(super) struct ErrorObject {
    message: Option<Value>,
    #[serde(default, deserialize_with = "tolerant")]
    code: Option<Text>,
    #[serde(default, rename = "type", deserialize_with = "tolerant")]
    kind: Option<Text>,
    #[serde(default, deserialize_with = "tolerant")]
    param: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    metadata: Option<ErrorMetadata>,
    /// What `FastAPI` calls the message.
    detail: Option<Value>,
}

/// OpenRouter passes on here what the provider behind it said.
#[derive(Deserialize)]
struct ErrorMetadata {
    raw: Option<Value>,
}

impl ErrorField {
    /// Nothing when the field is there but says nothing, as `{}` and `""` do.
    pub(super) fn into_fault(self) -> Option<Fault> {
        match self {
            Self::Text(message) => {
                (!message.trim().is_empty()).then(|| Fault { message: Some(message), ..Fault::default() })
            }
            Self::Object(object) => object.into_fault(),
        }
    }
}

impl ErrorObject {
    fn into_fault(self) -> Option<Fault> {
        let raw = self.metadata.and_then(|metadata| metadata.raw).map(prose);
        let message = self.message.or(self.detail).map(prose).filter(|message| !message.is_empty());
        let message = match (message, raw) {
            (Some(message), Some(raw)) => Some(format!("{message}: {raw}")),
            (message, raw) => message.or(raw),
        };
        let code = self.code.or(self.kind).map(|code| code.0);
        (message.is_some() || code.is_some()).then_some(Fault { message, code, param: self.param })
    }
}

/// The body of a refusal: the error in a field, at the top, or either in a list (Google).
#[derive(Deserialize)]
#[serde(untagged)]
enum Envelope {
    Wrapped { error: ErrorField },
    Bare(ErrorObject),
    List(Vec<Envelope>),
}

impl Envelope {
    fn into_fault(self) -> Option<Fault> {
        match self {
            Self::Wrapped { error } => error.into_fault(),
            Self::Bare(object) => object.into_fault(),
            Self::List(list) => list.into_iter().find_map(Self::into_fault),
        }
    }
}

fn prose(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}
