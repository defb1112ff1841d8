//! Embeds foreign text in Markdown: in fences, cells and lines that the text cannot break out of.

use std::borrow::Cow;
use std::iter::successors;

use memchr::memchr;

/// The backticks around a code block: at least three, and more than any run of backticks in `content`, so that the
/// content cannot end the block.
pub fn fence(content: &str) -> String {
    let mut longest = 0;
    let mut rest = content.as_bytes();
    // `memchr` pays off, because whole debates are scanned and backticks are rare.
    while let Some(start) = memchr(b'`', rest) {
        let run = rest[start..].iter().take_while(|byte| **byte == b'`').count();
        longest = longest.max(run);
        rest = &rest[start + run..];
    }
    "`".repeat((longest + 1).max(3))
}

pub fn fenced(info: &str, content: &str) -> String {
    let fence = fence(content);
    format!("{fence}{info}\n{content}\n{fence}")
}

/// Escapes `text` so that it stays on one line and cannot format, link or hide anything. Trims it, and replaces control
/// characters with spaces and direction controls with U+FFFD.
pub fn inline(text: &str) -> Cow<'_, str> {
    escaped(text, None)
}

pub fn cell(text: &str) -> Cow<'_, str> {
    escaped(text, Some('|'))
}

/// Like [`inline`], for a heading: also escapes a trailing `#`, which Markdown would drop.
pub fn heading(text: &str) -> Cow<'_, str> {
    let text = inline(text);
    match text.strip_suffix('#') {
        Some(before) => Cow::Owned(format!("{before}\\#")),
        None => text,
    }
}

/// Like [`inline`], for the start of a line or list item: also keeps the text from beginning a block.
pub fn line(text: &str) -> Cow<'_, str> {
    let text = inline(text);
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = text.split_at(digits);
    let begins_a_block = match rest.chars().next() {
        Some('.' | ')') => digits > 0,
        Some('#' | '>' | '+' | '-') => digits == 0,
        _ => false,
    };
    if begins_a_block { Cow::Owned(format!("{number}\\{rest}")) } else { text }
}

fn escaped(text: &str, also: Option<char>) -> Cow<'_, str> {
    let text = on_one_line(text);
    if !text.contains(|c| is_marked(c) || Some(c) == also || is_bidi_control(c)) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = None;
    for (at, c) in text.char_indices() {
        let after = &text[at + c.len_utf8()..];
        if is_bidi_control(c) {
            out.push(char::REPLACEMENT_CHARACTER);
        } else {
            if Some(c) == also || (is_marked(c) && means_something(c, before, after)) {
                out.push('\\');
            }
            out.push(c);
        }
        before = Some(c);
    }
    Cow::Owned(out)
}

fn on_one_line(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if text.contains(char::is_control) {
        Cow::Owned(text.replace(char::is_control, " ").trim().to_owned())
    } else {
        Cow::Borrowed(text)
    }
}

fn is_marked(c: char) -> bool {
    matches!(c, '\\' | '`' | '*' | '_' | '~' | '[' | '<' | '&')
}

/// Whether `c` has a meaning in Markdown here. Escaping only where necessary keeps names such as `snake_case` readable.
fn means_something(c: char, before: Option<char>, after: &str) -> bool {
    let next = after.chars().next();
    match c {
        '\\' => next.is_none_or(|c| c.is_ascii_punctuation()),
        '_' => !(before.is_some_and(char::is_alphanumeric) && next.is_some_and(char::is_alphanumeric)),
        '*' => !(before == Some(' ') && next == Some(' ')),
        '<' => next.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')),
        '&' => {
            let name = after.trim_start_matches(|c: char| c == '#' || c.is_ascii_alphanumeric());
            name.len() < after.len() && name.starts_with(';')
        }
        _ => true,
    }
}

/// Whether `c` is an embedding, override, isolate or mark of the Unicode bidirectional algorithm.
pub fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

pub fn truncate(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

pub fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The label of the `index`-th anonymous agent: A to Z, then AA, AB, and so on.
pub fn letters(index: usize) -> String {
    const ALPHABET: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let digits: Vec<u8> =
        successors(Some(index), |&rest| (rest / 26).checked_sub(1)).map(|rest| ALPHABET[rest % 26]).collect();
    digits.into_iter().rev().map(char::from).collect()
}

/// A zero-width space, inserted to keep platforms from turning a word into a link.
const JOINT: char = '\u{200B}';

/// Disables links, images, HTML, mentions, references, lists, headings and suggestions in `text` without changing how
/// it reads. Keeps code blocks, but drops their language.
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
            // A line of `=` turns the line above into a heading.
            let underlines = !bare.is_empty() && bare.chars().all(|c| c == '=');
            blocks.push(if underlines { format!("\\{bare}") } else { prose(bare) });
        }
    }
    blocks.extend(code.map(|(_, lines)| fenced("", &lines.join("\n"))));
    blocks.join("\n").trim().to_owned()
}

/// Like [`defused`], but on one line; code blocks become plain text.
pub fn defused_line(text: &str) -> String {
    let text = text.replace(char::is_control, " ").replace(is_bidi_control, "\u{FFFD}");
    let words: Vec<&str> = text.split_whitespace().filter(|word| opens(word).is_none()).collect();
    prose(&words.join(" "))
}

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

/// Defuses a line except for its inline code.
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

/// Breaks up text that platforms turn into links: `@name`, `#12`, `GH-12`, `https://`, `www.`.
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
    use std::fmt::Write as _;

    use comrak::nodes::NodeValue;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_run_inside() {
        assert_eq!(fence("no ticks"), "```");
        assert_eq!(fence("a ``` b"), "````");
        assert_eq!(fence("`` a ```` b ``` c"), "`````");
        assert_eq!(fenced("text", "x ````` y"), "``````text\nx ````` y\n``````");
    }

    #[test]
    fn cells_stay_in_their_column() {
        assert_eq!(cell("a|b\nc"), "a\\|b c");
        assert_eq!(cell("a\\|b\\"), "a\\\\\\|b\\\\");
    }

    #[test]
    fn ordinary_text_is_left_alone() {
        for text in ["agent_kiss-2", "2 * 3 < 4 & AT&T", "C:\\dir", "a | b > c", "Zürich → 東京!", "#1 - done."] {
            assert!(matches!(inline(text), Cow::Borrowed(same) if same == text) || inline(text) == text, "{text}");
        }
        assert_eq!(inline(" a\tb\r\n"), "a b");
    }

    #[test]
    fn what_would_mean_something_is_escaped() {
        assert_eq!(inline("<b> &amp; [x](y) *z* _w_ `c` ~s~"), r"\<b> \&amp; \[x](y) \*z\* \_w\_ \`c\` \~s\~");
        assert_eq!(inline("a\u{202e}b\u{1b}[2Jc\0"), "a\u{fffd}b \\[2Jc");
        assert_eq!((heading("Learn C ##"), heading("plain")), (r"Learn C #\#".into(), "plain".into()));
        let lines = ["# a", "- b", "12. c", "12) d", "> e", "1 f", "12", "* g"].map(|text| line(text).into_owned());
        assert_eq!(lines, [r"\# a", r"\- b", r"12\. c", r"12\) d", r"\> e", "1 f", "12", r"\* g"]);
    }

    #[test]
    fn truncation_counts_characters() {
        assert_eq!(truncate("häuser", 2), "hä");
        assert_eq!(truncate("ab", 5), "ab");
    }

    #[test]
    fn labels_go_on_after_z() {
        assert_eq!([0, 25, 26, 27, 52].map(letters), ["A", "Z", "AA", "AB", "BA"]);
    }

    /// The text that a page shows for `markdown`.
    fn shown(markdown: &str) -> String {
        let arena = comrak::Arena::new();
        let mut options = comrak::Options::default();
        options.extension.table = true;
        options.extension.strikethrough = true;
        options.extension.tasklist = true;
        let mut text = String::new();
        for node in comrak::parse_document(&arena, markdown, &options).descendants() {
            match &node.data.borrow().value {
                NodeValue::Text(part) => text.push_str(part),
                NodeValue::Document
                | NodeValue::Paragraph
                | NodeValue::Heading(_)
                | NodeValue::List(_)
                | NodeValue::Item(_)
                | NodeValue::Table(_)
                | NodeValue::TableRow(_)
                | NodeValue::TableCell => {}
                other => write!(text, "{other:?}").unwrap(),
            }
        }
        single_spaced(&text)
    }

    /// Replaces a character that must not appear on one line.
    fn visible(c: char) -> char {
        match c {
            _ if c.is_control() => ' ',
            _ if is_bidi_control(c) => char::REPLACEMENT_CHARACTER,
            _ => c,
        }
    }

    proptest! {
        #[test]
        fn no_text_is_anything_but_text(parts in prop::collection::vec(prop::sample::select(vec![
            "\\", "`", "*", "**", "_", "~", "~~", "[", "]", "(x)", "<", "<b>", ">", "&", "&lt;", "&#65;", "|", "!", "#",
            "##", "-", "+", "=", "1", ".", ")", " ", "a", "é", "\n", "\r", "\t", "\u{202e}", "://", "<!--", "x:y", "\"",
        ]), 0..12)) {
            let text = parts.concat();
            let flat = single_spaced(&text.chars().map(visible).collect::<String>());
            let after_a_word = format!("y {flat}");
            prop_assert_eq!(shown(&format!("y {}", inline(&text))), after_a_word.trim());
            prop_assert_eq!(shown(&format!("# y {}", heading(&text))), after_a_word.trim());
            prop_assert_eq!(shown(&format!("- {}", line(&text))), flat.as_str());
            let cells = shown(&format!("| y |\n|---|\n| {} |", cell(&text)));
            prop_assert_eq!(cells.strip_prefix('y'), Some(flat.as_str()));
        }
    }

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
