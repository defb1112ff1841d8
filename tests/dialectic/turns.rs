//! A protocol that only these tests know: each agent pitches in its turn, then all choose, then the judge writes.

use dialectic::debate::{CallKey, Debate, StageId, StageInfo, Words, Yield};
use dialectic::prompt::{Focus, Prompt};
use dialectic::protocol::{
    Answer, Authorship, CLARIFY, Cost, Next, Protocol, Row, Shows, Stage, Step, Trigger, all_clear, answers,
    clarification, initialization, nothing,
};

const PITCH: StageId = StageId::new("pitch");
const CHOICE: StageId = StageId::new("choice");
const DIGEST: StageId = StageId::new("digest");
const LABELLED: Shows = Shows::Candidates { salt: 7 };
const SOLUTION: Answer = Answer::Solution(Authorship::Judge);

static SPEAK: Prompt = Prompt { file: "pitch.md", text: include_str!("turns/pitch.md"), focus: Focus::None };
static CHOOSE: Prompt = Prompt { file: "choose.md", text: include_str!("turns/choose.md"), focus: Focus::None };
static WRITE: Prompt = Prompt { file: "digest.md", text: include_str!("turns/digest.md"), focus: Focus::None };
pub(crate) static TURNS: Protocol = Protocol {
    name: "turns",
    about: "pitches in turn, a vote and a digest",
    suits: "a test",
    calls: "2n + 1",
    prompts: &[&CLARIFY, &SPEAK, &CHOOSE, &WRITE],
    default_rounds: 1,
    check: |_| Ok(()),
    built_in_agents: None,
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Begin(PITCH))),
        answers(),
        Stage {
            info: info(PITCH, Yield::Speech, ["pitch", "pitches", "pitching", "pitches", "pitched", "pitch"])
                .in_round(),
            facts: nothing,
            steps: |debate| {
                let keys = keys(debate, PITCH);
                let before = keys.iter().enumerate().map(|(place, key)| (key, keys[..place].to_vec()));
                before.map(|(key, before)| step(key, before, &SPEAK, Shows::Inputs, Answer::Text)).collect()
            },
            outcome: |_| Ok(Trigger("PITCHED")),
            rows: &[Row(Trigger("PITCHED"), Next::Go(CHOICE))],
        },
        Stage {
            info: info(CHOICE, Yield::Ballot, ["choice", "choices", "choosing", "chooses", "chose", "choose"])
                .in_round(),
            facts: nothing,
            steps: |debate| {
                let all = keys(debate, CHOICE).into_iter();
                all.map(|key| step(&key, keys(debate, PITCH), &CHOOSE, LABELLED, Answer::Choice)).collect()
            },
            outcome: |_| Ok(Trigger("CHOSEN")),
            rows: &[Row(Trigger("CHOSEN"), Next::Go(DIGEST))],
        },
        Stage {
            info: info(DIGEST, Yield::Solution, ["digest", "digests", "digesting", "digests", "digested", "digest"]),
            facts: nothing,
            steps: |debate| {
                let judge = debate.settings.iter().map(|settings| CallKey::new(1, DIGEST, &settings.judge.id));
                judge.map(|key| step(&key, vec![], &WRITE, Shows::WholeDebate, SOLUTION)).collect()
            },
            outcome: |debate| debate.final_solution.as_ref().map(|_| Trigger("WRITTEN")).ok_or("no digest".to_owned()),
            rows: &[Row(Trigger("WRITTEN"), Next::Done)],
        },
    ],
};

const fn info(id: StageId, yields: Yield, words: [&'static str; 6]) -> StageInfo {
    StageInfo::new(id, Words::new(words)).yielding(yields).essential()
}

fn step(key: &CallKey, inputs: Vec<CallKey>, prompt: &'static Prompt, shows: Shows, answer: Answer) -> Step {
    let cost = if key.stage == DIGEST { Cost::Closing } else { Cost::Round };
    Step { key: key.clone(), inputs, prompt, shows, answer, cost, notice: None }
}

fn keys(debate: &Debate, stage: StageId) -> Vec<CallKey> {
    debate.settings.iter().flat_map(|of| &of.agents).map(|agent| CallKey::new(1, stage, &agent.id)).collect()
}
