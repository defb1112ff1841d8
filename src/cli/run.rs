//! Runs a debate from the command line: starts the watchers, handles the user's answers and keys, and reports the end.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, ErrorCategory, UserError};
use crate::serve::Watched;
use crate::trace::Tracer;
use dialectic_engine::engine::{EngineError, ForecastError, RunEnding};
use dialectic_engine::runner::{After, Failed, Finished, Ready, Run};
use dialectic_record::live::{Follower, Forecast, Words};
use dialectic_record::store::{Entry, JournalReader};
use dialectic_report::display::{DisplayOptions, KeysMeaning, Messages, ProgressMode, participants};

use super::commands::serve::Served;
use super::conclusion::{conclude, texts_are_saved};
use super::detach::leave;
use super::interrupt::{Interrupts, end_on_interrupt, end_soon};
use super::keys::{self, Key};
use super::questions;
use super::session::{Session, typed_name};
use super::terminal::Terminal;
use super::watchers::{Seen, Watchers};

impl Session<'_> {
    /// If `foreseen` is `None`, the forecast for the live view is computed while the debate runs.
    pub(super) fn run(
        mut self,
        mut ready: Ready,
        foreseen: Option<Forecast>,
        terminal: &mut Terminal,
    ) -> Result<(), Error> {
        let args = self.args;
        if args.detach {
            leave(&ready, terminal)?;
            ready.is_kept = true;
        }
        let served =
            self.server.take().map(|server| Served::start(server, &ready.debate().id, terminal)).transpose()?;
        let saved_to = ready.state_path().to_owned();
        if args.verbose {
            terminal.notice(&participants(ready.debate()));
        }
        let options = terminal.display(args.quiet);
        ready.waits_for_servers = terminal.shows(args.quiet);
        let is_foreseen = foreseen.is_some();
        let forecast = ready.forecast().filter(|_| options.progress == ProgressMode::Live && !is_foreseen);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        let tracer = self.trace.take().and_then(|(to, http)| {
            let debate = ready.debate().clone();
            let version = debate.prompt_sources.as_ref().and_then(|sources| sources.version.clone());
            Tracer::start(to, http, debate, &version.unwrap_or_default())
                .map_err(|error| terminal.warning(&error.to_string()))
                .ok()
        });
        let cancel = CancellationToken::new();
        let ((ended, tracer), later) = runtime.block_on(async {
            // Listen longer than the watchers do, so that no interrupt is missed after they end.
            let later = Interrupts::listen();
            let mut watchers = match self.watchers(&ready, options, tracer, &cancel) {
                Ok(watchers) => watchers,
                Err(error) => return ((Err(error), None), later),
            };
            let messages = watchers.messages();
            if let Some(foreseen) = foreseen {
                messages.expect(foreseen);
            }
            if let Some(forecast) = forecast {
                foresee(forecast, messages);
            }
            let keys = watchers.read_keys(options, KeysMeaning::Heard);
            let signals = ready.signals().clone();
            let run = ready.run();
            let watched = served.as_ref().map(|served| served.show(&run, signals));
            (self.run_while_shown(run, watchers, keys, watched, &saved_to).await, later)
        });
        // A thread blocked on standard input must not delay the end.
        runtime.shutdown_background();
        let mut later = Some(later);
        if served.is_none() {
            end_on_interrupt(later.take().filter(|_| !cancel.is_cancelled()));
        }
        if cancel.is_cancelled() {
            // Printing the remaining output may block on a stalled reader.
            end_soon();
        }
        // No hooks run after a paused or unsaved debate.
        let is_over =
            matches!(&ended, Ok((Finished { ending: RunEnding::Completed | RunEnding::Failed, is_kept: true, .. }, _)));
        let result = ended.and_then(|(finished, seen)| conclude(finished, &seen, &self, &saved_to, terminal));
        if is_over && !matches!(result, Err(Error::PipeClosed)) {
            run_after_hooks(self.after, &saved_to, terminal);
        }
        // Finish the trace last, so that a slow collector does not delay the result.
        if let Some(Err(undelivered)) = tracer.map(Tracer::finish)
            && !matches!(result, Err(Error::PipeClosed))
        {
            terminal.warning(&undelivered.to_string());
        }
        if matches!(result, Err(Error::Interrupted(_))) {
            // Restore the terminal again, since an interrupt may come just after a question.
            keys::restore();
        }
        match served {
            Some(served) if result.is_ok() => served.stay(later, terminal),
            _ => result,
        }
    }

    fn watchers(
        &mut self,
        ready: &Ready,
        options: DisplayOptions,
        tracer: Option<Tracer>,
        cancel: &CancellationToken,
    ) -> Result<Watchers, Error> {
        let mut watchers = Watchers::start(ready.signals(), options, cancel)?;
        let follow = |words| {
            let journal = JournalReader::open(ready.journal_path()).map_err(Error::Runtime)?;
            let (_, subscription) = ready.signals().subscribe(words);
            let before = ready.events_before();
            Ok::<_, Error>(Follower::new(subscription, Box::new(journal), before, before))
        };
        if let Some(sink) = self.events.take() {
            watchers.add_stream(sink, follow(Words::Wanted)?)?;
        }
        if let Some(tracer) = tracer {
            watchers.add_tracer(tracer, follow(Words::Unwanted)?)?;
        }
        Ok(watchers)
    }

    /// Also returns the tracer, if there is one and it has received all signals.
    async fn run_while_shown(
        &mut self,
        mut run: Run,
        mut watchers: Watchers,
        mut keys: UnboundedReceiver<Key>,
        watched: Option<Watched>,
        saved_to: &Path,
    ) -> (Result<(Finished, Seen), Error>, Option<Tracer>) {
        let (messages, cancel) = (watchers.messages(), watchers.cancel.clone());
        let mut is_held = false;
        let asked = loop {
            tokio::select! {
                waiting = run.questions() => {
                    let Some(mut debate) = waiting else { break Ok(()) };
                    if let Some((given, before)) = self.given.take() {
                        given.send(&run, &before, Arc::make_mut(&mut debate));
                        if debate.open_questions().next().is_none() {
                            continue;
                        }
                    }
                    if !self.asks_user {
                        run.pause();
                        continue;
                    }
                    if watched.is_some() {
                        drop(messages.say("The agents have questions. Answer them in the browser.\n"));
                        continue;
                    }
                    let keyboard = watchers.keyboard.clone();
                    // Waiting for the keyboard must not block the debate.
                    let off = spawn_blocking(move || keyboard.map(|keyboard| keyboard.off())).await.ok();
                    let asked = questions::ask(&run, &debate, &cancel, &messages).await;
                    drop(off);
                    match asked {
                        Ok(true) => {}
                        Ok(false) => run.interrupt(),
                        Err(error) => {
                            run.interrupt();
                            break Err(error);
                        }
                    }
                }
                Some(key) = keys.recv() => press(key, &run, &messages, &mut is_held),
                // The live view tells the user about the interrupt.
                () = cancel.cancelled(), if !run.is_interrupted() => run.interrupt(),
                // Do not pay for output that nobody reads.
                () = watchers.reader_gone() => {
                    run.interrupt();
                    break Ok(());
                }
            }
        };
        let ended = run.wait().await;
        // Watchers end when the last handle to the run is dropped.
        drop(watched);
        let (seen, tracer) = watchers.finish().await;
        (asked.and(ended.map_err(|failed| unsaved(failed, saved_to))).map(|finished| (finished, seen)), tracer)
    }
}

fn unsaved(Failed { source, .. }: Failed, saved_to: &Path) -> Error {
    let EngineError::Store(source) = source else { return source.into() };
    let entry = Entry::of_state(saved_to);
    let id = &typed_name(&entry);
    let hint = if entry.journal.is_some() {
        texts_are_saved(id)
    } else {
        format!("restore the debate's files, then: dialectic resume {id}")
    };
    UserError::of(ErrorCategory::General, format!("cannot save the debate {}", entry.id()))
        .with_hint(hint)
        .with_source(source)
        .into()
}

fn run_after_hooks(after: After, state: &Path, terminal: &mut Terminal) {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            terminal.warnings(runtime.block_on(after.run(state)));
        }
        Err(error) => terminal.warning(&format!("skipping hooks, ratings and memory: {error}")),
    }
}

/// Computes the forecast on a separate thread, so that the debate need not wait for it.
fn foresee(forecast: impl FnOnce() -> Result<Forecast, ForecastError> + Send + 'static, messages: Messages) {
    let foreseen = move || {
        // Ignore errors: the view works without a forecast.
        if let Ok(forecast) = forecast() {
            messages.expect(forecast);
        }
    };
    drop(thread::Builder::new().name("forecast".to_owned()).spawn(foreseen));
}

fn press(key: Key, run: &Run, messages: &Messages, is_held: &mut bool) {
    match key {
        Key::Pause => {
            *is_held ^= true;
            if *is_held {
                run.hold();
            } else {
                run.go_on();
            }
            messages.key(KeysMeaning::Held(*is_held));
        }
        Key::Stop => {
            if std::mem::take(is_held) {
                run.go_on();
                messages.key(KeysMeaning::Held(false));
            }
            run.stop();
        }
        Key::MoreOrLess => messages.key(KeysMeaning::MoreOrLess),
        Key::Help => messages.key(KeysMeaning::Help),
        // Ignore `q`, so that nobody leaves a paid debate by accident. Ctrl-C pauses the debate.
        Key::Quit => {}
    }
}
