//! The default protocol: rounds of proposals, critiques and refinements, then a synthesis.

use crate::debate::{Debate, Evaluation};
use crate::event::Event;
use crate::ids::{CallKey, CallStatus, ResultKind, StageId, StageInfo};
use crate::prompt::Prompt;
use crate::settings::{AgentSettings, DebateSettings, TerminationKind, TerminationSettings};

use super::check::{self, CHECK, CHECK_DUE, COMPLETE, FINALISE, READ};
use super::questions::{CLARIFY, all_clear, answers, clarification, initialization};
use super::{
    Authorship, BudgetClass, CRITIQUE, CRITIQUES_COMPLETE, Next, OutputSpec, PROPOSAL, PROPOSALS_COMPLETE,
    PromptContext, Protocol, Row, SYNTHESIS, Stage, Step, Trigger, complete_or_fallback, critique_info,
    enough_proposals, has_timed_out, is_last_round, key, kind_of_call, no_steps, nothing, proposal_info,
    refinement_info, synthesis_info,
};

const ROUND_MANAGER: StageId = StageId::new("round-manager");
const SUMMARIZATION: StageId = StageId::new("summarization");
pub(super) const REFINEMENT: StageId = StageId::new("refinement");
const EVALUATION: StageId = StageId::new("evaluation");
const JUDGE_SUMMARY: StageId = StageId::new("judge-summary");

const BEGIN_ROUND: Trigger = Trigger("BEGIN_ROUND");
const MAX_ROUNDS_REACHED: Trigger = Trigger("MAX_ROUNDS_REACHED");
const CONTEXTS_READY: Trigger = Trigger("CONTEXTS_READY");
const REFINEMENTS_COMPLETE: Trigger = Trigger("REFINEMENTS_COMPLETE");
const CONTINUE: Trigger = Trigger("CONTINUE");
const CONSENSUS_REACHED: Trigger = Trigger("CONSENSUS_REACHED");

static SYSTEM: Prompt = prompt!("system/dialectic.md", None);
static SUMMARIZE: Prompt = prompt!("phases/summarize.md", Summarize);
pub(super) static PROPOSE: Prompt = prompt!("phases/propose.md", Propose);
pub(super) static CRITICISE: Prompt = prompt!("phases/critique.md", Critique);
pub(super) static REFINE: Prompt = prompt!("phases/refine.md", Refine);
static SCORE_CONVERGENCE: Prompt = prompt!("judge/evaluate-convergence.md", None);
static SCORE_QUALITY: Prompt = prompt!("judge/evaluate-quality.md", None);
static SUMMARIZE_EARLIER: Prompt = prompt!("judge/summarize.md", Summarize);
static SYNTHESIZE: Prompt = prompt!("judge/synthesize.md", None);

/// The salt for shuffling the texts that the judge scores. The round is added to it.
const EVALUATION_SALT: u32 = 2 << 16;

pub static DIALECTIC: Protocol = Protocol {
    name: "dialectic",
    about: "agents propose, criticise each other and refine, round by round; the judge writes the answer",
    suits: "a design question that deserves different perspectives",
    calls: "n + r·n² + 1, and 3 to 8 for the check",
    check: |_| Ok(()),
    default_rounds: 3,
    default_check: DebateSettings::DEFAULT_CHECK,
    built_in_agents: None,
    system: &SYSTEM,
    closing: SYNTHESIS,
    prompts: &[
        &CLARIFY,
        &SUMMARIZE,
        &PROPOSE,
        &CRITICISE,
        &REFINE,
        &SCORE_CONVERGENCE,
        &SCORE_QUALITY,
        &SUMMARIZE_EARLIER,
        &SYNTHESIZE,
        &READ,
        &FINALISE,
    ],
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Go(ROUND_MANAGER))),
        answers(),
        Stage {
            info: StageInfo::new(ROUND_MANAGER, ["round", "rounds", "planning", "plans", "planned", "plan"]),
            facts: nothing,
            steps: no_steps,
            outcome: |debate| Ok(if is_last_round(debate) { MAX_ROUNDS_REACHED } else { BEGIN_ROUND }),
            rows: &[Row(BEGIN_ROUND, Next::Begin(SUMMARIZATION)), Row(MAX_ROUNDS_REACHED, Next::Go(SYNTHESIS))],
        },
        Stage {
            info: StageInfo::new(
                SUMMARIZATION,
                ["summary", "summaries", "summarizing", "summarizes", "summarized", "summarize"],
            )
            .yielding(ResultKind::Summary)
            .in_round(),
            facts: nothing,
            steps: summaries,
            outcome: |debate| Ok(complete_or_fallback(debate, SUMMARIZATION, CONTEXTS_READY)),
            rows: &[Row(CONTEXTS_READY, Next::Go(PROPOSAL))],
        },
        Stage {
            info: proposal_info(),
            facts: carried_over,
            steps: proposals,
            outcome: |debate| enough_proposals(debate, "a debate"),
            rows: &[Row(PROPOSALS_COMPLETE, Next::Go(CRITIQUE))],
        },
        Stage {
            info: critique_info(),
            facts: nothing,
            steps: critiques,
            outcome: |debate| Ok(complete_or_fallback(debate, CRITIQUE, CRITIQUES_COMPLETE)),
            rows: &[Row(CRITIQUES_COMPLETE, Next::Go(REFINEMENT))],
        },
        Stage {
            info: refinement_info(),
            facts: nothing,
            steps: refinements,
            outcome: |debate| Ok(complete_or_fallback(debate, REFINEMENT, REFINEMENTS_COMPLETE)),
            rows: &[Row(REFINEMENTS_COMPLETE, Next::Go(EVALUATION))],
        },
        Stage {
            info: StageInfo::new(
                EVALUATION,
                ["evaluation", "evaluations", "evaluating", "evaluates", "evaluated", "evaluate"],
            )
            .yielding(ResultKind::Score)
            .in_round(),
            facts: missing_score,
            steps: evaluation,
            outcome: |debate| Ok(whether_to_go_on(debate)),
            rows: &[
                Row(CONTINUE, Next::Go(ROUND_MANAGER)),
                Row(CONSENSUS_REACHED, Next::Go(SYNTHESIS)),
                Row(MAX_ROUNDS_REACHED, Next::Go(SYNTHESIS)),
            ],
        },
        kind_of_call(
            StageInfo::new(
                JUDGE_SUMMARY,
                [
                    "summary",
                    "summaries",
                    "summarizing earlier rounds",
                    "summarizes earlier rounds",
                    "summarized earlier rounds",
                    "summarize earlier rounds",
                ],
            )
            .yielding(ResultKind::Summary),
        ),
        Stage {
            info: synthesis_info(),
            facts: |debate| check::stands(debate, false),
            steps: closing,
            outcome: |debate| {
                let nothing = "there are no proposals to base a solution on";
                check::ended(debate, SYNTHESIS, nothing, "the judge could not write the solution")
            },
            rows: &[Row(COMPLETE, Next::Done), Row(CHECK_DUE, Next::Go(CHECK))],
        },
        check::check_of_answer(),
        check::final_text(check::finalised),
    ],
};

fn rules(debate: &Debate) -> Option<&DebateSettings> {
    debate.settings.as_ref().map(|settings| &settings.debate)
}

/// Whether an agent summarizes its history at the start of this round. After the summarization stage, no further
/// summaries are requested.
fn is_summary_due(debate: &Debate, agent: &AgentSettings) -> bool {
    let own = key(debate, SUMMARIZATION, agent);
    if debate.settled(&own).is_some() {
        return true;
    }
    let rules = &agent.summarization;
    debate.current_stage == Some(SUMMARIZATION)
        && debate.current_round > 1
        && rules.enabled
        && debate.own_texts_reach(rules.threshold, &agent.id, debate.current_round)
}

fn summaries(debate: &Debate) -> Vec<Step> {
    let due = debate.agents().iter().filter(|agent| is_summary_due(debate, agent));
    let summary = |agent| Step::new(key(debate, SUMMARIZATION, agent), &SUMMARIZE, OutputSpec::Summary);
    due.map(|agent| summary(agent).showing(PromptContext::OwnTexts)).collect()
}

/// The call that summarizes the agent's history, if the agent's prompts must wait for it.
fn own_summary(debate: &Debate, agent: &AgentSettings) -> Option<CallKey> {
    is_summary_due(debate, agent).then(|| key(debate, SUMMARIZATION, agent))
}

/// Turns the previous round's refinements into the current round's proposals.
fn carried_over(debate: &Debate) -> Vec<Event> {
    let Some(before) = debate.current_round.checked_sub(1).and_then(|before| debate.round(before)) else {
        return Vec::new();
    };
    let missing = debate.agents().iter().filter(|agent| debate.settled(&key(debate, PROPOSAL, agent)).is_none());
    let carried = missing.filter_map(|agent| {
        let refinement = before.find(REFINEMENT, &agent.id, None)?;
        let contribution = refinement.carried_over(PROPOSAL, &agent.model).into();
        Some(Event::Contributed { key: key(debate, PROPOSAL, agent), contribution, call: None })
    });
    carried.collect()
}

fn text(key: CallKey, prompt: &'static Prompt) -> Step {
    Step::new(key, prompt, OutputSpec::Text).showing(PromptContext::InputsAndHistory)
}

fn proposals(debate: &Debate) -> Vec<Step> {
    let before = debate.current_round.saturating_sub(1);
    let step = |agent: &AgentSettings| {
        let again = || format!("{} did not write a refinement in round {before}; asking for a new proposal", agent.id);
        let proposal = text(key(debate, PROPOSAL, agent), &PROPOSE).after(own_summary(debate, agent));
        Step { notice: (before > 0).then(again), ..proposal }
    };
    debate.agents().iter().map(step).collect()
}

fn critiques(debate: &Debate) -> Vec<Step> {
    let mut steps = Vec::new();
    let team = debate.team();
    for target in &team {
        let proposal = key(debate, PROPOSAL, target);
        if debate.has_failed(&proposal) {
            continue;
        }
        for critic in debate.critics_of(&target.id) {
            let critique = text(key(debate, CRITIQUE, critic).about(&target.id), &CRITICISE);
            steps.push(critique.after([proposal.clone()]).after(own_summary(debate, critic)));
        }
    }
    steps
}

fn refinements(debate: &Debate) -> Vec<Step> {
    let team = debate.team();
    let authors = team.iter().filter(|agent| !debate.has_failed(&key(debate, PROPOSAL, agent)));
    let step = |agent: &&AgentSettings| {
        let critics = debate.critics_of(&agent.id).into_iter();
        let critiques = critics.map(|critic| key(debate, CRITIQUE, critic).about(&agent.id));
        let refinement = text(key(debate, REFINEMENT, agent), &REFINE).after([key(debate, PROPOSAL, agent)]);
        refinement.after(critiques).after(own_summary(debate, agent))
    };
    authors.map(step).collect()
}

/// For each agent, the call that writes its position at the end of this round: the refinement, or else the proposal.
fn positions(debate: &Debate) -> Vec<CallKey> {
    let timed_out = has_timed_out(debate);
    let position = |agent: &AgentSettings| {
        let (proposal, refinement) = (key(debate, PROPOSAL, agent), key(debate, REFINEMENT, agent));
        match (debate.settled(&proposal), debate.settled(&refinement)) {
            (Some(CallStatus::Failed), _) => None,
            (proposed, Some(CallStatus::Failed)) => proposed.map(|_| proposal),
            (proposed, None) if timed_out => proposed.map(|_| proposal),
            (_, Some(CallStatus::Done | CallStatus::Empty) | None) => Some(refinement),
        }
    };
    debate.agents().iter().filter_map(position).collect()
}

/// The judge scores the round if a score can end the debate. Otherwise, if the earlier rounds are long, the judge
/// summarizes them during the last round, so that the summary is ready for the synthesis.
fn evaluation(debate: &Debate) -> Vec<Step> {
    let (Some(settings), Some(rules)) = (&debate.settings, rules(debate)) else { return Vec::new() };
    let TerminationSettings { kind, min_rounds, .. } = rules.termination_condition;
    if debate.current_round < min_rounds && !is_last_round(debate) {
        return Vec::new();
    }
    let prompt = match kind {
        TerminationKind::Fixed | TerminationKind::Resolved => {
            let is_final = debate.final_round().is_some_and(|round| round.round_number == debate.current_round);
            return if is_last_round(debate) && is_final {
                judge_summary(debate).into_iter().collect()
            } else {
                Vec::new()
            };
        }
        TerminationKind::Convergence => &SCORE_CONVERGENCE,
        TerminationKind::Quality => &SCORE_QUALITY,
    };
    let score = Step::new(key(debate, EVALUATION, &settings.judge), prompt, OutputSpec::Score(kind));
    let shows = PromptContext::Candidates { salt: EVALUATION_SALT + debate.current_round };
    vec![score.after(positions(debate)).showing(shows).paid(BudgetClass::Decision)]
}

fn missing_score(debate: &Debate) -> Vec<Event> {
    let Some(settings) = &debate.settings else { return Vec::new() };
    let key = key(debate, EVALUATION, &settings.judge);
    let has_one = debate.round(debate.current_round).is_none_or(|round| round.evaluation.is_some());
    if has_one || !debate.has_failed(&key) {
        return Vec::new();
    }
    let condition = settings.debate.termination_condition;
    let evaluation = Evaluation { kind: condition.kind, score: None, threshold: condition.threshold };
    vec![Event::Evaluated { key, evaluation, call: None }]
}

fn whether_to_go_on(debate: &Debate) -> Trigger {
    let score = debate.round(debate.current_round).and_then(|round| round.evaluation.as_ref());
    let condition = rules(debate).map(|rules| rules.termination_condition);
    let reached = match condition.filter(|condition| debate.current_round >= condition.min_rounds) {
        Some(condition) if condition.kind == TerminationKind::Resolved => debate.is_resolved(debate.current_round),
        Some(_) => score.is_some_and(|of| of.score.is_some_and(|score| score >= of.threshold)),
        None => false,
    };
    match (reached, is_last_round(debate)) {
        (true, _) => CONSENSUS_REACHED,
        (false, true) => MAX_ROUNDS_REACHED,
        (false, false) => CONTINUE,
    }
}

fn closing(debate: &Debate) -> Vec<Step> {
    let Some(settings) = debate.settings.as_ref().filter(|_| debate.final_round().is_some()) else {
        return Vec::new();
    };
    let summary = judge_summary(debate);
    let solution =
        Step::new(key(debate, SYNTHESIS, &settings.judge), &SYNTHESIZE, OutputSpec::Solution(Authorship::Judge))
            .after(summary.iter().map(|step| step.key.clone()))
            .showing(PromptContext::WholeDebate)
            .paid(BudgetClass::Closing)
            .delivered(check::delivery(debate));
    summary.into_iter().chain([solution]).collect()
}

fn judge_summary(debate: &Debate) -> Option<Step> {
    let judge = &debate.settings.as_ref()?.judge;
    let key = key(debate, JUDGE_SUMMARY, judge);
    let rules = &judge.summarization;
    let is_due = debate.settled(&key).is_some()
        || (debate.judge_summary.is_none() && rules.enabled && debate.earlier_text_length() >= rules.threshold.max(1));
    let summary = Step::new(key, &SUMMARIZE_EARLIER, OutputSpec::Summary);
    is_due.then(|| summary.showing(PromptContext::EarlierRounds).paid(BudgetClass::Closing))
}
