//! The environment of templates, and the parts that they share.

use std::sync::LazyLock;

use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use thiserror::Error;

use dialectic_base::markdown::fenced;

/// Texts that templates import and system texts include. None is a template itself.
pub(super) const PARTS: [(&str, &str); 6] = [
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::super::values::{BEGINNING, TEMPLATES};
    use super::super::{evaluator, pairwise};
    use super::*;
    use crate::protocol::{ANSWER, PROTOCOLS};

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
        known.extend([pairwise::SYSTEM, pairwise::CHECKLIST, pairwise::RULING].map(|(file, _)| file.to_owned()));
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
}
