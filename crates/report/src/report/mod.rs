//! Writes reports of a debate, which show a [`View`] in one of the [`FORMATS`].
//!
//! A report depends only on the view, not on the destination or the time. Text from models is not trusted: the Markdown
//! formats fence or escape it, and HTML escapes it.

use std::io;

use dialectic_record::debate::{Debate, DebateFile};

pub(crate) mod block;
mod decision;
mod html;
mod markdown;
mod overview;
pub(crate) mod prose;
mod redact;
mod review;
mod said;
mod stages;
pub(crate) mod subject;
mod view;

use decision::decision_record;
pub use html::html;
pub use markdown::markdown;
pub use overview::overview;
pub use redact::redact;
pub use review::{review_github, review_json, review_sarif};
pub use said::{Said, readable, said};
pub(crate) use stages::preposition;
pub use view::View;

#[cfg(test)]
mod tests;

#[derive(Debug)]
pub struct ReportFormat {
    /// The name of the format in options and requests.
    pub name: &'static str,
    pub about: &'static str,
    /// The file extensions that select the format, in lower case and without the dot.
    pub endings: &'static [&'static str],
    /// The extension of a downloaded file, without the dot.
    pub ending: &'static str,
    pub media_type: &'static str,
    is_of_reviews: bool,
    write: fn(&View<'_>, &mut dyn io::Write) -> io::Result<()>,
}

const DECISION: ReportFormat = ReportFormat {
    name: "adr",
    about: "A decision record to commit (MADR): what was decided and why",
    endings: &[],
    ending: "adr.md",
    media_type: "text/markdown; charset=utf-8",
    is_of_reviews: false,
    write: |view, out| decision_record(&view.on(&view.debate.with_named_texts()), out),
};

const STATE: ReportFormat = ReportFormat {
    name: "json",
    about: "The debate's state as JSON",
    endings: &["json"],
    ending: "json",
    media_type: "application/json",
    write: |view, out| {
        serde_json::to_writer_pretty(&mut *out, &DebateFile::of(view.debate))?;
        out.write_all(b"\n")
    },
    ..DECISION
};

/// All formats, in display order. The first one is the default.
pub static FORMATS: [ReportFormat; 6] = [
    ReportFormat {
        name: "markdown",
        about: "The complete debate",
        endings: &["md", "markdown", "txt"],
        ending: "md",
        write: markdown,
        ..DECISION
    },
    DECISION,
    ReportFormat {
        name: "html",
        about: "A self-contained HTML page",
        endings: &["html", "htm"],
        ending: "html",
        media_type: "text/html; charset=utf-8",
        write: |view, out| out.write_all(html(view).as_bytes()),
        ..DECISION
    },
    STATE,
    ReportFormat {
        name: "sarif",
        about: "A review as SARIF 2.1.0",
        endings: &[],
        is_of_reviews: true,
        write: |view, out| out.write_all(review_sarif(view.debate).as_bytes()),
        ..STATE
    },
    ReportFormat {
        name: "github",
        about: "A review as a pull request review for GitHub's API, in JSON",
        endings: &[],
        is_of_reviews: true,
        write: |view, out| out.write_all(review_github(view.debate).as_bytes()),
        ..STATE
    },
];

impl ReportFormat {
    pub fn usual() -> &'static Self {
        &FORMATS[0]
    }

    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    pub fn is_page(&self) -> bool {
        self.media_type.starts_with("text/html")
    }

    pub fn is_markdown(&self) -> bool {
        self.media_type.starts_with("text/markdown")
    }

    /// Whether a report in this format may replace a file that contains `text`. A decision record may replace only an
    /// unedited decision record; the other formats may replace any file.
    pub fn may_replace(&self, text: &str) -> bool {
        self.name != DECISION.name || decision::is_unedited(text)
    }

    /// Why this format is not available for a debate; `None` if it is available.
    pub fn lacks(&self, debate: &Debate) -> Option<&'static str> {
        let is_review = debate.change.is_some();
        match (self.is_of_reviews, self.name == DECISION.name) {
            (true, _) if !is_review => Some("is a review format, but this debate is not a review"),
            (_, true) if is_review => Some("is a decision record, but this debate is a review"),
            _ => None,
        }
    }

    /// Writes the report to `out`. Call [`redact`] on the debate first.
    ///
    /// # Errors
    ///
    /// Returns an error if writing to `out` fails.
    pub fn write(&self, view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        (self.write)(view, out)
    }
}
