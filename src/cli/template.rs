//! Templates for problems.

use clap::ValueEnum;

/// A kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ProblemTemplate {
    /// A decision on architecture
    Adr,
    /// A move from one system to another
    Migration,
    /// An incident: its cause, and what to change
    Incident,
    /// Whether to buy, and from whom
    Vendor,
}

impl ProblemTemplate {
    /// The initial text.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Adr => include_str!("templates/adr.md"),
            Self::Migration => include_str!("templates/migration.md"),
            Self::Incident => include_str!("templates/incident.md"),
            Self::Vendor => include_str!("templates/vendor.md"),
        }
    }

    /// The written text without unchanged lines and empty headings. Useful default lists are kept if anything was
    /// written.
    pub(super) fn filled(self, text: &str) -> String {
        let stubs: Vec<&str> = self.text().lines().filter(|line| !line.starts_with("## ") && is_stub(line)).collect();
        let written = text.lines().map(str::trim_end).filter(|line| !stubs.contains(line));
        let mut kept: Vec<&str> = Vec::new();
        for line in written {
            if line.starts_with("## ") {
                drop_empty_section(&mut kept);
            }
            if !(line.is_empty() && kept.last().is_none_or(|last| last.is_empty())) {
                kept.push(line);
            }
        }
        drop_empty_section(&mut kept);
        let is_of_template = |line: &&str| line.is_empty() || self.text().lines().any(|own| own == *line);
        if kept.iter().all(is_of_template) { String::new() } else { kept.join("\n").trim().to_owned() }
    }
}

/// Whether a template's line must be filled in: it has a gap, or describes its content.
fn is_stub(line: &str) -> bool {
    !line.is_empty() && (line.contains('…') || !line.starts_with('-'))
}

/// Removes an empty heading at the end.
fn drop_empty_section(lines: &mut Vec<&str>) {
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    if lines.last().is_some_and(|line| line.starts_with("## ")) {
        lines.pop();
    } else if !lines.is_empty() {
        lines.push("");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_as_it_was_is_no_problem() {
        for template in ProblemTemplate::value_variants() {
            assert_eq!(template.filled(template.text()), "", "{template:?}");
        }
    }

    #[test]
    fn what_was_written_stays_and_what_was_not_goes() {
        let written = ProblemTemplate::Adr.text().replace("- It should …", "- It should cost nothing");
        let written = written.replace("# Which … do we choose for …?", "# Which queue do we choose for mail?");
        insta::assert_snapshot!(ProblemTemplate::Adr.filled(&written), @r"
        # Which queue do we choose for mail?

        ## Requirements

        - It should cost nothing

        ## What the answer must contain

        - One choice, with the reasons against the others
        - What would have us decide otherwise
        ");
    }
}
