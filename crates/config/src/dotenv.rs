//! The syntax of environment files, following readers in other languages.
//!
//! There is no standard. It accepts what most readers agree on: `NAME=value`, `NAME: value`, `export` before either,
//! three kinds of quotes that may contain line breaks, and comments. Nothing is expanded: `$` is literal.

use std::ops::Range;

/// The quotes around values.
const QUOTES: [char; 3] = ['"', '\'', '`'];

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    /// Names and values in the order of the file.
    pub(super) pairs: Vec<(String, String)>,
    /// Lines that could not be read as intended, by number from 1.
    pub(super) faults: Vec<(usize, DotenvFault)>,
}

/// A fault in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DotenvFault {
    /// The line sets no variable.
    NoPair,
    /// The value begins with a quote that is never closed; it was taken literally.
    OpenQuote,
}

/// Parses a file's text. Never fails: the file may belong to other tools, and most of it may be useful.
pub(super) fn parse(text: &str) -> Parsed {
    // A lone carriage return ends a line too, as on old systems.
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    let mut parsed = Parsed::default();
    let mut rest = text.as_str();
    let mut line = 1;
    while !rest.is_empty() {
        let current = first_line(rest);
        let mut taken = current.len();
        match name_and_value(current) {
            Some((name, value_at)) => {
                let (value, used, fault) = value(&rest[value_at..]);
                taken = value_at + used;
                parsed.pairs.push((name.to_owned(), value));
                parsed.faults.extend(fault.map(|fault| (line, fault)));
            }
            None if is_blank_or_comment(current) => {}
            None => parsed.faults.push((line, DotenvFault::NoPair)),
        }
        line += rest[..taken].matches('\n').count() + 1;
        rest = rest.get(taken + 1..).unwrap_or_default();
    }
    parsed
}

fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}

fn is_blank_or_comment(text: &str) -> bool {
    let text = text.trim_start();
    text.is_empty() || text.starts_with('#')
}

/// The name that a line sets, and where its value begins.
fn name_and_value(line: &str) -> Option<(&str, usize)> {
    let unindented = line.trim_start();
    let exported = unindented.strip_prefix("export").filter(|after| after.starts_with(char::is_whitespace));
    let named = exported.map_or(unindented, str::trim_start);
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let end = named.find(|c| !is_name(c))?;
    let (name, after) = named.split_at(end);
    let value = match after.trim_start().strip_prefix('=') {
        Some(value) => value,
        // YAML requires a blank here: `http://x` is not a pair.
        None => after.strip_prefix(':').filter(|value| value.is_empty() || value.starts_with(char::is_whitespace))?,
    };
    (!name.is_empty()).then(|| (name, line.len() - value.len()))
}

/// The value at the beginning of `text`, the length consumed to the end of its line, and any fault.
fn value(text: &str) -> (String, usize, Option<DotenvFault>) {
    let line = first_line(text);
    let begin = line.len() - line.trim_start().len();
    let quote = line[begin..].chars().next().filter(|c| QUOTES.contains(c));
    if let Some((quote, inside)) = quote.and_then(|quote| Some((quote, quoted(text, begin + 1, quote)?))) {
        let used = inside.end + first_line(&text[inside.end..]).len();
        let written = &text[inside];
        return (if quote == '"' { unescape(written) } else { written.to_owned() }, used, None);
    }
    let written = line.split('#').next().unwrap_or_default().trim();
    let is_open = quote.is_some_and(|quote| !written[1.min(written.len())..].contains(quote));
    (written.to_owned(), line.len(), is_open.then_some(DotenvFault::OpenQuote))
}

/// The range between quotes that open at `begin`. `None` if they are not closed, or if anything but blanks and a
/// comment follows. A quote after a backslash closes only if no other does, as in `'C:\dir\'`.
fn quoted(text: &str, begin: usize, quote: char) -> Option<Range<usize>> {
    let closes = |at: &usize| is_blank_or_comment(first_line(&text[at + 1..]));
    let mut escaped = None;
    let mut backslashes = 0;
    for (at, c) in text[begin..].char_indices().map(|(offset, c)| (begin + offset, c)) {
        if c == quote {
            if backslashes % 2 == 0 {
                return Some(at).filter(closes).map(|end| begin..end);
            }
            escaped = escaped.or(Some(at).filter(closes));
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
    }
    escaped.map(|end| begin..end)
}

/// Resolves escapes in double quotes. Keeps unknown escapes.
fn unescape(written: &str) -> String {
    let mut value = String::with_capacity(written.len());
    let mut chars = written.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            value.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => value.push('\n'),
            Some('r') => value.push('\r'),
            Some('t') => value.push('\t'),
            Some(c @ ('"' | '\\' | '$')) => value.push(c),
            other => {
                value.push('\\');
                value.extend(other);
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Vec<(String, String)> {
        let parsed = parse(line);
        assert_eq!(parsed.faults, [], "{line}");
        parsed.pairs
    }

    /// Where readers in other languages differ, this follows the majority.
    #[test]
    fn values_are_what_other_readers_make_of_them() {
        for (line, expected) in [
            ("A=plain", "plain"),
            ("A=two words", "two words"),
            ("A = spaced ", "spaced"),
            ("  A=indented", "indented"),
            ("A=", ""),
            ("A: yaml", "yaml"),
            ("A: 'quoted yaml' # why", "quoted yaml"),
            ("A: http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
            ("export A=exported", "exported"),
            ("export\tA: both", "both"),
            // No expansion, with any quotes.
            ("A=$HOME/x", "$HOME/x"),
            ("A=${HOME}", "${HOME}"),
            ("A=\"pa$$word ${HOME} $1\"", "pa$$word ${HOME} $1"),
            ("A='$HOME'", "$HOME"),
            ("A=`$HOME`", "$HOME"),
            ("A=$(cat /etc/passwd)", "$(cat /etc/passwd)"),
            // Quotes.
            ("A=\"double\"", "double"),
            ("A='single'", "single"),
            ("A=`back`", "back"),
            ("A=`it's \"both\"`", "it's \"both\""),
            ("A=\"it's\"", "it's"),
            ("A='say \"yes\"'", "say \"yes\""),
            ("A=\"  kept  \"", "  kept  "),
            ("A=\"\"", ""),
            ("A=don't", "don't"),
            ("A={\"json\": \"value\"}", "{\"json\": \"value\"}"),
            ("A=\"x\" y", "\"x\" y"),
            // Comments.
            ("A=value # why", "value"),
            ("A=value#why", "value"),
            ("A=# why", ""),
            ("A=\"value # none\" # why", "value # none"),
            ("A='value#none'#why", "value#none"),
            ("A=`#`", "#"),
            ("A=\"closed\" # not \"this\"", "closed"),
            // Escapes, in double quotes alone.
            (r#"A="a\nb\tc\rd""#, "a\nb\tc\rd"),
            (r#"A="say \"yes\"""#, "say \"yes\""),
            (r#"A="back\\slash \d \$x""#, "back\\slash \\d $x"),
            (r"A='a\nb'", r"a\nb"),
            (r"A=`a\nb`", r"a\nb"),
            (r"A=a\nb", r"a\nb"),
            (r"A='C:\dir\'", r"C:\dir\"),
            (r"A='it\'s'", r"it\'s"),
            ("A.b-C_1=x=y", "x=y"),
        ] {
            let pairs = one(line);
            let [(name, value)] = pairs.as_slice() else { panic!("{line}: {pairs:?}") };
            assert_eq!(value, expected, "{line}");
            assert!(name.starts_with('A'), "{line}");
        }
    }

    #[test]
    fn quotes_reach_over_lines() {
        for quote in QUOTES {
            let text = format!("A={quote}one\n  two # three\n\nfour{quote} # why\nB=2\n");
            let pairs = one(&text);
            assert_eq!(pairs[0].1, "one\n  two # three\n\nfour", "{quote}");
            assert_eq!(pairs[1], ("B".to_owned(), "2".to_owned()));
        }
    }

    #[test]
    fn every_line_end_is_one_and_a_byte_order_mark_is_none_of_the_name() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["\u{feff}A=1", "", "# note", "B=\"x", "y\"", "C=3"].join(end);
            let pairs = one(&text);
            let expected = [("A", "1"), ("B", "x\ny"), ("C", "3")];
            assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())), "{end:?}");
        }
    }

    #[test]
    fn what_sets_nothing_is_told_by_line_and_what_follows_is_read() {
        let parsed = parse("A=1\n\nnonsense\nB=\"x\ny\"\nexport C\nhttp://x\n=5\nD='open\nE:tight\nF=6");
        let names: Vec<&str> = parsed.pairs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["A", "B", "D", "F"]);
        assert_eq!(parsed.pairs[2].1, "'open");
        let none = |line| (line, DotenvFault::NoPair);
        assert_eq!(parsed.faults, [none(3), none(6), none(7), none(8), (9, DotenvFault::OpenQuote), none(10)]);
    }
}
