//! The task that shows a running debate.

use std::io::{self, Write};
use std::time::Instant;

use anstream::{AutoStream, ColorChoice};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{MissedTickBehavior, interval};

use crate::debate::Signal;

use super::live::{FRAME_INTERVAL, LiveBlock, TerminalSize, block};
use super::ndjson::{EventSink, EventSinkError};
use super::notice::{ColorMode, Notices};
use super::panel::PanelInfo;
use super::plain::PlainLines;
use super::progress::Progress;
use super::screen::SharedWriter;

/// How progress is shown. Warnings are shown in every mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressMode {
    /// A block that is redrawn: for a stderr that is a terminal and understands escape codes.
    Live,
    /// A line for each thing that begins or ends.
    Plain,
    /// Not at all.
    Quiet,
}

/// How a running debate is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisplayOptions {
    /// How progress is shown.
    pub progress: ProgressMode,
    /// Whether colours are used.
    pub color: ColorMode,
}

/// How showing a debate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum DisplayEnd {
    /// There are no more signals; all of them were shown.
    Complete,
    /// There are no more signals, but the event stream lacks some: the user has been told.
    EventsIncomplete,
    /// The reader of the event stream on stdout has gone. Reported at once, while the debate still runs: the program
    /// should end quietly.
    PipeClosed,
}

/// Shows what comes through `signals` on stderr, and writes it to `events`, until the sender is dropped or nobody
/// reads stdout any more. The live block is gone when this returns or is dropped.
pub async fn run(
    signals: UnboundedReceiver<Signal>,
    panel: PanelInfo,
    options: DisplayOptions,
    events: Option<EventSink>,
) -> DisplayEnd {
    let colors = options.color.choice(&io::stderr());
    // Passes escape codes through, after it has switched them on where that is needed (Windows).
    let stderr = SharedWriter::new(Box::new(AutoStream::always_ansi(io::stderr())));
    let reporter = Reporter::new(stderr, options.progress, colors, TerminalSize::of_stderr);
    show(signals, Progress::new(panel, now()), reporter, events).await
}

async fn show(
    mut signals: UnboundedReceiver<Signal>,
    mut progress: Progress,
    mut reporter: Reporter,
    mut events: Option<EventSink>,
) -> DisplayEnd {
    let mut end = DisplayEnd::Complete;
    let mut frames = interval(FRAME_INTERVAL);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        let signal = tokio::select! {
            biased;
            // First, so that a flood of signals cannot stop the drawing; it is due ten times a second at most.
            _ = frames.tick(), if reporter.is_live() => {
                reporter.draw(&progress, now());
                continue;
            }
            signal = signals.recv() => signal,
        };
        let Some(signal) = signal else {
            return end;
        };
        match events.as_mut().map_or(Ok(()), |sink| sink.write(&signal)) {
            Ok(()) => {}
            Err(EventSinkError::PipeClosed) => return DisplayEnd::PipeClosed,
            Err(error @ EventSinkError::Unwritable { .. }) => {
                events = None;
                end = DisplayEnd::EventsIncomplete;
                reporter.say(|notices| notices.error(&error, None));
            }
        }
        progress.see(&signal, now());
        reporter.show(&progress, &signal);
    }
}

/// The runtime's clock, which tests can move.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Writes to the user's stderr. What cannot be written there is lost: there is nobody left to tell.
struct Reporter {
    out: SharedWriter,
    colors: ColorChoice,
    form: Form,
}

enum Form {
    Live { block: LiveBlock, size: fn() -> TerminalSize },
    Plain(PlainLines),
    Quiet,
}

impl Reporter {
    fn new(out: SharedWriter, mode: ProgressMode, colors: ColorChoice, size: fn() -> TerminalSize) -> Self {
        let form = match mode {
            ProgressMode::Live => Form::Live { block: LiveBlock::new(out.clone()), size },
            ProgressMode::Plain => Form::Plain(PlainLines::default()),
            ProgressMode::Quiet => Form::Quiet,
        };
        Self { out, colors, form }
    }

    fn is_live(&self) -> bool {
        matches!(self.form, Form::Live { .. })
    }

    fn draw(&mut self, progress: &Progress, now: Instant) {
        if let Form::Live { block: live, size } = &mut self.form {
            let size = size();
            let lines = if progress.is_running() { block(progress, now, size) } else { Vec::new() };
            let lines: Vec<String> = match self.colors {
                ColorChoice::Never => lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect(),
                ColorChoice::Auto | ColorChoice::Always | ColorChoice::AlwaysAnsi => lines,
            };
            live.draw(&lines, size);
        }
    }

    fn show(&mut self, progress: &Progress, signal: &Signal) {
        if let Signal::Warning { message } = signal {
            self.say(|notices| notices.warning(message));
        }
        if let Form::Plain(plain) = &mut self.form {
            let lines: String = plain.lines(progress, signal).into_iter().map(|line| line + "\n").collect();
            self.print(lines.as_bytes());
        } else if !progress.is_running() {
            // At once: the user is about to be asked something, or to get the prompt back.
            self.draw(progress, now());
        }
    }

    fn say(&self, write: impl FnOnce(&mut Notices<&mut AutoStream<Vec<u8>>>) -> io::Result<()>) {
        let mut text = AutoStream::new(Vec::new(), self.colors);
        if write(&mut Notices::new(&mut text)).is_ok() {
            self.print(&text.into_inner());
        }
    }

    fn print(&self, text: &[u8]) {
        match &self.form {
            Form::Live { block, .. } => block.print_above(text),
            Form::Plain(_) | Form::Quiet => {
                let mut out = self.out.clone();
                out.write_all(text).and_then(|()| out.flush()).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::super::fixture::{call_started, panel, phase_started, recorded, warning};
    use super::super::screen::ERASE_BLOCK;
    use super::*;
    use crate::debate::{Event, Phase};

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Memory {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Gone(io::ErrorKind);

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A running display that writes to `out`, and the way to it.
    fn started(
        out: Box<dyn Write + Send>,
        mode: ProgressMode,
        events: Option<EventSink>,
    ) -> (UnboundedSender<Signal>, tokio::task::JoinHandle<DisplayEnd>) {
        let (sender, signals) = unbounded_channel();
        let size = || TerminalSize { columns: 60, rows: 24 };
        let reporter = Reporter::new(SharedWriter::new(out), mode, ColorChoice::Never, size);
        (sender, tokio::spawn(show(signals, Progress::new(panel(), now()), reporter, events)))
    }

    fn scene() -> [Signal; 4] {
        [
            recorded(Event::RoundBegun { round: 1 }),
            phase_started(Phase::Proposal, 3),
            call_started(Phase::Proposal, "agent-kiss", None),
            warning("look out"),
        ]
    }

    async fn shown(mode: ProgressMode) -> String {
        let memory = Memory::default();
        let (sender, display) = started(Box::new(memory.clone()), mode, None);
        for signal in scene() {
            sender.send(signal).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(350)).await;
        drop(sender);
        assert_eq!(display.await.unwrap(), DisplayEnd::Complete);
        memory.text()
    }

    #[tokio::test(start_paused = true)]
    async fn plain_progress_has_no_escape_codes() {
        insta::assert_snapshot!(shown(ProgressMode::Plain).await, @r"
        round 1/3 started
        proposal started (3 expected)
        agent-kiss proposes …
        warning: look out
        ");
    }

    #[tokio::test(start_paused = true)]
    async fn quiet_still_warns() {
        assert_eq!(shown(ProgressMode::Quiet).await, "warning: look out\n");
    }

    #[tokio::test(start_paused = true)]
    async fn the_block_is_redrawn_ten_times_a_second_and_erased_at_the_end() {
        let text = shown(ProgressMode::Live).await;
        let frames = text.matches("Round 1/3").count();
        // One redraw after the warning, and one each at 100, 200 and 300 ms.
        assert!((3..=5).contains(&frames), "{frames} frames: {text:?}");
        assert!(text.contains(&format!("{ERASE_BLOCK}warning: look out\n")), "{text:?}");
        assert!(text.ends_with(ERASE_BLOCK), "{text:?}");
        assert!(!text.contains("\u{1b}[?25l"), "the cursor stays visible");
    }

    #[tokio::test(start_paused = true)]
    async fn an_aborted_display_erases_its_block() {
        let memory = Memory::default();
        let (sender, display) = started(Box::new(memory.clone()), ProgressMode::Live, None);
        for signal in scene() {
            sender.send(signal).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(350)).await;
        assert!(!memory.text().ends_with(ERASE_BLOCK));
        display.abort();
        assert!(display.await.unwrap_err().is_cancelled());
        assert!(memory.text().ends_with(ERASE_BLOCK));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_drawn_while_the_user_is_asked() {
        let memory = Memory::default();
        let (sender, display) = started(Box::new(memory.clone()), ProgressMode::Live, None);
        sender.send(recorded(Event::RoundBegun { round: 1 })).unwrap();
        tokio::time::sleep(Duration::from_millis(150)).await;
        sender.send(recorded(Event::Suspended { node: crate::debate::Node::ClarificationInput })).unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
        let before = memory.text();
        assert!(before.ends_with(ERASE_BLOCK), "{before:?}");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(memory.text(), before, "the question would be overwritten");
        sender.send(recorded(Event::Resumed)).unwrap();
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert!(memory.text().len() > before.len());
        drop(sender);
        assert_eq!(display.await.unwrap(), DisplayEnd::Complete);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stderr_that_has_gone_ends_nothing() {
        for mode in [ProgressMode::Live, ProgressMode::Plain, ProgressMode::Quiet] {
            let (sender, display) = started(Box::new(Gone(io::ErrorKind::BrokenPipe)), mode, None);
            for signal in scene() {
                sender.send(signal).unwrap();
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
            drop(sender);
            assert_eq!(display.await.unwrap(), DisplayEnd::Complete);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_stdout_ends_the_display_while_the_debate_runs() {
        let memory = Memory::default();
        let sink = EventSink::closed_stdout();
        let (sender, display) = started(Box::new(memory.clone()), ProgressMode::Live, Some(sink));
        sender.send(warning("unseen")).unwrap();
        assert_eq!(display.await.unwrap(), DisplayEnd::PipeClosed);
        assert!(sender.is_closed());
        assert!(!memory.text().contains("error"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_disk_is_reported_once_and_the_debate_goes_on() {
        let memory = Memory::default();
        let sink = EventSink::new("events.ndjson".to_owned(), Box::new(Gone(io::ErrorKind::StorageFull)));
        let (sender, display) = started(Box::new(memory.clone()), ProgressMode::Quiet, Some(sink));
        for signal in scene() {
            sender.send(signal).unwrap();
        }
        drop(sender);
        assert_eq!(display.await.unwrap(), DisplayEnd::EventsIncomplete);
        insta::assert_snapshot!(memory.text(), @r"
        error: the event stream cannot be written to events.ndjson
        caused by: no storage space
        warning: look out
        ");
    }
}
