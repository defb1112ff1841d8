//! Looking up what was decided before.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, Row};
use serde::Serialize;

use dialectic_base::markdown::single_spaced;

use super::{Archive, ArchiveError};

/// Words of a subject that are looked for, the rarest ones.
const TERMS: usize = 16;
/// Words of a subject that are considered at all.
const CONSIDERED: usize = 100;
/// A word in more than one of this many memories says little about a subject.
const COMMON: usize = 5;
/// In so few memories no word is common.
const FEW: usize = 20;
/// How many words of a subject a memory has to share to be about it, where there are as many.
const SHARED: usize = 3;
/// Words of a match that are shown, about.
const SNIPPET: u32 = 24;

/// English words that every text has. A question in another language finds its rarest words all the same.
const STOP_WORDS: &str = "a about above after again against all also am an and any are as at be because been before being \
    below between both but by can could did do does doing down during each few for from further had has \
    have having he her here hers him his how i if in into is it its just me more most \
    my no nor not now of off on once only or other our out over own same she should so \
    some such than that the their them then there these they this those through to too under until up very \
    was we were what when where which while who whom why will with would you your";

/// How near a memory has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relevance {
    /// It shares a word.
    Any,
    /// It is probably about the same: it shares several of the words that tell subjects apart.
    SameSubject,
}

/// A memory that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryMatch {
    /// The debate's id.
    pub debate: String,
    /// When it ended.
    pub finished_at: String,
    /// What was asked.
    pub problem: String,
    /// The place that fits best, in short.
    pub excerpt: String,
}

/// All that is remembered of a debate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// The debate's id.
    pub debate: String,
    /// When it ended.
    pub finished_at: String,
    /// What was asked.
    pub problem: String,
    /// What was decided.
    pub decision: String,
    /// What was found right, as a list in Markdown.
    pub evidence: String,
    /// What was said against it, as a list in Markdown.
    pub dissent: String,
}

impl Archive {
    /// The memories that fit `subject` best, the best first, at most `most`. Memories of rehearsals are left out unless
    /// asked for.
    ///
    /// # Errors
    /// When the file cannot be read.
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
        // Only returned results get excerpts: to make one takes longer than to weigh a memory.
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

    /// What is remembered of a debate.
    ///
    /// # Errors
    /// When the file cannot be read.
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

    /// How many debates are remembered.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn memories(&self) -> Result<usize, ArchiveError> {
        // The index's own table of lengths: a count of the memories themselves would read all their texts.
        let count = "SELECT count(*) FROM memories_docsize";
        let count: i64 = self.connection.query_row(count, [], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// The words of a subject that tell it from others: the terms in the fewest memories.
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
        // Where every word is common they are all there is to go by, and each is found nearly everywhere.
        known.truncate(if rare > 0 { rare.min(TERMS) } else { SHARED });
        Ok(known.into_iter().map(|(_, word)| word.clone()).collect())
    }

    /// How many of the terms a memory holds.
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

/// A term, quoted for the query language.
fn phrase(term: &str) -> String {
    format!("\"{term}\"")
}
