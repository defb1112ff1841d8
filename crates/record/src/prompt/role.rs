//! Roles: one Markdown file each, built in or written by the user.

use std::sync::{Arc, LazyLock};

use thiserror::Error;

use super::Focus;
use super::step::FocusedRole;

/// The built-in roles, in display order.
pub(super) const BUILT_IN: [(&str, &str); 8] = [
    ("architect", include_str!("../../prompts/roles/architect.md")),
    ("performance", include_str!("../../prompts/roles/performance.md")),
    ("security", include_str!("../../prompts/roles/security.md")),
    ("operations", include_str!("../../prompts/roles/operations.md")),
    ("testing", include_str!("../../prompts/roles/testing.md")),
    ("kiss", include_str!("../../prompts/roles/kiss.md")),
    ("datamodeling", include_str!("../../prompts/roles/datamodeling.md")),
    ("generalist", include_str!("../../prompts/roles/generalist.md")),
];

pub(super) const JUDGE: &str = include_str!("../../prompts/judge/role.md");

const AGENT_SECTIONS: &[&str] = &["System", "Propose", "Critique", "Refine", "Summarize", "Clarify"];
const JUDGE_SECTIONS: &[&str] = &["System", "Summarize"];

/// A perspective from which an agent debates.
///
/// The user's texts may replace some fields. The judge's role has only a system and a summary section; its other
/// sections are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// The name in configurations.
    pub name: String,
    pub title: String,
    pub system: Arc<str>,
    /// The user's system prompt, which replaces `system`.
    pub own_system: Option<Arc<str>>,
    pub propose: Arc<str>,
    pub critique: Arc<str>,
    pub refine: Arc<str>,
    pub summarize: Arc<str>,
    pub clarify: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RoleError {
    #[error("the first line is not a title such as `# Architect`")]
    MissingTitle,
    /// Text between the title and the first section, which no model would see.
    #[error("text before the first section: `{0}`")]
    StrayText(String),
    #[error("unknown section `## {section}`; known: {}", .known.join(", "))]
    UnknownSection { section: String, known: &'static [&'static str] },
    #[error("section `## {0}` occurs more than once")]
    DuplicateSection(&'static str),
    #[error("section `## {0}` is missing")]
    MissingSection(&'static str),
    #[error("section `## {0}` is empty")]
    EmptySection(&'static str),
}

impl Role {
    pub fn built_in(name: &str) -> Option<Arc<Self>> {
        static ROLES: LazyLock<Vec<Arc<Role>>> = LazyLock::new(|| {
            let parse = |(name, text)| Role::parse(name, text).expect("a test parses every built-in role");
            BUILT_IN.into_iter().map(parse).map(Arc::new).collect()
        });
        ROLES.iter().find(|role| role.name == name).map(Arc::clone)
    }

    /// Whether a user's file replaces the built-in role of this name. True for roles that were added later, because
    /// users may already have had files of the same name.
    pub fn gives_way(name: &str) -> bool {
        name == "operations"
    }

    pub fn built_in_names() -> Vec<&'static str> {
        BUILT_IN.iter().map(|&(name, _)| name).collect()
    }

    pub fn judge() -> Arc<Self> {
        static ROLE: LazyLock<Arc<Role>> = LazyLock::new(|| {
            Arc::new(Role::of_sections("judge", JUDGE, JUDGE_SECTIONS).expect("a test parses the judge's role"))
        });
        Arc::clone(&ROLE)
    }

    /// Parses an agent's role file: a title, followed by the six sections in any order.
    ///
    /// # Errors
    ///
    /// Returns an error if the title is missing; a section is missing, empty, unknown or repeated; or there is text
    /// outside the sections.
    pub fn parse(name: &str, text: &str) -> Result<Self, RoleError> {
        Self::of_sections(name, text, AGENT_SECTIONS)
    }

    fn of_sections(name: &str, text: &str, known: &'static [&'static str]) -> Result<Self, RoleError> {
        let (title, found) = sections(text, known)?;
        let section = |section: &'static str| match found.iter().find(|(heading, _)| *heading == section) {
            None if known.contains(&section) => Err(RoleError::MissingSection(section)),
            None => Ok(Arc::default()),
            Some((_, text)) if text.trim().is_empty() => Err(RoleError::EmptySection(section)),
            Some((_, text)) => Ok(Arc::from(text.trim())),
        };
        Ok(Self {
            name: name.to_owned(),
            title,
            system: section("System")?,
            own_system: None,
            propose: section("Propose")?,
            critique: section("Critique")?,
            refine: section("Refine")?,
            summarize: section("Summarize")?,
            clarify: section("Clarify")?,
        })
    }

    /// The result's `system` is empty if the user's system prompt replaces it.
    pub fn focusing(&self, focus: Focus) -> FocusedRole<'_> {
        let focus: &str = match focus {
            Focus::None => "",
            Focus::Propose => &self.propose,
            Focus::Critique => &self.critique,
            Focus::Refine => &self.refine,
            Focus::Summarize => &self.summarize,
            Focus::Clarify => &self.clarify,
        };
        let system = if self.own_system.is_some() { "" } else { &self.system };
        FocusedRole { title: &self.title, system, focus }
    }
}

/// A section's heading and its text.
type RoleSection = (&'static str, String);

fn sections(text: &str, known: &'static [&'static str]) -> Result<(String, Vec<RoleSection>), RoleError> {
    let mut lines = text.trim_start_matches('\u{feff}').lines().skip_while(|line| line.trim().is_empty());
    let title = lines.next().and_then(|line| line.strip_prefix("# ")).map(str::trim).filter(|title| !title.is_empty());
    let title = title.ok_or(RoleError::MissingTitle)?.to_owned();

    let mut found: Vec<RoleSection> = Vec::new();
    let mut in_code = false;
    for line in lines {
        // A heading inside a code block does not start a section.
        in_code ^= line.trim_start().starts_with("```");
        if let Some(heading) = line.strip_prefix("## ").filter(|_| !in_code).map(str::trim) {
            let section = known
                .iter()
                .find(|section| section.eq_ignore_ascii_case(heading))
                .ok_or_else(|| RoleError::UnknownSection { section: heading.to_owned(), known })?;
            if found.iter().any(|(other, _)| other == section) {
                return Err(RoleError::DuplicateSection(section));
            }
            found.push((section, String::new()));
        } else if let Some((_, text)) = found.last_mut() {
            text.push_str(line);
            text.push('\n');
        } else if !line.trim().is_empty() {
            return Err(RoleError::StrayText(line.trim().to_owned()));
        }
    }
    Ok((title, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Cost\n\n## System\nS\n\n### Deeper\n```\n## Quoted\n```\n## Propose\nP\n## critique\nC\n\
                        ## Refine\nR\n## Summarize\nU\n## Clarify\nL\n";

    #[test]
    fn every_built_in_role_parses_within_its_bounds() {
        for name in Role::built_in_names() {
            let role = Role::built_in(name).unwrap();
            assert_eq!(role.name, name);
            assert!((400..=600).contains(&role.system.chars().count()), "{name}: system");
            for text in [&role.propose, &role.critique, &role.refine, &role.summarize, &role.clarify] {
                assert!((150..=350).contains(&text.chars().count()), "{name}: {text}");
            }
        }
        assert_eq!(Role::built_in("alchemist"), None);
    }

    #[test]
    fn every_role_file_is_built_in() {
        let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts/roles");
        let mut on_disk: Vec<_> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        on_disk.sort();
        let mut names = Role::built_in_names();
        names.sort_unstable();
        assert_eq!(on_disk, names);
    }

    #[test]
    fn the_judge_summarises_and_has_no_other_phase() {
        let judge = Role::judge();
        assert_eq!(judge.title, "Judge");
        assert!((400..=600).contains(&judge.system.chars().count()));
        assert!(!judge.summarize.is_empty());
        assert!(judge.propose.is_empty() && judge.clarify.is_empty());
    }

    #[test]
    fn sections_keep_their_text_and_their_code() {
        let role = Role::parse("cost", &TEXT.replace('\n', "\r\n")).unwrap();
        assert_eq!(role.title, "Cost");
        assert_eq!(&*role.system, "S\n\n### Deeper\n```\n## Quoted\n```");
        assert_eq!([&*role.propose, &*role.critique, &*role.clarify], ["P", "C", "L"]);
        let focused = role.focusing(Focus::Refine);
        assert_eq!([focused.title, focused.system, focused.focus], ["Cost", &*role.system, "R"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| Role::parse("cost", text).unwrap_err();
        assert_eq!(error(""), RoleError::MissingTitle);
        assert_eq!(error("## System\nS"), RoleError::MissingTitle);
        assert_eq!(error(&TEXT.replace("# Cost\n", "# Cost\nhello\n")), RoleError::StrayText("hello".into()));
        assert_eq!(error(&TEXT.replace("## Refine\nR", "")), RoleError::MissingSection("Refine"));
        assert_eq!(error(&TEXT.replace("\nR\n", "\n \n")), RoleError::EmptySection("Refine"));
        assert_eq!(error(&TEXT.replace("## Refine", "## Clarify")), RoleError::DuplicateSection("Clarify"));
        assert_eq!(
            error(&TEXT.replace("## Refine", "## Vote")).to_string(),
            "unknown section `## Vote`; known: System, Propose, Critique, Refine, Summarize, Clarify"
        );
    }
}
