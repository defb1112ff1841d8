//! The live block on a terminal: stages, one line per agent, time and cost.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use console::{measure_text_width, pad_str, truncate_str};

use dialectic_base::figures::{clock, counted, short_cost, sum_of_tokens};
use dialectic_base::sanitize::one_line;
use dialectic_record::ids::{AgentId, CallKey, ResultKind, StageId, StageInfo};
use dialectic_record::live::{CallInFlight, Progress, StageProgress, WordsSoFar};

use super::forecast::Plan;
use super::result::spending;
use super::screen::{TerminalSize, WIDEST};
use super::told::{LinePart, cut_words, fitting, label, style_of};

pub(super) const FRAME_INTERVAL: Duration = Duration::from_millis(100);

/// The minimum width for showing “in total” after a likely cost.
const ROOMY: usize = 60;
/// The minimum width of a window in which names may take up [`NAME_COLUMN`].
const ROOM_FOR_NAMES: usize = 44;
/// The maximum width of names.
const NAME_COLUMN: usize = 28;

const SEPARATOR: &str = " · ";
/// The minimum width for showing streamed words.
const LEAST_WORDS: usize = 12;

/// Shown until the first words of a call arrive.
const SILENT: &str = "thinking";

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

const HELP: &str = "p pause or continue · s stop and close · v more or less · ? · Ctrl-C";
const REPLAY_HELP: &str = "p pause or continue · v more or less · q leave";
const SHORT_HELP: &str = "p pause · s stop · v more or less · Ctrl-C";

const HEADER: Style = Style::new().bold();
const SPIN: Style = AnsiColor::Cyan.on_default();
const QUIET: Style = Style::new().dimmed();
const DONE: Style = AnsiColor::Green.on_default();
const HELD: Style = AnsiColor::Yellow.on_default().bold();
const RETRY: Style = AnsiColor::Yellow.on_default();

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum HeardKeys {
    #[default]
    None,
    Debate,
    Replay,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PendingControls {
    pub(super) keys: HeardKeys,
    pub(super) shows_help: bool,
    /// Whether a pause was requested.
    pub(super) is_held: bool,
}

/// The coloured lines of the block, cut to `size`: the stages, a line for each participant, and the status line, which
/// is never omitted while the debate is running.
pub(super) fn block(
    progress: &Progress,
    plan: &Plan,
    controls: PendingControls,
    now: Instant,
    size: TerminalSize,
) -> Vec<String> {
    // Leave the last column empty, since some terminals wrap as soon as it is filled.
    let columns = size.columns.saturating_sub(1).clamp(1, WIDEST);
    let rows = size.rows.saturating_sub(1).max(1);
    let is_replay = controls.keys == HeardKeys::Replay;
    if is_replay && controls.is_held {
        let waits = format!("{HELD}Paused{HELD:#} · p to continue · q to leave");
        return vec![truncate_str(&waits, columns, "…").into_owned()];
    }
    if !progress.is_running() {
        let waits = format!("{HELD}Paused{HELD:#} · p to continue · Ctrl-C to save and leave");
        return if controls.is_held { vec![truncate_str(&waits, columns, "…").into_owned()] } else { Vec::new() };
    }
    let mut lines: Vec<String> = Vec::new();
    if rows > 1 {
        lines.extend(strip(progress, plan, columns));
    }
    let mut below = Vec::new();
    if controls.shows_help && rows > 2 {
        let help = match controls.keys {
            HeardKeys::Replay => REPLAY_HELP,
            HeardKeys::Debate | HeardKeys::None if measure_text_width(HELP) > columns => SHORT_HELP,
            HeardKeys::Debate | HeardKeys::None => HELP,
        };
        below.push(format!("{QUIET}{help}{QUIET:#}"));
    }
    below.push(status(progress, plan, controls, now, columns));
    let room = rows.saturating_sub(lines.len() + below.len());
    lines.extend(people(progress, now, columns, room));
    lines.extend(below);
    lines.iter().map(|line| truncate_str(line, columns, "…").into_owned()).collect()
}

/// The stages of the round: `✓ proposals  ▸ critiques 4/6  ▸ refinements 1/3  · evaluation`. If space is short, omits
/// finished stages first, then stages to come.
fn strip(progress: &Progress, plan: &Plan, columns: usize) -> Option<String> {
    let panel = progress.panel();
    let begun: Vec<(StageId, StageProgress)> = progress.stages().collect();
    let to_come = plan.stages(progress.round()).filter(|(stage, _)| begun.iter().all(|(known, _)| known != stage));
    let mut to_come: Vec<(StageId, usize)> = to_come.collect();
    to_come.sort_by_key(|(stage, _)| panel.stage_rank(*stage));
    let of = |stage: StageId, calls: usize| {
        let words = panel.words(stage);
        one_line(if calls == 1 { &words.noun } else { &words.plural })
    };
    let mut items: Vec<(usize, Stands, String)> = Vec::new();
    for (stage, so_far) in &begun {
        let landed = (so_far.done + so_far.failed).min(so_far.total);
        let (stands, text) = if so_far.is_over || so_far.total == 0 {
            (Stands::Done, format!("{DONE}✓{DONE:#} {QUIET}{}{QUIET:#}", of(*stage, so_far.total)))
        } else {
            let counts = format!("{} {landed}/{}", of(*stage, so_far.total), so_far.total);
            (Stands::Running, format!("{SPIN}▸{SPIN:#} {HEADER}{counts}{HEADER:#}"))
        };
        items.push((panel.place_rank(*stage), stands, text));
    }
    for (stage, calls) in to_come {
        items.push((panel.place_rank(stage), Stands::ToCome, format!("{QUIET}· {}{QUIET:#}", of(stage, calls))));
    }
    if items.is_empty()
        && let Some(entered) = progress.stage().and_then(|stage| panel.stage(stage))
        && entered.yields.is_some()
    {
        items.push((
            0,
            Stands::Running,
            format!("{SPIN}▸{SPIN:#} {HEADER}{}{HEADER:#}", one_line(&entered.words.noun)),
        ));
    }
    // The sort is stable: among stages of the same rank, those that have started come first, in the order of their
    // start.
    items.sort_by_key(|(rank, ..)| *rank);
    let shown = |items: &[(usize, Stands, String)], cut: bool| {
        let texts: Vec<&str> = items.iter().map(|(.., text)| text.as_str()).collect();
        format!("{}{}", if cut { "… " } else { "" }, texts.join("  "))
    };
    let mut cut = false;
    while items.len() > 1 && measure_text_width(&shown(&items, cut)) > columns {
        let done = items.iter().position(|(_, stands, _)| *stands == Stands::Done);
        let last = items.iter().rposition(|(_, stands, _)| *stands == Stands::ToCome);
        let Some(place) = done.or(last) else { break };
        cut |= done.is_some();
        items.remove(place);
    }
    if items.is_empty() { None } else { Some(shown(&items, cut)) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    Done,
    Running,
    ToCome,
}

/// The status line: `Round 2/3 · 0:42 · $0.0421 · likely $0.21 in total · 12,345 tokens · ? for keys`
fn status(progress: &Progress, plan: &Plan, controls: PendingControls, now: Instant, columns: usize) -> String {
    let part = |text: String, rank| LinePart { text, rank };
    let spent = progress.spent();
    let mut parts = Vec::new();
    if controls.is_held {
        let flying: usize = progress.busy().iter().map(|(_, calls)| calls.len()).sum();
        let calls = counted(flying as u64, "call");
        parts.push(part(format!("{HELD}Pausing{HELD:#}"), 1));
        parts.push(part(format!("waiting for {calls}"), 3));
    } else if progress.waiting_for_server() > 0 {
        let calls = counted(progress.waiting_for_server() as u64, "call");
        parts.push(part(format!("{HELD}Server unreachable{HELD:#}"), 1));
        parts.push(part(format!("{calls} waiting"), 1));
    } else if progress.round() > 0 {
        parts.push(part(format!("{HEADER}Round {}/{}{HEADER:#}", progress.round(), progress.panel().rounds), 1));
    }
    parts.push(part(clock(progress.elapsed(now)), 0));
    parts.extend(spending(spent.cost_usd, spent.tokens()).map(|text| part(text, 0)));
    if let Some(all) = plan.calls() {
        parts.push(part(format!("{} of {}", spent.requests, all.counted("call")), 3));
    }
    if let Some(likely) = plan.likely(spent).filter(|likely| Some(*likely) > spent.cost_usd) {
        let when = if columns < ROOMY { "" } else { " in total" };
        parts.push(part(format!("likely {}{when}", short_cost(likely)), 2));
    }
    if spent.tokens() > 0 {
        parts.push(part(sum_of_tokens(spent.tokens(), spent.silent_calls), 4));
    }
    if controls.keys != HeardKeys::None && !controls.shows_help {
        parts.push(part(format!("{QUIET}? for keys{QUIET:#}"), 5));
    }
    fitting(parts, columns).join(SEPARATOR)
}

/// A line for each participant, always in the same position. If they do not all fit, shows only participants with calls
/// in flight.
fn people(progress: &Progress, now: Instant, columns: usize, room: usize) -> Vec<String> {
    let busy = progress.busy();
    let everybody: Vec<_> = progress.panel().participants().collect();
    if everybody.len() <= room {
        let line = |id: &AgentId| match busy.iter().find(|(known, _)| *known == id) {
            Some((id, calls)) => agent_line(progress, id, calls, now, columns),
            None => format!("{QUIET}· {}{QUIET:#}", named(progress, id, columns).trim_end()),
        };
        return everybody.iter().map(|participant| line(&participant.id)).collect();
    }
    let shown = if busy.len() <= room { busy.len() } else { room.saturating_sub(1) };
    let line = |(id, calls): &(&AgentId, Vec<_>)| agent_line(progress, id, calls, now, columns);
    let mut lines: Vec<String> = busy[..shown].iter().map(line).collect();
    if shown < busy.len() && room > 0 {
        lines.push(format!("{QUIET}… and {} more{QUIET:#}", busy.len() - shown));
    }
    lines
}

fn named(progress: &Progress, id: &AgentId, columns: usize) -> String {
    let panel = progress.panel();
    // In narrow windows, limit names to a third of the width, to leave room for activities.
    let most = if columns < ROOM_FOR_NAMES { columns / 3 } else { NAME_COLUMN };
    let label = |id| label(panel, id, most);
    let widths = panel.participants().map(|participant| measure_text_width(&label(&participant.id)));
    let column = widths.max().unwrap_or(0).min(most);
    pad_str(&label(id), column, console::Alignment::Left, Some("…")).into_owned()
}

/// The line of a working agent: `⠋ System Architect (1) critiquing Simplicity Advocate · thinking · 0:12`, with a retry
/// `… · 0:12 · retry 2 in 4 s: rate limited`, or with streamed words `… · 0:12 · 34 words · …a queue keeps its order`.
fn agent_line(
    progress: &Progress,
    id: &AgentId,
    calls: &[(&CallKey, &CallInFlight)],
    now: Instant,
    columns: usize,
) -> String {
    let frame = progress.elapsed(now).as_millis() / FRAME_INTERVAL.as_millis() % SPINNER.len() as u128;
    let spinner = SPINNER[usize::try_from(frame).unwrap_or(0)];
    let since = calls.iter().map(|(_, call)| call.since).min().unwrap_or(now);
    let elapsed = clock(now.saturating_duration_since(since));
    let name = named(progress, id, columns);
    let own = style_of(progress.panel(), id);
    let mut line = format!("{SPIN}{spinner}{SPIN:#} {own}{name}{own:#} ");
    let room = |line: &str| columns.saturating_sub(measure_text_width(line) + measure_text_width(SEPARATOR));
    // Cut the activity rather than the running time, which shows that the call is alive.
    let for_doing = room(&line).saturating_sub(elapsed.len());
    // Once words arrive, the retry has succeeded.
    let is_waiting = |(_, call): &&(&CallKey, &CallInFlight)| call.words.count == 0;
    let is_silent = calls.iter().all(|call| is_waiting(&call) && call.1.retry.is_none());
    let silent = if is_silent { format!("{SEPARATOR}{SILENT}") } else { String::new() };
    let activities = [true, false].map(|with_targets| doing(progress, calls, with_targets) + &silent);
    let fits = |text: &String| measure_text_width(text) <= for_doing;
    let doing = match activities.into_iter().find(fits) {
        Some(fitting) => fitting,
        // The first line of the block already names the stages.
        None if is_silent => SILENT.to_owned(),
        None => doing(progress, calls, false),
    };
    let retry = calls.iter().filter(is_waiting).find_map(|(_, call)| call.retry.as_ref()).map(|retry| {
        let wait = retry.due.saturating_duration_since(now).as_millis().div_ceil(1000);
        let when = if wait == 0 { String::new() } else { format!(" in {wait} s") };
        format!("retry {}{when}: {}", retry.number, one_line(&retry.error))
    });
    let has_room_for_both = for_doing >= measure_text_width(&doing) + measure_text_width(SEPARATOR) + LEAST_WORDS;
    match &retry {
        Some(retry) if !has_room_for_both => {
            let _ = write!(line, "{RETRY}{}{RETRY:#}", cut_words(retry, for_doing));
        }
        _ => line.push_str(&cut_words(&doing, for_doing)),
    }
    let _ = write!(line, "{SEPARATOR}{QUIET}{elapsed}{QUIET:#}");
    if let Some(retry) = retry.filter(|_| has_room_for_both) {
        let _ = write!(line, "{SEPARATOR}{RETRY}{}{RETRY:#}", cut_words(&retry, room(&line)));
    }
    let count: u64 = calls.iter().map(|(_, call)| call.words.count).sum();
    if let Some((_, first)) = calls.iter().find(|call| !is_waiting(call)) {
        let number = counted(count, "word");
        // If the words and their count do not both fit, show the words, which are more useful.
        let behind = room(&line).saturating_sub(number.len());
        if behind >= LEAST_WORDS + measure_text_width(SEPARATOR) || (room(&line) < LEAST_WORDS && behind > 0) {
            let _ = write!(line, "{SEPARATOR}{number}");
        }
        if room(&line) >= LEAST_WORDS {
            // Show only one of several answers; otherwise the line would jump between them.
            let _ = write!(line, "{SEPARATOR}{QUIET}{}{QUIET:#}", last_words(&first.words, room(&line)));
        }
    }
    line
}

/// What an agent is doing: `critiquing Simplicity Advocate`, `critiquing 2 proposals`, or `critiquing 2 proposals,
/// refining`. Without targets: `critiquing, refining`.
fn doing(progress: &Progress, calls: &[(&CallKey, &CallInFlight)], with_targets: bool) -> String {
    let panel = progress.panel();
    let parts = calls.chunk_by(|(one, _), (next, _)| one.stage == next.stage).map(|calls| {
        let key: &CallKey = calls[0].0;
        let verb = one_line(&panel.words(key.stage).progressive);
        match (calls.len(), key.target_agent_id.as_ref().filter(|_| with_targets)) {
            (1, Some(target)) => format!("{verb} {}", one_line(panel.name(target))),
            (several, Some(_)) => format!("{verb} {several} {}", one_line(targets(&panel.stages, key.stage))),
            (_, None) => verb,
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// The plural noun for the targets of a stage's calls, taken from the last stage before it that yields proposals.
fn targets(stages: &[StageInfo], stage: StageId) -> &str {
    let before = stages.iter().take_while(|before| before.id != stage);
    let proposal = before.filter(|before| before.yields == Some(ResultKind::Proposal)).last();
    proposal.map_or("agents", |proposal| &proposal.words.plural)
}

/// The maximum number of characters to drop so that the text does not start within a word.
const LONGEST_WORD: usize = 16;

/// The last words of an answer, on one line of at most `columns`, without escape codes.
fn last_words(words: &WordsSoFar, columns: usize) -> String {
    let line = one_line(&words.end);
    if measure_text_width(&line) <= columns {
        return line;
    }
    let mut left = columns.saturating_sub(1);
    let fits = |(place, c): (usize, char)| {
        left = left.checked_sub(measure_text_width(c.encode_utf8(&mut [0; 4])))?;
        Some(place)
    };
    let start = line.char_indices().rev().map_while(fits).last().unwrap_or(line.len());
    let (before, end) = line.split_at(start);
    let gap = end.char_indices().take(LONGEST_WORD).find(|(_, c)| *c == ' ').filter(|_| !before.ends_with(' '));
    let whole = gap.map_or(end, |(gap, _)| end.split_at(gap).1);
    format!("…{}", whole.trim_start())
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use dialectic_record::debate::ModelUsage;
    use dialectic_record::debate::fixture::{
        CLARIFICATION, CRITIQUE, PROPOSAL, call_started, contributed, panel, retrying, round_begun, stage_entered,
        stage_started, words,
    };
    use dialectic_record::live::{PanelInfo, Signal};

    use super::super::screen::{ERASE_BLOCK, LiveBlock, SharedWriter};
    use super::super::tests::SharedBuffer;
    use super::*;

    fn received(pieces: &[&str]) -> WordsSoFar {
        let mut words = WordsSoFar::default();
        for piece in pieces {
            words.append(piece);
        }
        words
    }

    #[test]
    fn a_word_in_pieces_counts_once() {
        assert_eq!(received(&["The que", "ue", " ", "keeps", "\n\n its", " order."]).count, 5);
        assert_eq!(received(&["", "  ", "\n"]).count, 0);
    }

    #[test]
    fn the_last_words_fit_and_begin_with_a_whole_one() {
        let words = received(&["## Plan\n\nThe queue keeps", " its order."]);
        let shown = [40, 34, 20, 10, 7, 1, 0].map(|columns| last_words(&words, columns));
        assert_eq!(
            shown,
            [
                "## Plan The queue keeps its order.",
                "## Plan The queue keeps its order.",
                "…keeps its order.",
                "…order.",
                "…order.",
                "…",
                "…"
            ]
        );
    }

    #[test]
    fn text_without_spaces_is_cut_anywhere() {
        let words = received(&["設計は簡単であるべきです。".repeat(4).as_str()]);
        assert_eq!(last_words(&words, 11), "…べきです。");
    }

    #[test]
    fn whatever_comes_in_steers_nothing_and_is_never_too_wide() {
        let nasty = "a\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}1A \u{202e}b\r\n\u{0}👩‍💻 e\u{301} ".repeat(60);
        for size in [1, 3, 50] {
            let mut words = WordsSoFar::default();
            let characters: Vec<char> = nasty.chars().collect();
            characters.chunks(size).for_each(|piece| words.append(&piece.iter().collect::<String>()));
            assert!(words.end.len() <= 600);
            for columns in 1..90 {
                let line = last_words(&words, columns);
                assert!(measure_text_width(&line) <= columns, "{columns}: {line:?}");
                assert!(!line.contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
            }
        }
    }

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
        let controls = PendingControls { keys: HeardKeys::Debate, ..PendingControls::default() };
        block(
            &progress,
            &Plan::default(),
            controls,
            begun + Duration::from_millis(2_300),
            TerminalSize { columns, rows },
        )
    }

    fn drawn(signals: &[Signal], columns: usize, rows: usize) -> String {
        let lines = drawn_of(panel(), signals, columns, rows);
        lines.iter().map(|line| strip_str(line).to_string()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_block_shows_the_round_and_who_is_busy() {
        insta::assert_snapshot!(drawn(&scene(), 100, 30), @"
        ▸ proposals 1/3  ▸ critiques 0/6
        ⠸ System Architect (1)     critiquing Simplicity Advocate · 0:02 · retry 2 in 2 s: rate limited
        ⠸ Performance Engineer (2) proposing · thinking · 0:02
        ⠸ Simplicity Advocate (3)  critiquing 2 proposals · thinking · 0:02
        · Judge
        Round 1/3 · 0:02 · $0.0100 · 1,434 tokens · ? for keys
        ");
        insta::assert_snapshot!(drawn(&scene(), 20, 30), @"
        ▸ proposals 1/3  ▸…
        ⠸ Syste… re… · 0:02
        ⠸ Perfo… th… · 0:02
        ⠸ Simpl… th… · 0:02
        · Judge
        0:02 · $0.0100
        ");
    }

    #[test]
    fn words_are_shown_while_they_come_in() {
        let mut signals = scene();
        signals.push(words(PROPOSAL, "agent-performance", None, "## Cache\n\nPut a cache before"));
        signals.push(words(PROPOSAL, "agent-performance", None, " the \u{1b}[2Jdatabase, and measure"));
        signals.push(words(CRITIQUE, "agent-architect", Some("agent-kiss"), "Too"));
        signals.push(words(CRITIQUE, "agent-kiss", Some("agent-performance"), "It lacks a limit."));
        insta::assert_snapshot!(drawn(&signals, 100, 30), @"
        ▸ proposals 1/3  ▸ critiques 0/6
        ⠸ System Architect (1)     critiquing Simplicity Advocate · 0:02 · 1 word · Too
        ⠸ Performance Engineer (2) proposing · 0:02 · 10 words · …cache before the [2Jdatabase, and measure
        ⠸ Simplicity Advocate (3)  critiquing 2 proposals · 0:02 · 4 words · It lacks a limit.
        · Judge
        Round 1/3 · 0:02 · $0.0100 · 1,434 tokens · ? for keys
        ");
        insta::assert_snapshot!(drawn(&signals, 60, 30), @"
        ▸ proposals 1/3  ▸ critiques 0/6
        ⠸ System Architect (1)     critiquing · 0:02 · Too
        ⠸ Performance Engineer (2) proposing · 0:02 · …and measure
        ⠸ Simplicity Advocate (3)  critiquing 2 proposals · 0:02
        · Judge
        Round 1/3 · 0:02 · $0.0100 · 1,434 tokens · ? for keys
        ");
        assert!(drawn(&signals, 20, 30).lines().all(|line| measure_text_width(line) < 20));
    }

    #[test]
    fn a_low_terminal_says_how_many_it_leaves_out() {
        insta::assert_snapshot!(drawn(&scene(), 60, 4), @r"
        ▸ proposals 1/3  ▸ critiques 0/6
        … and 3 more
        Round 1/3 · 0:02 · $0.0100 · 1,434 tokens · ? for keys
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
        let buffer = SharedBuffer::default();
        let mut live = LiveBlock::new(SharedWriter::new(Box::new(buffer.clone())));
        let [wide, narrow] = [80, 40].map(|columns| TerminalSize { columns, rows: 24 });
        for (text, size) in [("one", wide), ("two", wide), ("three", narrow)] {
            live.draw(&[text.to_owned()], size);
        }
        let shown = buffer.text();
        let (before, after) = shown.split_once("two").unwrap();
        assert!(!before.contains(ERASE_BLOCK), "{before:?}");
        assert!(after.split_once("three").unwrap().0.contains(ERASE_BLOCK), "{after:?}");
    }

    #[test]
    fn before_the_first_round_the_stage_that_was_entered_is_named() {
        assert_eq!(drawn(&[stage_entered(CLARIFICATION)], 80, 3), "▸ question\n0:02 · ? for keys");
        assert_eq!(drawn(&[], 80, 2), "0:02 · ? for keys");
    }

    #[test]
    fn time_and_cost_are_the_last_to_go() {
        let shown = [60, 30, 17].map(|columns| drawn(&scene(), columns, 2));
        assert_eq!(
            shown,
            ["Round 1/3 · 0:02 · $0.0100 · 1,434 tokens · ? for keys", "Round 1/3 · 0:02 · $0.0100", "0:02 · $0.0100"]
        );
    }

    #[test]
    fn an_unknown_cost_is_called_so() {
        let panel = PanelInfo { spent: ModelUsage { input_tokens: 12_345, ..ModelUsage::default() }, ..panel() };
        let lines = drawn_of(panel, &[], 80, 2);
        assert_eq!(strip_str(&lines[0]).to_string(), "0:02 · cost unknown · 12,345 tokens · ? for keys");
    }
}
