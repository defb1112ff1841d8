//! A protocol's table for documentation and terminals.

use super::{Next, Protocol, Row, Stage};

impl Next {
    /// What a table says of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Go(stage) | Self::Begin(stage) => stage.as_str(),
            Self::Suspend => "suspend",
            Self::Done => "done",
            Self::Fail => "fail",
            Self::Pause => "pause",
        }
    }
}

impl Protocol {
    /// Each row of its table with its stage.
    pub fn rows(&self) -> impl Iterator<Item = (&Stage, &Row)> {
        self.stages.iter().flat_map(|stage| stage.rows.iter().map(move |row| (stage, row)))
    }

    /// The table as a Mermaid state diagram.
    #[must_use]
    pub fn mermaid(&self) -> String {
        let id = |name: &str| name.replace('-', "_");
        let mut lines = vec!["stateDiagram-v2".to_owned(), format!("    [*] --> {}", id(self.start().as_str()))];
        for (stage, Row(trigger, next)) in self.rows() {
            let to = match next {
                Next::Go(stage) | Next::Begin(stage) => id(stage.as_str()),
                Next::Suspend => "suspended".to_owned(),
                Next::Done => "[*]".to_owned(),
                Next::Fail => "failed".to_owned(),
                Next::Pause => "paused".to_owned(),
            };
            lines.push(format!("    {} --> {to}: {}", id(stage.info.id.as_str()), trigger.0));
        }
        lines.join("\n") + "\n"
    }

    /// The table as Markdown.
    #[must_use]
    pub fn table(&self) -> String {
        let mut lines = vec!["| stage | event | next |".to_owned(), "| --- | --- | --- |".to_owned()];
        for (stage, Row(trigger, next)) in self.rows() {
            let begins = if matches!(next, Next::Begin(_)) { ", in a new round" } else { "" };
            lines.push(format!("| {} | {} | {}{begins} |", stage.info.id, trigger.0, next.name()));
        }
        lines.join("\n") + "\n"
    }
}
