//! Facts about requirements that need no model: from the problem, and from the debate.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use dialectic_base::problem::major_requirements;
use dialectic_record::debate::{AgentId, Contribution, Debate, ResultKind};

/// The heading of the coverage section, in lower case.
const COVERAGE: &str = "requirements coverage";

/// The requirements in the prompt, as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Requirements {
    /// Lines of the problem that state a major requirement.
    pub major_requirements: Vec<String>,
    /// Requirements that the judge called unfulfilled.
    pub judge_unfulfilled_requirements: Vec<String>,
    /// The coverage stated by each agent's latest solution, in the order of first statements. Agents without the
    /// section are absent.
    pub agent_requirements_coverage: Vec<Coverage>,
    /// Agents whose latest text lacks the section, and its round.
    #[serde(skip)]
    pub uncovered: Vec<(AgentId, u32)>,
}

/// An agent's statement of coverage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    pub agent_id: AgentId,
    pub agent_role: Arc<str>,
    /// The section of its text.
    pub requirements_coverage: String,
}

impl Requirements {
    /// The requirements of a finished debate.
    pub fn of(debate: &Debate) -> Self {
        let own = own_solutions(debate);
        let latest = latest(debate, &own);
        let mut agents: Vec<&AgentId> = Vec::new();
        for (_, text) in &own {
            if !agents.contains(&&text.agent_id) && section(&text.content).is_some() {
                agents.push(&text.agent_id);
            }
        }
        let covered = agents.into_iter().filter_map(|agent| {
            let (_, text) = latest.get(agent)?;
            let requirements_coverage = section(&text.content)?;
            Some(Coverage { agent_id: agent.clone(), agent_role: text.agent_role.clone(), requirements_coverage })
        });
        let uncovered = latest.iter().filter(|(_, (_, text))| section(&text.content).is_none());
        let unfulfilled = debate.final_solution.iter().flat_map(|solution| &solution.unfulfilled_major_requirements);
        let unfulfilled = unfulfilled.map(|one| one.trim()).filter(|one| !one.is_empty());
        Self {
            major_requirements: major_requirements(&debate.problem),
            judge_unfulfilled_requirements: unfulfilled.map(str::to_owned).collect(),
            agent_requirements_coverage: covered.collect(),
            uncovered: uncovered.map(|(agent, (round, _))| ((*agent).clone(), *round)).collect(),
        }
    }
}

/// The agents' own solutions with their rounds, in recorded order.
fn own_solutions(debate: &Debate) -> Vec<(u32, &Contribution)> {
    let texts = debate.rounds.iter().flat_map(|round| round.contributions.iter().map(|one| (round.round_number, one)));
    let own = texts.filter(|(_, one)| debate.yield_of(one) == Some(ResultKind::Proposal));
    own.map(|(round, one)| (round, one.as_ref())).collect()
}

/// Each agent's latest solution and its round; within a round the later stage wins.
fn latest<'a>(debate: &Debate, own: &[(u32, &'a Contribution)]) -> BTreeMap<&'a AgentId, (u32, &'a Contribution)> {
    let mut own = own.to_vec();
    own.sort_by_key(|(round, one)| (*round, debate.stage_rank(one.stage)));
    own.into_iter().map(|(round, one)| (&one.agent_id, (round, one))).collect()
}

/// The section under the last heading about coverage, up to the next heading of its level or higher. `None` if it is
/// missing or empty.
fn section(text: &str) -> Option<String> {
    let mut open_fence: Option<&str> = None;
    let mut found: Option<(usize, Vec<&str>)> = None;
    let mut inside = false;
    for line in text.lines() {
        let was_fenced = open_fence.is_some();
        open_fence = after_line(open_fence, line);
        let heading = if was_fenced || open_fence.is_some() { None } else { heading(line) };
        match heading {
            Some((level, title)) if title.to_lowercase().contains(COVERAGE) => {
                found = Some((level, Vec::new()));
                inside = true;
                continue;
            }
            Some((level, _)) if found.as_ref().is_some_and(|(own, _)| level <= *own) => inside = false,
            Some(_) | None => {}
        }
        if let (true, Some((_, lines))) = (inside, &mut found) {
            lines.push(line);
        }
    }
    let body = found?.1.join("\n").trim().to_owned();
    (!body.is_empty()).then_some(body)
}

/// The open fence after `line`, given the `open` one before it.
fn after_line<'a>(open: Option<&'a str>, line: &'a str) -> Option<&'a str> {
    let line = line.trim_start();
    let mark = ['`', '~'].into_iter().find(|mark| line.starts_with(&mark.to_string().repeat(3)));
    let run = mark.map(|mark| line.split_at(line.len() - line.trim_start_matches(mark).len()));
    match (open, run) {
        (None, Some((run, _))) => Some(run),
        (Some(open), Some((run, rest))) if run.starts_with(open) && rest.trim().is_empty() => None,
        (open, _) => open,
    }
}

/// The level and the title of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    ((1..=6).contains(&level) && title.starts_with(char::is_whitespace)).then(|| (level, title.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_ends_with_the_next_heading_of_its_level() {
        let text = "# A\n\n## requirements coverage (draft)\n\nold\n\n## Requirements Coverage\n\n- all\n\n### Assumptions\n\n\
                    ```\n## not a heading\n```\n\n## Next\n\nno";
        assert_eq!(section(text).unwrap(), "- all\n\n### Assumptions\n\n```\n## not a heading\n```");
        assert_eq!(section("````\n```\n## Requirements Coverage\n\nfenced\n````"), None);
        assert_eq!(section("## Requirements Coverage\n\n"), None);
        assert_eq!(section("Requirements Coverage: all"), None);
    }
}
