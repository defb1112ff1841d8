//! How the debate went: outcome, usage, scores, vote, polls, verdict, failures.

use dialectic_base::figures::{UNKNOWN, cost, duration, score, sum_of_tokens, thousands};
use dialectic_base::markdown::{cell, heading, inline, line};
use dialectic_record::debate::{CallKey, Debate, Decider, Failure, ModelUsage, Polls, Status, StopReason, Voting};

use super::super::View;
use super::super::stages::{self, capitalized};
use super::{Document, contest, id, verdict};

/// Nothing for the debates of older versions, which kept none of this.
pub(super) fn write(out: &mut Document<'_>, view: &View<'_>) {
    let debate = view.debate;
    let kept = debate.settings.is_some() || debate.outcome.is_some();
    if !kept && debate.failures.is_empty() && debate.usage.is_empty() {
        return;
    }
    out.line("## Run\n");
    ending(out, debate);
    extent(out, debate);
    out.line("");
    usage(out, debate);
    scores(out, debate);
    contest::write(out, debate);
    if let Some(voting) = &debate.voting {
        vote(out, debate, voting);
    }
    if let Some(polls) = Polls::of(debate) {
        verdict::polls(out, debate, &polls);
    }
    verdict::verdict(out, view);
    failures(out, &debate.failures);
    out.line("");
}

/// How it ended, or where it stands.
fn ending(out: &mut Document<'_>, debate: &Debate) {
    if debate.status != Status::Completed {
        out.line(format_args!("- Status: {}", debate.status.name()));
    }
    if let Some(error) = &debate.error {
        out.line("- Error:");
        item(out, error);
    }
    if let Some(outcome) = &debate.outcome {
        out.line(format_args!("- Outcome: {}", outcome.kind.name()));
        for reason in &outcome.reasons {
            item(out, reason);
        }
    }
    match debate.stop_reason {
        Some(StopReason::Budget) => out.line("- Stopped early by: the cost limit"),
        Some(StopReason::User) => out.line("- Stopped early by: the user"),
        None => {}
    }
}

fn item(out: &mut Document<'_>, text: &str) {
    out.line(format_args!("  - {}", line(text)));
}

/// How far it came and how long it took.
fn extent(out: &mut Document<'_>, debate: &Debate) {
    let rounds = thousands(debate.rounds.len() as u64);
    if let Some(parent) = &debate.forked_from {
        let at = parent.at.to_string();
        let (parent, at) = (inline(parent.id.as_str()), inline(&at));
        out.line(format_args!("- Forked from: {parent} at {at}; what came before was paid for there"));
    }
    match &debate.settings {
        Some(settings) => {
            out.line(format_args!("- Protocol: {}", inline(&settings.debate.protocol)));
            let most = thousands(settings.debate.rounds.into());
            // A protocol may go on behind the last round that was to be.
            match (debate.rounds.len() as u64).checked_sub(settings.debate.rounds.into()) {
                Some(more @ 1..) => {
                    out.line(format_args!("- Rounds: {rounds}, {more} more than the {most} that were set"));
                }
                Some(0) | None => out.line(format_args!("- Rounds: {rounds} of {most}")),
            }
        }
        None => out.line(format_args!("- Rounds: {rounds}")),
    }
    let took = debate.created_at.zip(debate.updated_at).map(|(from, to)| duration(to.millis_since(from)));
    out.line(format_args!("- Duration: {}", took.as_deref().unwrap_or(UNKNOWN)));
}

fn usage(out: &mut Document<'_>, debate: &Debate) {
    out.line("### Usage\n");
    if debate.usage.is_empty() {
        out.line("No finished calls on record.\n");
        return;
    }
    let row = |model: String, usage: &ModelUsage| {
        let counts = [usage.requests, usage.input_tokens, usage.cached_input_tokens, usage.output_tokens];
        let [calls, input, cached, output] = counts.map(thousands);
        [model, calls, input, cached, output, cost(usage.cost_usd)]
    };
    let mut rows: Vec<[String; 6]> =
        debate.usage.iter().map(|(model, usage)| row(cell(model).into_owned(), usage)).collect();
    if debate.usage.len() > 1 {
        rows.push(row("all models".to_owned(), &debate.total_usage()));
    }
    out.table(&["Model", ">Calls", ">Input tokens", ">Of these cached", ">Output tokens", ">Cost"], rows);
    let silent = debate.total_usage().silent_calls;
    if silent > 0 {
        out.line(format_args!("In all: {}\n", sum_of_tokens(debate.total_tokens(), silent)));
    }
}

fn scores(out: &mut Document<'_>, debate: &Debate) {
    let scored = debate.rounds.iter().filter_map(|round| Some((round.round_number, round.evaluation.as_ref()?)));
    let rows: Vec<[String; 4]> = scored
        .map(|(round, evaluation)| {
            let value = evaluation.score.map_or_else(|| "could not be read".to_owned(), score);
            [round.to_string(), evaluation.kind.name().to_owned(), value, score(evaluation.threshold)]
        })
        .collect();
    if !rows.is_empty() {
        out.line("### Scores\n");
        out.table(&[">Round", "Type", ">Score", ">Threshold"], rows);
    }
}

fn vote(out: &mut Document<'_>, debate: &Debate, voting: &Voting) {
    let name = stages::voting(debate).map_or("vote", |stage| &stage.words.noun);
    out.line(format_args!("### {}\n", heading(&capitalized(name))));
    let row = |(candidate, votes): (_, &u32)| [candidate, votes.to_string()];
    let tally = voting.tally.iter().map(|(candidate, votes)| (cell(candidate.as_str()).into_owned(), votes));
    out.table(&["Candidate", ">Votes"], tally.map(row));
    let tied: Vec<String> = voting.tied.iter().map(|tied| id(tied.as_str())).collect();
    if !tied.is_empty() {
        let what = if voting.is_tied() { "Tied" } else { "Open, since ballots failed" };
        out.line(format_args!("{what}: {}\n", tied.join(", ")));
    }
    let by = match voting.decided_by {
        Decider::Vote => "by the votes",
        Decider::Judge => "by the judge's casting vote",
        Decider::Nobody if voting.count.is_some() => "the judge's scores decided",
        Decider::Nobody => "nobody broke the tie",
    };
    match &voting.winner {
        Some(winner) => out.line(format_args!("Winner: {} ({by})\n", id(winner.as_str()))),
        None => out.line(format_args!("Winner: none ({by})\n")),
    }
    contest::count(out, voting);
    if let Some(reason) = &voting.reason {
        out.line("Reason:\n");
        out.fenced(reason);
        out.line("");
    }
}

fn failures(out: &mut Document<'_>, failures: &[Failure]) {
    if failures.is_empty() {
        return;
    }
    let row = |failure: &Failure| {
        let CallKey { round, stage, agent_id, target_agent_id, .. } = &failure.key;
        let target = target_agent_id.as_ref().map(|target| format!(" of {}", cell(target.as_str())));
        [
            cell(agent_id.as_str()).into_owned(),
            format!("{}{}", cell(stage.as_str()), target.unwrap_or_default()),
            round.to_string(),
            thousands(failure.attempts.into()),
            cell(&failure.error).into_owned(),
        ]
    };
    out.line("### Failures\n");
    out.table(&["Agent", "Call", ">Round", ">Attempts", "Error"], failures.iter().map(row));
}
