//! Where source text takes what it does not name for something that it does: arms of `match` that catch all, and
//! fallbacks. A light reading of tokens, without types: it goes by the names of the enumerations.

use std::collections::BTreeSet;

/// Closed lists whose every member is named wherever one of them is.
const CLOSED: [&str; 8] =
    ["ResultKind", "OutputSpec", "Authorship", "CallStatus", "PromptContext", "BudgetClass", "Next", "Trigger"];
/// Lists of what happens. Who looks at some of it may do nothing about the rest, and only that.
const EVENTS: [&str; 2] = ["Event", "DebateEvent"];
/// What does nothing.
const NOTHINGS: [&str; 7] = ["{ }", "None", "return None", "false", "Ok ( ( ) )", "Vec :: new ( )", "& [ ]"];

/// Words, numbers, literals and single marks of a text of code, without comments. Text literals keep their quotes.
pub(super) fn tokens(code: &str) -> Vec<String> {
    let chars: Vec<char> = code.chars().collect();
    let at = |place: usize| chars.get(place).copied().unwrap_or('\0');
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut place = 0;
    while place < chars.len() {
        let start = place;
        match at(place) {
            c if c.is_whitespace() => {
                place += 1;
                continue;
            }
            '/' if at(place + 1) == '/' => {
                while place < chars.len() && at(place) != '\n' {
                    place += 1;
                }
                continue;
            }
            'r' | 'b'
                if matches!(at(place + 1), '"' | '#')
                    && {
                        let mut quote = place + 1;
                        while at(quote) == '#' {
                            quote += 1;
                        }
                        at(quote) == '"'
                    }
                    && at(place) == 'r' =>
            {
                let mut hashes = 0;
                while at(place + 1 + hashes) == '#' {
                    hashes += 1;
                }
                let end: String = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
                place += hashes + 2;
                while place < chars.len() && !chars[place..].starts_with(&end.chars().collect::<Vec<_>>()) {
                    place += 1;
                }
                place += end.len();
            }
            '"' => {
                place += 1;
                while place < chars.len() && at(place) != '"' {
                    place += if at(place) == '\\' { 2 } else { 1 };
                }
                place += 1;
            }
            // A character, and no lifetime.
            '\'' if at(place + 1) == '\\' || at(place + 2) == '\'' => {
                place += if at(place + 1) == '\\' { 3 } else { 2 };
                while place < chars.len() && at(place) != '\'' {
                    place += 1;
                }
                place += 1;
            }
            c if is_word(c) => {
                while is_word(at(place)) {
                    place += 1;
                }
            }
            ':' if at(place + 1) == ':' => place += 2,
            '=' if at(place + 1) == '>' => place += 2,
            _ => place += 1,
        }
        tokens.push(chars[start..place.min(chars.len())].iter().collect());
    }
    tokens
}

/// The place behind the part that begins at `from` and ends before the first of `ends` that is not within brackets.
fn until(tokens: &[String], from: usize, ends: &[&str]) -> usize {
    let mut depth = 0_u32;
    for (place, token) in tokens.iter().enumerate().skip(from) {
        if depth == 0 && ends.contains(&token.as_str()) {
            return place;
        }
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => return place,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The parts of `tokens` between marks that are not within brackets.
fn split<'t>(tokens: &'t [String], mark: &str) -> Vec<&'t [String]> {
    let mut parts = Vec::new();
    let mut from = 0;
    loop {
        let end = until(tokens, from, &[mark]);
        parts.push(&tokens[from..end]);
        if end >= tokens.len() {
            return parts;
        }
        from = end + 1;
    }
}

/// An arm: its pattern without a guard, and its body.
struct Arm<'t> {
    pattern: &'t [String],
    body: &'t [String],
}

/// The arms of each `match`, those within others included.
fn matches(tokens: &[String]) -> Vec<Vec<Arm<'_>>> {
    let starts = tokens.iter().enumerate().filter(|(_, token)| *token == "match").map(|(place, _)| place);
    let arms = |start: usize| {
        let mut place = until(tokens, start + 1, &["{"]) + 1;
        let mut arms = Vec::new();
        while tokens.get(place).is_some_and(|token| token != "}") {
            let arrow = until(tokens, place, &["=>"]);
            let pattern = &tokens[place..until(tokens, place, &["if", "=>"])];
            let is_block = tokens.get(arrow + 1).is_some_and(|token| token == "{");
            let end = if is_block { until(tokens, arrow + 2, &[]) + 1 } else { until(tokens, arrow + 1, &[","]) };
            let Some(body) = tokens.get(arrow + 1..end) else { break };
            arms.push(Arm { pattern, body });
            place = end + usize::from(tokens.get(end).is_some_and(|token| token == ","));
        }
        arms
    };
    starts.map(arms).collect()
}

/// The parts of a pattern that are told apart: those of a tuple, or the whole.
fn columns(pattern: &[String]) -> Vec<&[String]> {
    match pattern {
        [open, inner @ .., close] if open == "(" && close == ")" && split(pattern, "|").len() == 1 => split(inner, ","),
        _ => vec![pattern],
    }
}

/// Whether a pattern matches what it does not name.
fn catches_all(pattern: &[String]) -> bool {
    split(pattern, "|").into_iter().any(|one| {
        let one: Vec<&str> =
            one.iter().map(String::as_str).filter(|token| !["&", "ref", "mut"].contains(token)).collect();
        match one.as_slice() {
            ["_"] | [".", "."] => true,
            ["Some", "(", .., ")"] => {
                let inner: Vec<String> = one[2..one.len() - 1].iter().map(|token| (*token).to_owned()).collect();
                catches_all(&inner)
            }
            [name] => name.starts_with(|c: char| c.is_ascii_lowercase()) && !["true", "false"].contains(name),
            _ => false,
        }
    })
}

/// The names that a part of a pattern takes from `lists`, or from the stages.
fn names<'t>(part: &'t [String], lists: &[&str], stages: &BTreeSet<String>) -> Option<&'t str> {
    let of_list = part.windows(2).find(|pair| lists.contains(&pair[0].as_str()) && pair[1] == "::");
    let of_list = of_list.map(|pair| &pair[0]);
    of_list.or_else(|| part.iter().find(|token| stages.contains(*token))).map(String::as_str)
}

/// The arms that catch all beside such as name a member of a closed list, or a stage, and those that do something about
/// every other event: each as its list and its text. `stages` are the names and texts of stages.
pub(super) fn catch_alls(code: &str, stages: &BTreeSet<String>) -> Vec<String> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    for arms in matches(&tokens) {
        let widest = arms.iter().map(|arm| columns(arm.pattern).len()).max().unwrap_or(0);
        let part = |arm: &Arm<'_>, column: usize| columns(arm.pattern).get(column).map(|part| part.to_vec());
        let list_in = |column: usize, lists: &[&str], stages: &BTreeSet<String>| {
            let mut parts = arms.iter().filter_map(|arm| part(arm, column));
            parts.find_map(|part| names(&part, lists, stages).map(str::to_owned))
        };
        let closed = (0..widest).filter_map(|column| Some((column, list_in(column, &CLOSED, stages)?)));
        let closed: Vec<(usize, String)> = closed.collect();
        let nothing = BTreeSet::new();
        let events = (0..widest).filter_map(|column| Some((column, list_in(column, &EVENTS, &nothing)?)));
        let listed = if closed.is_empty() { events.collect() } else { closed.clone() };
        let Some((_, list)) = listed.first() else { continue };
        // Of a tuple that is told apart by several lists, an arm that names a member of any is none that catches all.
        let catching = arms
            .iter()
            .filter(|arm| listed.iter().all(|(column, _)| part(arm, *column).is_none_or(|part| catches_all(&part))));
        let catching = catching.filter(|arm| !closed.is_empty() || !NOTHINGS.contains(&arm.body.join(" ").as_str()));
        found.extend(catching.map(|arm| format!("{list}: {} => {}", text(arm.pattern), text(arm.body))));
    }
    found
}

/// Tokens as they are written, more or less.
fn text(tokens: &[String]) -> String {
    tokens.join(" ").replace("( ", "(").replace(" (", "(").replace(" )", ")").replace(" ,", ",").replace(" :: ", "::")
}

/// The fallbacks that are a stage, a member of a closed list, or a protocol: `unwrap_or(PROPOSAL)`. So is the first place
/// in a list for what is not in it: `position(..).unwrap_or(0)`.
pub(super) fn fallbacks(code: &str, known: &BTreeSet<String>) -> Vec<String> {
    let tokens = tokens(code);
    let calls = ["unwrap_or", "unwrap_or_else", "map_or", "map_or_else", "or", "or_else"];
    let mut found = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        if calls.contains(&token.as_str()) && tokens.get(place + 1).is_some_and(|open| open == "(") {
            let given = &tokens[place + 2..until(&tokens, place + 2, &[","])];
            let plain = given.iter().filter(|token| !["&", "*", "|", "_", "Some", "(", ")"].contains(&token.as_str()));
            let plain: Vec<String> = plain.cloned().collect();
            let is_list = plain.len() == 3 && CLOSED.contains(&plain[0].as_str());
            if is_list || matches!(plain.as_slice(), [one] if known.contains(one)) {
                found.push(format!("{token}({})", given.join("")));
            }
        }
        if ["position", "rposition"].contains(&token.as_str()) && tokens.get(place + 1).is_some_and(|open| open == "(")
        {
            let behind = until(&tokens, place + 2, &[]) + 1;
            if tokens.get(behind..behind + 5).is_some_and(|tail| tail.concat() == ".unwrap_or(0)") {
                found.push(format!("{token}(..).unwrap_or(0)"));
            }
        }
    }
    found
}

/// The names of the constants of that type in a text of code, as `const PROPOSAL: StageId`.
pub(super) fn constants(code: &str, kind: &str) -> Vec<String> {
    let tokens = tokens(code);
    let named = tokens
        .windows(4)
        .filter(|four| ["const", "static"].contains(&four[0].as_str()) && four[2] == ":" && four[3] == kind);
    named.map(|four| four[1].clone()).collect()
}

#[test]
fn an_arm_that_catches_all_is_found_and_a_whole_list_is_none() {
    let stages = BTreeSet::from(["PROPOSAL".to_owned(), "\"critique\"".to_owned()]);
    let found = |code: &str| catch_alls(code, &stages).len();
    for bad in [
        "match yields { ResultKind::Speech => 1, _ => 2 }",
        "match yields { Some(ResultKind::Speech) => 1, Some(_) | None => 2 }",
        "match yields { Some(ResultKind::Speech) => 1, other => { 2 } }",
        "match (yields, 1) { (Some(ResultKind::Ballot), n) => n, (_, n) => 2 }",
        "match stage { PROPOSAL => 1, _ if late => 2, _ => 3 }",
        "match stage.as_str() { \"critique\" => f({ 1 }), _ => 2 }",
        "match 1 { 1 => match key { OutputSpec::Text => 1, _ => 2 }, _ => 3 }",
        "match event { Event::Paused => 1, _ => 2 }",
        "match settled { CallStatus::Done => '}', // }\n _ => '\\'' }",
    ] {
        assert!(found(bad) > 0, "{bad}");
    }
    for good in [
        "match yields { ResultKind::Speech => 1, ResultKind::Ballot | ResultKind::Score => { 2 } }",
        "match yields { Some(ResultKind::Speech) => 1, None => 2 }",
        "match (yields, n) { (ResultKind::Speech, _) => 1, (ResultKind::Ballot, n) => n }",
        "match n { 1 => ResultKind::Speech, _ => ResultKind::Ballot }",
        "match event { Event::Paused => 1, _ => {} }",
        "match event { Event::Paused => Some(1), _ => None }",
        "// match yields { ResultKind::Speech => 1, _ => 2 }",
        "\"match yields { ResultKind::Speech => 1, _ => 2 }\"",
    ] {
        assert_eq!(found(good), 0, "{good}");
    }
}

#[test]
fn a_fallback_to_something_known_is_found() {
    let known = BTreeSet::from(["PROPOSAL".to_owned(), "\"proposal\"".to_owned(), "DIALECTIC".to_owned()]);
    for bad in [
        "stage.unwrap_or(PROPOSAL)",
        "name.unwrap_or(\"proposal\")",
        "name.map_or(\"proposal\", f)",
        "named(x).unwrap_or(&DIALECTIC)",
        "yields.unwrap_or_else(|| ResultKind::Speech)",
        "all.iter().position(|one| f(one)).unwrap_or(0)",
    ] {
        assert_eq!(fallbacks(bad, &known).len(), 1, "{bad}");
    }
    for good in ["stage.unwrap_or(last)", "all.iter().position(|one| f(one)).unwrap_or(all.len())", "n.unwrap_or(0)"] {
        assert!(fallbacks(good, &known).is_empty(), "{good}");
    }
    assert_eq!(constants("pub const PROPOSAL: StageId = StageId::new(\"proposal\");", "StageId"), ["PROPOSAL"]);
}
