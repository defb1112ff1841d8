//! Names and orders the stages of a debate for reports. This module uses only the record, and shows unknown stages by
//! their ids.

use std::sync::Arc;

use dialectic_base::markdown::inline;
use dialectic_record::debate::{Contribution, Debate, Round};
use dialectic_record::ids::{ResultKind, StageId, StageInfo};

/// Groups the contributions of a round by stage in order, with unknown stages last. Speeches keep their order, because
/// they answer each other. A section's name is the noun of its stage (singular for a single speech, otherwise plural),
/// or the id of an unknown stage.
pub(super) fn sections<'v>(debate: &'v Debate, round: &'v Round) -> Vec<(String, Vec<&'v Contribution>)> {
    let all = || round.contributions.iter().map(Arc::as_ref);
    let mut sections = Vec::new();
    let mut done = Vec::new();
    for stage in debate.stages.iter() {
        if done.contains(&stage.id) {
            continue;
        }
        if stage.yields == Some(ResultKind::Speech) {
            let speeches: Vec<&Contribution> =
                all().filter(|one| debate.yield_of(one) == Some(ResultKind::Speech)).collect();
            let held_in = debate.stages.iter().filter(|stage| stage.yields == Some(ResultKind::Speech));
            done.extend(held_in.map(|stage| stage.id));
            sections.extend(speeches.chunk_by(|one, next| one.stage == next.stage).map(|turn| held(debate, turn)));
            continue;
        }
        done.push(stage.id);
        let contributions: Vec<&Contribution> = all().filter(|one| one.stage == stage.id).collect();
        if !contributions.is_empty() || is_missed(debate, round, stage) {
            sections.push((stage.words.plural.to_string(), contributions));
        }
    }
    while let Some(unknown) = all().find(|one| !done.contains(&one.stage)) {
        done.push(unknown.stage);
        sections.push((unknown.stage.to_string(), all().filter(|one| one.stage == unknown.stage).collect()));
    }
    sections
}

fn held<'v>(debate: &Debate, turn: &[&'v Contribution]) -> (String, Vec<&'v Contribution>) {
    let words = turn.first().map(|one| debate.words(one.stage));
    let name = words.map(|words| if turn.len() == 1 { words.noun } else { words.plural }).unwrap_or_default();
    (name.into_owned(), turn.to_vec())
}

/// Whether a report should mention that an essential stage of proposals or critiques has no text in a round. If
/// adjacent stages yield the same kind of result, one text is enough for all of them.
fn is_missed(debate: &Debate, round: &Round, stage: &StageInfo) -> bool {
    let mut groups = debate.stages.chunk_by(|one, next| one.yields == next.yields);
    let group = groups.find(|group| group.first().is_some_and(|first| first.id == stage.id)).unwrap_or_default();
    let is_of_group = |one: &Arc<Contribution>| group.iter().any(|stage| stage.id == one.stage);
    stage.in_round
        && stage.is_essential
        && matches!(stage.yields, Some(ResultKind::Proposal | ResultKind::Critique))
        && !group.is_empty()
        && !round.contributions.iter().any(is_of_group)
}

pub(super) fn first(debate: &Debate, yields: ResultKind) -> Option<&StageInfo> {
    debate.stages.iter().find(|stage| stage.yields == Some(yields))
}

pub(super) fn answer(debate: &Debate) -> &str {
    let stage = first(debate, ResultKind::Solution).or_else(|| first(debate, ResultKind::Verdict));
    stage.map_or("solution", |stage| &stage.words.noun)
}

pub(super) fn is_ballot(debate: &Debate, one: &Contribution) -> bool {
    debate.yield_of(one) == Some(ResultKind::Ballot)
}

/// The preposition for a call's target: a critique *of*, a vote *for*, a speech *addressed to*.
pub(crate) fn preposition(debate: &Debate, stage: StageId) -> &'static str {
    match debate.stage(stage).and_then(|stage| stage.yields) {
        Some(ResultKind::Ballot) => "for",
        Some(ResultKind::Speech) => "addressed to",
        _ => "of",
    }
}

/// Counts a round's new texts by stage: `3 proposals, 6 critiques, 3 refinements`.
pub(super) fn said_in(debate: &Debate, round: &Round) -> String {
    let mut stages: Vec<(StageId, usize)> = Vec::new();
    for one in round.contributions.iter().filter(|one| !one.metadata.carried_over) {
        match stages.iter_mut().find(|(stage, _)| *stage == one.stage) {
            Some((_, count)) => *count += 1,
            None => stages.push((one.stage, 1)),
        }
    }
    // The sort is stable, so stages of equal rank keep the order of their texts.
    stages.sort_by_key(|(stage, _)| debate.place_rank(*stage));
    let said = stages.into_iter().map(|(stage, count)| {
        let words = debate.words(stage);
        format!("{count} {}", inline(if count == 1 { &words.noun } else { &words.plural }))
    });
    let said = said.collect::<Vec<_>>().join(", ");
    if said.is_empty() { "nothing was said".to_owned() } else { said }
}

pub(super) fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_record::debate::fixture;
    use dialectic_record::debate::fixture::pitching;
    use dialectic_record::protocol::DIALECTIC;

    fn with(stages: Arc<[StageInfo]>) -> Debate {
        Debate { stages, ..fixture::debate() }
    }

    fn headings(stages: Arc<[StageInfo]>, said: &[(&str, &str)]) -> Vec<String> {
        let debate = with(stages);
        let said = said
            .iter()
            .map(|(stage, agent)| Arc::new(fixture::text(StageId::from((*stage).to_owned()), agent, "text")));
        let round = Round { contributions: said.collect(), ..Round::begun(1) };
        let sections = sections(&debate, &round);
        sections.iter().map(|(name, contributions)| format!("{} {}", capitalized(name), contributions.len())).collect()
    }

    #[test]
    fn texts_stand_under_their_stage_and_those_of_an_unknown_one_under_its_id() {
        let dialectic = |said: &[(&str, &str)]| headings(DIALECTIC.infos(), said);
        assert_eq!(dialectic(&[]), ["Proposals 0", "Critiques 0", "Refinements 0"]);
        assert_eq!(
            dialectic(&[("encore", "a"), ("refinement", "a"), ("proposal", "a"), ("encore", "b")]),
            ["Proposals 1", "Critiques 0", "Refinements 1", "Encore 2"]
        );
        assert_eq!(headings(pitching::stages(), &[("heckle", "a"), ("pitch", "a")]), ["Pitches 1", "Heckles 1"]);
        let writing = |id, plural| {
            let stage = StageInfo::new(StageId::new(id), [id, plural, id, id, id, id]);
            stage.yielding(ResultKind::Proposal).in_round().essential()
        };
        let review = [writing("draft", "drafts"), writing("rewrite", "rewrites")];
        assert_eq!(headings(review.clone().into(), &[]), ["Drafts 0"]);
        assert_eq!(headings(review.clone().into(), &[("draft", "a")]), ["Drafts 1"]);
        assert_eq!(headings(review.into(), &[("rewrite", "a")]), ["Rewrites 1"], "no draft is missed there");
    }

    #[test]
    fn speeches_stay_in_the_order_in_which_they_were_held() {
        let speech = |id: &'static str| {
            StageInfo::new(StageId::new(id), [id, "speeches", id, id, id, id]).yielding(ResultKind::Speech)
        };
        let stages: Arc<[StageInfo]> = ["silence", "answer", "opening", "closing"].map(speech).into();
        let said = [("opening", "a"), ("answer", "b"), ("opening", "b"), ("opening", "c"), ("answer", "a")];
        assert_eq!(headings(stages, &said), ["Opening 1", "Answer 1", "Speeches 2", "Answer 1"]);
    }
}
