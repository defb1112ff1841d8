//! Writes results, reports and reviews to files, decides whether a review passes, and opens pages in the browser.

use std::borrow::Cow;
use std::fs;
use std::io::Write;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::error::{Error, UserError};
use crate::status::Standing;
use dialectic_base::figures::counted;
use dialectic_config::ConfigError;
use dialectic_engine::access::Environment;
use dialectic_record::debate::{Debate, DebateFile};
use dialectic_record::points::{ReviewedFinding, Severity};
use dialectic_record::protocol::motion::side;
use dialectic_record::settings::Settings;
use dialectic_record::store::{AccessMode, Entry};
use dialectic_report::report::{FORMATS, ReportFormat, View, redact, review_github, review_json, review_sarif};

use super::args::RunArgs;
use super::target::OutputTarget;
use super::terminal::Terminal;

pub(super) fn report_format() -> impl TypedValueParser<Value = &'static ReportFormat> {
    let names = FORMATS.iter().map(|format| {
        let endings: Vec<String> = format.endings.iter().map(|ending| format!(".{ending}")).collect();
        let endings = if endings.is_empty() { String::new() } else { format!(": {}", endings.join(" ")) };
        PossibleValue::new(format.name).help(format!("{}{endings}", format.about))
    });
    PossibleValuesParser::new(names).try_map(|name| ReportFormat::named(&name).ok_or("unknown format"))
}

/// The report format for the extension of `path`; Markdown if the path has no extension. Fails if the extension is
/// unknown. `option` names the argument in the error.
pub(super) fn format_of(option: &'static str, path: &Path) -> Result<&'static ReportFormat, Error> {
    if path.extension().is_none() {
        return Ok(ReportFormat::usual());
    }
    let is_of = |format: &&ReportFormat| format.endings.iter().any(|ending| has_extension(path, ending));
    FORMATS.iter().find(is_of).ok_or_else(|| {
        let endings: Vec<String> = FORMATS.iter().flat_map(|one| one.endings).map(|one| format!(".{one}")).collect();
        let (path, endings) = (path.display(), endings.join(", "));
        let message = format!("cannot be `{path}`: use one of the extensions {endings}");
        ConfigError::Argument { option, message }.into()
    })
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

pub(super) fn write_output(path: &Path, debate: &Debate, solution: &str) -> Result<(), Error> {
    let json = has_extension(path, "json");
    OutputTarget::find(path)?.write(|out| {
        if json {
            serde_json::to_writer_pretty(&mut *out, &DebateFile::of(debate))?;
            out.write_all(b"\n")
        } else {
            out.write_all(solution.as_bytes())
        }
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ReviewFormat {
    /// Human-readable text
    Terminal,
    /// Markdown, with model-written links, mentions and suggestions disabled
    Markdown,
    /// JSON with the findings, confirmations, rulings and the files that were read
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// A pull request review for GitHub's API: always a comment, never an approval
    Github,
}

/// The exit code of a review with a finding that `--fail-on` forbids.
const FINDINGS: u8 = 6;

#[derive(Debug, Clone, Copy)]
pub(super) struct ReviewEnd {
    pub(super) format: ReviewFormat,
    pub(super) fail_on: Option<Severity>,
}

impl ReviewEnd {
    pub(super) fn print(self, debate: &Debate, args: &RunArgs, terminal: &mut Terminal) -> Result<(), Error> {
        let solution = debate.final_solution.as_ref().map(|solution| solution.description.as_str()).unwrap_or_default();
        let is_saved = !debate.id.as_str().is_empty();
        let as_json = args.output.as_deref().is_some_and(|path| has_extension(path, "json"));
        let written = match self.format {
            // There is no state to write if nothing was reviewed.
            ReviewFormat::Terminal if as_json && !is_saved => format!("{:#}\n", review_json(debate, |_| true)).into(),
            ReviewFormat::Terminal | ReviewFormat::Markdown => Cow::Borrowed(solution),
            ReviewFormat::Json => format!("{:#}\n", review_json(debate, |_| true)).into(),
            ReviewFormat::Sarif => review_sarif(debate).into(),
            ReviewFormat::Github => review_github(debate).into(),
        };
        match &args.output {
            Some(path) => {
                if self.format == ReviewFormat::Terminal && is_saved {
                    write_output(path, debate, &written)?;
                } else {
                    OutputTarget::find(path)?.write(|out| out.write_all(written.as_bytes()))?;
                }
                terminal.notice(&format!("Wrote the result to {}", path.display()));
                Ok(())
            }
            None if args.events.as_deref().is_some_and(is_stdout) => Ok(()),
            None if self.format == ReviewFormat::Terminal => terminal.solution(&written, false),
            None => terminal.result_from(|out| out.write_all(written.as_bytes())),
        }
    }

    /// Returns an error if `--fail-on` forbids a finding that is neither dismissed nor fixed. If there was no change to
    /// review, the debate's id is empty.
    pub(super) fn check_findings(self, debate: &Debate) -> Result<(), Error> {
        let fails = |finding: &&ReviewedFinding| {
            finding.is_kept() && self.fail_on.is_some_and(|least| finding.severity <= least)
        };
        let failing = debate.findings().iter().filter(fails).count();
        if let (1.., Some(least)) = (failing, self.fail_on) {
            let findings = counted(failing as u64, "finding");
            let graver = if least == Severity::Blocking { "" } else { " or more severe" };
            let are = if failing == 1 { "is" } else { "are" };
            let severe = format!("{are} {}{graver}", least.name());
            let id = Some(&debate.id).filter(|id| !id.as_str().is_empty());
            let said = match id {
                Some(id) => format!("the review {id} has {findings} that {severe}"),
                None => format!("{findings} {severe}"),
            };
            let hint = id.map(|id| format!("`dialectic show {id}` shows the findings again"));
            return Err(Error::Coded { code: FINDINGS, said, hint });
        }
        Ok(())
    }
}

/// Without `path`, writes to standard output. Without `format`, the path's extension selects the format; Markdown is
/// the default. The settings of an agent come from `configured` if it contains the agent's id, otherwise from the
/// record.
pub(super) fn write_report(
    entry: &Entry,
    configured: Option<&Settings>,
    path: Option<&Path>,
    is_verbose: bool,
    format: Option<&'static ReportFormat>,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let by_ending = || path.map_or(Ok(ReportFormat::usual()), |path| format_of("--output", path));
    let format = format.map_or_else(by_ending, Ok)?;
    let mut saved = entry.load(AccessMode::State)?;
    terminal.warnings(&saved.warnings);
    if let Some(message) = format.lacks(&saved.debate) {
        return Err(UserError::input(format!("`{}` {message}", format.name)).into());
    }
    redact(&mut saved.debate);
    let view = View::new(&saved.debate, configured).with_sides(side);
    let view = view.with_standing(Standing::listed(entry, &saved.debate)).with_usage(is_verbose);
    let write = |out: &mut dyn Write| format.write(&view, out);
    let Some(path) = path else {
        return if format.is_markdown() { terminal.markdown_from(write) } else { terminal.result_from(write) };
    };
    OutputTarget::prepare(path)?.write(write)?;
    terminal.notice(&format!("Generated report: {}", path.display()));
    Ok(())
}

/// The path for `--report`. Appends `.md`, with a warning, if the extension is missing, `.txt` or unknown.
pub(super) fn report_path(path: &Path, terminal: &mut Terminal) -> PathBuf {
    let mut known = FORMATS.iter().flat_map(|format| format.endings).filter(|ending| **ending != "txt");
    if known.any(|ending| has_extension(path, ending)) {
        return path.to_owned();
    }
    let mut named = path.as_os_str().to_owned();
    named.push(".md");
    let named = PathBuf::from(named);
    let (given, written) = (path.display(), named.display());
    terminal.warning(&format!(
        "the report path `{given}` does not end in .md, .html or .json; writing the report to {written}"
    ));
    named
}

pub(super) fn open_page(path: &Path, environment: &Environment, terminal: &mut Terminal) {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let has_display =
        ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"].iter().any(|name| environment.has(name));
    let why = if cfg!(target_os = "linux") && !has_display {
        "there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)".to_owned()
    } else {
        match opener::open_browser(&path) {
            Ok(()) => return,
            Err(error) => error.to_string(),
        }
    };
    terminal.warning(&format!("cannot open the page: {why}; the page is saved as {}", path.display()));
}

/// Whether `path` is `-` or another name of standard output, such as `/dev/stdout`.
pub(super) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || OutputTarget::find(path).is_ok_and(|target| target.is_stdout())
}

/// Quotes a path for the shell, if necessary.
pub(super) fn typed(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || c == MAIN_SEPARATOR || "/:._-+@".contains(c);
    if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_be_typed_as_it_is_printed() {
        assert_eq!(typed(Path::new("/home/me/.cache/dialectic/demo.json")), "/home/me/.cache/dialectic/demo.json");
        assert_eq!(typed(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
