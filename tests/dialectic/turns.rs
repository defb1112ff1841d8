//! A protocol that only these tests know: each agent pitches in its turn, then all choose, then the judge writes.

use dialectic::debate::{AgentSettings, CallKey, Debate, StageId, StageInfo, Words, Yield};
use dialectic::prompt::{Focus, Prompt};
use dialectic::protocol::{
    Answer, Authorship, CLARIFY, Cost, Next, Protocol, Row, Shows, Stage, Step, Trigger, all_clear, answers,
    clarification, initialization, nothing,
};

const PITCH: StageId = StageId::new("pitch");
const CHOICE: StageId = StageId::new("choice");
const DIGEST: StageId = StageId::new("digest");

static SPEAK: Prompt =
    prompt("# Your task: pitch\n\n{% for one in inputs %}{{ one.text | fence('pitch') }}\n{% endfor %}Pitch.");
static CHOOSE: Prompt = prompt(
    "# Your task: choose\n\n{% for one in candidates %}## {{ one.label }}\n\n{{ one.text | fence('pitch') }}\n{% endfor %}Choose.",
);
static WRITE: Prompt = prompt(
    "# Your task: digest\n\n{% for part in material %}{% for one in part.entries %}{{ one.text | fence('pitch') }}\n{% endfor %}{% endfor %}Write.",
);

const fn prompt(text: &'static str) -> Prompt {
    Prompt { file: "turns.md", text, focus: Focus::None }
}

pub(crate) static TURNS: Protocol = Protocol {
    name: "turns",
    about: "each agent pitches in its turn, then all choose, then the judge writes",
    suits: "a test",
    calls: "2n + 1",
    check: |_| Ok(()),
    default_rounds: 1,
    built_in_agents: None,
    prompts: &[&CLARIFY, &SPEAK, &CHOOSE, &WRITE],
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Begin(PITCH))),
        answers(),
        stage(
            PITCH,
            ["pitch", "pitches", "pitching", "pitches", "pitched", "pitch"],
            Yield::Speech,
            pitches,
            |_| Ok(Trigger("PITCHED")),
            &[Row(Trigger("PITCHED"), Next::Go(CHOICE))],
        ),
        stage(
            CHOICE,
            ["choice", "choices", "choosing", "chooses", "chose", "choose"],
            Yield::Ballot,
            choices,
            |_| Ok(Trigger("CHOSEN")),
            &[Row(Trigger("CHOSEN"), Next::Go(DIGEST))],
        ),
        Stage {
            info: StageInfo::new(
                DIGEST,
                Words::new(["digest", "digests", "digesting", "digests", "digested", "digest"]),
            )
            .yielding(Yield::Solution)
            .essential(),
            facts: nothing,
            steps: digest,
            outcome: |debate| debate.final_solution.as_ref().map(|_| Trigger("WRITTEN")).ok_or("no digest".to_owned()),
            rows: &[Row(Trigger("WRITTEN"), Next::Done)],
        },
    ],
};

type Steps = fn(&Debate) -> Vec<Step>;
type Outcome = fn(&Debate) -> Result<Trigger, String>;

const fn stage(
    id: StageId,
    words: [&'static str; 6],
    yields: Yield,
    steps: Steps,
    outcome: Outcome,
    rows: &'static [Row],
) -> Stage {
    let info = StageInfo::new(id, Words::new(words)).yielding(yields).in_round().essential();
    Stage { info, facts: nothing, steps, outcome, rows }
}

fn calls(debate: &Debate, stage: StageId) -> Vec<CallKey> {
    let agents = debate.settings.iter().flat_map(|settings| &settings.agents);
    agents.map(|agent: &AgentSettings| CallKey::new(1, stage, &agent.id)).collect()
}

fn step(key: CallKey, inputs: Vec<CallKey>, prompt: &'static Prompt, shows: Shows, answer: Answer, cost: Cost) -> Step {
    Step { key, inputs, prompt, shows, answer, cost, notice: None }
}

fn pitches(debate: &Debate) -> Vec<Step> {
    let keys = calls(debate, PITCH);
    let pitch = |(place, key): (usize, &CallKey)| {
        step(key.clone(), keys[..place].to_vec(), &SPEAK, Shows::Inputs, Answer::Text, Cost::Round)
    };
    keys.iter().enumerate().map(pitch).collect()
}

fn choices(debate: &Debate) -> Vec<Step> {
    let choose =
        |(salt, key)| step(key, calls(debate, PITCH), &CHOOSE, Shows::Candidates { salt }, Answer::Choice, Cost::Round);
    (7..).zip(calls(debate, CHOICE)).map(choose).collect()
}

fn digest(debate: &Debate) -> Vec<Step> {
    let judge = debate.settings.iter().map(|settings| CallKey::new(debate.current_round, DIGEST, &settings.judge.id));
    let write =
        |key| step(key, Vec::new(), &WRITE, Shows::WholeDebate, Answer::Solution(Authorship::Judge), Cost::Closing);
    judge.map(write).collect()
}
