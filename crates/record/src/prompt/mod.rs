//! Prompts: the files of `prompts/`, compiled in, and their rendering. Values are never treated as templates, and
//! untrusted text is put into fences that it cannot close. Providers and the parsing of answers do not belong here.

/// Builds a [`Prompt`] from a file in `prompts` and the role section that the prompt uses.
macro_rules! prompt {
    ($file:literal, $focus:ident) => {
        $crate::prompt::Prompt {
            file: $file,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/prompts/", $file)),
            focus: $crate::prompt::Focus::$focus,
        }
    };
}

pub mod evaluation;
mod role;
mod step;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::{fs, io};

use sha2::{Digest, Sha256};
use thiserror::Error;

use dialectic_base::encoding::{NotUtf8, decode, hexadecimal};

use evaluation::{EVALUATOR_CLARIFICATIONS, PLAIN_CLARIFICATIONS, SYSTEM, USER};
use role::{BUILT_IN, JUDGE};
use step::PARTS;

pub use role::{Role, RoleError};
pub use step::{
    ASSESS, Assess, Authored, BEGINNING, Beginning, CheckedDraft, FINDINGS_AGAIN, Focus, FocusedRole, HISTORY, Label,
    Listing, MaterialPart, OPINIONS_AGAIN, OWN_HISTORY, OwnRound, POINTS_AGAIN, PointList, Prompt, PromptError,
    SECOND_CHANCE, SOLUTION_AGAIN, Titled, Values, compose,
};

/// The prompts that do not belong to a single protocol.
const TEMPLATES: [&Prompt; 11] = [
    &BEGINNING,
    &HISTORY,
    &OWN_HISTORY,
    &ASSESS,
    &SECOND_CHANCE,
    &POINTS_AGAIN,
    &FINDINGS_AGAIN,
    &OPINIONS_AGAIN,
    &SOLUTION_AGAIN,
    &EVALUATOR_CLARIFICATIONS,
    &PLAIN_CLARIFICATIONS,
];

#[derive(Debug, Error)]
pub enum PromptFileError {
    #[error("prompt file {} does not exist", .0.display())]
    Missing(PathBuf),
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    #[error("cannot read prompt file {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("prompt file {} is not UTF-8; it looks like {}", path.display(), fault.looks_like)]
    NotUtf8 { path: PathBuf, fault: NotUtf8 },
    #[error("prompt file {} is blank", .0.display())]
    Blank(PathBuf),
}

/// The text of a prompt file, without a byte order mark or surrounding whitespace.
///
/// # Errors
///
/// Returns an error that names `path` if the file is missing, unreadable, blank, not a file, or not UTF-8.
pub fn read_prompt(path: &Path) -> Result<String, PromptFileError> {
    Ok(read_whole_prompt(path)?.trim().to_owned())
}

/// The text of a prompt file, unchanged except that a byte order mark is removed.
///
/// # Errors
///
/// See [`read_prompt`].
pub fn read_whole_prompt(path: &Path) -> Result<String, PromptFileError> {
    let path = || path.to_owned();
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => PromptFileError::Missing(path()),
        _ => PromptFileError::Unreadable { path: path(), source },
    };
    // Opening a FIFO would block until it has a writer, so check first.
    if !fs::metadata(path()).map_err(failed)?.is_file() {
        return Err(PromptFileError::NotAFile(path()));
    }
    let bytes = fs::read(path()).map_err(failed)?;
    let text = decode(&bytes).map_err(|fault| PromptFileError::NotUtf8 { path: path(), fault })?;
    if text.trim().is_empty() { Err(PromptFileError::Blank(path())) } else { Ok(text.into()) }
}

/// The number of bytes of the hash to keep: enough to tell versions apart, and few enough to read aloud.
const KEPT_BYTES: usize = 6;

/// The version of a protocol's prompts: the first 12 hexadecimal digits of a SHA-256 over the names and texts of
/// `prompts`, and of the roles, parts and prompts that all protocols share.
pub fn version(prompts: &[&Prompt]) -> String {
    let templates = TEMPLATES.iter().chain(prompts).map(|prompt| (prompt.file, prompt.text));
    digest(templates.chain(BUILT_IN).chain(PARTS).chain([SYSTEM, USER, ("judge", JUDGE)]))
}

impl Role {
    pub fn sha256(&self) -> String {
        let Self { name: _, title, system, own_system, propose, critique, refine, summarize, clarify } = self;
        let texts: [(&str, &str); 7] = [
            ("title", title),
            ("system", own_system.as_ref().unwrap_or(system)),
            ("propose", propose),
            ("critique", critique),
            ("refine", refine),
            ("summarize", summarize),
            ("clarify", clarify),
        ];
        hexadecimal(&hash(texts))
    }
}

fn digest<'a>(prompts: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    hexadecimal(hash(prompts).get(..KEPT_BYTES).unwrap_or_default())
}

fn hash<'a>(prompts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut hash = Sha256::new();
    for (name, text) in prompts {
        // Including lengths changes the hash if text moves across a boundary.
        for part in [name, text] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().to_vec()
}
