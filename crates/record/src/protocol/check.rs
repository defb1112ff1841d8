//! The check of the answer: checkers examine a draft, each for one kind of fault (its lens), and the draft is rewritten
//! if they find serious faults. The protocols in which agents write proposals share these stages.

use std::sync::Arc;

use crate::answer::Solution;
use crate::debate::{Contribution, Debate, Draft, Metadata, StopReason};
use crate::event::Event;
use crate::ids::{AgentId, CallKey, ResultKind, StageId, StageInfo};
use crate::prompt::Prompt;
use crate::settings::AgentSettings;

use super::{
    Authorship, BudgetClass, Delivery, Next, OutputSpec, PromptContext, Row, Stage, Step, Trigger, with_failure,
};

pub const CHECK: StageId = StageId::new("check");
pub const FINAL: StageId = StageId::new("final");

pub(super) const CHECK_DUE: Trigger = Trigger("CHECK_DUE");
const POINTS_RAISED: Trigger = Trigger("POINTS_RAISED");
/// The author abandoned the draft's approach, so the final text is a new draft and must be checked.
const APPROACH_CHANGED: Trigger = Trigger("APPROACH_CHANGED");
pub(super) const COMPLETE: Trigger = Trigger("COMPLETE");

pub(super) static READ: Prompt = prompt!("check/check.md", None);
pub(super) static FINALISE: Prompt = prompt!("check/finalise.md", None);
pub(super) static AMEND: Prompt = prompt!("check/amend.md", Refine);

pub(super) const fn check_of_answer() -> Stage {
    let words = ["check", "checks", "checking", "checks", "checked", "check"];
    Stage {
        info: StageInfo::new(CHECK, words).yielding(ResultKind::Check),
        facts: |debate| stands(debate, !is_faulted(debate)),
        steps,
        outcome: |debate| Ok(if is_faulted(debate) { POINTS_RAISED } else { COMPLETE }),
        rows: &[Row(POINTS_RAISED, Next::Go(FINAL)), Row(COMPLETE, Next::Done)],
    }
}

pub(super) const fn final_text(facts: fn(&Debate) -> Vec<Event>) -> Stage {
    let words = [
        "final text",
        "final texts",
        "writing the final text",
        "writes the final text",
        "wrote the final text",
        "write the final text",
    ];
    Stage {
        info: StageInfo::new(FINAL, words).yielding(ResultKind::Solution),
        facts,
        steps: |debate| rewrite(debate).into_iter().collect(),
        outcome: |debate| match debate.final_solution {
            Some(_) => Ok(COMPLETE),
            None if is_unread(debate) => Ok(APPROACH_CHANGED),
            None => Err("there is no final text or draft".to_owned()),
        },
        rows: &[Row(COMPLETE, Next::Done), Row(APPROACH_CHANGED, Next::Go(CHECK))],
    }
}

/// For a [`final_text`] that the judge writes: if the rewrite failed, the draft becomes the answer.
pub(super) fn finalised(debate: &Debate) -> Vec<Event> {
    stands(debate, has_rewrite_failed(debate))
}

fn has_rewrite_failed(debate: &Debate) -> bool {
    debate.newest_draft().is_some_and(|draft| debate.has_failed(&rewrite_key(debate, &draft)))
}

fn is_due(debate: &Debate) -> bool {
    !debate.lenses().is_empty()
        && debate.stop_reason != Some(StopReason::User)
        && !debate.check_forgone
        && debate.final_solution.is_none()
        && debate.newest_draft().is_some()
}

/// The trigger for leaving a stage that writes the answer or a draft. `None` if there is neither an answer nor a draft
/// to check.
pub(super) fn drafted(debate: &Debate) -> Option<Trigger> {
    match debate.final_solution {
        Some(_) => Some(COMPLETE),
        None => is_due(debate).then_some(CHECK_DUE),
    }
}

/// Makes the draft the answer if no check of it is due, or if all checks have ended and `is_over` says that no rewrite
/// follows.
pub(super) fn stands(debate: &Debate, is_over: bool) -> Vec<Event> {
    let draft = debate.draft.as_ref().filter(|_| debate.final_solution.is_none());
    let draft = draft.filter(|_| !is_due(debate) || is_over && is_read(debate));
    draft.map(|draft| answer(debate, draft.clone())).into_iter().collect()
}

pub(super) fn answer(debate: &Debate, solution: Solution) -> Event {
    let solution = Box::new(solution.with_unverified(debate.unverified()));
    Event::Synthesized { key: None, text: None, solution, call: None }
}

pub(super) fn delivery(debate: &Debate) -> Delivery {
    if debate.lenses().is_empty() { Delivery::Answer } else { Delivery::Draft }
}

/// The agents that check a draft, ordered so that different models alternate. Excludes the draft's author and agents
/// with the judge's model, unless nobody else is left.
fn checkers<'a>(debate: &'a Debate, author: &AgentId) -> Vec<&'a AgentSettings> {
    let model = |agent: &'a AgentSettings| (agent.provider.as_str(), agent.model.as_str());
    let narrowed = |all: Vec<&'a AgentSettings>, keep: &dyn Fn(&AgentSettings) -> bool| {
        let kept: Vec<_> = all.iter().copied().filter(|agent| keep(agent)).collect();
        if kept.is_empty() { all } else { kept }
    };
    let judge =
        debate.settings.as_ref().map(|settings| (settings.judge.provider.as_str(), settings.judge.model.as_str()));
    let others = narrowed(debate.team(), &|agent| agent.id != *author);
    let others = narrowed(others, &|agent| Some((agent.provider.as_str(), agent.model.as_str())) != judge);
    let turn = |at: usize| others[..at].iter().filter(|before| model(before) == model(others[at])).count();
    let mut order: Vec<usize> = (0..others.len()).collect();
    order.sort_by_key(|at| turn(*at));
    order.into_iter().map(|at| others[at]).collect()
}

fn keys(debate: &Debate, draft: &Draft<'_>) -> Vec<CallKey> {
    let author = &draft.text.agent_id;
    let checkers = checkers(debate, author);
    let lenses = debate.lenses().iter().zip(checkers.into_iter().cycle());
    let key = |checker: &AgentSettings| CallKey::new(debate.current_round, CHECK, &checker.id).about(author);
    lenses.map(|(lens, checker)| key(checker).pass(lens.pass(draft.number))).collect()
}

fn steps(debate: &Debate) -> Vec<Step> {
    let Some(draft) = debate.newest_draft().filter(|_| is_due(debate)) else { return Vec::new() };
    let step = |(lens, key)| Step::new(key, &READ, OutputSpec::Check(lens)).after([draft.key.clone()]);
    let steps = debate.lenses().iter().copied().zip(keys(debate, &draft)).map(step);
    steps.map(|step| step.showing(PromptContext::Draft).paid(BudgetClass::Check)).collect()
}

fn is_read(debate: &Debate) -> bool {
    debate.newest_draft().is_some_and(|draft| keys(debate, &draft).iter().all(|key| debate.settled(key).is_some()))
}

fn is_unread(debate: &Debate) -> bool {
    is_due(debate) && !is_read(debate)
}

fn is_faulted(debate: &Debate) -> bool {
    is_due(debate) && is_read(debate) && debate.is_draft_faulted()
}

fn rewrite_key(debate: &Debate, draft: &Draft<'_>) -> CallKey {
    CallKey::new(debate.current_round, FINAL, &draft.text.agent_id).pass(draft.number)
}

fn rewrite(debate: &Debate) -> Option<Step> {
    if !is_faulted(debate) {
        return None;
    }
    let (draft, settings) = (debate.newest_draft()?, debate.settings.as_ref()?);
    let (answer, prompt) = if draft.text.agent_id == settings.judge.id {
        (OutputSpec::Solution(Authorship::Judge), &FINALISE)
    } else {
        (OutputSpec::Amendment, &AMEND)
    };
    let may_rethink = draft.number == 1;
    let delivery = if may_rethink { Delivery::DraftIfRethought } else { Delivery::Answer };
    let step = Step::new(rewrite_key(debate, &draft), prompt, answer).after([draft.key.clone()]);
    let step = step.after(keys(debate, &draft)).showing(PromptContext::Draft).delivered(delivery);
    Some(step.paid(BudgetClass::Check))
}

/// The final text becomes the answer, or another draft if the text abandons the approach. If the rewrite failed, the
/// draft becomes the answer. `solution` turns a text into a solution.
pub(super) fn rewritten(debate: &Debate, solution: impl Fn(&Contribution) -> Solution) -> Vec<Event> {
    match debate.final_text().filter(|_| debate.final_solution.is_none()) {
        Some(text) => vec![answer(debate, solution(text))],
        None if has_rewrite_failed(debate) => stands(debate, true),
        None => redrafted(debate, solution),
    }
}

fn redrafted(debate: &Debate, solution: impl Fn(&Contribution) -> Solution) -> Vec<Event> {
    let rethought = debate.newest_draft().filter(|draft| draft.number > 1 && draft.checks.is_empty());
    let rethought = rethought.filter(|_| debate.final_solution.is_none());
    let rethought = rethought.map(|draft| Box::new(solution(draft.text)));
    let drafted = |solution| Event::Drafted { key: None, text: None, solution, call: None };
    rethought.filter(|solution| debate.draft.as_ref() != Some(solution)).map(drafted).into_iter().collect()
}

pub(super) fn of_author(text: &Contribution) -> Solution {
    let author = Some(text.agent_id.clone());
    let description = text.without_answers().into_owned();
    Solution { description, base: author.clone(), synthesized_by: author, ..Solution::default() }
}

pub(super) fn delivered(debate: &Debate, text: &Contribution, solution: Solution) -> Event {
    if debate.lenses().is_empty() { answer(debate, solution) } else { draft(text, solution) }
}

fn draft(text: &Contribution, solution: Solution) -> Event {
    let text = Contribution {
        agent_id: text.agent_id.clone(),
        agent_role: Arc::clone(&text.agent_role),
        stage: text.stage,
        content: text.without_answers().as_ref().into(),
        metadata: Metadata { model: text.metadata.model.clone(), ..Metadata::default() },
        target_agent_id: None,
        reading: None,
    };
    Event::Drafted { key: None, text: Some(Arc::new(text)), solution: Box::new(solution), call: None }
}

/// Returns the trigger for leaving `stage` with an answer or a draft. Otherwise the error is `nothing` if the debate
/// has no texts, or else `failed`.
pub(super) fn ended(debate: &Debate, stage: StageId, nothing: &str, failed: &str) -> Result<Trigger, String> {
    if let Some(trigger) = drafted(debate) {
        return Ok(trigger);
    }
    if debate.final_round().is_none() {
        return Err(nothing.to_owned());
    }
    Err(with_failure(debate, stage, failed))
}
