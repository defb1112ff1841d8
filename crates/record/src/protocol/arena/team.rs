//! The team: the best by rating and calibration, from more than one family of models.

use std::collections::BTreeMap;

use crate::debate::{Debate, Event, Gathered, Selection, TeamCandidate};

use super::rules;

/// The rating of an unknown agent.
const RATING: f64 = 1500.0;
/// The rating difference that adds 1.
const SCALE: f64 = 400.0;
/// The calibration of an unknown agent, as if it always predicted fifty-fifty.
const CALIBRATION: f64 = 0.5;

/// The chosen team, once the agents' past results are available.
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
            let by_rating = (rating.unwrap_or(RATING) - RATING) / SCALE;
            let by_calibration = CALIBRATION - calibration.unwrap_or(CALIBRATION);
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

/// Chooses the best `size` candidates, ties in order, with at most half from one family if others are available.
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
    // There are no others.
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
