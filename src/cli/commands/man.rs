//! `dialectic man`: prints the manual.

use std::fs;

use crate::cli::args::ManArgs;
use crate::cli::command;
use crate::cli::terminal::Terminal;
use crate::error::Error;

pub(in crate::cli) fn run(args: &ManArgs, terminal: &mut Terminal) -> Result<(), Error> {
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
