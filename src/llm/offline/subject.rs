//! The subject of a problem as a noun phrase that sentences can be built around.
//!
//! English only, and crude: where nothing can be made out, the subject is [`NO_SUBJECT`], which is always right.

/// What a problem without a readable subject is about.
pub(super) const NO_SUBJECT: &str = "this system";
/// Fragments of a problem in which a subject is looked for.
const FRAGMENTS: usize = 40;
/// A subject has at most so many words.
const SUBJECT_WORDS: usize = 8;

const VERBS: &str = "design build create implement develop architect propose plan write make outline specify devise \
    improve scale optimize optimise refactor rewrite replace modernize modernise migrate secure extend redesign rebuild \
    introduce provide adopt";
const LEADS: &str = "how should would could can do does we i you to please help me us need needs want must have let lets \
    what is the best way task problem goal our simply of";
const DETERMINERS: &str = "a an the our my your their its this that these";
const STOPS: &str = "that which who whose where when while with using so because must should shall will can could is are was \
    has have had needs to without if as via such including";
const SMALL: &str = "for of in on at from between by into about and or the a an our with how why what whether";
const THINGS: &str = "system service platform application app api limiter cache queue pipeline database store tool website \
    site backend frontend gateway engine scheduler dashboard marketplace shop bot client server library framework \
    protocol network product infrastructure architecture feature shortener tracker editor game workflow";

/// The problem's subject as a definite noun phrase. Never empty.
pub(super) fn subject(problem: &str) -> String {
    let ends = ['.', ',', ';', ':', '?', '!', '\n', '(', ')', '—', '–', '"', '“', '”'];
    let fragments: Vec<Vec<String>> = problem.split(ends).map(words).take(FRAGMENTS).collect();
    let commanded = fragments.iter().find_map(|words| commanded(words));
    commanded.or_else(|| fragments.iter().find_map(|words| named(words))).unwrap_or_else(|| NO_SUBJECT.to_owned())
}

/// A subject without what follows its head.
pub(super) fn head(subject: &str) -> &str {
    let ends = [" for ", " in ", " on ", " at ", " by ", " from ", " to ", " and "];
    ends.iter().filter_map(|end| subject.find(end)).min().map_or(subject, |end| &subject[..end])
}

/// The words of a fragment, with nothing in them that Markdown or a template could read.
fn words(fragment: &str) -> Vec<String> {
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '/' | '\'' | '’' | '+' | '&');
    let plain = fragment.split_whitespace().map(|word| word.chars().filter(is_kept).take(40).collect::<String>());
    plain.map(|word| word.trim_matches(['-', '/', '\'', '’', '&']).to_owned()).filter(|word| !word.is_empty()).collect()
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one.eq_ignore_ascii_case(word))
}

fn is_thing(word: &str) -> bool {
    is_in(THINGS, word) || word.strip_suffix('s').is_some_and(|singular| is_in(THINGS, singular))
}

/// The object of a leading `design`, `how should we build` and the like.
fn commanded(words: &[String]) -> Option<String> {
    let verb = words.iter().position(|word| !is_in(LEADS, word)).filter(|at| is_in(VERBS, &words[*at]))?;
    definite(&noun_phrase(&words[verb + 1..])?)
}

/// The thing that a statement is about: `Our checkout service is slow`.
fn named(words: &[String]) -> Option<String> {
    let mut phrase = noun_phrase(words)?;
    phrase.truncate(phrase.iter().rposition(|word| is_thing(word))? + 1);
    // It begins a sentence, so its capital says nothing, but for an abbreviation.
    if phrase[0].chars().skip(1).all(char::is_lowercase) {
        phrase[0] = phrase[0].to_lowercase();
    }
    definite(&phrase)
}

/// The leading noun phrase: up to a verb or a clause, without dangling small words.
fn noun_phrase(words: &[String]) -> Option<Vec<String>> {
    let end = words.iter().skip(1).position(|word| is_in(STOPS, word)).map_or(words.len(), |at| at + 1);
    let mut phrase = words[..end.min(SUBJECT_WORDS)].to_vec();
    while phrase.last().is_some_and(|word| is_in(SMALL, word)) {
        phrase.pop();
    }
    let first = phrase.first()?;
    let starts_well = is_in(DETERMINERS, first) || !(is_in(SMALL, first) || is_in(STOPS, first));
    (starts_well && first.is_ascii() && !is_in(&phrase.join(" "), "or")).then_some(phrase)
}

/// The phrase with a definite article where it takes one.
fn definite(phrase: &[String]) -> Option<String> {
    let (first, rest) = phrase.split_first()?;
    let lower = first.to_lowercase();
    match lower.as_str() {
        _ if is_in(DETERMINERS, first) && rest.is_empty() => None,
        "our" | "my" | "your" | "their" => Some(format!("{lower} {}", rest.join(" "))),
        _ if is_in(DETERMINERS, first) => Some(format!("the {}", rest.join(" "))),
        _ => {
            // A product's name takes no article: `Design Twitter`.
            let has_capital = first.starts_with(char::is_uppercase) && first.contains(char::is_lowercase);
            let is_name = has_capital && rest.is_empty() && !is_thing(first);
            let is_possessive = first.ends_with("'s") || first.ends_with("’s");
            Some(if is_name || is_possessive { phrase.join(" ") } else { format!("the {}", phrase.join(" ")) })
        }
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
