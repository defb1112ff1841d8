//! Past debates as material for new ones.

use std::collections::HashSet;
use std::fmt::Write as _;

use dialectic_base::markdown::{single_spaced, truncate};
use dialectic_engine::runner::DebateHistory;
use dialectic_record::debate::{
    AgentSettings, AgentStanding, Debate, Decision, Ledger, Material, MaterialSource, Point, Remark, Response,
    Settings, Standings,
};
use dialectic_record::store::Directory;

use super::ratings::ballots;
use super::{Archive, ArchiveError, Memory, Player, is_rehearsal};

/// The maximum number of past debates in a new one.
const DEBATES: usize = 3;
/// The maximum number of characters shown of a decision, its evidence and its dissent.
const DECISION: usize = 1800;
const EVIDENCE: usize = 600;
const DISSENT: usize = 600;
/// The maximum number of characters shown of a problem.
const PROBLEM: usize = 400;

#[derive(Debug, Clone)]
pub struct PastDebates {
    directory: Directory,
}

impl PastDebates {
    pub fn of(directory: &Directory) -> Self {
        Self { directory: directory.clone() }
    }

    fn archive(&self) -> Result<Archive, ArchiveError> {
        let mut archive = Archive::open(&self.directory)?;
        archive.update()?;
        Ok(archive)
    }

    /// Whether past debates can exist. Does not create the directory.
    fn is_there(&self) -> bool {
        self.directory.path().is_dir()
    }

    fn find_standings(&self, agents: &[AgentSettings]) -> Result<Standings, ArchiveError> {
        if !self.is_there() {
            return Ok(Standings::default());
        }
        let archive = self.archive()?;
        let ratings = archive.ratings()?;
        let standing = |agent: &AgentSettings| {
            let player = Player::of(agent);
            let rating = ratings.iter().find(|one| one.player == player)?;
            Some(AgentStanding {
                agent_id: agent.id.clone(),
                rating: Some(rating.rating),
                calibration: rating.calibration,
                debates: rating.debates,
            })
        };
        Ok(Standings { debates: archive.debates_counted()?, agents: agents.iter().filter_map(standing).collect() })
    }

    fn find_material(&self, problem: &str, settings: &Settings) -> Result<Vec<Material>, ArchiveError> {
        if !settings.debate.memory || !self.is_there() {
            return Ok(Vec::new());
        }
        // No model made a rehearsal's decision, so new debates must not build on it.
        let memories = self.archive()?.search(problem, is_rehearsal(settings), DEBATES)?;
        Ok(memories.iter().map(told).collect())
    }

    /// Returns the names of state files whose remembered problem, decision, objections or dissent contain every word of
    /// `text`.
    ///
    /// # Errors
    /// The archive cannot be used.
    pub fn files_with(&self, text: &str) -> Result<HashSet<String>, ArchiveError> {
        if self.is_there() { self.archive()?.files_with(text) } else { Ok(HashSet::new()) }
    }
}

impl DebateHistory for PastDebates {
    fn standings(&self, agents: &[AgentSettings]) -> Result<Standings, String> {
        self.find_standings(agents).map_err(|error| with_cause(&error))
    }

    fn material(&self, problem: &str, settings: &Settings) -> Result<Vec<Material>, String> {
        self.find_material(problem, settings).map_err(|error| with_cause(&error))
    }

    fn take_in(&self, settings: &Settings) -> Result<(), String> {
        if !settings.debate.memory && !Archive::rates(&settings.debate.protocol) {
            return Ok(());
        }
        self.archive().map(drop).map_err(|error| with_cause(&error))
    }
}

/// An error with its cause on one line.
fn with_cause(error: &ArchiveError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

fn told(memory: &Memory) -> Material {
    let mut text = String::new();
    let mut cut = false;
    for (title, part, most) in [
        ("Problem", &memory.problem, PROBLEM),
        ("Decision", &memory.decision, DECISION),
        ("Confirmed objections", &memory.evidence, EVIDENCE),
        ("Dissent", &memory.dissent, DISSENT),
    ] {
        let (part, whole) = (truncate(part.trim(), most), part.trim());
        if !part.is_empty() {
            let ellipsis = if part.len() < whole.len() { " …" } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(text, "{title}:\n{part}{ellipsis}\n\n");
            cut |= part.len() < whole.len();
        }
    }
    let day = memory.finished_at.get(..10).unwrap_or(&memory.finished_at);
    let name = format!("the debate {} of {day}", memory.debate);
    Material { source: MaterialSource::Memory, name, text: text.trim_end().to_owned(), cut, error: None }
}

/// A debate's decision for later debates on the same subject.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct PastDecision {
    pub(super) problem: String,
    pub(super) decision: String,
    /// Objections that proved right and that the answer follows, one per line.
    pub(super) evidence: String,
    /// Dissent, one item per line.
    pub(super) dissent: String,
}

impl PastDecision {
    /// Returns `None` if the debate has no answer.
    pub(super) fn of(debate: &Debate) -> Option<Self> {
        let solution = debate.final_solution.as_ref().filter(|solution| !solution.description.trim().is_empty())?;
        let ledger = Ledger::of(debate);
        let (evidence, mut dissent): (Vec<_>, Vec<_>) = ledger.objections.iter().partition(|one| is_evidence(one));
        dissent.retain(|one| one.is_undecided() || one.response() == Some(Response::Rejected) || one.is_unmet());
        let against = ballots(debate).filter(|ballot| {
            let winner = solution.base.as_ref().or(debate.voting.as_ref().and_then(|voting| voting.winner.as_ref()));
            winner.is_some() && ballot.target_agent_id.as_ref() != winner
        });
        let against = against.map(|ballot| line(&format!("{} voted otherwise: {}", ballot.agent_id, ballot.content)));
        let unmet = solution.unfulfilled_major_requirements.iter().map(|one| line(&format!("Not fulfilled: {one}")));
        let open = solution.open_questions.iter().map(|one| line(&format!("Open: {one}")));
        Some(Self {
            problem: debate.problem.trim().to_owned(),
            decision: solution.description.trim().to_owned(),
            evidence: evidence.into_iter().map(met).collect(),
            dissent: dissent.into_iter().map(unmet_objection).chain(against).chain(unmet).chain(open).collect(),
        })
    }
}

/// Whether an objection proved right and the answer follows it.
fn is_evidence(one: &Point) -> bool {
    match one.ruling() {
        Some(ruling) => ruling.decision != Decision::Dismissed && !ruling.leaves_something(),
        None => matches!(one.response(), Some(Response::Accepted | Response::Partly)) && !one.is_undecided(),
    }
}

fn met(one: &Point) -> String {
    let why = one.ruling().map(|ruling| ruling.reason.as_str()).filter(|why| !why.trim().is_empty());
    with_reason(&one.point.in_words(), why.or(one.answer().and_then(Remark::reason)))
}

fn unmet_objection(one: &Point) -> String {
    let ruled = one.ruling().map(|ruling| ruling.reason.as_str()).filter(|why| !why.trim().is_empty());
    with_reason(
        &format!("{}: {}", one.critic_id, one.point.in_words()),
        one.answer().and_then(Remark::reason).or(ruled),
    )
}

fn with_reason(what: &str, why: Option<&str>) -> String {
    match why {
        Some(why) => line(&format!("{what} ({why})")),
        None => line(what),
    }
}

fn line(text: &str) -> String {
    format!("- {}\n", single_spaced(text))
}
