//! The baselines that a debate must beat: one answer, an answer that its author criticises and rewrites, and the best
//! of several answers. They are protocols, so they can be run, limited, resumed and read like any debate.

use crate::debate::Debate;
use crate::event::Event;
use crate::ids::{CallKey, CallStatus, ResultKind, StageId, StageInfo};
use crate::points::RecheckStanding;
use crate::prompt::Prompt;
use crate::settings::{AgentSettings, Settings};

use super::check::{self, AMEND, CHECK, CHECK_DUE, COMPLETE, READ};
use super::dialectic::{CRITICISE, PROPOSE, REFINE, REFINEMENT};
use super::questions::{CLARIFY, all_clear, answers, clarification, initialization};
use super::{
    BudgetClass, CRITIQUE, CRITIQUES_COMPLETE, Next, OutputSpec, PROPOSAL, PROPOSALS_COMPLETE, PromptContext, Protocol,
    Row, SYNTHESIS, Stage, Step, Trigger, Unfit, complete_or_fallback, critique_info, enough_proposals, is_last_round,
    key, keys, no_steps, nothing, proposal_info, refinement_info, synthesis_info, with_failure,
};

const CHOICE: StageId = StageId::new("choice");

const ANSWERED: Trigger = Trigger("ANSWERED");
const NOTHING_TO_MEND: Trigger = Trigger("NOTHING_TO_MEND");
const CONTINUE: Trigger = Trigger("CONTINUE");
const MAX_ROUNDS_REACHED: Trigger = Trigger("MAX_ROUNDS_REACHED");

static SOLE_AUTHOR: Prompt = prompt!("system/sole-author.md", None);
static SEVERAL_DRAWS: Prompt = prompt!("system/several-draws.md", None);
static CAST_BALLOT: Prompt = prompt!("phases/vote.md", None);

pub static SINGLE: Protocol = Protocol {
    name: "single",
    about: "one agent answers once",
    suits: "a baseline to measure what a debate adds, and a question that needs no debate",
    calls: "1, and 3 to 8 with `--check 3`",
    check: |settings| one_agent(settings, "single").and_then(|()| one_round(settings, "single")),
    default_rounds: 1,
    default_check: 0,
    built_in_agents: Some(1),
    system: &SOLE_AUTHOR,
    closing: SYNTHESIS,
    prompts: &[&CLARIFY, &PROPOSE, &READ, &AMEND],
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Begin(PROPOSAL))),
        answers(),
        first_text(&[Row(ANSWERED, Next::Go(SYNTHESIS))]),
        last_text_is_the_answer(),
        check::check_of_answer(),
        check::final_text(|debate| check::rewritten(debate, check::of_author)),
    ],
};

pub static SELF_REFINE: Protocol = Protocol {
    name: "self-refine",
    about: "one agent answers, criticises its own answer and rewrites it, until it finds nothing to fix",
    suits: "a baseline to measure what a debate adds, and a question that mainly needs care",
    calls: "at most 2·r + 1, and 3 to 8 with `--check 3`",
    check: |settings| one_agent(settings, "self-refine"),
    default_rounds: 1,
    default_check: 0,
    built_in_agents: Some(1),
    system: &SOLE_AUTHOR,
    closing: SYNTHESIS,
    prompts: &[&CLARIFY, &PROPOSE, &CRITICISE, &REFINE, &READ, &AMEND],
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Begin(PROPOSAL))),
        answers(),
        first_text(&[Row(ANSWERED, Next::Go(CRITIQUE))]),
        Stage {
            info: critique_info(),
            facts: nothing,
            steps: own_critique,
            outcome: |debate| Ok(criticised(debate)),
            rows: &[Row(CRITIQUES_COMPLETE, Next::Go(REFINEMENT)), Row(NOTHING_TO_MEND, Next::Go(SYNTHESIS))],
        },
        Stage {
            info: refinement_info(),
            facts: nothing,
            steps: own_refinement,
            outcome: |debate| Ok(refined(debate)),
            rows: &[Row(CONTINUE, Next::Begin(CRITIQUE)), Row(MAX_ROUNDS_REACHED, Next::Go(SYNTHESIS))],
        },
        last_text_is_the_answer(),
        check::check_of_answer(),
        check::final_text(|debate| check::rewritten(debate, check::of_author)),
    ],
};

pub static BEST_OF_N: Protocol = Protocol {
    name: "best-of-n",
    about: "every agent answers independently, and the judge chooses one of the answers",
    suits: "a baseline to measure what a debate adds, and a question whose answers are easier to compare than to write",
    calls: "n + 1, and 3 to 8 with `--check 3`",
    check: best_of_several,
    default_rounds: 1,
    default_check: 0,
    built_in_agents: None,
    system: &SEVERAL_DRAWS,
    closing: CHOICE,
    prompts: &[&CLARIFY, &PROPOSE, &CAST_BALLOT, &READ, &AMEND],
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Begin(PROPOSAL))),
        answers(),
        Stage {
            info: proposal_info(),
            facts: nothing,
            steps: |debate| keys(debate, debate.current_round, PROPOSAL).into_iter().map(proposal).collect(),
            outcome: |debate| enough_proposals(debate, "a choice"),
            rows: &[Row(PROPOSALS_COMPLETE, Next::Go(CHOICE))],
        },
        Stage {
            info: StageInfo::new(CHOICE, ["choice", "choices", "choosing", "chooses", "chose", "choose"])
                .yielding(ResultKind::Ballot)
                .in_round()
                .essential(),
            facts: |debate| delivered(debate, chosen),
            steps: |debate| choice(debate).into_iter().collect(),
            outcome: |debate| {
                check::ended(
                    debate,
                    CHOICE,
                    "there are no answers to choose from",
                    "the judge could not choose an answer",
                )
            },
            rows: &[Row(COMPLETE, Next::Done), Row(CHECK_DUE, Next::Go(CHECK))],
        },
        check::check_of_answer(),
        check::final_text(|debate| check::rewritten(debate, check::of_author)),
    ],
};

fn one_agent(settings: &Settings, protocol: &str) -> Result<(), Unfit> {
    let agents = settings.agents.len();
    if agents == 1 {
        return Ok(());
    }
    let problem = format!("{protocol} uses one agent, but {agents} take part");
    Err(Unfit::new(problem, "enable only one agent in the configuration").about("agents"))
}

fn one_round(settings: &Settings, protocol: &str) -> Result<(), Unfit> {
    let rounds = settings.debate.rounds;
    if rounds == 1 {
        return Ok(());
    }
    let problem = format!("{protocol} has one round, but {rounds} were requested");
    Err(Unfit::new(problem, "use the protocol self-refine, or remove `debate.rounds`").about("debate.rounds"))
}

fn best_of_several(settings: &Settings) -> Result<(), Unfit> {
    if settings.agents.len() < 2 {
        let problem = "best-of-n needs at least two agents, but only one takes part";
        return Err(Unfit::new(problem, "enable more agents in the configuration").about("agents"));
    }
    one_round(settings, "best-of-n")
}

const fn first_text(rows: &'static [Row]) -> Stage {
    Stage {
        info: proposal_info(),
        facts: nothing,
        steps: |debate| match author(debate) {
            Some(author) => vec![proposal(CallKey::new(1, PROPOSAL, &author.id))],
            None => Vec::new(),
        },
        outcome: |debate| match last_text(debate) {
            Some(_) => Ok(ANSWERED),
            None => Err(with_failure(debate, PROPOSAL, "there is no answer")),
        },
        rows,
    }
}

/// A stage without calls: the author's last text becomes the answer, or the draft if it must be checked.
const fn last_text_is_the_answer() -> Stage {
    Stage {
        info: synthesis_info(),
        facts: |debate| delivered(debate, last_text),
        steps: no_steps,
        outcome: |debate| check::ended(debate, CHOICE, "there is no answer", "there is no answer"),
        rows: &[Row(COMPLETE, Next::Done), Row(CHECK_DUE, Next::Go(CHECK))],
    }
}

fn proposal(key: CallKey) -> Step {
    Step::new(key, &PROPOSE, OutputSpec::Text)
}

fn author(debate: &Debate) -> Option<&AgentSettings> {
    debate.team().into_iter().next()
}

/// The call that writes the author's text in `round`. In round 0, this is the proposal.
fn text_after(round: u32, author: &AgentSettings) -> CallKey {
    match round {
        0 => CallKey::new(1, PROPOSAL, &author.id),
        round => CallKey::new(round, REFINEMENT, &author.id),
    }
}

fn last_text_after(debate: &Debate, round: u32) -> Option<CallKey> {
    let author = author(debate)?;
    let mut texts = (0..=round).rev().map(|round| text_after(round, author));
    texts.find(|text| debate.settled(text) == Some(CallStatus::Done))
}

fn last_text(debate: &Debate) -> Option<CallKey> {
    last_text_after(debate, debate.current_round)
}

/// The text that the current round criticises: the author's last finished text, or the first one while it is pending.
/// `None` if the first text failed.
fn criticised_text(debate: &Debate, author: &AgentSettings) -> Option<CallKey> {
    let before = debate.current_round.saturating_sub(1);
    last_text_after(debate, before).or_else(|| Some(text_after(0, author)).filter(|first| !debate.has_failed(first)))
}

fn critique_key(debate: &Debate, author: &AgentSettings) -> CallKey {
    key(debate, CRITIQUE, author).about(&author.id)
}

fn own_critique(debate: &Debate) -> Vec<Step> {
    let step = author(debate).and_then(|author| {
        let critique = Step::new(critique_key(debate, author), &CRITICISE, OutputSpec::Text);
        Some(critique.after([criticised_text(debate, author)?]))
    });
    step.into_iter().collect()
}

/// Whether the critique raises no points and maintains no earlier ones. False if the critique failed or could not be
/// parsed.
fn finds_nothing(debate: &Debate, author: &AgentSettings) -> bool {
    let critique = debate.contribution(&critique_key(debate, author));
    let reading = critique.and_then(|critique| critique.reading.as_ref());
    reading.is_some_and(|reading| {
        let maintains = reading.rechecks.iter().any(|one| one.verdict == RecheckStanding::Maintained);
        reading.points.as_ref().is_some_and(Vec::is_empty) && reading.unread == 0 && !maintains
    })
}

fn criticised(debate: &Debate) -> Trigger {
    if author(debate).is_some_and(|author| finds_nothing(debate, author)) {
        return NOTHING_TO_MEND;
    }
    complete_or_fallback(debate, CRITIQUE, CRITIQUES_COMPLETE)
}

fn own_refinement(debate: &Debate) -> Vec<Step> {
    let Some(author) = author(debate) else { return Vec::new() };
    let critique = critique_key(debate, author);
    if debate.has_failed(&critique) || finds_nothing(debate, author) {
        return Vec::new();
    }
    let Some(text) = criticised_text(debate, author) else { return Vec::new() };
    let refinement = Step::new(key(debate, REFINEMENT, author), &REFINE, OutputSpec::Text);
    vec![refinement.after([text, critique])]
}

/// Stops the debate if the round produced no new text, because the next round would criticise the same text again.
fn refined(debate: &Debate) -> Trigger {
    let is_new = author(debate)
        .is_some_and(|author| debate.settled(&text_after(debate.current_round, author)) == Some(CallStatus::Done));
    match (is_new, is_last_round(debate)) {
        (true, false) => CONTINUE,
        (true, true) => MAX_ROUNDS_REACHED,
        (false, _) => Trigger::STOP,
    }
}

/// The call in which the judge chooses among the finished and pending answers. `None` if there are fewer than two
/// answers.
fn choice(debate: &Debate) -> Option<Step> {
    let settings = debate.settings.as_ref()?;
    let mut proposals = keys(debate, debate.current_round, PROPOSAL);
    // Once the choice is the current stage, proposals that have not ended will not be requested any more.
    let is_closing = debate.current_stage == Some(CHOICE);
    proposals.retain(|key| match debate.settled(key) {
        Some(status) => status == CallStatus::Done,
        None => !is_closing,
    });
    if proposals.len() < 2 {
        return None;
    }
    let ballot = Step::new(key(debate, CHOICE, &settings.judge), &CAST_BALLOT, OutputSpec::Choice).after(proposals);
    Some(ballot.showing(PromptContext::Candidates { salt: 0 }).paid(BudgetClass::Closing))
}

fn chosen(debate: &Debate) -> Option<CallKey> {
    let settings = debate.settings.as_ref()?;
    let ballot = debate.contribution(&key(debate, CHOICE, &settings.judge));
    let mut proposals = keys(debate, debate.current_round, PROPOSAL);
    proposals.retain(|key| debate.settled(key) == Some(CallStatus::Done));
    match ballot.and_then(|ballot| ballot.target_agent_id.as_ref()) {
        Some(chosen) => proposals.into_iter().find(|key| key.agent_id == *chosen),
        None => proposals.pop().filter(|_| proposals.is_empty() && choice(debate).is_none()),
    }
}

fn delivered(debate: &Debate, which: fn(&Debate) -> Option<CallKey>) -> Vec<Event> {
    if debate.draft.is_some() || debate.final_solution.is_some() {
        return check::stands(debate, false);
    }
    let Some(text) = which(debate).and_then(|key| debate.contribution(&key)) else { return Vec::new() };
    vec![check::delivered(debate, text, check::of_author(text))]
}
