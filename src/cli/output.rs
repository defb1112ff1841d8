//! The files that results and reports are written to.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::debate::{Debate, DebateFile, Settings};
use crate::error::Error;
use crate::protocol::side;
use crate::report::{Detail, View, decision_record, html, markdown};
use crate::store::{Entry, Wanted};

use super::target::Target;
use super::terminal::Terminal;

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportFormat {
    Markdown,
    Page,
    Decision,
    State,
}

impl ReportFormat {
    fn of(path: &Path) -> Self {
        if has_extension(path, "html") { Self::Page } else { Self::Markdown }
    }
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

/// Writes the whole state to a `.json` file, the solution's text to any other.
pub(super) fn write_output(path: &Path, debate: &Debate, solution: &str) -> Result<(), Error> {
    let json = has_extension(path, "json");
    Target::find(path)?.write(|out| {
        if json {
            serde_json::to_writer_pretty(&mut *out, &DebateFile::of(debate))?;
            out.write_all(b"\n")
        } else {
            out.write_all(solution.as_bytes())
        }
    })
}

/// Writes the report of a saved debate: to `path`, as a page when that ends in `.html`, or to standard output.
/// Who took part comes from `configured` where that is given; `format` goes before the path's ending.
pub(super) fn write_report(
    entry: &Entry,
    configured: Option<&Settings>,
    path: Option<&Path>,
    detail: Detail,
    format: Option<ReportFormat>,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let format = format.unwrap_or_else(|| path.map_or(ReportFormat::Markdown, ReportFormat::of));
    let saved = entry.load(match format {
        ReportFormat::Markdown | ReportFormat::Decision | ReportFormat::State => Wanted::State,
        ReportFormat::Page => Wanted::Events,
    })?;
    for warning in &saved.warnings {
        terminal.warning(warning);
    }
    let view = View::new(&saved.debate, &saved.events, configured).with_sides(side);
    let write = |out: &mut dyn Write| match format {
        ReportFormat::Markdown => markdown(&view, detail, out),
        ReportFormat::Page => out.write_all(html(&view).as_bytes()),
        ReportFormat::Decision => decision_record(&view, out),
        ReportFormat::State => {
            serde_json::to_writer_pretty(&mut *out, &DebateFile::of(&saved.debate))?;
            out.write_all(b"\n")
        }
    };
    let Some(path) = path else {
        return match format {
            ReportFormat::Markdown | ReportFormat::Decision => terminal.markdown_from(write),
            ReportFormat::Page | ReportFormat::State => terminal.result_from(write),
        };
    };
    Target::prepare(path)?.write(write)?;
    terminal.notice(&format!("Generated report: {}", path.display()));
    Ok(())
}

/// How much a report says, by `--verbose`.
pub(super) fn detail(verbose: bool) -> Detail {
    if verbose { Detail::Verbose } else { Detail::Plain }
}

/// Where `--report` writes to: a path that ends in neither `.md` nor `.html` gets `.md` behind it.
pub(super) fn report_path(path: &Path, terminal: &mut Terminal) -> PathBuf {
    if has_extension(path, "md") || has_extension(path, "html") {
        return path.to_owned();
    }
    let mut named = path.as_os_str().to_owned();
    named.push(".md");
    let named = PathBuf::from(named);
    let (given, written) = (path.display(), named.display());
    terminal.warning(&format!("the report `{given}` ends in neither .md nor .html: it is written to {written}"));
    named
}

/// Whether what is written to `path` goes to standard output, under whatever name.
pub(super) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || Target::find(path).is_ok_and(|target| target.is_stdout())
}

/// Makes the directory that a file is to be in.
pub(super) fn make_parent(path: &Path) -> Result<(), Error> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => fs::create_dir_all(parent).map_err(|source| Error::Output { path: parent.to_owned(), source }),
        None => Ok(()),
    }
}
