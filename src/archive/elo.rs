//! The arithmetic of ratings and calibration.

/// The initial rating.
pub(super) const START: f64 = 1500.0;
/// The maximum effect of one debate on a rating.
const K: f64 = 32.0;
/// The rating difference at which the better player is expected to win ten times as often.
const SCALE: f64 = 400.0;
/// Scores closer than this are equal, since means are inexact.
const EQUAL: f64 = 1e-9;

/// The change of each rating by a debate, from the ratings before it and the judge's scores. All pairs count, and the sum
/// over the pairs is divided by the number of opponents.
pub(super) fn changes(players: &[(f64, f64)]) -> Vec<f64> {
    let Some(opponents) = players.len().checked_sub(1).filter(|opponents| *opponents > 0) else {
        return vec![0.0; players.len()];
    };
    #[expect(clippy::cast_precision_loss, reason = "bounded by the participants of a debate")]
    let opponents = opponents as f64;
    let change = |place: usize| -> f64 {
        let (rating, score) = players[place];
        let others = players.iter().enumerate().filter(|(other, _)| *other != place);
        let surprises = others.map(|(_, (other, other_score))| {
            let expected = 1.0 / (1.0 + 10_f64.powf((other - rating) / SCALE));
            let won = match score - other_score {
                difference if difference.abs() <= EQUAL => 0.5,
                difference if difference > 0.0 => 1.0,
                _ => 0.0,
            };
            won - expected
        });
        K * surprises.sum::<f64>() / opponents
    };
    (0..players.len()).map(change).collect()
}

/// The distance of a ballot's confidence, 0 to 100, from whether the judge put its candidate first: 0 is best, 1 worst.
pub(super) fn calibration(confidence: f64, won: bool) -> f64 {
    (confidence / 100.0 - if won { 1.0 } else { 0.0 }).abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn equals_win_and_lose_half_of_k() {
        let changes = changes(&[(START, 80.0), (START, 60.0)]);
        assert!(close(changes[0], 16.0) && close(changes[1], -16.0), "{changes:?}");
    }

    #[test]
    fn who_is_ahead_of_all_but_one_gains_what_the_pairs_come_to() {
        // 0 beats 2, loses to 1: nothing. 1 beats both. 2 loses to both.
        let changes = changes(&[(START, 70.0), (START, 90.0), (START, 50.0)]);
        assert!(close(changes[0], 0.0) && close(changes[1], 16.0) && close(changes[2], -16.0), "{changes:?}");
    }

    #[test]
    fn a_draw_moves_the_better_one_down() {
        let changes = changes(&[(1900.0, 50.0), (1500.0, 50.0)]);
        // The expectation is 10/11.
        assert!(close(changes[0], 32.0 * (0.5 - 10.0 / 11.0)));
        assert!(close(changes[0], -changes[1]));
    }

    #[test]
    fn alone_there_is_nothing_to_win() {
        assert_eq!(changes(&[(START, 90.0)]), [0.0]);
        assert!(changes(&[]).is_empty());
    }

    #[test]
    fn confidence_in_the_winner_costs_little() {
        assert!(close(calibration(90.0, true), 0.1));
        assert!(close(calibration(90.0, false), 0.9));
        assert!(close(calibration(50.0, true), 0.5));
    }
}
