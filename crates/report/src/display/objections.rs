//! The ledger of objections as text: for each text the points that were raised against it.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use console::measure_text_width;

use dialectic_base::figures::counted;
use dialectic_base::sanitize::{one_line, sanitize};
use dialectic_base::severity::Severity;
use dialectic_record::debate::{AgentId, Counts, Move, Objection, PointId, Ruling, Shown};

/// Narrower than this, text falls to pieces: the terminal may wrap such lines itself.
const NARROWEST: usize = 30;
/// Before the lines of a point, and before those that follow a label.
const INDENT: usize = 2;

/// How a ledger is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Columns of the terminal. Lines are not broken where there is none.
    pub width: Option<usize>,
    /// Whether there are colours.
    pub color: bool,
}

/// The points of a debate, by whose text they are against, the open and grave ones first, and what the authors did about
/// them. `name_of` says what people call an agent. Nothing in it steers a terminal but its own colours.
#[must_use]
pub fn objections<'a>(shown: &'a Shown, name_of: impl Fn(&'a AgentId) -> &'a str, layout: Layout) -> String {
    let mut page = Page { text: String::new(), layout };
    let ledger = &shown.ledger;
    page.paragraph(0, "", &Counts::of(&ledger.objections).sentences());
    if shown.is_derived {
        let note = "This debate was recorded before points and answers were. What follows was read out of its texts just \
                    now, as far as they allow; nothing of it is saved.";
        page.paragraph(0, "", note);
    }
    let mut targets: Vec<&AgentId> = Vec::new();
    for one in &ledger.objections {
        if !targets.contains(&&one.target_id) {
            targets.push(&one.target_id);
        }
    }
    for target in targets {
        let against = || ledger.in_order().into_iter().filter(move |one| one.target_id == *target);
        let counts = Counts::of(against());
        let open = counts.all_open();
        let points = counted(counts.all as u64, "point");
        page.blank();
        page.heading(&format!("Against {}: {points}, {open} open", one_line(name_of(target))));
        for one in against() {
            page.blank();
            page.point(one, name_of(&one.critic_id), name_of(target));
        }
    }
    if !ledger.moves.is_empty() {
        page.blank();
        page.heading("Who moved, and why");
        for one in &ledger.moves {
            page.moved(one, name_of(&one.agent_id));
        }
    }
    page.text
}

/// A text as it grows.
struct Page {
    text: String,
    layout: Layout,
}

impl Page {
    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn styled(&self, style: Style, text: &str) -> String {
        if self.layout.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    fn heading(&mut self, text: &str) {
        for line in broken(text, self.room(0)) {
            let line = self.styled(Style::new().bold(), &line);
            let _ = writeln!(self.text, "{line}");
        }
    }

    fn point(&mut self, one: &Objection, critic: &str, author: &str) {
        let severity = one.point.severity;
        let style = match severity {
            Severity::Blocking => AnsiColor::Red.on_default().bold(),
            Severity::Major => AnsiColor::Yellow.on_default(),
            Severity::Minor => Style::new(),
        };
        let state = if one.open { "open" } else { "settled" };
        let rest = format!("{state} · {} · {}", one_line(critic), one_line(&one.id.to_string()));
        // The severity is no longer than the shortest line.
        let mut lines = broken(&format!("{} · {rest}", severity.name()), self.room(INDENT)).into_iter();
        if let Some(first) = lines.next() {
            let first = first.strip_prefix(severity.name()).unwrap_or(&first);
            let severity = self.styled(style, severity.name());
            let _ = writeln!(self.text, "{:INDENT$}{severity}{first}", "");
        }
        for line in lines {
            let _ = writeln!(self.text, "{:INDENT$}{line}", "");
        }
        self.paragraph(2 * INDENT, "", &one.point.in_words());
        if let Some(resolution) = &one.point.resolution {
            self.paragraph(2 * INDENT, "Resolved by: ", resolution);
        }
        self.said(&format!("{}, {}", one_line(author), one.answer_in_words()), one.reason.as_deref());
        match one.critic {
            Some(_) => self.said(&format!("Critics, {}", one.recheck_in_words()), one.critic_reason.as_deref()),
            None => self.paragraph(2 * INDENT, "", "Never rechecked."),
        }
        if let Some(ruling) = &one.ruling {
            self.ruled(one, ruling);
        }
    }

    /// What somebody said of a point, with the reason where there is one.
    fn said(&mut self, what: &str, reason: Option<&str>) {
        match reason.filter(|reason| !reason.trim().is_empty()) {
            Some(reason) => self.paragraph(2 * INDENT, &format!("{what}: "), reason),
            None => self.paragraph(2 * INDENT, "", &format!("{what}.")),
        }
    }

    fn ruled(&mut self, one: &Objection, ruling: &Ruling) {
        let section = one_line(ruling.place());
        let met = if section.is_empty() { String::new() } else { format!(" in {section}") };
        self.said(&format!("Judge, {}{met}", one.ruling_in_words().unwrap_or_default()), Some(&ruling.reason));
    }

    fn moved(&mut self, one: &Move, agent: &str) {
        let change = one.change.map(|change| format!(" (+{} −{} lines)", change.added, change.removed));
        self.paragraph(INDENT, "", &format!("Round {}, {}{}", one.round, one_line(agent), change.unwrap_or_default()));
        let answers = [
            ("Accepted: ", &one.accepted),
            ("Accepted in part: ", &one.partly),
            ("Rejected: ", &one.rejected),
            ("Unanswered: ", &one.unanswered),
        ];
        for (what, points) in answers.into_iter().filter(|(_, points)| !points.is_empty()) {
            self.paragraph(2 * INDENT, what, &listed(points));
        }
    }

    /// Text behind a label, its own lines kept, each broken between words. What follows the first is set in.
    fn paragraph(&mut self, indent: usize, label: &str, text: &str) {
        let clean = sanitize(text);
        let mut is_first = true;
        for line in clean.trim().lines() {
            let line = line.trim_end();
            let own = line.len() - line.trim_start().len();
            let line = if is_first { format!("{label}{}", line.trim_start()) } else { line.trim_start().to_owned() };
            let behind = if label.is_empty() || is_first { 0 } else { INDENT };
            let mut at = indent + behind + own.min(8);
            for piece in broken(&line, self.room(at)) {
                let piece = if piece.is_empty() { String::new() } else { format!("{:at$}{piece}", "") };
                let _ = writeln!(self.text, "{piece}");
                if is_first && !label.is_empty() {
                    at = indent + INDENT;
                }
                is_first = false;
            }
        }
    }

    /// Columns that are left behind an indentation.
    fn room(&self, indent: usize) -> usize {
        // Room for what follows the first line of a paragraph, which is set in further.
        self.layout.width.map_or(usize::MAX, |width| width.max(NARROWEST).saturating_sub(indent + INDENT))
    }
}

fn listed(points: &[PointId]) -> String {
    points.iter().map(|id| one_line(&id.to_string())).collect::<Vec<_>>().join(", ")
}

/// A line broken between words, and within those that are longer than a line.
fn broken(line: &str, room: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut now = String::new();
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        let (width, used) = (measure_text_width(word), measure_text_width(&now));
        if !now.is_empty() && used + 1 + width > room {
            lines.push(std::mem::take(&mut now));
        } else if !now.is_empty() {
            now.push(' ');
        }
        if width <= room {
            now.push_str(word);
            continue;
        }
        for c in word.chars() {
            let mut longer = now.clone();
            longer.push(c);
            if measure_text_width(&longer) > room && !now.is_empty() {
                lines.push(std::mem::take(&mut now));
            }
            now.push(c);
        }
    }
    lines.push(now);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_record::debate::fixture::argued;
    use dialectic_record::debate::{Debate, Ledger};

    fn shown(debate: &Debate, width: Option<usize>) -> String {
        objections(&Ledger::shown(debate), AgentId::as_str, Layout { width, color: false })
    }

    #[test]
    fn every_point_is_told_with_what_became_of_it() {
        insta::assert_snapshot!(shown(&argued(), Some(80)), @r"
        The critics raised 8 points: 3 accepted, 1 accepted in part, 2 rejected, 2
        unanswered. At the end 5 are open: 1 blocking, 2 major, 2 minor. 1 was
        accepted without a word on what was changed. 5 were never rechecked: no critic
        spoke of them again. Of those that the judge had to rule on, 1 was upheld and
        met by the solution, 2 were upheld and not met.

        Against agent-kiss: 2 points, 0 open

          major · settled · agent-architect · r1/agent-architect/agent-kiss/1
            Restart: Counters are gone after a restart.
            Resolved by: Write them to disk once a second.
            agent-kiss, accepted: They are written every second.
            Never rechecked.

          minor · settled · agent-architect · r1/agent-architect/agent-kiss/2
            The header has no name.
            agent-kiss, rejected: It needs none.
            Critics, withdrawn: True.

        Against agent-architect: 6 points, 5 open

          blocking · open · agent-kiss · r1/agent-kiss/agent-architect/1
            Failover: A write that is in flight while the **leader** changes is lost.
            Resolved by: Acknowledge it from the new leader.
            agent-architect, rejected: All of ours do.
            Critics, maintained: Not every client does.
            Judge, upheld, not met: A client may be gone.

          major · open · agent-kiss · r1/agent-kiss/agent-architect/3
            Nobody knows what a lease costs.
            agent-architect, accepted in part: Measured for reads only.
            Never rechecked.
            Judge, upheld, met in Cost: Reads are most of it.

          major · open · agent-kiss · r2/agent-kiss/agent-architect/1
            Operation: Who is called at night?
            agent-architect, unanswered.
            Never rechecked.
            Judge, no ruling, so upheld and not met.

          minor · open · agent-kiss · r1/agent-kiss/agent-architect/4
            Names: A bucket is a window elsewhere.
            agent-architect, accepted, no change named.
            Never rechecked.

          minor · open · agent-kiss · r1/agent-kiss/agent-architect/5
            The table has no index.
            agent-architect, unanswered.
            Never rechecked.

          major · settled · agent-kiss · r1/agent-kiss/agent-architect/2
            Operation: Three stores are two too many.
            Resolved by: Begin with one.
            agent-architect, accepted: One store is left.
            Critics, withdrawn.

        Who moved, and why
          Round 1, agent-architect (+12 −3 lines)
            Accepted: r1/agent-kiss/agent-architect/2, r1/agent-kiss/agent-architect/4
            Accepted in part: r1/agent-kiss/agent-architect/3
            Rejected: r1/agent-kiss/agent-architect/1
            Unanswered: r1/agent-kiss/agent-architect/5
          Round 1, agent-kiss (+1 −0 lines)
            Accepted: r1/agent-architect/agent-kiss/1
            Rejected: r1/agent-architect/agent-kiss/2
          Round 2, agent-architect (+0 −2 lines)
            Rejected: r1/agent-kiss/agent-architect/1
            Unanswered: r1/agent-kiss/agent-architect/3,
              r1/agent-kiss/agent-architect/4, r1/agent-kiss/agent-architect/5,
              r2/agent-kiss/agent-architect/1
        ");
    }

    #[test]
    fn the_example_of_the_documentation_is_what_is_printed() {
        let debate = argued();
        let view = crate::report::View::new(&debate, &[], None);
        let layout = Layout { width: Some(80), color: false };
        let printed = objections(&Ledger::shown(&debate), |agent| view.name_of(agent), layout);
        let document = include_str!("../../../../docs/ledger.md");
        let example = document.split("## An example").nth(1).and_then(|after| after.split("```").nth(1)).unwrap();
        let example = example.strip_prefix("text\n").unwrap();
        for part in example.split("\n…\n") {
            assert!(!part.trim().is_empty() && printed.contains(part.trim_end()), "{part} is not in\n{printed}");
        }
    }

    #[test]
    fn lines_fit_any_terminal_and_nothing_is_lost() {
        let mut debate = argued();
        debate.problem = "p".into();
        let readings = debate.rounds.iter_mut().flat_map(|round| &mut round.contributions);
        let points = readings.filter_map(|one| std::sync::Arc::make_mut(one).reading.as_mut()?.points.as_mut());
        for (place, point) in points.flatten().enumerate() {
            point.text =
                format!("東京 {}\n\n    let x = {place};\n- a list", "averylongwordthatmustbebroken".repeat(5));
        }
        let whole = shown(&debate, None);
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        for width in [30, 50, 80, 120, 200] {
            let text = shown(&debate, Some(width));
            assert!(text.lines().all(|line| measure_text_width(line) <= width && line == line.trim_end()), "{text}");
            assert_eq!(letters(&text), letters(&whole), "at {width}");
        }
        // Narrower than anybody's terminal it may be wider, but it does not fall to pieces.
        assert_eq!(shown(&debate, Some(1)), shown(&debate, Some(30)));
    }

    #[test]
    fn colours_are_all_that_steers() {
        let mut debate = argued();
        for one in debate.rounds.iter_mut().flat_map(|round| &mut round.contributions) {
            let Some(reading) = &mut std::sync::Arc::make_mut(one).reading else { continue };
            let points = reading.points.iter_mut().flatten();
            points.for_each(|point| point.text = "a\u{1b}[2J\u{9b}31m\u{202e}b".to_owned());
            reading.answers.iter_mut().for_each(|reply| reply.reason = Some("\u{1b}]0;x\u{7}".to_owned()));
        }
        let ledger = Ledger::shown(&debate);
        let colored = objections(&ledger, AgentId::as_str, Layout { width: Some(80), color: true });
        let plain = objections(&ledger, AgentId::as_str, Layout { width: Some(80), color: false });
        assert!(colored.contains("\u{1b}[1m") && !plain.contains('\u{1b}'), "{plain:?}");
        assert_eq!(anstream::adapter::strip_str(&colored).to_string(), plain);
        assert!(plain.contains("a[2J31m\u{fffd}b"), "{plain}");
    }
}
