//! The agents review a change: each reports faults and judges the others' findings, and the judge rules.

use crate::answer::Solution;
use crate::debate::Debate;
use crate::event::Event;
use crate::ids::{CallKey, CallStatus, ResultKind, StageId, StageInfo};
use crate::points::describe_review;
use crate::prompt::Prompt;

use super::questions::{CLARIFY, all_clear, answers, clarification, initialization};
use super::{
    BudgetClass, Next, OutputSpec, PromptContext, Protocol, Row, Stage, Step, Trigger, complete_or_fallback, key, keys,
    nothing, with_failure,
};

const FINDINGS: StageId = StageId::new("findings");
const CONFIRMATION: StageId = StageId::new("confirmation");
const RULING: StageId = StageId::new("ruling");

const FINDINGS_COMPLETE: Trigger = Trigger("FINDINGS_COMPLETE");
const CONFIRMATIONS_COMPLETE: Trigger = Trigger("CONFIRMATIONS_COMPLETE");
const PART_COMPLETE: Trigger = Trigger("PART_COMPLETE");
const RULED: Trigger = Trigger("RULED");

static SYSTEM: Prompt = prompt!("system/review.md", None);
static FIND: Prompt = prompt!("review/find.md", Critique);
static CONFIRM: Prompt = prompt!("review/confirm.md", Critique);
static RULE: Prompt = prompt!("review/rule.md", None);

pub static REVIEW: Protocol = Protocol {
    name: "review",
    about: "each agent reads a change and reports findings, the others confirm or refute them, and the judge rules",
    suits: "a change that needs review before it is merged: `dialectic review` reads it from git",
    calls: "at most r·n² + 1, where each part of the change is a round",
    check: |_| Ok(()),
    default_rounds: 1,
    default_check: 0,
    built_in_agents: None,
    system: &SYSTEM,
    closing: RULING,
    prompts: &[&CLARIFY, &FIND, &CONFIRM, &RULE],
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Begin(FINDINGS))),
        answers(),
        Stage {
            info: StageInfo::new(
                FINDINGS,
                ["findings", "findings", "finding faults", "finds faults", "found faults", "find faults"],
            )
            .yielding(ResultKind::Findings)
            .in_round()
            .essential(),
            facts: nothing,
            steps: |debate| keys(debate, debate.current_round, FINDINGS).into_iter().map(find).collect(),
            outcome: found,
            rows: &[Row(FINDINGS_COMPLETE, Next::Go(CONFIRMATION))],
        },
        Stage {
            info: StageInfo::new(
                CONFIRMATION,
                ["confirmation", "confirmations", "confirming", "confirms", "confirmed", "confirm"],
            )
            .yielding(ResultKind::Opinion)
            .in_round()
            .essential(),
            facts: nothing,
            steps: confirmations,
            outcome: |debate| Ok(confirmed(debate)),
            rows: &[Row(CONFIRMATIONS_COMPLETE, Next::Go(RULING)), Row(PART_COMPLETE, Next::Begin(FINDINGS))],
        },
        Stage {
            info: StageInfo::new(RULING, ["ruling", "rulings", "ruling", "rules", "ruled", "rule"])
                .yielding(ResultKind::Solution)
                .essential(),
            facts: nothing_found,
            steps: |debate| ruling(debate).into_iter().collect(),
            outcome: ruled,
            rows: &[Row(RULED, Next::Done)],
        },
    ],
};

fn find(key: CallKey) -> Step {
    Step::new(key, &FIND, OutputSpec::Text)
}

fn found(debate: &Debate) -> Result<Trigger, String> {
    let all = keys(debate, debate.current_round, FINDINGS);
    let was_read = debate.texts_yielding(ResultKind::Findings).next().is_some();
    if !was_read && all.iter().all(|key| debate.settled(key) != Some(CallStatus::Done)) {
        return Err(with_failure(debate, FINDINGS, "no agent could review the change"));
    }
    Ok(complete_or_fallback(debate, FINDINGS, FINDINGS_COMPLETE))
}

fn confirmed(debate: &Debate) -> Trigger {
    let is_last = debate.settings.as_ref().is_none_or(|settings| debate.current_round >= settings.debate.rounds);
    if is_last { complete_or_fallback(debate, CONFIRMATION, CONFIRMATIONS_COMPLETE) } else { PART_COMPLETE }
}

fn confirmations(debate: &Debate) -> Vec<Step> {
    let round = debate.current_round;
    let mut steps = Vec::new();
    for author in debate.agents() {
        let findings = CallKey::new(round, FINDINGS, &author.id);
        let may_be_read = match debate.settled(&findings) {
            None => true,
            Some(CallStatus::Done) => {
                debate.findings_of(&author.id, round).is_some_and(|findings| !findings.is_empty())
            }
            Some(CallStatus::Empty | CallStatus::Failed) => false,
        };
        for reader in debate.agents().iter().filter(|reader| may_be_read && reader.id != author.id) {
            let key = CallKey::new(round, CONFIRMATION, &reader.id).about(&author.id);
            let step = Step::new(key, &CONFIRM, OutputSpec::Text).after([findings.clone()]);
            steps.push(step.showing(PromptContext::Findings));
        }
    }
    steps
}

fn ruling(debate: &Debate) -> Option<Step> {
    let settings = debate.settings.as_ref().filter(|_| !debate.reports().is_empty())?;
    let round = debate.current_round;
    let confirmations = confirmations(debate).into_iter().map(|step| step.key);
    let ruling = Step::new(key(debate, RULING, &settings.judge), &RULE, OutputSpec::FindingRulings);
    let ruling = ruling.after(keys(debate, round, FINDINGS)).after(confirmations);
    Some(ruling.showing(PromptContext::Findings).paid(BudgetClass::Closing))
}

/// Completes a review without findings, since there is nothing to rule on.
fn nothing_found(debate: &Debate) -> Vec<Event> {
    let was_read = debate.texts_yielding(ResultKind::Findings).next().is_some();
    if !was_read || debate.final_solution.is_some() || !debate.reports().is_empty() {
        return Vec::new();
    }
    let solution = Solution { description: describe_review(debate, &[], ""), ..Solution::default() };
    vec![Event::Synthesized { key: None, text: None, solution: Box::new(solution), call: None }]
}

fn ruled(debate: &Debate) -> Result<Trigger, String> {
    if debate.final_solution.is_some() {
        return Ok(RULED);
    }
    if debate.texts_yielding(ResultKind::Findings).next().is_none() {
        return Err("no agent reviewed the change, so there is nothing to rule on".to_owned());
    }
    Err(with_failure(debate, RULING, "the judge could not rule on the findings"))
}
