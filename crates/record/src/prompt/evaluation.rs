//! The prompts of evaluators, and the values that they show.

use dialectic_base::markdown::fenced;

use super::step::Prompt;

/// The questions and answers, as shown to an evaluator. Value: `clarifications`, which includes unanswered questions.
pub static EVALUATOR_CLARIFICATIONS: Prompt = prompt!("evaluator/clarifications.md", None);
/// The questions and answers, for a user-defined evaluator prompt. Value: `groups`, one for each agent that asked.
pub static PLAIN_CLARIFICATIONS: Prompt = prompt!("evaluator/clarifications-plain.md", None);

pub(super) const SYSTEM: (&str, &str) = ("evaluator/system.md", include_str!("../../prompts/evaluator/system.md"));

pub(super) const USER: (&str, &str) = ("evaluator/user.md", include_str!("../../prompts/evaluator/user.md"));

/// The values of the placeholders in an evaluator's prompt. Users write such prompts, so they are not templates: other
/// braces stay unchanged, and values are inserted as bare text that is never searched for placeholders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvaluatorValues {
    pub problem: String,
    pub clarifications: String,
    pub final_solution: String,
    pub requirements_info: String,
}

/// The placeholder without which an evaluator does not see the solution.
pub const SOLUTION_PLACEHOLDER: &str = "{final_solution}";

impl EvaluatorValues {
    pub fn fill(&self, text: &str) -> String {
        filled(text, |name| match name {
            "problem" => Some(&self.problem),
            "clarifications" => Some(&self.clarifications),
            "final_solution" => Some(&self.final_solution),
            "requirements_info" => Some(&self.requirements_info),
            _ => None,
        })
    }
}

/// Replaces each known placeholder with its value. Inserted values are not searched for placeholders.
pub(super) fn filled<'v>(text: &str, value: impl Fn(&str) -> Option<&'v String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let value = after.split_once('}').and_then(|(name, after)| Some((value(name)?.as_str(), after)));
        let (shown, after) = value.unwrap_or(("{", after));
        filled.push_str(shown);
        rest = after;
    }
    filled + rest
}

pub fn evaluator_system() -> &'static str {
    SYSTEM.1.trim()
}

pub fn evaluator_user() -> &'static str {
    USER.1.trim()
}

pub(super) const PAIRWISE_SYSTEM: (&str, &str) =
    ("pairwise/system.md", include_str!("../../prompts/pairwise/system.md"));

pub(super) const PAIRWISE_CHECKLIST: (&str, &str) =
    ("pairwise/checklist.md", include_str!("../../prompts/pairwise/checklist.md"));

pub(super) const PAIRWISE_RULING: (&str, &str) =
    ("pairwise/ruling.md", include_str!("../../prompts/pairwise/ruling.md"));

pub fn pairwise_system() -> &'static str {
    PAIRWISE_SYSTEM.1.trim()
}

pub fn pairwise_checklist(problem: &str) -> String {
    let problem = fenced("problem", problem);
    filled(PAIRWISE_CHECKLIST.1.trim(), |name| (name == "problem").then_some(&problem))
}

pub fn pairwise_ruling(problem: &str, checklist: &[String], [first, second]: [&str; 2]) -> String {
    let items: Vec<String> = (1..).zip(checklist).map(|(number, item)| format!("{number}. {item}")).collect();
    let values = [
        ("problem", fenced("problem", problem)),
        ("checklist", fenced("checklist", &items.join("\n"))),
        ("first", fenced("text", first)),
        ("second", fenced("text", second)),
    ];
    filled(PAIRWISE_RULING.1.trim(), |name| values.iter().find(|(known, _)| *known == name).map(|(_, value)| value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values() -> EvaluatorValues {
        EvaluatorValues {
            problem: "P {final_solution} {problem}".to_owned(),
            clarifications: "C".to_owned(),
            final_solution: "S {problem}".to_owned(),
            requirements_info: "{\"a\":1}".to_owned(),
        }
    }

    #[test]
    fn placeholders_are_filled_once_and_other_braces_stay() {
        let text =
            "{problem}|{final_solution}|{clarifications}|{requirements_info}|{other} { {{problem}} {\"json\": {}} {";
        assert_eq!(
            values().fill(text),
            "P {final_solution} {problem}|S {problem}|C|{\"a\":1}|{other} { {P {final_solution} {problem}} \
             {\"json\": {}} {"
        );
    }

    #[test]
    fn the_built_in_prompts_have_every_placeholder_and_name_every_key() {
        for placeholder in ["{problem}", "{clarifications}", SOLUTION_PLACEHOLDER, "{requirements_info}"] {
            assert_eq!(evaluator_user().matches(placeholder).count(), 1, "{placeholder}");
            assert!(!evaluator_system().contains(placeholder), "{placeholder}");
        }
        for key in ["functional_completeness", "non_functional", "testability", "overall_summary", "overall_score"] {
            assert!(evaluator_user().contains(&format!("\"{key}\"")), "{key}");
        }
    }

    proptest! {
        #[test]
        fn a_value_comes_out_as_it_went_in(value in "[{}a-z_ ]{0,40}|\\{(problem|final_solution)\\}") {
            let values = EvaluatorValues { problem: value.clone(), ..EvaluatorValues::default() };
            prop_assert_eq!(values.fill("a {problem} b"), format!("a {value} b"));
        }
    }

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
