//! What `--verbose` says of a debate: who takes part, and what happened round by round.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use dialectic_base::figures::{UNKNOWN, cost, counted, duration, score, sum_of_tokens, thousands, tokens};
use dialectic_base::sanitize::one_line;
use dialectic_record::debate::{
    AgentId, AgentPromptSource, Contribution, Debate, Failure, ModelUsage, Poll, PromptOrigin, ResultKind, Round,
    Settings, Verdict, Voting,
};

use super::result::stability;
use super::table::{Column, table};

// The widest columns of text: with the figures beside them a line stays within 80 columns.
const ID: usize = 18;
const NAME: usize = 19;
const ROLE: usize = 12;
const MODEL: usize = 26;
const SHORT_MODEL: usize = 16;
const PROVIDER: usize = 10;
const WHAT: usize = 32;

/// The agents and the judge: id, name, role, model, provider, and where their prompts came from.
#[must_use]
pub fn participants(debate: &Debate) -> String {
    let Some(settings) = &debate.settings else {
        return format!("Agents: {UNKNOWN}\n");
    };
    let mut text = String::from("Agents\n");
    let members = settings.agents.iter().chain([&settings.judge]);
    let rows: Vec<[String; 5]> = members
        .map(|agent| {
            let role = if agent.id == settings.judge.id { "judge" } else { &agent.role };
            [agent.id.as_str(), &agent.name, role, &agent.model, &agent.provider].map(one_line)
        })
        .collect();
    let columns = [ID, NAME, ROLE, SHORT_MODEL, PROVIDER].map(Column::Left);
    text.push_str(&table(2, columns, &rows));
    if !debate.attachments.is_empty() {
        text.push_str("Attachments\n");
        let rows: Vec<[String; 3]> = debate
            .attachments
            .iter()
            .map(|one| [one_line(&one.name), thousands(one.text.chars().count() as u64), one_line(&one.sha256)])
            .collect();
        text.push_str(&table(2, [Column::Left(WHAT), Column::Right, Column::Left(SHORT_MODEL)], &rows));
    }
    text.push_str("Prompts\n");
    text.push_str(&table(2, [Column::Left(ID), Column::Left(usize::MAX)], &prompts(debate, settings)));
    text
}

fn prompts(debate: &Debate, settings: &Settings) -> Vec<[String; 2]> {
    let Some(sources) = &debate.prompt_sources else {
        return vec![["all".to_owned(), UNKNOWN.to_owned()]];
    };
    let shown = |origin: PromptOrigin, path: Option<&std::path::Path>| match path {
        Some(path) => format!("{} {}", origin.name(), one_line(&path.display().to_string())),
        None => origin.name().to_owned(),
    };
    let of_agent =
        |source: &AgentPromptSource| [one_line(source.agent_id.as_str()), shown(source.source, source.path.as_deref())];
    let mut rows: Vec<[String; 2]> = sources.agents.iter().map(of_agent).collect();
    let judge = one_line(settings.judge.id.as_str());
    rows.push([judge.clone(), shown(sources.judge.source, sources.judge.path.as_deref())]);
    if let Some(summary) = sources.judge.summary_source {
        rows.push([format!("{judge} (summary)"), shown(summary, sources.judge.summary_path.as_deref())]);
    }
    rows
}

/// Round by round what was said, scored and lost, then what it took in all.
#[must_use]
pub fn summary(debate: &Debate) -> String {
    let mut text = String::new();
    for round in &debate.rounds {
        text.push_str(&round_text(debate, round));
    }
    let mut outside = failures(debate, |failure| debate.round(failure.key.round).is_none());
    if !outside.is_empty() {
        outside.insert_str(0, "Outside the rounds\n");
        text.push_str(&outside);
    }
    if let Some(made) = &debate.judge_summary {
        let used = made.metadata.tokens_used.map_or(UNKNOWN.to_owned(), tokens);
        let took = made.metadata.latency_ms.map_or(UNKNOWN.to_owned(), duration);
        let _ = writeln!(text, "Judge's summary: {used}, {took}");
    }
    if !debate.polls.is_empty() {
        text.push_str("Polls\n");
        text.extend(debate.polls.iter().map(|poll| poll_line(debate, poll)));
    }
    text.extend(debate.last_voting().map(vote_text));
    text.extend(debate.last_verdict().map(verdict_text));
    text.push_str(&totals(debate));
    text
}

fn round_text(debate: &Debate, round: &Round) -> String {
    let number = round.round_number;
    let late = if round.timed_out { " (ran into its time limit)" } else { "" };
    let mut text = format!("Round {number}{late}\n");
    let mut rows: Vec<[String; 4]> = Vec::new();
    for summary in round.summaries.iter().flatten().map(|(_, summary)| summary) {
        let metadata = &summary.metadata;
        let [before, after] = [metadata.before_chars, metadata.after_chars].map(|chars| thousands(chars as u64));
        let what = format!("summary {before} to {after} chars");
        rows.push(row(&summary.agent_id, what, metadata.tokens_used, metadata.latency_ms));
    }
    for contribution in &round.contributions {
        let metadata = &contribution.metadata;
        rows.push(row(&contribution.agent_id, what(debate, contribution), metadata.tokens_used, metadata.latency_ms));
    }
    text.push_str(&table(2, [Column::Left(ID), Column::Left(WHAT), Column::Right, Column::Right], &rows));
    if let Some(evaluation) = &round.evaluation {
        let value = evaluation.score.map_or("could not be read".to_owned(), score);
        let threshold = score(evaluation.threshold);
        let _ = writeln!(text, "  {} score: {value} (threshold {threshold})", evaluation.kind.name());
    }
    text.push_str(&failures(debate, |failure| failure.key.round == number));
    text
}

fn row(agent: &AgentId, what: String, used: Option<u64>, latency_ms: Option<u64>) -> [String; 4] {
    let unknown = || UNKNOWN.to_owned();
    [one_line(agent.as_str()), what, used.map_or_else(unknown, tokens), latency_ms.map_or_else(unknown, duration)]
}

/// `  show of hands: 2 against, 1 for`
fn poll_line(debate: &Debate, poll: &Poll) -> String {
    let choices: BTreeSet<&String> = poll.votes.values().collect();
    let counts: Vec<String> = choices.iter().map(|choice| format!("{} {choice}", poll.count(choice))).collect();
    format!("  {}\n", one_line(&format!("{}: {}", debate.words(poll.stage).noun, counts.join(", "))))
}

/// Whom the vote elected, and how many were for each.
fn vote_text(voting: &Voting) -> String {
    let winner = voting.winner.as_ref().map_or_else(|| "nobody".to_owned(), |winner| one_line(winner.as_str()));
    let mut text = format!("Vote\n  winner: {winner}\n");
    let rows: Vec<_> =
        voting.tally.iter().map(|(agent, votes)| [one_line(agent.as_str()), votes.to_string()]).collect();
    text.push_str(&table(2, [Column::Left(ID), Column::Right], &rows));
    text
}

/// Who won and by which scores; how each criterion was met is left to the reports.
fn verdict_text(verdict: &Verdict) -> String {
    let winner = verdict.winner.as_ref().map_or_else(|| "nobody".to_owned(), |winner| one_line(winner.as_str()));
    let how = stability(verdict).map(|how| format!(" ({how})")).unwrap_or_default();
    let mut text = format!("Verdict\n  winner: {winner}{how}\n");
    let rows: Vec<_> =
        verdict.scores.iter().map(|(agent, points)| [one_line(agent.as_str()), score(*points)]).collect();
    text.push_str(&table(2, [Column::Left(ID), Column::Right], &rows));
    text
}

/// `critique of agent-kiss`, `proposal, cut`, `refinement, 2 tool calls`, `vote: accept`
fn what(debate: &Debate, contribution: &Contribution) -> String {
    let mut what = one_line(&debate.words(contribution.stage).noun);
    if let Some(target) = &contribution.target_agent_id {
        let preposition = if debate.yield_of(contribution) == Some(ResultKind::Ballot) { "for" } else { "of" };
        let _ = write!(what, " {preposition} {}", one_line(target.as_str()));
    }
    if let Some(choice) = &contribution.metadata.choice {
        let _ = write!(what, ": {}", one_line(choice));
    }
    if contribution.metadata.truncated {
        what.push_str(", cut");
    }
    let calls = contribution.metadata.tool_calls.len();
    if calls > 0 {
        let _ = write!(what, ", {}", counted(calls as u64, "tool call"));
    }
    what
}

fn failures(debate: &Debate, of: impl Fn(&Failure) -> bool) -> String {
    let line = |failure: &Failure| {
        let key = &failure.key;
        let target = key.target_agent_id.as_ref().map(|id| format!(" of {}", one_line(id.as_str())));
        let (agent, stage) = (one_line(key.agent_id.as_str()), one_line(key.stage.as_str()));
        let attempts = counted(failure.attempts.into(), "attempt");
        let error = one_line(&failure.error);
        format!("  failed: {agent} {stage}{} after {attempts}: {error}\n", target.unwrap_or_default())
    };
    debate.failures.iter().filter(|failure| of(failure)).map(line).collect()
}

fn totals(debate: &Debate) -> String {
    let mut text = String::from("Totals\n");
    let usage_row = |model: &str, usage: &ModelUsage| {
        let counts = [usage.requests, usage.input_tokens, usage.cached_input_tokens, usage.output_tokens];
        let [requests, input, cached, output] = counts.map(thousands);
        [one_line(model), requests, input, cached, output, cost(usage.cost_usd)]
    };
    let mut rows = vec![["model", "requests", "input", "cached", "output", "cost"].map(str::to_owned)];
    rows.extend(debate.usage.iter().map(|(model, usage)| usage_row(model, usage)));
    if debate.usage.len() > 1 {
        rows.push(usage_row("all models", &debate.total_usage()));
    }
    if debate.usage.is_empty() {
        let _ = writeln!(text, "  usage: {UNKNOWN}");
    } else {
        let right = Column::Right;
        text.push_str(&table(2, [Column::Left(MODEL), right, right, right, right, right], &rows));
    }
    let all = debate.total_usage();
    if all.silent_calls > 0 {
        let _ = writeln!(text, "  in all: {}", sum_of_tokens(debate.total_tokens(), all.silent_calls));
    }
    let took = debate.created_at.zip(debate.updated_at).map(|(from, to)| duration(to.millis_since(from)));
    let _ = writeln!(text, "  duration: {}", took.unwrap_or_else(|| UNKNOWN.to_owned()));
    if let Some(outcome) = &debate.outcome {
        let _ = writeln!(text, "  outcome: {}", outcome.kind.name());
        text.extend(outcome.reasons.iter().map(|reason| format!("    {}\n", one_line(reason))));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    use dialectic_record::debate::fixture::{debate, pitching};
    use dialectic_record::debate::{Decider, Event, Recorded, Timestamp};

    #[test]
    fn the_list_of_participants_names_everyone_and_their_prompts() {
        insta::assert_snapshot!(participants(&debate()), @r"
        Agents
          agent-architect  System Architect     architect  gpt-5             openrouter
          agent-kiss       Simplicity Advocate  kiss       some-vendor/a-m…  openrouter
          judge            Judge                judge      gpt-5             openrouter
        Prompts
          agent-architect  built-in
          agent-kiss       file /home/me/prompts/kiss.md
          judge            built-in
          judge (summary)  built-in
        ");
    }

    #[test]
    fn the_summary_tells_each_round_and_what_it_took() {
        insta::assert_snapshot!(summary(&debate()), @r"
        Round 1
          agent-architect  proposal                           1,434 tokens      1.2 s
          agent-kiss       proposal                                    N/A  1 min 1 s
          agent-architect  critique of agent-kiss            12,345 tokens      0.9 s
          agent-kiss       critique of agent-architect, cut        1 token      0.0 s
          agent-kiss       refinement, 1 tool call            2,000 tokens      2.0 s
          convergence score: 72.5 (threshold 80)
        Round 2 (ran into its time limit)
          agent-kiss  summary 12,000 to 2,400 chars  4,000 tokens    N/A
          agent-kiss  proposal                           0 tokens  0.0 s
          convergence score: could not be read (threshold 80)
          failed: agent-architect critique of agent-kiss after 4 attempts: the server answered 503
        Judge's summary: 700 tokens, 1.5 s
        Totals
          model                       requests   input  cached  output     cost
          gpt-5                              3  12,000   4,096   2,480  $0.0421
          some-vendor/a-model-with-…         4   3,000       0   3,001  unknown
          all models                         7  15,000   4,096   5,481  unknown
          duration: 3 min 4 s
          outcome: degraded
            agent-architect failed in the critique of agent-kiss of round 2: the server answered 503
            agent-kiss's critique in round 1 was cut at the output limit
            round 2 ran into its time limit
            the convergence score of round 2 could not be read
        ");
    }

    #[test]
    fn ballots_polls_and_the_verdict_are_told_in_the_words_of_their_stages() {
        let mut debate = debate();
        debate.stages = pitching::stages();
        debate.rounds.clear();
        debate.failures.clear();
        let events = [
            Event::RoundBegun { round: 1, stage: pitching::PITCH },
            pitching::applauded("agent-kiss", "accept"),
            pitching::polled("agent-architect", "for"),
            pitching::polled("agent-kiss", "against"),
            pitching::polled("judge", "against"),
            Event::Voted {
                voting: Voting {
                    tally: [("agent-architect", 1), ("agent-kiss", 2)]
                        .map(|(id, votes)| (AgentId::new(id), votes))
                        .into(),
                    tied: Vec::new(),
                    winner: Some(AgentId::new("agent-kiss")),
                    decided_by: Decider::Vote,
                    reason: None,
                    count: None,
                },
                call: None,
            },
            pitching::decided(Some("agent-architect"), Some(false)),
        ];
        for event in events {
            debate.apply(&Recorded { seq: 2, at: Timestamp::from(DateTime::UNIX_EPOCH), event }).unwrap();
        }
        let text = summary(&debate);
        insta::assert_snapshot!(text.split("Judge's summary").next().unwrap(), @r"
        Round 1
          agent-kiss  applause: accept  1,434 tokens  1.2 s
        ");
        insta::assert_snapshot!(text.split("1.5 s\n").last().unwrap().split("Totals").next().unwrap(), @r"
        Polls
          show of hands: 2 against, 1 for
        Vote
          winner: agent-kiss
          agent-architect  1
          agent-kiss       2
        Verdict
          winner: agent-architect (the result changed with the order)
          agent-architect  72.5
          agent-kiss         65
        ");
    }

    #[test]
    fn lines_fit_into_eighty_columns_and_steer_nothing() {
        let mut debate = debate();
        debate.failures[0].error = "short \u{1b}[2J".to_owned();
        debate.outcome = None;
        for line in participants(&debate).lines().chain(summary(&debate).lines()) {
            assert!(console::measure_text_width(line) <= 80, "{line}");
            assert!(!line.contains('\u{1b}'), "{line:?}");
        }
    }

    #[test]
    fn a_sum_without_what_calls_did_not_say_is_none() {
        let mut debate = debate();
        let known = debate.total_tokens();
        assert!(!summary(&debate).contains("at least"));
        debate.usage.values_mut().next().unwrap().silent_calls = 2;
        let said = format!("  in all: at least {} (2 calls did not say)\n", tokens(known));
        assert!(summary(&debate).contains(&said), "{}", summary(&debate));
    }

    #[test]
    fn what_an_older_file_lacks_is_not_made_up() {
        let mut debate = debate();
        debate.settings = None;
        debate.usage.clear();
        debate.created_at = None;
        debate.rounds.truncate(1);
        let round = &mut debate.rounds[0];
        let mut contribution = round.contributions[0].as_ref().clone();
        contribution.metadata = dialectic_record::debate::Metadata::default();
        round.contributions = vec![contribution.into()];
        debate.failures.clear();
        debate.outcome = None;
        assert_eq!(participants(&debate), "Agents: N/A\n");
        insta::assert_snapshot!(summary(&debate), @r"
        Round 1
          agent-architect  proposal  N/A  N/A
          convergence score: 72.5 (threshold 80)
        Judge's summary: 700 tokens, 1.5 s
        Totals
          usage: N/A
          duration: N/A
        ");
    }
}
