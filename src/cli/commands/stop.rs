//! `dialectic stop`: closes a debate early, even one that another process runs.

use crate::cli::args::StopArgs;
use crate::cli::session::debates;
use crate::cli::terminal::Terminal;
use crate::error::Error;
use crate::status::{Presence, Standing};
use dialectic_record::store::AccessMode;

pub(in crate::cli) fn run(args: &StopArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = debates()?.find(&args.which.debate)?;
    let standing = || {
        let before = Presence::of(&entry);
        Ok::<_, Error>(Standing::of(&entry, &entry.load(AccessMode::State)?.debate, before))
    };
    let is_over = |standing| matches!(standing, Standing::Completed | Standing::Failed | Standing::Unfinished);
    let before = standing()?;
    if is_over(before) {
        terminal.notice(&format!("The debate {} is {} and cannot be stopped.", entry.id(), before.name()));
        return Ok(());
    }
    entry.order_stop()?;
    let now = standing()?;
    if is_over(now) {
        // The debate ended in the meantime, and no run will obey.
        entry.forget_stop();
        terminal.notice(&format!("The debate {} is already {}.", entry.id(), now.name()));
    } else if now == Standing::Running {
        terminal.notice(&format!("The debate {} closes when it has a text.", entry.id()));
    } else {
        let id = entry.id();
        terminal
            .notice(&format!("The debate {id} is {}; it closes when it is resumed: dialectic resume {id}", now.name()));
    }
    Ok(())
}
