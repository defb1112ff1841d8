//! Elo ratings of models by role, from debates with a judge's scores.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Transaction, params};

use dialectic_base::provider::OFFLINE;
use dialectic_record::answer::Verdict;
use dialectic_record::debate::{Contribution, Debate};
use dialectic_record::ids::{AgentId, ResultKind, Timestamp};
use dialectic_record::settings::AgentSettings;

use super::{Archive, ArchiveError};

const RATED: &str = "arena";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Player {
    pub model: String,
    pub role: String,
}

impl Player {
    /// Does not credit the results of the offline provider to the agent's model.
    pub fn of(agent: &AgentSettings) -> Self {
        let model = if agent.provider == OFFLINE { OFFLINE } else { &agent.model };
        Self { model: model.to_owned(), role: agent.role.clone() }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Rating {
    pub player: Player,
    pub rating: f64,
    /// The mean distance between the confidence of the player's ballots and the outcome, from 0 (best) to 1 (worst).
    /// The outcome is whether the judge ranked the ballot's candidate first. `None` without ballots.
    pub calibration: Option<f64>,
    pub debates: u32,
}

/// Records the judge's scores of the agents, unless the debate has no verdict or its scores are already recorded.
pub(super) fn count(transaction: &Transaction<'_>, debate: &Debate, at: Timestamp) -> rusqlite::Result<()> {
    let Some(verdict) = &debate.verdict else { return Ok(()) };
    let id = debate.id.as_str();
    let counted = "SELECT EXISTS (SELECT 1 FROM scores WHERE debate = ?)";
    if transaction.prepare_cached(counted)?.query_row([id], |row| row.get(0))? {
        return Ok(());
    }
    let ballots = calibrations(debate, verdict);
    let mut insert = transaction.prepare_cached(
        "INSERT INTO scores (debate, agent, finished_at, model, role, score, ballots, calibration)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for agent in debate.agents() {
        let Some(score) = verdict.scores.get(&agent.id) else { continue };
        let Player { model, role } = Player::of(agent);
        let cast = ballots.get(&agent.id).map_or(&[][..], Vec::as_slice);
        let counted = i64::try_from(cast.len()).unwrap_or(i64::MAX);
        let sum: f64 = cast.iter().sum();
        insert.execute(params![id, agent.id.as_str(), at.to_string(), model, role, score, counted, sum])?;
    }
    Ok(())
}

/// The distances of each voter's ballots from the outcome. Empty if the judge ranked no candidate first.
fn calibrations<'d>(debate: &'d Debate, verdict: &Verdict) -> HashMap<&'d AgentId, Vec<f64>> {
    let mut scores: HashMap<&AgentId, Vec<f64>> = HashMap::new();
    let Some(winner) = &verdict.winner else { return scores };
    for ballot in ballots(debate) {
        if let (Some(candidate), Some(confidence)) = (&ballot.target_agent_id, ballot.metadata.confidence) {
            scores.entry(&ballot.agent_id).or_default().push(calibration(confidence, candidate == winner));
        }
    }
    scores
}

pub(super) fn ballots(debate: &Debate) -> impl Iterator<Item = &Contribution> {
    let said = debate.rounds.iter().flat_map(|round| &round.contributions).map(AsRef::as_ref);
    said.filter(|one| debate.yield_of(one) == Some(ResultKind::Ballot))
}

impl Archive {
    /// Whether debates of a protocol are rated. Rated debates must have scores of the agents' own solutions, not of
    /// assigned sides.
    pub fn rates(protocol: &str) -> bool {
        protocol == RATED
    }

    /// All ratings, best first. The result depends on the order in which debates ended, not on the order in which they
    /// were read.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn ratings(&self) -> Result<Vec<Rating>, ArchiveError> {
        let mut select = self.connection.prepare(
            "SELECT model, role, sum(calibration) / nullif(sum(ballots), 0), count(DISTINCT debate)
             FROM scores GROUP BY model, role",
        )?;
        let players = select.query_map([], |row| {
            let player = Player { model: row.get(0)?, role: row.get(1)? };
            Ok((player.clone(), Rating { player, rating: START, calibration: row.get(2)?, debates: row.get(3)? }))
        })?;
        let mut ratings: BTreeMap<Player, Rating> = players.collect::<Result<_, _>>()?;
        let mut select = self
            .connection
            .prepare("SELECT debate, model, role, score FROM scores ORDER BY finished_at, debate, agent")?;
        let scores = select
            .query_map([], |row| Ok((row.get(0)?, Player { model: row.get(1)?, role: row.get(2)? }, row.get(3)?)))?;
        let scores: Vec<(String, Player, f64)> = scores.collect::<Result<_, _>>()?;
        for debate in scores.chunk_by(|(one, ..), (other, ..)| one == other) {
            let before = |player| ratings.get(player).map_or(START, |one| one.rating);
            let players: Vec<(f64, f64)> = debate.iter().map(|(_, player, score)| (before(player), *score)).collect();
            for ((_, player, _), change) in debate.iter().zip(changes(&players)) {
                if let Some(one) = ratings.get_mut(player) {
                    one.rating += change;
                }
            }
        }
        let mut ratings: Vec<Rating> = ratings.into_values().collect();
        ratings.sort_by(|one, other| other.rating.total_cmp(&one.rating));
        Ok(ratings)
    }

    /// The number of rated debates.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn debates_counted(&self) -> Result<u32, ArchiveError> {
        let count = "SELECT count(DISTINCT debate) FROM scores";
        Ok(self.connection.query_row(count, [], |row| row.get(0))?)
    }
}

pub(super) const START: f64 = 1500.0;
/// The maximum effect of one debate on a rating.
const K: f64 = 32.0;
/// The rating difference at which the better player is expected to win ten times as often.
const SCALE: f64 = 400.0;
/// The maximum difference between scores that are treated as a draw, because means are inexact.
const EQUAL: f64 = 1e-9;

/// The change of each player's rating by a debate. `players` contains the rating before the debate and the judge's
/// score. A player is compared with every other player, and the changes are averaged.
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

/// The distance between a ballot's confidence (0 to 100) and the outcome, which is whether the judge ranked its
/// candidate first: 0 is best, 1 worst.
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
