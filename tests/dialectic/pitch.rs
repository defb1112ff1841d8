//! A protocol that the program does not know: everybody pitches in turn, in a form of its own, all vote, and the judge
//! writes.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use dialectic_record::debate::Debate;
use dialectic_record::ids::{AgentId, CallKey, ResultKind, StageId, StageInfo};
use dialectic_record::prompt::{Focus, Prompt};
use dialectic_record::protocol::questions::{CLARIFY, all_clear, answers, clarification, initialization};
use dialectic_record::protocol::{
    Authorship, BudgetClass, JsonAnswer, JsonAnswerKind, Next, OutputSpec, PromptContext, Protocol, Row, Stage, Step,
    Trigger, complete_or_fallback, is_last_round, key, keys, nothing,
};

const PITCH: StageId = StageId::new("pitch");
const VOTE: StageId = StageId::new("show-of-hands");
const REPORT: StageId = StageId::new("report");
static SYSTEM: Prompt = Prompt { file: "pitch/system.md", text: include_str!("pitch/system.md"), focus: Focus::None };
static SPEAK: Prompt = Prompt { file: "pitch/pitch.md", text: include_str!("pitch/pitch.md"), focus: Focus::Propose };
static CHOOSE: Prompt = Prompt { file: "pitch/vote.md", text: include_str!("pitch/vote.md"), focus: Focus::None };
static WRITE: Prompt = Prompt { file: "pitch/report.md", text: include_str!("pitch/report.md"), focus: Focus::None };

#[derive(Serialize, Deserialize, JsonSchema)]
struct Pitch {
    #[schemars(length(max = 2000))]
    idea: String,
    /// How long it takes to build.
    #[schemars(range(min = 1))]
    days: u32,
}

static PITCHED: JsonAnswerKind = JsonAnswerKind::of::<Pitch>();

impl JsonAnswer for Pitch {
    const NAME: &'static str = "pitch";

    fn sample() -> Self {
        Self { idea: "An idea.".to_owned(), days: 10 }
    }

    fn text(&self) -> String {
        format!("{}\n\nDays to build: {}", self.idea, self.days)
    }

    fn check(&self) -> Result<(), String> {
        if self.days > 0 { Ok(()) } else { Err("`days` must be above 0".to_owned()) }
    }
}

pub(crate) static PITCHING: Protocol = Protocol {
    name: "pitching",
    about: "everybody pitches in turn and all vote, round by round; the judge writes the report",
    suits: "a quick decision between ideas",
    calls: "2·n·r + 1",
    system: &SYSTEM,
    prompts: &[&CLARIFY, &SPEAK, &CHOOSE, &WRITE],
    check: |_| Ok(()),
    default_rounds: 1,
    default_check: 0,
    built_in_agents: None,
    closing: REPORT,
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Begin(PITCH))),
        answers(),
        Stage {
            info: info(PITCH, ResultKind::Speech, ["pitch", "pitches", "pitching", "pitches", "pitched", "pitch"])
                .in_round()
                .in_turn(),
            facts: nothing,
            steps: |debate| {
                let all = keys(debate, debate.current_round, PITCH);
                let step = |at: usize| {
                    Step::new(all[at].clone(), &SPEAK, OutputSpec::Json(&PITCHED)).after(all[..at].to_vec())
                };
                (0..all.len()).map(|at| step(at).showing(PromptContext::Transcript)).collect()
            },
            outcome: |debate| match debate.final_round().filter(|last| last.round_number == debate.current_round) {
                Some(_) => Ok(complete_or_fallback(debate, PITCH, Trigger("PITCHED"))),
                None => Err("nobody has pitched".to_owned()),
            },
            rows: &[Row(Trigger("PITCHED"), Next::Go(VOTE))],
        },
        Stage {
            info: info(VOTE, ResultKind::Ballot, ["vote", "votes", "voting", "votes", "voted", "vote"]).in_round(),
            facts: nothing,
            steps: |debate| {
                let [all, votes] = [PITCH, VOTE].map(|stage| keys(debate, debate.current_round, stage));
                let step = |(key, salt)| {
                    Step::new(key, &CHOOSE, OutputSpec::Choice).showing(PromptContext::Candidates { salt })
                };
                votes.into_iter().zip(debate.current_round * 1000..).map(|one| step(one).after(all.clone())).collect()
            },
            outcome: |debate| Ok(Trigger(if is_last_round(debate) { "DECIDED" } else { "AGAIN" })),
            rows: &[Row(Trigger("DECIDED"), Next::Go(REPORT)), Row(Trigger("AGAIN"), Next::Begin(PITCH))],
        },
        Stage {
            info: info(
                REPORT,
                ResultKind::Solution,
                ["report", "reports", "reporting", "reports", "reported", "report"],
            ),
            facts: nothing,
            steps: |debate| report(debate).into_iter().collect(),
            outcome: |debate| debate.final_solution.as_ref().map(|_| Trigger("REPORTED")).ok_or("no report".to_owned()),
            rows: &[Row(Trigger("REPORTED"), Next::Done)],
        },
    ],
};

const fn info(id: StageId, yields: ResultKind, words: [&'static str; 6]) -> StageInfo {
    StageInfo::new(id, words).yielding(yields).essential()
}

/// The judge reads the pitches of the last round, those with the most votes last, and of these the quickest.
fn report(debate: &Debate) -> Option<Step> {
    let (settings, last) = (debate.settings.as_ref()?, debate.final_round()?);
    let votes = |id: &AgentId| last.contributions.iter().filter(|one| one.target_agent_id.as_ref() == Some(id)).count();
    let mut pitches = keys(debate, last.round_number, PITCH);
    let days = |pitch: &CallKey| debate.contribution(pitch).and_then(|one| Pitch::of(one)).map(|pitch| pitch.days);
    pitches.sort_by_key(|pitch| (votes(&pitch.agent_id), Reverse(days(pitch))));
    let solution = Step::new(key(debate, REPORT, &settings.judge), &WRITE, OutputSpec::Solution(Authorship::Judge));
    Some(solution.after(pitches).paid(BudgetClass::Closing))
}
