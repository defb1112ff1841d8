//! A protocol that the program does not know: everybody pitches in turn, all vote, and the judge writes.

use std::cmp::Reverse;

use dialectic::debate::{CallKey, Debate, StageId, StageInfo, Words, Yield};
use dialectic::prompt::{Focus, Prompt};
use dialectic::protocol::{
    Answer, Authorship, CLARIFY, Cost, Next, Protocol, Row, Shows, Stage, Step, Trigger, all_clear, answers,
    clarification, complete_or_fallback, initialization, nothing,
};

const PITCH: StageId = StageId::new("pitch");
const VOTE: StageId = StageId::new("show-of-hands");
const REPORT: StageId = StageId::new("report");

static SPEAK: Prompt = Prompt { file: "pitch/pitch.md", text: include_str!("pitch/pitch.md"), focus: Focus::Propose };
static CHOOSE: Prompt = Prompt { file: "pitch/vote.md", text: include_str!("pitch/vote.md"), focus: Focus::None };
static WRITE: Prompt = Prompt { file: "pitch/report.md", text: include_str!("pitch/report.md"), focus: Focus::None };

const PITCH_WORDS: Words = Words::new(["pitch", "pitches", "pitching", "pitches", "pitched", "pitch"]);
const VOTE_WORDS: Words = Words::new(["vote", "votes", "voting", "votes", "voted", "vote"]);
const REPORT_WORDS: Words = Words::new(["report", "reports", "reporting", "reports", "reported", "report"]);

pub(crate) static PITCHING: Protocol = Protocol {
    name: "pitching",
    about: "everybody pitches in turn and all vote, round by round; the judge writes the report",
    suits: "a quick decision between ideas",
    calls: "2·n·r + 1",
    prompts: &[&CLARIFY, &SPEAK, &CHOOSE, &WRITE],
    check: |_| Ok(()),
    default_rounds: 1,
    built_in_agents: None,
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Begin(PITCH))),
        answers(),
        Stage {
            info: StageInfo::new(PITCH, PITCH_WORDS).yielding(Yield::Speech).in_round().in_turn().essential(),
            facts: nothing,
            steps: |debate| {
                let all = keys(debate, PITCH);
                let before = all.iter().enumerate().map(|(place, key)| (key.clone(), all[..place].to_vec()));
                before.map(|(key, before)| step(key, before, &SPEAK, Shows::Transcript, Answer::Text)).collect()
            },
            outcome: |debate| match debate.final_round() {
                Some(last) if last.round_number == debate.current_round => {
                    Ok(complete_or_fallback(debate, PITCH, Trigger("PITCHED")))
                }
                Some(_) | None => Err("nobody has pitched".to_owned()),
            },
            rows: &[Row(Trigger("PITCHED"), Next::Go(VOTE))],
        },
        Stage {
            info: StageInfo::new(VOTE, VOTE_WORDS).yielding(Yield::Ballot).in_round(),
            facts: nothing,
            steps: |debate| {
                let shows = |salt| Shows::Candidates { salt };
                let salted = (debate.current_round * 1000..).zip(keys(debate, VOTE));
                salted.map(|(salt, key)| step(key, keys(debate, PITCH), &CHOOSE, shows(salt), Answer::Choice)).collect()
            },
            outcome: |debate| {
                let is_last = debate.settings.as_ref().is_none_or(|of| debate.current_round >= of.debate.rounds);
                Ok(Trigger(if is_last { "DECIDED" } else { "AGAIN" }))
            },
            rows: &[Row(Trigger("DECIDED"), Next::Go(REPORT)), Row(Trigger("AGAIN"), Next::Begin(PITCH))],
        },
        Stage {
            info: StageInfo::new(REPORT, REPORT_WORDS).yielding(Yield::Solution).essential(),
            facts: nothing,
            steps: report,
            outcome: |debate| debate.final_solution.as_ref().map(|_| Trigger("REPORTED")).ok_or("no report".to_owned()),
            rows: &[Row(Trigger("REPORTED"), Next::Done)],
        },
    ],
};

fn step(key: CallKey, inputs: Vec<CallKey>, prompt: &'static Prompt, shows: Shows, answer: Answer) -> Step {
    Step { key, inputs, prompt, shows, answer, cost: Cost::Round, notice: None }
}

/// The call of each agent in a stage of the present round.
fn keys(debate: &Debate, stage: StageId) -> Vec<CallKey> {
    let agents = debate.settings.iter().flat_map(|settings| &settings.agents);
    agents.map(|agent| CallKey::new(debate.current_round, stage, &agent.id)).collect()
}

/// The judge reads the pitches of the last round, those with the most votes first.
fn report(debate: &Debate) -> Vec<Step> {
    let (Some(settings), Some(last)) = (&debate.settings, debate.final_round()) else { return Vec::new() };
    let said = |stage| last.contributions.iter().filter(move |one| one.stage == stage);
    let votes = |author| said(VOTE).filter(|vote| vote.target_agent_id.as_ref() == Some(author)).count();
    let mut authors: Vec<_> = said(PITCH).map(|pitch| &pitch.agent_id).collect();
    authors.sort_by_key(|author| Reverse(votes(author)));
    let inputs = authors.into_iter().map(|author| CallKey::new(last.round_number, PITCH, author)).collect();
    let key = CallKey::new(debate.current_round, REPORT, &settings.judge.id);
    let written = Answer::Solution(Authorship::Judge);
    vec![Step { cost: Cost::Closing, ..step(key, inputs, &WRITE, Shows::Inputs, written) }]
}
