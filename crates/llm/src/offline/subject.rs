//! The subject of a problem as a noun phrase that sentences can be built around.
//!
//! English only, and crude: where nothing can be made out, the subject is [`NO_SUBJECT`], which is always right.

use super::words::known;

/// What a problem without a readable subject is about.
pub(super) const NO_SUBJECT: &str = "this system";
/// Fragments of a problem in which a subject is looked for.
const FRAGMENTS: usize = 40;
/// A subject has at most so many words, of so many bytes.
const SUBJECT_WORDS: usize = 8;
const LONGEST: usize = 40;

/// The problem's subject as a definite noun phrase. Never empty.
pub(super) fn subject(problem: &str) -> String {
    let ends = ['.', ',', ';', ':', '?', '!', '\n', '(', ')', '—', '–', '"', '“', '”'];
    let fragments: Vec<Vec<&str>> = problem.split(ends).map(words).take(FRAGMENTS).collect();
    let commanded = fragments.iter().find_map(|words| commanded(words));
    commanded.or_else(|| fragments.iter().find_map(|words| named(words))).unwrap_or_else(|| NO_SUBJECT.to_owned())
}

/// A subject without what follows its head.
pub(super) fn head(subject: &str) -> &str {
    let ends = [" for ", " in ", " on ", " at ", " by ", " from ", " to ", " and "];
    ends.iter().filter_map(|end| subject.find(end)).min().map_or(subject, |end| &subject[..end])
}

/// The words of a fragment, but for those in which Markdown or a template could read anything.
fn words(fragment: &str) -> Vec<&str> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '/' | '\'' | '’' | '+' | '&');
    let words = fragment.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    words.filter(|word| (1..=LONGEST).contains(&word.len()) && word.chars().all(is_plain)).collect()
}

fn is(kind: &str, word: &str) -> bool {
    known(kind).any(|one| one.eq_ignore_ascii_case(word))
}

fn is_thing(word: &str) -> bool {
    is("things", word) || word.strip_suffix('s').is_some_and(|singular| is("things", singular))
}

/// The object of a leading `design`, `how should we build` and the like.
fn commanded(words: &[&str]) -> Option<String> {
    let verb = words.iter().position(|word| !is("leads", word)).filter(|at| is("verbs", words[*at]))?;
    let (first, rest) = noun_phrase(&words[verb + 1..])?.split_first()?;
    definite(first, rest)
}

/// The thing that a statement is about: `Our checkout service is slow`.
fn named(words: &[&str]) -> Option<String> {
    let phrase = noun_phrase(words)?;
    let (first, rest) = phrase[..=phrase.iter().rposition(|word| is_thing(word))?].split_first()?;
    // It begins a sentence, so its capital says nothing, but for an abbreviation.
    let is_word = first.chars().skip(1).all(char::is_lowercase);
    definite(&if is_word { first.to_lowercase() } else { (*first).to_owned() }, rest)
}

/// The leading noun phrase: up to a verb or a clause, without dangling small words.
fn noun_phrase<'a, 'b>(words: &'b [&'a str]) -> Option<&'b [&'a str]> {
    let end = words.iter().skip(1).position(|word| is("ends", word)).map_or(words.len(), |at| at + 1);
    let phrase = &words[..end.min(SUBJECT_WORDS)];
    let phrase = &phrase[..=phrase.iter().rposition(|word| !is("small", word))?];
    let first = phrase[0];
    let starts_well = is("determiners", first) || !(is("small", first) || is("ends", first));
    (starts_well && first.is_ascii() && !phrase.contains(&"or")).then_some(phrase)
}

/// The phrase with a definite article where it takes one.
fn definite(first: &str, rest: &[&str]) -> Option<String> {
    let (lower, rest) = (first.to_lowercase(), rest.join(" "));
    let phrase = format!("{first} {rest}").trim_end().to_owned();
    // A product's name takes no article: `Design Twitter`.
    let is_name = first.starts_with(char::is_uppercase) && first.contains(char::is_lowercase) && !is_thing(first);
    match lower.as_str() {
        _ if is("determiners", first) && rest.is_empty() => None,
        "our" | "my" | "your" | "their" => Some(format!("{lower} {rest}")),
        _ if is("determiners", first) => Some(format!("the {rest}")),
        _ if is_name => Some(phrase),
        _ => Some(format!("the {phrase}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_definite_noun_phrases() {
        for (problem, expected) in [
            ("Design a rate limiting system", "the rate limiting system"),
            ("Design a rate limiting system.\nIt must be fast.", "the rate limiting system"),
            ("# Build an API gateway\n\nIt must route.", "the API gateway"),
            ("How should we build a payments service that never charges twice?", "the payments service"),
            ("Design Twitter", "Twitter"),
            ("Design Twitter's home timeline", "Twitter's home timeline"),
            ("design url shortener", "the url shortener"),
            ("Our checkout service is slow. What should we do?", "our checkout service"),
            ("Should we migrate our monolith to microservices?", "our monolith"),
            ("A URL shortener must handle 10k requests per second.", "the URL shortener"),
            ("What is the best way to build a chat app for field workers?", "the chat app for field workers"),
            ("Rate limiter", "the rate limiter"),
            ("", "this system"),
            ("?!. ...", "this system"),
            ("Should we use Postgres or MongoDB?", "this system"),
            ("Спроектируйте систему ограничения запросов", "this system"),
            ("Design how users log in", "this system"),
            ("Design {subject} for **everyone**", "the subject for everyone"),
        ] {
            assert_eq!(subject(problem), expected, "{problem}");
        }
    }

    #[test]
    fn later_mentions_are_short() {
        assert_eq!(head("the payments service for an online marketplace"), "the payments service");
    }
}
