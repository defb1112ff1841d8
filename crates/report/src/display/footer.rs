//! The text shown on a terminal after a debate: outcome and cost, the answer, the strongest objection, and suggested
//! commands.

use std::fmt::Write as _;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use console::{measure_text_width, truncate_str};

use crate::report::View;
use crate::report::subject::{self, confidence};
use dialectic_base::figures::{counted, duration, short_cost};
use dialectic_base::provider::HOST;
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::{Contribution, Debate};
use dialectic_record::ids::ResultKind;
use dialectic_record::points::{Ledger, Point, PointStatus, Tally};

use super::told::{first_rows, first_sentence, inner_quotes, rows};

const FULL: Style = AnsiColor::Green.on_default().bold();
const LESS: Style = AnsiColor::Yellow.on_default().bold();
const QUIET: Style = Style::new().dimmed();

const INDENT: &str = "  ";
/// The maximum number of rows for the reason why a run is incomplete. Wrapping between words may add a row.
const REASON_ROWS: usize = 2;
/// The maximum number of rows for the case in which a requirement fails.
const CASE_ROWS: usize = 3;

/// Says in colour whether the run is complete and whether the answer meets the requirements, with the run's figures:
/// ```text
///   Run: complete · 3 rounds · 38 calls · 43 s · $0.21
/// ! Answer: 1 major requirement only in part: restore under 4 h
/// ```
pub fn footer(debate: &Debate, columns: usize) -> String {
    let is_offline = debate.is_offline();
    let usage = debate.total_usage();
    let cost = match usage.cost_usd {
        _ if is_offline => "offline".to_owned(),
        Some(cost) => usage.cost_in_words(short_cost(cost)),
        None => usage.cost_in_words("cost unknown".to_owned()),
    };
    let is_clean = debate.is_clean() && !is_offline;
    let marked = |is_fault: bool, text: &str| {
        let (style, mark) = match (is_clean, is_fault) {
            (true, _) => (FULL, "✓ "),
            (false, true) => (LESS, "! "),
            // Omit the mark, because a green one next to a fault would hide the fault.
            (false, false) => (Style::new(), INDENT),
        };
        rows(mark, text, columns).into_iter().map(move |row| format!("{style}{row}{style:#}"))
    };
    let figures = [
        Some(counted(debate.current_round.into(), "round")),
        Some(counted(usage.requests, "call")),
        debate.took_ms().map(duration),
        Some(cost),
        crate::report::subject::status(debate),
    ];
    let run = debate.run_in_words();
    let mut lines = marked(debate.is_full() == Some(false), &format!("Run: {run}")).collect();
    append(&mut lines, figures.into_iter().flatten(), columns);
    let reasons = debate.outcome.as_ref().map_or(&[][..], |outcome| &outcome.reasons);
    if let Some((first, others)) = reasons.split_first().filter(|(first, _)| !run.contains(first.trim_end_matches('.')))
    {
        let more = if others.is_empty() { String::new() } else { format!(" (and {} more)", others.len()) };
        let room = (columns.saturating_sub(INDENT.len()) * REASON_ROWS).saturating_sub(more.len()).max(1);
        lines.extend(rows(INDENT, &format!("{}{more}", truncate_str(&one_line(first), room, "…")), columns));
    }
    if let Some(answer) = debate.answer_state() {
        lines.extend(marked(!answer.is_clean(), &format!("Answer: {answer}")));
    }
    let partly = debate.final_solution.iter().flat_map(|solution| &solution.partly_fulfilled);
    let fails: Vec<&str> = partly.map(|one| one.fails.trim()).filter(|fails| !fails.is_empty()).collect();
    // Show a failing case only if there is exactly one. The answer lists all of them with their requirements.
    if let [fails] = fails[..] {
        lines.extend(first_rows(INDENT, &format!("Fails: {fails}"), columns, CASE_ROWS));
    }
    if let Some(said) = confidence(&View::new(debate, None)).filter(|_| !is_offline) {
        lines.extend(rows(INDENT, &said, columns));
    }
    lines.join("\n")
}

fn append(lines: &mut Vec<String>, parts: impl Iterator<Item = String>, columns: usize) {
    for part in parts {
        match lines.last_mut().filter(|line| measure_text_width(line) + 3 + measure_text_width(&part) <= columns) {
            // Writing to a string cannot fail.
            Some(line) => drop(write!(line, "{QUIET} · {QUIET:#}{part}")),
            None => lines.extend(rows(INDENT, &part, columns)),
        }
    }
}

/// The maximum length of a title, in characters.
const TITLE: usize = 80;
/// The maximum length of a sentence or an objection, in characters.
const SENTENCE: usize = 160;

/// The [`essence`] and suggested commands, wrapped to `columns` if given. `name` is the debate's short name.
pub fn gist(debate: &Debate, name: &str, columns: Option<usize>) -> String {
    format!("{}\n{}", essence(debate, columns), next(debate, &one_line(name), columns))
}

/// The answer and, if the debate had critiques, the strongest objection, wrapped to `columns` if given. Omits the
/// objection for reviews and offline debates.
pub fn essence(debate: &Debate, columns: Option<usize>) -> String {
    let debate = &debate.with_named_texts();
    let broken = |line: String| columns.map_or_else(|| line.clone(), |columns| rows("", &line, columns).join("\n"));
    // A review's answer already lists its findings, and an offline debate's objections are invented.
    let objection =
        (debate.change.is_none() && was_criticised(debate) && !debate.is_offline()).then(|| objection(debate));
    let lines = [Some(answer(debate)), objection].into_iter().flatten();
    lines.map(broken).collect::<Vec<_>>().join("\n")
}

fn was_criticised(debate: &Debate) -> bool {
    let is_critique = |(_, one): (u32, &Arc<Contribution>)| debate.yield_of(one) == Some(ResultKind::Critique);
    !debate.checks.is_empty() || debate.contributions().any(is_critique)
}

/// The debate's title and the answer's first sentence: `A token bucket per key: Keep the counters in Redis.`
fn answer(debate: &Debate) -> String {
    let title = one_line(&debate.title());
    let said = debate.final_solution.as_ref().map(|solution| first_sentence(&solution.description));
    let said = said.filter(|said| !said.is_empty()).map(|said| cut(&said, SENTENCE));
    match (title.is_empty(), said) {
        (true, said) => said.unwrap_or_default(),
        (false, None) => cut(&title, TITLE),
        (false, Some(said)) => format!("{}: {said}", cut(&title, TITLE).trim_end_matches(['.', ':'])),
    }
}

/// The strongest open objection: `Strongest open objection (2.3, blocking), Kiss on Architect: “A write is lost.”` If
/// none is open, the strongest objection that changed the answer, with the change. If there is none either, a sentence
/// that says so.
fn objection(debate: &Debate) -> String {
    let ledger = Ledger::shown(debate);
    let first = |groups: Vec<Vec<&Point>>| groups.first().and_then(|group| group.first().copied()).cloned();
    if let Some(one) = first(subject::strongest_open(debate, &ledger)) {
        return format!("Strongest open objection {}", quoted(debate, &one));
    }
    if let Some(one) = first(subject::strongest_followed(debate, &ledger)) {
        let (section, changed) = subject::change(&one);
        let section = section.map(|section| format!(" ({})", one_line(section))).unwrap_or_default();
        let changed = changed.map(|text| cut(&first_sentence(text), SENTENCE)).filter(|text| !text.is_empty());
        let changed = changed.map(|text| format!(": “{}”", inner_quotes(&text))).unwrap_or_default();
        let what = Some(format!("{section}{changed}")).filter(|what| !what.is_empty());
        let what = what.map(|what| format!(" The change{what}")).unwrap_or_default();
        return format!("Strongest objection that changed the answer {}{what}", quoted(debate, &one));
    }
    if ledger.is_empty() {
        return "No objection was raised, or none could be read.".to_owned();
    }
    let rejected = Tally::of(&ledger.objections).count(PointStatus::Rejected);
    let said = "No objection to the answer is open, and none led to a change.";
    if rejected == 0 { said.to_owned() } else { format!("{said} Rejected: {rejected}.") }
}

/// Quotes an objection: `(2.3, blocking), Kiss on Architect: “A write is lost.”`
fn quoted(debate: &Debate, one: &Point) -> String {
    let view = View::new(debate, None);
    let [critic, target] = [&one.critic_id, &one.target_id].map(|id| one_line(view.name_of(id)));
    let said = inner_quotes(&cut(&first_sentence(&one.point.in_words()), SENTENCE));
    format!("({}, {}), {critic} on {target}: “{said}”", one.number(), one.point.severity.name())
}

/// Suggests commands. Breaks lines only between commands, so that each command can be copied.
fn next(debate: &Debate, name: &str, columns: Option<usize>) -> String {
    let points = if Ledger::shown(debate).is_empty() { "" } else { " points" };
    let mut line = "Next: ".to_owned();
    let mut used = line.len();
    let is_hosted = debate.settings.as_ref().is_some_and(|settings| settings.judge.provider == HOST);
    let ask = (!is_hosted).then(|| format!("ask {name} \"Why not …?\""));
    let commands = [Some(format!("show {name}{points}")), ask, Some(format!("report {name} --open"))];
    for (place, command) in commands.into_iter().flatten().enumerate() {
        let command = format!("dialectic {command}");
        let width = measure_text_width(&command);
        if place > 0 && columns.is_some_and(|columns| used + 3 + width > columns) {
            line.push_str("\n      ");
            used = 6;
        } else if place > 0 {
            line.push_str(" · ");
            used += 3;
        }
        line.push_str(&command);
        used += width;
    }
    line
}

fn cut(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars - 1).collect();
    let whole = kept.rsplit_once(' ').map_or(&*kept, |(words, _)| words);
    format!("{}…", whole.trim_end_matches([',', ';', ':', ' ']))
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use dialectic_record::debate::fixture::{self, argued, debate};
    use dialectic_record::debate::{Outcome, OutcomeKind};
    use dialectic_record::ids::AgentId;

    use super::*;

    #[test]
    fn three_lines_say_what_came_out_what_was_fought_over_and_what_is_next() {
        insta::assert_snapshot!(gist(&argued(), "vhkp", None), @r#"
        Design it: One store, one leader.
        Strongest open objection (1.1, blocking), Simplicity Advocate on System Architect: “Failover: A write that is in flight while the leader changes is lost.”
        Next: dialectic show vhkp points · dialectic ask vhkp "Why not …?" · dialectic report vhkp --open
        "#);
    }

    #[test]
    fn a_debate_without_points_says_so_and_offers_none() {
        let mut silent = debate();
        for contribution in silent.rounds.iter_mut().flat_map(|round| &mut round.contributions) {
            let contribution = Arc::make_mut(contribution);
            if contribution.target_agent_id.is_some() {
                contribution.content = "No objections.".into();
                contribution.reading = None;
            }
        }
        let said = gist(&silent, "vhkp", None);
        assert!(said.contains("\nNo objection was raised") && said.contains("show vhkp ·"), "{said}");
        assert_eq!(said.lines().count(), 3, "{said}");
        // Nobody was asked for objections.
        silent.rounds.clear();
        let said = gist(&silent, "vhkp", None);
        assert_eq!(said.lines().count(), 2, "{said}");
    }

    #[test]
    fn only_objections_to_the_winning_text_are_called_open_or_followed() {
        let mut voted = argued();
        voted.rounds.truncate(1);
        let loser = Some(AgentId::new("agent-architect"));
        voted.rounds[0].contributions.retain(|one| one.target_agent_id.is_none() || one.target_agent_id == loser);
        let solution = voted.final_solution.as_mut().unwrap();
        (solution.rulings, solution.base) = (Vec::new(), Some(AgentId::new("agent-kiss")));
        let said = essence(&voted, None);
        assert!(
            said.ends_with("\nNo objection to the answer is open, and none led to a change. Rejected: 1."),
            "{said}"
        );
        for one in &mut voted.rounds[0].contributions {
            Arc::make_mut(one).reading.iter_mut().for_each(|reading| reading.answers.clear());
        }
        let said = essence(&voted, None);
        assert!(said.ends_with("\nNo objection to the answer is open, and none led to a change."), "{said}");
    }

    #[test]
    fn what_comes_from_a_model_stays_on_its_line_and_within_the_width() {
        let mut hostile = argued();
        if let Some(solution) = &mut hostile.final_solution {
            solution.title = Some("A\u{1b}[2J\ntitle".to_owned());
            solution.description = "word ".repeat(200);
        }
        let said = gist(&hostile, "vhkp", Some(50));
        assert!(said.lines().all(|line| measure_text_width(line) <= 50), "{said}");
        assert!(!said.contains('\u{1b}') && said.lines().any(|line| line.starts_with("Strongest")), "{said}");
    }

    fn shown(debate: &Debate, columns: usize) -> String {
        strip_str(&footer(debate, columns)).to_string()
    }

    #[test]
    fn it_says_how_the_debate_went() {
        let debate = Debate { outcome: None, ..fixture::debate() };
        let wide = shown(&debate, 120);
        assert!(wide.starts_with("  Run: finished · 2 rounds · 7 calls · 3 min 4 s · "), "{wide}");
        let narrow = shown(&debate, 40);
        assert!(narrow.lines().all(|line| measure_text_width(line) <= 40), "{narrow}");
    }

    #[test]
    fn what_is_not_full_says_why() {
        let reasons = vec!["agent-kiss failed \u{1b}[2J".to_owned(), "and so on".to_owned()];
        let outcome = Some(Outcome { kind: OutcomeKind::Degraded, reasons });
        let shown = shown(&Debate { outcome, ..fixture::debate() }, 80);
        assert!(shown.starts_with("! Run: incomplete: "), "{shown}");
        assert!(shown.ends_with("\n  agent-kiss failed [2J (and 1 more)"), "{shown}");
    }

    #[test]
    fn a_run_that_is_wider_than_the_screen_keeps_its_colour_and_gives_its_reason_once() {
        let reason = "the judge's answer lacks a full assessment (it contains no JSON object)".to_owned();
        let outcome = Some(Outcome { kind: OutcomeKind::Degraded, reasons: vec![reason] });
        let shown = shown(&Debate { outcome, failures: Vec::new(), ..fixture::debate() }, 50);
        assert!(shown.starts_with("! Run: incomplete: the judge's answer lacks a full\n  assessment (it"), "{shown}");
        assert!(!shown.contains('[') && shown.matches("assessment").count() == 1, "{shown}");
    }

    #[test]
    fn only_a_complete_run_with_a_clean_answer_has_a_green_mark() {
        let outcome = Some(Outcome { kind: OutcomeKind::Full, reasons: Vec::new() });
        let mut debate = Debate { outcome, ..fixture::argued() };
        let faulty = shown(&debate, 100);
        assert!(faulty.starts_with("  Run: complete · "), "{faulty}");
        assert!(faulty.contains("\n! Answer: 3 major points open (1.1, 1.3, 1.6)\n"), "{faulty}");
        assert!(!faulty.contains('✓') && faulty.contains("60 % chance that it meets every"), "{faulty}");
        for round in &mut debate.rounds {
            round.contributions.retain(|one| one.target_agent_id.is_none());
        }
        debate.final_solution.as_mut().unwrap().rulings.clear();
        let clean = shown(&debate, 100);
        assert!(clean.starts_with("✓ Run: complete · "), "{clean}");
        assert!(clean.contains("\n✓ Answer: every major requirement met, nothing major open"), "{clean}");
    }
}
