//! The rehearsed review of a change: it points at lines of the diff, and states that no model read them.

use serde_json::{Value, json};

use super::mixed;
use super::task::PlayedAgent;
use super::text::NOT_ASSESSED;

/// The maximum number of characters quoted from a line.
const QUOTED: usize = 60;

impl PlayedAgent<'_> {
    /// The first new line of the change, and another one that depends on the role.
    pub(super) fn findings(&self) -> String {
        let attached = self.prompt.of_kinds(&["attachment"]).map(|one| one.text);
        let lines: Vec<_> = attached.filter(|text| text.contains("\n@@ ")).flat_map(new_lines).collect();
        let Some((first, others)) = lines.split_first() else { return "No findings.".to_owned() };
        let turn = mixed(self.seed, self.role) % others.len().max(1) as u64;
        let other = others.get(usize::try_from(turn).unwrap_or_default());
        let finding = |(number, (path, line, text)): (usize, &(&str, u32, String))| {
            format!(
                "{number}. [minor] {path}:{line}: no model read `{text}`; a real review would describe the defect here. \
                 To see it: review the change with a model."
            )
        };
        (1..).zip([first].into_iter().chain(other)).map(finding).collect::<Vec<_>>().join("\n")
    }

    /// An opinion on each listed finding.
    pub(super) fn opinions(&self) -> String {
        let opinion = |number| format!("- {number} left: no model followed the code.");
        self.listed_findings().map(opinion).collect::<Vec<_>>().join("\n")
    }

    /// The numbers of the listed findings.
    fn listed_findings(&self) -> impl Iterator<Item = &str> {
        let listed = self.prompt.of_kinds(&["found"]).next_back().unwrap_or_default().text;
        listed.lines().filter_map(|line| line.strip_prefix("- ")?.split(' ').next())
    }

    /// A ruling on each listed finding.
    pub(super) fn finding_rulings(&self) -> Value {
        let ruling = |number: &str| json!({ "finding": number, "reason": NOT_ASSESSED, "decision": "open", "severity": "minor" });
        let rulings: Vec<Value> = self.listed_findings().map(ruling).collect();
        json!({ "rulings": rulings, "summary": NOT_ASSESSED, "title": "" })
    }
}

/// The first new line of each hunk of a diff: its file, its line number, and its beginning.
fn new_lines(diff: &str) -> Vec<(&str, u32, String)> {
    let (mut path, mut at, mut found): (&str, Option<u32>, Vec<_>) = ("", None, Vec::new());
    for line in diff.lines() {
        if let Some(new) = line.strip_prefix("+++ b/") {
            path = new.trim_end_matches('\t');
        } else if let Some(hunk) = line.strip_prefix("@@ ") {
            let new = hunk.split('+').nth(1).and_then(|new| new.split([',', ' ']).next());
            at = new.and_then(|new| new.parse().ok());
        } else if let Some(number) = at {
            match line.split_at_checked(1) {
                Some(("+", text)) if text.contains(char::is_alphanumeric) => {
                    let quoted: String = text.trim().replace('`', "'").chars().take(QUOTED).collect();
                    found.push((path, number, quoted));
                    at = None;
                }
                Some(("-", _)) => {}
                Some(_) | None => at = Some(number + 1),
            }
        }
    }
    found
}
