//! The version of the built-in prompts.

use sha2::{Digest, Sha256};

use dialectic_base::encoding::hexadecimal;

use super::Prompt;
use super::catalog::PARTS;
use super::evaluator::{SYSTEM, USER};
use super::role::{BUILT_IN, JUDGE, Role};
use super::values::TEMPLATES;

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
    use super::*;

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
