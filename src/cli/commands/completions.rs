//! `dialectic completions` prints a completion script for a shell; `dialectic man` prints or writes the manual.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use clap_complete::env::Shells;

use crate::cli::command;
use crate::cli::completion::{VARIABLE, program};
use crate::cli::terminal::Terminal;
use crate::error::Error;

#[derive(Debug, Args)]
#[command(after_long_help = "\
The script completes debates, roles, protocols and stages as well as commands and options.
  bash        echo 'source <(dialectic completions bash)' >> ~/.bashrc
  zsh         echo 'source <(dialectic completions zsh)' >> ~/.zshrc
  fish        dialectic completions fish > ~/.config/fish/completions/dialectic.fish
  elvish      echo 'eval (dialectic completions elvish | slurp)' >> ~/.elvish/rc.elv
  powershell  dialectic completions powershell | Out-String | Invoke-Expression")]
pub(in crate::cli) struct CompletionsArgs {
    /// The shell
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
    /// Write a manual page for every command into this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(in crate::cli) fn man(args: &ManArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let Some(directory) = &args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command()).render(&mut page).map_err(Error::Stdout)?;
        return terminal.text(&String::from_utf8_lossy(&page));
    };
    let failed = |source| Error::Output { path: directory.clone(), source };
    fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(command(), directory).map_err(failed)?;
    terminal.notice(&format!("Wrote the manual to {}", directory.display()));
    Ok(())
}
