//! Whether the texts of a round have converged: what they decide is compared, and an agreement can be challenged.

use std::collections::BTreeMap;

use crate::debate::{AgentId, AgentSettings, CallKey, Convergence, Debate, Event, Lexicon, Settled, SimilarityMethod};

use super::texts::{revised, text_before};
use super::{
    Answer, CHALLENGE, CONTINUE, CONVERGED, CONVERGENCE, Cost, OBSERVATION, OBSERVE, QUESTION, RELATE,
    ROUNDS_EXHAUSTED, Shows, Step, Trigger, critiques, has_timed_out, is_last_round, key, proposals, revisions, rules,
    salt,
};

/// How often an agreement is sent back in a debate.
const MOST_CHALLENGES: usize = 2;

/// The texts that are compared, one of each agent.
fn texts(debate: &Debate) -> Vec<CallKey> {
    debate.team().into_iter().filter_map(|agent| revised(debate, agent)).collect()
}

/// The same, once none is waited for.
fn settled_texts(debate: &Debate) -> Option<Vec<CallKey>> {
    let texts = texts(debate);
    texts.iter().all(|text| debate.settled(text) == Some(Settled::Done)).then_some(texts)
}

/// The judge says how decisions relate, where the program cannot; challenges an agreement; and marks the kinds of
/// argument.
pub(super) fn steps(debate: &Debate) -> Vec<Step> {
    let (Some(settings), Some(rules)) = (&debate.settings, rules(debate)) else { return Vec::new() };
    let judge = &settings.judge;
    let mut steps: Vec<Step> = rules.observer.then(|| observation(debate, judge)).into_iter().collect();
    let Some(texts) = settled_texts(debate) else { return steps };
    if debate.decisions_of(&texts).are_open() {
        steps.push(Step {
            key: key(debate, CONVERGENCE, judge),
            inputs: texts.clone(),
            prompt: &RELATE,
            shows: Shows::Decisions,
            answer: Answer::Relations,
            cost: Cost::Decision,
            notice: None,
        });
    }
    let is_reached = debate
        .round(debate.current_round)
        .and_then(|round| round.convergence.as_ref())
        .is_some_and(Convergence::is_reached);
    if is_reached && rules.trickster && challenges_before(debate) < MOST_CHALLENGES {
        steps.push(Step {
            key: key(debate, CHALLENGE, judge),
            inputs: texts,
            prompt: &QUESTION,
            shows: Shows::Candidates { salt: salt::CHALLENGE + debate.current_round },
            answer: Answer::Challenge,
            cost: Cost::Decision,
            notice: None,
        });
    }
    steps
}

/// How often an agreement was sent back in earlier rounds.
fn challenges_before(debate: &Debate) -> usize {
    let earlier = debate.rounds.iter().filter(|round| round.round_number < debate.current_round);
    earlier.filter(|round| round.challenge.as_ref().is_some_and(|challenge| !challenge.is_empty())).count()
}

fn observation(debate: &Debate, judge: &AgentSettings) -> Step {
    let said = [proposals, critiques, revisions].into_iter().flat_map(|steps| steps(debate));
    let there = said.map(|step| step.key).filter(|key| !has_timed_out(debate) || debate.settled(key).is_some());
    Step {
        key: key(debate, OBSERVATION, judge),
        inputs: there.collect(),
        prompt: &OBSERVE,
        shows: Shows::Numbered,
        answer: Answer::Kinds,
        cost: Cost::Extra,
        notice: None,
    }
}

/// The figures of the round, once what they rest on is there.
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
    let agreement = decisions.agreement(round.relations.as_ref());
    let (similarity, stability) = lexical(debate, &texts);
    let convergence = Convergence {
        agreement: agreement.agreement,
        unknown: agreement.unknown,
        threshold: rules.convergence.threshold,
        matters: agreement.matters,
        opposed_on: agreement.opposed_on,
        stability,
        similarity,
        method: SimilarityMethod::Lexical,
    };
    vec![Event::Measured { round: debate.current_round, convergence }]
}

/// How alike the texts are, and each to its author's one before, by their words.
fn lexical(debate: &Debate, texts: &[CallKey]) -> (Option<f64>, BTreeMap<AgentId, f64>) {
    let before: Vec<Option<CallKey>> = texts.iter().map(|text| before(debate, text)).collect();
    let content = |key: &CallKey| debate.contribution(key).map(|text| text.without_answers().into_owned());
    let all = texts.iter().map(Some).chain(before.iter().map(Option::as_ref));
    let all: Vec<String> = all.map(|key| key.and_then(content).unwrap_or_default()).collect();
    let lexicon = Lexicon::of(all.iter().map(String::as_str));
    let pairs = (0..texts.len()).flat_map(|one| (one + 1..texts.len()).map(move |other| (one, other)));
    let pairs: Vec<f64> = pairs.filter_map(|(one, other)| lexicon.similarity(one, other)).collect();
    #[expect(clippy::cast_precision_loss, reason = "there are few agents")]
    let similarity = (!pairs.is_empty()).then(|| pairs.iter().sum::<f64>() / pairs.len() as f64);
    let stable = texts.iter().enumerate().filter_map(|(place, text)| {
        before[place].as_ref()?;
        Some((text.agent_id.clone(), lexicon.similarity(place, texts.len() + place)?))
    });
    (similarity, stable.collect())
}

/// The text that was revised into this one.
fn before(debate: &Debate, text: &CallKey) -> Option<CallKey> {
    let agent = debate.team().into_iter().find(|agent| agent.id == text.agent_id)?;
    text_before(debate, agent).filter(|before| before != text && text.round == debate.current_round)
}

pub(super) fn outcome(debate: &Debate) -> Trigger {
    let Some(rules) = rules(debate) else { return Trigger::STOP };
    let measured = debate.round(debate.current_round).and_then(|round| round.convergence.as_ref());
    let is_reached = measured.is_some_and(Convergence::is_reached);
    let judge = debate.settings.as_ref().map(|settings| &settings.judge);
    // A challenge that nobody could put is none that the agreement has passed.
    let is_free = !rules.trickster
        || challenges_before(debate) >= MOST_CHALLENGES
        || judge.is_some_and(|judge| debate.settled(&key(debate, CHALLENGE, judge)) == Some(Settled::Empty));
    match (is_reached && is_free, is_last_round(debate)) {
        (true, _) => CONVERGED,
        (false, true) => ROUNDS_EXHAUSTED,
        (false, false) => CONTINUE,
    }
}
