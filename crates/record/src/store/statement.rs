//! The signed statement about a record: the debate, the last line of its journal, and the number of lines.
//!
//! Each line contains the hash of the line before, so the last hash covers all lines before it. Later lines leave the
//! signed part unchanged.

use serde::{Deserialize, Serialize};

use crate::debate::DebateId;

use super::VerifiedRecord;

/// The signed statement about a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub id: DebateId,
    /// The SHA-256 of the last signed line without its line break, in hexadecimal.
    pub head: String,
    /// The number of signed lines.
    pub lines: u64,
}

/// Why a record differs from the signed one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatementFault {
    /// The signature belongs to another debate.
    #[error("the signature belongs to another debate, {0}")]
    OtherDebate(DebateId),
    /// The journal is shorter than the signed one.
    #[error("the journal was shortened: {signed} events were signed, but it has {found}")]
    Shortened {
        /// The number of signed lines.
        signed: u64,
        /// The number of lines in the journal.
        found: u64,
    },
    /// The journal has different content.
    #[error("the journal differs from the signed one at line {0}")]
    OtherJournal(u64),
    /// The debate continued after it was signed, so its answer may have changed.
    #[error("the debate continued after line {0}, the last signed line")]
    Continued(u64),
    /// The journal is damaged before the last signed line.
    #[error("the journal is damaged before line {0}, the last signed line")]
    Damaged(u64),
}

impl Statement {
    /// The statement for all lines of a record; `None` if it has no lines.
    pub fn of(record: &VerifiedRecord) -> Option<Self> {
        let (id, head) = record.id.clone().zip(record.hashes.last().cloned())?;
        Some(Self { id, head, lines: record.hashes.len() as u64 })
    }

    /// The bytes that are signed.
    pub fn bytes(&self) -> Vec<u8> {
        // Two texts and a number can be written as JSON.
        let mut bytes = serde_json::to_vec(self).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Parses a signed statement.
    ///
    /// # Errors
    /// It is not a statement.
    pub fn read(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }

    /// The number of events in `record` after the signed ones: notes, and questions about the debate.
    ///
    /// # Errors
    /// It is not the signed record.
    pub fn hold_against(&self, record: &VerifiedRecord) -> Result<u64, StatementFault> {
        let found = record.hashes.len() as u64;
        let line = self.lines;
        let course = record.course as u64;
        if record.id.as_ref().is_some_and(|id| *id != self.id) {
            return Err(StatementFault::OtherDebate(self.id.clone()));
        }
        let last =
            usize::try_from(line).ok().and_then(|line| line.checked_sub(1)).map(|index| record.hashes.get(index));
        match last {
            Some(Some(head)) if *head == self.head && course > line => Err(StatementFault::Continued(line)),
            Some(Some(head)) if *head == self.head => Ok(found - line),
            Some(None) if record.has_whole_journal() => Err(StatementFault::Shortened { signed: line, found }),
            Some(None) => Err(StatementFault::Damaged(line)),
            Some(Some(_)) | None => Err(StatementFault::OtherJournal(line)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Flaw, JournalError, StateFileStatus};

    fn record(hashes: &[&str], flaws: Vec<Flaw>) -> VerifiedRecord {
        VerifiedRecord {
            id: Some(DebateId::new("d")),
            hashes: hashes.iter().map(|hash| (*hash).to_owned()).collect(),
            events: hashes.len(),
            course: 1.min(hashes.len()),
            running: false,
            cut_short: false,
            imported: false,
            state: StateFileStatus::Unknown,
            flaws,
        }
    }

    #[test]
    fn what_is_signed_is_a_line_of_json() {
        let statement = Statement::of(&record(&["a", "b"], Vec::new())).unwrap();
        assert_eq!(statement.bytes(), b"{\"id\":\"d\",\"head\":\"b\",\"lines\":2}\n");
        assert_eq!(Statement::read(&statement.bytes()).unwrap(), statement);
        assert_eq!(Statement::of(&record(&[], Vec::new())), None);
        for other in [&b"{}"[..], b"[]", b"", b"{\"id\":\"d\",\"head\":\"b\",\"lines\":2,\"more\":1}"] {
            assert!(Statement::read(other).is_err());
        }
    }

    #[test]
    fn later_lines_are_counted_and_other_lines_refused() {
        let signed = |head: &str, lines| Statement { id: DebateId::new("d"), head: head.to_owned(), lines };
        let whole = record(&["a", "b", "c"], Vec::new());
        assert_eq!(signed("c", 3).hold_against(&whole), Ok(0));
        assert_eq!(signed("a", 1).hold_against(&whole), Ok(2));
        let longer = VerifiedRecord { course: 2, ..record(&["a", "b", "c"], Vec::new()) };
        assert_eq!(signed("a", 1).hold_against(&longer), Err(StatementFault::Continued(1)));
        assert_eq!(signed("b", 2).hold_against(&longer), Ok(1));
        assert_eq!(signed("x", 2).hold_against(&whole), Err(StatementFault::OtherJournal(2)));
        assert_eq!(signed("", 0).hold_against(&whole), Err(StatementFault::OtherJournal(0)));
        assert_eq!(signed("d", 4).hold_against(&whole), Err(StatementFault::Shortened { signed: 4, found: 3 }));
        let other = Statement { id: DebateId::new("e"), ..signed("c", 3) };
        assert_eq!(other.hold_against(&whole), Err(StatementFault::OtherDebate(DebateId::new("e"))));
        let damage = || vec![Flaw::Journal(JournalError::End { path: "d".into(), line: 3 })];
        let damaged = record(&["a", "b", "c"], damage());
        assert_eq!(signed("d", 4).hold_against(&damaged), Err(StatementFault::Damaged(4)));
        assert_eq!(signed("b", 2).hold_against(&damaged), Ok(1));
    }
}
