//! Ratings of models by role, from debates with a judge's scores.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Transaction, params};
use serde::Serialize;

use dialectic_base::provider::OFFLINE;
use dialectic_record::debate::{AgentId, AgentSettings, Contribution, Debate, ResultKind, Timestamp, Verdict};

use super::elo::{START, brier, effects};
use super::{Archive, ArchiveError};

/// Half the width of a 95 % confidence interval in standard errors.
const INTERVAL: f64 = 1.96;
/// The rated protocol.
const RATED: &str = "arena";

/// A rated player: a model in a role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Player {
    /// The model.
    pub model: String,
    /// The role.
    pub role: String,
}

impl Player {
    /// The player of an agent. The offline provider is not credited to the agent's model.
    pub fn of(agent: &AgentSettings) -> Self {
        let model = if agent.provider == OFFLINE { OFFLINE } else { &agent.model };
        Self { model: model.to_owned(), role: agent.role.clone() }
    }
}

/// A player's rating.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Rating {
    /// The player.
    #[serde(flatten)]
    pub player: Player,
    /// The Elo rating.
    pub rating: f64,
    /// Half the width of the rating's 95 % confidence interval; `None` without an opponent.
    pub rating_interval: Option<f64>,
    /// The number of debates.
    pub debates: u32,
    /// The mean Brier score of its ballots, 0 to 1, lower is better; `None` without ballots.
    pub brier: Option<f64>,
    /// Half the width of the Brier score's 95 % confidence interval; `None` with fewer than two ballots.
    pub brier_interval: Option<f64>,
    /// The number of ballots.
    pub ballots: u32,
    /// The rating after each debate, oldest first.
    pub history: Vec<RatingStep>,
}

/// A rating after a debate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RatingStep {
    /// The debate's id.
    pub debate: String,
    /// The end of the debate.
    pub finished_at: String,
    /// The rating after it.
    pub rating: f64,
}

/// Counts a debate with scored proposals. Has no effect the second time.
pub(super) fn count(transaction: &Transaction<'_>, debate: &Debate, at: Timestamp) -> rusqlite::Result<()> {
    let Some(verdict) = &debate.verdict else { return Ok(()) };
    let id = debate.id.as_str();
    let counted = "SELECT EXISTS (SELECT 1 FROM scores WHERE debate = ?)";
    if transaction.prepare_cached(counted)?.query_row([id], |row| row.get(0))? {
        return Ok(());
    }
    let ballots = calibration(debate, verdict);
    let mut insert = transaction.prepare_cached(
        "INSERT INTO scores (debate, agent, finished_at, model, role, score, ballots, brier, brier_squared)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    for agent in debate.agents() {
        let Some(score) = verdict.scores.get(&agent.id) else { continue };
        let Player { model, role } = Player::of(agent);
        let cast = ballots.get(&agent.id).map_or(&[][..], Vec::as_slice);
        let counted = i64::try_from(cast.len()).unwrap_or(i64::MAX);
        let (brier, squared) = cast.iter().fold((0.0, 0.0), |(sum, squares), one| (sum + one, squares + one * one));
        insert.execute(params![id, agent.id.as_str(), at.to_string(), model, role, score, counted, brier, squared])?;
    }
    Ok(())
}

/// The Brier scores of each agent's ballots. Empty if the judge has no first.
fn calibration<'d>(debate: &'d Debate, verdict: &Verdict) -> HashMap<&'d AgentId, Vec<f64>> {
    let mut scores: HashMap<&AgentId, Vec<f64>> = HashMap::new();
    let Some(winner) = &verdict.winner else { return scores };
    for ballot in ballots(debate) {
        if let (Some(candidate), Some(confidence)) = (&ballot.target_agent_id, ballot.metadata.confidence) {
            scores.entry(&ballot.agent_id).or_default().push(brier(confidence, candidate == winner));
        }
    }
    scores
}

/// The agents' ballots on texts.
pub(super) fn ballots(debate: &Debate) -> impl Iterator<Item = &Contribution> {
    let said = debate.rounds.iter().flat_map(|round| &round.contributions).map(AsRef::as_ref);
    said.filter(|one| debate.yield_of(one) == Some(ResultKind::Ballot))
}

/// An agent's result in a debate.
struct AgentScore {
    player: Player,
    points: f64,
    ballots: u32,
    brier: f64,
    brier_squared: f64,
}

/// A player's running totals.
#[derive(Default)]
struct Sum {
    change: f64,
    information: f64,
    ballots: u32,
    brier: f64,
    brier_squared: f64,
    history: Vec<RatingStep>,
}

impl Archive {
    /// Whether the protocol's debates are rated: their scores must concern the debaters' own solutions, not assigned
    /// sides.
    pub fn rates(protocol: &str) -> bool {
        protocol == RATED
    }

    /// All ratings, best first. They depend on the order in which debates ended, not on the order of reading.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn ratings(&self) -> Result<Vec<Rating>, ArchiveError> {
        let mut select = self.connection.prepare(
            "SELECT debate, finished_at, model, role, score, ballots, brier, brier_squared
             FROM scores ORDER BY finished_at, debate, agent",
        )?;
        let mut sums: BTreeMap<Player, Sum> = BTreeMap::new();
        let mut debate: Option<(String, String, Vec<AgentScore>)> = None;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let (id, finished_at): (String, String) = (row.get(0)?, row.get(1)?);
            let score = AgentScore {
                player: Player { model: row.get(2)?, role: row.get(3)? },
                points: row.get(4)?,
                ballots: row.get(5)?,
                brier: row.get(6)?,
                brier_squared: row.get(7)?,
            };
            match &mut debate {
                Some((same, _, scores)) if *same == id => scores.push(score),
                _ => {
                    if let Some((id, at, scores)) = debate.replace((id, finished_at, vec![score])) {
                        add(&mut sums, &id, &at, &scores);
                    }
                }
            }
        }
        if let Some((id, at, scores)) = debate {
            add(&mut sums, &id, &at, &scores);
        }
        let mut ratings: Vec<Rating> = sums.into_iter().map(|(player, sum)| rating(player, sum)).collect();
        ratings.sort_by(|one, other| other.rating.total_cmp(&one.rating));
        Ok(ratings)
    }

    /// The number of counted debates.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn debates_counted(&self) -> Result<u32, ArchiveError> {
        let count = "SELECT count(DISTINCT debate) FROM scores";
        Ok(self.connection.query_row(count, [], |row| row.get(0))?)
    }
}

/// Adds the effects of a debate.
fn add(sums: &mut BTreeMap<Player, Sum>, debate: &str, finished_at: &str, scores: &[AgentScore]) {
    let before = |player: &Player| START + sums.get(player).map_or(0.0, |sum| sum.change);
    let players: Vec<(f64, f64)> = scores.iter().map(|one| (before(&one.player), one.points)).collect();
    for (one, effect) in scores.iter().zip(effects(&players)) {
        let sum = sums.entry(one.player.clone()).or_default();
        sum.change += effect.change;
        sum.information += effect.information;
        sum.ballots += one.ballots;
        sum.brier += one.brier;
        sum.brier_squared += one.brier_squared;
    }
    for player in scores.iter().map(|one| &one.player).collect::<BTreeSet<_>>() {
        let sum = sums.entry(player.clone()).or_default();
        let rating = START + sum.change;
        sum.history.push(RatingStep { debate: debate.to_owned(), finished_at: finished_at.to_owned(), rating });
    }
}

fn rating(player: Player, sum: Sum) -> Rating {
    let count = f64::from(sum.ballots);
    let mean = sum.brier / count;
    // The variance of a mean from sums; rounding may make it negative.
    let error = ((sum.brier_squared - count * mean * mean) / (count - 1.0) / count).max(0.0).sqrt();
    Rating {
        player,
        rating: START + sum.change,
        rating_interval: (sum.information > 0.0).then(|| INTERVAL / sum.information.sqrt()),
        debates: u32::try_from(sum.history.len()).unwrap_or(u32::MAX),
        brier: (sum.ballots > 0).then_some(mean),
        brier_interval: (sum.ballots > 1).then_some(INTERVAL * error),
        ballots: sum.ballots,
        history: sum.history,
    }
}
