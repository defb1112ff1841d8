//! The decision record: a decision and its reasons as Markdown in the MADR format, for version control.
//!
//! The solution is included directly rather than fenced. Its headings are moved below the record's and its HTML becomes
//! text, so that a model cannot change other parts of the record.

use std::borrow::Cow;
use std::io;

use dialectic_base::figures::{self, counted, named_cost};
use dialectic_base::markdown::{heading, inline};
use dialectic_base::problem::NO_ANSWER;
use dialectic_base::sanitize::one_line;
use dialectic_record::ids::{AgentId, ResultKind};
use dialectic_record::points::{Ledger, Point, PointStatus, Response};
use dialectic_record::settings::AgentSettings;

use super::block::Block;
use super::html::{hash, title as title_of};
use super::markdown::for_readers;
use super::overview::won;
use super::prose::{below, gist, leads, plain, requirements, titled};
use super::stages::{capitalized, said_in};
use super::{View, subject};

/// The maximum length of an option's sketch, in characters.
const SKETCH: usize = 300;
const LEADS: usize = 5;
/// The maximum length of an untitled text's name, in characters.
const NAME: usize = 100;
/// The start of the last line, which contains the hash of the lines above.
const SEAL: &str = "<!-- Written by dialectic, which does not overwrite this file once it is edited. ";

/// Writes the decision record of a debate to `out`, with a hash that shows whether the file was edited later. A
/// comparison with a new record would not show this, because records of the same debate may differ.
///
/// # Errors
///
/// Returns an error if writing to `out` fails.
pub(super) fn decision_record(view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let mut record = Vec::new();
    write(view, &mut record)?;
    out.write_all(&record)?;
    writeln!(out, "\n{SEAL}{} -->", seal(&String::from_utf8_lossy(&record)))
}

/// Whether a text is what [`decision_record`] wrote, except for line endings.
pub(super) fn is_unedited(text: &str) -> bool {
    let Some((record, end)) = text.rsplit_once(SEAL) else { return false };
    end.trim_end() == format!("{} -->", seal(record))
}

/// Hashes a record. Ignores line endings, because git may convert them.
fn seal(record: &str) -> String {
    hash(&record.trim_end().replace('\r', ""))
}

fn write(view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let debate = &view.debate.with_named_texts();
    let view = &view.on(debate);
    let ledger = Ledger::shown(debate);
    front_matter(view, out)?;
    writeln!(out, "# {}\n", heading(&title_of(view)))?;
    writeln!(out, "## Context and Problem Statement\n\n{}\n", context(view))?;
    clarifications(view, out)?;
    list(out, "## Decision Drivers", requirements(&debate.problem).iter().map(|line| inline(line).into()))?;
    let options = options(view);
    let (decision, own) = decision(view, &options);
    let own = own
        .filter(|_| !options.is_empty())
        .map(|title| format!("**{}** Proposed by the judge.", inline(&sentence(&title))));
    let options = options.into_iter().map(|option| option.sketch);
    list(out, "## Considered Options", options.chain(own))?;
    writeln!(out, "## Decision Outcome\n\n{decision}\n")?;
    if let Some(solution) = &debate.final_solution {
        let items = |texts: &[String]| texts.iter().map(|text| inline(&plain(text)).into_owned()).collect::<Vec<_>>();
        let unmet = solution.unfulfilled_major_requirements.iter();
        let unmet = unmet.map(|one| format!("Not fulfilled: {}", inline(&plain(one))));
        let partly =
            items(&subject::partly_fulfilled(solution)).into_iter().map(|one| format!("Partly fulfilled: {one}"));
        list(out, "### Consequences", items(&solution.tradeoffs).into_iter().chain(unmet).chain(partly))?;
        list(out, "## Next Steps", items(&solution.recommendations).into_iter())?;
        list(out, "## Open Questions", items(&solution.open_questions).into_iter())?;
        let unverified = solution.unverified.iter().map(|text| with_points(text, &ledger));
        let open = debate.open_points(&ledger);
        list(out, "## Open Points", subject::alike(&open).iter().map(|points| open_point(points)).chain(unverified))?;
    }
    list(out, "## Rejected Objections", rejected(view, &ledger).into_iter())?;
    appendix(view, &ledger, out)
}

/// MADR's front matter as YAML. Values are quoted, so that they cannot add keys.
fn front_matter(view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let quoted = |one: &AgentSettings| {
        let model = if view.debate.is_offline() { "no model" } else { one.model.as_str() };
        serde_json::to_string(&one_line(&format!("{} ({model})", one.name))).unwrap_or_default()
    };
    // A debate only proposes a decision; people accept it.
    writeln!(out, "---\nstatus: proposed")?;
    if let Some(at) = view.debate.updated_at {
        writeln!(out, "date: {}", at.utc().format("%Y-%m-%d"))?;
    }
    writeln!(out, "decision-makers: [{}]", quoted(&view.judge))?;
    writeln!(out, "consulted: [{}]", view.agents.iter().map(quoted).collect::<Vec<_>>().join(", "))?;
    writeln!(out, "---\n")
}

fn context(view: &View<'_>) -> String {
    let problem = Some(view.problem_below_title()).filter(|rest| !rest.trim().is_empty());
    let problem = below(problem.unwrap_or(&view.debate.problem));
    let context = view.debate.context.as_deref().filter(|context| !context.trim().is_empty());
    context.map_or_else(|| problem.clone(), |context| format!("{problem}\n\n{}", below(context)))
}

fn clarifications(view: &View<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let asked = view.debate.clarifications.iter().flatten().flat_map(|group| &group.items);
    let answered = asked.filter(|item| !item.answer.trim().is_empty() && item.answer != NO_ANSWER);
    let items = answered.map(|item| {
        let [question, answer] = [&item.question, &item.answer].map(|text| plain(text));
        format!("{} {}", inline(&question), inline(&answer))
    });
    list(out, "### Clarifications", items)
}

fn list(out: &mut dyn io::Write, title: &str, items: impl Iterator<Item = String>) -> io::Result<()> {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "{title}\n")?;
    for item in items {
        writeln!(out, "- {}", item.trim_end())?;
    }
    writeln!(out)
}

struct Choice<'v> {
    author: &'v AgentId,
    title: String,
    /// The title, the first sentences and the names of the parts, if there are any.
    sketch: String,
}

/// Each agent's final position in its own words; in a debate on a motion, the case of each side.
fn options<'v>(view: &'v View<'_>) -> Vec<Choice<'v>> {
    let debate = view.debate;
    let texts = || debate.rounds.iter().flat_map(|round| &round.contributions);
    let of = |agent: &AgentSettings, yields| {
        texts().filter(|one| one.agent_id == agent.id && debate.yield_of(one) == Some(yields)).collect::<Vec<_>>()
    };
    let option = |agent: &'v AgentSettings| {
        let (proposals, speeches) = (of(agent, ResultKind::Proposal), of(agent, ResultKind::Speech));
        // A speech with an addressee is a question or an answer, not the speaker's case.
        let case = speeches.iter().find(|one| one.target_agent_id.is_none());
        // A later proposal replaces an earlier one; the first speech states the case.
        let text = proposals.last().or(case)?.without_answers();
        let (title, text) = titled(&text);
        let side = view.side_of(&agent.id).filter(|_| view.has_sides()).map(|side| capitalized(side.name()));
        let gist = gist(text, SKETCH);
        let leads: Vec<String> = leads(text, LEADS).iter().map(|lead| inline(lead).into_owned()).collect();
        let parts = if leads.len() > 1 { format!(" It begins with: {}.", leads.join("; ")) } else { String::new() };
        let sketch = format!("{}{parts}", inline(&gist));
        Some(match side.or(title) {
            Some(title) => {
                let sketch = format!("**{}** {sketch}", inline(&sentence(&title)));
                Choice { author: &agent.id, title, sketch }
            }
            None => Choice { author: &agent.id, title: name_of(text), sketch },
        })
    };
    view.agents.iter().filter_map(option).collect()
}

fn name_of(text: &str) -> String {
    gist(text, NAME)
}

/// Returns the section's text and, if the judge's own option was chosen, the title of that option.
fn decision(view: &View<'_>, options: &[Choice<'_>]) -> (String, Option<String>) {
    let debate = view.debate;
    let Some(solution) = &debate.final_solution else { return ("Nothing has been decided yet.".to_owned(), None) };
    let winner = debate.winner().map(|winner| winner.agent_id);
    let base = winner.or(solution.base.as_ref());
    let option = options.iter().find(|option| Some(option.author) == base);
    let (title, text) = titled(solution.without_assessment());
    let title = || title.or_else(|| solution.title.clone()).unwrap_or_else(|| name_of(text));
    let own = option.is_none().then(title).filter(|title| !title.is_empty());
    let why = match won(view).filter(|_| winner.is_some()) {
        Some(won) => format!("it won: {}", won.trim_end_matches('.')),
        None if own.is_none() && options.len() < 2 => "it was the only option proposed".to_owned(),
        None => "the judge considers it the best in light of the objections".to_owned(),
    };
    let state = match debate.answer_state() {
        Some(state) if !state.is_clean() => format!(", although it leaves {}", inline(&state.to_string())),
        Some(state) if winner.is_none() => format!(": {}", inline(&state.to_string())),
        Some(_) | None => String::new(),
    };
    let name = option.map(|option| option.title.clone()).or_else(|| own.clone()).unwrap_or_else(|| title_of(view));
    let chosen = format!("Chosen option: “{}”, because {why}{state}.", inline(name.trim_end_matches('.')));
    (format!("{chosen}\n\n{}", below(text)), own)
}

/// Describes open points that have the same text, with what remains of them.
fn open_point(points: &[&Point]) -> String {
    let ruling = points.first().and_then(|one| one.ruling());
    let remains = ruling.map(|ruling| ruling.remains.trim()).filter(|remains| !remains.is_empty());
    let remains = remains.map(|remains| format!(" What remains: {}", inline(&sentence(remains)))).unwrap_or_default();
    format!("{}{remains}", named(points))
}

/// Describes points with the same text: `2.1 and 2.3 (major): A write is lost.`
fn named(points: &[&Point]) -> String {
    let Some(one) = points.first() else { return String::new() };
    let numbers = figures::list(&points.iter().map(|one| one.number()).collect::<Vec<_>>());
    format!("{numbers} ({}): {}", one.point.severity.name(), inline(&sentence(&one.point.in_words())))
}

/// Returns `text` on one line, followed by a list of the points that it mentions by number.
fn with_points(text: &str, ledger: &Ledger) -> String {
    let is_named = |one: &&Point| text.split([' ', ',']).any(|word| word.trim_end_matches('.') == one.number());
    let points = ledger.objections.iter().filter(is_named).map(|one| format!("\n  - {}", named(&[one])));
    format!("{}{}", inline(&plain(text)), points.collect::<String>())
}

/// Describes the rejected objections. Merges objections with the same critic, text and reasons.
fn rejected(view: &View<'_>, ledger: &Ledger) -> Vec<String> {
    let mut items: Vec<(String, Vec<String>, String)> = Vec::new();
    for one in ledger.in_order() {
        let Some((point, fate)) = rejection(view, one) else { continue };
        let author = inline(view.name_of(&one.target_id)).into_owned();
        match items.iter_mut().find(|(known, _, how)| (known, how) == (&point, &fate)) {
            Some((_, authors, _)) => authors.push(author),
            None => items.push((point, vec![author], fate)),
        }
    }
    let written = |(point, authors, fate): (String, Vec<String>, String)| {
        format!("{point} against {}. {fate}", authors.join(" and "))
    };
    items.into_iter().map(written).collect()
}

/// The objection and the reasons for rejecting it; `None` if it was not rejected.
fn rejection(view: &View<'_>, one: &Point) -> Option<(String, String)> {
    if one.status() != PointStatus::Rejected {
        return None;
    }
    let (critic, severity) = (inline(view.name_of(&one.critic_id)), one.point.severity.name());
    let point = format!("{} Raised by {critic} ({severity})", inline(&sentence(&one.point.in_words())));
    let by_author = one.answer().filter(|_| one.response() == Some(Response::Rejected));
    let ruling = one.ruling().map(|ruling| ruling.reason.trim());
    let is_shared = by_author.is_some_and(|answer| answer.reason().is_some() && answer.reason() == ruling);
    let who = if is_shared { " by the text's author and the judge" } else { "" };
    let by_author = by_author.map(|answer| match answer.reason().map(sentence) {
        Some(why) => format!("Rejected{who}: {}", inline(&why)),
        None => "Rejected, without a reason.".to_owned(),
    });
    let ruling = ruling.filter(|_| !is_shared);
    let by_judge = ruling.map(|reason| format!("Rejected by the judge: {}", inline(&sentence(reason))));
    let fates: Vec<String> = by_author.into_iter().chain(by_judge).collect();
    Some((point, if fates.is_empty() { "Its critic withdrew it.".to_owned() } else { fates.join(" ") }))
}

fn sentence(text: &str) -> String {
    let text = plain(text);
    let is_ended = text.ends_with(['.', '!', '?', '…', '。']);
    if is_ended || text.is_empty() { text } else { format!("{text}.") }
}

fn appendix(view: &View<'_>, ledger: &Ledger, out: &mut dyn io::Write) -> io::Result<()> {
    let debate = view.debate;
    writeln!(out, "## More Information\n\n<details>\n<summary>The debate behind this record</summary>\n")?;
    writeln!(out, "- Debate: {}", inline(debate.id.as_str()))?;
    let rounds = counted(debate.rounds.len() as u64, "round");
    let usage = debate.total_usage();
    if debate.is_offline() {
        writeln!(out, "- {rounds}, {}. A rehearsal: no model was called.", counted(usage.requests, "call"))?;
    } else if debate.usage.is_empty() {
        // Debates from older versions have no usage.
        writeln!(out, "- {rounds}")?;
    } else {
        writeln!(
            out,
            "- {rounds}, {}, {}",
            counted(usage.requests, "call"),
            usage.cost_in_words(named_cost(usage.cost_usd))
        )?;
    }
    let course = [subject::ending(debate), subject::extent(debate)].concat();
    writeln!(out, "{}", for_readers(&[Block::List(course)], view).trim_end())?;
    if let Some(confidence) = subject::confidence(view) {
        writeln!(out, "- Confidence: {confidence}")?;
    }
    for round in &debate.rounds {
        let tally = ledger.tally(round.round_number).map(|tally| format!("; {tally}")).unwrap_or_default();
        writeln!(out, "- Round {}: {}{tally}", round.round_number, said_in(debate, round))?;
    }
    for one in view.agents.iter().chain([&view.judge]) {
        let model = if debate.is_offline() { Cow::Borrowed("no model") } else { inline(&one.model) };
        writeln!(out, "- {} ({}): {model}", inline(&one.name), inline(&one.role))?;
    }
    writeln!(out, "\n</details>")
}
