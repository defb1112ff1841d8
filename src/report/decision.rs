//! The decision record: what was decided and why, as Markdown that an engineer commits, in the form of MADR.
//!
//! The solution stands in it as it is, not in a fence. So its headings are moved below those of the record, and markup
//! in it becomes text: whatever a model wrote, the record's own parts stay what they are.

use std::fmt::Write as _;
use std::io;

use comrak::nodes::{NodeCodeBlock, NodeValue};
use comrak::{Arena, Options, format_commonmark, parse_document};

use crate::debate::{Answered, Debate, Decision, Ledger, Objection, Yield, major_requirements};
use crate::figures::{counted, named_cost, score};
use crate::markdown::{fenced, heading, inline, truncate};

use super::View;

/// What the judge's assessment begins with, behind the solution's own text; its lists have places of their own here.
const ASSESSMENT: &str = "\n\n---\n\n## Judge Assessment";
/// Texts above this many bytes are shown as they were written: Markdown of that size can nest deep.
const RENDERED_BYTES: usize = 128 * 1024;
/// Characters of an option's first sentence.
const SKETCH: usize = 200;
/// The level of the highest headings of a text within the record: below that of the record's parts.
const TOP: u8 = 3;

/// Writes the decision record of a debate to `out`.
///
/// # Errors
/// When `out` cannot be written.
pub fn decision_record(view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let debate = view.debate;
    let first_line = debate.problem.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let title = first_line.trim().trim_start_matches('#').trim();
    // A debate proposes; to accept is its reader's.
    writeln!(out, "---\nstatus: proposed")?;
    if let Some(at) = debate.updated_at {
        writeln!(out, "date: {}", at.utc().format("%Y-%m-%d"))?;
    }
    writeln!(out, "---\n\n# {}\n", heading(title))?;
    writeln!(out, "## Context and Problem Statement\n\n{}\n", below(&debate.problem))?;
    list(out, "Decision Drivers", major_requirements(&debate.problem).iter().map(|line| inline(line).into_owned()))?;
    list(out, "Considered Options", options(view).into_iter())?;
    let solution = debate.final_solution.as_ref();
    let text = solution.map(|solution| solution.description.as_str()).unwrap_or_default();
    let text = text.rsplit_once(ASSESSMENT).map_or(text, |(text, _)| text);
    let decision = if text.trim().is_empty() { "Nothing is decided yet.".to_owned() } else { below(text) };
    writeln!(out, "## Decision Outcome\n\n{decision}\n")?;
    if let Some(solution) = solution {
        let items = |texts: &[String]| texts.iter().map(|text| inline(text).into_owned()).collect::<Vec<_>>();
        let unmet = solution.unfulfilled_major_requirements.iter();
        let unmet = unmet.map(|one| format!("Not fulfilled: {}", inline(one)));
        list(out, "Consequences", items(&solution.tradeoffs).into_iter().chain(unmet))?;
        list(out, "Next Steps", items(&solution.recommendations).into_iter())?;
        list(out, "Open Questions", items(&solution.open_questions).into_iter())?;
    }
    let ledger = Ledger::shown(debate).ledger;
    list(out, "Rejected Objections", ledger.objections.iter().filter_map(|one| rejected(view, one)))?;
    appendix(view, out)
}

fn list(out: &mut dyn io::Write, title: &str, items: impl Iterator<Item = String>) -> io::Result<()> {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "## {title}\n")?;
    for item in items {
        writeln!(out, "- {}", item.replace('\n', " "))?;
    }
    writeln!(out)
}

/// What each agent proposed first.
fn options(view: &View<'_>) -> Vec<String> {
    let debate: &Debate = view.debate;
    let texts = || debate.rounds.iter().flat_map(|round| &round.contributions);
    let option = |agent: &super::Participant| {
        let first = texts().find(|one| one.agent_id == agent.id && debate.yield_of(one) == Some(Yield::Proposal))?;
        let (name, role) = (inline(&agent.name), inline(&agent.role));
        Some(format!("{name} ({role}): {}", inline(&sketch(&first.content))))
    };
    view.agents.iter().filter_map(option).collect()
}

/// The first sentence that is no heading.
fn sketch(text: &str) -> String {
    let prose = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with(['#', '`', '|']));
    let prose = prose.unwrap_or_default().trim_start_matches(['-', '*', '>', ' ']).replace("**", "");
    let end = prose.find(". ").map_or(prose.len(), |end| end + 1);
    let sentence = truncate(&prose[..end], SKETCH);
    if sentence.len() < end { format!("{sentence}…") } else { sentence.to_owned() }
}

/// An objection that was not followed, and why: rejected by the author, or dismissed by the judge.
fn rejected(view: &View<'_>, one: &Objection) -> Option<String> {
    let ruling = one.ruling.as_ref().filter(|ruling| ruling.decision == Decision::Dismissed);
    if one.answer != Answered::Rejected && ruling.is_none() {
        return None;
    }
    let (critic, severity) = (inline(view.name_of(&one.critic_id)), one.point.severity.name());
    let mut item = format!("{} ({severity}, raised by {critic})", inline(&one.point.in_words()));
    if one.answer == Answered::Rejected {
        let author = inline(view.name_of(&one.target_id));
        let why = one.reason.as_deref().map_or_else(|| "no reason given".to_owned(), |why| inline(why).into_owned());
        // Writing to a String cannot fail.
        let _ = write!(item, " - rejected by {author}: {why}");
    }
    if let Some(ruling) = ruling {
        let _ = write!(item, " - dismissed by the judge: {}", inline(&ruling.reason));
    } else if one.is_upheld_and_unmet() {
        item.push_str(" - upheld by the judge all the same, and not met");
    } else if let Some(ruling) = &one.ruling {
        let _ = write!(item, " - upheld by the judge all the same, met in {}", inline(&ruling.handled_in));
    }
    Some(item)
}

/// Where the record comes from, folded away.
fn appendix(view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let debate = view.debate;
    writeln!(out, "<details>\n<summary>The debate behind it</summary>\n")?;
    writeln!(out, "- Debate: {}", inline(debate.id.as_str()))?;
    let rounds = counted(debate.rounds.len() as u64, "round");
    let usage = debate.total_usage();
    writeln!(out, "- {rounds}, {}, {}", counted(usage.requests, "call"), named_cost(usage.cost_usd))?;
    if let Some(outcome) = &debate.outcome {
        writeln!(out, "- Outcome: {}", outcome.kind.name())?;
        for reason in &outcome.reasons {
            writeln!(out, "  - {}", inline(reason))?;
        }
    }
    if let Some(confidence) = debate.final_solution.as_ref().and_then(|solution| solution.confidence) {
        writeln!(out, "- Confidence of the judge: {} of 100", score(confidence))?;
    }
    for one in view.agents.iter().chain([&view.judge]) {
        writeln!(out, "- {} ({}): {}", inline(&one.name), inline(&one.role), inline(&one.model))?;
    }
    writeln!(out, "\n</details>")
}

/// Markdown whose headings stand below those of the record, and whose markup is text.
fn below(text: &str) -> String {
    if text.len() > RENDERED_BYTES {
        return fenced("text", text);
    }
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    let arena = Arena::new();
    let root = parse_document(&arena, text, &options);
    let levels = root.descendants().filter_map(|node| match &node.data.borrow().value {
        NodeValue::Heading(heading) => Some(heading.level),
        _ => None,
    });
    let highest = levels.min().unwrap_or(TOP);
    for node in root.descendants() {
        let mut data = node.data.borrow_mut();
        match &mut data.value {
            NodeValue::Heading(heading) => heading.level = (heading.level - highest + TOP).min(6),
            NodeValue::HtmlInline(markup) => data.value = NodeValue::Text(std::mem::take(markup).into()),
            NodeValue::HtmlBlock(block) => {
                let literal = std::mem::take(&mut block.literal);
                let code = NodeCodeBlock { fenced: true, fence_char: b'`', literal, ..NodeCodeBlock::default() };
                data.value = NodeValue::CodeBlock(Box::new(code));
            }
            _ => {}
        }
    }
    let mut written = String::new();
    // Writing to a String cannot fail.
    let _ = format_commonmark(root, &options, &mut written);
    written.trim_end().to_owned()
}
