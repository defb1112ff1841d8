//! The scrollback of a debate: a line for each finished call, a rule after each round, and other permanent notes.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use anstyle::{Ansi256Color, AnsiColor, Style};
use console::{measure_text_width, truncate_str};

use dialectic_base::figures::{counted, duration, percent, score, sum_of_tokens, thousands};
use dialectic_base::sanitize::one_line;
use dialectic_record::answer::{Convergence, Undecided, Voting};
use dialectic_record::debate::{Contribution, Evaluation, ModelUsage, StopReason};
use dialectic_record::event::Event;
use dialectic_record::event_without_call;
use dialectic_record::ids::{AgentId, CallKey, CallStatus, ResultKind};
use dialectic_record::live::{PanelInfo, Progress, Signal};
use dialectic_record::points::Tally;

use super::layout::{StyledText, wrap};
use super::result::{challenged, observed, related, result, result_line, spending, swayed};

const DONE: Style = AnsiColor::Green.on_default();
const FAILED: Style = AnsiColor::Red.on_default();
const NOTE: Style = AnsiColor::Yellow.on_default();
const RULE: Style = Style::new().dimmed();
const QUIET: Style = Style::new().dimmed();

/// The agents' colours in the HTML report, approximated in the 256-colour palette; readable on dark and light
/// backgrounds.
const OF_AGENTS: [u8; 8] = [33, 168, 98, 31, 161, 133, 62, 97];

const INDENT: &str = "    ";
/// Names are never cut to less than this width.
const LEAST_NAME: usize = 6;
/// The maximum number of rows for a quotation or result.
const SAID_ROWS: usize = 2;
/// The maximum number of rows for a failure's reason.
const REASON_ROWS: usize = 3;
/// The maximum number of bytes of a text to search for its first sentence.
const READ: usize = 4_000;

pub(super) fn style_of(panel: &PanelInfo, id: &AgentId) -> Style {
    match panel.agents.iter().position(|agent| agent.id == *id) {
        Some(place) => Style::new().fg_color(Some(Ansi256Color(OF_AGENTS[place % OF_AGENTS.len()]).into())),
        None => Style::new().bold(),
    }
}

#[derive(Debug, Default)]
pub(super) struct Scrollback {
    /// The usage before the current round.
    before: ModelUsage,
    evaluation: Option<Evaluation>,
    convergence: Option<Convergence>,
    /// The number of points raised in the current round; `None` if the start of the round was not seen.
    raised: Option<usize>,
    /// The round that has just ended; `None` once the next round or a closing stage has begun.
    ended: Option<u32>,
    is_stopping: bool,
}

impl Scrollback {
    pub(super) fn new(progress: &Progress) -> Self {
        Self { before: progress.spent(), ..Self::default() }
    }

    /// The coloured lines about `signal`, cut to `columns`. Also returns the full Markdown text if `signal` ends a call
    /// that wrote one. Without `quotes`, the lines do not quote texts. Apply `signal` to `progress` first.
    pub(super) fn tell(
        &mut self,
        progress: &Progress,
        signal: &Signal,
        columns: usize,
        quotes: bool,
    ) -> (Vec<String>, Option<Arc<str>>) {
        let panel = progress.panel();
        let note = match signal {
            Signal::Recorded(recorded) => {
                let event = &recorded.event;
                self.count(event);
                if let Some(call) = EndedCall::of(panel, event) {
                    return (call.lines(panel, columns, quotes), call.text);
                }
                self.note_on(progress, event)
            }
            Signal::RoundEnded { round, points, .. } => {
                let parts = self.rule(progress, *round, points.as_ref());
                self.ended = Some(*round);
                return (vec![rule(&format!("Round {round}/{}", panel.rounds), parts, columns)], None);
            }
            Signal::StageEnded { stage, .. } => progress.polls_compared_in(*stage).map(|polls| swayed(&polls)),
            Signal::ServerBack => Some("the server is back: the debate continues".to_owned()),
            Signal::StageStarted { .. }
            | Signal::Words { .. }
            | Signal::CallStarted { .. }
            | Signal::CallRetrying { .. }
            | Signal::CallEnded { .. }
            | Signal::ServerGone { .. }
            | Signal::Warning { .. }
            | Signal::Gap(_) => None,
        };
        (note.map_or_else(Vec::new, |text| rows(&format!("{NOTE}◆{NOTE:#} "), &text, columns)), None)
    }

    fn count(&mut self, event: &Event) {
        match event {
            Event::Contributed { contribution, .. } => {
                let points = contribution.reading.as_ref().and_then(|reading| reading.points.as_ref());
                if let Some(raised) = &mut self.raised {
                    *raised += points.map_or(0, Vec::len);
                }
            }
            Event::Evaluated { evaluation, call: Some(_), .. } => self.evaluation = Some(evaluation.clone()),
            _ => {}
        }
    }

    fn note_on(&mut self, progress: &Progress, event: &Event) -> Option<String> {
        let panel = progress.panel();
        match event {
            Event::RoundBegun { .. } => {
                (self.before, self.evaluation, self.ended) = (progress.spent(), None, None);
                (self.convergence, self.raised) = (None, Some(0));
                None
            }
            Event::StageEntered { stage } => {
                // Ignore stages without a result: a protocol may have one between two rounds.
                let closes = panel.stage(*stage).is_some_and(|stage| !stage.in_round && stage.yields.is_some());
                let ended = self.ended.take_if(|_| closes)?;
                (ended < panel.rounds && !self.is_stopping).then(|| self.early_end(ended, panel.rounds))
            }
            Event::Stopping { reason } => {
                self.is_stopping = true;
                Some(match reason {
                    StopReason::Budget => "stopping early: reached the cost or call limit".to_owned(),
                    StopReason::User => "stopping early: the judge uses the current texts".to_owned(),
                })
            }
            Event::RoundTimedOut { round } => Some(format!("round {round} reached its time limit")),
            Event::Resumed(_) => Some("the debate continues".to_owned()),
            Event::Voted { voting, .. } => Some(counted_votes(panel, voting)),
            Event::Measured { convergence, .. } => {
                self.convergence = Some(convergence.clone());
                result_line(panel, event)
            }
            Event::Gathered { .. } | Event::TeamSelected { .. } | Event::Extended { .. } | Event::Decided { .. } => {
                result_line(panel, event)
            }
            _ => None,
        }
    }

    fn early_end(&self, round: u32, rounds: u32) -> String {
        let why = self.evaluation.as_ref().and_then(|evaluation| {
            let reached = evaluation.score.filter(|score| *score >= evaluation.threshold)?;
            let (kind, threshold) = (evaluation.kind.name(), score(evaluation.threshold));
            Some(format!(": {kind} {} ({threshold} needed)", score(reached)))
        });
        if why.is_none() && self.convergence.as_ref().is_some_and(Convergence::is_reached) {
            // Do not announce the end, because the judge may still extend the debate.
            return format!("the texts agree after round {round} of {rounds}");
        }
        format!("the debate ends after round {round} of {rounds}{}", why.unwrap_or_default())
    }

    fn rule(&self, progress: &Progress, round: u32, points: Option<&Tally>) -> Vec<LinePart> {
        let spent = progress.spent();
        let used = spent.tokens().saturating_sub(self.before.tokens());
        let cost = spent.cost_usd.zip(self.before.cost_usd).map(|(all, before)| all.saturating_sub(before));
        let mut parts = Vec::new();
        if let Some(Evaluation { kind, score: reached, .. }) = &self.evaluation {
            let reached = reached.map_or_else(|| "unreadable".to_owned(), score);
            parts.push(LinePart { text: format!("{} {reached}", kind.name()), rank: 1 });
        }
        match (points, self.raised) {
            (Some(points), Some(raised)) if round > 1 => parts.extend(apart(points, raised)),
            (Some(points), _) => {
                for (place, part) in points.to_string().split(" · ").enumerate() {
                    parts.push(LinePart { text: part.to_owned(), rank: if place == 0 { 2 } else { 4 } });
                }
            }
            (None, _) => {}
        }
        if used > 0 {
            let silent = spent.silent_calls.saturating_sub(self.before.silent_calls);
            parts.push(LinePart { text: sum_of_tokens(used, silent), rank: 3 });
        }
        parts.extend(spending(cost, used).map(|text| LinePart { text, rank: 0 }));
        parts
    }
}

/// For rounds after the first: the number of new points, and the number of points with each status.
fn apart(points: &Tally, raised: usize) -> Vec<LinePart> {
    let new = if raised == 0 { "no new point".to_owned() } else { counted(raised as u64, "new point") };
    let all = points.to_string();
    let statuses = all.split(" · ").skip(1).map(|text| LinePart { text: text.to_owned(), rank: 4 });
    [LinePart { text: new, rank: 2 }].into_iter().chain(statuses).collect()
}

pub(super) fn inner_quotes(text: &str) -> String {
    text.replace('“', "‘").replace('”', "’")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinePart {
    pub(super) text: String,
    /// Parts with higher ranks are omitted first.
    pub(super) rank: u8,
}

/// The parts that fit into `columns`, joined by separators of 3 characters. Omits parts with the highest rank first,
/// starting from the end, but keeps at least one.
pub(super) fn fitting(mut parts: Vec<LinePart>, columns: usize) -> Vec<String> {
    let width = |parts: &[LinePart]| {
        parts.iter().map(|part| measure_text_width(&part.text)).sum::<usize>() + 3 * parts.len().saturating_sub(1)
    };
    while parts.len() > 1 && width(&parts) > columns {
        let last = parts.iter().enumerate().max_by_key(|(place, part)| (part.rank, *place)).map(|(place, _)| place);
        parts.remove(last.unwrap_or_default());
    }
    parts.into_iter().map(|part| part.text).collect()
}

/// Draws the rule after a round: `── Round 1/3 · 12 points · 7 accepted · 12,345 tokens · $0.0421 ─────`.
fn rule(title: &str, mut parts: Vec<LinePart>, columns: usize) -> String {
    parts.insert(0, LinePart { text: title.to_owned(), rank: 0 });
    let text = truncate_str(&fitting(parts, columns.saturating_sub(6)).join(" · "), columns.saturating_sub(4), "…")
        .into_owned();
    let rest = columns.saturating_sub(measure_text_width(&text) + 4);
    format!("{RULE}──{RULE:#} {text} {RULE}{}{RULE:#}", "─".repeat(rest))
}

/// Describes a vote: `vote: System Architect wins (Simplicity Advocate 1, System Architect 2)`.
fn counted_votes(panel: &PanelInfo, voting: &Voting) -> String {
    let stage = panel.stages.iter().find(|stage| stage.yields == Some(ResultKind::Ballot));
    let noun = stage.map_or("ballot", |stage| &stage.words.noun);
    let mut tally: Vec<String> = voting.tally.iter().map(|(id, votes)| format!("{} {votes}", panel.name(id))).collect();
    tally.sort();
    let winner = voting.winner.as_ref().map_or("nobody", |id| panel.name(id));
    let how = match voting.count.undecided {
        None => "",
        Some(Undecided::Tie) => ": a tie, so the judge decides",
        Some(Undecided::NoQuorum) => ": no quorum, so the judge decides",
        Some(Undecided::ShortOfRule) => ": the leader has too few votes, so the judge decides",
    };
    format!("{noun}: {winner} wins{how} ({})", tally.join(", "))
}

struct EndedCall<'a> {
    key: &'a CallKey,
    about: Option<&'a AgentId>,
    went_well: bool,
    latency_ms: Option<u64>,
    /// The result, or a quotation from `text`.
    said: String,
    is_quotation: bool,
    text: Option<Arc<str>>,
}

impl<'a> EndedCall<'a> {
    #[expect(clippy::unnested_or_patterns, reason = "a pattern of a macro cannot be nested")]
    fn of(panel: &'a PanelInfo, event: &'a Event) -> Option<Self> {
        let (key, status) = event.settles()?;
        let record = event.call();
        let (mut about, mut text, mut is_quotation) = (key.target_agent_id.as_ref(), None, false);
        let said = match event {
            // A carried-over text needed no call, and the other events here do not end a call.
            Event::Contributed { call: None, .. }
            | Event::Replied { .. }
            | Event::AttemptFailed { .. }
            | event_without_call!() => return None,
            Event::Contributed { contribution, .. } => {
                about = about.or(contribution.target_agent_id.as_ref());
                text = Some(Arc::clone(&contribution.content)).filter(|text| !text.trim().is_empty());
                if let Some(lens) = contribution.metadata.lens {
                    format!("{}: {}", lens.name(), seen(contribution))
                } else {
                    is_quotation = true;
                    point_of(contribution)
                }
            }
            Event::CallFailed { failure, .. } if failure.attempts > 1 => {
                format!("{} (after {} attempts)", failure.error, failure.attempts)
            }
            Event::CallFailed { failure, .. } => failure.error.clone(),
            Event::Polled { vote, reason, .. } => format!("{vote}: {}", first_sentence(reason)),
            Event::Judged { judgement, .. } => {
                text = Some(Arc::from(judgement.reasoning.as_str()));
                result(judgement.winner.as_ref(), &judgement.scores, |id| panel.name(id))
            }
            Event::Summarized { summary, .. } => {
                text = Some(Arc::clone(&summary.summary));
                format!("{} characters", thousands(summary.metadata.after_chars as u64))
            }
            Event::Related { relations, .. } => related(relations),
            Event::Challenged { challenge, .. } => challenged(challenge),
            Event::Observed { observations, .. } => observed(observations),
            Event::QuestionsAsked { questions, .. } if questions.items.is_empty() => "no questions".to_owned(),
            Event::QuestionsAsked { questions, .. } => counted(questions.items.len() as u64, "question"),
            Event::Evaluated { evaluation, .. } => match evaluation.score {
                Some(reached) => {
                    format!("{} {} ({} needed)", evaluation.kind.name(), score(reached), score(evaluation.threshold))
                }
                None => "the score could not be read".to_owned(),
            },
            Event::Drafted { solution, .. } | Event::Synthesized { solution, .. } => {
                if let Some(author) = solution.synthesized_by.as_ref().filter(|by| *by != &key.agent_id) {
                    // The call only assessed another agent's text.
                    about = Some(author);
                    let limited = solution.limited_confidence().map(|why| format!(" ({why})")).unwrap_or_default();
                    let sure = solution.confidence.map(|sure| format!(", with confidence {}{limited}", percent(sure)));
                    format!("kept as the solution{}", sure.unwrap_or_default())
                } else {
                    (is_quotation, text) = (true, Some(Arc::from(solution.description.as_str())));
                    first_sentence(&solution.description)
                }
            }
            Event::FollowUpAnswered { answer, .. } => {
                (is_quotation, text) = (true, Some(Arc::clone(answer)));
                first_sentence(answer)
            }
        };
        let went_well = status != CallStatus::Failed;
        let latency_ms = record.map(|call| call.latency_ms);
        let said = one_line(&panel.with_named_texts(&said));
        let text = text.map(|text| match panel.with_named_texts(&text) {
            Cow::Owned(named) => named.into(),
            Cow::Borrowed(_) => text,
        });
        Some(Self { key, about, went_well, latency_ms, said, is_quotation, text })
    }

    /// Describes the call, on more than one line if necessary: `✓ r1 critique Performance Engineer (2) → System
    /// Architect (1) · 3.7 s · “The lease table is a hot spot.”`.
    fn lines(&self, panel: &PanelInfo, columns: usize, quotes: bool) -> Vec<String> {
        let (mark, style) = if self.went_well { ("✓", DONE) } else { ("✗", FAILED) };
        let round = if self.key.round == 0 { String::new() } else { format!("r{} ", self.key.round) };
        let what = one_line(&panel.words(self.key.stage).noun);
        let took = self.latency_ms.map(|ms| format!(" · {}", duration(ms))).unwrap_or_default();
        let fixed = measure_text_width(&format!("{mark} {round}{what} {took}"));
        let agents = [Some(&self.key.agent_id), self.about];
        let names: Vec<String> = agents.iter().flatten().map(|id| label(panel, id, usize::MAX)).collect();
        let room = columns.saturating_sub(fixed);
        // If there is no room for both names, the second one starts the next row.
        let is_broken = measure_text_width(&names.join(" → ")) > room && names.len() > 1;
        let of = |id: &AgentId, room: usize| {
            let style = style_of(panel, id);
            format!("{style}{}{style:#}", label(panel, id, room))
        };
        let in_row = if is_broken { 1 } else { names.len() };
        let mut all = agents.into_iter().flatten();
        let here: Vec<String> = all.by_ref().take(in_row).map(|id| of(id, room)).collect();
        let arrow = format!("{INDENT}→ ");
        let below = all.next().map(|id| {
            let room = columns.saturating_sub(measure_text_width(&arrow));
            format!("{arrow}{}", of(id, room))
        });
        let own = style_of(panel, &self.key.agent_id);
        let mut line =
            format!("{style}{mark}{style:#} {round}{own}{what}{own:#} {}{QUIET}{took}{QUIET:#}", here.join(" → "));
        let hides = self.said.is_empty() || (self.is_quotation && !quotes);
        let (said, style) = if self.is_quotation {
            (format!("“{}”", inner_quotes(&self.said)), QUIET)
        } else {
            (self.said.clone(), Style::new())
        };
        let room = columns.saturating_sub(measure_text_width(&line) + 3);
        if !hides && !is_broken && measure_text_width(&said) <= room {
            let _ = write!(line, "{QUIET} · {QUIET:#}{style}{said}{style:#}");
            return vec![line];
        }
        let most = if self.went_well { SAID_ROWS } else { REASON_ROWS };
        let rows = if hides { Vec::new() } else { first_rows(INDENT, &said, columns, most) };
        let rows = rows.into_iter().map(|row| format!("{style}{row}{style:#}"));
        [line].into_iter().chain(below).map(|line| cut(&line, columns)).chain(rows).collect()
    }
}

/// An agent's name and number, cut to `columns`: `System Architect (1)`.
pub(super) fn label(panel: &PanelInfo, id: &AgentId, columns: usize) -> String {
    let number = panel.number(id).map(|number| format!(" ({number})")).unwrap_or_default();
    let room = columns.saturating_sub(number.len()).max(LEAST_NAME);
    format!("{}{number}", cut(&one_line(panel.name(id)), room))
}

/// The first `most` [`rows`] of a text. If there are more, the last row ends with an ellipsis, followed by a closing
/// quotation mark if `text` ends with one.
pub(super) fn first_rows(mark: &str, text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut all = rows(mark, text, columns);
    if all.len() > most {
        let end = if text.ends_with('”') { "…”" } else { "…" };
        all.truncate(most);
        if let Some(last) = all.last_mut() {
            let kept = cut_words(last, columns.saturating_sub(measure_text_width(end)));
            *last = format!("{}{end}", kept.trim_end_matches(['…', ' ', ',', ';', ':']));
        }
    }
    all
}

/// Cuts `text` to `columns`, without a space before the ellipsis.
fn cut(text: &str, columns: usize) -> String {
    let cut = truncate_str(text, columns, "…");
    match cut.split_once(" …") {
        Some((before, behind)) if measure_text_width(text) > columns => format!("{before}…{behind}"),
        _ => cut.into_owned(),
    }
}

/// Cuts `text`, which must not contain escape codes, to `columns`: between words, or within a long word.
pub(super) fn cut_words(text: &str, columns: usize) -> String {
    /// The beginning of a cut word is dropped if it is shorter than this.
    const LONGEST: usize = 16;

    let shown = cut(text, columns);
    if measure_text_width(text) <= columns {
        return shown;
    }
    let kept = shown.trim_end_matches('…');
    // The text is already cut between words.
    if text[kept.len()..].starts_with(char::is_whitespace) {
        return shown;
    }
    match kept.rsplit_once(' ') {
        Some((words, part)) if part.chars().count() < LONGEST && !words.trim().is_empty() => {
            format!("{}…", words.trim_end())
        }
        _ => shown,
    }
}

/// Wraps `text` to `columns`. The first row starts with `mark`; the other rows are indented by the mark's width.
pub(super) fn rows(mark: &str, text: &str, columns: usize) -> Vec<String> {
    let indent = measure_text_width(mark);
    let rows = wrap(&[StyledText::plain(one_line(text))], columns.saturating_sub(indent));
    let before = |place: usize| if place == 0 { mark.to_owned() } else { " ".repeat(indent) };
    rows.iter().enumerate().map(|(place, row)| before(place) + row).collect()
}

fn point_of(contribution: &Contribution) -> String {
    let reading = contribution.reading.as_deref();
    if let Some(point) = reading.and_then(|reading| reading.points.as_ref().or(reading.findings.as_ref())?.first()) {
        let place = point.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        return place + &first_sentence(&point.in_words());
    }
    // Skip a text's answers to objections: the new part comes after or before them.
    let answers = reading.and_then(|reading| reading.answers_at.clone()).unwrap_or_default();
    let around = [contribution.content.get(answers.end..), contribution.content.get(..answers.start)];
    let sentences = around.into_iter().flatten().map(first_sentence);
    sentences.into_iter().find(|sentence| !sentence.is_empty()).unwrap_or_default()
}

/// Describes the points of a check: `2 points: “A write is lost.”`
fn seen(contribution: &Contribution) -> String {
    match contribution.reading.as_ref().and_then(|reading| reading.points.as_deref()) {
        None => "could not be read".to_owned(),
        Some([]) => "no points".to_owned(),
        Some(points @ [first, ..]) => {
            let said = inner_quotes(&first_sentence(&first.in_words()));
            format!("{}: “{said}”", counted(points.len() as u64, "point"))
        }
    }
}

/// The first sentence of a text, without markup. Uses a heading only if there is no prose.
pub(super) fn first_sentence(markdown: &str) -> String {
    let mut end = markdown.len().min(READ);
    while !markdown.is_char_boundary(end) {
        end -= 1;
    }
    let (mut heading, mut prose, mut in_code) = (None, String::new(), false);
    for line in markdown[..end].lines() {
        let line = line.trim();
        if line.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code || line.starts_with('|') {
            continue;
        }
        let plain = unmarked(line);
        // Treat a line that only introduces the next one as a heading.
        if line.starts_with('#') || (prose.is_empty() && plain.ends_with(':')) {
            heading.get_or_insert(plain);
        } else if plain.chars().any(char::is_alphanumeric) {
            prose.push_str(&plain);
            prose.push(' ');
            if sentence(&prose).is_some() {
                break;
            }
            continue;
        }
        if !prose.is_empty() {
            break;
        }
    }
    let text = if prose.is_empty() { heading.unwrap_or_default() } else { prose };
    one_line(sentence(&text).unwrap_or(&text))
}

/// The first sentence of `text`; `None` if no sentence is complete.
fn sentence(text: &str) -> Option<&str> {
    let ends = text.char_indices().filter(|(_, c)| ".!?。！？".contains(*c));
    // Dots in numbers and names, and after abbreviations, do not end a sentence.
    let is_end = |(place, c): &(usize, char)| {
        let (before, behind) = (&text[..*place], &text[place + c.len_utf8()..]);
        let word = before.rsplit([' ', '(']).next().unwrap_or_default();
        let is_abbreviation = word.split('.').all(|part| part.chars().count() <= 1);
        let goes_on = behind.trim_start().starts_with(char::is_lowercase);
        !c.is_ascii() || (behind.starts_with(char::is_whitespace) && !is_abbreviation && !goes_on)
    };
    let mut ends = ends.filter(is_end);
    let (place, c) = ends.next()?;
    Some(&text[..place + c.len_utf8()])
}

fn unmarked(line: &str) -> String {
    let text = line.trim_start_matches(|c: char| "#>-*+ ".contains(c) || c.is_whitespace());
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let text = match behind.strip_prefix(['.', ')']) {
        Some(rest) if behind.len() < text.len() && rest.starts_with(' ') => rest.trim_start(),
        _ => text,
    };
    text.replace("**", "").replace("__", "").replace('`', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_record::answer::Solution;
    use dialectic_record::debate::fixture;

    #[test]
    fn a_first_sentence_is_one_of_prose() {
        for (text, sentence) in [
            ("# Plan\n\nUse a **queue**. Then more.", "Use a queue."),
            ("## Only a heading", "Only a heading"),
            (
                "1. [major] The `lease` table is\n   a hot spot, e.g. v1.2 of it. And",
                "[major] The lease table is a hot spot, e.g. v1.2 of it.",
            ),
            ("```rust\nlet x = 1.0;\n```\n- first\n- second", "first second"),
            ("no end", "no end"),
            ("Critique 1, by agent-kiss:\n\n- It is accepted.", "It is accepted."),
            ("設計は簡単です。次に", "設計は簡単です。"),
            ("", ""),
            ("---\n***\n", ""),
        ] {
            assert_eq!(first_sentence(text), sentence);
        }
    }

    #[test]
    fn who_only_assessed_a_text_is_not_quoted_with_it() {
        let line = |by: &str| {
            let solution = Solution {
                description: "We use a queue. Then more.".to_owned(),
                confidence: Some(72.0),
                synthesized_by: Some(AgentId::new(by)),
                ..Solution::default()
            };
            let (key, call) = (fixture::key(fixture::SYNTHESIS, "judge", None), fixture::call(None));
            let event =
                Event::Synthesized { key: Some(key), text: None, solution: Box::new(solution), call: Some(call) };
            let panel = fixture::panel();
            let lines = EndedCall::of(&panel, &event).unwrap().lines(&panel, 120, true);
            anstream::adapter::strip_str(&lines.join("\n")).to_string()
        };
        assert_eq!(line("judge"), "✓ r1 synthesis Judge · 1.2 s · “We use a queue.”");
        assert_eq!(
            line("agent-kiss"),
            "✓ r1 synthesis Judge → Simplicity Advocate (3) · 1.2 s · kept as the solution, with confidence 72 %"
        );
    }

    #[test]
    fn what_a_checker_saw_is_told_by_its_lens_at_every_width() {
        let contribution = |reading: serde_json::Value| {
            let mut one: Contribution = serde_json::from_value(serde_json::json!({
                "agentId": "agent-kiss", "agentRole": "kiss", "type": "check", "content": "1. x",
                "targetAgentId": "judge", "metadata": {"lens": "facts"},
            }))
            .unwrap();
            one.reading = serde_json::from_value(reading).unwrap();
            Arc::new(one)
        };
        let mut panel = fixture::panel();
        panel.stages = dialectic_record::protocol::DIALECTIC.infos();
        let lines = |reading, columns| {
            let key = fixture::key(dialectic_record::ids::StageId::new("check"), "agent-kiss", Some("judge"));
            let event =
                Event::Contributed { key, contribution: contribution(reading), call: Some(fixture::call(None)) };
            let lines = EndedCall::of(&panel, &event).unwrap().lines(&panel, columns, false);
            anstream::adapter::strip_str(&lines.join("\n")).to_string()
        };
        let points = serde_json::json!({"points": [
            {"severity": "major", "text": "**MySQL** has no such lock. It has others."}, {"severity": "minor", "text": "y"},
        ]});
        insta::assert_snapshot!(lines(points.clone(), 120), @"✓ r1 check Simplicity Advocate (3) → Judge · 1.2 s · facts: 2 points: “MySQL has no such lock.”");
        insta::assert_snapshot!(lines(points.clone(), 80), @"
        ✓ r1 check Simplicity Advocate (3) → Judge · 1.2 s
            facts: 2 points: “MySQL has no such lock.”
        ");
        assert_eq!(lines(points.clone(), 50), lines(points, 80));
        assert!(lines(serde_json::json!({"points": []}), 120).ends_with("facts: no points"));
        assert!(lines(serde_json::Value::Null, 120).ends_with("facts: could not be read"));
    }

    #[test]
    fn names_stay_whole_where_both_do_not_fit_into_a_row() {
        let lines = |signal: Signal, columns| {
            let Signal::Recorded(recorded) = signal else { panic!("{signal:?}") };
            let panel = fixture::panel();
            let lines = EndedCall::of(&panel, &recorded.event).unwrap().lines(&panel, columns, true);
            assert!(lines.iter().all(|line| measure_text_width(line) <= columns), "{lines:?}");
            anstream::adapter::strip_str(&lines.join("\n")).to_string()
        };
        let text = "The lease table is a hot spot. Shard it.";
        let said = || fixture::said(fixture::CRITIQUE, "agent-kiss", Some("agent-architect"), text);
        insta::assert_snapshot!(lines(said(), 80), @"
        ✓ r1 critique Simplicity Advocate (3) → System Architect (1) · 1.2 s
            “The lease table is a hot spot.”
        ");
        insta::assert_snapshot!(lines(said(), 50), @"
        ✓ r1 critique Simplicity Advocate (3) · 1.2 s
            → System Architect (1)
            “The lease table is a hot spot.”
        ");
        insta::assert_snapshot!(lines(said(), 30), @"
        ✓ r1 critique Simpl… (3) · 1.…
            → System Architect (1)
            “The lease table is a hot
            spot.”
        ");
        let failed =
            fixture::failed(fixture::CRITIQUE, "agent-kiss", Some("agent-architect"), "the server is overloaded");
        insta::assert_snapshot!(lines(failed, 40), @"
        ✗ r1 critique Simplicity Advocate (3)
            → System Architect (1)
            the server is overloaded (after 4
            attempts)
        ");
    }

    #[test]
    fn what_matters_least_is_left_out_first() {
        let parts =
            [("Round 1/3", 0), ("quality 72", 1), ("3 points", 2), ("2 accepted", 4), ("9 tokens", 3), ("$0.01", 0)];
        let parts = parts.map(|(text, rank)| LinePart { text: text.to_owned(), rank }).to_vec();
        let rule = |columns| anstream::adapter::strip_str(&rule("", parts.clone(), columns)).to_string();
        assert!(rule(80).contains("quality 72 · 3 points · 2 accepted · 9 tokens · $0.01 ──"), "{}", rule(80));
        assert!(rule(50).contains("Round 1/3 · quality 72 · 3 points · $0.01"), "{}", rule(50));
        for columns in 0..90 {
            assert!(measure_text_width(&rule(columns)) <= columns.max(5), "{columns}: {}", rule(columns));
        }
    }

    #[test]
    fn what_is_cut_ends_with_a_whole_word() {
        for (columns, shown) in [(20, "one two three"), (11, "one two…"), (8, "one two…"), (5, "one…"), (3, "on…")]
        {
            assert_eq!(cut_words("one two three", columns), shown, "{columns}");
        }
    }

    #[test]
    fn points_of_a_round_stand_apart_from_earlier_ones() {
        let tally = Tally { by_status: [1, 2, 6, 0], ..Tally::default() };
        let said = |raised| apart(&tally, raised).into_iter().map(|part| part.text).collect::<Vec<_>>().join(" · ");
        assert_eq!(said(0), "no new point · 1 open · 2 claimed · 6 fixed");
        assert_eq!(said(2), "2 new points · 1 open · 2 claimed · 6 fixed");
    }

    #[test]
    fn a_long_reason_is_broken_into_rows() {
        assert_eq!(rows("✗ ", "one two  three verylongword", 9), ["✗ one two", "  three", "  verylon", "  gword"]);
    }
}
