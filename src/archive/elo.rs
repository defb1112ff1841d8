//! The arithmetic of ratings and calibration.

use std::f64::consts::LN_10;

/// The initial rating.
pub(super) const START: f64 = 1500.0;
/// The maximum effect of one debate on a rating.
const K: f64 = 32.0;
/// The rating difference at which the better player is expected to win ten times as often.
const SCALE: f64 = 400.0;
/// Scores closer than this are equal, since means are inexact.
const EQUAL: f64 = 1e-9;

/// The effect of a debate on a rating.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Effect {
    /// The change of the rating.
    pub(super) change: f64,
    /// The information in the debate: the Fisher information of its pairs, weighted like the change.
    pub(super) information: f64,
}

/// The effect of a debate on each rating, by the judge's scores. All pairs count, expectations use the ratings before
/// the debate, and the sum over the pairs is divided by the number of opponents.
pub(super) fn effects(players: &[(f64, f64)]) -> Vec<Effect> {
    let Some(opponents) = players.len().checked_sub(1).filter(|opponents| *opponents > 0) else {
        return vec![Effect::default(); players.len()];
    };
    #[expect(clippy::cast_precision_loss, reason = "bounded by the participants of a debate")]
    let opponents = opponents as f64;
    let slope = LN_10 / SCALE;
    let effect = |place: usize| {
        let (rating, score) = players[place];
        let others = players.iter().enumerate().filter(|(other, _)| *other != place);
        others.fold(Effect::default(), |sum, (_, (other, other_score))| {
            let expected = 1.0 / (1.0 + 10_f64.powf((other - rating) / SCALE));
            let won = match score - other_score {
                difference if difference.abs() <= EQUAL => 0.5,
                difference if difference > 0.0 => 1.0,
                _ => 0.0,
            };
            Effect {
                change: sum.change + K * (won - expected) / opponents,
                information: sum.information + slope * slope * expected * (1.0 - expected) / opponents,
            }
        })
    };
    (0..players.len()).map(effect).collect()
}

/// The Brier score of a ballot: its voter's confidence, 0 to 100, that its candidate is the judge's first.
pub(super) fn brier(confidence: f64, is_right: bool) -> f64 {
    let outcome = if is_right { 1.0 } else { 0.0 };
    (confidence / 100.0 - outcome).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn equals_win_and_lose_half_of_k() {
        let changes: Vec<f64> = effects(&[(START, 80.0), (START, 60.0)]).iter().map(|effect| effect.change).collect();
        assert!(close(changes[0], 16.0) && close(changes[1], -16.0), "{changes:?}");
    }

    #[test]
    fn who_is_ahead_of_all_but_one_gains_what_the_pairs_come_to() {
        // 0 beats 2, loses to 1: nothing. 1 beats both. 2 loses to both.
        let changes = effects(&[(START, 70.0), (START, 90.0), (START, 50.0)]);
        let changes: Vec<f64> = changes.iter().map(|effect| effect.change).collect();
        assert!(close(changes[0], 0.0) && close(changes[1], 16.0) && close(changes[2], -16.0), "{changes:?}");
    }

    #[test]
    fn a_draw_moves_the_better_one_down() {
        let changes = effects(&[(1900.0, 50.0), (1500.0, 50.0)]);
        // The expectation is 10/11.
        assert!(close(changes[0].change, 32.0 * (0.5 - 10.0 / 11.0)));
        assert!(close(changes[0].change, -changes[1].change));
    }

    #[test]
    fn alone_there_is_nothing_to_win() {
        assert_eq!(effects(&[(START, 90.0)]), [Effect::default()]);
        assert!(effects(&[]).is_empty());
    }

    #[test]
    fn confidence_in_the_winner_costs_little() {
        assert!(close(brier(90.0, true), 0.01));
        assert!(close(brier(90.0, false), 0.81));
        assert!(close(brier(50.0, true), 0.25));
    }
}
