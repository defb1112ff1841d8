//! Past debates as material for new ones.

use std::collections::HashSet;
use std::fmt::Write as _;

use dialectic_base::markdown::truncate;
use dialectic_engine::runner::DebateHistory;
use dialectic_record::debate::{AgentSettings, AgentStanding, Material, MaterialSource, Settings, Standings};
use dialectic_record::store::Directory;

use super::{Archive, ArchiveError, Memory, Player, is_rehearsal};

/// The maximum number of past debates in a new one.
const DEBATES: usize = 3;
/// The maximum number of characters shown of a decision, its evidence and its dissent.
const DECISION: usize = 1800;
const EVIDENCE: usize = 600;
const DISSENT: usize = 600;
/// The maximum number of characters shown of a problem.
const PROBLEM: usize = 400;

/// The past debates of a directory.
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

    /// Whether there can be any. Must not create the directory.
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
        // A rehearsal's decision is not a model's, and must not be built on.
        let memories = self.archive()?.search(problem, is_rehearsal(settings), DEBATES)?;
        Ok(memories.iter().map(told).collect())
    }

    /// The names of the state files whose remembered problem, decision, objections or dissent have every word of `text`.
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

/// A memory as text for agents.
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
