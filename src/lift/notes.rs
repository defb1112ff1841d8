//! The log of one group (a problem with its debate and arms): a JSON Lines file next to the debates. Each step is
//! logged at once, so that nothing is paid for twice.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_base::money::Usd;
use dialectic_record::debate::DebateId;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Note {
    /// The subject of the file; the first line.
    Group {
        /// The problem's id.
        problem: String,
    },
    /// The debate or an arm was started.
    Begun {
        /// `debate`, or the arm's name and model.
        part: String,
        /// The record.
        debate: DebateId,
    },
    /// A question to a judge. Until it is answered, it counts at its maximum cost.
    Asked {
        /// The question's id.
        question: String,
        /// The judge.
        judge: String,
        /// The maximum cost; absent if unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        most: Option<Usd>,
    },
    /// The result.
    Answered {
        /// The question's id.
        question: String,
        /// The answer; absent if the call failed or the answer could not be read.
        #[serde(skip_serializing_if = "Option::is_none")]
        answer: Option<Value>,
        /// Why there is no answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        fault: Option<String>,
        /// The cost; absent if unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<Usd>,
        /// The list price of what a subscription covered, not included in `cost`; absent if there is none, or unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notional: Option<Usd>,
    },
}

/// Why notes cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum NotesError {
    /// The notes cannot be read or written.
    #[error("cannot keep notes in {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A line is not a note.
    #[error("{}, line {line}: {fault}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The fault.
        fault: String,
    },
    /// Another process writes them.
    #[error("another process is using {}", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

impl Diagnostic for NotesError {
    fn blame(&self) -> ErrorCategory {
        match self {
            Self::Io { .. } => ErrorCategory::General,
            Self::Line { .. } => ErrorCategory::Arguments,
            Self::Busy { .. } => ErrorCategory::Busy,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Io { .. } | Self::Busy { .. } => None,
            Self::Line { .. } => {
                Some("repair the line, or move the file away and pay again for its contents".to_owned())
            }
        }
    }
}

/// The notes of a group. They are locked while they are open for writing.
#[derive(Debug)]
pub struct Notes {
    path: PathBuf,
    /// Absent if the notes are read-only.
    file: Option<File>,
    lines: Vec<Note>,
}

impl Notes {
    /// Opens the notes of a group to add to them.
    ///
    /// # Errors
    /// They cannot be read or written, or another process writes them.
    pub fn open(path: &Path, problem: &str) -> Result<Self, NotesError> {
        let failed = |source| NotesError::Io { path: path.to_owned(), source };
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(NotesError::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        // A crash may have cut the last line short.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if whole < bytes.len() {
            file.set_len(whole as u64).map_err(failed)?;
        }
        let lines = read(path, &bytes[..whole])?;
        let mut notes = Self { path: path.to_owned(), file: Some(file), lines };
        if notes.lines.is_empty() {
            notes.add(Note::Group { problem: problem.to_owned() })?;
        }
        Ok(notes)
    }

    /// Notes that are not saved.
    pub fn in_memory() -> Self {
        Self { path: PathBuf::new(), file: None, lines: Vec::new() }
    }

    /// Reads a group's notes; empty if there is no file.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn look(path: &Path) -> Result<Self, NotesError> {
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(|source| NotesError::Io { path: path.to_owned(), source })?,
        };
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        Ok(Self { path: path.to_owned(), file: None, lines: read(path, &bytes[..whole])? })
    }

    /// Adds a line; it is on the disk when this returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn add(&mut self, note: Note) -> Result<(), NotesError> {
        let failed = |source| NotesError::Io { path: self.path.clone(), source };
        if let Some(file) = &mut self.file {
            let mut line = serde_json::to_vec(&note).map_err(|error| failed(error.into()))?;
            line.push(b'\n');
            file.write_all(&line).and_then(|()| file.sync_data()).map_err(failed)?;
        }
        self.lines.push(note);
        Ok(())
    }

    /// The newest record of the debate or an arm.
    pub fn record_of(&self, wanted: &str) -> Option<&DebateId> {
        self.lines.iter().rev().find_map(|note| match note {
            Note::Begun { part, debate } if part == wanted => Some(debate),
            Note::Group { .. } | Note::Begun { .. } | Note::Asked { .. } | Note::Answered { .. } => None,
        })
    }

    /// All records of the group, once each.
    pub fn records(&self) -> impl Iterator<Item = &DebateId> {
        self.lines.iter().filter_map(|note| match note {
            Note::Begun { debate, .. } => Some(debate),
            Note::Group { .. } | Note::Asked { .. } | Note::Answered { .. } => None,
        })
    }

    /// The answer to a question, if there is one.
    pub fn answer(&self, wanted: &str) -> Option<&Value> {
        self.lines.iter().find_map(|note| match note {
            Note::Answered { question, answer: Some(answer), .. } if question == wanted => Some(answer),
            Note::Group { .. } | Note::Begun { .. } | Note::Asked { .. } | Note::Answered { .. } => None,
        })
    }

    /// The cost of the judges. An answer without a known cost, or that never arrived, counts at its maximum cost; if
    /// that is unknown too, so is the sum.
    pub fn judging(&self) -> Option<Usd> {
        self.sum(|cost, _| cost)
    }

    /// The cost of the judges at list prices, with what a subscription covered.
    pub fn judging_listed(&self) -> Option<Usd> {
        self.sum(|cost, notional| cost.map(|cost| cost + notional.unwrap_or_default()))
    }

    fn sum(&self, of: impl Fn(Option<Usd>, Option<Usd>) -> Option<Usd>) -> Option<Usd> {
        let (mut sum, mut open) = (Some(Usd::ZERO), BTreeMap::new());
        let mut add = |cost: Option<Usd>| sum = sum.zip(cost).map(|(sum, cost)| sum + cost);
        for note in &self.lines {
            match note {
                Note::Asked { question, most, .. } => {
                    // The earlier question was interrupted.
                    if let Some(earlier) = open.insert(question, *most) {
                        add(earlier);
                    }
                }
                Note::Answered { question, cost, notional, .. } => {
                    let most = open.remove(question).flatten();
                    add(of(*cost, *notional).or(most));
                }
                Note::Group { .. } | Note::Begun { .. } => {}
            }
        }
        open.into_values().for_each(&mut add);
        sum
    }
}

fn read(path: &Path, bytes: &[u8]) -> Result<Vec<Note>, NotesError> {
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n')).filter(|(_, line)| !line.is_empty());
    let note = |(line, bytes): (usize, &[u8])| {
        let wrong =
            |error: serde_json::Error| NotesError::Line { path: path.to_owned(), line, fault: error.to_string() };
        serde_json::from_slice(bytes).map_err(wrong)
    };
    lines.map(note).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(question: &str, dollars: Option<f64>) -> Note {
        let most = dollars.map(Usd::from_dollars);
        Note::Asked { question: question.to_owned(), judge: "j".to_owned(), most }
    }

    fn answered(question: &str, dollars: Option<f64>) -> Note {
        let (answer, cost) = (Some(json!({"better": "first"})), dollars.map(Usd::from_dollars));
        Note::Answered { question: question.to_owned(), answer, fault: None, cost, notional: None }
    }

    #[test]
    fn what_was_paid_for_is_there_after_a_crash() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lift/g.jsonl");
        let mut notes = Notes::open(&path, "p").unwrap();
        assert!(matches!(Notes::open(&path, "p"), Err(NotesError::Busy { .. })));
        notes.add(Note::Begun { part: "debate".to_owned(), debate: DebateId::new("deb-1") }).unwrap();
        for note in [asked("q1", Some(2.0)), answered("q1", Some(0.5)), asked("q2", Some(0.25))] {
            notes.add(note).unwrap();
        }
        drop(notes);
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"kind\": \"ans").unwrap();
        let notes = Notes::open(&path, "p").unwrap();
        assert_eq!(notes.record_of("debate"), Some(&DebateId::new("deb-1")));
        assert_eq!(notes.record_of("single"), None);
        assert_eq!(notes.answer("q1"), Some(&json!({"better": "first"})));
        assert_eq!(notes.answer("q2"), None);
        assert_eq!(notes.judging(), Some(Usd::from_dollars(0.75)), "what never came counts with its most");
        drop(notes);
        assert!(fs::read_to_string(&path).unwrap().ends_with("}\n"), "half a line is gone");
        fs::write(&path, "{\"kind\": \"group\", \"problem\": \"p\"}\nnonsense\n").unwrap();
        let error = Notes::look(&path).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn an_unknown_cost_is_at_most_what_was_set_aside() {
        let notes = |lines: Vec<Note>| Notes { path: PathBuf::new(), file: None, lines };
        let most = notes(vec![asked("q", Some(2.0)), answered("q", None)]);
        assert_eq!(most.judging(), Some(Usd::from_dollars(2.0)));
        assert_eq!(notes(vec![asked("q", None), answered("q", None)]).judging(), None);
        let twice = notes(vec![asked("q", Some(2.0)), asked("q", Some(2.0)), answered("q", Some(1.0))]);
        assert_eq!(twice.judging(), Some(Usd::from_dollars(3.0)), "the first was interrupted");
        let covered = Note::Answered {
            question: "q".to_owned(),
            answer: None,
            fault: None,
            cost: Some(Usd::ZERO),
            notional: Some(Usd::from_dollars(0.5)),
        };
        let covered = notes(vec![asked("q", Some(2.0)), covered]);
        assert_eq!((covered.judging(), covered.judging_listed()), (Some(Usd::ZERO), Some(Usd::from_dollars(0.5))));
    }
}
