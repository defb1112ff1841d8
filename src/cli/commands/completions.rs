//! `dialectic completions` prints a shell completion script; this module also answers the script's requests. `dialectic
//! man` prints or writes the manual.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::engine::ValueCompleter;
use clap_complete::env::{CompleteEnv, Shells};
use clap_complete::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter};

use crate::cli::args::LATEST;
use crate::cli::session::debates as directory;
use crate::cli::terminal::Terminal;
use crate::error::Error;
use dialectic_base::markdown::truncate;
use dialectic_base::sanitize::{one_line, sanitize};
use dialectic_record::debate::Debate;
use dialectic_record::ids::DebateId;
use dialectic_record::prompt::Role;
use dialectic_record::protocol::PROTOCOLS;
use dialectic_record::settings::Settings;
use dialectic_record::store::{AccessMode, Entry, ShortNames, read_state};

#[derive(Debug, Args)]
#[command(after_long_help = "\
The script completes debates, roles, protocols and stages as well as commands and options.
  bash        echo 'source <(dialectic completions bash)' >> ~/.bashrc
  zsh         echo 'source <(dialectic completions zsh)' >> ~/.zshrc
  fish        dialectic completions fish > ~/.config/fish/completions/dialectic.fish
  elvish      echo 'eval (dialectic completions elvish | slurp)' >> ~/.elvish/rc.elv
  powershell  dialectic completions powershell | Out-String | Invoke-Expression")]
pub(in crate::cli) struct CompletionsArgs {
    /// The shell to print a script for
    shell: clap_complete::Shell,
}

pub(in crate::cli) fn completions(args: &CompletionsArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    if let Some(shell) = shells.completer(&args.shell.to_string()) {
        let (name, program) = ("dialectic", program());
        shell.write_registration(VARIABLE, name, name, &program, &mut script).map_err(Error::Stdout)?;
    }
    terminal.text(&String::from_utf8_lossy(&script))
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ManArgs {
    /// Write a manual page for each command to this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(in crate::cli) fn man(command: Command, args: &ManArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let Some(directory) = &args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).map_err(Error::Stdout)?;
        return terminal.text(&String::from_utf8_lossy(&page));
    };
    let failed = |source| Error::Output { path: directory.clone(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    let command = command.mut_subcommand("help", |help| help.hide(true));
    clap_mangen::generate_to(command, directory).map_err(failed)?;
    terminal.notice(&format!("Wrote the manual to {}", directory.display()));
    Ok(())
}

/// The environment variable that the completion script sets when it requests completions.
const VARIABLE: &str = "DIALECTIC_COMPLETE";
/// The maximum number of debates to offer with their problem. Reading more would be slow.
const DESCRIBED: usize = 50;
/// The maximum number of characters of a problem to show.
const PROBLEM: usize = 60;
/// The number of rounds to offer for `fork --at` if the debate is unknown.
const ROUNDS: u32 = 3;

/// If the completion script started the program, which the script shows by setting [`VARIABLE`], prints the completions
/// and exits. Otherwise, does nothing.
pub(in crate::cli) fn answer_request(command: fn() -> Command) {
    CompleteEnv::with_factory(|| completing(command())).var(VARIABLE).complete();
}

fn completing(command: Command) -> Command {
    command.mut_subcommands(|command| {
        completing(command).mut_args(|arg| match arg.get_id().as_str() {
            "debate" | "debates" | "named" | "since" | "pairwise" => arg.add(ArgValueCompleter::new(debates)),
            "agents" => arg.add(ArgValueCandidates::new(roles)),
            "protocol" => arg.add(ArgValueCandidates::new(protocols)),
            "at" => arg.add(ArgValueCompleter::new(places)),
            "name" => arg.add(ArgValueCandidates::new(parts)),
            _ => arg,
        })
    })
}

/// Whether a shell needs no quotes for the text.
fn is_plain(text: &str) -> bool {
    sanitize(text) == text && !text.contains(|c: char| c.is_whitespace() || "'\"\\$`*?[]".contains(c))
}

/// Completes debates, newest first, or files if the user began to type a path. Offers short names, or ids if the user
/// began to type an id.
fn debates(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    if typed.contains(std::path::MAIN_SEPARATOR) || typed.starts_with('.') {
        return PathCompleter::file().complete(current);
    }
    let entries = directory().and_then(|directory| Ok(directory.entries()?)).unwrap_or_default();
    let names = ShortNames::of(&entries);
    let newest = (!entries.is_empty()).then(|| CompletionCandidate::new(LATEST).help(Some("the newest debate".into())));
    let known = entries.iter().enumerate().filter_map(|(index, entry)| {
        let id = DebateId::new(entry.id());
        let short = names.name(&id);
        let name = if !typed.is_empty() && id.as_str().starts_with(&*typed) { id.as_str() } else { short };
        let problem = (index < DESCRIBED).then(|| read_state(&entry.state).ok()).flatten();
        let problem = problem.map(|debate| truncate(&one_line(&debate.title()), PROBLEM).to_owned());
        is_plain(name).then(|| CompletionCandidate::new(name).help(problem.map(Into::into)).display_order(Some(index)))
    });
    let all = newest.into_iter().chain(known);
    all.filter(|one| one.get_value().to_string_lossy().starts_with(&*typed)).collect()
}

fn roles() -> Vec<CompletionCandidate> {
    let own = std::fs::read_dir("prompts/roles").into_iter().flatten().flatten();
    let own = own.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".md")?.to_owned()));
    let built_in = Role::built_in_names().into_iter().map(str::to_owned);
    built_in.chain(own).filter(|role| is_plain(role)).map(CompletionCandidate::new).collect()
}

fn protocols() -> Vec<CompletionCandidate> {
    let named =
        PROTOCOLS.iter().map(|protocol| CompletionCandidate::new(protocol.name).help(Some(protocol.about.into())));
    named.collect()
}

/// The debate whose name follows `command` in the line to complete.
fn named_debate(command: &str) -> Option<Debate> {
    let typed = std::env::args().skip_while(|word| word != "--").skip_while(|word| word != command).nth(1)?;
    let entry: Entry = directory().ok()?.find(&typed).ok()?;
    Some(entry.load(AccessMode::State).ok()?.debate)
}

/// Completes fork points, such as `start` or `2.critique`.
fn places(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    let debate = named_debate("fork");
    let of_protocols = || PROTOCOLS.iter().flat_map(|protocol| protocol.infos().to_vec()).collect();
    let stages = debate.as_ref().map_or_else(of_protocols, |debate| debate.stages.to_vec());
    let rounds = debate.map_or(ROUNDS, |debate| debate.current_round).max(1);
    let mut places = vec!["start".to_owned()];
    for stage in stages.iter().filter(|stage| stage.is_transition_target && stage.makes_calls()) {
        places.extend((1..=rounds).map(|round| format!("{round}.{}", stage.id)));
    }
    places.sort();
    places.dedup();
    places.retain(|place| place.starts_with(&*typed) && is_plain(place));
    places.into_iter().map(CompletionCandidate::new).collect()
}

fn parts() -> Vec<CompletionCandidate> {
    let Some(debate) = named_debate("show") else { return Vec::new() };
    let part = std::env::args().skip_while(|word| word != "--").skip_while(|word| word != "show").nth(2);
    let names: Vec<String> = match part.as_deref() {
        Some("round") => debate.rounds.iter().map(|round| round.round_number.to_string()).collect(),
        Some("agent") => {
            let settings = debate.settings.iter();
            settings.flat_map(Settings::everybody).map(|agent| agent.id.to_string()).collect()
        }
        Some("stage") => {
            let stages = debate.stages.iter().filter(|stage| stage.yields.is_some());
            stages.map(|stage| stage.id.to_string()).collect()
        }
        _ => Vec::new(),
    };
    names.into_iter().filter(|name| is_plain(name)).map(CompletionCandidate::new).collect()
}

/// The program's name if the shell found it by name, otherwise its path.
fn program() -> String {
    let called = std::env::args_os().next().unwrap_or_default();
    let is_path = Path::new(&called).components().count() > 1;
    let path = std::env::current_exe().ok().filter(|_| is_path);
    path.map_or_else(|| "dialectic".to_owned(), |path| path.to_string_lossy().into_owned())
}
