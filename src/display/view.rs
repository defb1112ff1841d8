//! The thread that shows a running debate on standard error.

#![expect(clippy::disallowed_methods, reason = "here what goes there is cleaned")]

use std::io::{self, Write};
use std::sync::Arc;
use std::thread;

use anstream::{AutoStream, ColorChoice};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::debate::{Progress, Signal};
use crate::signals::{News, Subscription, now};

use super::live::{FRAME_INTERVAL, LiveBlock, TerminalSize, block};
use super::ndjson::EventSinkError;
use super::notice::{ColorMode, Notices};
use super::plain::PlainLines;
use super::result::result_line;
use super::screen::SharedWriter;
use crate::sanitize::{one_line, sanitize};

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

/// What shows a running debate on standard error. It ends when the last signal is shown; its block is gone then.
#[derive(Debug, Clone)]
pub struct View {
    messages: Messages,
    leave: CancellationToken,
    ended: watch::Receiver<()>,
}

/// Where those who have something to say to the user while a debate is shown say it: all of standard error goes through
/// the view then, in one order, and none of them waits for a terminal that is stopped.
#[derive(Debug, Clone)]
pub struct Messages(UnboundedSender<Message>);

#[derive(Debug)]
enum Message {
    Text { text: String, shown: oneshot::Sender<()> },
    Error(EventSinkError),
}

impl Messages {
    /// Shows `text`, which ends with a line break, behind everything that was published before. What comes back is
    /// ready when it is shown; it need not be waited for.
    pub fn say(&self, text: &str) -> impl Future<Output = ()> + use<> {
        let (shown, told) = oneshot::channel();
        // A view that has ended shows nothing, and nobody has to wait for it.
        drop(self.0.send(Message::Text { text: sanitize(text).into_owned(), shown }));
        async move { drop(told.await) }
    }

    pub(super) fn error(&self, error: EventSinkError) {
        drop(self.0.send(Message::Error(error)));
    }
}

impl View {
    /// Shows what comes through `signals` from where `progress` stands, on a thread of its own.
    ///
    /// # Errors
    /// When the system refuses a thread.
    pub fn start((progress, signals): (Progress, Subscription), options: DisplayOptions) -> io::Result<Self> {
        let colors = options.color.choice(&io::stderr());
        // Passes escape codes through, after it has switched them on where that is needed (Windows).
        let stderr = SharedWriter::new(Box::new(AutoStream::always_ansi(io::stderr())));
        let (sender, messages) = unbounded_channel();
        let (ending, ended) = watch::channel(());
        let leave = CancellationToken::new();
        let left = leave.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        thread::Builder::new().name("view".to_owned()).spawn(move || {
            let reporter = Reporter::new(stderr, options.progress, colors, TerminalSize::of_stderr);
            runtime.block_on(left.run_until_cancelled(show(signals, messages, progress, reporter)));
            drop(ending);
        })?;
        Ok(Self { messages: Messages(sender), leave, ended })
    }

    /// Where something can be said to the user.
    #[must_use]
    pub fn messages(&self) -> Messages {
        self.messages.clone()
    }

    /// Takes the block off the screen and shows nothing more.
    pub fn leave(&self) {
        self.leave.cancel();
    }

    /// Waits until everything is shown, which may be never: a terminal may be stopped.
    pub async fn ended(&mut self) {
        // Nothing is ever sent: the channel ends with the thread.
        drop(self.ended.changed().await);
    }
}

async fn show(
    mut signals: Subscription,
    mut messages: UnboundedReceiver<Message>,
    mut progress: Progress,
    mut reporter: Reporter,
) {
    let mut frames = interval(FRAME_INTERVAL);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        let news = tokio::select! {
            biased;
            // First, so that a flood of signals cannot stop the drawing; it is due ten times a second at most.
            _ = frames.tick(), if reporter.is_live() => {
                reporter.draw(&progress, now());
                continue;
            }
            // Before messages, which come behind what was published before them.
            news = signals.next() => news,
            Some(message) = messages.recv() => {
                reporter.tell(message);
                continue;
            }
        };
        match news {
            Some(News::Signal(signal)) => {
                progress.see(&signal, now());
                reporter.show(&progress, &signal);
            }
            Some(News::Gap(gap)) => {
                progress = gap.progress;
                reporter.skip(&progress, gap.warnings.iter());
            }
            None => {
                while let Ok(message) = messages.try_recv() {
                    reporter.tell(message);
                }
                return;
            }
        }
    }
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

    fn draw(&mut self, progress: &Progress, now: std::time::Instant) {
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
        if let (Form::Live { .. }, Signal::RoundEnded { round, points: Some(points), .. }) = (&self.form, signal) {
            self.print(format!("Round {round}/{}: {points}\n", progress.panel().rounds).as_bytes());
        }
        if let (Form::Live { .. }, Signal::Recorded(recorded)) = (&self.form, signal) {
            let panel = progress.panel();
            if let Some(line) = result_line(panel, &recorded.event, |id| panel.name(id)) {
                self.print((one_line(&line) + "\n").as_bytes());
            }
        }
        if let Form::Plain(plain) = &mut self.form {
            let lines: String = plain.lines(progress, signal).into_iter().map(|line| line + "\n").collect();
            self.print(lines.as_bytes());
        } else if !progress.is_running() {
            // At once: the user is about to be asked something, or to get the prompt back.
            self.draw(progress, now());
        }
    }

    /// Shows where the debate stands behind signals that are left out, and the warnings among them.
    fn skip<'a>(&mut self, progress: &Progress, warnings: impl Iterator<Item = &'a Arc<Signal>>) {
        if let Form::Plain(plain) = &mut self.form {
            let line = plain.gap(progress) + "\n";
            self.print(line.as_bytes());
        }
        for signal in warnings {
            if let Signal::Warning { message } = &**signal {
                self.say(|notices| notices.warning(message));
            }
        }
    }

    fn tell(&self, message: Message) {
        match message {
            Message::Text { text, shown } => {
                self.print(text.as_bytes());
                // Nobody may wait for it.
                let _ = shown.send(());
            }
            Message::Error(error) => self.say(|notices| notices.error(&error, None)),
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

    use super::super::screen::ERASE_BLOCK;
    use super::*;
    use crate::debate::Event;
    use crate::debate::fixture::{
        CLARIFICATION_INPUT, PROPOSAL, call_started, panel, pitching, recorded, round_begun, stage_started, warning,
    };
    use crate::signals::{Signals, Words};

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

    /// A running display that writes to `out`, the way to it, and where messages to it go.
    fn started(out: Box<dyn Write + Send>, mode: ProgressMode) -> (Signals, Messages, tokio::task::JoinHandle<()>) {
        let signals = Signals::new(panel());
        let (progress, subscription) = signals.subscribe(Words::Wanted);
        let size = || TerminalSize { columns: 60, rows: 24 };
        let reporter = Reporter::new(SharedWriter::new(out), mode, ColorChoice::Never, size);
        let (sender, messages) = unbounded_channel();
        (signals, Messages(sender), tokio::spawn(show(subscription, messages, progress, reporter)))
    }

    fn scene() -> [Signal; 4] {
        [round_begun(1), stage_started(PROPOSAL, 3), call_started(PROPOSAL, "agent-kiss", None), warning("look out")]
    }

    async fn shown(mode: ProgressMode) -> String {
        let memory = Memory::default();
        let (sender, _messages, display) = started(Box::new(memory.clone()), mode);
        for signal in scene() {
            sender.publish(signal);
        }
        tokio::time::sleep(Duration::from_millis(350)).await;
        drop(sender);
        display.await.unwrap();
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
    async fn results_are_told_above_the_block_by_name() {
        let memory = Memory::default();
        let (sender, _messages, display) = started(Box::new(memory.clone()), ProgressMode::Live);
        sender.publish(round_begun(1));
        tokio::time::sleep(Duration::from_millis(150)).await;
        sender.publish(recorded(pitching::polled("agent-kiss", "against \u{1b}[2J")));
        sender.publish(recorded(pitching::decided(None, None)));
        drop(sender);
        display.await.unwrap();
        let text = memory.text();
        assert!(text.contains("Simplicity Advocate show-of-hands: against [2J\n"), "{text:?}");
        assert!(text.contains("verdict: nobody wins (System Architect 72.5, Simplicity Advocate 65)\n"), "{text:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_aborted_display_erases_its_block() {
        let memory = Memory::default();
        let (sender, _messages, display) = started(Box::new(memory.clone()), ProgressMode::Live);
        for signal in scene() {
            sender.publish(signal);
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
        let (sender, _messages, display) = started(Box::new(memory.clone()), ProgressMode::Live);
        sender.publish(round_begun(1));
        tokio::time::sleep(Duration::from_millis(150)).await;
        sender.publish(recorded(Event::Suspended { stage: CLARIFICATION_INPUT }));
        tokio::time::sleep(Duration::from_millis(10)).await;
        let before = memory.text();
        assert!(before.ends_with(ERASE_BLOCK), "{before:?}");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(memory.text(), before, "the question would be overwritten");
        sender.publish(recorded(Event::Resumed));
        tokio::time::sleep(Duration::from_millis(150)).await;
        assert!(memory.text().len() > before.len());
        drop(sender);
        display.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_stderr_that_has_gone_ends_nothing() {
        for mode in [ProgressMode::Live, ProgressMode::Plain, ProgressMode::Quiet] {
            let (sender, _messages, display) = started(Box::new(Gone(io::ErrorKind::BrokenPipe)), mode);
            for signal in scene() {
                sender.publish(signal);
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
            drop(sender);
            display.await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_comes_behind_what_was_published_before_it() {
        let memory = Memory::default();
        let (sender, messages, display) = started(Box::new(memory.clone()), ProgressMode::Live);
        sender.publish(round_begun(1));
        tokio::time::sleep(Duration::from_millis(150)).await;
        sender.publish(recorded(Event::Suspended { stage: CLARIFICATION_INPUT }));
        messages.say("Question \u{1b}[2J1 of 2?\n").await;
        assert!(memory.text().ends_with(&format!("{ERASE_BLOCK}Question [2J1 of 2?\n")), "{:?}", memory.text());
        drop(sender);
        display.await.unwrap();
        // Nobody waits for what is never shown.
        messages.say("Too late.\n").await;
        assert!(!memory.text().contains("late"));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_fell_behind_goes_on_from_a_snapshot_and_hears_every_warning() {
        let memory = Memory::default();
        let (sender, _messages, display) = started(Box::new(memory.clone()), ProgressMode::Plain);
        // The display has no turn while these are published.
        sender.publish(round_begun(1));
        sender.publish(warning("look out"));
        for _ in 0..5_000 {
            sender.publish(stage_started(PROPOSAL, 3));
        }
        sender.publish(recorded(Event::Completed));
        drop(sender);
        display.await.unwrap();
        let shown = memory.text();
        let gap = "… the progress of the meantime is left out: nobody read it …\nwarning: look out\nproposal started";
        assert!(shown.starts_with(gap), "{}", &shown[..200]);
        assert!(shown.ends_with("round 1/3 ended: 0 tokens, $0.0000 so far\n"), "{}", &shown[shown.len() - 200..]);
    }
}
