//! Competing proposals, revised until they agree or are voted on, then judged.

mod convergence;
mod judgement;

use std::collections::BTreeMap;

use convergence::{standing, text_before};

use crate::debate::{Debate, Gathered, Selection, TeamCandidate};
use crate::event::Event;
use crate::ids::{CallKey, ResultKind, StageId, StageInfo};
use crate::prompt::Prompt;
use crate::settings::{AgentSettings, ArenaSettings, DebateSettings, Settings};

use super::check::{self, CHECK, CHECK_DUE, COMPLETE, FINALISE, READ};
use super::questions::{CLARIFY, all_clear, answers, clarification, initialization};
use super::{
    BudgetClass, CRITIQUE, CRITIQUES_COMPLETE, FEWEST_PROPOSALS, Next, OutputSpec, PROPOSAL, PROPOSALS_COMPLETE,
    PromptContext, Protocol, Row, Stage, Step, Trigger, Unfit, complete_or_fallback, critique_info, enough_agents,
    enough_proposals, has_timed_out, key, kind_of_call, no_steps, nothing, proposal_info,
};

const GATHERING: StageId = StageId::new("context-gathering");
const SELECTION: StageId = StageId::new("team-selection");
const REVISION: StageId = StageId::new("revision");
const OBSERVATION: StageId = StageId::new("observation");
const CHALLENGE: StageId = StageId::new("challenge");
const CONVERGENCE: StageId = StageId::new("convergence");
const FINAL_REFINEMENT: StageId = StageId::new("final-refinement");
const VOTING: StageId = StageId::new("voting");
const SCORING: StageId = StageId::new("scoring");
const JUDGEMENT: StageId = StageId::new("judgement");

const CONTEXT_READY: Trigger = Trigger("CONTEXT_READY");
const TEAM_SELECTED: Trigger = Trigger("TEAM_SELECTED");
const REVISIONS_COMPLETE: Trigger = Trigger("REVISIONS_COMPLETE");
const CONTINUE: Trigger = Trigger("CONTINUE");
const CONVERGED: Trigger = Trigger("CONVERGED");
const ROUNDS_EXHAUSTED: Trigger = Trigger("ROUNDS_EXHAUSTED");
const REFINEMENTS_COMPLETE: Trigger = Trigger("REFINEMENTS_COMPLETE");
const VOTES_COMPLETE: Trigger = Trigger("VOTES_COMPLETE");
const EXTEND: Trigger = Trigger("EXTEND");

static SYSTEM: Prompt = prompt!("system/arena.md", None);
static PROPOSE: Prompt = prompt!("arena/propose.md", Propose);
static CRITICISE: Prompt = prompt!("arena/critique.md", Critique);
static REVISE: Prompt = prompt!("arena/revise.md", Refine);
static REWORK: Prompt = prompt!("arena/rework.md", Refine);
static REFINE: Prompt = prompt!("arena/refine.md", Refine);
static RELATE: Prompt = prompt!("arena/relate.md", None);
static QUESTION: Prompt = prompt!("arena/challenge.md", None);
static OBSERVE: Prompt = prompt!("arena/observe.md", None);
static VOTE: Prompt = prompt!("arena/vote.md", None);
static SCORE: Prompt = prompt!("arena/score.md", None);
static SOLVE: Prompt = prompt!("arena/solve.md", None);

/// Salts for shuffling the candidates. The round is added to each salt, except for `VOTER`.
mod salt {
    pub(super) const VOTER: u32 = 6 << 16;
    pub(super) const CHALLENGE: u32 = 7 << 16;
    pub(super) const SCORES: u32 = 8 << 16;
    pub(super) const SOLUTION: u32 = 9 << 16;
    /// The round is multiplied by this and added to `VOTER` with the voter's index, so that each voter has a different
    /// salt in every round.
    pub(super) const ROUND: u32 = 1 << 8;
}

pub static ARENA: Protocol = Protocol {
    name: "arena",
    about: "proposals compete: they are revised until they agree or are voted on; the judge scores them and \
         builds on the winner",
    suits: "a decision between real alternatives that must be defended later",
    calls: "at most n² + 2·n + r·(n + 1) + 3, and n² + 2·n + 3 more for each extension, and 3 to 8 for the check",
    check,
    default_rounds: 3,
    default_check: DebateSettings::DEFAULT_CHECK,
    built_in_agents: None,
    system: &SYSTEM,
    closing: JUDGEMENT,
    prompts: &[
        &CLARIFY, &PROPOSE, &CRITICISE, &REVISE, &REWORK, &REFINE, &RELATE, &QUESTION, &OBSERVE, &VOTE, &SCORE, &SOLVE,
        &READ, &FINALISE,
    ],
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Go(GATHERING))),
        answers(),
        Stage {
            info: StageInfo::new(
                GATHERING,
                [
                    "material",
                    "material",
                    "gathering material",
                    "gathers material",
                    "gathered material",
                    "gather material",
                ],
            )
            .yielding(ResultKind::Material),
            facts: nothing,
            steps: no_steps,
            outcome: |_| Ok(CONTEXT_READY),
            rows: &[Row(CONTEXT_READY, Next::Go(SELECTION))],
        },
        Stage {
            info: StageInfo::new(
                SELECTION,
                ["team", "teams", "choosing the team", "chooses the team", "chose the team", "choose the team"],
            )
            .yielding(ResultKind::Team),
            facts: selected,
            steps: no_steps,
            outcome: |_| Ok(TEAM_SELECTED),
            rows: &[Row(TEAM_SELECTED, Next::Begin(PROPOSAL))],
        },
        Stage {
            info: proposal_info(),
            facts: nothing,
            steps: proposals,
            outcome: |debate| enough_proposals(debate, "an arena"),
            rows: &[Row(PROPOSALS_COMPLETE, Next::Go(CRITIQUE))],
        },
        Stage {
            info: critique_info(),
            facts: nothing,
            steps: critiques,
            outcome: |debate| Ok(complete_or_fallback(debate, CRITIQUE, CRITIQUES_COMPLETE)),
            rows: &[Row(CRITIQUES_COMPLETE, Next::Go(REVISION))],
        },
        Stage {
            info: StageInfo::new(REVISION, ["revision", "revisions", "revising", "revises", "revised", "revise"])
                .yielding(ResultKind::Proposal)
                .in_round()
                .essential(),
            facts: nothing,
            steps: revisions,
            outcome: |debate| Ok(complete_or_fallback(debate, REVISION, REVISIONS_COMPLETE)),
            rows: &[Row(REVISIONS_COMPLETE, Next::Go(CONVERGENCE))],
        },
        kind_of_call(
            StageInfo::new(
                OBSERVATION,
                ["observation", "observations", "observing", "observes", "observed", "observe"],
            )
            .yielding(ResultKind::Kinds)
            .in_round(),
        ),
        kind_of_call(
            StageInfo::new(
                CHALLENGE,
                ["challenge", "challenges", "challenging", "challenges", "challenged", "challenge"],
            )
            .yielding(ResultKind::Challenge)
            .in_round(),
        ),
        Stage {
            info: StageInfo::new(
                CONVERGENCE,
                [
                    "agreement",
                    "agreements",
                    "comparing decisions",
                    "compares decisions",
                    "compared decisions",
                    "compare decisions",
                ],
            )
            .yielding(ResultKind::Agreement)
            .in_round(),
            facts: convergence::measured,
            steps: convergence::steps,
            outcome: |debate| Ok(convergence::outcome(debate)),
            rows: &[
                Row(CONTINUE, Next::Begin(REVISION)),
                Row(CONVERGED, Next::Go(JUDGEMENT)),
                Row(ROUNDS_EXHAUSTED, Next::Go(FINAL_REFINEMENT)),
            ],
        },
        Stage {
            info: StageInfo::new(
                FINAL_REFINEMENT,
                [
                    "final refinement",
                    "final refinements",
                    "refining for the last time",
                    "refines for the last time",
                    "refined for the last time",
                    "refine for the last time",
                ],
            )
            .yielding(ResultKind::Proposal)
            .in_round()
            .essential(),
            facts: nothing,
            steps: final_refinements,
            outcome: |debate| Ok(complete_or_fallback(debate, FINAL_REFINEMENT, REFINEMENTS_COMPLETE)),
            rows: &[Row(REFINEMENTS_COMPLETE, Next::Go(VOTING))],
        },
        Stage {
            info: StageInfo::new(VOTING, ["vote", "votes", "voting", "votes", "voted", "vote"])
                .yielding(ResultKind::Ballot)
                .in_round(),
            facts: judgement::vote_result,
            steps: judgement::ballots,
            outcome: |debate| Ok(complete_or_fallback(debate, VOTING, VOTES_COMPLETE)),
            rows: &[Row(VOTES_COMPLETE, Next::Go(JUDGEMENT))],
        },
        kind_of_call(
            StageInfo::new(SCORING, ["scoring", "scorings", "scoring", "scores", "scored", "score"])
                .yielding(ResultKind::Verdict)
                .essential(),
        ),
        Stage {
            info: StageInfo::new(JUDGEMENT, ["judgement", "judgements", "judging", "judges", "judged", "judge"])
                .yielding(ResultKind::Solution)
                .essential(),
            facts: judgement::facts,
            steps: judgement::steps,
            outcome: judgement::outcome,
            rows: &[Row(COMPLETE, Next::Done), Row(EXTEND, Next::Begin(CRITIQUE)), Row(CHECK_DUE, Next::Go(CHECK))],
        },
        check::check_of_answer(),
        check::final_text(check::finalised),
    ],
};

fn check(settings: &Settings) -> Result<(), Unfit> {
    enough_agents(settings, "the arena")?;
    let fewest = FEWEST_PROPOSALS;
    if let Some(size) = settings.debate.arena.team.size.filter(|size| (*size as usize) < fewest) {
        let problem = format!("an arena team needs at least {fewest} agents, but `debate.arena.team.size` is {size}");
        return Err(Unfit::new(
            problem,
            format!("set `debate.arena.team.size` to {fewest} or more, or remove it to use all agents"),
        ));
    }
    Ok(())
}

fn rules(debate: &Debate) -> Option<&ArenaSettings> {
    debate.settings.as_ref().map(|settings| &settings.debate.arena)
}

fn is_last_round(debate: &Debate) -> bool {
    let extensions = u32::try_from(debate.extensions.len()).unwrap_or(u32::MAX);
    let rounds = debate.settings.as_ref().map(|settings| settings.debate.rounds.saturating_add(extensions));
    rounds.is_none_or(|rounds| debate.current_round >= rounds)
}

fn is_criticised(debate: &Debate) -> bool {
    let round = debate.current_round;
    round <= 1 || debate.extensions.iter().any(|extension| extension.round + 1 == round)
}

fn text(key: CallKey, inputs: Vec<CallKey>, prompt: &'static Prompt) -> Step {
    Step::new(key, prompt, OutputSpec::Text).after(inputs).showing(PromptContext::InputsAndDispute)
}

fn proposals(debate: &Debate) -> Vec<Step> {
    if debate.current_round > 1 {
        return Vec::new();
    }
    debate.team().into_iter().map(|agent| text(key(debate, PROPOSAL, agent), Vec::new(), &PROPOSE)).collect()
}

fn critiques(debate: &Debate) -> Vec<Step> {
    if !is_criticised(debate) {
        return Vec::new();
    }
    let team = debate.team();
    let mut steps = Vec::new();
    for target in &team {
        let Some(target_text) = text_before(debate, target) else { continue };
        for critic in debate.critics_of(&target.id) {
            let key = key(debate, CRITIQUE, critic).about(&target.id);
            steps.push(text(key, vec![target_text.clone()], &CRITICISE));
        }
    }
    steps
}

fn revisions(debate: &Debate) -> Vec<Step> {
    let team = debate.team();
    let mut steps = Vec::new();
    for agent in &team {
        let Some(own) = text_before(debate, agent) else { continue };
        let mut inputs = vec![own];
        let prompt = if is_criticised(debate) {
            let critics = debate.critics_of(&agent.id).into_iter();
            inputs.extend(critics.map(|critic| key(debate, CRITIQUE, critic).about(&agent.id)));
            &REVISE
        } else {
            inputs.extend(others(&team, agent).filter_map(|other| text_before(debate, other)));
            &REWORK
        };
        steps.push(text(key(debate, REVISION, agent), inputs, prompt));
    }
    steps
}

fn others<'a>(team: &'a [&'a AgentSettings], agent: &'a AgentSettings) -> impl Iterator<Item = &'a AgentSettings> {
    team.iter().copied().filter(move |other| other.id != agent.id)
}

fn final_refinements(debate: &Debate) -> Vec<Step> {
    let team = debate.team();
    let mut steps = Vec::new();
    for agent in &team {
        let Some(own) = standing(debate, agent, REVISION) else { continue };
        let others = others(&team, agent).filter_map(|other| standing(debate, other, REVISION));
        let inputs = std::iter::once(own).chain(others).collect();
        steps.push(text(key(debate, FINAL_REFINEMENT, agent), inputs, &REFINE));
    }
    steps
}

const UNKNOWN_RATING: f64 = 1500.0;
/// A rating that is higher by this much increases a candidate's score by 1.
const RATING_SCALE: f64 = 400.0;
/// The calibration of an unknown agent, as if it always predicted fifty-fifty.
const UNKNOWN_CALIBRATION: f64 = 0.5;

pub(super) fn selected(debate: &Debate) -> Vec<Event> {
    if debate.selection.is_some() {
        return Vec::new();
    }
    vec![Event::TeamSelected { selection: select(debate) }]
}

fn select(debate: &Debate) -> Selection {
    let nothing = Gathered::default();
    let Gathered { standings, families, .. } = debate.gathered.as_ref().unwrap_or(&nothing);
    let agents = debate.agents().iter();
    let mut candidates: Vec<TeamCandidate> = agents
        .map(|agent| {
            let known = standings.of(&agent.id);
            let rating = known.and_then(|known| known.rating);
            let calibration = known.and_then(|known| known.calibration);
            let debates = known.map_or(0, |known| known.debates);
            let by_rating = (rating.unwrap_or(UNKNOWN_RATING) - UNKNOWN_RATING) / RATING_SCALE;
            let by_calibration = UNKNOWN_CALIBRATION - calibration.unwrap_or(UNKNOWN_CALIBRATION);
            TeamCandidate {
                agent_id: agent.id.clone(),
                chosen: false,
                score: by_rating + by_calibration,
                by_rating,
                by_calibration,
                rating,
                calibration,
                debates,
                family: families.get(&agent.id).cloned(),
                passed_over: false,
            }
        })
        .collect();
    let wanted = rules(debate).and_then(|rules| rules.team.size);
    let size = wanted.map_or(candidates.len(), |size| (size as usize).min(candidates.len()));
    choose(&mut candidates, size);
    Selection { size: wanted, debates: standings.debates, candidates }
}

/// Chooses the best `size` candidates, at most half of them from one model family if others are available.
fn choose(candidates: &mut [TeamCandidate], size: usize) {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    // The stable sort keeps the configured order for equal scores.
    order.sort_by(|one, other| candidates[*other].score.total_cmp(&candidates[*one].score));
    let most = (size / 2).max(1);
    let mut of_family: BTreeMap<String, usize> = BTreeMap::new();
    let mut left = size;
    for place in &order {
        let candidate = &mut candidates[*place];
        let count = candidate.family.as_ref().map(|family| of_family.entry(family.clone()).or_default());
        match count {
            _ if left == 0 => break,
            Some(count) if *count >= most => candidate.passed_over = true,
            count => {
                if let Some(count) = count {
                    *count += 1;
                }
                candidate.chosen = true;
                left -= 1;
            }
        }
    }
    // If too few candidates were chosen, fill the team with those that were passed over.
    for place in order.iter().filter(|place| !candidates[**place].chosen).take(left).copied().collect::<Vec<_>>() {
        (candidates[place].chosen, candidates[place].passed_over) = (true, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(scores: &[(&str, f64)], size: usize) -> Vec<usize> {
        let candidate = |(family, score): &(&str, f64)| TeamCandidate {
            agent_id: "x".into(),
            chosen: false,
            score: *score,
            by_rating: 0.0,
            by_calibration: 0.0,
            rating: None,
            calibration: None,
            debates: 0,
            family: (!family.is_empty()).then(|| (*family).to_owned()),
            passed_over: false,
        };
        let mut candidates: Vec<_> = scores.iter().map(candidate).collect();
        choose(&mut candidates, size);
        (0..scores.len()).filter(|place| candidates[*place].chosen).collect()
    }

    #[test]
    fn the_best_are_chosen_and_equals_in_their_order() {
        assert_eq!(chosen(&[("", 0.1), ("", 0.3), ("", 0.2), ("", 0.3)], 2), [1, 3]);
        assert_eq!(chosen(&[("", 0.0), ("", 0.0), ("", 0.0)], 2), [0, 1]);
    }

    #[test]
    fn at_most_half_are_of_one_family_where_there_are_others() {
        assert_eq!(chosen(&[("a", 0.9), ("a", 0.8), ("a", 0.7), ("b", 0.1), ("", 0.0)], 4), [0, 1, 3, 4]);
        assert_eq!(chosen(&[("a", 0.9), ("a", 0.8), ("b", 0.1), ("c", 0.0)], 3), [0, 2, 3]);
        // There are no others, so the best of the family is chosen.
        assert_eq!(chosen(&[("a", 0.9), ("a", 0.7), ("a", 0.8), ("b", 0.1)], 3), [0, 2, 3]);
        // Unknown families never count as the same.
        assert_eq!(chosen(&[("", 0.9), ("", 0.8), ("a", 0.1)], 2), [0, 1]);
    }
}
