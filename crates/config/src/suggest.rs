//! Suggests names for a misspelled one.

/// Names below this score are not similar.
const SIMILAR: f64 = 0.6;

/// The candidate most similar to `name`, ignoring case and separators; `None` if none is close.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = plain(name);
    candidates
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&wanted, &plain(candidate)), candidate))
        .filter(|(likeness, _)| *likeness >= SIMILAR)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, candidate)| candidate)
}

/// `(did you mean …?)`, or the list of candidates.
pub fn suggestion<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(candidate) = nearest(name, candidates.clone()) {
        return format!("(did you mean `{candidate}`?)");
    }
    let known = list(candidates);
    if known.is_empty() { String::new() } else { format!("(known: {known})") }
}

/// The names in backquotes, separated by commas.
pub(super) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_letter_case_and_separator_are_recognised() {
        let keys = ["temperature", "toolCallLimit", "tools"];
        assert_eq!(nearest("temprature", keys), Some("temperature"));
        assert_eq!(nearest("tool_call_limit", keys), Some("toolCallLimit"));
        assert_eq!(nearest("TOOLS", keys), Some("tools"));
        assert_eq!(nearest("banana", keys), None);
        assert_eq!(suggestion("banana", ["a", "b"]), "(known: `a`, `b`)");
    }
}
