//! `dialectic replay`: replays a past debate. Calls and writes nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::cli::args::ReplayArgs;
use crate::cli::conclusion::{tell_outcome, with_brief};
use crate::cli::interrupt::{Interrupts, end_soon, interrupt};
use crate::cli::keys::{Key, Keyboard};
use crate::cli::latest::or_latest;
use crate::cli::output::is_stdout;
use crate::cli::session::event_sink;
use crate::cli::suspend::give_way;
use crate::cli::terminal::Terminal;
use crate::cli::watchers::{Log, Watchers};
use crate::error::Error;
use crate::status::Standing;
use dialectic_record::debate::{
    Debate, Forecast, Moment, PanelInfo, PlannedCall, Signal, Span, Status, fold, timeline,
};
use dialectic_record::signals::Signals;
use dialectic_record::store::{StoreError, read_journal};
use dialectic_report::display::{
    DisplayOptions, EventSink, KeysMeaning, Messages, ProgressMode, Speed, StreamEnd, play,
};

pub(in crate::cli) fn run(args: &ReplayArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = or_latest(args.which.name())?;
    let journal = entry.journal_path()?;
    let events = read_journal(journal).map_err(StoreError::from)?.events;
    let debate = fold(&events).map_err(|source| StoreError::Fold { path: journal.to_owned(), source })?;
    let options = terminal.display(args.watch.watch());
    let sink = event_sink(args.events.as_deref())?;
    let moments = timeline(&events);
    let took = moments.last().map(|moment| moment.at).unwrap_or_default();
    match show_again(&debate, journal, moments, args.speed, options, sink)? {
        ReplayEnd::Interrupted => Err(Error::stopped("interrupted; nothing was changed")),
        ReplayEnd::Left => Ok(()),
        ReplayEnd::ToTheEnd(StreamEnd::ReaderGone) => Err(Error::PipeClosed),
        ReplayEnd::ToTheEnd(end) => {
            tell(&debate, Standing::listed(&entry, &debate), args, took, terminal)?;
            if end == StreamEnd::Incomplete { Err(Error::EventsIncomplete) } else { Ok(()) }
        }
    }
}

/// Shows a past debate until its end, or until the user leaves or interrupts.
pub(super) fn show_again(
    debate: &Debate,
    journal: &Path,
    moments: Vec<Moment>,
    speed: Speed,
    options: DisplayOptions,
    events: Option<EventSink>,
) -> Result<ReplayEnd, Error> {
    let Some(settings) = &debate.settings else { return Err(StoreError::NoJournal { id: debate.id.clone() }.into()) };
    let panel = PanelInfo::new(settings, Arc::clone(&debate.stages));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let log = Log { journal, before: 0 };
    let shown = runtime.block_on(show(moments, speed, panel, &log, options, events))?;
    // The interrupt's thread must not delay the end.
    runtime.shutdown_background();
    Ok(shown)
}

/// Shows all moments, unless the user leaves or interrupts.
async fn show(
    moments: Vec<Moment>,
    speed: Speed,
    panel: PanelInfo,
    log: &Log<'_>,
    options: DisplayOptions,
    events: Option<EventSink>,
) -> Result<ReplayEnd, Error> {
    let interrupts = Interrupts::listen();
    let cancel = CancellationToken::new();
    let signals = Signals::new(panel);
    let mut watchers = Watchers::start(&signals, log, options, events, None)?;
    tokio::spawn(interrupt(interrupts, cancel.clone(), watchers.view().clone()));
    watchers.messages().expect(as_it_went(&moments));
    let (pressed, keys) = unbounded_channel();
    let mut keyboard = None;
    if options.progress == ProgressMode::Live {
        keyboard = Keyboard::listen(pressed);
        if keyboard.is_some() {
            watchers.messages().key(KeysMeaning::HeardInReplay);
        }
        give_way(watchers.messages(), keyboard.clone());
    }
    let (pause, is_paused) = watch::channel(false);
    let messages = watchers.messages();
    let mut is_left = false;
    tokio::select! {
        biased;
        () = cancel.cancelled() => {}
        () = watchers.reader_gone() => {}
        () = left(keys, &pause, &messages) => is_left = true,
        () = play(moments, speed, &signals, is_paused) => {}
    }
    if let Some(keyboard) = &keyboard {
        // From here on the terminal is not ours.
        std::mem::forget(keyboard.off());
    }
    // Watchers end when no one can publish any more.
    drop(signals);
    let seen = watchers.finish(&cancel).await;
    if cancel.is_cancelled() {
        end_soon();
        return Ok(ReplayEnd::Interrupted);
    }
    Ok(if is_left { ReplayEnd::Left } else { ReplayEnd::ToTheEnd(seen.stream) })
}

/// Handles keys until one of them leaves.
async fn left(mut keys: UnboundedReceiver<Key>, pause: &watch::Sender<bool>, messages: &Messages) {
    while let Some(key) = keys.recv().await {
        match key {
            Key::Pause => {
                let is_held = !*pause.borrow();
                pause.send_replace(is_held);
                messages.key(KeysMeaning::Held(is_held));
            }
            Key::MoreOrLess => messages.key(KeysMeaning::MoreOrLess),
            Key::Help => messages.key(KeysMeaning::Help),
            Key::Quit => return,
            // There is nothing to close.
            Key::Stop => {}
        }
    }
    // Without keys this never resolves.
    std::future::pending::<()>().await;
}

/// How a replay ended.
pub(super) enum ReplayEnd {
    ToTheEnd(StreamEnd),
    /// The user left with a key.
    Left,
    Interrupted,
}

/// Ends as the debate did: with the solution, or the way to continue.
fn tell(
    debate: &Debate,
    status: &str,
    args: &ReplayArgs,
    took: Duration,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    if debate.status != Status::Completed {
        let id = &debate.id;
        terminal.notice(&format!("The record ends here; the debate is {status}. Continue with: dialectic resume {id}"));
        return Ok(());
    }
    let solution = debate.final_solution.as_ref().map(|solution| solution.description.as_str()).unwrap_or_default();
    let is_streamed = args.events.as_deref().is_some_and(is_stdout);
    let printed =
        if is_streamed { Ok(()) } else { terminal.solution(&with_brief(debate, solution), !args.watch.no_pager) };
    tell_outcome(debate, took, args.watch.watch(), terminal);
    printed
}

/// The calls of a past debate as a forecast. Their total cost is known, so nothing is estimated.
fn as_it_went(moments: &[Moment]) -> Forecast {
    let settled = moments.iter().filter_map(|moment| match &moment.signal {
        Signal::Recorded(recorded) => Some(recorded.event.settles()?.0.clone()),
        _ => None,
    });
    let call = |key| PlannedCall {
        key,
        model: String::new(),
        provider: String::new(),
        is_certain: true,
        input: Span::default(),
        output: Span::default(),
        cost: None,
    };
    Forecast { calls: settled.map(call).collect(), purchase: None }
}
