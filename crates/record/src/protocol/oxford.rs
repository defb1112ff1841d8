//! A motion before an audience: both sides speak concurrently in each stage, and the audience votes before and after.

use std::fmt::Write;

use crate::debate::{
    AgentId, AgentSettings, CallKey, Debate, DebateSettings, Poll, Position, ResultKind, Settings, StageId, StageInfo,
};
use crate::prompt::Prompt;
use dialectic_base::markdown::{cell, inline};

use super::motion::{
    CLOSE, CLOSING, CLOSINGS_COMPLETE, DEFAULT_ROUNDS, OPEN, OPENING, REBUT, SYSTEM, check_rounds, closing,
    closing_info, on_side, opening, opening_info, rebuttal, rebuttal_info, speeches,
};
use super::verdict::{JUDGE, VERDICT, verdict};
use super::{
    BudgetClass, CLARIFY, Next, OutputSpec, PromptContext, Protocol, Row, Stage, Step, Trigger, Unfit, all_clear,
    answers, clarification, initialization, key, nothing,
};

const POLL_BEFORE: StageId = StageId::new("poll-before");
const POLL_AFTER: StageId = StageId::new("poll-after");

const POLLED: Trigger = Trigger("POLLED");

static VOTE: Prompt = prompt!("motion/poll.md", None);

const FOR: &str = "for";
const AGAINST: &str = "against";
const UNDECIDED: &str = "undecided";

/// The words for a vote at that time.
macro_rules! votes {
    ($when:literal) => {
        [
            concat!("vote ", $when),
            concat!("votes ", $when),
            concat!("voting ", $when),
            concat!("votes ", $when),
            concat!("voted ", $when),
            concat!("vote ", $when),
        ]
    };
}

/// Two sides speak concurrently, an audience votes before and after; the judge decides.
pub static OXFORD: Protocol = Protocol {
    name: "oxford",
    about: "two sides speak on a motion, an audience votes before and after; the judge decides",
    suits: "a decision with two sides, where persuading others matters",
    calls: "d·r + 2·(n - d) + 2, where d of the n agents are on a side",
    check,
    default_rounds: DEFAULT_ROUNDS,
    default_check: DebateSettings::DEFAULT_CHECK,
    built_in_agents: None,
    system: &SYSTEM,
    closing: VERDICT,
    prompts: &[&CLARIFY, &VOTE, &OPEN, &REBUT, &CLOSE, &JUDGE],
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Go(POLL_BEFORE))),
        answers(),
        poll_stage(
            POLL_BEFORE,
            votes!("before the debate"),
            |debate| poll(debate, POLL_BEFORE, PromptContext::Inputs, &[]),
            &[Row(POLLED, Next::Begin(OPENING))],
        ),
        opening(opening_info(), |debate| speeches(debate, OPENING, &OPEN)),
        rebuttal(rebuttal_info()),
        closing(closing_info(), &[Row(CLOSINGS_COMPLETE, Next::Go(POLL_AFTER))]),
        poll_stage(
            POLL_AFTER,
            votes!("after the debate"),
            |debate| poll(debate, POLL_AFTER, PromptContext::Transcript, &closings(debate)),
            &[Row(POLLED, Next::Go(VERDICT))],
        ),
        verdict(),
    ],
};

const fn poll_stage(
    id: StageId,
    words: [&'static str; 6],
    steps: fn(&Debate) -> Vec<Step>,
    rows: &'static [Row],
) -> Stage {
    let info = StageInfo::new(id, words).yielding(ResultKind::Ballot);
    Stage { info, facts: nothing, steps, outcome: |_| Ok(POLLED), rows }
}

fn check(settings: &Settings) -> Result<(), Unfit> {
    check_rounds(settings)?;
    for (position, name) in [(Position::For, FOR), (Position::Against, AGAINST)] {
        if on_side(settings, position).next().is_none() {
            let problem = format!("oxford needs agents on both sides, and no one speaks {name} the motion");
            let hint = "set `position` to for and to against for one agent each; without positions, the first agent \
                 speaks for the motion and the second against it";
            return Err(Unfit::new(problem, hint));
        }
    }
    Ok(())
}

/// The closings that were held or missed; if the last round's time is over, some were never requested.
fn closings(debate: &Debate) -> Vec<CallKey> {
    let closings = speeches(debate, CLOSING, &CLOSE).into_iter().map(|step| step.key);
    closings.filter(|closing| debate.settled(closing).is_some()).collect()
}

/// The audience votes after it has heard `inputs` and all earlier rounds.
fn poll(debate: &Debate, stage: StageId, shows: PromptContext, inputs: &[CallKey]) -> Vec<Step> {
    let audience = debate.settings.iter().flat_map(|settings| on_side(settings, Position::Neutral));
    let step = |voter| {
        let vote = Step::new(key(debate, stage, voter), &VOTE, OutputSpec::Word(&[FOR, AGAINST, UNDECIDED]));
        vote.after(inputs.to_vec()).showing(shows).paid(BudgetClass::Extra)
    };
    audience.map(step).collect()
}

/// The debate's effect on its audience. Members who voted only once are not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FloorVote {
    /// The votes for the motion before and after.
    pub in_favour: [usize; 2],
    /// The votes against it.
    pub opposed: [usize; 2],
    /// The undecided votes.
    pub undecided: [usize; 2],
    /// Members with a missing vote.
    pub uncounted: Vec<AgentId>,
    /// The side that gained most, regardless of uncounted votes; `None` if that is uncertain.
    pub winner: Option<Position>,
}

/// The audience's votes before and after; `None` without an audience or votes.
pub fn floor_vote(debate: &Debate) -> Option<FloorVote> {
    let settings = debate.settings.as_ref().filter(|_| !debate.polls.is_empty())?;
    let vote = |stage, voter: &AgentSettings| poll_of(debate, stage)?.votes.get(&voter.id).map(String::as_str);
    let mut counted = Vec::new();
    let mut uncounted = Vec::new();
    for voter in on_side(settings, Position::Neutral) {
        match (vote(POLL_BEFORE, voter), vote(POLL_AFTER, voter)) {
            (Some(before), Some(after)) => counted.push([before, after]),
            (None, _) | (_, None) => uncounted.push(voter.id.clone()),
        }
    }
    let count = |choice: &str| [0, 1].map(|poll| counted.iter().filter(|votes| votes[poll] == choice).count());
    let (in_favour, opposed, undecided) = (count(FOR), count(AGAINST), count(UNDECIDED));
    // Compares sums instead of differences. An uncounted voter may have changed sides, which shifts the difference by
    // two.
    let (gained, lost) = (in_favour[1] + opposed[0], opposed[1] + in_favour[0]);
    let is_certain = gained.abs_diff(lost) > 2 * uncounted.len();
    let ahead = if gained > lost { Position::For } else { Position::Against };
    let winner = is_certain.then_some(ahead);
    Some(FloorVote { in_favour, opposed, undecided, uncounted, winner })
}

fn poll_of(debate: &Debate, stage: StageId) -> Option<&Poll> {
    debate.polls.iter().find(|poll| poll.stage == stage)
}

/// A Markdown section on the audience's votes; empty without any.
pub(super) fn describe(debate: &Debate) -> String {
    let (Some(settings), Some(floor)) = (&debate.settings, floor_vote(debate)) else { return String::new() };
    let mut text = "\n### Audience\n\n| voter | before | after |\n| --- | --- | --- |\n".to_owned();
    // Writing to a string cannot fail.
    for voter in on_side(settings, Position::Neutral) {
        let vote =
            |stage| poll_of(debate, stage).and_then(|poll| poll.votes.get(&voter.id)).map_or("no vote", String::as_str);
        let _ = writeln!(text, "| {} | {} | {} |", cell(&voter.name), vote(POLL_BEFORE), vote(POLL_AFTER));
    }
    let swing = |[before, after]: [usize; 2]| {
        let sign = if after < before { '-' } else { '+' };
        format!("{before} before, {after} after ({sign}{})", after.abs_diff(before))
    };
    let _ = writeln!(text, "\n- for the motion: {}", swing(floor.in_favour));
    let _ = writeln!(text, "- against the motion: {}", swing(floor.opposed));
    let _ = writeln!(text, "- undecided: {}", swing(floor.undecided));
    let names: Vec<_> = settings.agents.iter().filter(|agent| floor.uncounted.contains(&agent.id)).collect();
    if !names.is_empty() {
        let names: Vec<_> = names.into_iter().map(|agent| inline(&agent.name)).collect();
        let _ = writeln!(text, "- not counted, with no vote before or none after: {}", names.join(", "));
    }
    let counted: usize = [floor.in_favour, floor.opposed, floor.undecided].map(|votes| votes[0]).iter().sum();
    let result = match floor.winner {
        Some(Position::For) => "The floor vote goes to the side for the motion, which gained most.",
        Some(Position::Against) => "The floor vote goes to the side against the motion, which gained most.",
        Some(Position::Neutral) | None if counted > 0 && floor.uncounted.is_empty() => {
            "The floor vote is a tie: both sides gained the same."
        }
        Some(Position::Neutral) | None if counted > 0 => {
            "Nobody has the floor vote: the votes that are missing could have decided it."
        }
        Some(Position::Neutral) | None => "There is no floor vote: no agent voted both before and after the debate.",
    };
    let _ = writeln!(text, "\n{result}");
    text
}
