//! Decides whether the texts of a round have converged: compares their decisions and challenges agreements.

use crate::answer::{Convergence, mean, similarity, weights};
use crate::debate::Debate;
use crate::event::Event;
use crate::ids::{CallKey, CallStatus, StageId};
use crate::settings::AgentSettings;

use super::{
    BudgetClass, CHALLENGE, CONTINUE, CONVERGED, CONVERGENCE, FINAL_REFINEMENT, OBSERVATION, OBSERVE, OutputSpec,
    PROPOSAL, PromptContext, QUESTION, RELATE, REVISION, ROUNDS_EXHAUSTED, Step, Trigger, critiques, has_timed_out,
    is_last_round, key, proposals, revisions, rules, salt,
};

/// After this many rounds in which a challenge raised objections, agreements are no longer challenged.
const MOST_CHALLENGES: usize = 2;

fn texts(debate: &Debate) -> Vec<CallKey> {
    debate.team().into_iter().filter_map(|agent| revised(debate, agent)).collect()
}

/// The texts of this round. `None` until all of them are finished.
fn settled_texts(debate: &Debate) -> Option<Vec<CallKey>> {
    let texts = texts(debate);
    texts.iter().all(|text| debate.settled(text) == Some(CallStatus::Done)).then_some(texts)
}

pub(super) fn steps(debate: &Debate) -> Vec<Step> {
    let (Some(settings), Some(rules)) = (&debate.settings, rules(debate)) else { return Vec::new() };
    let judge = &settings.judge;
    let mut steps: Vec<Step> = rules.observer.then(|| observation(debate, judge)).into_iter().collect();
    let Some(texts) = settled_texts(debate) else { return steps };
    if debate.decisions_of(&texts).are_open() {
        let relations = Step::new(key(debate, CONVERGENCE, judge), &RELATE, OutputSpec::Relations);
        steps.push(relations.after(texts.clone()).showing(PromptContext::Decisions).paid(BudgetClass::Decision));
    }
    let is_reached = debate
        .round(debate.current_round)
        .and_then(|round| round.convergence.as_ref())
        .is_some_and(Convergence::is_reached);
    if is_reached && rules.trickster && challenges_before(debate) < MOST_CHALLENGES {
        let shows = PromptContext::Candidates { salt: salt::CHALLENGE + debate.current_round };
        let challenge = Step::new(key(debate, CHALLENGE, judge), &QUESTION, OutputSpec::Challenge);
        steps.push(challenge.after(texts).showing(shows).paid(BudgetClass::Decision));
    }
    steps
}

/// The number of earlier rounds whose challenge raised an objection.
fn challenges_before(debate: &Debate) -> usize {
    let earlier = debate.rounds.iter().filter(|round| round.round_number < debate.current_round);
    earlier.filter(|round| round.challenge.as_ref().is_some_and(|challenge| !challenge.is_empty())).count()
}

fn observation(debate: &Debate, judge: &AgentSettings) -> Step {
    let said = [proposals, critiques, revisions].into_iter().flat_map(|steps| steps(debate));
    let there = said.map(|step| step.key).filter(|key| !has_timed_out(debate) || debate.settled(key).is_some());
    let observation = Step::new(key(debate, OBSERVATION, judge), &OBSERVE, OutputSpec::Kinds);
    observation.after(there).showing(PromptContext::Numbered).paid(BudgetClass::Extra)
}

pub(super) fn measured(debate: &Debate) -> Vec<Event> {
    let (Some(settings), Some(rules)) = (&debate.settings, rules(debate)) else { return Vec::new() };
    let Some(round) = debate.round(debate.current_round).filter(|round| round.convergence.is_none()) else {
        return Vec::new();
    };
    let Some(texts) = settled_texts(debate).filter(|texts| !texts.is_empty()) else { return Vec::new() };
    let decisions = debate.decisions_of(&texts);
    let related = debate.settled(&key(debate, CONVERGENCE, &settings.judge));
    if decisions.are_open() && related.is_none() {
        return Vec::new();
    }
    let before: Vec<Option<CallKey>> = texts.iter().map(|text| before(debate, text)).collect();
    let compared = texts.iter().chain(before.iter().flatten());
    let alike = by_words(debate, compared.cloned().collect());
    let pairs =
        texts.iter().enumerate().flat_map(|(place, one)| texts[place + 1..].iter().map(move |other| (one, other)));
    let own = texts.iter().zip(&before);
    let stability = own.filter_map(|(text, before)| Some((text.agent_id.clone(), alike(text, before.as_ref()?)?)));
    let convergence = Convergence {
        threshold: rules.convergence.threshold,
        stability: stability.collect(),
        similarity: mean(pairs.filter_map(|(one, other)| alike(one, other))),
        ..decisions.agreement(round.relations.as_ref())
    };
    vec![Event::Measured { round: debate.current_round, convergence }]
}

fn by_words(debate: &Debate, texts: Vec<CallKey>) -> impl Fn(&CallKey, &CallKey) -> Option<f64> + use<> {
    let content = |key: &CallKey| debate.contribution(key).map(|text| text.without_answers().into_owned());
    let contents: Vec<String> = texts.iter().map(|key| content(key).unwrap_or_default()).collect();
    let weights = weights(contents.iter().map(String::as_str));
    move |one, other| {
        let of = |key: &CallKey| weights.get(texts.iter().position(|text| text == key)?);
        similarity(of(one)?, of(other)?)
    }
}

/// The agent's text before this round; `None` if `text` is not a revision of this round.
fn before(debate: &Debate, text: &CallKey) -> Option<CallKey> {
    let agent = debate.team().into_iter().find(|agent| agent.id == text.agent_id)?;
    text_before(debate, agent).filter(|before| before != text && text.round == debate.current_round)
}

pub(super) fn outcome(debate: &Debate) -> Trigger {
    let Some(rules) = rules(debate) else { return Trigger::STOP };
    let measured = debate.round(debate.current_round).and_then(|round| round.convergence.as_ref());
    let is_reached = measured.is_some_and(Convergence::is_reached);
    let judge = debate.settings.as_ref().map(|settings| &settings.judge);
    // A failed challenge call does not confirm the agreement.
    let is_free = !rules.trickster
        || challenges_before(debate) >= MOST_CHALLENGES
        || judge.is_some_and(|judge| debate.settled(&key(debate, CHALLENGE, judge)) == Some(CallStatus::Empty));
    match (is_reached && is_free, is_last_round(debate)) {
        (true, _) => CONVERGED,
        (false, true) => ROUNDS_EXHAUSTED,
        (false, false) => CONTINUE,
    }
}

/// The stages whose texts replace each other, newest first.
const OWN_TEXTS: [StageId; 3] = [FINAL_REFINEMENT, REVISION, PROPOSAL];

/// The agent's newest text so far, up to stage `last` of the current round.
pub(super) fn standing(debate: &Debate, agent: &AgentSettings, last: StageId) -> Option<CallKey> {
    let rank = debate.stage_rank(last);
    let is_there = |key: &CallKey| {
        let is_early_enough = key.round < debate.current_round || debate.stage_rank(key.stage) <= rank;
        is_early_enough && debate.settled(key) == Some(CallStatus::Done)
    };
    let rounds = (1..=debate.current_round).rev();
    rounds.flat_map(|round| OWN_TEXTS.map(|stage| CallKey::new(round, stage, &agent.id))).find(is_there)
}

/// An agent's text at the start of the current round. In the first round it is the proposal, which may still be
/// pending.
pub(super) fn text_before(debate: &Debate, agent: &AgentSettings) -> Option<CallKey> {
    if debate.current_round > 1 {
        return standing(debate, agent, PROPOSAL);
    }
    let proposal = CallKey::new(1, PROPOSAL, &agent.id);
    // An agent whose proposal failed has no text.
    (!debate.has_failed(&proposal)).then_some(proposal)
}

/// The agent's text after the revisions of the current round: its revision, which may still be pending, or else its
/// current text.
pub(super) fn revised(debate: &Debate, agent: &AgentSettings) -> Option<CallKey> {
    let revision = CallKey::new(debate.current_round, REVISION, &agent.id);
    let may_come =
        debate.settled(&revision).is_none() && !has_timed_out(debate) && text_before(debate, agent).is_some();
    if may_come { Some(revision) } else { standing(debate, agent, REVISION) }
}
