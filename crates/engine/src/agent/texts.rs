//! Selects, titles and orders the texts that a call shows. Makes them fit into a prompt by showing only the newest,
//! reducing critiques to their points, or cutting the longest texts to the same length.

use std::borrow::Cow;
use std::sync::Arc;

use dialectic_base::figures::thousands;
use dialectic_base::markdown::{single_spaced, truncate};
use dialectic_record::debate::{Contribution, Debate, FollowUp, Material, MaterialSource, Round, Summary};
use dialectic_record::ids::{AgentId, ResultKind};
use dialectic_record::prompt::{Authored, Label, OwnRound, Titled};
use dialectic_record::protocol::motion::side;
use dialectic_record::settings::{AgentSettings, DebateSettings, Position};

use super::labels::{DEBATER, TEXT, hide, word_for};

/// Critiques of the final round with more characters than this are reduced to their points.
const LONGEST_CRITIQUE: usize = 3000;
/// Critiques of earlier rounds with more characters than this are reduced to their points. The limit is lower because
/// the texts that respond to these critiques are shown too.
const LONGEST_EARLIER_CRITIQUE: usize = 1500;

fn noun(debate: &Debate, one: &Contribution) -> String {
    let noun = debate.stage(one.stage).map_or(one.stage.as_str(), |stage| &stage.words.noun);
    let mut letters = noun.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The title of a contribution whose author is hidden: `Text 2 (refinement)`, or `Critique of Text 2, by the author of
/// Text 3`.
fn title(debate: &Debate, one: &Contribution) -> String {
    let author = text_label(debate, &one.agent_id);
    match &one.target_agent_id {
        Some(target) => format!("{} of {}, by the author of {author}", noun(debate, one), text_label(debate, target)),
        None => format!("{author} ({})", noun(debate, one).to_lowercase()),
    }
}

fn speech_title(debate: &Debate, one: &Contribution, name: impl Fn(&AgentId) -> String) -> String {
    let (noun, author) = (noun(debate, one), name(&one.agent_id));
    match &one.target_agent_id {
        Some(target) => format!("{noun} of {} by {author}", name(target)),
        None => format!("{noun} of {author}"),
    }
}

/// The author's number in prompts. An agent without a number, as in a record without settings, is named by its id.
pub(super) fn number(debate: &Debate, author: &AgentId) -> String {
    debate.text_number(author).map_or_else(|| author.to_string(), |number| number.to_string())
}

pub(super) fn text_label(debate: &Debate, author: &AgentId) -> String {
    format!("{TEXT} {}", number(debate, author))
}

/// Whether a later solution of the round may replace this one.
fn is_first_solution(debate: &Debate, one: &Contribution) -> bool {
    let first = debate.stages.iter().find(|stage| stage.yields == Some(ResultKind::Proposal));
    first.is_some_and(|first| first.id == one.stage)
}

pub(super) fn material<'a>(debate: &'a Debate) -> Vec<Titled<'a>> {
    let all = debate.gathered.iter().flat_map(|gathered| &gathered.material);
    let there = all.filter(|one| !one.text.trim().is_empty());
    let titled = |one: &'a Material| {
        let Material { source, name, text, cut, .. } = one;
        let source = match source {
            MaterialSource::Outline => "Files of".to_owned(),
            MaterialSource::Readme => "Readme:".to_owned(),
            MaterialSource::Command => "Output of".to_owned(),
            MaterialSource::Memory => "From an earlier debate:".to_owned(),
        };
        Titled::new(format!("{source} {name}{}", if *cut { " (the beginning)" } else { "" }), text.as_str())
    };
    there.map(titled).collect()
}

/// The agent's newest summary, and the number of the round in which it was written.
pub(super) fn newest_summary<'a>(debate: &'a Debate, agent: &AgentId) -> Option<(u32, &'a Summary)> {
    let summary_of = |round: &'a Round| Some((round.round_number, round.summaries.as_ref()?.get(agent)?));
    debate.rounds.iter().rev().find_map(summary_of)
}

/// The rounds before `round` that the agent's newest summary does not cover.
fn open_rounds<'a>(debate: &'a Debate, agent: &AgentId, round: u32) -> impl DoubleEndedIterator<Item = &'a Round> {
    let covered = newest_summary(debate, agent).map_or(0, |(made_in, _)| made_in);
    debate.rounds.iter().filter(move |one| (covered..round).contains(&one.round_number))
}

pub(super) fn own_rounds<'a>(debate: &'a Debate, agent: &AgentId, round: u32) -> Vec<OwnRound<'a>> {
    let authored =
        |one: &'a Contribution| Authored { author: number(debate, &one.agent_id), text: Cow::Borrowed(&one.content) };
    let rounds = open_rounds(debate, agent, round).enumerate().map(|(index, one)| {
        let mut part = OwnRound { proposal: None, critiques: Vec::new(), refinement: None };
        for contribution in one.contributions.iter().filter(|one| debate.is_own_text(one, agent)) {
            let text = authored(contribution);
            let yields = debate.yield_of(contribution);
            if yields == Some(ResultKind::Critique) {
                part.critiques.push(text);
            } else if yields == Some(ResultKind::Proposal) {
                // Show the first round's proposal even if it was carried over: this prompt then begins like the prompt
                // for the refinement of that proposal, which providers have cached.
                if !is_first_solution(debate, contribution) {
                    part.refinement = Some(text);
                } else if index == 0 || !contribution.metadata.carried_over {
                    part.proposal = Some(text);
                }
            }
        }
        part
    });
    rounds.collect()
}

/// The texts by and about the agent from the rounds before `round` that its newest summary does not cover, newest
/// first. Empty if the settings exclude histories.
pub(super) fn history<'a>(debate: &'a Debate, agent: &AgentId, round: u32) -> Vec<Titled<'a>> {
    if !wants_histories(debate) {
        return Vec::new();
    }
    let settings = debate.settings.as_ref().map(|settings| &settings.debate);
    let limit = settings.map_or(DebateSettings::DEFAULT_HISTORY_LIMIT, |settings| settings.history_limit);
    bounded(open_rounds(debate, agent, round).rev().flat_map(|one| concerning(debate, one, agent)).collect(), limit)
}

/// The round's texts by and about the agent, in this order: the agent's final text, critiques of the agent, the agent's
/// critiques of others, and the agent's first text.
fn concerning<'a>(debate: &'a Debate, round: &'a Round, agent: &AgentId) -> Vec<Titled<'a>> {
    let rank = |one: &Contribution| {
        let yields = debate.yield_of(one)?;
        let is_own = one.agent_id == *agent;
        if yields == ResultKind::Proposal {
            is_own.then(|| if is_first_solution(debate, one) { 3 } else { 0 })
        } else if yields != ResultKind::Critique {
            None
        } else if one.target_agent_id.as_ref() == Some(agent) {
            Some(1)
        } else {
            // If the points were parsed, they are listed with the other points about the target.
            let has_no_points = one.reading.as_ref().is_none_or(|reading| reading.points.is_none());
            (is_own && has_no_points).then_some(2)
        }
    };
    let new = round.contributions.iter().filter(|one| !one.metadata.carried_over);
    let mut ranked: Vec<(u8, &Contribution)> = new.filter_map(|one| Some((rank(one)?, one.as_ref()))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let titled = |(_, one): (u8, &'a Contribution)| {
        Titled::new(format!("Round {}: {}", round.round_number, title(debate, one)), &*one.content)
    };
    ranked.into_iter().map(titled).collect()
}

fn side_of(debate: &Debate, id: &AgentId) -> &'static str {
    match debate.settings.as_ref().map_or(Position::Neutral, |settings| side(settings, id)) {
        Position::For => " (for)",
        Position::Against => " (against)",
        Position::Neutral => "",
    }
}

/// The texts of the rounds before `round`, followed by `now`, the texts of `round` itself.
pub(super) fn transcript<'a>(debate: &'a Debate, now: &[&'a Arc<Contribution>], round: u32) -> Vec<Titled<'a>> {
    let name = |id: &AgentId| {
        let known = debate.agents().iter().find(|agent| agent.id == *id);
        known.map_or_else(|| id.to_string(), |agent| agent.name.clone()) + side_of(debate, id)
    };
    let finished = debate.rounds.iter().filter(|one| one.round_number < round);
    let finished = finished.flat_map(|one| one.contributions.iter().map(move |text| (one.round_number, text)));
    let all = finished.chain(now.iter().map(|text| (round, *text))).filter(|(_, text)| debate.is_text(text));
    all.map(|(round, text)| Titled::new(format!("Round {round}: {}", speech_title(debate, text, name)), &*text.content))
        .collect()
}

pub(super) fn speeches(debate: &Debate) -> Vec<Titled<'_>> {
    let has_speeches = debate.stages.iter().any(|stage| stage.yields == Some(ResultKind::Speech));
    if has_speeches { transcript(debate, &[], u32::MAX) } else { Vec::new() }
}

/// All speeches with labels instead of names. Successive speeches keep their order, since later ones answer earlier
/// ones; simultaneous ones are ordered by label.
pub(super) fn anonymous_transcript<'a>(debate: &'a Debate, labels: &[Label]) -> Vec<Titled<'a>> {
    let place = |id: &AgentId| labels.iter().position(|label| label.author == *id).unwrap_or(usize::MAX);
    let name = |id: &AgentId| {
        let label = word_for(labels, id).map_or_else(|| id.to_string(), |label| format!("{DEBATER} {label}"));
        label + side_of(debate, id)
    };
    let mut all = Vec::new();
    for round in &debate.rounds {
        let mut texts: Vec<&Arc<Contribution>> = round.contributions.iter().filter(|one| debate.is_text(one)).collect();
        texts.sort_by_key(|one| {
            let in_turn = debate.stage(one.stage).is_some_and(|stage| stage.in_turn);
            if in_turn { 0 } else { place(one.target_agent_id.as_ref().unwrap_or(&one.agent_id)) }
        });
        all.extend(texts.into_iter().map(|one| {
            let title = format!("Round {}: {}", round.round_number, speech_title(debate, one, name));
            Titled::new(title, hide(labels, &one.content))
        }));
    }
    all
}

fn sort_by_number(debate: &Debate, texts: &mut [&Contribution]) {
    let numbers = debate.in_order_of_numbers();
    let number = |id: &AgentId| numbers.iter().position(|known| *known == id);
    texts.sort_by_key(|one| (one.target_agent_id.as_ref().and_then(number), number(&one.agent_id)));
}

pub(super) fn who_is_who(debate: &Debate) -> String {
    let agents = debate.agents().iter();
    let has_speeches = debate.stages.iter().any(|stage| stage.yields == Some(ResultKind::Speech));
    let line = |agent: &AgentSettings| {
        let who = format!("{} ({})", agent.name, agent.role);
        if has_speeches {
            return who + side_of(debate, &agent.id);
        }
        format!("{}: {who}", text_label(debate, &agent.id))
    };
    let mut lines: Vec<String> = agents.map(line).collect();
    lines.sort();
    lines.join("\n")
}

pub(super) fn earlier_answers(asked: &[FollowUp]) -> Vec<Titled<'_>> {
    let answered = (1..).zip(asked.iter().filter_map(|one| Some((one, one.answer.as_ref()?))));
    answered
        .flat_map(|(number, (one, answer))| {
            let question = Titled::new(format!("Question {number}"), &*one.question);
            [question, Titled::new(format!("Your answer {number}"), &**answer)]
        })
        .collect()
}

/// The texts that the answer builds on: each agent's current text, and speeches. Critiques follow: all of them if
/// `histories` is set, otherwise only those without parsed points, since the ledger has the points of the others.
pub(super) fn final_texts(debate: &Debate, histories: bool) -> Vec<Titled<'_>> {
    let Some(round) = debate.final_round() else { return Vec::new() };
    let mut positions: Vec<&Contribution> = debate.positions(round).into_iter().map(AsRef::as_ref).collect();
    sort_by_number(debate, &mut positions);
    let said = |wanted: ResultKind| {
        let texts = round.contributions.iter().filter(move |one| debate.yield_of(one) == Some(wanted));
        let mut texts: Vec<&Contribution> = texts.map(AsRef::as_ref).collect();
        sort_by_number(debate, &mut texts);
        texts
    };
    let whole = positions.into_iter().chain(said(ResultKind::Speech));
    let whole = whole.map(|one| Titled::new(title(debate, one), one.without_answers()));
    let critiques = said(ResultKind::Critique).into_iter().filter(|one| histories || !has_points(one));
    let critiques = critiques.map(|one| Titled::new(title(debate, one), as_points(&one.content, LONGEST_CRITIQUE)));
    whole.chain(critiques).collect()
}

/// Whether the critique's points were parsed. Also true if the critique states that it has no points.
pub(super) fn has_points(critique: &Contribution) -> bool {
    critique.reading.as_ref().is_some_and(|reading| reading.points.is_some())
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Earlier {
    Whole,
    /// For a summary: reduces long critiques to their points and leaves out proposals that were refined later.
    ToBeCondensed,
}

/// The texts of earlier rounds, newest first.
pub(super) fn earlier_texts(debate: &Debate, wanted: Earlier) -> Vec<Titled<'_>> {
    let longest_critique = if wanted == Earlier::Whole { usize::MAX } else { LONGEST_EARLIER_CRITIQUE };
    let mut texts = Vec::new();
    for round in debate.earlier_rounds() {
        let positions = debate.positions(round);
        let was_reworked = |one: &Arc<Contribution>| {
            wanted == Earlier::ToBeCondensed
                && debate.yield_of(one) == Some(ResultKind::Proposal)
                && !positions.iter().any(|position| Arc::ptr_eq(position, one))
        };
        let number = round.round_number;
        for stage in debate.stages.iter().rev() {
            let new = |one: &&Arc<Contribution>| {
                one.stage == stage.id && debate.is_text(one) && !one.metadata.carried_over && !was_reworked(one)
            };
            let mut of_stage: Vec<&Contribution> = round.contributions.iter().filter(new).map(AsRef::as_ref).collect();
            sort_by_number(debate, &mut of_stage);
            let longest = if stage.yields == Some(ResultKind::Critique) { longest_critique } else { usize::MAX };
            texts.extend(of_stage.into_iter().map(|one| {
                let title = format!("Round {number}: {}", title(debate, one));
                Titled::new(title, as_points(&one.content, longest))
            }));
        }
    }
    texts
}

pub(super) fn wants_histories(debate: &Debate) -> bool {
    debate.settings.as_ref().is_none_or(|settings| settings.debate.include_full_history)
}

/// The maximum number of characters to show of an older text, cut to one line.
const SKETCH: usize = 120;
/// The maximum number of older texts that get a line each. Further ones are only counted, because the cost would
/// otherwise grow with the square of the number of rounds.
const MOST_LINES: usize = 40;
const OVERVIEW: &str = "Older texts, one line each";

pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}

pub(super) fn total(texts: &[Titled<'_>]) -> usize {
    texts.iter().map(|one| length(&one.text)).sum()
}

/// Keeps as many texts, given newest first, as fit into `limit` characters, and reduces the older ones to one line
/// each. Unless `limit` is 0, keeps the newest text in any case, and cuts it if necessary.
pub(super) fn bounded(texts: Vec<Titled<'_>>, limit: usize) -> Vec<Titled<'_>> {
    let mut room = limit;
    let fitting = texts.iter().take_while(|one| {
        let left = room.checked_sub(length(&one.text));
        room = left.unwrap_or(0);
        left.is_some()
    });
    let fitting = fitting.count();
    let mut shown = texts;
    let mut older = shown.split_off(fitting);
    if fitting == 0 && limit > 0 && !older.is_empty() {
        let newest = older.remove(0);
        shown.push(Titled { text: cut(&newest.text, limit).into(), ..newest });
    }
    if !older.is_empty() {
        let mut lines: Vec<String> = older.iter().take(MOST_LINES).map(sketch).collect();
        if let Some(more @ 1..) = older.len().checked_sub(MOST_LINES) {
            lines.push(format!("- and {} before these", thousands(more as u64)));
        }
        shown.push(Titled::new(OVERVIEW, lines.join("\n")));
    }
    shown
}

fn sketch(one: &Titled<'_>) -> String {
    let words = single_spaced(&one.text);
    let ellipsis = if length(&words) > SKETCH { "…" } else { "" };
    let size = thousands(length(&one.text) as u64);
    format!("- {} ({size} characters): {}{ellipsis}", one.title, truncate(&words, SKETCH))
}

/// Returns the first `chars` characters of a text, with a note of how many are left out. A remedy is left out rather
/// than cut, since half a remedy is wrong.
pub(super) fn cut(text: &str, chars: usize) -> String {
    if length(text) <= chars {
        return text.to_owned();
    }
    let kept = before_cut_remedy(text, truncate(text, chars));
    let left_out = length(text) - length(kept);
    format!("{}\n[… {} more characters are left out here]", kept.trim_end(), thousands(left_out as u64))
}

/// The first `chars` characters of a summary, without a partial remedy.
pub fn cut_summary(text: &str, chars: usize) -> &str {
    before_cut_remedy(text, truncate(text, chars)).trim_end()
}

/// The words that the prompts request before a point's remedy.
const REMEDY: &str = "Resolved by";

/// Removes an incomplete remedy from the end of `kept`, which is the beginning of `text`.
fn before_cut_remedy<'a>(text: &str, kept: &'a str) -> &'a str {
    let is_whole = text[kept.len()..].is_empty() || text[kept.len()..].starts_with('\n');
    let line = kept.rfind('\n').map_or(0, |end| end + 1);
    match kept[line..].rfind(REMEDY) {
        Some(at) if !is_whole => &kept[..line + at],
        Some(_) | None => kept,
    }
}

/// Cuts the longest `texts` to the same length, so that all fit into `room` characters.
pub(super) fn shorten(texts: &mut [Titled<'_>], room: usize) {
    let mut lengths: Vec<usize> = texts.iter().map(|one| length(&one.text)).collect();
    lengths.sort_unstable();
    let (mut left, mut most) = (room, usize::MAX);
    for (index, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - index);
        if *length > share {
            most = share;
            break;
        }
        left -= length;
    }
    for one in texts.iter_mut().filter(|one| length(&one.text) > most) {
        one.text = cut(&one.text, most).into();
    }
}

/// Shortens a critique to about `limit` characters by cutting its longest points to the same length. A critique with
/// fewer than two points is cut as a whole.
pub(super) fn as_points(critique: &str, limit: usize) -> Cow<'_, str> {
    if length(critique) <= limit {
        return Cow::Borrowed(critique);
    }
    let points = points(critique);
    if points.len() < 2 {
        return cut(critique, limit).into();
    }
    // Keep remedies whole: the description of a fault survives shortening better.
    let parts = points.into_iter().map(|point| point.split_at(point.rfind(REMEDY).unwrap_or(point.len())));
    let parts: Vec<(&str, &str)> = parts.collect();
    let remedies: usize = parts.iter().map(|(_, remedy)| length(remedy)).sum();
    let mut faults: Vec<Titled<'_>> = parts.iter().map(|(fault, _)| Titled::new("", *fault)).collect();
    // Reserve room for the notes on how much is left out.
    let marks = faults.len() * 50;
    let room = limit.saturating_sub(marks + remedies).max(faults.len() * SKETCH);
    shorten(&mut faults, room);
    let points = faults.iter().zip(&parts).map(|(fault, (_, remedy))| {
        let joint = if remedy.is_empty() || !fault.text.ends_with(']') { "" } else { " " };
        format!("{}{joint}{remedy}", fault.text)
    });
    points.collect::<Vec<_>>().join("\n").into()
}

/// The numbered points of a critique, without its introduction.
fn points(critique: &str) -> Vec<&str> {
    let mut starts = Vec::new();
    let (mut at, mut in_code, mut next) = (0, false, 1_u32);
    for line in critique.split_inclusive('\n') {
        in_code ^= line.trim_start().starts_with("```");
        // Nested lists restart at 1, while points continue.
        if !in_code && number_of(line).is_some_and(|number| number == next) {
            starts.push(at);
            next += 1;
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([critique.len()]);
    starts.iter().zip(ends).map(|(start, end)| critique[*start..end].trim_end()).collect()
}

/// The number at the beginning of a line: `1.`, `**1.`, `### 1)`, `Point 1:`.
fn number_of(line: &str) -> Option<u32> {
    let plain = line.trim_start_matches(['#', '*', ' ', '_']);
    let plain = plain.strip_prefix("Point ").unwrap_or(plain);
    let rest = plain.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = rest.starts_with(['.', ')', ':']) && rest[1..].starts_with([' ', '*', '_']);
    plain[..plain.len() - rest.len()].parse().ok().filter(|_| is_numbered)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(lengths: &[usize]) -> Vec<Titled<'static>> {
        (1..).zip(lengths).map(|(number, length)| Titled::new(format!("T{number}"), "x".repeat(*length))).collect()
    }

    #[test]
    fn the_newest_are_shown_and_the_others_mentioned() {
        assert_eq!(bounded(texts(&[10, 20]), 30), texts(&[10, 20]));
        let shown = bounded(texts(&[10, 200, 5]), 30);
        assert_eq!(shown[..1], texts(&[10]));
        let lines = format!("- T2 (200 characters): {}…\n- T3 (5 characters): xxxxx", "x".repeat(SKETCH));
        assert_eq!(shown[1..], [Titled::new(OVERVIEW, lines)]);
    }

    #[test]
    fn the_newest_is_shown_in_part_rather_than_not_at_all() {
        let shown = bounded(texts(&[100, 5]), 30);
        assert_eq!(shown[0].text, format!("{}\n[… 70 more characters are left out here]", "x".repeat(30)));
        assert_eq!(shown[1].text, "- T2 (5 characters): xxxxx");
        assert!(bounded(Vec::new(), 30).is_empty());
    }

    #[test]
    fn mentions_are_bounded_too() {
        let shown = bounded(texts(&[10; 100]), 10);
        let lines: Vec<&str> = shown[1].text.lines().collect();
        assert_eq!((lines.len(), lines[MOST_LINES]), (MOST_LINES + 1, "- and 59 before these"));
    }

    #[test]
    fn the_longest_are_shortened_first() {
        let mut some = texts(&[10, 500, 40, 300]);
        shorten(&mut some, 250);
        let kept: Vec<usize> = some.iter().map(|one| one.text.matches('x').count()).collect();
        assert_eq!(kept, [10, 100, 40, 100]);
        let mut enough = texts(&[10, 20]);
        shorten(&mut enough, 30);
        assert_eq!(enough, texts(&[10, 20]));
    }

    #[test]
    fn a_long_critique_is_shown_as_its_points() {
        let long = |point: u32| format!("{point}. **Gap {point}.** {}\n   1. detail\n", "why ".repeat(500));
        let critique = format!("Coverage first.\n\n{}\n{}\n{}", long(1), long(2), long(3));
        let shown = as_points(&critique, 3000);
        assert!(length(&shown) <= 3000, "{}", length(&shown));
        for point in ["1. **Gap 1.** why", "2. **Gap 2.** why", "3. **Gap 3.** why"] {
            assert!(shown.contains(point), "{point}");
        }
        assert!(shown.starts_with("1. "));
        assert_eq!(as_points("1. Short.\n2. Too.", 3000), "1. Short.\n2. Too.");
        assert!(as_points(&"prose ".repeat(1000), 3000).starts_with("prose "));
    }

    #[test]
    fn no_remedy_is_cut() {
        let remedy = "Resolved by: a unique index on the key, created before the job runs.";
        let point = |number: u32| format!("{number}. [major] Keys: {} {remedy}", "duplicates ".repeat(200));
        let critique = [1, 2, 3].map(point).join("\n");
        let shown = as_points(&critique, 1500);
        assert_eq!(shown.matches(remedy).count(), 3, "{shown}");
        assert!(length(&shown) < 1500, "{shown}");
        let text = "1. Keys are missing. Resolved by: a unique index.\n2. No way back.";
        let kept = |chars: usize| cut(text, chars).lines().next().unwrap().to_owned();
        assert_eq!(kept(40), "1. Keys are missing.");
        assert_eq!(kept(49), "1. Keys are missing. Resolved by: a unique index.");
    }

    proptest! {
        #[test]
        fn what_is_shortened_fits(lengths in prop::collection::vec(0_usize..400, 0..8), room in 0_usize..1000) {
            let mut some = texts(&lengths);
            shorten(&mut some, room);
            let kept: usize = some.iter().map(|one| one.text.matches('x').count()).sum();
            prop_assert!(kept <= room);
            let all: usize = lengths.iter().sum();
            prop_assert!(all > room || kept == all);
            // Loses at most the rounding error.
            prop_assert!(all <= room || kept + lengths.len() >= room);
        }
    }
}
