//! A motion before an audience: in each stage both sides speak at the same time, and the audience votes before and
//! after.

use std::fmt::Write;

use crate::answer::Polls;
use crate::debate::Debate;
use crate::ids::{AgentId, CallKey, ResultKind, StageId, StageInfo};
use crate::prompt::Prompt;
use crate::settings::{DebateSettings, Position, Settings};
use dialectic_base::markdown::{cell, inline};

use super::motion::{
    CLOSE, CLOSING, CLOSINGS_COMPLETE, DEFAULT_ROUNDS, OPEN, OPENING, REBUT, SYSTEM, check_rounds, closing,
    closing_info, on_side, opening, opening_info, rebuttal, rebuttal_info, speeches,
};
use super::questions::{CLARIFY, all_clear, answers, clarification, initialization};
use super::verdict::{JUDGE, VERDICT, judged, verdict};
use super::{BudgetClass, Next, OutputSpec, PromptContext, Protocol, Row, Stage, Step, Trigger, Unfit, key, nothing};

const POLL_BEFORE: StageId = StageId::new("poll-before");
const POLL_AFTER: StageId = StageId::new("poll-after");

const POLLED: Trigger = Trigger("POLLED");

static VOTE: Prompt = prompt!("motion/poll.md", None);

const FOR: &str = "for";
const AGAINST: &str = "against";
const UNDECIDED: &str = "undecided";

/// `$when` is a time such as `before the debate`.
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

pub static OXFORD: Protocol = Protocol {
    name: "oxford",
    about: "two sides debate a motion, an audience votes before and after, and the judge decides",
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
        verdict(|debate| judged(debate, describe)),
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
            let problem = format!("oxford needs agents on both sides, but nobody speaks {name} the motion");
            let hint = "set `position` to `for` for one agent and to `against` for another; without positions, the \
                 first agent speaks for the motion and the second against it";
            return Err(Unfit::new(problem, hint));
        }
    }
    Ok(())
}

/// Returns only closings that have ended, because some were never requested if the last round ran out of time.
fn closings(debate: &Debate) -> Vec<CallKey> {
    let closings = speeches(debate, CLOSING, &CLOSE).into_iter().map(|step| step.key);
    closings.filter(|closing| debate.settled(closing).is_some()).collect()
}

fn poll(debate: &Debate, stage: StageId, shows: PromptContext, inputs: &[CallKey]) -> Vec<Step> {
    let audience = debate.settings.iter().flat_map(|settings| on_side(settings, Position::Neutral));
    let step = |voter| {
        let vote = Step::new(key(debate, stage, voter), &VOTE, OutputSpec::Word(&[FOR, AGAINST, UNDECIDED]));
        vote.after(inputs.to_vec()).showing(shows).paid(BudgetClass::Extra)
    };
    audience.map(step).collect()
}

fn describe(debate: &Debate) -> String {
    let (Some(settings), Some(polls)) = (&debate.settings, Polls::of(debate)) else { return String::new() };
    let mut text = "\n### Audience\n\n| voter | before | after |\n| --- | --- | --- |\n".to_owned();
    for voter in on_side(settings, Position::Neutral) {
        let [before, after] = [POLL_BEFORE, POLL_AFTER].map(|stage| {
            let poll = polls.held.iter().find(|poll| poll.stage == stage);
            poll.and_then(|poll| poll.votes.get(&voter.id)).map_or("no vote", String::as_str)
        });
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} | {before} | {after} |", cell(&voter.name));
    }
    text.push('\n');
    let mut counted = 0;
    for (name, what) in [(FOR, "for the motion"), (AGAINST, "against the motion"), (UNDECIDED, UNDECIDED)] {
        let choice = polls.choices.iter().find(|choice| choice.name == name);
        let (before, after) = match choice.map(|choice| choice.votes.as_slice()) {
            Some([before, after]) => (*before, *after),
            Some(_) | None => (0, 0),
        };
        let sign = if after < before { '-' } else { '+' };
        let _ = writeln!(text, "- {what}: {before} before, {after} after ({sign}{})", after.abs_diff(before));
        counted += before;
    }
    let is_uncounted =
        |id: &AgentId| if polls.is_compared() { polls.uncounted.contains(&id) } else { polls.voters.contains(id) };
    let names = settings.agents.iter().filter(|agent| is_uncounted(&agent.id)).map(|agent| inline(&agent.name));
    let names: Vec<_> = names.collect();
    if !names.is_empty() {
        let _ = writeln!(text, "- not counted, because a vote before or after is missing: {}", names.join(", "));
    }
    let result = match polls.gained_most() {
        Some(FOR) => "The side for the motion wins the floor vote: it gained more votes or lost fewer.",
        Some(_) => "The side against the motion wins the floor vote: it gained more votes or lost fewer.",
        None if counted > 0 && names.is_empty() => {
            "The floor vote is a tie: the votes of both sides changed by the same number."
        }
        None if counted > 0 => "Nobody wins the floor vote: the missing votes could have decided it.",
        None => "There is no floor vote: no agent voted both before and after the debate.",
    };
    let _ = writeln!(text, "\n{result}");
    text
}
