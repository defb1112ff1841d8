//! The live block on a terminal: a header, and a line for each agent that is busy.

#![expect(clippy::disallowed_methods, reason = "it is asked for its size")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use console::{measure_text_width, pad_str, truncate_str};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use crate::debate::{Busy, CallInFlight, CallKey, Progress, StageId, StageInfo, Yield};
use crate::figures::{clock, counted, named_cost, tokens};

use super::screen::{Screen, SharedWriter, WIDEST};
use super::words::last_words;
use crate::sanitize::one_line;

/// Between two frames.
pub(super) const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// From this width on, names are padded to stand in a column.
const ROOMY: usize = 60;
/// The widest column of names.
const NAME_COLUMN: usize = 24;

/// Between two parts of a line.
const SEPARATOR: &str = " · ";
/// In less room than this, in columns, no words are shown: there would be none to read.
const LEAST_WORDS: usize = 12;

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

const HEADER: Style = Style::new().bold();
const SPIN: Style = AnsiColor::Cyan.on_default();
const QUIET: Style = Style::new().dimmed();
const RETRY: Style = AnsiColor::Yellow.on_default();

/// The size of a terminal in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TerminalSize {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl TerminalSize {
    /// Of the terminal that stderr is; 80 by 24 when it does not say.
    pub(super) fn of_stderr() -> Self {
        let (rows, columns) = console::Term::stderr().size_checked().unwrap_or((24, 80));
        Self { columns: columns.into(), rows: rows.into() }
    }
}

/// Draws the block, and erases it when dropped.
pub(super) struct LiveBlock {
    bar: ProgressBar,
    out: SharedWriter,
    size: Option<TerminalSize>,
}

impl LiveBlock {
    pub(super) fn new(out: SharedWriter) -> Self {
        let target = ProgressDrawTarget::term_like(Box::new(Screen::new(out.clone())));
        let bar = ProgressBar::with_draw_target(None, target).with_finish(ProgressFinish::AndClear);
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self { bar, out, size: None }
    }

    /// Replaces what is shown by `lines`, none of them wider than the terminal, which is of `size` now.
    pub(super) fn draw(&mut self, lines: &[String], size: TerminalSize) {
        if self.size.replace(size) != Some(size) {
            // The terminal may have joined or split lines; only erased ones forget that they belonged together.
            self.bar.set_message("");
        }
        self.bar.set_message(lines.join("\n"));
    }

    /// Prints `text`, whole lines, above the block.
    pub(super) fn print_above(&self, text: &[u8]) {
        let mut out = self.out.clone();
        // A terminal that has gone is no reason to end a debate.
        self.bar.suspend(|| out.write_all(text).and_then(|()| out.flush())).ok();
    }
}

/// The lines of the block, with colours, cut to `size`.
pub(super) fn block(progress: &Progress, now: Instant, size: TerminalSize) -> Vec<String> {
    // The last column stays free: some terminals wrap as soon as it is filled.
    let columns = size.columns.saturating_sub(1).clamp(1, WIDEST);
    let rows = size.rows.saturating_sub(1).max(1);
    let busy = progress.busy();
    let shown = if busy.len() < rows { busy.len() } else { rows.saturating_sub(2) };
    let mut lines = vec![header(progress, now)];
    lines.extend(busy[..shown].iter().map(|busy| agent_line(progress, busy, now, columns)));
    if shown < busy.len() && rows > 1 {
        lines.push(format!("{QUIET}… and {} more{QUIET:#}", busy.len() - shown));
    }
    lines.iter().map(|line| truncate_str(line, columns, "…").into_owned()).collect()
}

/// `Round 2/3 · critique 4/6 · 12,345 tokens · $0.0421 · 0:42`
fn header(progress: &Progress, now: Instant) -> String {
    let round = (progress.round() > 0).then(|| format!("Round {}/{}", progress.round(), progress.panel().rounds));
    let stage = match progress.earliest() {
        Some((stage, so_far)) => {
            let landed = (so_far.done + so_far.failed).min(so_far.total);
            Some(format!("{} {landed}/{}", one_line(stage.as_str()), so_far.total))
        }
        None => progress.stage().filter(|stage| makes_calls(progress, *stage)).map(|stage| one_line(stage.as_str())),
    };
    let spent = progress.spent();
    let place: Vec<String> = [round, stage].into_iter().flatten().collect();
    let rest = [tokens(spent.tokens), named_cost(spent.cost), clock(progress.elapsed(now))].join(" · ");
    if place.is_empty() { rest } else { format!("{HEADER}{}{HEADER:#} · {rest}", place.join(" · ")) }
}

/// Whether a stage is worth naming while none of its calls has begun: those without calls are left at once.
fn makes_calls(progress: &Progress, stage: StageId) -> bool {
    progress.panel().stage(stage).is_none_or(|stage| stage.yields.is_some())
}

/// `⠋ System Architect critiquing Simplicity Advocate · 0:12 · retry 2 in 4 s: rate limited`, and while an answer comes
/// in `⠋ System Architect proposing · 0:12 · 34 words · …a queue keeps its order`
fn agent_line(progress: &Progress, busy: &Busy<'_>, now: Instant, columns: usize) -> String {
    let frame = progress.elapsed(now).as_millis() / FRAME_INTERVAL.as_millis() % SPINNER.len() as u128;
    let spinner = SPINNER[usize::try_from(frame).unwrap_or(0)];
    let name = one_line(progress.panel().name(busy.agent_id));
    let name = if columns < ROOMY {
        // What an agent does is worth as much room as its name.
        truncate_str(&name, columns / 2, "…").into_owned()
    } else {
        in_column(progress, &name)
    };
    let since = busy.calls.iter().map(|(_, call)| call.since).min().unwrap_or(now);
    let elapsed = clock(now.saturating_duration_since(since));
    let doing = doing(progress, busy);
    let mut line = format!("{SPIN}{spinner}{SPIN:#} {name} {doing} · {QUIET}{elapsed}{QUIET:#}");
    // As soon as a repeated call brings words, its retry is history.
    let is_waiting = |call: &&CallInFlight| call.words.count() == 0;
    let mut calls = busy.calls.iter().map(|(_, call)| *call);
    if let Some(retry) = calls.clone().filter(is_waiting).find_map(|call| call.retry.as_ref()) {
        let wait = retry.due.saturating_duration_since(now).as_millis().div_ceil(1000);
        let when = if wait == 0 { String::new() } else { format!(" in {wait} s") };
        let notice = format!("retry {}{when}: {}", retry.number, one_line(&retry.error));
        let _ = write!(line, " · {RETRY}{notice}{RETRY:#}");
    }
    let count: u64 = calls.clone().map(|call| call.words.count()).sum();
    if let Some(first) = calls.find(|call| !is_waiting(call)) {
        let _ = write!(line, " · {}", counted(count, "word"));
        let room = columns.saturating_sub(measure_text_width(&line) + measure_text_width(SEPARATOR));
        if room >= LEAST_WORDS {
            // Of several answers the first alone is shown: the line would jump between them.
            let _ = write!(line, "{SEPARATOR}{QUIET}{}{QUIET:#}", last_words(&first.words, room));
        }
    }
    line
}

/// `name`, padded to the widest of the panel's.
fn in_column(progress: &Progress, name: &str) -> String {
    let widths = progress.panel().participants().map(|participant| measure_text_width(&one_line(&participant.name)));
    let column = widths.max().unwrap_or(0).min(NAME_COLUMN);
    pad_str(name, column, console::Alignment::Left, Some("…")).into_owned()
}

/// `critiquing Simplicity Advocate`, `critiquing 2 proposals`, `critiquing 2 proposals, refining`
fn doing(progress: &Progress, busy: &Busy<'_>) -> String {
    let panel = progress.panel();
    let parts = busy.calls.chunk_by(|(one, _), (next, _)| one.stage == next.stage).map(|calls| {
        let key: &CallKey = calls[0].0;
        let verb = one_line(&panel.words(key.stage).progressive);
        match (calls.len(), &key.target_agent_id) {
            (1, Some(target)) => format!("{verb} {}", one_line(panel.name(target))),
            (several, Some(_)) => format!("{verb} {several} {}", one_line(targets(&panel.stages, key.stage))),
            (_, None) => verb,
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// What the calls of a stage are about when they are about several agents: the solutions that come last before it.
fn targets(stages: &[StageInfo], stage: StageId) -> &str {
    let before = stages.iter().take_while(|before| before.id != stage);
    let proposal = before.filter(|before| before.yields == Some(Yield::Proposal)).last();
    proposal.map_or("agents", |proposal| &proposal.words.plural)
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::super::screen::ERASE_BLOCK;
    use super::*;
    use crate::debate::fixture::{
        CLARIFICATION, CRITIQUE, PROPOSAL, call_started, contributed, panel, retrying, round_begun, stage_entered,
        stage_started, words,
    };
    use crate::debate::{PanelInfo, Signal, Spent};

    fn scene() -> Vec<Signal> {
        vec![
            round_begun(1),
            stage_started(PROPOSAL, 3),
            contributed(PROPOSAL, "agent-kiss", None),
            call_started(PROPOSAL, "agent-performance", None),
            stage_started(CRITIQUE, 6),
            call_started(CRITIQUE, "agent-architect", Some("agent-kiss")),
            call_started(CRITIQUE, "agent-kiss", Some("agent-architect")),
            call_started(CRITIQUE, "agent-kiss", Some("agent-performance")),
            retrying(CRITIQUE, "agent-architect", Some("agent-kiss"), "rate\nlimited"),
        ]
    }

    fn drawn_of(panel: PanelInfo, signals: &[Signal], columns: usize, rows: usize) -> Vec<String> {
        let begun = Instant::now();
        let mut progress = Progress::new(panel, begun);
        for signal in signals {
            progress.see(signal, begun);
        }
        block(&progress, begun + Duration::from_millis(2_300), TerminalSize { columns, rows })
    }

    fn drawn(signals: &[Signal], columns: usize, rows: usize) -> String {
        let lines = drawn_of(panel(), signals, columns, rows);
        lines.iter().map(|line| strip_str(line).to_string()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_block_shows_the_round_and_who_is_busy() {
        insta::assert_snapshot!(drawn(&scene(), 100, 30), @r"
        Round 1/3 · proposal 1/3 · 1,434 tokens · $0.0100 · 0:02
        ⠸ System Architect     critiquing Simplicity Advocate · 0:02 · retry 2 in 2 s: rate limited
        ⠸ Performance Engineer proposing · 0:02
        ⠸ Simplicity Advocate  critiquing 2 proposals · 0:02
        ");
        insta::assert_snapshot!(drawn(&scene(), 20, 30), @r"
        Round 1/3 · propos…
        ⠸ System A… critiq…
        ⠸ Performa… propos…
        ⠸ Simplici… critiq…
        ");
    }

    #[test]
    fn words_are_shown_while_they_come_in() {
        let mut signals = scene();
        signals.push(words(PROPOSAL, "agent-performance", None, "## Cache\n\nPut a cache before"));
        signals.push(words(PROPOSAL, "agent-performance", None, " the \u{1b}[2Jdatabase, and measure"));
        signals.push(words(CRITIQUE, "agent-architect", Some("agent-kiss"), "Too"));
        signals.push(words(CRITIQUE, "agent-kiss", Some("agent-performance"), "It lacks a limit."));
        insta::assert_snapshot!(drawn(&signals, 100, 30), @r"
        Round 1/3 · proposal 1/3 · 1,434 tokens · $0.0100 · 0:02
        ⠸ System Architect     critiquing Simplicity Advocate · 0:02 · 1 word · Too
        ⠸ Performance Engineer proposing · 0:02 · 10 words · …a cache before the [2Jdatabase, and measure
        ⠸ Simplicity Advocate  critiquing 2 proposals · 0:02 · 4 words · It lacks a limit.
        ");
        insta::assert_snapshot!(drawn(&signals, 60, 30), @r"
        Round 1/3 · proposal 1/3 · 1,434 tokens · $0.0100 · 0:02
        ⠸ System Architect critiquing Simplicity Advocate · 0:02 ·…
        ⠸ Performance Engineer proposing · 0:02 · 10 words
        ⠸ Simplicity Advocate critiquing 2 proposals · 0:02 · 4 wo…
        ");
        assert!(drawn(&signals, 20, 30).lines().all(|line| measure_text_width(line) < 20));
    }

    #[test]
    fn a_low_terminal_says_how_many_it_leaves_out() {
        insta::assert_snapshot!(drawn(&scene(), 60, 4), @r"
        Round 1/3 · proposal 1/3 · 1,434 tokens · $0.0100 · 0:02
        ⠸ System Architect critiquing Simplicity Advocate · 0:02 ·…
        … and 2 more
        ");
        assert_eq!(drawn(&scene(), 60, 1).lines().count(), 1);
    }

    #[test]
    fn no_line_is_as_wide_as_the_terminal_whatever_the_names_are() {
        let mut panel = panel();
        panel.agents[0].name = "東京の建築家 👩‍💻 with a long, long name\n\u{1b}[2J".to_owned();
        let mut signals = scene();
        signals.push(words(PROPOSAL, "agent-performance", None, &"東京 \u{1b}[2J👩‍💻 e\u{301}\n".repeat(40)));
        for columns in 0..130 {
            for line in drawn_of(panel.clone(), &signals, columns, 30) {
                assert!(measure_text_width(&line) <= columns.saturating_sub(1).max(1), "{columns}: {line:?}");
                assert!(!line.contains('\n') && !line.contains("\u{1b}[2J"), "{line:?}");
            }
        }
    }

    #[test]
    fn a_new_size_erases_before_it_draws() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let out = SharedWriter::new(Box::new(file.reopen().unwrap()));
        let mut live = LiveBlock::new(out);
        let [wide, narrow] = [80, 40].map(|columns| TerminalSize { columns, rows: 24 });
        for (text, size) in [("one", wide), ("two", wide), ("three", narrow)] {
            live.draw(&[text.to_owned()], size);
        }
        let shown = std::fs::read_to_string(file.path()).unwrap();
        let (before, after) = shown.split_once("two").unwrap();
        assert!(!before.contains(ERASE_BLOCK), "{before:?}");
        assert!(after.split_once("three").unwrap().0.contains(ERASE_BLOCK), "{after:?}");
    }

    #[test]
    fn before_the_first_round_the_stage_that_was_entered_is_named() {
        let clarifying = [stage_entered(CLARIFICATION)];
        assert_eq!(drawn(&clarifying, 80, 24), "clarification · 0 tokens · $0.0000 · 0:02");
        assert_eq!(drawn(&[], 80, 24), "0 tokens · $0.0000 · 0:02");
    }

    #[test]
    fn an_unknown_cost_is_called_so() {
        let panel = PanelInfo { spent: Spent { tokens: 12_345, cost: None }, ..panel() };
        assert_eq!(drawn_of(panel, &[], 80, 24), ["12,345 tokens · cost unknown · 0:02"]);
    }
}
