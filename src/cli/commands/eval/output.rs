//! Writes the scores of an evaluation to standard output or a file, whose extension determines the format. Also
//! describes evaluations in messages.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::num::NonZeroU32;
use std::path::Path;

use crate::cli::target::OutputTarget;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::evaluation::output::{CRLF, csv_rows, is_csv_header, json, markdown, table};
use crate::evaluation::{Attempt, Evaluated, Evaluator, Usage};
use dialectic_base::figures::{cost, counted, duration, sum_of_tokens, thousands};
use dialectic_base::sanitize::one_line;
use dialectic_report::display::{Layout, StyledText, Table, TableColumn};

/// The width of a score with its deviation.
const SCORE: usize = 11;
/// The minimum width of a criterion's name.
const LEAST: usize = 16;

pub(super) enum ScoresDestination<'a> {
    Stdout,
    Markdown(&'a Path),
    Json(&'a Path),
    /// Rows are appended; the other formats replace the file.
    Csv(&'a Path),
}

impl<'a> ScoresDestination<'a> {
    /// Checks that the destination can be written, before anything is spent.
    pub(super) fn prepare(output: Option<&'a Path>) -> Result<Self, Error> {
        let Some(path) = output else { return Ok(Self::Stdout) };
        let ending = path.extension().unwrap_or_default().to_ascii_lowercase();
        let destination = match ending.to_str() {
            Some("json") => Self::Json(path),
            Some("csv") => Self::Csv(path),
            _ => Self::Markdown(path),
        };
        if let Self::Csv(path) = destination {
            check_table(path)?;
        }
        OutputTarget::prepare(path)?;
        Ok(destination)
    }

    pub(super) fn write(
        &self,
        evaluated: &[Evaluated],
        repeat: NonZeroU32,
        terminal: &mut Terminal,
    ) -> Result<(), Error> {
        match self {
            Self::Stdout => {
                let layout = terminal.screen();
                match layout.width {
                    Some(width) => terminal.result(&for_people(&table(evaluated, repeat), width, layout)),
                    None => terminal.text(&markdown(evaluated, repeat)),
                }
            }
            Self::Markdown(path) => {
                OutputTarget::find(path)?.write_result(markdown(evaluated, repeat).as_bytes(), terminal)
            }
            Self::Json(path) => OutputTarget::find(path)?.write_result(json(evaluated, repeat).as_bytes(), terminal),
            Self::Csv(path) => {
                append(path, evaluated).map_err(|error| unwritable(path, error))?;
                terminal.notice(&format!("Wrote the result to {}", path.display()));
                Ok(())
            }
        }
    }
}

/// The table for a terminal: one row per criterion, so that names fit at any width, and as many debates side by side as
/// fit.
fn for_people(rows: &[Vec<String>], width: usize, layout: Layout) -> String {
    let Some((header, rows)) = rows.split_first() else { return String::new() };
    let is_named = rows.len() > 1;
    let criteria = header.get(usize::from(is_named)..).unwrap_or_default();
    let widest = criteria.iter().map(String::len).max().unwrap_or(0);
    let side_by_side = (width.saturating_sub(widest) / (SCORE + 2)).max(1);
    let mut text = String::new();
    for debates in rows.chunks(side_by_side) {
        let named = debates.iter().map(|row| if is_named { row.first().map(|name| short(name)) } else { None });
        let titles = named.map(|name| TableColumn::figure(name.unwrap_or_else(|| "Score".to_owned())));
        let mut table = Table::new([TableColumn::text("Criterion").flexible(LEAST)].into_iter().chain(titles));
        for (index, criterion) in criteria.iter().enumerate() {
            let scores = debates.iter().map(|row| row.get(index + usize::from(is_named)).cloned().unwrap_or_default());
            table.row([criterion.clone()].into_iter().chain(scores).map(StyledText::plain));
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&table.drawn(layout));
    }
    text
}

/// Shortens a name at the beginning, because the ids of debates begin alike.
fn short(name: &str) -> String {
    let name = one_line(name);
    let kept = name.char_indices().nth_back(SCORE - 1).map_or(0, |(place, _)| place);
    name.get(kept..).unwrap_or_default().trim_start_matches('-').to_owned()
}

fn unwritable(path: &Path, source: io::Error) -> Error {
    Error::Output { path: path.to_owned(), source }
}

fn check_table(path: &Path) -> Result<(), Error> {
    match std::fs::read(path) {
        Ok(found) if found.is_empty() || is_csv_header(&found) => Ok(()),
        Ok(_) => {
            Err(UserError::input(format!("{} is not an evaluation file: it has a different header", path.display()))
                .with_hint("use a new file, or one written by `dialectic eval`")
                .into())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(source) => Err(unwritable(path, source)),
    }
}

/// Writes once and locks the file, so that concurrent evaluations write one header and complete rows.
fn append(path: &Path, evaluated: &[Evaluated]) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    file.lock()?;
    let (line_end, unfinished) = ending(&mut file)?;
    let rows = csv_rows(evaluated, line_end.is_none(), line_end.unwrap_or("\n"))?;
    let mut added: Vec<u8> = Vec::new();
    if unfinished {
        added.extend(line_end.unwrap_or_default().bytes());
    }
    added.extend(rows);
    let before = file.metadata()?.len();
    file.write_all(&added).and_then(|()| file.sync_all()).inspect_err(|_| {
        // Remove a partial row, which could be read as a whole one.
        drop(file.set_len(before));
    })
}

/// Returns the file's line ending (`None` if the file is empty), and whether the last line lacks one.
fn ending(file: &mut File) -> io::Result<(Option<&'static str>, bool)> {
    let mut found = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut found)?;
    if found.is_empty() {
        return Ok((None, false));
    }
    let first_line = found.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
    let line_end = if first_line.ends_with(b"\n") && !first_line.ends_with(b"\r\n") { "\n" } else { CRLF };
    Ok((Some(line_end), !found.ends_with(b"\n")))
}

pub(super) fn roster(evaluators: &[Evaluator]) -> String {
    let mut text = "Evaluators".to_owned();
    for evaluator in evaluators {
        let settings = &evaluator.settings;
        let name = if settings.name == settings.id.as_str() { String::new() } else { format!(" ({})", settings.name) };
        let head = format!("{}{name}: model {}/{}", settings.id, settings.provider, settings.model);
        let prompts = format!("system prompt {}, message {}", evaluator.system.source(), evaluator.user.source());
        let timeout = duration(u64::try_from(settings.timeout.as_millis()).unwrap_or(u64::MAX));
        let most = settings.max_tokens.map(|most| format!(", at most {} tokens per answer", thousands(most.into())));
        let most = most.unwrap_or_default();
        let _ = write!(text, "\n  {}, first token within {timeout}{most}", one_line(&head));
        let _ = write!(text, "\n    {}", one_line(&prompts));
    }
    text
}

pub(super) fn warnings(evaluated: &[Evaluated]) -> Vec<String> {
    let mut warnings = Vec::new();
    each(evaluated, |place, attempt| match &attempt.outcome {
        Err(skipped) => warnings.push(format!("skipped {place}: {skipped}")),
        Ok(answer) => warnings.extend(answer.ignored.iter().map(|ignored| format!("{place}: {ignored}"))),
    });
    warnings
}

pub(super) fn details(evaluated: &[Evaluated]) -> String {
    let mut text = "Evaluations".to_owned();
    let mut total = Usage::NONE;
    each(evaluated, |place, attempt| {
        total = total.and(attempt.usage);
        let took = duration(u64::try_from(attempt.latency.as_millis()).unwrap_or(u64::MAX));
        let outcome = match &attempt.outcome {
            Err(_) => "skipped".to_owned(),
            Ok(answer) => {
                let scores = counted(answer.scores.len() as u64, "score");
                format!("{scores} counted, {} ignored or clamped", answer.ignored.len())
            }
        };
        let _ = write!(
            text,
            "\n  {place}: {took}, {}, {outcome}",
            sum_of_tokens(attempt.usage.tokens, attempt.usage.silent_calls)
        );
    });
    let answers = counted(total.answers, "answer");
    let _ = write!(
        text,
        "\n  total: {answers}, {}, cost {}",
        sum_of_tokens(total.tokens, total.silent_calls),
        cost(total.cost)
    );
    text
}

/// Calls `tell` with each attempt and its name. The name includes the debate if there is more than one debate, and the
/// run if the debate was evaluated more than once.
fn each(evaluated: &[Evaluated], mut tell: impl FnMut(&str, &Attempt)) {
    for one in evaluated {
        let debate = if evaluated.len() > 1 { format!("{}: ", one.subject.name) } else { String::new() };
        for (index, run) in one.runs.iter().enumerate() {
            let run_name = if one.runs.len() > 1 { format!(" (run {})", index + 1) } else { String::new() };
            for attempt in run {
                tell(&format!("{debate}evaluator {}{run_name}", attempt.evaluator.settings.id), attempt);
            }
        }
    }
}
