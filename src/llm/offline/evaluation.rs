//! What an evaluator says of a final solution: scores from counts, and what was counted.
//!
//! A criterion that no rule here can judge for the problem at hand has no score: an invented one would pass for a
//! finding.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::agent::Agent;
use super::checklist::{Entry, checklist};
use super::document::{COVERAGE, Document, adopted, covers};
use super::problem::Requirement;
use super::words::{count_of, list, ratio, terms};

/// Points of a checklist that are looked for, those that the problem calls for most strongly first.
const LOOKED_FOR: usize = 6;
/// Titles that a summary names at most.
const NAMED: usize = 3;
/// A final solution, read.
struct Subject<'s> {
    agent: &'s Agent<'s>,
    held: Vec<&'static Entry>,
    terms: HashSet<String>,
}

impl Agent<'_> {
    /// The values of an evaluation.
    pub(super) fn evaluation(&self) -> Vec<(&'static str, Value)> {
        let mut document = Document::read(self.prompt.of_kind("solution").last().map_or("", |text| text.text));
        // Both quote requirements whether or not they are met.
        document.remove(COVERAGE);
        document.remove("## Judge Assessment");
        let text = document.text();
        let subject = Subject { agent: self, held: adopted(&text), terms: terms(&text) };
        let requirements = &self.problem.requirements;
        let scored = [
            ("functional_completeness", subject.met(requirements.iter(), "requirement")),
            ("performance_scalability", subject.covered(&["Performance"])),
            ("security", subject.covered(&["Security"])),
            ("maintainability_evolvability", subject.covered(&["Architect", "Simplicity"])),
            ("regulatory_compliance", share(0, 0, "rule", "that could judge this", "")),
            ("testability", subject.covered(&["Testing"])),
            ("requirements_fulfillment", subject.met(self.problem.majors(), "major requirement")),
        ];
        // A prompt of the user's may not show it.
        let is_shown = !text.is_empty();
        let scored = scored.map(|(key, (score, reasoning))| (key, (score.filter(|_| is_shown), reasoning)));
        let given: Vec<f64> = scored.iter().filter_map(|(_, (score, _))| *score).collect();
        let overall = tenths(given.iter().sum::<f64>() * ratio(1, given.len()));
        let titles: Vec<String> = subject.held.iter().take(NAMED).map(|entry| entry.title.to_owned()).collect();
        let points = count_of(subject.held.len(), "point");
        let strengths = format!("It holds {points} of the checklists, among them {}.", list(&titles));
        let open = self.problem.majors().filter(|requirement| !subject.takes_up(requirement));
        let weaknesses = open.map(|open| format!("Nothing found for the requirement “{}”.", open.text));
        let mut values: Vec<(&'static str, Value)> = vec![
            ("strengths", if titles.is_empty() { json!([]) } else { json!([strengths]) }),
            ("weaknesses", weaknesses.collect()),
            ("overall_score", json!((!given.is_empty()).then_some(overall))),
        ];
        let scored = scored.into_iter();
        values.extend(scored.map(|(key, (score, reasoning))| (key, json!({ "score": score, "reasoning": reasoning }))));
        values
    }
}

impl Subject<'_> {
    /// How many of these requirements the solution takes up.
    fn met<'r>(&self, asked: impl Iterator<Item = &'r Requirement>, what: &str) -> (Option<f64>, String) {
        let met: Vec<bool> = asked.map(|requirement| self.takes_up(requirement)).collect();
        let part = met.iter().filter(|met| **met).count();
        share(part, met.len(), what, "that the problem states", "the solution takes up")
    }

    /// How many points of these checklists, as far as they apply to the problem, the solution holds.
    fn covered(&self, roles: &[&str]) -> (Option<f64>, String) {
        let applicable = |role: &&str| checklist(role).applicable(&self.agent.problem).into_iter().take(LOOKED_FOR);
        let wanted: Vec<&Entry> = roles.iter().flat_map(applicable).collect();
        let held = wanted.iter().filter(|entry| covers(&self.held, entry)).count();
        let of = format!("of the checklists for {}", roles.join(" and "));
        share(held, wanted.len(), "point", &of, "the solution holds")
    }

    /// A requirement is taken up when a point of a checklist answers it, or when most of its telling words occur.
    fn takes_up(&self, requirement: &Requirement) -> bool {
        let by_point = self.held.iter().any(|entry| entry.answers(&self.agent.problem, requirement) > 0);
        let occurring = requirement.terms.intersection(&self.terms).count();
        by_point || (occurring > 0 && 2 * occurring > requirement.terms.len())
    }
}

/// The score of a share, 1 for nothing, 10 for all, with one decimal; none for a share of nothing.
fn share(part: usize, whole: usize, what: &str, of: &str, verb: &str) -> (Option<f64>, String) {
    if whole == 0 {
        return (None, format!("By rule, without a model: there is no {what} {of}, so nothing is scored."));
    }
    let reasoning = format!("By rule, without a model: {verb} {part} of {} {of}.", count_of(whole, what));
    (Some(tenths(1.0 + 9.0 * ratio(part, whole))), reasoning)
}

fn tenths(score: f64) -> f64 {
    (score * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::fenced;
    use crate::prompt::{EvaluatorValues, evaluator_user};

    fn evaluate(problem: &str, solution: &str, prompt: &str) -> Value {
        let values = EvaluatorValues {
            problem: fenced("problem", problem),
            final_solution: fenced("solution", solution),
            ..EvaluatorValues::default()
        };
        Agent::new(&values.fill(prompt), 0)
            .evaluation()
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    }

    const PROBLEM: &str =
        "Design a photo store. Uploads must resume after a broken connection. It shall keep an audit log.";

    #[test]
    fn scores_follow_from_what_the_solution_holds() {
        let poor = "Use a disk.\n\n## Requirements Coverage\n\n- Uploads resume after a broken connection";
        let rich = "Uploads resume after a broken connection.\n\n- **Restore drills.** Do.\n\nEvery change goes to an \
                    audit log.";
        for prompt in [evaluator_user(), "Judge this:\n\n{final_solution}\n\nIt was made for\n\n{problem}\n"] {
            let [poor, rich] = [poor, rich].map(|solution| evaluate(PROBLEM, solution, prompt));
            for key in ["functional_completeness", "requirements_fulfillment"] {
                assert_eq!((&poor[key]["score"], &rich[key]["score"]), (&json!(1.0), &json!(10.0)), "{key}");
            }
            assert!(poor["overall_score"].as_f64() < rich["overall_score"].as_f64());
            assert_eq!(poor["weaknesses"].as_array().unwrap().len(), 2);
            assert_eq!(
                rich["functional_completeness"]["reasoning"],
                "By rule, without a model: the solution takes up 2 of 2 requirements that the problem states."
            );
        }
    }

    #[test]
    fn what_no_rule_can_judge_has_no_score() {
        let answer = evaluate("Design a photo store", "Use a disk.", evaluator_user());
        for key in ["functional_completeness", "regulatory_compliance", "requirements_fulfillment"] {
            assert!(answer[key]["score"].is_null(), "{key}");
            assert!(answer[key]["reasoning"].as_str().unwrap().contains("nothing is scored"), "{key}");
        }
        assert!(answer["security"]["score"].is_number());
    }
}
