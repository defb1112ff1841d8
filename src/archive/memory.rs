//! Searches past decisions.

use std::collections::HashSet;

use super::{Archive, ArchiveError};

/// The maximum number of search terms; the rarest words are used.
const TERMS: usize = 16;
/// The maximum number of words considered.
const CONSIDERED: usize = 100;
/// A word found in more than one in this many memories is too common to use.
const COMMON: usize = 5;
/// With fewer memories, no word counts as common.
const FEW: usize = 20;
/// The number of shared terms that makes a memory relevant.
const SHARED: usize = 3;

/// Common English words. In other languages the rarest words are found without a list.
const STOP_WORDS: &str = "a about above after again against all also am an and any are as at be because been before being \
    below between both but by can could did do does doing down during each few for from further had has \
    have having he her here hers him his how i if in into is it its just me more most \
    my no nor not now of off on once only or other our out over own same she should so \
    some such than that the their them then there these they this those through to too under until up very \
    was we were what when where which while who whom why will with would you your";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    pub debate: String,
    pub finished_at: String,
    pub problem: String,
    pub decision: String,
    /// Confirmed objections, as a Markdown list.
    pub evidence: String,
    /// Dissent, as a Markdown list.
    pub dissent: String,
}

impl Archive {
    /// Finds at most `most` memories that share several distinctive words with `subject`, best match first. Omits
    /// rehearsals unless requested.
    ///
    /// # Errors
    /// The file cannot be read.
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
            // Two files may hold the same debate.
            let is_new = found.iter().all(|other| other.debate != memory.debate);
            if found.len() < most && is_new && self.shares(row.get(0)?, &terms)? >= SHARED.min(words.len()) {
                found.push(memory);
            }
        }
        Ok(found)
    }

    /// Returns the names of state files whose memory contains every word of `text`; empty if `text` has no words.
    ///
    /// # Errors
    /// The file cannot be read.
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
        // Counts in the index's table of lengths, because counting memories would read all texts.
        let count = "SELECT count(*) FROM memories_docsize";
        let count: i64 = self.connection.query_row(count, [], |row| row.get(0))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// The subject's words that occur in the fewest memories.
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
        // If every word is common, use the few rarest.
        known.truncate(if rare > 0 { rare.min(TERMS) } else { SHARED });
        Ok(known.into_iter().map(|(_, word)| word.clone()).collect())
    }

    /// How many of the terms a memory contains.
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

/// The distinct words of a text in order, without stop words.
fn words(text: &str) -> Vec<String> {
    let mut passed_over: HashSet<String> = STOP_WORDS.split(' ').map(str::to_owned).collect();
    let words = text.split(|character: char| !character.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.chars().count() > 1 && passed_over.insert(word.clone())).collect()
}

/// Quotes a term for the query language.
fn phrase(term: &str) -> String {
    format!("\"{term}\"")
}
