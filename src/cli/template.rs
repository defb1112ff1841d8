//! Problems to fill in: headings that make a good one.

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
    /// The text to begin with.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Adr => include_str!("templates/adr.md"),
            Self::Migration => include_str!("templates/migration.md"),
            Self::Incident => include_str!("templates/incident.md"),
            Self::Vendor => include_str!("templates/vendor.md"),
        }
    }

    /// What was written, without what was left as it was, and without headings that have nothing below them. Lists that
    /// are good as they are stay, as long as anything was written.
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

/// Whether a line of a template has to be filled in: it has a gap, or says what belongs there.
fn is_stub(line: &str) -> bool {
    !line.is_empty() && (line.contains('…') || !line.starts_with('-'))
}

/// Takes off a heading at the end that has nothing below it.
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
