//! The subject of a problem as a noun phrase that sentences can be built around.
//!
//! English only, and crude: where nothing can be made out, the subject is [`NO_SUBJECT`], which is always right.

/// Fragments of a problem in which a subject is looked for.
const FRAGMENTS: usize = 40;
/// A subject has at most so many words.
const SUBJECT_WORDS: usize = 8;
/// What a problem without a readable subject is about.
const NO_SUBJECT: &str = "this system";

const VERBS: &str = "design build create implement develop architect propose plan write make describe outline sketch \
    specify devise engineer construct model improve scale optimize optimise refactor rewrite replace modernize \
    modernise migrate secure extend redesign rebuild add introduce set_up come_up_with provide choose select";
const LEADS: &str = "how should would could can do does we i you one to please help me us need needs want wants must have \
    let lets what is are task problem goal challenge for a_good the_best_way best right way approach of our_task \
    your_task simply just the_design design_of";
const DETERMINERS: &str = "a an the our my your their its this that these those some any another one";
const STOPS: &str = "that which who whose where when while with using so because must should shall will can could is are was \
    has have had needs need in_order without if as via such including and/or";
const PREPOSITIONS: &str =
    "for of in on at from between by to into about and or the a an our with how why what whether";
const THINGS: &str = "system service platform application app api limiter cache queue pipeline database store tool website \
    site backend frontend gateway engine scheduler dashboard marketplace shop bot client server library framework \
    protocol network product solution infrastructure architecture feature module component shortener tracker editor \
    game workflow process program";
const BARE_THINGS: &str = "system service platform application app api tool website site solution product way";

/// Articles that show that a text is not English.
const FOREIGN: &str = "ein eine einen der die das und le la les un une des el los las uno una il um uma een het en ett";

/// The problem's subject as a definite noun phrase. Never empty.
pub(super) fn subject(problem: &str) -> String {
    let fragments: Vec<Vec<String>> = problem
        .split(['.', ',', ';', ':', '?', '!', '\n', '(', ')', '—', '–', '"', '“', '”'])
        .map(tokens)
        .filter(|tokens| !tokens.is_empty())
        .take(FRAGMENTS)
        .collect();
    let commanded = fragments.iter().find_map(|tokens| commanded(tokens));
    commanded.or_else(|| fragments.iter().find_map(|tokens| named(tokens))).unwrap_or_else(|| NO_SUBJECT.to_owned())
}

/// A subject without what follows its head.
pub(super) fn head(subject: &str) -> &str {
    let ends = [" for ", " in ", " on ", " at ", " by ", " from ", " to ", " that ", " which ", " where ", " and "];
    ends.iter().filter_map(|end| subject.find(end)).min().map_or(subject, |end| &subject[..end])
}

/// The words of a fragment, with nothing in them that Markdown or a template could read.
fn tokens(fragment: &str) -> Vec<String> {
    fragment
        .split_whitespace()
        .map(|word| {
            let plain: String = word
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '/' | '\'' | '’' | '+' | '&'))
                .collect();
            plain.trim_matches(['-', '/', '\'', '’', '&']).to_owned()
        })
        .filter(|word| !word.is_empty() && word.chars().count() <= 40)
        .take(60)
        .collect()
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one.eq_ignore_ascii_case(word))
}

/// How many tokens at the start make up an item of `list`; items of several words are written with `_`.
fn starts_with(list: &str, tokens: &[String]) -> Option<usize> {
    list.split_whitespace()
        .filter_map(|item| {
            let parts: Vec<&str> = item.split('_').collect();
            let same = parts.len() <= tokens.len()
                && parts.iter().zip(tokens).all(|(part, token)| part.eq_ignore_ascii_case(token));
            same.then_some(parts.len())
        })
        .max()
}

/// The object of a leading `design`, `how should we build` and the like.
fn commanded(tokens: &[String]) -> Option<String> {
    let mut rest = tokens;
    let mut has_verb = false;
    loop {
        if let Some(length) = starts_with(VERBS, rest) {
            has_verb = true;
            rest = &rest[length..];
        } else if has_verb && rest.first().is_some_and(|word| word.eq_ignore_ascii_case("and")) {
            rest = &rest[1..];
        } else if let (false, Some(length)) = (has_verb, starts_with(LEADS, rest)) {
            rest = &rest[length..];
        } else {
            break;
        }
    }
    let wanted = has_verb || (rest.len() < tokens.len() && is_in(DETERMINERS, rest.first()?));
    if !wanted {
        return None;
    }
    // `a` is part of some leads, and `the best way` may have been all there was.
    let phrase = noun_phrase(rest)?;
    let names_a_thing = has_verb || phrase.iter().any(|word| is_thing(word));
    names_a_thing.then(|| definite(&phrase)).flatten()
}

/// The thing that a statement is about: `Our checkout service is slow`.
fn named(tokens: &[String]) -> Option<String> {
    let phrase = noun_phrase(tokens)?;
    let last_thing = phrase.iter().rposition(|word| is_thing(word))?;
    if phrase.iter().any(|word| is_in(FOREIGN, word)) {
        return None;
    }
    let mut phrase = phrase[..=last_thing].to_vec();
    // It begins a sentence, so its capital says nothing, but for an abbreviation.
    if phrase[0].chars().skip(1).all(char::is_lowercase) {
        phrase[0] = phrase[0].to_lowercase();
    }
    definite(&phrase)
}

fn is_thing(word: &str) -> bool {
    is_in(THINGS, word) || word.strip_suffix('s').is_some_and(|singular| is_in(THINGS, singular))
}

/// The leading noun phrase: up to a verb or a clause, without dangling small words.
fn noun_phrase(tokens: &[String]) -> Option<Vec<String>> {
    let mut phrase: Vec<String> = Vec::new();
    for token in tokens.iter().take(SUBJECT_WORDS + 1) {
        let nouns = phrase.iter().filter(|word| !is_in(DETERMINERS, word)).count();
        // `a system that …` says what it is only in the clause.
        let bare = nouns == 1 && phrase.last().is_some_and(|word| is_in(BARE_THINGS, word));
        let clause = is_in(STOPS, token) || (token.eq_ignore_ascii_case("to") && nouns > 0);
        let opens_clause = ["to", "that", "which", "where", "with"].iter().any(|word| token.eq_ignore_ascii_case(word));
        let in_clause =
            phrase.iter().any(|word| ["to", "that", "which", "where"].contains(&word.to_lowercase().as_str()));
        if clause && !in_clause && !(bare && opens_clause) {
            break;
        }
        phrase.push(token.clone());
    }
    phrase.truncate(SUBJECT_WORDS);
    while phrase.last().is_some_and(|word| is_in(PREPOSITIONS, word) || is_in(STOPS, word) || is_in(DETERMINERS, word))
    {
        phrase.pop();
    }
    let first = phrase.first()?;
    let starts_well = is_in(DETERMINERS, first) || !is_in(PREPOSITIONS, first);
    (starts_well && first.is_ascii()).then_some(phrase)
}

/// The phrase with a definite article where it takes one.
fn definite(phrase: &[String]) -> Option<String> {
    let (first, rest) = phrase.split_first()?;
    let lower = first.to_lowercase();
    match lower.as_str() {
        "our" | "my" | "your" | "their" => (!rest.is_empty()).then(|| format!("{lower} {}", rest.join(" "))),
        _ if is_in(DETERMINERS, first) => (!rest.is_empty()).then(|| format!("the {}", rest.join(" "))),
        _ if phrase.iter().any(|word| word.eq_ignore_ascii_case("or")) => None,
        _ => {
            // A product's name takes no article: `Design Twitter`.
            let is_name = phrase.len() == 1
                && first.chars().next().is_some_and(char::is_uppercase)
                && first.chars().any(char::is_lowercase)
                && !is_thing(first);
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
            (
                "We need a notification service for mobile apps with quiet hours",
                "the notification service for mobile apps",
            ),
            ("Design Twitter", "Twitter"),
            ("Design Twitter's home timeline", "Twitter's home timeline"),
            ("design url shortener", "the url shortener"),
            ("Our checkout service is slow. What should we do?", "our checkout service"),
            ("Migrate our monolith to microservices", "our monolith"),
            ("A URL shortener must handle 10k requests per second.", "the URL shortener"),
            ("What is the best way to build a chat app?", "the chat app"),
            ("Design a system to track bugs in production", "the system to track bugs in production"),
            ("Rate limiter", "the rate limiter"),
            ("", "this system"),
            ("?!. ...", "this system"),
            ("Should we use Postgres or MongoDB?", "this system"),
            ("Спроектируйте систему ограничения запросов", "this system"),
            ("Entwirf ein System", "this system"),
            ("Design how users log in", "this system"),
            ("Design {subject} for **everyone**", "the subject for everyone"),
        ] {
            assert_eq!(subject(problem), expected, "{problem}");
        }
    }
}
