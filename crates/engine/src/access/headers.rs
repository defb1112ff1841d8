//! Header values with `${NAME}`: the file names credentials, and the environment holds them.

use reqwest::header::{HeaderName, HeaderValue};
use secrecy::SecretString;

use super::environment::Environment;

/// A part of a header's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderPart<'a> {
    Text(&'a str),
    Variable(&'a str),
}

/// The fault of a configured header; never contains its value.
pub fn fault(name: &str, value: &str) -> Option<String> {
    if HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Some("is not a valid header name".to_owned());
    }
    let Some(pieces) = pieces(value) else {
        return Some("has a `${` without the name of an environment variable and `}`".to_owned());
    };
    let has_variable = pieces.iter().any(|piece| matches!(piece, HeaderPart::Variable(_)));
    if !has_variable && (names_a_secret(name) || looks_like_a_secret(value)) {
        return Some("contains a secret: put it into the environment and write `${NAME}` here".to_owned());
    }
    HeaderValue::from_str(value).is_err().then(|| "contains characters that a header does not allow".to_owned())
}

/// The environment variables that a value refers to.
pub(super) fn variables(value: &str) -> Vec<&str> {
    let named = pieces(value).into_iter().flatten().filter_map(|piece| match piece {
        HeaderPart::Variable(name) => Some(name),
        HeaderPart::Text(_) => None,
    });
    named.collect()
}

/// The value with its variables expanded; the error is the first unset variable.
pub(super) fn expand(value: &str, environment: &Environment) -> Result<SecretString, String> {
    let Some(pieces) = pieces(value) else { return Ok(SecretString::from(value)) };
    let mut expanded = String::new();
    for piece in pieces {
        match piece {
            HeaderPart::Text(text) => expanded.push_str(text),
            HeaderPart::Variable(name) => expanded.push_str(environment.get(name).ok_or_else(|| name.to_owned())?),
        }
    }
    Ok(SecretString::from(expanded))
}

/// Whether a text is a valid name of an environment variable.
pub fn is_variable_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Splits a value; `None` if a `${` is not followed by a name and `}`.
fn pieces(value: &str) -> Option<Vec<HeaderPart<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, following) = after.split_once('}')?;
        if !is_variable_name(name) {
            return None;
        }
        pieces.extend([HeaderPart::Text(before), HeaderPart::Variable(name)]);
        rest = following;
    }
    pieces.push(HeaderPart::Text(rest));
    Some(pieces)
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    ["authorization", "api-key", "apikey", "token", "cookie", "secret", "password", "credential"]
        .iter()
        .any(|part| name.contains(part))
}

fn looks_like_a_secret(value: &str) -> bool {
    let value = value.trim().to_ascii_lowercase();
    ["bearer ", "basic ", "sk-"].iter().any(|start| value.starts_with(start))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn variables_are_found_and_expanded() {
        let environment = Environment::from_pairs([("A", "1"), ("B_2", "two")]);
        assert_eq!(variables("x ${A} y ${B_2}"), ["A", "B_2"]);
        assert_eq!(expand("x ${A} y ${B_2}$", &environment).unwrap().expose_secret(), "x 1 y two$");
        assert_eq!(expand("${NO}", &environment).unwrap_err(), "NO");
    }

    #[test]
    fn an_expanded_value_is_not_expanded_again() {
        let environment = Environment::from_pairs([("A", "${B}"), ("B", "no")]);
        assert_eq!(expand("${A}", &environment).unwrap().expose_secret(), "${B}");
    }

    #[test]
    fn literal_secrets_are_refused_without_being_quoted() {
        for (name, value) in [
            ("Authorization", "abc123"),
            ("X-API-Key", "abc123"),
            ("x_auth_token", "abc123"),
            ("Cookie", "abc123"),
            ("X-Plain", "Bearer abc123"),
            ("X-Plain", "sk-abc123"),
        ] {
            let fault = fault(name, value).unwrap();
            assert!(fault.contains("${NAME}") && !fault.contains("abc123"), "{name}: {fault}");
        }
        assert_eq!(fault("Authorization", "Bearer ${KEY}"), None);
        assert_eq!(fault("X-Title", "my team"), None);
    }

    #[test]
    fn malformed_headers_are_refused() {
        for (name, value) in [("X Y", "a"), ("", "a"), ("X", "${"), ("X", "${1}"), ("X", "${A"), ("X", "a\nb")] {
            assert!(fault(name, value).is_some(), "{name:?}: {value:?}");
        }
    }
}
