//! `dialectic review`: reviews a change with agents.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::change::{Change, Found, Repository, Wanted, paths_of, piped, unreadable, unseen};
use crate::cli::args::{CallsArgs, LATEST, ModelArgs, RunArgs, choice, dollars};
use crate::cli::output::{ReviewEnd, ReviewFormat};
use crate::cli::session::{Session, debates, runner};
use crate::cli::terminal::Terminal;
use crate::cli::{dialogue, input};
use crate::error::{Error, ErrorCategory, UserError};
use dialectic_base::figures::{counted, list};
use dialectic_base::money::Usd;
use dialectic_base::provider::{HOST, calls_models};
use dialectic_config::{
    ConfigError, ConfigFiles, ConfigPath, DEFAULT_PATH, Loaded, ModelChoice, Overrides, capture_environment,
    debates_directory, model_warnings, process_environment, users_environment,
};
use dialectic_engine::access::{Environment, is_program, is_trusted};
use dialectic_engine::runner::new_debate;
use dialectic_engine::tools::FILE_TOOLS;
use dialectic_record::answer::Solution;
use dialectic_record::change::ChangeSet;
use dialectic_record::debate::{Debate, Status};
use dialectic_record::event::Created;
use dialectic_record::live::Forecast;
use dialectic_record::points::Severity;
use dialectic_record::protocol::REVIEW;
use dialectic_record::settings::{Settings, ToolSettings};
use dialectic_record::store::{AccessMode, read_state};

use super::debate::{dry_run, print_json, today};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a command-line option")]
#[command(mut_arg("env_file", |file| file.help("Read API keys and other variables from this file [default: .env, unless it may be part of the change]")))]
#[command(mut_arg("output", |output| output.help("Write the review to a file in the chosen format; with `--format terminal`, a `.json` file gets the whole state")))]
#[command(mut_arg("events", |events| events.help("Write each event as a line of JSON to this file; with `-`, print the events instead of the review")))]
#[command(mut_arg("strict", |strict| strict.help("Exit with code 5 if a blocking or major finding remains; an incomplete review always exits with code 5")))]
pub(in crate::cli) struct ReviewArgs {
    /// Review only these files or directories
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// The base branch or commit; the change starts at the merge base [default: the main branch of origin, else main or
    /// master]
    #[arg(help_heading = "Change", long, value_name = "REVISION")]
    base: Option<String>,

    /// The head branch or commit [default: the working tree, including uncommitted and untracked files]
    #[arg(help_heading = "Change", long, value_name = "REVISION")]
    head: Option<String>,

    /// Leave out untracked files
    #[arg(help_heading = "Change", long, conflicts_with = "head")]
    tracked: bool,

    /// Compare with an earlier review (an id or `latest`): report which of its findings are fixed and which remain
    #[arg(help_heading = "Change", long, value_name = "REVIEW")]
    since: Option<String>,

    /// The output format
    #[arg(help_heading = "Output", long, value_name = "FORMAT", value_enum, default_value_t = ReviewFormat::Terminal, conflicts_with = "detach")]
    format: ReviewFormat,

    /// Exit with code 6 if a finding at least this severe remains
    #[arg(help_heading = "Output", long, value_name = "SEVERITY", value_parser = choice(FAIL_ON), conflicts_with = "detach")]
    fail_on: Option<Severity>,

    #[command(flatten)]
    models: ModelArgs,

    /// Do not let the agents read the repository; they see only the change
    #[arg(help_heading = "Agents and models", long)]
    no_tools: bool,

    /// Use models from different vendors, depending on which keys are set and which programs are installed
    #[arg(help_heading = "Agents and models", long, conflicts_with = "model")]
    mixed: bool,

    /// Comma-separated roles of the reviewers. Uses your configured agents with these roles, otherwise built-in ones
    #[arg(help_heading = "Agents and models", short, long, value_name = "ROLES", value_delimiter = ',')]
    agents: Option<Vec<String>>,

    /// The configuration file [default: ./debate-config.json at the base revision]
    #[arg(help_heading = "Agents and models", short, long, value_name = "PATH")]
    config: Option<PathBuf>,

    /// Rehearse without a model; needs no key and costs nothing
    #[arg(help_heading = "Agents and models", long)]
    offline: bool,

    /// The cost limit in dollars, including the judge's ruling
    #[arg(help_heading = "Cost", long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    max_cost: Option<Usd>,

    #[command(flatten)]
    calls: CallsArgs,

    /// Print the planned calls with their tokens and likely and maximum cost, without calling a model
    #[arg(help_heading = "Cost", long, conflicts_with = "detach")]
    dry_run: bool,

    /// Print every call of the dry run as JSON
    #[arg(hide_short_help = true, help_heading = "Cost", long, requires = "dry_run")]
    json: bool,

    #[command(flatten)]
    pub(super) run: RunArgs,
}

const FAIL_ON: &[(&str, &str, Severity)] = &[
    ("blocking", "Only blocking findings", Severity::Blocking),
    ("major", "Blocking and major findings", Severity::Major),
];

/// The maximum size of a piped diff, in bytes.
const MOST: u64 = 64 << 20;
/// The maximum number of tool calls per answer, for agents without tools of their own.
const TOOL_CALLS: u32 = 6;
const ENV_FILE: &str = ".env";

enum Source {
    Repository(Repository),
    Pipe(Vec<u8>),
}

pub(in crate::cli) fn run(args: &ReviewArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let here = Path::new(".");
    let directory = here.canonicalize().map_err(|source| unreadable(here, source))?;
    let source = source(args, &directory, terminal)?;
    let environment = environment(args, &source, &directory, terminal)?;
    let files = ConfigFiles::new(config_path(args, &source, &directory, &environment, terminal)?, &environment);
    let Loaded { mut settings, warnings, choice, hooks, .. } =
        files.load(&overrides(args)).map_err(|error| match error {
            ConfigError::Untrusted { path, fault } => untrusted(&path, fault, &directory),
            error => error.into(),
        })?;
    let warnings = [warnings, model_warnings(&settings, today())].concat();
    let earlier = args.since.as_deref().map(earlier).transpose()?;
    let root = if let Source::Repository(repository) = &source { Some(repository.root()) } else { None };
    let wanted = Wanted::of(&args.paths, &directory, root)?;
    let change = match &source {
        Source::Repository(repository) => {
            repository.check_paths(&wanted, earlier.as_ref().and_then(|earlier| earlier.change.as_deref()))?;
            let own = directory.join(debates_directory(&process_environment())?);
            repository.change(&wanted, &own, args.tracked, &settings, &environment)?
        }
        Source::Pipe(bytes) => piped(bytes, &directory, &wanted, &settings, &environment)?,
    };
    // The debate to report if there is nothing to review.
    let unchanged = |result: &str| match (&earlier, &source) {
        (Some(earlier), Source::Repository(repository)) => {
            repository.without_change(earlier, &wanted, &settings, &environment)
        }
        (Some(earlier), Source::Pipe(_)) => Ok(unseen(earlier, &wanted)),
        (None, Source::Repository(_) | Source::Pipe(_)) => {
            let solution = Solution { description: format!("**{result}**\n"), ..Solution::default() };
            Ok(Debate { status: Status::Completed, final_solution: Some(solution), ..Debate::default() })
        }
    };
    // A dry run does not fail because of findings.
    let end = ReviewEnd { format: args.format, fail_on: args.fail_on.filter(|_| !args.dry_run) };
    let end_unchanged = |result: &str, terminal: &mut Terminal| {
        let debate = unchanged(result)?;
        if args.json {
            return print_json(&Forecast { calls: Vec::new(), purchase: None }, &settings, terminal);
        }
        if !args.dry_run && (args.run.report.is_some() || args.run.events.is_some()) {
            terminal.notice("--report and --events write nothing: without a change, there is no debate.");
        }
        end.print(&debate, &args.run, terminal)?;
        end.check_findings(&debate)
    };
    let change = match change {
        Found::Change(change) => *change,
        Found::Nothing => {
            terminal.notice("Nothing to review: no changes.");
            return end_unchanged("No changes, no findings.", terminal);
        }
        Found::OnlyPermissions => {
            terminal.notice("Nothing to review: only file modes changed.");
            return end_unchanged("Only file modes changed; nothing to review.", terminal);
        }
    };
    let mut change = match &earlier {
        Some(earlier) => change.since(earlier, &settings, &environment)?,
        None => change,
    };
    match &source {
        _ if args.no_tools => equip(&mut settings, &[]),
        Source::Repository(repository) => {
            equip(&mut settings, FILE_TOOLS);
            settings.context_dir = Some(directory);
            repository.add_uses(&mut change, &settings, &environment)?;
        }
        Source::Pipe(_) => {}
    }
    let Change { problem, attachments, set } = change;
    settings.debate.rounds = set.parts();
    let read = receipt(&set);
    let set = Some(Arc::new(set));
    let created = Created { attachments, change: set, ..new_debate(problem, &REVIEW, settings.clone()) };
    if args.dry_run {
        tell(&read, choice.as_ref(), &warnings, terminal);
        return dry_run(&created, &runner(environment)?, args.json, terminal);
    }
    let mut session = Session::open(&args.run, &settings, hooks, &environment, terminal)?;
    choice.iter().try_for_each(ModelChoice::callable)?;
    let runner = runner(environment)?;
    let prepared = runner.prepare(created.clone())?;
    tell(&read, choice.as_ref(), &warnings, terminal);
    terminal.warnings(prepared.panel().warnings.iter().cloned().chain(runner.check_prompts(&created)?));
    prepared.check_limit()?;
    let foreseen = dialogue::agreed(&prepared, &settings, terminal)?;
    session.review = Some(end);
    session.run(prepared.begin()?, foreseen, terminal)
}

/// The review that `--since` names; `latest` is the newest finished one.
fn earlier(name: &str) -> Result<Debate, Error> {
    // Ignore rehearsals, because their findings do not come from a model.
    let is_review =
        |debate: &Debate| debate.change.is_some() && debate.status == Status::Completed && !debate.is_offline();
    if name == LATEST {
        let entries = debates()?.entries()?.into_iter();
        let newest = entries.filter_map(|entry| read_state(&entry.state).ok()).find(is_review);
        return newest.ok_or_else(|| UserError::input("--since latest: no finished review found").into());
    }
    let debate = debates()?.find(name)?.load(AccessMode::State)?.debate;
    if is_review(&debate) {
        return Ok(debate);
    }
    let what = if debate.is_offline() { "a rehearsal" } else { "not a finished review" };
    Err(UserError::input(format!("{} is {what}", debate.id)).into())
}

/// Gives the agents and the judge `tools`, except those that use the offline provider, the host or a command-line
/// program. If `tools` is empty, removes all tools instead.
fn equip(settings: &mut Settings, tools: &[&str]) {
    let Settings { agents, judge, providers, .. } = settings;
    for agent in agents.iter_mut().chain([judge]) {
        if tools.is_empty() {
            agent.tools.clear();
        }
        if !calls_models(&agent.provider) || agent.provider == HOST || is_program(&agent.provider, providers) {
            continue;
        }
        if agent.tools.is_empty() {
            agent.tool_call_limit = agent.tool_call_limit.min(TOOL_CALLS);
        }
        for name in tools {
            if agent.tools.iter().all(|tool| tool.name != *name) {
                agent.tools.push(ToolSettings { name: (*name).to_owned() });
            }
        }
    }
}

fn tell(read: &[String], choice: Option<&impl ToString>, warnings: &[String], terminal: &mut Terminal) {
    terminal.notices(choice.map(ToString::to_string).iter().chain(read));
    terminal.warnings(warnings);
}

fn receipt(set: &ChangeSet) -> Vec<String> {
    let whole = set.files.iter().filter(|file| file.lines.is_some()).count();
    let files = counted(set.files.len() as u64, "file");
    let parts = if set.parts() > 1 { format!(", in {} parts", set.parts()) } else { String::new() };
    let mut lines = vec![format!("Reviewing {}: {files}, {whole} shown in full{parts}", set.of)];
    if !set.left_out.is_empty() {
        let first: Vec<String> =
            set.left_out.iter().take(5).map(|one| format!("{} ({})", one.path, one.reason)).collect();
        let more = set.left_out.len().saturating_sub(first.len());
        let more = if more > 0 { format!("; and {more} more, listed at the end of the review") } else { String::new() };
        lines.push(format!("Left out: {}{more}", list(&first)));
    }
    lines
}

/// A piped diff takes precedence over the repository, unless an option names a revision.
fn source(args: &ReviewArgs, directory: &Path, terminal: &mut Terminal) -> Result<Source, Error> {
    let names_a_revision = args.base.is_some() || args.head.is_some();
    if !names_a_revision && input::may_have_text() {
        let unreadable = |source| unreadable(Path::new("-"), source);
        let bytes = input::read_stdin("the diff", MOST, terminal).map_err(unreadable)?;
        if !bytes.iter().all(u8::is_ascii_whitespace) {
            return Ok(Source::Pipe(bytes));
        }
    }
    let (base, head) = (args.base.as_deref(), args.head.as_deref());
    Repository::open(directory, base, head, &process_environment()).map(Source::Repository)
}

/// Names the user's path instead of the copy of the base revision's file. Trusting that path helps only if its content
/// is that of the base.
fn untrusted(copy: &Path, fault: String, directory: &Path) -> Error {
    let is_same = std::fs::read(copy).ok() == std::fs::read(directory.join(DEFAULT_PATH)).ok();
    if is_same {
        return ConfigError::Untrusted { path: DEFAULT_PATH.into(), fault }.into();
    }
    let message = format!("`{DEFAULT_PATH}` at the base revision is not trusted, so {fault}");
    let hint = format!("to use the working tree's file, which differs, run with -c {DEFAULT_PATH}");
    UserError::of(ErrorCategory::Configuration, message).with_hint(hint).into()
}

/// The named configuration, or the one at the base revision, so that the change cannot influence its own review.
fn config_path(
    args: &ReviewArgs,
    source: &Source,
    directory: &Path,
    environment: &Environment,
    terminal: &mut Terminal,
) -> Result<ConfigPath, Error> {
    if let Some(path) = &args.config {
        return Ok(ConfigPath::Named(path.clone()));
    }
    let there = directory.join(DEFAULT_PATH);
    let found = match source {
        Source::Repository(repository) => repository.base_config(directory)?,
        Source::Pipe(_) => None,
    };
    let is_used = |found: &Option<PathBuf>| match found {
        Some(found) => std::fs::read(found).ok() == std::fs::read(&there).ok(),
        None => !there.exists(),
    };
    if !is_used(&found) {
        let place = match source {
            Source::Repository(_) => "it differs from the base revision",
            Source::Pipe(_) => "it may be part of the change",
        };
        terminal.notice(&format!("Not using debate-config.json: {place}; to use it: -c debate-config.json"));
    }
    let is_trusted =
        |found: &PathBuf| std::fs::read_to_string(found).is_ok_and(|text| is_trusted(&there, &text, environment));
    Ok(match found {
        Some(found) if is_trusted(&found) => ConfigPath::Named(found),
        Some(found) => ConfigPath::Found(found),
        None => ConfigPath::None,
    })
}

/// Reads the directory's `.env` only if the change cannot have written it.
fn environment(
    args: &ReviewArgs,
    source: &Source,
    directory: &Path,
    terminal: &mut Terminal,
) -> Result<Environment, Error> {
    if let Some(path) = &args.run.env_file {
        return Ok(capture_environment(Some(path))?);
    }
    let path = directory.join(ENV_FILE);
    if !path.exists() && !path.is_symlink() {
        return Ok(users_environment()?);
    }
    // On a case-insensitive file system, opening `.env` may open a `.ENV` from the change.
    let is_named_exactly = directory
        .read_dir()
        .is_ok_and(|entries| entries.filter_map(Result::ok).any(|entry| entry.file_name() == ENV_FILE));
    let is_own = is_named_exactly
        && match source {
            Source::Repository(repository) => repository.is_unchanged(&path)?,
            Source::Pipe(bytes) => {
                let names = paths_of(bytes);
                let is_named = names
                    .iter()
                    .any(|name| Path::new(name).file_name().is_some_and(|name| name.eq_ignore_ascii_case(ENV_FILE)));
                let repository = Repository::open(directory, Some("HEAD"), None, &process_environment());
                !is_named && repository.is_ok_and(|repository| repository.is_untracked(&path))
            }
        };
    if is_own {
        return Ok(capture_environment(None)?);
    }
    terminal.notice("Not reading .env: it may be part of the change; to read it: --env-file .env");
    Ok(users_environment()?)
}

fn overrides(args: &ReviewArgs) -> Overrides {
    Overrides {
        agents: args.agents.clone(),
        model: args.models.model.clone(),
        judge_model: args.models.judge_model.clone(),
        mixed: args.mixed,
        rounds: Some(REVIEW.default_rounds),
        protocol: Some(REVIEW.name.to_owned()),
        offline: args.offline,
        max_cost: args.max_cost,
        max_calls: args.calls.max_calls,
        ..Overrides::default()
    }
}
