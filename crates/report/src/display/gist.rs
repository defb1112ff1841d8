//! The three lines after a debate: the answer, the strongest objection, and the next commands.

use std::sync::Arc;

use console::measure_text_width;

use dialectic_base::figures::counted;
use dialectic_base::provider::HOST;
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::{Contribution, Debate, Ledger, Point, ResultKind};

use crate::report::{View, subject};

use super::told::{first_sentence, inner_quotes, rows};

/// The maximum characters of a title, a sentence and an objection.
const TITLE: usize = 80;
const SENTENCE: usize = 160;

/// The three lines, wrapped to `columns` if set. `name` is the debate's short name.
pub fn gist(debate: &Debate, name: &str, columns: Option<usize>) -> String {
    format!("{}\n{}", essence(debate, columns), next(debate, &one_line(name), columns))
}

/// The first two of the three lines.
pub fn essence(debate: &Debate, columns: Option<usize>) -> String {
    let debate = &debate.with_named_texts();
    let broken = |line: String| columns.map_or_else(|| line.clone(), |columns| rows("", &line, columns).join("\n"));
    // The findings of a review are its answer, and a rehearsal has no objections.
    let objection =
        (debate.change.is_none() && was_criticised(debate) && !debate.is_offline()).then(|| objection(debate));
    let lines = [Some(answer(debate)), objection].into_iter().flatten();
    lines.map(broken).collect::<Vec<_>>().join("\n")
}

/// Whether the debate asked for objections.
fn was_criticised(debate: &Debate) -> bool {
    let is_critique = |(_, one): (u32, &Arc<Contribution>)| debate.yield_of(one) == Some(ResultKind::Critique);
    !debate.checks.is_empty() || debate.contributions().any(is_critique)
}

/// `A token bucket per key: Keep the counters in Redis.`
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

/// `Strongest open objection (2.3, blocking), Kiss on Architect: “A write is lost.”`; without an open one, the
/// strongest that changed the answer, and what it changed.
fn objection(debate: &Debate) -> String {
    let ledger = Ledger::shown(debate);
    let first = |groups: Vec<Vec<&Point>>| groups.first().and_then(|group| group.first().copied()).cloned();
    let open = first(subject::strongest_open(debate, &ledger));
    let followed = || first(subject::strongest_followed(&ledger));
    if let Some(one) = open {
        return format!("Strongest open objection {}", quoted(debate, &one));
    }
    if let Some(one) = followed() {
        let (section, changed) = subject::change(&one);
        let section = section.map(|section| format!(" ({})", one_line(section))).unwrap_or_default();
        let changed = changed.map(|text| cut(&first_sentence(text), SENTENCE)).filter(|text| !text.is_empty());
        let changed = changed.map(|text| format!(": “{}”", inner_quotes(&text))).unwrap_or_default();
        let what = Some(format!("{section}{changed}")).filter(|what| !what.is_empty());
        let what = what.map(|what| format!(" It changed{what}")).unwrap_or_default();
        return format!("Strongest objection that changed the answer {}{what}", quoted(debate, &one));
    }
    match ledger.objections.len() as u64 {
        0 => "No objection was raised, or none could be read.".to_owned(),
        rejected => {
            format!("No objection is open, and none changed the answer: {} rejected.", counted(rejected, "point"))
        }
    }
}

/// `(2.3, blocking), Kiss on Architect: “A write is lost.”`
fn quoted(debate: &Debate, one: &Point) -> String {
    let view = View::new(debate, None);
    let [critic, target] = [&one.critic_id, &one.target_id].map(|id| one_line(view.name_of(id)));
    let said = inner_quotes(&cut(&first_sentence(&one.point.in_words()), SENTENCE));
    format!("({}, {}), {critic} on {target}: “{said}”", one.number(), one.point.severity.name())
}

/// The next commands, not wrapped, so that they can be copied.
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

/// Cuts a text to this many characters, at a word.
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
    use super::*;
    use dialectic_record::debate::fixture::{argued, debate};

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
        // Nobody was asked for any.
        silent.rounds.clear();
        let said = gist(&silent, "vhkp", None);
        assert_eq!(said.lines().count(), 2, "{said}");
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
}
