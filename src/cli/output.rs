//! Writes results and reports to files, opens pages in the browser, and runs the pager.

use std::fs;
use std::io::Write;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::error::Error;
use crate::status::Standing;
use dialectic_config::ConfigError;
use dialectic_engine::access::Environment;
use dialectic_record::debate::{Debate, DebateFile, Settings};
use dialectic_record::protocol::side;
use dialectic_record::store::{AccessMode, Entry};
use dialectic_report::report::{FORMATS, ReportFormat, View, redact};

use super::dialogue::is_automated;
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

/// The format for the path's extension, or Markdown if there is none. Fails on an unknown extension; `option` names the
/// argument in the error.
pub(super) fn format_of(option: &'static str, path: &Path) -> Result<&'static ReportFormat, Error> {
    if path.extension().is_none() {
        return Ok(ReportFormat::usual());
    }
    let is_of = |format: &&ReportFormat| format.endings.iter().any(|ending| has_extension(path, ending));
    FORMATS.iter().find(is_of).ok_or_else(|| {
        let endings: Vec<String> = FORMATS.iter().flat_map(|one| one.endings).map(|one| format!(".{one}")).collect();
        let (path, endings) = (path.display(), endings.join(", "));
        let message = format!("names `{path}`, which does not have the extension of a report: use one of {endings}");
        ConfigError::Argument { option, message }.into()
    })
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

/// Writes the whole state if the path ends in `.json`, otherwise only the solution.
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

/// Writes a report to `path`, or to standard output. Without `format`, the path's extension decides. Participants are
/// taken from `configured` if it matches the record, otherwise from the record.
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
        return Err(ConfigError::Argument { option: "--format", message: message.to_owned() }.into());
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
    terminal.warning(&format!("the report `{given}` ends in neither .md nor .html; writing it to {written}"));
    named
}

/// Opens a page in the user's browser. On failure, prints where the page is.
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
    terminal.warning(&format!("cannot open the page: {why}; it is saved as {}", path.display()));
}

/// Whether `path` is `-` or another name of standard output, such as `/dev/stdout`.
pub(super) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || OutputTarget::find(path).is_ok_and(|target| target.is_stdout())
}

pub(super) fn make_parent(path: &Path) -> Result<(), Error> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => fs::create_dir_all(parent).map_err(|source| Error::Output { path: parent.to_owned(), source }),
        None => Ok(()),
    }
}

/// Quotes a path for the shell, if necessary.
pub(super) fn typed(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || c == MAIN_SEPARATOR || "/:._-+@".contains(c);
    if path.chars().all(is_plain) { path } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

const DEFAULT: &str = "less -R";
/// Options for `less` if the user has not set any: show colours, and leave the text on the screen.
const LESS: &str = "RX";

/// Whether a pager controls the terminal and therefore receives Ctrl-C.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

pub(super) fn is_open() -> bool {
    IS_OPEN.load(Ordering::SeqCst)
}

/// The pager from `PAGER`, or the default one. `None` on Windows, in CI, or if the user chose `cat`.
pub(super) fn wanted(environment: &Environment) -> Option<String> {
    if !cfg!(unix) || is_automated(environment) {
        return None;
    }
    let pager = environment.get("PAGER").unwrap_or(DEFAULT).trim();
    (pager != "cat").then(|| pager.to_owned())
}

/// Shows `text` in a pager. Returns false if the pager is not installed.
pub(super) fn page(pager: &str, text: &str, environment: &Environment) -> bool {
    let mut command = Command::new("sh");
    // `command -v` detects a missing pager before anything is written.
    let script =
        format!("command -v {} >/dev/null 2>&1 || exit 127; exec {pager}", pager.split(' ').next().unwrap_or_default());
    command.args(["-c", &script]).stdin(Stdio::piped());
    if environment.get("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let Ok(mut child) = command.spawn() else { return false };
    IS_OPEN.store(true, Ordering::SeqCst);
    if let Some(mut input) = child.stdin.take() {
        // The user may close the pager early.
        drop(input.write_all(text.as_bytes()));
    }
    let status = child.wait();
    IS_OPEN.store(false, Ordering::SeqCst);
    status.is_ok_and(|status| status.code() != Some(127))
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
