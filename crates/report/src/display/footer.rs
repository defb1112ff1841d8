//! The last line of a debate on a terminal: its outcome and its cost.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use console::{measure_text_width, truncate_str};

use dialectic_base::figures::{clock, counted, percent, short_cost, with_notional};
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::Debate;

use super::told::rows;

const FULL: Style = AnsiColor::Green.on_default().bold();
const LESS: Style = AnsiColor::Yellow.on_default().bold();
const QUIET: Style = Style::new().dimmed();

/// The indentation below the first line.
const INDENT: &str = "  ";
/// The approximate rows of the reason.
const REASON_ROWS: usize = 2;

/// A debate that has ended with an answer.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    pub debate: &'a Debate,
    /// The duration of its run.
    pub took: Duration,
    /// Whether no model was called: nothing was paid, and there is no confidence.
    pub is_offline: bool,
}

/// `✓ full · 3 rounds · 38 calls · 0:43 · $0.21 · confidence 82 %`, coloured and wrapped; followed by the first reason
/// why it was not full, if any.
pub fn footer(Ended { debate, took, is_offline }: Ended<'_>, columns: usize) -> String {
    let outcome = debate.outcome.as_ref();
    let kind = outcome.map_or("finished", |outcome| outcome.kind.name());
    let (mark, style) = if debate.is_full() == Some(false) { ("!", LESS) } else { ("✓", FULL) };
    let usage = debate.total_usage();
    let confidence = debate.final_solution.as_ref().and_then(|solution| solution.confidence).filter(|_| !is_offline);
    let stated = debate.final_solution.as_ref().and_then(|solution| solution.stated_confidence);
    let stated = stated.map(|stated| format!(" (the judge said {})", percent(stated)));
    let cost = match usage.cost_usd {
        _ if is_offline => "offline".to_owned(),
        Some(cost) => with_notional(short_cost(cost), usage.notional_usd),
        None => with_notional("cost unknown".to_owned(), usage.notional_usd),
    };
    let parts = [
        Some(format!("{style}{mark} {kind}{style:#}")),
        Some(counted(debate.current_round.into(), "round")),
        Some(counted(usage.requests, "call")),
        Some(clock(took)),
        Some(cost),
        confidence.map(|confidence| format!("confidence {}{}", percent(confidence), stated.unwrap_or_default())),
        crate::report::subject::status(debate),
    ];
    let mut lines = vec![String::new()];
    for part in parts.into_iter().flatten() {
        let Some(line) = lines.last_mut() else { break };
        let width = measure_text_width(line);
        if line.is_empty() {
            *line = part;
        } else if width + 3 + measure_text_width(&part) <= columns {
            let _ = write!(line, "{QUIET} · {QUIET:#}{part}");
        } else {
            lines.extend(rows(INDENT, &part, columns));
        }
    }
    if let Some((first, others)) = outcome.and_then(|outcome| outcome.reasons.split_first()) {
        let more = if others.is_empty() { String::new() } else { format!(" (and {} more)", others.len()) };
        let room = (columns.saturating_sub(INDENT.len()) * REASON_ROWS).saturating_sub(more.len()).max(1);
        lines.extend(rows(INDENT, &format!("{}{more}", truncate_str(&one_line(first), room, "…")), columns));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::*;
    use dialectic_record::debate::{Outcome, OutcomeKind, fixture};

    fn shown(debate: &Debate, columns: usize) -> String {
        let ended = Ended { debate, took: Duration::from_secs(43), is_offline: false };
        strip_str(&footer(ended, columns)).to_string()
    }

    #[test]
    fn it_says_how_the_debate_went() {
        let debate = Debate { outcome: None, ..fixture::debate() };
        let wide = shown(&debate, 120);
        assert!(wide.starts_with("✓ finished · 2 rounds · "), "{wide}");
        assert!(wide.contains(" · 0:43 · "), "{wide}");
        let narrow = shown(&debate, 40);
        assert_eq!(narrow.replace("\n  ", " · "), wide);
        assert!(narrow.lines().all(|line| measure_text_width(line) <= 40), "{narrow}");
    }

    #[test]
    fn what_is_not_full_says_why() {
        let reasons = vec!["agent-kiss failed \u{1b}[2J".to_owned(), "and so on".to_owned()];
        let outcome = Some(Outcome { kind: OutcomeKind::Degraded, reasons });
        let shown = shown(&Debate { outcome, ..fixture::debate() }, 80);
        assert!(shown.starts_with("! degraded · "), "{shown}");
        assert!(shown.ends_with("\n  agent-kiss failed [2J (and 1 more)"), "{shown}");
    }
}
