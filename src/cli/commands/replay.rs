//! `dialectic replay`: shows a past debate again. Calls nothing and writes nothing.

use std::path::Path;

use tokio::sync::mpsc::unbounded_channel;

use crate::cli::args::ReplayArgs;
use crate::cli::conclusion::tell_outcome;
use crate::cli::interrupt::Interrupts;
use crate::cli::output::is_stdout;
use crate::cli::session::{DEBATES, event_sink};
use crate::cli::terminal::Terminal;
use crate::debate::{Debate, Moment, Status, fold, timeline};
use crate::display::{DisplayEnd, DisplayOptions, EventSink, PanelInfo, Speed, play, run as display};
use crate::error::Error;
use crate::store::{Directory, StoreError, read_journal};

pub(in crate::cli) fn run(args: &ReplayArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = Directory::at(DEBATES).find(&args.debate)?;
    let journal = super::journal_of(&entry)?;
    let events = read_journal(journal).map_err(StoreError::from)?.events;
    let debate = fold(&events).map_err(|source| StoreError::Fold { path: journal.to_owned(), source })?;
    let Some(settings) = &debate.settings else { return Err(Error::NoJournal { id: debate.id }) };
    let panel = PanelInfo::from(settings);
    let options = DisplayOptions { progress: terminal.progress(args.quiet), color: terminal.color() };
    let sink = event_sink(args.events.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let shown = runtime.block_on(show(timeline(&events), args.speed, panel, options, sink));
    // A thread that waits for the interrupt must not keep the program.
    runtime.shutdown_background();
    match shown {
        None => Err(Error::ReplayInterrupted),
        Some(DisplayEnd::PipeClosed) => Err(Error::PipeClosed),
        Some(end) => {
            tell(&debate, args.events.as_deref(), terminal)?;
            if end == DisplayEnd::EventsIncomplete { Err(Error::EventsIncomplete) } else { Ok(()) }
        }
    }
}

/// Shows all moments; nothing when the user interrupts.
async fn show(
    moments: Vec<Moment>,
    speed: Speed,
    panel: PanelInfo,
    options: DisplayOptions,
    events: Option<EventSink>,
) -> Option<DisplayEnd> {
    let mut interrupts = Interrupts::listen();
    let (signals, received) = unbounded_channel();
    let shown = tokio::spawn(display(received, panel, options, events));
    let finished = tokio::select! {
        biased;
        () = interrupts.next() => false,
        () = play(moments, speed, &signals) => true,
    };
    // The display ends when nobody sends to it any more.
    drop(signals);
    let end = shown.await.unwrap_or(DisplayEnd::EventsIncomplete);
    finished.then_some(end)
}

/// Ends as the debate did: with the solution, or with how it can go on.
fn tell(debate: &Debate, events: Option<&Path>, terminal: &mut Terminal) -> Result<(), Error> {
    if debate.status != Status::Completed {
        let (id, status) = (&debate.id, debate.status.name());
        terminal.notice(&format!("The record ends here, with the debate {status}. Go on with: dialectic resume {id}"));
        return Ok(());
    }
    let solution = debate.final_solution.as_ref().map(|solution| solution.description.as_str()).unwrap_or_default();
    let printed = if events.is_some_and(is_stdout) { Ok(()) } else { terminal.markdown(solution) };
    tell_outcome(debate, terminal);
    printed
}
