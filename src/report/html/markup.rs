//! HTML under construction. Whatever is put into it is escaped, unless it is [`Markup`] itself.
//!
//! [`push!`] is the only way in: a literal of this program with a `{}` for each value. Values stand in text or between
//! the double quotes of an attribute, nowhere else.

use std::fmt::{self, Display, Write as _};

/// A piece of HTML that is safe to put into a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Markup(String);

/// What can be put into [`Markup`].
pub(super) trait Content {
    /// Writes it as HTML.
    fn write_html(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// Text of any kind is escaped.
impl<T: Display + ?Sized> Content for T {
    fn write_html(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaping(out), "{self}")
    }
}

/// Markup is HTML already. It is not `Display`, so that it cannot be taken for text, nor text for it.
impl Content for Markup {
    fn write_html(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Content for &Markup {
    fn write_html(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).write_html(out)
    }
}

/// Joins [`Content`] to the formatting of the standard library.
pub(super) struct Slot<'a, T: Content + ?Sized>(pub(super) &'a T);

impl<T: Content + ?Sized> Display for Slot<'_, T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write_html(out)
    }
}

/// `push!(markup, "<td class=\"{}\">{}</td>", class, text)`
///
/// `concat!` keeps the template from capturing variables (`{text}`), which would go in as they are.
macro_rules! push {
    ($markup:expr, $template:literal $(, $value:expr)* $(,)?) => {
        $markup.fill(format_args!(concat!($template) $(, $crate::report::html::markup::Slot(&$value))*))
    };
}

/// [`push!`] into a new [`Markup`], which is returned.
macro_rules! html {
    ($template:literal $(, $value:expr)* $(,)?) => {{
        let mut markup = $crate::report::html::markup::Markup::default();
        $crate::report::html::markup::push!(markup, $template $(, $value)*);
        markup
    }};
}

pub(super) use {html, push};

impl Markup {
    /// What [`push!`] calls; nothing else should.
    pub(super) fn fill(&mut self, template: fmt::Arguments<'_>) {
        // Writing into a String does not fail.
        let _ = self.0.write_fmt(template);
    }

    /// HTML that a renderer made which escapes by itself.
    pub(super) fn rendered(html: String) -> Self {
        Self(html)
    }

    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The HTML.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Escapes what is written through it, for text and for quoted attributes alike. NUL, which HTML does not know, becomes
/// U+FFFD.
struct Escaping<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl fmt::Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let entity = |c: char| match c {
            '&' => Some("&amp;"),
            '<' => Some("&lt;"),
            '>' => Some("&gt;"),
            '"' => Some("&quot;"),
            '\'' => Some("&#39;"),
            '\0' => Some("\u{fffd}"),
            _ => None,
        };
        for piece in text.split_inclusive(|c| entity(c).is_some()) {
            let last = piece.chars().next_back();
            match last.and_then(|last| Some((last, entity(last)?))) {
                Some((last, entity)) => {
                    self.0.write_str(piece.strip_suffix(last).unwrap_or(piece))?;
                    self.0.write_str(entity)?;
                }
                None => self.0.write_str(piece)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// The text that a browser makes of escaped text.
    fn read(html: &str) -> String {
        let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
        entities.iter().fold(html.to_owned(), |html, (entity, c)| html.replace(entity, c))
    }

    #[test]
    fn values_are_escaped_and_markup_is_not() {
        let bold = html!("<b>{}</b>", "a < b & \"c\" 'd'\0");
        assert_eq!(bold.clone().into_string(), "<b>a &lt; b &amp; &quot;c&quot; &#39;d&#39;\u{fffd}</b>");
        let outer = html!("<p title=\"{}\">{}{}</p>", "\"><script>", bold, 7);
        assert!(outer.into_string().starts_with("<p title=\"&quot;&gt;&lt;script&gt;\"><b>a &lt; b"));
    }

    proptest! {
        #[test]
        fn text_put_into_a_page_comes_out_as_text(text in "(?s).*|[&<>\"'#a-z;/ ]*") {
            let html = html!("{}", text).into_string();
            prop_assert!(!html.contains(['<', '>', '"', '\'', '\0']), "{html}");
            prop_assert_eq!(read(&html), text.replace('\0', "\u{fffd}"));
        }
    }
}
