//! `dialectic rate`: rates a debate.

use crate::cli::args::RateArgs;
use crate::cli::session::debates;
use crate::cli::terminal::Terminal;
use crate::error::Error;
use dialectic_record::debate::Event;

pub(in crate::cli) fn run(args: &RateArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let directory = debates()?;
    let entry = directory.find(&args.which.debate)?;
    let note = args.note.as_deref().map(str::trim).filter(|note| !note.is_empty()).map(str::to_owned);
    let debate = entry.note(|_| Some(Event::Rated { rating: args.rating, note }))?;
    terminal.notice(&format!("Rated {} {:+}", debate.id, args.rating));
    Ok(())
}
