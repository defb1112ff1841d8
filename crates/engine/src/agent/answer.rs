//! Reads JSON from model output: fenced, surrounded by prose, with braces inside strings.

use serde::de::DeserializeOwned;

use dialectic_base::call::Cut;

use super::mend::whole;
use super::written::object_length;

/// Why an answer could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It contains no JSON object.
    #[error("it contains no JSON object")]
    NoObject,
    /// It was unreadable and cut, which is the usual cause.
    #[error("{error}; the answer was cut {}", cut.how())]
    Cut {
        error: String,
        /// Why the answer was cut off.
        cut: Cut,
    },
    /// It was unreadable, and the second request failed.
    #[error("{error}, and asking again failed: {message}")]
    NoSecondChance {
        error: String,
        /// Why the second request failed.
        message: String,
    },
    /// The judge's answer has no assessment.
    #[error("it has no assessment")]
    NoAssessment,
    /// The judge's answer has no solution.
    #[error("it has no solution")]
    NoSolution,
    /// The object does not match.
    #[error("{message}")]
    Unfit {
        /// The place and the problem.
        message: String,
    },
}

impl AnswerError {
    /// Adds that `cut` may be the cause.
    pub fn of_answer(self, cut: Option<Cut>) -> Self {
        match cut {
            Some(cut) => Self::Cut { error: self.to_string(), cut },
            None => self,
        }
    }
}

/// The error of an object that does not match.
pub(super) fn unfit(message: impl Into<String>) -> AnswerError {
    AnswerError::Unfit { message: message.into() }
}

/// The first JSON object in `text` that is a `T`.
///
/// # Errors
/// No object matches; the message describes the longest one, for a second request.
pub fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, AnswerError> {
    let mut closest: Option<(usize, AnswerError)> = None;
    for candidate in objects(text) {
        let mut deserializer = serde_json::Deserializer::from_str(candidate);
        match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
            Ok(value) => return Ok(value),
            Err(_) if let Some(value) = whole(candidate).and_then(|mended| serde_json::from_str(&mended).ok()) => {
                return Ok(value);
            }
            Err(error) if closest.as_ref().is_none_or(|(length, _)| candidate.len() > *length) => {
                let message = match error.path().to_string() {
                    path if path == "." => error.inner().to_string(),
                    path => format!("`{path}`: {}", error.inner()),
                };
                closest = Some((candidate.len(), unfit(message)));
            }
            Err(_) => {}
        }
    }
    Err(closest.map_or(AnswerError::NoObject, |(_, error)| error))
}

/// Each part of `text` that begins with `{` and may be an object: up to its closing brace or, so that the error can
/// report a cut answer, to the end.
fn objects(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find('{')?;
        let from = &rest[start..];
        let end = object_length(from);
        // The next brace may begin an object even if this one did not.
        rest = if end == from.len() { &from[1..] } else { &from[end..] };
        Some(&from[..end])
    })
    .take(MOST_CANDIDATES)
}

/// Text with more non-matching braces is not JSON; a longer search would take quadratic time.
const MOST_CANDIDATES: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Sampled {
        confidence: f64,
        #[serde(default)]
        text: String,
    }

    fn read(text: &str) -> Result<Sampled, AnswerError> {
        read_json(text)
    }

    #[test]
    fn objects_are_found_in_whatever_surrounds_them() {
        for text in [
            r#"{"confidence": 82}"#,
            "```json\n{\"confidence\": 82}\n```",
            "Sure! Here it is: {\"confidence\": 82} - I hope it helps {really}.",
            "A set {1, 2} first. {\"confidence\": 82}",
            "{broken {\"confidence\": 82}",
            "{confidence: 82, // it's \"high\" }\n}",
            "{/* {1} */ 'confidence': 82, text: 'a \"b\"',}",
        ] {
            assert_eq!(read(text).map(|answer| answer.confidence), Ok(82.0), "{text}");
        }
    }

    #[test]
    fn braces_and_fences_inside_strings_are_text() {
        let text = r#"{"text": "use ```{ \"a\": 1 }``` or }", "confidence": 7}"#;
        assert_eq!(read(text).unwrap().text, "use ```{ \"a\": 1 }``` or }");
    }

    #[test]
    fn what_does_not_fit_says_where() {
        assert_eq!(read("no object here"), Err(AnswerError::NoObject));
        let error = read(r#"{"confidence": "high"}"#).unwrap_err().to_string();
        assert!(error.starts_with("`confidence`: invalid type"), "{error}");
        assert!(read("{confidence: 82, text: 'cut").is_err(), "what was cut is asked for again");
        assert!(read(r#"{"confidence": 8"#).unwrap_err().to_string().contains("EOF"));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC{0,200}|[{}\"\\\\a:,0-9 ]{0,200}") {
            let _ = read(&text);
        }
    }
}
