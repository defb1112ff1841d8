//! What an evaluator says of a final solution: scores from counts, and what was counted.
//!
//! A criterion that no rule here can judge for the problem at hand has no score: an invented one would pass for a
//! finding.

use serde_json::{Value, json};

use dialectic_base::figures::{counted, list};

use super::agent::Agent;
use super::checklist::checklist;
use super::problem::Requirement;
use super::text::{Position, covers, extended};
use super::words::{ratio, terms};

/// Points of a checklist that are looked for, those that the problem calls for most strongly first.
const LOOKED_FOR: usize = 6;
/// Titles that a summary names at most.
const NAMED: usize = 3;

impl Agent<'_> {
    /// The values of an evaluation.
    pub(super) fn evaluation(&self) -> Value {
        // Coverage and assessment quote requirements whether or not they are met.
        let text = extended(self.prompt.last("solution"), &[]);
        let (held, occurring) = (Position::of("", &text).held, terms(&text));
        // A point of a checklist answers it, or most of its telling words occur.
        let is_taken_up = |asked: &&Requirement| {
            let shared = asked.terms.intersection(&occurring).count();
            let by_words = shared > 0 && 2 * shared > asked.terms.len();
            by_words || held.iter().any(|entry| entry.answers(&self.problem, asked) > 0)
        };
        let met = |is_asked: fn(&&Requirement) -> bool, what: &str| {
            let asked: Vec<&Requirement> = self.problem.requirements.iter().filter(is_asked).collect();
            let met = asked.iter().copied().filter(is_taken_up).count();
            share(met, asked.len(), what, "that the problem states")
        };
        let covered = |roles: &[&str]| {
            let applicable = |role: &&str| checklist(role).applicable(&self.problem).into_iter().take(LOOKED_FOR);
            let wanted: Vec<_> = roles.iter().flat_map(applicable).collect();
            let found = wanted.iter().filter(|entry| covers(&held, entry)).count();
            share(found, wanted.len(), "point", &format!("of the checklists for {}", roles.join(" and ")))
        };
        let scores = [
            ("functional_completeness", met(|_| true, "requirement")),
            ("performance_scalability", covered(&["Performance"])),
            ("security", covered(&["Security"])),
            ("maintainability_evolvability", covered(&["Architect", "Simplicity"])),
            ("regulatory_compliance", share(0, 0, "rule", "for this")),
            ("testability", covered(&["Testing"])),
            ("requirements_fulfillment", met(|asked| asked.is_major, "major requirement")),
        ];
        // A prompt of the user's may not show the solution.
        let scores = scores.map(|(key, (score, why))| (key, score.filter(|_| !text.is_empty()), why));
        let given: Vec<f64> = scores.iter().filter_map(|(_, score, _)| *score).collect();
        let overall = (!given.is_empty()).then(|| tenths(given.iter().sum::<f64>() * ratio(1, given.len())));
        let titles: Vec<String> = held.iter().take(NAMED).map(|entry| entry.title.to_owned()).collect();
        let points = counted(held.len() as u64, "point");
        let strengths = format!("It holds {points} of the checklists, among them {}.", list(&titles));
        let strengths = if titles.is_empty() { Vec::new() } else { vec![strengths] };
        let open = self.problem.majors().filter(|asked| !is_taken_up(asked));
        let weaknesses = open.map(|open| format!("Nothing found for the requirement “{}”.", open.text));
        let weaknesses: Vec<String> = weaknesses.collect();
        let mut values = json!({ "strengths": strengths, "weaknesses": weaknesses, "overall_score": overall });
        for (key, score, why) in scores {
            values[key] = json!({ "score": score, "reasoning": why });
        }
        values
    }
}

/// The score of a share, 1 for nothing, 10 for all, with one decimal; none for a share of nothing.
fn share(part: usize, whole: usize, what: &str, of: &str) -> (Option<f64>, String) {
    if whole == 0 {
        return (None, format!("By rule, without a model: there is no {what} {of}, so nothing is scored."));
    }
    let reasoning =
        format!("By rule, without a model: the solution takes up {part} of {} {of}.", counted(whole as u64, what));
    (Some(tenths(1.0 + 9.0 * ratio(part, whole))), reasoning)
}

fn tenths(score: f64) -> f64 {
    (score * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_base::markdown::fenced;
    use dialectic_record::prompt::{EvaluatorValues, evaluator_user};

    fn evaluate(problem: &str, solution: &str, prompt: &str) -> Value {
        let values = EvaluatorValues {
            problem: fenced("problem", problem),
            final_solution: fenced("solution", solution),
            ..EvaluatorValues::default()
        };
        Agent::new(&values.fill(prompt), 0).evaluation()
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
