//! Searches past decisions.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, Row};
use serde::Serialize;

use dialectic_base::markdown::single_spaced;

use super::{Archive, ArchiveError};

/// The maximum number of search terms, the rarest words of a subject.
const TERMS: usize = 16;
/// The maximum number of words considered.
const CONSIDERED: usize = 100;
/// A word in more than one of this many memories is too common.
const COMMON: usize = 5;
/// With fewer memories no word counts as common.
const FEW: usize = 20;
/// The number of shared terms that make a memory relevant, if there are as many.
const SHARED: usize = 3;
/// The approximate number of words in an excerpt.
const SNIPPET: u32 = 24;

/// Common English words. In other languages the rarest words are found without a list.
const STOP_WORDS: &str = "a about above after again against all also am an and any are as at be because been before being \
    below between both but by can could did do does doing down during each few for from further had has \
    have having he her here hers him his how i if in into is it its just me more most \
    my no nor not now of off on once only or other our out over own same she should so \
    some such than that the their them then there these they this those through to too under until up very \
    was we were what when where which while who whom why will with would you your";

/// The required relevance of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relevance {
    /// Shares a word.
    Any,
    /// Probably the same subject: shares several distinctive words.
    SameSubject,
}

/// A memory that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryMatch {
    /// The debate's id.
    pub debate: String,
    /// The end of the debate.
    pub finished_at: String,
    /// The problem.
    pub problem: String,
    /// The best matching passage.
    pub excerpt: String,
}

/// The complete memory of a debate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// The debate's id.
    pub debate: String,
    /// The end of the debate.
    pub finished_at: String,
    /// The problem.
    pub problem: String,
    /// The decision.
    pub decision: String,
    /// Confirmed objections, as a Markdown list.
    pub evidence: String,
    /// Dissent, as a Markdown list.
    pub dissent: String,
}

impl Archive {
    /// The memories most relevant to `subject`, best first, at most `most`. Omits rehearsals unless requested.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn search(
        &self,
        subject: &str,
        relevance: Relevance,
        with_rehearsals: bool,
        most: usize,
    ) -> Result<Vec<MemoryMatch>, ArchiveError> {
        let words = words(subject);
        let terms = self.telling(&words)?;
        let shared = match relevance {
            Relevance::Any => 1,
            Relevance::SameSubject => SHARED.min(words.len()),
        };
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        // Only for returned results: an excerpt takes longer than a ranking.
        let mut select = self.connection.prepare_cached(
            "SELECT files.number, files.debate, files.finished_at
             FROM memories JOIN files ON files.number = memories.rowid
             WHERE memories MATCH ?1 AND (?2 OR NOT files.rehearsed)
             ORDER BY bm25(memories, 4.0, 2.0, 1.0, 1.0) LIMIT ?3",
        )?;
        let mut excerpt = self.connection.prepare_cached(
            "SELECT problem, snippet(memories, -1, '', '', '…', ?1) FROM memories WHERE memories MATCH ?2 AND rowid = ?3",
        )?;
        let query = terms.iter().map(|term| phrase(term)).collect::<Vec<_>>().join(" OR ");
        let limit = i64::try_from(most.saturating_mul(4)).unwrap_or(i64::MAX);
        let mut rows = select.query((&query, with_rehearsals, limit))?;
        let mut found: Vec<MemoryMatch> = Vec::new();
        while let Some(row) = rows.next()? {
            let (number, debate): (i64, String) = (row.get(0)?, row.get(1)?);
            let is_new = found.iter().all(|other| other.debate != debate);
            if found.len() < most && is_new && (shared == 1 || self.shares(number, &terms)? >= shared) {
                let finished_at = row.get(2)?;
                let (problem, excerpt): (_, String) =
                    excerpt.query_row((SNIPPET, &query, number), |row| Ok((row.get(0)?, row.get(1)?)))?;
                let excerpt = single_spaced(&excerpt);
                found.push(MemoryMatch { debate, finished_at, problem, excerpt });
            }
        }
        Ok(found)
    }

    /// The memory of a debate.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn recall(&self, debate: &str) -> Result<Option<Memory>, ArchiveError> {
        let mut select = self.connection.prepare_cached(
            "SELECT files.debate, files.finished_at, problem, decision, evidence, dissent
             FROM files JOIN memories ON memories.rowid = files.number WHERE files.debate = ?",
        )?;
        let memory = |row: &Row<'_>| {
            Ok(Memory {
                debate: row.get(0)?,
                finished_at: row.get(1)?,
                problem: row.get(2)?,
                decision: row.get(3)?,
                evidence: row.get(4)?,
                dissent: row.get(5)?,
            })
        };
        Ok(select.query_row([debate], memory).optional()?)
    }

    /// The number of memories.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn memories(&self) -> Result<usize, ArchiveError> {
        // The index's table of lengths; counting the memories would read all texts.
        let count = "SELECT count(*) FROM memories_docsize";
        let count: i64 = self.connection.query_row(count, [], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// The distinctive words of a subject: the terms in the fewest memories.
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
        // If all words are common, a few of them must suffice.
        known.truncate(if rare > 0 { rare.min(TERMS) } else { SHARED });
        Ok(known.into_iter().map(|(_, word)| word.clone()).collect())
    }

    /// The number of terms in a memory.
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

/// The distinct words of a text in order, without common ones.
fn words(text: &str) -> Vec<String> {
    let mut passed_over: HashSet<String> = STOP_WORDS.split(' ').map(str::to_owned).collect();
    let words = text.split(|character: char| !character.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() > 1 && passed_over.insert(word.clone())).collect()
}

/// A quoted term of the query language.
fn phrase(term: &str) -> String {
    format!("\"{term}\"")
}
