//! The prompt files and their version.

use std::collections::BTreeSet;
use std::path::Path;

use crate::protocol::PROTOCOLS;
use crate::protocol::questions::ANSWER;

use super::*;

/// Collects every Markdown file in `directory`, relative to `root`.
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
    known.extend([evaluation::SYSTEM, evaluation::USER].map(|(file, _)| file.to_owned()));
    known.extend(
        [evaluation::PAIRWISE_SYSTEM, evaluation::PAIRWISE_CHECKLIST, evaluation::PAIRWISE_RULING]
            .map(|(file, _)| file.to_owned()),
    );
    assert_eq!(on_disk, known);
}

#[test]
fn parts_read_nothing_but_their_arguments() {
    for (file, _) in PARTS {
        assert!(environment().get_template(file).unwrap().undeclared_variables(false).is_empty(), "{file}");
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
