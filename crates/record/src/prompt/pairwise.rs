//! The instructions for judges that compare two texts: plain text with placeholders, filled in one pass.

use dialectic_base::markdown::fenced;

use super::evaluator::filled;

pub(super) const SYSTEM: (&str, &str) = ("pairwise/system.md", include_str!("../../prompts/pairwise/system.md"));
/// Asks for a checklist.
pub(super) const CHECKLIST: (&str, &str) =
    ("pairwise/checklist.md", include_str!("../../prompts/pairwise/checklist.md"));
/// Asks which of two texts is better.
pub(super) const RULING: (&str, &str) = ("pairwise/ruling.md", include_str!("../../prompts/pairwise/ruling.md"));

/// The system text of judges that compare two texts.
pub fn pairwise_system() -> &'static str {
    SYSTEM.1.trim()
}

/// Asks for a checklist of `problem`.
pub fn pairwise_checklist(problem: &str) -> String {
    let problem = fenced("problem", problem);
    filled(CHECKLIST.1.trim(), |name| (name == "problem").then_some(&problem))
}

/// Asks which of two texts is better, by the checklist.
pub fn pairwise_ruling(problem: &str, checklist: &[String], [first, second]: [&str; 2]) -> String {
    let items: Vec<String> = (1..).zip(checklist).map(|(number, item)| format!("{number}. {item}")).collect();
    let values = [
        ("problem", fenced("problem", problem)),
        ("checklist", fenced("checklist", &items.join("\n"))),
        ("first", fenced("text", first)),
        ("second", fenced("text", second)),
    ];
    filled(RULING.1.trim(), |name| values.iter().find(|(known, _)| *known == name).map(|(_, value)| value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_filled_once_and_values_are_not_searched() {
        let asked = pairwise_ruling("P {first}", &["I {second}".to_owned()], ["A {second} ```", "B"]);
        for there in
            ["```problem\nP {first}\n```", "1. I {second}", "````text\nA {second} ```\n````", "```text\nB\n```"]
        {
            assert_eq!(asked.matches(there).count(), 1, "{there}\n{asked}");
        }
        assert!(!asked.contains("{problem}") && !asked.contains("{checklist}"));
        assert!(pairwise_checklist("P").contains("```problem\nP\n```"));
    }
}
