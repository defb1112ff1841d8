//! Plays a saved debate. Calls and writes nothing.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::cli::interrupt::{Interrupts, end_soon, interrupt};
use crate::cli::keys::{Key, Keyboard};
use crate::cli::suspend::give_way;
use crate::cli::watchers::{Log, Watchers};
use crate::error::Error;
use dialectic_record::debate::{Debate, Forecast, Moment, PanelInfo, PlannedCall, Signal, Span};
use dialectic_record::signals::Signals;
use dialectic_record::store::StoreError;
use dialectic_report::display::{DisplayOptions, KeysMeaning, Messages, ProgressMode, play};

/// Plays a debate at `times` its original speed (infinite: without waiting), until it ends or the user leaves. Returns
/// whether it was not interrupted.
pub(super) fn play_back(
    debate: &Debate,
    journal: &Path,
    moments: Vec<Moment>,
    times: f64,
    options: DisplayOptions,
) -> Result<bool, Error> {
    let Some(settings) = &debate.settings else { return Err(StoreError::NoJournal { id: debate.id.clone() }.into()) };
    let panel = PanelInfo::new(settings, Arc::clone(&debate.stages)).in_order_of_numbers(debate);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    let log = Log { journal, before: 0 };
    let played = runtime.block_on(show(moments, times, panel, &log, options))?;
    // The interrupt's thread must not delay the end.
    runtime.shutdown_background();
    Ok(played)
}

async fn show(
    moments: Vec<Moment>,
    times: f64,
    panel: PanelInfo,
    log: &Log<'_>,
    options: DisplayOptions,
) -> Result<bool, Error> {
    let interrupts = Interrupts::listen();
    let cancel = CancellationToken::new();
    let signals = Signals::new(panel);
    let watchers = Watchers::start(&signals, log, options, None, None)?;
    tokio::spawn(interrupt(interrupts, cancel.clone(), watchers.view().clone()));
    let messages = watchers.messages();
    messages.expect(as_it_went(&moments));
    let (pressed, keys) = unbounded_channel();
    let mut keyboard = None;
    if options.progress == ProgressMode::Live {
        keyboard = Keyboard::listen(pressed);
        if keyboard.is_some() {
            messages.key(KeysMeaning::HeardInReplay);
        }
        give_way(watchers.messages(), keyboard.clone());
    }
    let (pause, is_paused) = watch::channel(false);
    tokio::select! {
        biased;
        () = cancel.cancelled() => {}
        () = left(keys, &pause, &messages) => {}
        () = play(moments, times, &signals, is_paused) => {}
    }
    if let Some(keyboard) = &keyboard {
        // From here on the terminal is not ours.
        std::mem::forget(keyboard.off());
    }
    // Watchers end when no one can publish any more.
    drop(signals);
    watchers.finish(&cancel).await;
    let is_interrupted = cancel.is_cancelled();
    if is_interrupted {
        end_soon();
    }
    Ok(!is_interrupted)
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
