//! `dialectic report`: writes a report on a saved debate.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::output::{format_of, open_page, report_format, write_report};
use crate::cli::session::or_latest;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use dialectic_config::{ConfigError, ConfigFiles, ConfigPath, Overrides, process_environment};
use dialectic_record::settings::Settings;
use dialectic_record::store::Entry;
use dialectic_report::report::{FORMATS, ReportFormat};

#[derive(Debug, Args)]
pub(in crate::cli) struct ReportArgs {
    /// The debate: an id, a unique prefix or suffix of an id, or a state file [default: latest]
    #[arg(value_name = "PATH-OR-ID")]
    debate: Option<String>,

    /// Same as the PATH-OR-ID argument
    #[arg(short = 'd', long = "debate", value_name = "PATH-OR-ID", conflicts_with = "debate")]
    named: Option<String>,

    /// Take the agents' names and models from this configuration, matched by id [default: from the record]
    #[arg(short, long, value_name = "PATH")]
    config: Option<PathBuf>,

    /// Write to this file, inferring the format from its extension [default: Markdown to standard output]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,

    /// The report format [default: from the file extension]
    #[arg(long, value_name = "FORMAT", value_parser = report_format())]
    format: Option<&'static ReportFormat>,

    /// With `--format adr`, overwrite a file that was edited or is not a decision record
    #[arg(long)]
    force: bool,

    /// Open the report as an HTML page in a browser; without `--output`, it is saved next to the debate
    #[arg(long)]
    open: bool,

    /// Include the latency and tokens of each contribution
    #[arg(short, long)]
    verbose: bool,
}

impl ReportArgs {
    pub(super) fn name(&self) -> Option<&str> {
        self.debate.as_deref().or(self.named.as_deref())
    }
}

pub(in crate::cli) fn run(args: &ReportArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = or_latest(args.name())?;
    if args.output.as_deref().is_some_and(|output| is_of(&entry, output)) {
        let message = "must not be one of the debate's own files".to_owned();
        return Err(ConfigError::Argument { option: "--output", message }.into());
    }
    let format = match (args.format, args.output.as_deref()) {
        (Some(format), _) => format,
        (None, Some(path)) => format_of("--output", path)?,
        (None, None) if args.open => FORMATS.iter().find(|format| format.is_page()).unwrap_or(ReportFormat::usual()),
        (None, None) => ReportFormat::usual(),
    };
    if args.open && !format.is_page() {
        let message = "needs an HTML report: use a file that ends in .html, or omit --format";
        return Err(ConfigError::Argument { option: "--open", message: message.to_owned() }.into());
    }
    let configured = args.config.as_deref().map(|path| configured(path, terminal)).transpose()?.flatten();
    let beside = args.open.then(|| entry.state.with_extension("html"));
    let output = args.output.as_deref().or(beside.as_deref());
    // Check only an existing regular file, because nothing else contains text that the user may have edited.
    let existing = output.filter(|path| path.is_file() && !args.force);
    if let Some((path, text)) = existing.and_then(|path| Some((path, fs::read(path).ok()?)))
        && !format.may_replace(&String::from_utf8_lossy(&text))
    {
        let message = format!("{} was edited, or is not a decision record", path.display());
        return Err(UserError::input(message).with_hint("--force overwrites it").into());
    }
    write_report(&entry, configured.as_ref(), output, args.verbose, Some(format), terminal)?;
    if let Some(page) = output.filter(|_| args.open) {
        open_page(page, &process_environment(), terminal);
    }
    Ok(())
}

/// Whether `path` is one of the debate's own files, or a link to one.
fn is_of(entry: &Entry, path: &Path) -> bool {
    let Ok(path) = fs::canonicalize(path) else { return false };
    let mut own = [&entry.state].into_iter().chain(&entry.journal);
    own.any(|file| fs::canonicalize(file).is_ok_and(|file| file == path))
}

/// Warns and returns `None` if the file does not exist, because the default settings would not fit this debate.
fn configured(path: &Path, terminal: &mut Terminal) -> Result<Option<Settings>, Error> {
    if !path.exists() {
        let path = path.display();
        terminal.warning(&format!("Config not found at {path}. Using the debate's own settings."));
        return Ok(None);
    }
    let environment = process_environment();
    let loaded = ConfigFiles::new(ConfigPath::Named(path.to_owned()), &environment).load(&Overrides::default())?;
    terminal.warnings(&loaded.warnings);
    Ok(Some(loaded.settings))
}
