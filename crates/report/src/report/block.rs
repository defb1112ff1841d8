//! The blocks of a report. Each subject builds its blocks once; the Markdown, HTML and terminal formats render them.
//!
//! A block describes content, not appearance. Text from models and users must be kept in separate pieces, so that each
//! format can escape it.

use std::borrow::Cow;

use dialectic_record::ids::AgentId;
use dialectic_record::points::Severity;

/// Inline content of a single line.
pub(crate) type Phrase<'a> = Vec<Piece<'a>>;

#[derive(Debug, Clone)]
pub(crate) enum Piece<'a> {
    /// The program's own words and figures. Markdown does not escape them.
    Words(Cow<'a, str>),
    /// Text from a model or a user.
    Foreign(Cow<'a, str>),
    /// Text from a model or a user, to be emphasized.
    Marked(Cow<'a, str>),
    Agent(&'a AgentId),
    /// A point of the ledger, by its number.
    Point(String),
    Severity(Severity),
    /// Omitted from the part of the Markdown report that programs parse.
    Aside(Phrase<'a>),
}

#[derive(Debug, Clone)]
pub(crate) enum Block<'a> {
    Heading(Phrase<'a>),
    Paragraph(Phrase<'a>),
    /// In Markdown, even an empty list ends with a blank line.
    List(Vec<ListItem<'a>>),
    Table(TableBlock<'a>),
    /// A multi-line text from a model or a user.
    Text(Cow<'a, str>),
    /// A title line, and a multi-line reason; `None` if no reason was given.
    Said(Phrase<'a>, Option<Cow<'a, str>>),
    /// A file or JSON, which is not rendered. In Markdown, it is fenced like any other text.
    Verbatim(Cow<'a, str>),
    /// Collapsed blocks under a summary line.
    Folded(Phrase<'a>, Vec<Block<'a>>),
    /// Blocks indented below a line.
    Indented(Phrase<'a>, Vec<Block<'a>>),
    Warning(Vec<Block<'a>>),
    /// Blocks omitted from the part of the Markdown report that programs parse.
    Aside(Vec<Block<'a>>),
}

#[derive(Debug, Clone)]
pub(crate) struct ListItem<'a> {
    pub(crate) line: Phrase<'a>,
    pub(crate) more: Vec<Block<'a>>,
    /// Whether the item is omitted from the part of the Markdown report that programs parse.
    pub(crate) is_aside: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct TableBlock<'a> {
    pub(crate) caption: String,
    pub(crate) class: &'static str,
    pub(crate) columns: Vec<TableHead<'a>>,
    pub(crate) rows: Vec<Vec<Phrase<'a>>>,
    /// Whether the last row is a total.
    pub(crate) has_total: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct TableHead<'a> {
    pub(crate) title: Phrase<'a>,
    pub(crate) is_figure: bool,
    /// Whether a narrow terminal may drop the column.
    pub(crate) is_detail: bool,
    pub(crate) audience: Audience,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    Everywhere,
    /// Everywhere except in the part of the Markdown report that programs parse.
    People,
    Programs,
}

impl From<&'static str> for Piece<'_> {
    fn from(words: &'static str) -> Self {
        Self::Words(Cow::Borrowed(words))
    }
}

impl<'a> From<&'a AgentId> for Piece<'a> {
    fn from(agent: &'a AgentId) -> Self {
        Self::Agent(agent)
    }
}

impl From<Severity> for Piece<'_> {
    fn from(severity: Severity) -> Self {
        Self::Severity(severity)
    }
}

/// Must not be used for text from models or users, because Markdown does not escape the result.
#[expect(clippy::needless_pass_by_value, reason = "call sites pass temporary figures")]
pub(crate) fn figure<'a>(figure: impl ToString) -> Piece<'a> {
    Piece::Words(figure.to_string().into())
}

pub(crate) fn foreign<'a>(words: impl Into<Cow<'a, str>>) -> Piece<'a> {
    Piece::Foreign(words.into())
}

pub(crate) fn marked<'a>(words: impl Into<Cow<'a, str>>) -> Piece<'a> {
    Piece::Marked(words.into())
}

/// Builds a [`Phrase`]. Literals become the program's own words.
macro_rules! line {
    ($($piece:expr),* $(,)?) => { vec![$($crate::report::block::Piece::from($piece)),*] };
}
pub(crate) use line;

pub(crate) fn joined<'a>(lines: impl IntoIterator<Item = Phrase<'a>>, between: &'static str) -> Phrase<'a> {
    let mut all = Vec::new();
    for line in lines {
        if !all.is_empty() {
            all.push(between.into());
        }
        all.extend(line);
    }
    all
}

impl<'a> Block<'a> {
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn said(line: Phrase<'a>, text: impl Into<Cow<'a, str>>) -> Self {
        Self::Said(line, Some(text.into()))
    }

    /// An explanation for people, omitted from the part of the Markdown report that programs parse.
    pub(crate) fn lead(line: Phrase<'a>) -> Self {
        Self::Aside(vec![Self::Paragraph(line)])
    }
}

impl<'a> ListItem<'a> {
    pub(crate) fn of(line: Phrase<'a>) -> Self {
        Self { line, more: Vec::new(), is_aside: false }
    }

    pub(crate) fn with(line: Phrase<'a>, more: Vec<Block<'a>>) -> Self {
        Self { line, more, is_aside: false }
    }
}

impl<'a> TableBlock<'a> {
    pub(crate) fn new(
        class: &'static str,
        caption: impl Into<String>,
        columns: impl IntoIterator<Item = TableHead<'a>>,
        rows: impl IntoIterator<Item = Vec<Phrase<'a>>>,
    ) -> Self {
        let (columns, rows) = (columns.into_iter().collect(), rows.into_iter().collect());
        Self { caption: caption.into(), class, columns, rows, has_total: false }
    }
}

impl<'a> TableHead<'a> {
    pub(crate) fn words(title: impl Into<Piece<'a>>) -> Self {
        Self { title: vec![title.into()], is_figure: false, is_detail: false, audience: Audience::Everywhere }
    }

    pub(crate) fn figures(title: impl Into<Piece<'a>>) -> Self {
        Self { is_figure: true, ..Self::words(title) }
    }

    pub(crate) fn only(self, audience: Audience) -> Self {
        Self { audience, ..self }
    }
}
