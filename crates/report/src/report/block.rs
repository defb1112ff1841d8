//! What is written of a debate, in blocks. Each subject builds its blocks once; Markdown, page and terminal render
//! them.
//!
//! A block says what there is, not how it looks. Words of models and users are pieces of their own, so that each form
//! escapes them in its way: only the program's own words get through as they are.

use std::borrow::Cow;

use dialectic_base::severity::Severity;
use dialectic_record::debate::AgentId;

/// Words that stand on one line.
pub(crate) type Phrase<'a> = Vec<Piece<'a>>;

/// A part of a line.
#[derive(Debug, Clone)]
pub(crate) enum Piece<'a> {
    /// The program's own words and figures.
    Words(Cow<'a, str>),
    /// Words of a model or a user.
    Foreign(Cow<'a, str>),
    /// The same, set apart from the words around them.
    Marked(Cow<'a, str>),
    /// Somebody who takes part.
    Agent(&'a AgentId),
    /// A point of the ledger, by its number.
    Point(String),
    /// How grave something is.
    Severity(Severity),
    /// A bar as long as the first figure is of the second. Only a page draws it, beside the figure.
    Bar(u64, u64),
    /// What the Markdown report has no place for, since programs rely on its form.
    Aside(Phrase<'a>),
}

/// A part of what is written.
#[derive(Debug, Clone)]
pub(crate) enum Block<'a> {
    /// A heading below that of the subject.
    Heading(Phrase<'a>),
    /// A sentence or more.
    Paragraph(Phrase<'a>),
    /// The items of a list. An empty list still writes its closing blank line in Markdown.
    List(Vec<ListItem<'a>>),
    /// A table.
    Table(TableBlock<'a>),
    /// A text of a model or a user, with lines of its own.
    Text(Cow<'a, str>),
    /// The same, under a title line. Without a text, that is said.
    Said(Phrase<'a>, Option<Cow<'a, str>>),
    /// A text that is no prose: a file, JSON. Markdown has it in a fence like any other.
    Verbatim(Cow<'a, str>),
    /// What changed from one text of a model to another.
    Changes(Cow<'a, str>, Cow<'a, str>),
    /// Blocks to unfold, under a line.
    Folded(Phrase<'a>, Vec<Block<'a>>),
    /// Blocks that belong to a line, set in below it.
    Indented(Phrase<'a>, Vec<Block<'a>>),
    /// Blocks that stand out, because they qualify the text around them.
    Warning(Vec<Block<'a>>),
    /// Blocks that the Markdown report has no place for.
    Aside(Vec<Block<'a>>),
}

/// An item of a list.
#[derive(Debug, Clone)]
pub(crate) struct ListItem<'a> {
    /// What it says.
    pub(crate) line: Phrase<'a>,
    /// What follows from it, or explains it: items, or a text.
    pub(crate) more: Vec<Block<'a>>,
    /// Whether the Markdown report has no place for it.
    pub(crate) is_aside: bool,
}

/// Columns and rows.
#[derive(Debug, Clone)]
pub(crate) struct TableBlock<'a> {
    /// What it shows; a page says so above it.
    pub(crate) caption: String,
    /// Its class on the page.
    pub(crate) class: &'static str,
    /// Its columns.
    pub(crate) columns: Vec<TableHead<'a>>,
    /// Its rows, with a cell for each column.
    pub(crate) rows: Vec<Vec<Phrase<'a>>>,
    /// Whether the last row sums up those above it.
    pub(crate) has_total: bool,
}

/// A column of a table.
#[derive(Debug, Clone)]
pub(crate) struct TableHead<'a> {
    /// Its heading.
    pub(crate) title: Phrase<'a>,
    /// Whether it holds figures, which are set flush right.
    pub(crate) is_figure: bool,
    /// Whether a terminal leaves it out where there is no room.
    pub(crate) is_detail: bool,
    /// Which forms have it.
    pub(crate) audience: Audience,
}

/// Who is shown a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The reader.
    Everywhere,
    /// All but the Markdown report, whose form programs know.
    People,
    /// The Markdown report alone.
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

/// A figure, or other words of the program's that are put together.
#[expect(clippy::needless_pass_by_value, reason = "figures are handed over where they are made")]
pub(crate) fn figure<'a>(figure: impl ToString) -> Piece<'a> {
    Piece::Words(figure.to_string().into())
}

/// Words of a model or a user.
pub(crate) fn foreign<'a>(words: impl Into<Cow<'a, str>>) -> Piece<'a> {
    Piece::Foreign(words.into())
}

/// Words of a model or a user, set apart.
pub(crate) fn marked<'a>(words: impl Into<Cow<'a, str>>) -> Piece<'a> {
    Piece::Marked(words.into())
}

/// A line made of pieces, the program's own words among them as literals.
macro_rules! line {
    ($($piece:expr),* $(,)?) => { vec![$($crate::report::block::Piece::from($piece)),*] };
}
pub(crate) use line;

/// Lines with something between them.
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
    /// A text of a model or a user.
    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// A text of a model or a user, under a line that says what it is.
    pub(crate) fn said(line: Phrase<'a>, text: impl Into<Cow<'a, str>>) -> Self {
        Self::Said(line, Some(text.into()))
    }

    /// What explains a subject to people; the Markdown report has never had it.
    pub(crate) fn lead(line: Phrase<'a>) -> Self {
        Self::Aside(vec![Self::Paragraph(line)])
    }
}

impl<'a> ListItem<'a> {
    /// Of a line alone.
    pub(crate) fn of(line: Phrase<'a>) -> Self {
        Self { line, more: Vec::new(), is_aside: false }
    }

    /// Of a line, and what follows from it.
    pub(crate) fn with(line: Phrase<'a>, more: Vec<Block<'a>>) -> Self {
        Self { line, more, is_aside: false }
    }

    /// The same, but not for Markdown.
    pub(crate) fn aside(self) -> Self {
        Self { is_aside: true, ..self }
    }
}

impl<'a> TableBlock<'a> {
    /// A table without a row that sums it up.
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
    /// A column of words.
    pub(crate) fn words(title: impl Into<Piece<'a>>) -> Self {
        Self { title: vec![title.into()], is_figure: false, is_detail: false, audience: Audience::Everywhere }
    }

    /// A column of figures.
    pub(crate) fn figures(title: impl Into<Piece<'a>>) -> Self {
        Self { is_figure: true, ..Self::words(title) }
    }

    /// The same, but the first to be left out.
    pub(crate) fn detail(self) -> Self {
        Self { is_detail: true, ..self }
    }

    /// The same, in other forms.
    pub(crate) fn only(self, audience: Audience) -> Self {
        Self { audience, ..self }
    }
}
