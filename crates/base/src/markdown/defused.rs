//! Markdown that a model wrote, for a platform that acts on Markdown.

use std::borrow::Cow;

use super::{fenced, inline, is_bidi_control, line};

/// An invisible character that stops platforms from turning a word into a link.
const JOINT: char = '\u{200B}';

/// `text` as Markdown that reads the same but has no effect: links, images, HTML, mentions, references, lists, headings
/// and suggestions are disabled. Code stays code, in blocks that name no language.
pub fn defused(text: &str) -> String {
    let text = text.replace(|c: char| c.is_control() && c != '\n', " ").replace(is_bidi_control, "\u{FFFD}");
    let (mut blocks, mut code): (Vec<String>, Option<(&str, Vec<&str>)>) = (Vec::new(), None);
    for line in text.lines() {
        let bare = line.trim();
        code = match code {
            Some((mark, lines)) if closes(bare, mark) => {
                blocks.push(fenced("", &lines.join("\n")));
                None
            }
            Some((mark, mut lines)) => {
                lines.push(line.trim_end());
                Some((mark, lines))
            }
            None => opens(bare).map(|mark| (mark, Vec::new())),
        };
        if code.is_none() && opens(bare).is_none() {
            // A line of these marks turns the line above into a heading.
            let underlines = !bare.is_empty() && bare.chars().all(|c| c == '=');
            blocks.push(if underlines { format!("\\{bare}") } else { prose(bare) });
        }
    }
    blocks.extend(code.map(|(_, lines)| fenced("", &lines.join("\n"))));
    blocks.join("\n").trim().to_owned()
}

/// Like [`defused`], on one line, where a code block becomes inline code.
pub fn defused_line(text: &str) -> String {
    let text = text.replace(char::is_control, " ").replace(is_bidi_control, "\u{FFFD}");
    let words: Vec<&str> = text.split_whitespace().filter(|word| opens(word).is_none()).collect();
    prose(&words.join(" "))
}

/// The marks that open a block of code.
fn opens(line: &str) -> Option<&str> {
    let mark = ['`', '~'].into_iter().find_map(|mark| {
        let length = line.len() - line.trim_start_matches(mark).len();
        (length >= 3).then(|| line.split_at(length))
    });
    mark.filter(|(mark, info)| !(mark.starts_with('`') && info.contains('`'))).map(|(mark, _)| mark)
}

fn closes(line: &str, mark: &str) -> bool {
    line.len() >= mark.len() && line.chars().all(|c| mark.starts_with(c))
}

/// Defuses a line, except code in backticks.
fn prose(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(start) = rest.find('`') {
        let marks = rest[start..].len() - rest[start..].trim_start_matches('`').len();
        let (mark, inner) = rest[start..].split_at(marks);
        let Some(end) = closing(inner, mark) else { break };
        push_words(&mut out, &rest[..start]);
        out.push_str(&rest[start..start + marks + end + marks]);
        rest = &inner[end + marks..];
    }
    push_words(&mut out, rest);
    out
}

/// The start of the run of backticks that closes what `mark` opened.
fn closing(inner: &str, mark: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = inner[at..].find('`') {
        let start = at + found;
        let length = inner[start..].len() - inner[start..].trim_start_matches('`').len();
        if length == mark.len() {
            return Some(start);
        }
        at = start + length;
    }
    None
}

fn push_words(out: &mut String, text: &str) {
    let words = if out.is_empty() { line(text) } else { inline(text) };
    let is_apart = |c: Option<char>| c.is_some_and(char::is_whitespace);
    if is_apart(text.chars().next()) && !out.is_empty() {
        out.push(' ');
    }
    out.push_str(&unlinked(&words));
    if is_apart(text.chars().next_back()) && !words.is_empty() {
        out.push(' ');
    }
}

/// Breaks up text that platforms turn into links by themselves: `@name`, `#12`, `GH-12`, `https://`, `www.`.
fn unlinked(text: &str) -> Cow<'_, str> {
    if !text.contains(['@', '#', ':', '.', '-']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (at, c) in text.char_indices() {
        out.push(c);
        let (before, after) = (&text[..at], &text[at + c.len_utf8()..]);
        let ends_in = |word: &str| {
            before.len() >= word.len()
                && before.is_char_boundary(before.len() - word.len())
                && before[before.len() - word.len()..].eq_ignore_ascii_case(word)
        };
        let is_link = match c {
            '@' => after.starts_with(|c: char| c.is_alphanumeric() || c == '\\' || c == '_'),
            '#' => after.starts_with(|c: char| c.is_ascii_digit()),
            ':' => after.starts_with("//"),
            '.' => ends_in("www"),
            '-' => ends_in("gh"),
            _ => false,
        };
        if is_link {
            out.push(JOINT);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> String {
        defused(text).replace(JOINT, "|")
    }

    #[test]
    fn what_a_platform_would_act_on_is_only_read() {
        for (written, shown) in [
            ("cc @octocat and @org/team", "cc @|octocat and @|org/team"),
            ("fixes #12, GH-7", "fixes #|12, GH-|7"),
            ("see https://evil.example/x or www.evil.example", "see https:|//evil.example/x or www.|evil.example"),
            ("[click](https://evil.example)", "\\[click](https:|//evil.example)"),
            ("![x](https://evil.example/p.png)", "!\\[x](https:|//evil.example/p.png)"),
            ("<img src=x onerror=y>", "\\<img src=x onerror=y>"),
            ("&#64;octocat", "\\&#|64;octocat"),
            ("# Approved", "\\# Approved"),
            ("Approved\n===", "Approved\n\\==="),
            ("- [ ] merge", "\\- \\[ ] merge"),
            ("mail a@b.example", "mail a@|b.example"),
        ] {
            assert_eq!(seen(written), shown);
        }
    }

    #[test]
    fn code_stays_code_and_suggests_nothing() {
        assert_eq!(defused("call `f(@x)` twice"), "call `f(@x)` twice");
        assert_eq!(seen("`a` then ``b`c`` @d"), "`a` then ``b`c`` @|d");
        assert_eq!(defused("so:\n```suggestion\nrm -rf /\n```\nend"), "so:\n```\nrm -rf /\n```\nend");
        assert_eq!(defused("~~~suggestion\nx\n~~~"), "```\nx\n```");
        assert_eq!(defused("```suggestion\nnever closed"), "```\nnever closed\n```");
        assert_eq!(defused("a\n\nb"), "a\n\nb");
        assert_eq!(seen("a lone ` and @b"), "a lone \\` and @|b");
        assert_eq!(defused_line("a\n```suggestion\nx\n```\nb"), "a x b");
    }

    #[test]
    fn nothing_changes_the_direction_of_writing() {
        assert_eq!(defused("a \u{202E}b `c\u{2066}`"), "a \u{FFFD}b `c\u{FFFD}`");
    }
}
