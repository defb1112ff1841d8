//! Remembers the decisions of past debates, and finds those on a new debate's subject.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::error::in_full;
use dialectic_base::markdown::{single_spaced, truncate};
use dialectic_engine::runner::DebateHistory;
use dialectic_record::debate::{AgentStanding, Debate, Material, MaterialSource, Standings};
use dialectic_record::ids::Timestamp;
use dialectic_record::points::{Decision, Ledger, Point, Remark, Response};
use dialectic_record::settings::{AgentSettings, Settings};
use dialectic_record::store::Directory;

use super::ratings::ballots;
use super::{Archive, ArchiveError, Player};

/// The maximum number of past debates to show in a new one.
const DEBATES: usize = 3;
/// The maximum length of a past decision, in characters.
const DECISION: usize = 1800;
const EVIDENCE: usize = 600;
const DISSENT: usize = 600;
/// The maximum length of a past problem, in characters.
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

    /// Whether the directory exists. Check this before opening the archive, which would create the directory.
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
        // No model made the decision of a rehearsal, so only other rehearsals may build on it.
        let memories = self.archive()?.search(problem, settings.is_offline(), DEBATES)?;
        Ok(memories.iter().map(told).collect())
    }

    /// The names of the state files whose remembered problem, decision, objections or dissent contain every word of
    /// `text`.
    ///
    /// # Errors
    ///
    /// Returns an error if the archive cannot be used.
    pub fn files_with(&self, text: &str) -> Result<HashSet<String>, ArchiveError> {
        if self.is_there() { self.archive()?.files_with(text) } else { Ok(HashSet::new()) }
    }
}

impl DebateHistory for PastDebates {
    fn standings(&self, agents: &[AgentSettings]) -> Result<Standings, String> {
        self.find_standings(agents).map_err(|error| in_full(&error))
    }

    fn material(&self, problem: &str, settings: &Settings) -> Result<Vec<Material>, String> {
        self.find_material(problem, settings).map_err(|error| in_full(&error))
    }

    fn take_in(&self, settings: &Settings) -> Result<(), String> {
        if !settings.debate.memory && !Archive::rates(&settings.debate.protocol) {
            return Ok(());
        }
        self.archive().map(drop).map_err(|error| in_full(&error))
    }
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

/// What later debates on the same subject are told about a debate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    pub debate: String,
    pub finished_at: String,
    pub problem: String,
    pub decision: String,
    /// A Markdown list of the objections that proved right and that the answer takes into account.
    pub evidence: String,
    /// A Markdown list of undecided, rejected and unmet objections, votes for other candidates, unmet requirements and
    /// open questions.
    pub dissent: String,
}

impl Memory {
    /// `None` if the debate has no answer.
    pub(super) fn of(debate: &Debate, finished_at: Timestamp) -> Option<Self> {
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
            debate: debate.id.to_string(),
            finished_at: finished_at.to_string(),
            problem: debate.problem.trim().to_owned(),
            decision: solution.description.trim().to_owned(),
            evidence: evidence.into_iter().map(met).collect(),
            dissent: dissent.into_iter().map(unmet_objection).chain(against).chain(unmet).chain(open).collect(),
        })
    }
}

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

/// The maximum number of search terms; the rarest words are used.
const TERMS: usize = 16;
/// The maximum number of words to consider as search terms.
const CONSIDERED: usize = 100;
/// A word is too common to be a search term if at least one memory in this many contains it.
const COMMON: usize = 5;
/// A word in fewer memories than this is never too common.
const FEW: usize = 20;
/// The minimum number of terms that a memory must contain to be relevant.
const SHARED: usize = 3;

/// Common English words. In other languages, common words are recognized only by their frequency.
const STOP_WORDS: &str = "a about above after again against all also am an and any are as at be because been before being \
    below between both but by can could did do does doing down during each few for from further had has \
    have having he her here hers him his how i if in into is it its just me more most \
    my no nor not now of off on once only or other our out over own same she should so \
    some such than that the their them then there these they this those through to too under until up very \
    was we were what when where which while who whom why will with would you your";

impl Archive {
    /// Finds at most `most` memories that share several distinctive words with `subject`, best match first. Omits
    /// rehearsals unless `with_rehearsals`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn search(&self, subject: &str, with_rehearsals: bool, most: usize) -> Result<Vec<Memory>, ArchiveError> {
        let words = words(subject);
        let terms = self.telling(&words)?;
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        let mut select = self.connection.prepare_cached(
            "SELECT files.number, files.debate, files.finished_at, problem, decision, evidence, dissent
             FROM memories JOIN files ON files.number = memories.rowid
             WHERE memories MATCH ?1 AND (?2 OR NOT files.rehearsed)
             ORDER BY bm25(memories, 4.0, 2.0, 1.0, 1.0) LIMIT ?3",
        )?;
        let query = terms.iter().map(|term| phrase(term)).collect::<Vec<_>>().join(" OR ");
        let limit = i64::try_from(most.saturating_mul(4)).unwrap_or(i64::MAX);
        let mut rows = select.query((&query, with_rehearsals, limit))?;
        let mut found: Vec<Memory> = Vec::new();
        while let Some(row) = rows.next()? {
            let memory = Memory {
                debate: row.get(1)?,
                finished_at: row.get(2)?,
                problem: row.get(3)?,
                decision: row.get(4)?,
                evidence: row.get(5)?,
                dissent: row.get(6)?,
            };
            // Two state files may contain the same debate.
            let is_new = found.iter().all(|other| other.debate != memory.debate);
            if found.len() < most && is_new && self.shares(row.get(0)?, &terms)? >= SHARED.min(words.len()) {
                found.push(memory);
            }
        }
        Ok(found)
    }

    /// The names of the state files whose memory contains every word of `text`; empty if `text` has no words.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn files_with(&self, text: &str) -> Result<HashSet<String>, ArchiveError> {
        let words = words(text);
        if words.is_empty() {
            return Ok(HashSet::new());
        }
        let query = words.iter().map(|word| phrase(word)).collect::<Vec<_>>().join(" AND ");
        let mut select = self.connection.prepare(
            "SELECT files.name FROM memories JOIN files ON files.number = memories.rowid WHERE memories MATCH ?",
        )?;
        let names = select.query_map([query], |row| row.get(0))?;
        Ok(names.collect::<rusqlite::Result<_>>()?)
    }

    pub(super) fn memories(&self) -> Result<usize, ArchiveError> {
        // Counts the rows of FTS5's table of lengths, because counting `memories` would read all texts.
        let count = "SELECT count(*) FROM memories_docsize";
        let count: i64 = self.connection.query_row(count, [], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// Returns at most [`TERMS`] of the rarest `words` that occur in a memory. If all of them are too common, returns
    /// the [`SHARED`] rarest.
    fn telling(&self, words: &[String]) -> Result<Vec<String>, ArchiveError> {
        let too_many = i64::try_from((self.memories()? / COMMON).max(FEW)).unwrap_or(i64::MAX);
        let count = "SELECT count(*) FROM (SELECT 1 FROM memories WHERE memories MATCH ? LIMIT ?)";
        let mut count = self.connection.prepare_cached(count)?;
        let mut known: Vec<(i64, &String)> = Vec::new();
        for word in words.iter().take(CONSIDERED) {
            known.push((count.query_row((phrase(word), too_many), |row| row.get(0))?, word));
        }
        known.retain(|(frequency, _)| *frequency > 0);
        known.sort();
        let rare = known.iter().take_while(|(frequency, _)| *frequency < too_many).count();
        known.truncate(if rare > 0 { rare.min(TERMS) } else { SHARED });
        Ok(known.into_iter().map(|(_, word)| word.clone()).collect())
    }

    /// How many of `terms` the memory with this number contains.
    fn shares(&self, number: i64, terms: &[String]) -> Result<usize, ArchiveError> {
        let holds = "SELECT EXISTS (SELECT 1 FROM memories WHERE memories MATCH ? AND rowid = ?)";
        let mut holds = self.connection.prepare_cached(holds)?;
        let mut count = 0;
        for term in terms {
            count += usize::from(holds.query_row((phrase(term), number), |row| row.get::<_, bool>(0))?);
        }
        Ok(count)
    }
}

/// The distinct words of a text in lower case and in order, without stop words and single characters.
fn words(text: &str) -> Vec<String> {
    let mut passed_over: HashSet<String> = STOP_WORDS.split(' ').map(str::to_owned).collect();
    let words = text.split(|character: char| !character.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() > 1 && passed_over.insert(word.clone())).collect()
}

/// Quotes a term for FTS5's query language.
fn phrase(term: &str) -> String {
    format!("\"{term}\"")
}
