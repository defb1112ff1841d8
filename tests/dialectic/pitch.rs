//! A protocol that the program does not know: everybody pitches in turn, all vote, and the judge writes.

use dialectic::debate::{CallKey, Debate, StageId, StageInfo, Words, Yield};
use dialectic::prompt::{Focus, Prompt};
use dialectic::protocol::{
    Answer, Authorship, CLARIFY, Cost, Next, Protocol, Row, Shows, Stage, Step, Trigger, all_clear, answers,
    clarification, complete_or_fallback, initialization, is_last_round, nothing,
};

const PITCH: StageId = StageId::new("pitch");
const VOTE: StageId = StageId::new("show-of-hands");
const REPORT: StageId = StageId::new("report");

static SPEAK: Prompt = Prompt { file: "pitch/pitch.md", text: include_str!("pitch/pitch.md"), focus: Focus::Propose };
static CHOOSE: Prompt = Prompt { file: "pitch/vote.md", text: include_str!("pitch/vote.md"), focus: Focus::None };
static WRITE: Prompt = Prompt { file: "pitch/report.md", text: include_str!("pitch/report.md"), focus: Focus::None };

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
            info: info(PITCH, Yield::Speech, ["pitch", "pitches", "pitching", "pitches", "pitched", "pitch"])
                .in_round()
                .in_turn(),
            facts: nothing,
            steps: |debate| {
                let all = keys(debate, debate.current_round, PITCH);
                let before = all.iter().enumerate().map(|(place, key)| (key.clone(), all[..place].to_vec()));
                before.map(|(key, before)| step(key, before, &SPEAK, Shows::Transcript, Answer::Text)).collect()
            },
            outcome: |debate| match debate.final_round().filter(|last| last.round_number == debate.current_round) {
                Some(_) => Ok(complete_or_fallback(debate, PITCH, Trigger("PITCHED"))),
                None => Err("nobody has pitched".to_owned()),
            },
            rows: &[Row(Trigger("PITCHED"), Next::Go(VOTE))],
        },
        Stage {
            info: info(VOTE, Yield::Ballot, ["vote", "votes", "voting", "votes", "voted", "vote"]).in_round(),
            facts: nothing,
            steps: |debate| {
                let [pitches, ballots] = [PITCH, VOTE].map(|stage| keys(debate, debate.current_round, stage));
                let shows = |salt| Shows::Candidates { salt };
                let salted = (debate.current_round * 1000..).zip(ballots);
                salted.map(|(salt, key)| step(key, pitches.clone(), &CHOOSE, shows(salt), Answer::Choice)).collect()
            },
            outcome: |debate| Ok(Trigger(if is_last_round(debate) { "DECIDED" } else { "AGAIN" })),
            rows: &[Row(Trigger("DECIDED"), Next::Go(REPORT)), Row(Trigger("AGAIN"), Next::Begin(PITCH))],
        },
        Stage {
            info: info(REPORT, Yield::Solution, ["report", "reports", "reporting", "reports", "reported", "report"]),
            facts: nothing,
            steps: report,
            outcome: |debate| debate.final_solution.as_ref().map(|_| Trigger("REPORTED")).ok_or("no report".to_owned()),
            rows: &[Row(Trigger("REPORTED"), Next::Done)],
        },
    ],
};

const fn info(id: StageId, yields: Yield, words: [&'static str; 6]) -> StageInfo {
    StageInfo::new(id, Words::new(words)).yielding(yields).essential()
}

fn step(key: CallKey, inputs: Vec<CallKey>, prompt: &'static Prompt, shows: Shows, answer: Answer) -> Step {
    let cost = if key.stage == REPORT { Cost::Closing } else { Cost::Round };
    Step { key, inputs, prompt, shows, answer, cost, notice: None }
}

/// The call of each agent in a stage of a round.
fn keys(debate: &Debate, round: u32, stage: StageId) -> Vec<CallKey> {
    debate.settings.iter().flat_map(|of| &of.agents).map(|agent| CallKey::new(round, stage, &agent.id)).collect()
}

/// The judge reads the pitches of the last round, those with the most votes last.
fn report(debate: &Debate) -> Vec<Step> {
    let (Some(settings), Some(last)) = (&debate.settings, debate.final_round()) else { return Vec::new() };
    let ballots = last.contributions.iter().filter(|one| one.stage == VOTE);
    let chosen: Vec<_> = ballots.filter_map(|one| one.target_agent_id.as_ref()).collect();
    let mut pitches = keys(debate, last.round_number, PITCH);
    pitches.sort_by_key(|pitch| chosen.iter().filter(|id| **id == &pitch.agent_id).count());
    let key = CallKey::new(debate.current_round, REPORT, &settings.judge.id);
    vec![step(key, pitches, &WRITE, Shows::Inputs, Answer::Solution(Authorship::Judge))]
}
