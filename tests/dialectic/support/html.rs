//! Reads HTML as a browser does, as far as tests need it: tags with their attributes, and whether they nest.

/// Elements that have no end.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];

/// A start tag, or an end tag without attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) is_end: bool,
    closes_itself: bool,
}

impl Tag {
    /// The value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether it opens an element that has to be closed.
    fn opens(&self) -> bool {
        !self.is_end && !self.closes_itself && !VOID.contains(&self.name.as_str())
    }
}

/// The tags of a page in their order. What stands in `style` and `script` is no markup. An attribute's value may hold
/// what it likes between its quotes.
pub(crate) fn tags(html: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
        } else if rest.starts_with('/') || rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let (tag, after) = tag(rest);
            rest = after;
            if !tag.is_end && ["style", "script"].contains(&tag.name.as_str()) {
                let end = format!("</{}", tag.name);
                rest = &rest[rest.find(&end).unwrap_or(rest.len())..];
            }
            tags.push(tag);
        }
    }
    tags
}

/// Reads a tag after its `<`; also returns the rest of the text.
fn tag(text: &str) -> (Tag, &str) {
    let (is_end, text) = text.strip_prefix('/').map_or((false, text), |text| (true, text));
    let end = text.find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let mut tag = Tag { name: name.to_ascii_lowercase(), attributes: Vec::new(), is_end, closes_itself: false };
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('>') {
            return (tag, after);
        }
        if let Some(after) = rest.strip_prefix('/') {
            tag.closes_itself = after.starts_with('>');
            rest = after;
            continue;
        }
        if rest.is_empty() {
            return (tag, rest);
        }
        let end = rest.find(|c: char| c.is_whitespace() || "=>/".contains(c)).unwrap_or(rest.len()).max(1);
        let (name, after) = rest.split_at(end);
        let (value, after) = value(after);
        tag.attributes.push((name.to_ascii_lowercase(), value.to_owned()));
        rest = after;
    }
}

/// The value behind an attribute's name; empty where there is none.
fn value(text: &str) -> (&str, &str) {
    let Some(text) = text.trim_start().strip_prefix('=') else { return ("", text) };
    let text = text.trim_start();
    for quote in ['"', '\''] {
        if let Some(quoted) = text.strip_prefix(quote) {
            return quoted.split_once(quote).unwrap_or((quoted, ""));
        }
    }
    text.split_at(text.find(|c: char| c.is_whitespace() || c == '>').unwrap_or(text.len()))
}

/// Panics unless every element is closed where it was opened.
pub(crate) fn assert_nested(html: &str) {
    let mut open: Vec<String> = Vec::new();
    for tag in tags(html) {
        if tag.is_end {
            assert_eq!(open.pop().as_deref(), Some(tag.name.as_str()), "</{}> closes another element", tag.name);
        } else if tag.opens() {
            open.push(tag.name);
        }
    }
    assert_eq!(open, Vec::<String>::new(), "elements are left open");
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn tags_are_read_with_their_attributes() {
        let html =
            "<!-- <b> --><p class=\"a > b\" ID='x' hidden>1 < 2</p><br/><img src=y onerror=z><style>p > a {}</style>";
        let read = tags(html);
        let names: Vec<String> =
            read.iter().map(|tag| format!("{}{}", if tag.is_end { "/" } else { "" }, tag.name)).collect();
        assert_eq!(names, ["p", "/p", "br", "img", "style", "/style"]);
        assert_eq!(read[0].attribute("class"), Some("a > b"));
        assert_eq!((read[0].attribute("id"), read[0].attribute("hidden")), (Some("x"), Some("")));
        assert_eq!(read[3].attribute("onerror"), Some("z"));
    }

    #[test]
    fn elements_that_do_not_nest_are_found() {
        assert_nested("<p>a <b>b</b><br>c<input disabled /></p><svg><rect/></svg>");
        for broken in ["<p>", "</p>", "<p><b></p></b>", "<div><p></div>"] {
            assert!(catch_unwind(|| assert_nested(broken)).is_err(), "{broken}");
        }
    }
}
