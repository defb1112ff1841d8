//! The overview of a debate: its course, result and open points.

use std::fmt::Write as _;

use dialectic_base::figures::{counted, duration, named_cost, score};
use dialectic_base::markdown::{heading, inline, truncate};
use dialectic_record::answer::Winner;
use dialectic_record::debate::{Attachment, Debate, Round};
use dialectic_record::ids::AgentId;
use dialectic_record::points::{Ledger, Tally};

use super::prose::{below, brief};
use super::stages::said_in;
use super::{View, subject};

/// How many characters of the solution or the problem to show. The last paragraph may add up to half as many.
const BEGINNING: usize = 400;
const MOST: usize = 5;
/// How many characters of a hash to show.
const HASH: usize = 12;
/// The maximum length of an item, in characters.
const ITEM: usize = 300;

/// Writes the overview as Markdown. `name` is the debate's short name, used in commands.
pub fn overview(view: &View<'_>, name: &str) -> String {
    let debate = view.debate;
    let mut page = format!("# {}\n\n{}", heading(&debate.title()), facts(view));
    let ledger = Ledger::shown(debate);
    decided(&mut page, view);
    let open = debate.open_points(&ledger);
    let points = open.iter().map(|one| {
        let (critic, target) = (inline(view.name_of(&one.critic_id)), inline(view.name_of(&one.target_id)));
        let (number, severity) = (one.number(), one.point.severity.name());
        format!("{number} [{severity}] {critic} on {target}: {}", brief(&one.point.in_words(), ITEM))
    });
    list(&mut page, "Open points", points.collect());
    let rest = view.problem_below_title().trim();
    if !rest.is_empty() {
        section(&mut page, "The problem", &beginning(rest));
    }
    let attached = debate.attachments.iter().map(|Attachment { name, sha256, text, .. }| {
        let length = counted(text.chars().count() as u64, "character");
        format!("{}: {length}, SHA-256 {}", inline(name), inline(truncate(sha256, HASH)))
    });
    list(&mut page, "Attachments", attached.collect());
    let participants = view.by_number().into_iter().chain([&view.judge]).map(|one| {
        let role = if one.id == view.judge.id { "judge" } else { &one.role };
        let number = view.number_of(&one.id).map(|number| format!("{number}: ")).unwrap_or_default();
        format!("{number}{} ({}): {}", inline(&one.name), inline(role), inline(&one.model))
    });
    list(&mut page, "Participants", participants.collect());
    list(&mut page, "Course", debate.rounds.iter().map(|round| course(debate, round, &ledger)).collect());
    if let Some(outcome) = &debate.outcome {
        list(&mut page, "Missing", outcome.reasons.iter().map(|reason| inline(reason).into_owned()).collect());
    }
    let asked = debate.follow_ups.iter().map(|one| {
        let missing = if one.answer.is_none() { " (not answered)" } else { "" };
        format!("{}{missing}", inline(truncate(&one.question, ITEM)))
    });
    list(&mut page, "Follow-up questions", asked.collect());
    section(&mut page, "Read more", &read_on(debate, &inline(name), !ledger.objections.is_empty()));
    page
}

/// The state of the run and the answer, the judge's confidence, figures such as `deb-… · dialectic · 3 rounds · 38
/// calls · 43 s · $0.21`, and lines about a fork, a rating or an error.
fn facts(view: &View<'_>) -> String {
    let debate = view.debate;
    let usage = debate.total_usage();
    let parts = [
        Some(inline(debate.id.as_str()).into_owned()),
        debate.settings.as_ref().map(|settings| inline(&settings.debate.protocol).into_owned()),
        Some(counted(debate.rounds.len() as u64, "round")),
        (usage.requests > 0).then(|| counted(usage.requests, "call")),
        debate.took_ms().map(duration),
        if debate.is_offline() {
            Some("offline".to_owned())
        } else {
            (!debate.usage.is_empty()).then(|| usage.cost_in_words(named_cost(usage.cost_usd)))
        },
        subject::status(debate),
    ];
    let answer = debate.answer_state().map(|answer| format!("\n**Answer:** {}\n", inline(&answer.to_string())));
    let confidence = subject::confidence(view).map(|said| format!("\n**Confidence:** {}\n", inline(&said)));
    let figures = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    let mut facts = format!(
        "**Run:** {}\n{}{}\n{figures}\n",
        inline(&view.run_in_words()),
        answer.unwrap_or_default(),
        confidence.unwrap_or_default()
    );
    if let Some(parent) = &debate.forked_from {
        let _ = write!(facts, "\nForked from {} at {}\n", inline(parent.id.as_str()), parent.at);
    }
    if let Some(rating) = debate.user_feedback {
        let note = debate.user_feedback_note.as_ref().map(|note| format!(", “{}”", inline(note)));
        let _ = write!(facts, "\nRated {rating:+}{}\n", note.unwrap_or_default());
    }
    if let Some(error) = &debate.error {
        let _ = write!(facts, "\nFailed: {}\n", inline(error));
    }
    facts
}

/// Summarizes a round: `Round 1: 3 proposals, 6 critiques, 3 refinements; 12 points raised, 4 open at the end;
/// convergence 72`.
fn course(debate: &Debate, round: &Round, ledger: &Ledger) -> String {
    let mut parts = vec![said_in(debate, round)];
    let counts =
        Tally::of(ledger.objections.iter().filter(|one| one.draft.is_none() && one.round == round.round_number));
    if counts.all() > 0 {
        parts.push(format!("{} raised, {} open at the end", counted(counts.all() as u64, "point"), counts.all_open()));
    }
    if let Some(evaluation) = &round.evaluation {
        let reached = evaluation.score.map_or_else(|| "unreadable".to_owned(), score);
        parts.push(format!("{} {reached}", evaluation.kind.name()));
    }
    if round.timed_out {
        parts.push("reached its time limit".to_owned());
    }
    format!("Round {}: {}", round.round_number, parts.join("; "))
}

fn decided(page: &mut String, view: &View<'_>) {
    let debate = view.debate;
    if let Some(won) = won(view) {
        section(page, "Winner", &won);
    }
    let Some(solution) = &debate.final_solution else { return };
    section(page, "Beginning of the solution", &beginning(solution.without_assessment()));
    let items = |texts: &[String]| texts.iter().map(|text| brief(text, ITEM)).collect();
    list(page, "Trade-offs", items(&solution.tradeoffs));
    list(page, "Major requirements not fulfilled", items(&solution.unfulfilled_major_requirements));
    list(page, "Major requirements partly fulfilled", items(&subject::partly_fulfilled(solution)));
    list(page, "Open questions", items(&solution.open_questions));
    list(page, "Not verified", items(&solution.unverified));
}

/// The winner and the scores; `None` if there is neither a winner nor a verdict.
pub(super) fn won(view: &View<'_>) -> Option<String> {
    let debate = view.debate;
    let name = |id: &AgentId| inline(view.name_of(id)).into_owned();
    let scores = debate.last_verdict().map(|verdict| {
        let scores = verdict.scores.iter().map(|(id, points)| format!("{} {}", name(id), score(*points)));
        scores.collect::<Vec<_>>().join(", ")
    });
    let (winner, is_unstable) = (debate.winner(), debate.last_verdict().is_some_and(|one| one.stable == Some(false)));
    let said = match (winner, scores) {
        (Some(Winner { agent_id, vote: Some(voting), .. }), scores) => {
            let votes: Vec<String> = voting.tally.iter().map(|(id, votes)| format!("{} {votes}", name(id))).collect();
            let scores = scores.map(|scores| {
                let how = if is_unstable { ", with a different winner in the opposite order" } else { "" };
                format!(" The judge’s scores: {scores}{how}.")
            });
            format!("{}, by vote ({}).{}", name(agent_id), votes.join(", "), scores.unwrap_or_default())
        }
        (Some(Winner { agent_id, vote: None, .. }), Some(scores)) if is_unstable => {
            let how = "The verdict is unstable: the winner changed with the order in which the judge read the texts.";
            format!("{} ({scores}). {how}", name(agent_id))
        }
        (Some(Winner { agent_id, vote: None, .. }), scores) => {
            format!("{} ({})", name(agent_id), scores.unwrap_or_default())
        }
        (None, scores) => {
            let base = debate.final_solution.as_ref().and_then(|solution| solution.base.as_ref());
            let base = base.map(|id| format!(". The judge based the solution on {}'s text.", name(id)));
            format!("Nobody ({}){}", scores?, base.unwrap_or_default())
        }
    };
    Some(said)
}

fn read_on(debate: &Debate, name: &str, has_points: bool) -> String {
    let mut lines = Vec::new();
    let mut read = |what: &str| lines.push(format!("- `dialectic show {name} {what}`"));
    if debate.final_solution.is_some() {
        read("solution");
    }
    if let Some(round) = debate.rounds.last() {
        read(&format!("round {}", round.round_number));
    }
    if has_points {
        read("points");
        read("points --open");
    }
    lines.push(format!("- `dialectic report {name} -o report.html`"));
    lines.join("\n")
}

fn section(page: &mut String, title: &str, text: &str) {
    let _ = write!(page, "\n## {title}\n\n{}\n", text.trim());
}

fn list(page: &mut String, title: &str, items: Vec<String>) {
    if items.is_empty() {
        return;
    }
    let more = items.len().saturating_sub(MOST);
    let mut lines: Vec<String> = items.into_iter().take(MOST).map(|item| format!("- {item}")).collect();
    if more > 0 {
        lines.push(format!("- and {more} more"));
    }
    section(page, title, &lines.join("\n"));
}

fn beginning(text: &str) -> String {
    let mut taken = String::new();
    let mut paragraphs = text.trim().split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty());
    for paragraph in paragraphs.by_ref() {
        let room = BEGINNING.saturating_sub(taken.chars().count());
        if room == 0 {
            return below(&taken) + "\n\n…";
        }
        let cut = truncate(paragraph, room.max(BEGINNING / 2));
        if cut.len() < paragraph.len() {
            taken.push_str(cut.rsplit_once(char::is_whitespace).map_or(cut, |(words, _)| words.trim_end()));
            return below(&(taken + " …"));
        }
        taken.push_str(cut);
        taken.push_str("\n\n");
    }
    below(&taken)
}
