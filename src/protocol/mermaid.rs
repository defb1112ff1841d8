//! A protocol's table as a diagram for the documentation.

use super::{Next, Protocol, Transition};

impl Protocol {
    /// The table as a Mermaid state diagram.
    #[must_use]
    pub fn mermaid(&self) -> String {
        let id = |name: &str| name.replace('-', "_");
        let mut lines = vec!["stateDiagram-v2".to_owned(), format!("    [*] --> {}", id(self.start.name()))];
        for Transition(node, trigger, next) in self.transitions {
            let to = match next {
                Next::Go(node) => id(node.name()),
                Next::Suspend => "suspended".to_owned(),
                Next::Done => "[*]".to_owned(),
                Next::Fail => "failed".to_owned(),
                Next::Pause => "paused".to_owned(),
            };
            lines.push(format!("    {} --> {to}: {}", id(node.name()), trigger.name()));
        }
        lines.join("\n") + "\n"
    }

    /// The table as Markdown.
    #[must_use]
    pub fn table(&self) -> String {
        let mut lines = vec!["| node | event | next |".to_owned(), "| --- | --- | --- |".to_owned()];
        for Transition(node, trigger, next) in self.transitions {
            let to = match next {
                Next::Go(node) => node.name(),
                Next::Suspend => "suspend",
                Next::Done => "done",
                Next::Fail => "fail",
                Next::Pause => "pause",
            };
            lines.push(format!("| {} | {} | {to} |", node.name(), trigger.name()));
        }
        lines.join("\n") + "\n"
    }
}
