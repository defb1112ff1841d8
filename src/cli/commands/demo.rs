//! `dialectic demo`: plays a hand-written debate and saves it.

use std::error::Error as StdError;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use flate2::read::GzDecoder;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::cli::interrupt::end_soon;
use crate::cli::keys::Key;
use crate::cli::output::typed;
use crate::cli::terminal::Terminal;
use crate::cli::watchers::Watchers;
use crate::error::{Error, ErrorCategory, INTERRUPTED, UserError};
use dialectic_base::figures::{clock, counted};
use dialectic_config::cache_directory;
use dialectic_record::debate::Debate;
use dialectic_record::event::fold;
use dialectic_record::live::{Forecast, PanelInfo, PlannedCall, Signal, Signals, Span, timeline};
use dialectic_record::store::{Entry, Readers, Record, StoreError, read_journal, verify, write_atomically};
use dialectic_report::display::{DisplayOptions, KeysMeaning, Messages, essence, play};

#[derive(Debug, Args)]
pub(in crate::cli) struct DemoArgs {
    /// Print only the solution, without the replay
    #[arg(short, long)]
    quiet: bool,
}

/// `UPDATE_DEMO=<journal> cargo test --lib demo` replaces this journal.
static JOURNAL: &[u8] = include_bytes!("../../../assets/demo.events.jsonl.gz");

/// The maximum duration of the replay.
const LENGTH: Duration = Duration::from_secs(20);

/// The environment variable that overrides the cache directory.
const CACHE_VARIABLE: &str = if cfg!(windows) { "LOCALAPPDATA" } else { "XDG_CACHE_HOME" };

pub(in crate::cli) fn run(args: &DemoArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let not_kept = |message: String| {
        UserError::of(ErrorCategory::General, message)
            .with_hint(format!("set {CACHE_VARIABLE} to a writable directory with free space"))
    };
    let no_home = || not_kept("cannot save the demo debate: your home directory is unknown".to_owned());
    let directory = cache_directory().ok_or_else(no_home)?;
    let entry = keep(&directory).map_err(|source| {
        not_kept(format!("cannot write the demo debate to {}", directory.display())).with_source(source)
    })?;
    let journal = entry.journal_path()?;
    let events = read_journal(journal).map_err(StoreError::from)?.events;
    let debate = fold(&events).map_err(|source| StoreError::Fold { path: journal.to_owned(), source })?;
    let moments = timeline(&events);
    let took = moments.last().map(|(at, _)| *at).unwrap_or_default();
    let is_watched = terminal.shows(args.quiet);
    let calls = counted(debate.total_usage().requests, "call");
    let shown_in = if is_watched { format!("; shown here in {}", clock(LENGTH.min(took))) } else { String::new() };
    // Print short lines, which fit narrow terminals.
    terminal.notice("This debate was written by hand; no model is called.");
    terminal.notice(&format!("{calls} in {}{shown_in}.\n", clock(took)));
    terminal.notices(debate.problem.lines());
    terminal.notice("");
    let times = if is_watched { times(took) } else { f64::INFINITY };
    if !play_back(&debate, moments, times, terminal.display(args.quiet))? {
        let (said, state) = ("interrupted; the demo debate was saved, and you can still read it", typed(&entry.state));
        let hint =
            format!("read the debate with `dialectic report {state} --open`, or replay it with `dialectic demo`");
        return Err(Error::Coded { code: INTERRUPTED, said: said.to_owned(), hint: Some(hint) });
    }
    let solution = debate.final_solution.as_ref().map(|solution| solution.description.as_str()).unwrap_or_default();
    // New users should not start in a pager.
    terminal.solution(solution, false)?;
    if is_watched {
        terminal.notice("");
    }
    terminal.notices(essence(&debate, None).lines());
    terminal.notice("");
    terminal.notices(what_next(&entry.state));
    Ok(())
}

/// The speed at which a debate that took `took` is replayed within [`LENGTH`], as a multiple of the recorded speed; at
/// least 1.
fn times(took: Duration) -> f64 {
    (took.as_secs_f64() / LENGTH.as_secs_f64()).max(1.0)
}

fn what_next(state: &Path) -> [String; 7] {
    let state = typed(state);
    [
        "This debate was written by hand; no model was called.".to_owned(),
        "Read its objections or its report:".to_owned(),
        format!("  dialectic show {state} points"),
        format!("  dialectic report {state} --open"),
        "Then rehearse your own problem without a model, or set up a model:".to_owned(),
        "  dialectic debate --offline \"Design a rate limiting system\"".to_owned(),
        "  dialectic init".to_owned(),
    ]
}

fn journal() -> io::Result<Vec<u8>> {
    let mut journal = Vec::new();
    GzDecoder::new(JOURNAL).read_to_end(&mut journal)?;
    Ok(journal)
}

/// Writes the demo debate to `directory`. Keeps an existing record if it is intact, since the user may have added to
/// it.
fn keep(directory: &Path) -> Result<Entry, Box<dyn StdError + Send + Sync>> {
    let (state, path) = (directory.join("demo.json"), directory.join("demo.events.jsonl"));
    let recorded = journal()?;
    let entry = || Entry::of_state(&state);
    let is_there = fs::read(&path).is_ok_and(|found| found.starts_with(&recorded))
        && verify(&entry(), &path).is_ok_and(|found| found.is_whole());
    if !is_there {
        fs::create_dir_all(directory)?;
        // Remove the state file, because the state of another record would not match the new journal.
        match fs::remove_file(&state) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        write_atomically(&path, Readers::Owner, |out| out.write_all(&recorded))?;
        Record::reopen(&entry())?.0.write_state()?;
    }
    Ok(entry())
}

/// `times` is a multiple of the recorded speed; with infinity, the replay takes no time. Returns false if the replay
/// was interrupted.
fn play_back(
    debate: &Debate,
    moments: Vec<(Duration, Signal)>,
    times: f64,
    options: DisplayOptions,
) -> Result<bool, Error> {
    let Some(settings) = &debate.settings else { return Err(StoreError::NoJournal { id: debate.id.clone() }.into()) };
    let signals = Signals::new(PanelInfo::new(settings, Arc::clone(&debate.stages)).in_order_of_numbers(debate));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let played = runtime.block_on(show(moments, times, signals, options))?;
    // The thread that waits for interrupts must not delay the exit.
    runtime.shutdown_background();
    Ok(played)
}

async fn show(
    moments: Vec<(Duration, Signal)>,
    times: f64,
    signals: Signals,
    options: DisplayOptions,
) -> Result<bool, Error> {
    let cancel = CancellationToken::new();
    let mut watchers = Watchers::start(&signals, options, &cancel)?;
    let messages = watchers.messages();
    messages.expect(as_it_went(&moments));
    let keys = watchers.read_keys(options, KeysMeaning::HeardInReplay);
    let (pause, is_paused) = watch::channel(false);
    tokio::select! {
        biased;
        () = cancel.cancelled() => {}
        () = left(keys, &pause, &messages) => {}
        () = play(moments, times, &signals, is_paused) => {}
    }
    drop(signals);
    watchers.finish().await;
    let is_interrupted = cancel.is_cancelled();
    if is_interrupted {
        end_soon();
    }
    Ok(!is_interrupted)
}

/// Handles the user's keys. Resolves when the user quits.
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
            // A replay has no running debate to stop.
            Key::Stop => {}
        }
    }
    // No more keys can be read, but the replay must still play to its end.
    std::future::pending::<()>().await;
}

/// A forecast of exactly the recorded calls, for the progress display. Omits costs, because the record contains them.
fn as_it_went(moments: &[(Duration, Signal)]) -> Forecast {
    let settled = moments.iter().filter_map(|(_, signal)| match signal {
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
        tools: None,
        cost: None,
    };
    Forecast { calls: settled.map(call).collect(), purchase: None }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use dialectic_record::event::{Event, Recorded};
    use dialectic_record::store::Journal;

    use super::*;

    /// Replaces the address of the recorded server. The domain is reserved.
    const NEUTRAL: &str = "http://recorded.invalid/v1";

    /// The record without details of the machine that made it, with its lines sealed again.
    fn neutral(journal: &Path) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("neutral.events.jsonl");
        let mut written = Journal::create(&path).unwrap();
        for mut recorded in read_journal(journal).unwrap().events {
            if let Event::Created(created) = &mut recorded.event {
                created.settings.base_dir = None;
                for provider in created.settings.providers.values_mut() {
                    provider.base_url = Some(NEUTRAL.to_owned());
                    provider.api_key_env = None;
                }
            }
            let mut recorded = serde_json::to_value(&recorded).unwrap();
            if let Some(call) = recorded["call"].as_object_mut() {
                // The calls cost nothing.
                call.insert("costUsd".to_owned(), 0.into());
            }
            written.append(&serde_json::from_value(recorded).unwrap()).unwrap();
        }
        fs::read(&path).unwrap()
    }

    #[test]
    fn the_record_says_nothing_of_the_machine_it_was_made_on() {
        if let Some(path) = std::env::var_os("UPDATE_DEMO") {
            let mut packed = GzEncoder::new(Vec::new(), Compression::best());
            packed.write_all(&neutral(Path::new(&path))).unwrap();
            let asset = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo.events.jsonl.gz");
            fs::write(asset, packed.finish().unwrap()).unwrap();
            return;
        }
        let text = String::from_utf8(journal().unwrap()).unwrap();
        let places = ["127.0.0.1", "localhost", "/work/", "/home/", "/root", "/tmp/"];
        for word in places.into_iter().chain(["sk-", "baseDir", "contextDir", "apiKeyEnv"]) {
            assert!(!text.contains(word), "{word}");
        }
        assert_eq!(text.matches("\"baseUrl\":").count(), text.matches(NEUTRAL).count());
    }

    fn moments() -> Vec<(Duration, Signal)> {
        let text = String::from_utf8(journal().unwrap()).unwrap();
        let events: Vec<Recorded> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        timeline(&events)
    }

    #[test]
    fn it_is_seen_in_thirty_seconds_at_most() {
        let took = moments().last().unwrap().0;
        let watched = took.as_secs_f64() / times(took);
        assert!((10.0..=30.0).contains(&watched), "{took:?} take {watched} s");
        assert!((times(Duration::from_secs(5)) - 1.0).abs() < f64::EPSILON, "nothing is slower than it was");
    }

    #[test]
    fn what_was_noted_about_it_stays_and_what_was_damaged_is_made_good() {
        let place = tempfile::tempdir().unwrap();
        let entry = keep(place.path()).unwrap();
        let path = entry.journal_path().unwrap().to_owned();
        let is_whole = || verify(&entry, &path).unwrap().is_whole();
        assert!(is_whole());
        let (mut record, _) = Record::reopen(&entry).unwrap();
        let events = record.events();
        record.append(Event::Rated { rating: 1, note: None }).unwrap();
        record.write_state().unwrap();
        drop(record);
        keep(place.path()).unwrap();
        assert_eq!(read_journal(&path).unwrap().events.len() as u64, events + 1);
        fs::write(&entry.state, "{}").unwrap();
        keep(place.path()).unwrap();
        assert!(is_whole() && read_journal(&path).unwrap().events.len() as u64 == events);
    }
}
