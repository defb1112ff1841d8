//! The output of `--verbose`: participants, and the events of each round.

use std::fmt::Write as _;

use dialectic_base::figures::{UNKNOWN, counted, duration, score, thousands, tokens};
use dialectic_record::debate::{Contribution, Debate, Failure, Round};
use dialectic_record::ids::AgentId;

use crate::report::block::{Block, ListItem, Phrase, TableBlock, TableHead, figure, foreign, line};
use crate::report::{View, preposition, subject};

use super::blocks::written;
use super::layout::Layout;

const LAYOUT: Layout = Layout { width: Some(80), color: false };

pub fn participants(debate: &Debate) -> String {
    if debate.settings.is_none() {
        return format!("Agents: {UNKNOWN}\n");
    }
    let view = View::new(debate, None);
    let attached = debate.attachments.iter().map(|one| {
        let length = line![figure(thousands(one.text.chars().count() as u64))];
        vec![line![foreign(&*one.name)], length, line![foreign(&*one.sha256)]]
    });
    let columns = [TableHead::words("Attachment"), TableHead::figures("Characters"), TableHead::words("SHA-256")];
    let attached = TableBlock::new("", "Attachments", columns, attached);
    let mut blocks = vec![Block::Table(subject::everybody(&view))];
    if !attached.rows.is_empty() {
        blocks.push(Block::Table(attached));
    }
    blocks.push(match &debate.prompt_sources {
        Some(sources) => Block::Table(subject::prompts(sources)),
        None => Block::Paragraph(line!["Prompts: ", UNKNOWN]),
    });
    written(&blocks, &view, LAYOUT)
}

pub fn summary(debate: &Debate) -> String {
    let view = View::new(debate, None);
    let mut blocks: Vec<Block<'_>> = debate.rounds.iter().flat_map(|round| round_of(debate, round)).collect();
    let outside = failures(debate, |failure| debate.round(failure.key.round).is_none());
    if !outside.is_empty() {
        blocks.extend([Block::Heading(line!["Outside the rounds"]), Block::List(outside)]);
    }
    if let Some(made) = &debate.judge_summary {
        let used = made.metadata.tokens_used.map_or(UNKNOWN.to_owned(), tokens);
        let took = made.metadata.latency_ms.map_or(UNKNOWN.to_owned(), duration);
        blocks.push(Block::Paragraph(line!["Judge's summary: ", figure(used), ", ", figure(took)]));
    }
    let check = subject::check(debate);
    let voting = debate.last_voting().map(subject::vote).unwrap_or_default();
    let verdict = subject::verdict(&view);
    for (title, said) in [("Polls", subject::polls(debate)), ("Vote", voting), ("Verdict", verdict), ("Check", check)] {
        // Leave out the reasons, which are in the report.
        let brief =
            said.into_iter().filter(|block| matches!(block, Block::Table(_) | Block::Paragraph(_) | Block::Warning(_)));
        let brief: Vec<Block<'_>> = brief.collect();
        if !brief.is_empty() {
            blocks.push(Block::Heading(line![title]));
            blocks.extend(brief);
        }
    }
    blocks.push(Block::Heading(line!["Totals"]));
    blocks.extend(subject::usage(debate));
    blocks.push(Block::List([subject::extent(debate), subject::ending(debate)].concat()));
    written(&blocks, &view, LAYOUT)
}

fn round_of<'d>(debate: &'d Debate, round: &'d Round) -> Vec<Block<'d>> {
    let number = round.round_number;
    let late = if round.timed_out { " (reached its time limit)" } else { "" };
    let summaries = round.summaries.iter().flatten().map(|(_, summary)| {
        let metadata = &summary.metadata;
        let [before, after] = [metadata.before_chars, metadata.after_chars].map(|chars| thousands(chars as u64));
        let what = line![figure(format!("summary {before} to {after} chars"))];
        row(&summary.agent_id, what, metadata.tokens_used, metadata.latency_ms)
    });
    let said = round
        .contributions
        .iter()
        .map(|one| row(&one.agent_id, what(debate, one), one.metadata.tokens_used, one.metadata.latency_ms));
    let columns =
        [TableHead::words("Who"), TableHead::words("What"), TableHead::figures("Tokens"), TableHead::figures("Time")];
    let rows = TableBlock::new("", "Calls", columns, summaries.chain(said));
    let mut blocks = vec![Block::Heading(line!["Round ", figure(number), late])];
    if !rows.rows.is_empty() {
        blocks.push(Block::Table(rows));
    }
    let scored = round.evaluation.as_ref().map(|evaluation| {
        let value = evaluation.score.map_or("could not be read".to_owned(), score);
        let value = format!(" score: {value} (threshold {})", score(evaluation.threshold));
        ListItem::of(line![evaluation.kind.name(), figure(value)])
    });
    let lost = failures(debate, |failure| failure.key.round == number);
    blocks.push(Block::List(scored.into_iter().chain(lost).collect()));
    blocks
}

fn row<'a>(agent: &'a AgentId, what: Phrase<'a>, used: Option<u64>, latency_ms: Option<u64>) -> Vec<Phrase<'a>> {
    let unknown = || UNKNOWN.to_owned();
    let (used, took) = (used.map_or_else(unknown, tokens), latency_ms.map_or_else(unknown, duration));
    vec![line![agent], what, line![figure(used)], line![figure(took)]]
}

/// Describes a contribution: `critique of Simplicity Advocate`, `proposal, cut` or `refinement, 2 tool calls`.
fn what<'d>(debate: &'d Debate, contribution: &'d Contribution) -> Phrase<'d> {
    let mut what = line![foreign(debate.words(contribution.stage).noun)];
    if let Some(target) = &contribution.target_agent_id {
        what.extend(line![" ", preposition(debate, contribution.stage), " ", target]);
    }
    let mut more = String::new();
    if contribution.metadata.truncated {
        more.push_str(", cut");
    }
    let calls = contribution.metadata.tool_calls.len();
    if calls > 0 {
        // Writing to a string cannot fail.
        let _ = write!(more, ", {}", counted(calls as u64, "tool call"));
    }
    what.push(figure(more));
    what
}

fn failures(debate: &Debate, of: impl Fn(&Failure) -> bool) -> Vec<ListItem<'_>> {
    debate.failures.iter().filter(|failure| of(failure)).map(|failure| failed(debate, failure)).collect()
}

fn failed<'d>(debate: &Debate, failure: &'d Failure) -> ListItem<'d> {
    let key = &failure.key;
    let about = key.target_agent_id.as_ref().map(|id| line![" ", preposition(debate, key.stage), " ", id]);
    let what = line!["failed: ", &key.agent_id, " ", foreign(key.stage.as_str())];
    let attempts = figure(format!(" after {}: ", counted(failure.attempts.into(), "attempt")));
    ListItem::of([what, about.unwrap_or_default(), line![attempts, foreign(&*failure.error)]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    use dialectic_record::debate::fixture::{debate, pitching};
    use dialectic_record::event::{Event, Recorded};
    use dialectic_record::ids::Timestamp;
    use serde_json::json;

    #[test]
    fn the_list_of_participants_names_everyone_and_their_prompts() {
        insta::assert_snapshot!(participants(&debate()), @r"
        Name            Id               Role           Model                 Provider
        System          agent-architect  architect      gpt-5                 openrouter
        Architect
        Simplicity      agent-kiss       kiss           some-vendor/a-model-  openrouter
        Advocate                                        with-a-long-name
        Judge           judge            generalist     gpt-5                 openrouter
                                         (judge)

        Prompt of            Source
        System Architect     built-in
        Simplicity Advocate  file /home/me/prompts/kiss.md
        Judge                built-in
        Judge (summary)      built-in
        ");
    }

    #[test]
    fn the_summary_tells_each_round_and_what_it_took() {
        insta::assert_snapshot!(summary(&debate()), @r"
        Round 1
        Who                  What                                      Tokens       Time
        System Architect     proposal                            1,434 tokens      1.2 s
        Simplicity Advocate  proposal                                     N/A  1 min 1 s
        System Architect     critique of Simplicity Advocate    12,345 tokens      0.9 s
        Simplicity Advocate  critique of System Architect, cut        1 token      0.0 s
        Simplicity Advocate  refinement, 1 tool call             2,000 tokens      2.0 s
        - convergence score: 72.5 (threshold 80)

        Round 2 (reached its time limit)
        Who                  What                                 Tokens   Time
        Simplicity Advocate  summary 12,000 to 2,400 chars  4,000 tokens    N/A
        Simplicity Advocate  proposal                           0 tokens  0.0 s
        - convergence score: could not be read (threshold 80)
        - failed: System Architect critique of Simplicity Advocate after 4 attempts:
          the server answered 503
        Judge's summary: 700 tokens, 1.5 s

        Totals
        Model                 Calls  Input tokens       Of these  Output tokens     Cost
                                                          cached
        gpt-5                     3        12,000          4,096          2,480  $0.0421
        some-vendor/a-model-      4         3,000              0          3,001  unknown
        with-a-long-name
        all models                7        15,000          4,096          5,481  unknown
        - Protocol: dialectic
        - Rounds: 2 of 2
        - Duration: 3 min 4 s
        - Run: incomplete
          - agent-architect failed in the critique of agent-kiss of round 2: the
            server answered 503
          - agent-kiss's critique in round 1 was cut off at the output limit
          - round 2 reached its time limit
          - the convergence score of round 2 could not be read
          - agent-architect's critique of agent-kiss in round 1 had no readable points
          - agent-kiss's critique of agent-architect in round 1 had no readable points
        ");
    }

    #[test]
    fn ballots_polls_and_the_verdict_are_told_in_the_words_of_their_stages() {
        let mut debate = debate();
        debate.stages = pitching::stages();
        debate.rounds.clear();
        debate.failures.clear();
        let count = json!({"rule": "majority", "voters": 3, "cast": 3, "quorum": 2, "selfVotes": 0});
        let tally = json!({"agent-architect": 1, "agent-kiss": 2});
        let voting = json!({"tally": tally, "winner": "agent-kiss", "count": count});
        let events = [
            Event::RoundBegun { round: 1, stage: pitching::PITCH },
            pitching::applauded("agent-kiss", "agent-architect"),
            pitching::polled("agent-architect", "for"),
            pitching::polled("agent-kiss", "against"),
            pitching::polled("judge", "against"),
            Event::Voted { voting: serde_json::from_value(voting).unwrap() },
            pitching::decided(Some("agent-architect"), Some(false)),
        ];
        for event in events {
            debate.apply(&Recorded { seq: 2, at: Timestamp::from(DateTime::UNIX_EPOCH), event }).unwrap();
        }
        let text = summary(&debate);
        insta::assert_snapshot!(text.split("Judge's summary").next().unwrap(), @r"
        Round 1
        Who                  What                                 Tokens   Time
        Simplicity Advocate  applause for System Architect  1,434 tokens  1.2 s
        ");
        insta::assert_snapshot!(text.split("1.5 s\n").last().unwrap().split("Totals").next().unwrap(), @r"
        Polls
        Choice   Show of hands
        for                  1
        against              2

        Voter                Show of hands
        System Architect     for
        Simplicity Advocate  against
        Judge                against

        Vote
        Candidate            Votes
        System Architect         1
        Simplicity Advocate      2
        Winner: Simplicity Advocate (by vote)

        Verdict
        Winner: Simplicity Advocate, by vote; by scores: System Architect, by 72.5 to 65
        Stable: no; the winner changed when the texts were judged in the opposite order
        Agent                      Mean score
        System Architect                 72.5
        Simplicity Advocate                65
        winner               System Architect
        The judge saw no names. Each letter in its texts stands for a text.
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
        let said = format!("In total: at least {} (2 calls did not report any)\n", tokens(known));
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
        Who              What      Tokens  Time
        agent-architect  proposal     N/A   N/A
        - convergence score: 72.5 (threshold 80)
        Judge's summary: 700 tokens, 1.5 s

        Totals
        No finished calls on record.
        - Rounds: 1
        - Duration: N/A
        ");
    }
}
