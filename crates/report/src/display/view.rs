//! The thread that shows a running debate on standard error.

#![expect(clippy::disallowed_methods, reason = "output is cleaned before it is printed here")]

use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::thread;
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use dialectic_base::sanitize::sanitize;
use dialectic_record::event::Event;
use dialectic_record::ids::StageId;
use dialectic_record::live::{Forecast, Gap, Progress, Signal, Signals, Subscription, now};

use super::forecast::Plan;
use super::live::{FRAME_INTERVAL, HeardKeys, PendingControls, block};
use super::markdown::render_markdown;
use super::notice::{ColorMode, Notices};
use super::result::{GAP, plain_lines};
use super::screen::{LiveBlock, SharedWriter, TerminalSize, WIDEST};
use super::told::Scrollback;

/// How long to collect signals between writes. Users do not notice the delay, but separate writes would take most of
/// the run time.
const GATHERING: Duration = Duration::from_millis(10);

const INDENT: &str = "    ";

/// How progress is shown. Warnings are shown in every mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressMode {
    /// A redrawn block, for terminals with escape codes.
    Live,
    Plain,
    Quiet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisplayOptions {
    pub progress: ProgressMode,
    pub color: ColorMode,
}

/// The display of a running debate. It ends after the last signal, and removes the live block.
#[derive(Debug, Clone)]
pub struct LiveView {
    messages: Messages,
    leave: CancellationToken,
    ended: watch::Receiver<()>,
}

/// Sends messages to the view, which shows them in order with the signals. A stopped terminal does not block the
/// sender.
#[derive(Debug, Clone)]
pub struct Messages(UnboundedSender<ViewMessage>);

#[derive(Debug)]
enum ViewMessage {
    Text { text: String, shown: oneshot::Sender<()> },
    Error(Box<dyn Error + Send + Sync>),
    Forecast(Box<Forecast>),
    Keys(KeysMeaning),
    Hidden { is_hidden: bool, shown: oneshot::Sender<()> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeysMeaning {
    /// Keys that control a debate are accepted, and the block says so.
    Heard,
    HeardInReplay,
    /// Toggles between full texts and first sentences.
    MoreOrLess,
    Help,
    /// Whether the user has requested a pause.
    Held(bool),
}

impl Messages {
    /// Shows `text`, which must end with a line break, after everything published earlier. The future resolves once the
    /// text is shown; it need not be awaited.
    pub fn say(&self, text: &str) -> impl Future<Output = ()> + use<> {
        let (shown, told) = oneshot::channel();
        // Sending fails only after the view has ended. The future then resolves immediately.
        drop(self.0.send(ViewMessage::Text { text: sanitize(text).into_owned(), shown }));
        async move { drop(told.await) }
    }

    pub(super) fn error(&self, error: impl Error + Send + Sync + 'static) {
        drop(self.0.send(ViewMessage::Error(Box::new(error))));
    }

    pub fn expect(&self, forecast: Forecast) {
        drop(self.0.send(ViewMessage::Forecast(Box::new(forecast))));
    }

    pub fn key(&self, meaning: KeysMeaning) {
        drop(self.0.send(ViewMessage::Keys(meaning)));
    }

    /// Hides the block while something else uses the terminal, or shows it again. The future resolves once this is
    /// done, or never if the terminal is stopped.
    pub fn hide(&self, is_hidden: bool) -> impl Future<Output = ()> + use<> {
        let (shown, told) = oneshot::channel();
        drop(self.0.send(ViewMessage::Hidden { is_hidden, shown }));
        async move { drop(told.await) }
    }
}

impl LiveView {
    /// Shows the `signals` that follow `progress`, on a separate thread.
    ///
    /// # Errors
    ///
    /// Returns an error if the system cannot start a thread.
    pub fn start((progress, signals): (Progress, Subscription), options: DisplayOptions) -> io::Result<Self> {
        let colors = options.color.choice(&io::stderr());
        // Passes escape codes through, and enables them if necessary (Windows).
        let stderr = SharedWriter::new(Box::new(BufWriter::new(AutoStream::always_ansi(io::stderr()))));
        let (sender, messages) = unbounded_channel();
        let (ending, ended) = watch::channel(());
        let leave = CancellationToken::new();
        let left = leave.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        thread::Builder::new().name("view".to_owned()).spawn(move || {
            let reporter = Reporter::new(stderr, options, colors, TerminalSize::of_stderr, &progress);
            runtime.block_on(left.run_until_cancelled(show(signals, messages, progress, reporter)));
            drop(ending);
        })?;
        Ok(Self { messages: Messages(sender), leave, ended })
    }

    pub fn messages(&self) -> Messages {
        self.messages.clone()
    }

    /// Removes the block. The view shows nothing afterwards.
    pub fn leave(&self) {
        self.leave.cancel();
    }

    /// Waits for the end of the view. A stopped terminal may delay it forever.
    pub async fn ended(&mut self) {
        // Nothing is ever sent; the channel closes when the thread ends.
        drop(self.ended.changed().await);
    }
}

async fn show(
    mut signals: Subscription,
    mut messages: UnboundedReceiver<ViewMessage>,
    mut progress: Progress,
    mut reporter: Reporter,
) {
    let mut frames = interval(FRAME_INTERVAL);
    frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        let news = tokio::select! {
            biased;
            // Draw first, so that a flood of signals cannot prevent drawing. A frame is due at most ten times a second.
            _ = frames.tick(), if reporter.is_live() => {
                reporter.draw(&progress, now());
                continue;
            }
            // Take signals before messages, because a message is shown after everything published before it.
            news = signals.next() => news,
            Some(message) = messages.recv() => {
                reporter.tell(message, &progress);
                reporter.flush();
                continue;
            }
        };
        let Some(signal) = news else {
            while let Ok(message) = messages.try_recv() {
                reporter.tell(message, &progress);
            }
            return reporter.flush();
        };
        progress.see(&signal, now());
        reporter.show(&progress, &signal);
        if signals.is_empty() {
            reporter.flush();
            signals.gather(GATHERING).await;
        }
    }
}

fn painted(colors: ColorChoice, line: String) -> String {
    if colors == ColorChoice::Never { anstream::adapter::strip_str(&line).to_string() } else { line }
}

/// Writes to stderr, and ignores errors because there is no other place to report them.
struct Reporter {
    out: SharedWriter,
    colors: ColorChoice,
    form: ViewForm,
    /// If false, only the first sentence of each text is shown.
    in_full: bool,
    teller: Scrollback,
    plan: Plan,
    controls: PendingControls,
    is_hidden: bool,
    is_out: bool,
}

enum ViewForm {
    Live {
        block: LiveBlock,
        size: fn() -> TerminalSize,
    },
    /// The stages that have started calls but not ended, with their rounds.
    Plain(Vec<(u32, StageId)>),
    Quiet,
}

impl Reporter {
    fn new(
        out: SharedWriter,
        options: DisplayOptions,
        colors: ColorChoice,
        size: fn() -> TerminalSize,
        progress: &Progress,
    ) -> Self {
        let form = match options.progress {
            ProgressMode::Live => ViewForm::Live { block: LiveBlock::new(out.clone()), size },
            ProgressMode::Plain => ViewForm::Plain(Vec::new()),
            ProgressMode::Quiet => ViewForm::Quiet,
        };
        Self {
            out,
            colors,
            form,
            in_full: false,
            teller: Scrollback::new(progress),
            plan: Plan::default(),
            controls: PendingControls::default(),
            is_hidden: false,
            is_out: false,
        }
    }

    fn is_live(&self) -> bool {
        matches!(self.form, ViewForm::Live { .. })
    }

    fn draw(&mut self, progress: &Progress, now: std::time::Instant) {
        if let ViewForm::Live { block: live, size } = &mut self.form {
            let size = size();
            let shown = if self.is_hidden { Vec::new() } else { block(progress, &self.plan, self.controls, now, size) };
            let lines: Vec<String> = shown.into_iter().map(|line| painted(self.colors, line)).collect();
            live.draw(&lines, size);
        }
    }

    fn tell_above(&mut self, progress: &Progress, signal: &Signal, columns: usize) {
        self.plan.see(signal, progress);
        if matches!(signal, Signal::Recorded(recorded) if matches!(recorded.event, Event::Resumed(_))) {
            self.controls.is_held = false;
        }
        let (lines, whole) = self.teller.tell(progress, signal, columns, !self.in_full);
        let mut text: String = lines.into_iter().map(|line| painted(self.colors, line) + "\n").collect();
        if let Some(whole) = whole.filter(|_| self.in_full) {
            let width = columns.saturating_sub(INDENT.len()).min(WIDEST);
            let rendered = render_markdown(&whole, width, self.colors);
            let indented = rendered.lines().map(|line| format!("{INDENT}{line}").trim_end().to_owned() + "\n");
            text.extend(std::iter::once("\n".to_owned()).chain(indented).chain(["\n".to_owned()]));
        }
        if !text.is_empty() {
            self.print(text.as_bytes());
        }
    }

    fn show(&mut self, progress: &Progress, signal: &Signal) {
        if let Signal::Gap(gap) = signal {
            return self.skip(gap, progress);
        }
        if let Some(message) = signal.warning() {
            // In the live view, the line of the failed call shows the error.
            let is_told_next = matches!(signal, Signal::Warning { failed: Some(_), .. });
            // The live view reports an outage only once, because its block then counts the waiting calls.
            let is_known = matches!(signal, Signal::ServerGone { .. }) && std::mem::replace(&mut self.is_out, true);
            if !self.is_live() || !(is_told_next || is_known) {
                self.say(|notices| notices.warning(&message));
            }
        }
        if matches!(signal, Signal::ServerBack) {
            self.is_out = false;
        }
        match &mut self.form {
            ViewForm::Live { size, .. } => {
                let columns = size().columns.saturating_sub(1).max(1);
                self.tell_above(progress, signal, columns);
                if !progress.is_running() {
                    // Do not wait for the next frame, because a question or the shell's prompt follows.
                    self.draw(progress, now());
                }
            }
            ViewForm::Plain(begun) => {
                let lines: String = plain_lines(begun, progress, signal).into_iter().map(|line| line + "\n").collect();
                self.print(lines.as_bytes());
            }
            ViewForm::Quiet => {}
        }
    }

    fn skip(&mut self, gap: &Gap, progress: &Progress) {
        if !matches!(self.form, ViewForm::Quiet) {
            self.print(format!("{GAP}\n").as_bytes());
        }
        for message in gap.warnings.iter().filter_map(|signal| signal.warning()) {
            self.say(|notices| notices.warning(&message));
        }
        self.flush();
        self.teller = Scrollback::new(progress);
    }

    fn tell(&mut self, message: ViewMessage, progress: &Progress) {
        match message {
            ViewMessage::Text { text, shown } => {
                self.print(text.as_bytes());
                self.flush();
                // The caller may have stopped waiting.
                let _ = shown.send(());
            }
            ViewMessage::Error(error) => self.say(|notices| notices.error(&*error, None)),
            ViewMessage::Forecast(forecast) => self.plan.expect(&forecast, progress),
            ViewMessage::Keys(KeysMeaning::Heard) => self.controls.keys = HeardKeys::Debate,
            ViewMessage::Keys(KeysMeaning::HeardInReplay) => self.controls.keys = HeardKeys::Replay,
            ViewMessage::Keys(KeysMeaning::Help) => self.controls.shows_help ^= true,
            ViewMessage::Keys(KeysMeaning::Held(is_held)) => self.controls.is_held = is_held,
            ViewMessage::Keys(KeysMeaning::MoreOrLess) => {
                self.in_full ^= true;
                let shown: &[u8] =
                    if self.in_full { b"(full texts from here on)\n" } else { b"(first sentences from here on)\n" };
                self.print(shown);
            }
            ViewMessage::Hidden { is_hidden, shown } => {
                self.is_hidden = is_hidden;
                self.draw(progress, now());
                // The caller may have stopped waiting.
                let _ = shown.send(());
            }
        }
    }

    fn say(&self, write: impl FnOnce(&mut Notices<&mut AutoStream<Vec<u8>>>) -> io::Result<()>) {
        let mut text = AutoStream::new(Vec::new(), self.colors);
        let width = match &self.form {
            ViewForm::Live { size, .. } => Some(size().columns.saturating_sub(1)),
            ViewForm::Plain(_) | ViewForm::Quiet => None,
        };
        if write(&mut Notices::new(&mut text).within(width)).is_ok() {
            self.print(&text.into_inner());
        }
    }

    fn print(&self, text: &[u8]) {
        match &self.form {
            ViewForm::Live { block, .. } => block.print_above(text),
            ViewForm::Plain(_) | ViewForm::Quiet => {
                self.out.clone().write_all(text).ok();
            }
        }
    }

    fn flush(&self) {
        self.out.clone().flush().ok();
    }
}

/// Used instead of times that a clock cannot represent.
const FOREVER: Duration = Duration::from_hours(24 * 365);

/// Publishes the signals at `times` times their original speed, or without waiting if `times` is infinite. Pauses while
/// `held` is true, which delays all later signals. Waits for slow subscribers.
pub async fn play(timeline: Vec<(Duration, Signal)>, times: f64, signals: &Signals, mut held: watch::Receiver<bool>) {
    let mut begun = Instant::now();
    for (at, signal) in timeline {
        loop {
            if *held.borrow_and_update() {
                let since = Instant::now();
                // An error means that nothing can end the pause, so continue.
                let _ = held.wait_for(|is_held| !is_held).await;
                begun += since.elapsed();
            }
            let after = Duration::try_from_secs_f64(at.as_secs_f64() / times).unwrap_or(FOREVER).min(FOREVER);
            tokio::select! {
                () = sleep_until(begun + after) => break,
                Ok(()) = held.changed() => {}
            }
        }
        signals.room().await;
        signals.publish(signal);
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;
    use std::time::Duration;

    use dialectic_base::money::BudgetLimit;
    use dialectic_base::money::Usd;
    use dialectic_record::debate::Evaluation;
    use dialectic_record::debate::fixture::{
        CLARIFICATION_INPUT, CRITIQUE, EVALUATION, PROPOSAL, SYNTHESIS, call, call_started, failed, key, panel,
        pitching, planned, recorded, round_begun, said, stage_ended, stage_started, warning, words,
    };
    use dialectic_record::event::Event;
    use dialectic_record::ids::CallKey;
    use dialectic_record::live::Words;
    use dialectic_record::points::Tally;
    use dialectic_record::settings::TerminationKind;

    use super::super::screen::{BEGIN_UPDATE, CURSOR_ON, END_UPDATE, ERASE_BLOCK};
    use super::super::tests::{FailingWriter, SharedBuffer};
    use super::*;

    /// Two signals, the second of which is sent after 10 seconds.
    fn moments() -> Vec<(Duration, Signal)> {
        [0, 10].map(|seconds| (Duration::from_secs(seconds), warning("x"))).into()
    }

    /// When they arrive.
    async fn arrivals(times: f64) -> [Duration; 2] {
        let signals = Signals::new(panel());
        let (_, mut subscription) = signals.subscribe(Words::Wanted);
        let begun = Instant::now();
        let player = tokio::spawn(async move { play(moments(), times, &signals, watch::channel(false).1).await });
        let mut took = [Duration::ZERO; 2];
        for took in &mut took {
            subscription.next().await.unwrap();
            *took = begun.elapsed();
        }
        player.await.unwrap();
        took.map(|took| Duration::from_millis(u64::try_from(took.as_millis()).unwrap()))
    }

    #[tokio::test(start_paused = true)]
    async fn every_signal_comes_in_its_time() {
        let seconds = Duration::from_secs;
        assert_eq!(arrivals(1.0).await, [seconds(0), seconds(10)]);
        assert_eq!(arrivals(10.0).await, [seconds(0), seconds(1)]);
        assert_eq!(arrivals(f64::INFINITY).await, [seconds(0), seconds(0)]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_held_goes_on_where_it_was() {
        let signals = Signals::new(panel());
        let (_, mut subscription) = signals.subscribe(Words::Wanted);
        let (pause, is_paused) = watch::channel(false);
        let begun = Instant::now();
        let player = tokio::spawn(async move { play(moments(), 1.0, &signals, is_paused).await });
        subscription.next().await.unwrap();
        tokio::time::sleep(Duration::from_secs(4)).await;
        pause.send_replace(true);
        tokio::time::sleep(Duration::from_secs(100)).await;
        pause.send_replace(false);
        subscription.next().await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 110);
        player.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn the_player_waits_for_whoever_is_slow() {
        let signals = Signals::new(panel());
        let (_, mut subscription) = signals.subscribe(Words::Wanted);
        let moments = (0..10_000).map(|_| (Duration::ZERO, warning("x"))).collect();
        let player = tokio::spawn(async move { play(moments, f64::INFINITY, &signals, watch::channel(false).1).await });
        let mut taken = 0;
        while let Some(news) = subscription.next().await {
            assert!(!matches!(*news, Signal::Gap(_)), "{news:?}");
            taken += 1;
        }
        assert_eq!(taken, 10_000);
        player.await.unwrap();
    }

    /// The bytes that remove the block.
    fn erased() -> String {
        format!("{ERASE_BLOCK}{CURSOR_ON}")
    }

    /// A running display, what it writes, and its signals and messages.
    struct Shown {
        screen: SharedBuffer,
        signals: Signals,
        messages: Messages,
        task: tokio::task::JoinHandle<()>,
    }

    impl Shown {
        fn new(mode: ProgressMode) -> Self {
            let size = || TerminalSize { columns: 60, rows: 24 };
            let screen = SharedBuffer::default();
            Self::on(screen.clone(), screen, mode, ColorMode::Never, size)
        }

        fn on(
            out: impl Write + Send + 'static,
            screen: SharedBuffer,
            progress: ProgressMode,
            color: ColorMode,
            size: fn() -> TerminalSize,
        ) -> Self {
            let signals = Signals::new(panel());
            let (so_far, subscription) = signals.subscribe(Words::Wanted);
            let choice = if color == ColorMode::Always { ColorChoice::Always } else { ColorChoice::Never };
            let out = SharedWriter::new(Box::new(out));
            let reporter = Reporter::new(out, DisplayOptions { progress, color }, choice, size, &so_far);
            let (sender, messages) = unbounded_channel();
            let task = tokio::spawn(show(subscription, messages, so_far, reporter));
            Self { screen, signals, messages: Messages(sender), task }
        }

        /// With a block that shows the first round.
        async fn in_round() -> Self {
            let shown = Self::new(ProgressMode::Live);
            shown.publish([round_begun(1)]);
            shown.after(150).await;
            shown
        }

        fn publish(&self, signals: impl IntoIterator<Item = Signal>) {
            signals.into_iter().for_each(|signal| self.signals.publish(signal));
        }

        fn text(&self) -> String {
            // Synchronized updates do not change the contents.
            self.screen.text().replace(BEGIN_UPDATE, "").replace(END_UPDATE, "")
        }

        async fn after(&self, millis: u64) -> String {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            self.text()
        }

        /// All that was written when the debate is over.
        async fn end(self) -> String {
            let Self { screen, signals, messages, task } = self;
            drop(signals);
            task.await.unwrap();
            drop(messages);
            screen.text().replace(BEGIN_UPDATE, "").replace(END_UPDATE, "")
        }
    }

    fn scene() -> [Signal; 4] {
        [round_begun(1), stage_started(PROPOSAL, 3), call_started(PROPOSAL, "agent-kiss", None), warning("look out")]
    }

    async fn shown(mode: ProgressMode) -> String {
        let shown = Shown::new(mode);
        shown.publish(scene());
        shown.after(350).await;
        shown.end().await
    }

    #[tokio::test(start_paused = true)]
    async fn plain_progress_has_no_escape_codes_and_quiet_still_warns() {
        insta::assert_snapshot!(shown(ProgressMode::Plain).await, @"
        round 1/3: proposals started (3 expected)
        warning: look out
        ");
        assert_eq!(shown(ProgressMode::Quiet).await, "warning: look out\n");
    }

    #[tokio::test(start_paused = true)]
    async fn the_block_is_redrawn_ten_times_a_second_and_erased_at_the_end() {
        let text = shown(ProgressMode::Live).await;
        let frames = text.matches("Round 1/3").count();
        // One redraw after the warning, and one each at 100, 200 and 300 ms.
        assert!((3..=5).contains(&frames), "{frames} frames: {text:?}");
        assert!(text.contains(&format!("{}warning: look out\n", erased())), "{text:?}");
        assert!(text.ends_with(&erased()), "{text:?}");
        assert!(text.contains("\u{1b}[?25l"), "the cursor would stand in the block");
    }

    #[tokio::test(start_paused = true)]
    async fn results_are_told_above_the_block_by_name() {
        let shown = Shown::in_round().await;
        let events = [pitching::polled("agent-kiss", "against \u{1b}[2J"), pitching::decided(None, None)];
        shown.publish(events.map(recorded));
        let text = shown.end().await;
        assert!(text.contains("show-of-hands Simplicity Advocate"), "{text:?}");
        assert!(text.contains("against [2J"), "{text:?}");
        assert!(text.contains("◆ verdict: nobody wins (System"), "{text:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_aborted_display_erases_its_block() {
        let mut shown = Shown::new(ProgressMode::Live);
        shown.publish(scene());
        assert!(!shown.after(350).await.ends_with(&erased()));
        shown.task.abort();
        assert!((&mut shown.task).await.unwrap_err().is_cancelled());
        assert!(shown.text().ends_with(&erased()));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_drawn_while_the_user_is_asked_or_somebody_else_has_the_terminal() {
        let shown = Shown::in_round().await;
        shown.publish([recorded(Event::Suspended { stage: CLARIFICATION_INPUT })]);
        let before = shown.after(10).await;
        assert!(before.ends_with(&erased()), "{before:?}");
        assert_eq!(shown.after(1_000).await, before, "the question would be overwritten");
        shown.publish([recorded(Event::Resumed(BudgetLimit::default()))]);
        assert!(shown.after(150).await.len() > before.len());
        shown.messages.hide(true).await;
        let before = shown.text();
        assert!(before.ends_with(&erased()), "{before:?}");
        assert_eq!(shown.after(1_000).await, before);
        shown.messages.hide(false).await;
        assert!(shown.text().ends_with("\u{1b}[?7h"), "{:?}", shown.text());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stderr_that_has_gone_ends_nothing() {
        for mode in [ProgressMode::Live, ProgressMode::Plain, ProgressMode::Quiet] {
            let size = || TerminalSize { columns: 60, rows: 24 };
            let gone = FailingWriter(io::ErrorKind::BrokenPipe);
            let shown = Shown::on(gone, SharedBuffer::default(), mode, ColorMode::Never, size);
            shown.publish(scene());
            shown.after(250).await;
            shown.end().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_comes_behind_what_was_published_before_it() {
        let shown = Shown::in_round().await;
        shown.publish([recorded(Event::Suspended { stage: CLARIFICATION_INPUT })]);
        shown.messages.say("Question \u{1b}[2J1 of 2?\n").await;
        assert!(shown.text().ends_with(&format!("{}Question [2J1 of 2?\n", erased())), "{:?}", shown.text());
        let messages = shown.messages.clone();
        let text = shown.end().await;
        // The waiter may be gone.
        messages.say("Too late.\n").await;
        assert!(!text.contains("late"));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_fell_behind_goes_on_from_a_snapshot_and_hears_every_warning() {
        let shown = Shown::new(ProgressMode::Plain);
        // The display does not run while these are published.
        shown.publish([round_begun(1), warning("look out")]);
        shown.publish((0..5_000).map(|_| stage_started(PROPOSAL, 3)));
        shown.publish([call_started(PROPOSAL, "agent-kiss", None)]);
        let gap = "… skipped some progress updates, because the reader was too slow …\nwarning: look out\n";
        assert_eq!(shown.end().await, format!("{gap}round 1/3: proposals started (3 expected)\n"));
    }

    /// A debate in its second round with a failed call and calls in flight.
    fn debate() -> Vec<Signal> {
        let (architect, performance, kiss) = ("agent-architect", "agent-performance", "agent-kiss");
        let points = Tally { by_status: [2, 7, 0, 3], ..Tally::default() };
        vec![
            round_begun(1),
            stage_started(PROPOSAL, 3),
            said(PROPOSAL, architect, None, "# Plan\n\nKeep a **lease table** in the database. It is enough."),
            said(PROPOSAL, kiss, None, "Do \u{1b}[2Jnothing new: 東京 👩‍💻 \u{202e}cron is there."),
            Signal::Warning {
                message: "agent-performance failed".to_owned(),
                failed: Some(key(PROPOSAL, performance, None)),
            },
            failed(PROPOSAL, performance, None, "the server failed (503): overloaded, try again in a few minutes"),
            stage_ended(PROPOSAL, 2, 1),
            stage_started(CRITIQUE, 2),
            said(
                CRITIQUE,
                kiss,
                Some(architect),
                "1. [major] The lease table is a hot spot under load, e.g. at midnight.",
            ),
            recorded(Event::Evaluated {
                key: key(EVALUATION, "judge", None),
                evaluation: Evaluation { kind: TerminationKind::Convergence, score: Some(64.0), threshold: 80.0 },
                call: Some(call(Some(Usd::from_dollars(0.01)))),
            }),
            stage_ended(CRITIQUE, 1, 1),
            Signal::RoundEnded { round: 1, points: Some(points), moves: Vec::new() },
            round_begun(2),
            Signal::StageStarted { stage: PROPOSAL, round: 2, total: 2 },
            Signal::StageEnded { stage: PROPOSAL, round: 2, done: 2, failed: 0 },
            Signal::StageStarted { stage: CRITIQUE, round: 2, total: 2 },
            call_started(CRITIQUE, architect, Some(kiss)),
            words(CRITIQUE, architect, Some(kiss), "Cron knows nothing of a job that \u{1b}]0;x\u{7}hangs"),
            call_started(CRITIQUE, kiss, Some(architect)),
        ]
    }

    fn forecast() -> Forecast {
        let dollars = Some((0.005, 0.1));
        let second = |stage| planned(CallKey { round: 2, ..key(stage, "judge", None) }, dollars);
        let calls = vec![planned(key(PROPOSAL, "agent-kiss", None), dollars), second(EVALUATION), second(SYNTHESIS)];
        Forecast { calls, purchase: None }
    }

    /// What the terminal shows during and after that debate.
    async fn screens(in_full: bool, size: fn() -> TerminalSize) -> [String; 2] {
        let TerminalSize { columns, rows } = size();
        let screen = SharedBuffer::default();
        let shown = Shown::on(screen.clone(), screen, ProgressMode::Live, ColorMode::Always, size);
        shown.messages.expect(forecast());
        shown.messages.key(KeysMeaning::Heard);
        if in_full {
            shown.messages.key(KeysMeaning::MoreOrLess);
            // Signals come before keys that are pressed later.
            shown.after(1).await;
        }
        shown.publish(debate());
        let seen = |text: &str, is_over: bool| {
            let [rows, columns] =
                [rows, columns].map(|cells| NonZero::try_from(u16::try_from(cells).unwrap()).unwrap());
            let mut screen = vt100::Parser::new(rows, columns, 0);
            // A terminal needs both characters.
            screen.process(text.replace('\n', "\r\n").replace("\r\r", "\r").as_bytes());
            // A visible cursor would be inside the block.
            assert_eq!(screen.screen().hide_cursor(), !is_over);
            screen.screen().contents().trim_end().to_owned()
        };
        let during = seen(&shown.after(2_350).await, false);
        [during, seen(&shown.end().await, true)]
    }

    #[tokio::test(start_paused = true)]
    async fn a_debate_on_a_narrow_screen() {
        let [during, after] = screens(false, || TerminalSize { columns: 50, rows: 30 }).await;
        insta::assert_snapshot!(during, @"
        ✓ r1 proposal System Architect (1) · 1.2 s
            “Keep a lease table in the database.”
        ✓ r1 proposal Simplicity Advocate (3) · 1.2 s
            “Do [2Jnothing new: 東京 👩‍💻 cron is there.”
        ✗ r1 proposal Performance Engineer (2)
            the server failed (503): overloaded, try
            again in a few minutes (after 4 attempts)
        ✓ r1 critique Simplicity Advocate (3) · 1.2 s
            → System Architect (1)
            “[major] The lease table is a hot spot under
            load, e.g. at midnight.”
        ✓ r1 evaluation Judge · 1.2 s
            convergence 64 (80 needed)
        ── Round 1/3 · convergence 64 · $0.0400 ─────────
        … ▸ critiques 0/2  · evaluation  · synthesis
        ⠸ System Architect (1)     critiquing · 0:02
        · Performance Engineer (2)
        ⠸ Simplicity Advocate (3)  thinking · 0:02
        · Judge
        Round 2/3 · 0:02 · $0.0400 · likely $0.0600
        ");
        assert!(during.starts_with(&after), "{after}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_debate_on_a_usual_screen() {
        let [during, after] = screens(false, || TerminalSize { columns: 80, rows: 30 }).await;
        insta::assert_snapshot!(during, @"
        ✓ r1 proposal System Architect (1) · 1.2 s
            “Keep a lease table in the database.”
        ✓ r1 proposal Simplicity Advocate (3) · 1.2 s
            “Do [2Jnothing new: 東京 👩‍💻 cron is there.”
        ✗ r1 proposal Performance Engineer (2)
            the server failed (503): overloaded, try again in a few minutes (after 4
            attempts)
        ✓ r1 critique Simplicity Advocate (3) → System Architect (1) · 1.2 s
            “[major] The lease table is a hot spot under load, e.g. at midnight.”
        ✓ r1 evaluation Judge · 1.2 s · convergence 64 (80 needed)
        ── Round 1/3 · convergence 64 · 12 points · 2 open · 5,736 tokens · $0.0400 ───
        ✓ proposals  ▸ critiques 0/2  · evaluation  · synthesis
        ⠸ System Architect (1)     critiquing Simplicity Advocate · 0:02 · …]0;xhangs
        · Performance Engineer (2)
        ⠸ Simplicity Advocate (3)  critiquing System Architect · thinking · 0:02
        · Judge
        Round 2/3 · 0:02 · $0.0400 · 4 of 6 calls · likely $0.0600 in total
        ");
        assert!(during.starts_with(&after), "{after}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_debate_on_a_wide_screen() {
        let [during, after] = screens(false, || TerminalSize { columns: 120, rows: 30 }).await;
        insta::assert_snapshot!(during, @"
        ✓ r1 proposal System Architect (1) · 1.2 s · “Keep a lease table in the database.”
        ✓ r1 proposal Simplicity Advocate (3) · 1.2 s · “Do [2Jnothing new: 東京 👩‍💻 cron is there.”
        ✗ r1 proposal Performance Engineer (2)
            the server failed (503): overloaded, try again in a few minutes (after 4 attempts)
        ✓ r1 critique Simplicity Advocate (3) → System Architect (1) · 1.2 s
            “[major] The lease table is a hot spot under load, e.g. at midnight.”
        ✓ r1 evaluation Judge · 1.2 s · convergence 64 (80 needed)
        ── Round 1/3 · convergence 64 · 12 points · 2 open · 7 claimed · 3 rejected · 5,736 tokens · $0.0400 ──────────────────
        ✓ proposals  ▸ critiques 0/2  · evaluation  · synthesis
        ⠸ System Architect (1)     critiquing Simplicity Advocate · 0:02 · 8 words · …a job that ]0;xhangs
        · Performance Engineer (2)
        ⠸ Simplicity Advocate (3)  critiquing System Architect · thinking · 0:02
        · Judge
        Round 2/3 · 0:02 · $0.0400 · 4 of 6 calls · likely $0.0600 in total · 5,736 tokens · ? for keys
        ");
        assert!(during.starts_with(&after), "{after}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_debate_on_a_screen_of_three_rows() {
        let [during, _] = screens(false, || TerminalSize { columns: 50, rows: 3 }).await;
        insta::assert_snapshot!(during, @r"
        ── Round 1/3 · convergence 64 · $0.0400 ─────────
        … ▸ critiques 0/2  · evaluation  · synthesis
        Round 2/3 · 0:02 · $0.0400 · likely $0.0600
        ");
    }

    #[tokio::test(start_paused = true)]
    async fn a_debate_with_whole_texts() {
        let [_, after] = screens(true, || TerminalSize { columns: 80, rows: 40 }).await;
        insta::assert_snapshot!(after, @"
        (full texts from here on)
        ✓ r1 proposal System Architect (1) · 1.2 s

            Plan
            ════

            Keep a lease table in the database. It is enough.

        ✓ r1 proposal Simplicity Advocate (3) · 1.2 s

            Do [2Jnothing new: 東京 👩‍💻 cron is there.

        ✗ r1 proposal Performance Engineer (2)
            the server failed (503): overloaded, try again in a few minutes (after 4
            attempts)
        ✓ r1 critique Simplicity Advocate (3) → System Architect (1) · 1.2 s

            1. [major] The lease table is a hot spot under load, e.g. at midnight.

        ✓ r1 evaluation Judge · 1.2 s · convergence 64 (80 needed)
        ── Round 1/3 · convergence 64 · 12 points · 2 open · 5,736 tokens · $0.0400 ───
        ");
    }

    #[tokio::test(start_paused = true)]
    async fn a_debate_that_is_held_says_so_and_how_it_goes_on() {
        let shown = Shown::new(ProgressMode::Live);
        shown.publish(scene());
        shown.messages.key(KeysMeaning::Help);
        shown.messages.key(KeysMeaning::Held(true));
        let text = shown.after(250).await;
        assert!(text.contains("p pause · s stop"), "{text:?}");
        assert!(text.contains("Pausing · waiting for 1 call · 0:00"), "{text:?}");
        shown.publish([recorded(Event::Paused)]);
        let held = shown.after(150).await;
        assert!(held.contains("Paused · p to continue · Ctrl-C"), "{held:?}");
        shown.publish([recorded(Event::Resumed(BudgetLimit::default()))]);
        let text = shown.after(150).await;
        assert!(text[held.len()..].contains("Round 1/3 · 0:00"), "{text:?}");
    }
}
