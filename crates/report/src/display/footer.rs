//! The last line of a debate on a terminal: its outcome and its cost.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use console::{measure_text_width, truncate_str};

use dialectic_base::figures::{counted, duration, short_cost};
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::Debate;

use crate::report::View;
use crate::report::subject::confidence;

use super::told::{first_rows, rows};

const FULL: Style = AnsiColor::Green.on_default().bold();
const LESS: Style = AnsiColor::Yellow.on_default().bold();
const QUIET: Style = Style::new().dimmed();

/// The indentation below the first line.
const INDENT: &str = "  ";
/// The approximate rows of the reason, and the maximum rows of the case in which a requirement fails.
const REASON_ROWS: usize = 2;
const CASE_ROWS: usize = 3;

/// Two statements, coloured and wrapped: whether the run is complete, with its figures; and what the answer is worth.
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
            // A green mark beside a fault would hide it.
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
    // Of several, each stands with its requirement in the answer.
    if let [fails] = fails[..] {
        lines.extend(first_rows(INDENT, &format!("Fails: {fails}"), columns, CASE_ROWS));
    }
    if let Some(said) = confidence(&View::new(debate, None)).filter(|_| !is_offline) {
        lines.extend(rows(INDENT, &said, columns));
    }
    lines.join("\n")
}

/// Adds parts with separators, on as many lines as they need.
fn append(lines: &mut Vec<String>, parts: impl Iterator<Item = String>, columns: usize) {
    for part in parts {
        match lines.last_mut().filter(|line| measure_text_width(line) + 3 + measure_text_width(&part) <= columns) {
            // Writing to a string cannot fail.
            Some(line) => drop(write!(line, "{QUIET} · {QUIET:#}{part}")),
            None => lines.extend(rows(INDENT, &part, columns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::*;
    use dialectic_record::debate::{Outcome, OutcomeKind, fixture};

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
        let reason = "the judge's assessment is missing (it contains no JSON object)".to_owned();
        let outcome = Some(Outcome { kind: OutcomeKind::Degraded, reasons: vec![reason] });
        let debate = Debate { outcome, failures: Vec::new(), ..fixture::debate() };
        let shown = shown(&debate, 50);
        assert!(shown.starts_with("! Run: incomplete: the judge's assessment is\n  missing (it"), "{shown}");
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
