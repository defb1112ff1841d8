//! The catalog of prompts: the environment of templates, files of the user's own, and the version of the whole.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{fs, io};

use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use sha2::{Digest, Sha256};
use thiserror::Error;

use dialectic_base::encoding::{NotUtf8, decode, hexadecimal};
use dialectic_base::markdown::fenced;

use super::Prompt;
use super::evaluator::{SYSTEM, USER};
use super::role::{BUILT_IN, JUDGE, Role};
use super::step::TEMPLATES;

/// Texts that templates import and system texts include. None is a template itself.
const PARTS: [(&str, &str); 6] = [
    ("parts.md", include_str!("../../prompts/parts.md")),
    ("system/evidence.md", include_str!("../../prompts/system/evidence.md")),
    ("system/requirements.md", include_str!("../../prompts/system/requirements.md")),
    ("system/material.md", include_str!("../../prompts/system/material.md")),
    ("system/labels.md", include_str!("../../prompts/system/labels.md")),
    ("system/form.md", include_str!("../../prompts/system/form.md")),
];

/// A template that could not be rendered: a defect of this program, since templates and values are compiled in.
#[derive(Debug, Error)]
#[error("prompt template {template} could not be rendered")]
pub struct PromptError {
    pub template: &'static str,
    #[source]
    pub source: minijinja::Error,
}

/// The environment: strict about undefined variables, without escaping, with templates compiled at first use.
pub(super) fn environment() -> &'static Environment<'static> {
    static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_auto_reload(false);
        environment.set_loader(|name| Ok(PARTS.iter().find(|(part, _)| *part == name).map(|(_, text)| *text)));
        environment.add_filter("fence", |text: &str, info: &str| fenced(info, text));
        environment.add_filter("line", line);
        environment
    });
    &ENVIRONMENT
}

/// `text` on one line, so that a name cannot break out of its heading.
fn line(text: &str) -> String {
    text.split(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
        .filter(|piece| !piece.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Why a prompt file cannot be used.
#[derive(Debug, Error)]
pub enum PromptFileError {
    #[error("prompt file {} does not exist", .0.display())]
    Missing(PathBuf),
    /// It is a directory or a device.
    #[error("{} is not a file", .0.display())]
    NotAFile(PathBuf),
    /// It cannot be read.
    #[error("prompt file {} cannot be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// It is not UTF-8 text.
    #[error("prompt file {} is not UTF-8, it looks like {}", path.display(), fault.seems)]
    NotUtf8 { path: PathBuf, fault: NotUtf8 },
    /// It contains only white space.
    #[error("prompt file {} is blank", .0.display())]
    Blank(PathBuf),
}

/// The text of a prompt file, without a byte order mark and outer white space.
///
/// # Errors
/// The file is missing, not a file, unreadable, not UTF-8 or blank; each names `path`.
pub fn read_prompt(path: &Path) -> Result<String, PromptFileError> {
    Ok(read_whole_prompt(path)?.trim().to_owned())
}

/// The text of a prompt file unchanged, without a byte order mark.
///
/// # Errors
/// As for [`read_prompt`].
pub fn read_whole_prompt(path: &Path) -> Result<String, PromptFileError> {
    let path = || path.to_owned();
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => PromptFileError::Missing(path()),
        _ => PromptFileError::Unreadable { path: path(), source },
    };
    // Opening a pipe would wait for a writer, so check first.
    if !fs::metadata(path()).map_err(failed)?.is_file() {
        return Err(PromptFileError::NotAFile(path()));
    }
    let bytes = fs::read(path()).map_err(failed)?;
    let text = decode(&bytes).map_err(|fault| PromptFileError::NotUtf8 { path: path(), fault })?;
    if text.trim().is_empty() { Err(PromptFileError::Blank(path())) } else { Ok(text.into()) }
}

/// The number of bytes kept of the hash: enough to distinguish versions, short enough to read aloud.
const KEPT_BYTES: usize = 6;

/// The version of a protocol's prompts: the first 12 hexadecimal digits of a SHA-256 over the names and texts of
/// `prompts`, the shared built-in prompts and the system text.
pub fn version(prompts: &[&Prompt]) -> String {
    let templates = TEMPLATES.iter().chain(prompts).map(|prompt| (prompt.file, prompt.text));
    digest(templates.chain(BUILT_IN).chain(PARTS).chain([SYSTEM, USER, ("judge", JUDGE)]))
}

impl Role {
    /// The SHA-256 of all its texts in hexadecimal.
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
        // Lengths give a different hash if text moves across a boundary.
        for part in [name, text] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
    }
    hash.finalize().to_vec()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use crate::protocol::{ANSWER, PROTOCOLS};

    use super::super::evaluator;
    use super::super::step::BEGINNING;
    use super::*;

    /// Every Markdown file below `directory`, relative to `root`.
    fn files(root: &Path, directory: &Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(root, &path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.insert(path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/"));
            }
        }
    }

    #[test]
    fn every_prompt_file_is_used() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts");
        let mut on_disk = BTreeSet::new();
        files(&root, &root, &mut on_disk);
        on_disk.retain(|file| !file.starts_with("roles/"));
        let mut known: BTreeSet<String> = TEMPLATES.map(|template| template.file.to_owned()).into();
        known.extend(PROTOCOLS.iter().flat_map(|protocol| protocol.prompts).map(|prompt| prompt.file.to_owned()));
        known.extend(PROTOCOLS.iter().map(|protocol| protocol.system.file.to_owned()));
        known.extend(PARTS.map(|(file, _)| file.to_owned()));
        known.insert(ANSWER.file.to_owned());
        known.extend(["README.md", "judge/role.md"].map(str::to_owned));
        known.extend([evaluator::SYSTEM, evaluator::USER].map(|(file, _)| file.to_owned()));
        known.extend(
            [evaluator::PAIRWISE_SYSTEM, evaluator::PAIRWISE_CHECKLIST, evaluator::PAIRWISE_RULING]
                .map(|(file, _)| file.to_owned()),
        );
        assert_eq!(on_disk, known);
    }

    #[test]
    fn parts_read_nothing_but_their_arguments() {
        for (file, _) in PARTS {
            let part = environment().get_template(file).unwrap();
            assert!(part.undeclared_variables(false).is_empty(), "{file}");
        }
    }

    #[test]
    fn a_missing_variable_is_an_error_that_names_the_template() {
        let error = BEGINNING.render(&minijinja::context! { problem => "p" }).unwrap_err();
        assert_eq!(error.to_string(), "prompt template beginning.md could not be rendered");
        assert_eq!(error.source.kind(), minijinja::ErrorKind::UndefinedError);
    }

    #[test]
    fn names_stay_on_their_line() {
        assert_eq!(line("a\r\n# Your task\tb\u{2028}c"), "a # Your task b c");
    }

    fn read(content: &[u8]) -> Result<String, PromptFileError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("own.md");
        fs::write(&path, content).unwrap();
        let read = read_prompt(&path);
        if let Err(error) = &read {
            assert!(error.to_string().contains("own.md"), "{error}");
        }
        read
    }

    #[test]
    fn a_file_is_read_without_what_surrounds_its_text() {
        assert_eq!(read("\u{feff}\nBe brief.\n\nBe kind.\n".as_bytes()).unwrap(), "Be brief.\n\nBe kind.");
    }

    #[test]
    fn blank_and_binary_files_are_refused() {
        assert!(matches!(read(b" \n\t\n").unwrap_err(), PromptFileError::Blank(_)));
        assert!(matches!(read("\u{feff}".as_bytes()).unwrap_err(), PromptFileError::Blank(_)));
        assert!(matches!(read(b"a\xff").unwrap_err(), PromptFileError::NotUtf8 { .. }));
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("none.md");
        assert!(matches!(read_prompt(&missing).unwrap_err(), PromptFileError::Missing(path) if path == missing));
        let error = read_prompt(directory.path()).unwrap_err();
        assert!(matches!(error, PromptFileError::NotAFile(path) if path == directory.path()));
        let below = directory.path().join("file");
        fs::write(&below, "x").unwrap();
        let error = read_prompt(&below.join("own.md")).unwrap_err();
        assert!(matches!(error, PromptFileError::Unreadable { .. }), "{error}");
    }

    #[test]
    fn the_version_is_short_and_hexadecimal() {
        assert_eq!(version(&[]).len(), 2 * KEPT_BYTES);
        assert!(version(&[]).chars().all(|digit| digit.is_ascii_hexdigit()), "{}", version(&[]));
    }

    #[test]
    fn every_text_of_a_role_counts() {
        let role = Role::built_in("kiss").unwrap();
        let mut hashes = vec![role.sha256()];
        for change in [
            |role: &mut Role| role.title.push('!'),
            |role: &mut Role| role.system = "x".into(),
            |role: &mut Role| role.own_system = Some("y".into()),
            |role: &mut Role| role.propose = "x".into(),
            |role: &mut Role| role.critique = "x".into(),
            |role: &mut Role| role.refine = "x".into(),
            |role: &mut Role| role.summarize = "x".into(),
            |role: &mut Role| role.clarify = "x".into(),
        ] {
            let mut changed = role.as_ref().clone();
            change(&mut changed);
            hashes.push(changed.sha256());
        }
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), 9);
        assert!(hashes.iter().all(|hash| hash.len() == 64));
    }

    #[test]
    fn every_change_changes_it() {
        let first = digest([("a", "bc"), ("d", "e")]);
        for other in [[("a", "b"), ("d", "e")], [("ab", "c"), ("d", "e")], [("d", "e"), ("a", "bc")]] {
            assert_ne!(digest(other), first);
        }
        assert_eq!(digest([("a", "bc"), ("d", "e")]), first);
    }
}
