//! The verdict on a debate of speeches: the judge usually reads the debate twice, the second time with swapped labels,
//! and scores the debaters.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::answer::{Advice, Judgement, Solution, Verdict, mean};
use crate::debate::{Debate, StopReason};
use crate::event::Event;
use crate::ids::{AgentId, ResultKind, StageId, StageInfo};
use crate::prompt::Prompt;
use crate::settings::{AgentSettings, Position, Settings};
use dialectic_base::figures::score;
use dialectic_base::markdown::{cell, inline, single_spaced};

use super::motion::side;
use super::{BudgetClass, Next, OutputSpec, PromptContext, Row, Stage, Step, Trigger, key, with_failure};

pub(super) const VERDICT: StageId = StageId::new("verdict");

const VERDICT_READY: Trigger = Trigger("VERDICT_READY");

pub(super) static JUDGE: Prompt = prompt!("motion/verdict.md", None);

/// The criteria if `judge.criteria` is not set.
pub const DEFAULT_CRITERIA: [&str; 4] = ["logic", "evidence", "rebuttal", "clarity"];

/// Scores that differ by less than this are treated as equal, because means are inexact.
pub(super) const EQUAL: f64 = 1e-9;

pub fn criteria_or<'a>(settings: &'a Settings, default: &[&'static str]) -> Vec<&'a str> {
    match settings.judge.criteria.as_deref() {
        Some(criteria @ [_, ..]) => criteria.iter().map(String::as_str).collect(),
        Some([]) | None => default.to_vec(),
    }
}

/// The agents that have spoken, in the order of their labels: as configured, or `reversed` for the second reading.
pub fn debaters(debate: &Debate, reversed: bool) -> Vec<&AgentSettings> {
    let said = debate.rounds.iter().flat_map(|round| &round.contributions);
    let speeches = said.filter(|one| debate.yield_of(one) == Some(ResultKind::Speech));
    let spoke: BTreeSet<&AgentId> = speeches.map(|one| &one.agent_id).collect();
    let agents = debate.agents().iter();
    let mut debaters: Vec<_> = agents.filter(|agent| spoke.contains(&agent.id)).collect();
    if reversed {
        debaters.reverse();
    }
    debaters
}

pub(super) const fn verdict(facts: fn(&Debate) -> Vec<Event>) -> Stage {
    Stage {
        info: StageInfo::new(VERDICT, ["verdict", "verdicts", "judging", "judges", "judged", "judge"])
            .yielding(ResultKind::Verdict)
            .essential(),
        facts,
        steps,
        outcome,
        rows: &[Row(VERDICT_READY, Next::Done)],
    }
}

/// The judge reads the debate in both orders, but only once if the budget has run out, because the cost of only one
/// reading is reserved.
fn steps(debate: &Debate) -> Vec<Step> {
    let Some(settings) = &debate.settings else { return Vec::new() };
    let step = |pass, cost| {
        let judgement = Step::new(key(debate, VERDICT, &settings.judge).pass(pass), &JUDGE, OutputSpec::Judgement);
        judgement.showing(PromptContext::AnonymousTranscript { reversed: pass == 2 }).paid(cost)
    };
    let (first, second) = (step(1, BudgetClass::Closing), step(2, BudgetClass::Decision));
    let is_affordable = debate.stop_reason != Some(StopReason::Budget) || debate.settled(&second.key).is_some();
    match debaters(debate, false).len() {
        0 => Vec::new(),
        // A single debater can be read in only one order.
        1 => vec![first],
        _ if is_affordable => vec![first, second],
        _ => vec![first],
    }
}

/// `votes` describes the audience's votes, if the protocol has an audience.
pub(super) fn judged(debate: &Debate, votes: fn(&Debate) -> String) -> Vec<Event> {
    let steps = steps(debate);
    let is_open = steps.is_empty() || steps.iter().any(|step| debate.settled(&step.key).is_none());
    let (Some(settings), Some(first)) = (&debate.settings, debate.judgements.first()) else { return Vec::new() };
    if is_open || debate.final_solution.is_some() {
        return Vec::new();
    }
    let Some(verdict) = &debate.verdict else {
        return vec![Event::Decided { verdict: decide(first, &debate.judgements) }];
    };
    let solution = Solution {
        description: describe(debate, settings, verdict, &votes(debate)),
        synthesized_by: Some(settings.judge.id.clone()),
        ..Solution::default()
    };
    vec![Event::Synthesized { key: None, text: None, solution: Box::new(solution), call: None }]
}

pub(super) fn without_votes(debate: &Debate) -> Vec<Event> {
    judged(debate, |_| String::new())
}

fn outcome(debate: &Debate) -> Result<Trigger, String> {
    if debate.final_solution.is_some() {
        return Ok(VERDICT_READY);
    }
    if debaters(debate, false).is_empty() {
        return Err("no one spoke, so there is nothing to judge".to_owned());
    }
    Err(with_failure(debate, VERDICT, "the judge could not give a verdict"))
}

pub(super) fn decide(first: &Judgement, all: &[Judgement]) -> Verdict {
    let mut given: BTreeMap<&AgentId, Vec<f64>> = BTreeMap::new();
    for (debater, score) in all.iter().flat_map(|judgement| &judgement.scores) {
        given.entry(debater).or_default().push(*score);
    }
    let mut on_criteria: BTreeMap<AgentId, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    let mut missing: BTreeMap<AgentId, Vec<String>> = BTreeMap::new();
    for judgement in all {
        for (debater, scores) in &judgement.by_criterion {
            for (criterion, score) in scores {
                on_criteria.entry(debater.clone()).or_default().entry(criterion.clone()).or_default().push(*score);
            }
        }
        for (debater, lacks) in &judgement.missing {
            let known = missing.entry(debater.clone()).or_default();
            known.extend(lacks.iter().filter(|lack| !known.contains(lack)).cloned().collect::<Vec<_>>());
        }
    }
    let mean = |scores: Vec<f64>| mean(scores).unwrap_or_default();
    let by_criterion = on_criteria
        .into_iter()
        .map(|(debater, of)| (debater, of.into_iter().map(|(criterion, scores)| (criterion, mean(scores))).collect()));
    let by_criterion = by_criterion.collect();
    let scores: BTreeMap<AgentId, f64> = given.into_iter().map(|(id, scores)| (id.clone(), mean(scores))).collect();
    let winner = match ranked(&scores).as_slice() {
        [best, second, ..] if best.1 - second.1 > EQUAL => Some(best.0.clone()),
        _ => None,
    };
    let stable = all.get(1).map(|second| second.winner == first.winner);
    Verdict {
        winner,
        scores,
        criteria: first.criteria.clone(),
        reasoning: first.reasoning.clone(),
        by_criterion,
        missing,
        stable,
    }
}

fn ranked(scores: &BTreeMap<AgentId, f64>) -> Vec<(&AgentId, &f64)> {
    let mut ranked: Vec<_> = scores.iter().collect();
    ranked.sort_by(|one, other| other.1.total_cmp(one.1));
    ranked
}

fn describe(debate: &Debate, settings: &Settings, verdict: &Verdict, votes: &str) -> String {
    let called = |id: &AgentId| {
        let agent = settings.agents.iter().find(|agent| agent.id == *id);
        inline(agent.map_or(id.as_str(), |agent| agent.name.as_str())).into_owned()
    };
    let named = |judgement: &Judgement| judgement.winner.as_ref().map_or_else(|| "nobody".to_owned(), called);
    let winner = match &verdict.winner {
        Some(winner) => format!("**Winner: {}**{}.", called(winner), for_side(settings, winner)),
        None if verdict.scores.len() < 2 => "**No winner**: only one debater spoke.".to_owned(),
        None => "**No winner**: the best scores are equal.".to_owned(),
    };
    let notice = if debate.is_offline() { "This is a rehearsal: no model was called.\n\n" } else { "" };
    let mut text = format!("## Verdict\n\n{notice}{winner}\n");
    // Writing to a string cannot fail.
    let _ = match debate.judgements.as_slice() {
        [first, second, ..] if first.winner != second.winner => writeln!(
            text,
            "\n**This verdict is unstable**: the judge named {} in its first reading and {} in the second, in which \
             the debaters' labels were swapped.{}",
            named(first),
            named(second),
            if verdict.winner.is_some() { " The mean scores decide who is ahead." } else { "" }
        ),
        [Judgement { winner: None, .. }, _, ..] => {
            writeln!(text, "\nThe judge chose no winner in either reading.")
        }
        [first, _, ..] => writeln!(text, "\nThe judge named {} in both readings.", named(first)),
        [] | [_] => writeln!(text, "\nThe judge read the debate only once."),
    };
    let passes: Vec<&str> = debate.judgements.iter().map(|one| order(one.pass)).collect();
    let rule = " ---: |".repeat(passes.len());
    let has_sides = verdict.scores.keys().any(|id| side(settings, id) != Position::Neutral);
    let (sides, sides_rule) = if has_sides { (" side |", " --- |") } else { ("", "") };
    let _ = writeln!(text, "\n| debater |{sides} score | {} |\n| --- |{sides_rule} ---: |{rule}", passes.join(" | "));
    for (id, mean) in ranked(&verdict.scores) {
        let name = settings.agents.iter().find(|agent| agent.id == *id).map_or(id.as_str(), |agent| &agent.name);
        let side = if has_sides { format!(" {} |", side(settings, id).name()) } else { String::new() };
        let _ = write!(text, "| {} |{side} {} |", cell(name), score(*mean));
        for judgement in &debate.judgements {
            let given = judgement.scores.get(id).map_or_else(|| "none".to_owned(), |given| score(*given));
            let _ = write!(text, " {given} |");
        }
        text.push('\n');
    }
    if !verdict.criteria.is_empty() {
        text.push_str("\n### Criteria\n\n");
    }
    for (criterion, assessment) in &verdict.criteria {
        let _ = writeln!(text, "- **{}**: {}", inline(criterion), single_spaced(assessment));
    }
    let _ = writeln!(text, "\n### Reasoning\n\n{}", verdict.reasoning.trim());
    if let Some(second) = debate.judgements.get(1).filter(|second| !second.reasoning.trim().is_empty()) {
        let _ = writeln!(text, "\n### Reasoning in the second reading\n\n{}", second.reasoning.trim());
    }
    text.push_str(votes);
    text.truncate(text.trim_end().len());
    text.push_str(&advice(&debate.judgements));
    text.trim_end().to_owned()
}

fn order(pass: u8) -> &'static str {
    if pass == 2 { "second reading" } else { "first reading" }
}

fn advice(judgements: &[Judgement]) -> String {
    let parts = |Advice { adopt_if, reject_if, measure }: &Advice| {
        [("Adopt if", adopt_if.clone()), ("Reject if", reject_if.clone()), ("Measure", measure.clone())]
    };
    let mut items: Vec<String> = Vec::new();
    for place in 0..parts(&Advice::default()).len() {
        for (heading, said) in judgements.iter().map(|judgement| parts(&judgement.advice)[place].clone()) {
            let said = said.unwrap_or_default();
            let item = format!("- **{heading}**: {}", single_spaced(&said));
            if !said.is_empty() && !items.contains(&item) {
                items.push(item);
            }
        }
    }
    if items.is_empty() { String::new() } else { format!("\n\n### What to do\n\n{}", items.join("\n")) }
}

fn for_side(settings: &Settings, debater: &AgentId) -> &'static str {
    match side(settings, debater) {
        Position::For => ", for the motion",
        Position::Against => ", against the motion",
        Position::Neutral => "",
    }
}
