//! A motion, one against one: alternating speeches, with a cross-examination after each constructive speech.

use crate::debate::Debate;
use crate::ids::{CallKey, ResultKind, StageId, StageInfo};
use crate::prompt::Prompt;
use crate::settings::{AgentSettings, DebateSettings, Position, Settings};

use super::motion::{
    CLOSE, CLOSINGS_COMPLETE, DEFAULT_ROUNDS, OPEN, OPENING, REBUT, SYSTEM, check_rounds, closing, closing_info,
    on_side, opening, opening_info, rebuttal, rebuttal_info, speakers, speech,
};
use super::questions::{CLARIFY, all_clear, answers, clarification, initialization};
use super::verdict::{JUDGE, VERDICT, verdict, without_votes};
use super::{Next, Protocol, Row, Stage, Step, Unfit, kind_of_call};

const CROSS_EXAMINATION: StageId = StageId::new("cross-examination");
const CROSS_EXAMINATION_ANSWER: StageId = StageId::new("cross-examination-answer");

static QUESTION: Prompt = prompt!("motion/question.md", None);
static ANSWER: Prompt = prompt!("motion/answer.md", None);

pub static LINCOLN_DOUGLAS: Protocol = Protocol {
    name: "lincoln-douglas",
    about: "one agent speaks for a motion and one against it, in turn, with cross-examination; the judge decides",
    suits: "a question of principle with two opposing answers",
    calls: "2·r + 6",
    check,
    default_rounds: DEFAULT_ROUNDS,
    default_check: DebateSettings::DEFAULT_CHECK,
    built_in_agents: Some(2),
    system: &SYSTEM,
    closing: VERDICT,
    prompts: &[&CLARIFY, &OPEN, &QUESTION, &ANSWER, &REBUT, &CLOSE, &JUDGE],
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Begin(OPENING))),
        answers(),
        within_opening(
            CROSS_EXAMINATION,
            [
                "cross-examination",
                "cross-examinations",
                "cross-examining",
                "cross-examines",
                "cross-examined",
                "cross-examine",
            ],
        ),
        within_opening(CROSS_EXAMINATION_ANSWER, ["answer", "answers", "answering", "answers", "answered", "answer"]),
        opening(opening_info().in_turn(), constructives),
        rebuttal(rebuttal_info().in_turn()),
        closing(closing_info().in_turn(), &[Row(CLOSINGS_COMPLETE, Next::Go(VERDICT))]),
        verdict(without_votes),
    ],
};

const fn within_opening(id: StageId, words: [&'static str; 6]) -> Stage {
    kind_of_call(StageInfo::new(id, words).yielding(ResultKind::Speech).in_round().in_turn().essential())
}

fn check(settings: &Settings) -> Result<(), Unfit> {
    check_rounds(settings)?;
    let agents = settings.agents.len();
    if agents != 2 {
        let takes_part =
            if agents == 1 { "1 agent takes part".to_owned() } else { format!("{agents} agents take part") };
        let problem = format!("lincoln-douglas needs exactly two agents, but {takes_part}");
        return Err(Unfit::new(problem, "enable exactly two agents in the configuration").about("agents"));
    }
    let is_manned = |position| on_side(settings, position).next().is_some();
    if !is_manned(Position::For) || !is_manned(Position::Against) {
        let hint = "set one `position` to `for` and the other to `against`, or remove both: the first agent then \
             speaks for the motion";
        return Err(Unfit::new("lincoln-douglas needs one agent for the motion and one against it", hint));
    }
    Ok(())
}

/// After each opening, the other side cross-examines the speaker. Each call sees all earlier ones. A failed opening is
/// not examined, and failed questions get no answer.
fn constructives(debate: &Debate) -> Vec<Step> {
    let Some(settings) = &debate.settings else { return Vec::new() };
    let speakers = speakers(settings);
    let key = |stage, agent: &AgentSettings| CallKey::new(debate.current_round, stage, &agent.id);
    let mut steps: Vec<Step> = Vec::new();
    let mut add = |key: &CallKey, prompt| {
        let heard = steps.iter().map(|step| step.key.clone()).collect();
        steps.push(speech(key.clone(), heard, prompt));
        !debate.has_failed(key)
    };
    for speaker in &speakers {
        if !add(&key(OPENING, speaker), &OPEN) {
            continue;
        }
        for examiner in speakers.iter().filter(|examiner| examiner.id != speaker.id) {
            if add(&key(CROSS_EXAMINATION, examiner).about(&speaker.id), &QUESTION) {
                add(&key(CROSS_EXAMINATION_ANSWER, speaker), &ANSWER);
            }
        }
    }
    steps
}
