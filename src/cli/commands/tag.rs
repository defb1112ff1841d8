//! `dialectic tag`: tags a debate.

use crate::cli::args::TagArgs;
use crate::cli::session::debates;
use crate::cli::terminal::Terminal;
use crate::error::Error;
use dialectic_record::debate::Debate;
use dialectic_record::store::AccessMode;

pub(in crate::cli) fn run(args: &TagArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = debates()?.find(&args.which.debate)?;
    if args.add.is_empty() && args.remove.is_empty() {
        let saved = entry.load(AccessMode::State)?;
        terminal.warnings(&saved.warnings);
        return listed(&saved.debate, terminal);
    }
    let debate = entry.note(|debate| debate.retagged(&args.add, &args.remove))?;
    let tags = if debate.tags.is_empty() { "no tags".to_owned() } else { debate.tags.join(", ") };
    terminal.notice(&format!("{}: {tags}", debate.id));
    Ok(())
}

/// Prints the tags, a line each.
fn listed(debate: &Debate, terminal: &mut Terminal) -> Result<(), Error> {
    if debate.tags.is_empty() {
        terminal.notice(&format!("{} has no tags.", debate.id));
        return Ok(());
    }
    terminal.text(&debate.tags.join("\n"))
}
