//! What can be told of requirements without a model: what the problem says of them, and what the debate said.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::debate::{AgentId, Contribution, Debate, Yield};

/// Shorter lines are headings and fragments, whatever words they hold.
const SHORTEST: usize = 10;
/// The heading of the section in which agents say what they fulfil, in lower case.
const COVERAGE: &str = "requirements coverage";

/// What the prompt says about requirements, as JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Requirements {
    /// Lines of the problem that state a major requirement.
    pub major_requirements: Vec<String>,
    /// Those that the judge called unfulfilled.
    pub judge_unfulfilled_requirements: Vec<String>,
    /// By agent, what its latest solution of its own says it covers. Agents without such a section are absent.
    pub agent_requirements_coverage: BTreeMap<AgentId, String>,
    /// Agents whose latest text has no such section, and the round of that text.
    #[serde(skip)]
    pub uncovered: Vec<(AgentId, u32)>,
}

impl Requirements {
    /// Of a finished debate.
    #[must_use]
    pub fn of(debate: &Debate) -> Self {
        let mut agent_requirements_coverage = BTreeMap::new();
        let mut uncovered = Vec::new();
        for (agent, (round, text)) in latest(debate) {
            match section(&text.content) {
                Some(section) => drop(agent_requirements_coverage.insert(agent.clone(), section)),
                None => uncovered.push((agent.clone(), round)),
            }
        }
        let solution = debate.final_solution.as_ref();
        Self {
            major_requirements: debate.problem.lines().filter_map(major_requirement).collect(),
            judge_unfulfilled_requirements: solution
                .map(|solution| solution.unfulfilled_major_requirements.clone())
                .unwrap_or_default(),
            agent_requirements_coverage,
            uncovered,
        }
    }
}

/// Each agent's latest solution of its own, with its round; within a round that of the later stage.
fn latest(debate: &Debate) -> BTreeMap<&AgentId, (u32, &Contribution)> {
    let texts = debate.rounds.iter().flat_map(|round| round.contributions.iter().map(|one| (round.round_number, one)));
    let mut own: Vec<_> = texts.filter(|(_, one)| debate.yield_of(one) == Some(Yield::Proposal)).collect();
    own.sort_by_key(|(round, one)| (*round, debate.stage_rank(one.stage)));
    own.into_iter().map(|(round, one)| (&one.agent_id, (round, one.as_ref()))).collect()
}

/// The line without its bullet, when it states a major requirement.
fn major_requirement(line: &str) -> Option<String> {
    let line = without_bullet(line.trim());
    let words: Vec<String> =
        line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let is_major = ["must", "shall", "required", "critical", "essential"].into_iter().any(has)
        || words.windows(2).any(|pair| pair == ["needs", "to"]);
    (is_major && line.chars().count() > SHORTEST).then(|| line.to_owned())
}

/// Without `-`, `*`, `+`, `•`, `1.` or `1)` at the beginning, where white space follows.
fn without_bullet(line: &str) -> &str {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let mark = if digits.len() < line.len() {
        digits.strip_prefix(['.', ')'])
    } else {
        line.strip_prefix(['-', '*', '+', '•'])
    };
    mark.filter(|rest| rest.starts_with(char::is_whitespace)).map_or(line, str::trim)
}

/// What stands under the last heading that names the requirements coverage, up to the next heading of its level or a
/// higher one. Nothing when there is no such heading, or nothing under it.
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

/// The fence that is open behind `line`, where `open` was open before it.
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
    fn lines_with_a_word_of_duty_are_major_requirements() {
        let problem = "Design it.\n- It must be fast enough\n* Data SHALL stay in the EU\n 3. Access is required\n\
                       10) It needs to last\n• Uptime is critical!\n**Must** be cheap\n- must do it\nA mustard store\n\
                       It needs  to grow\nIt should be nice and tidy\nEssential: backups";
        let found: Vec<String> = problem.lines().filter_map(major_requirement).collect();
        assert_eq!(
            found,
            [
                "It must be fast enough",
                "Data SHALL stay in the EU",
                "Access is required",
                "It needs to last",
                "Uptime is critical!",
                "**Must** be cheap",
                "It needs  to grow",
                "Essential: backups",
            ]
        );
        // Ten characters are not longer than ten.
        assert_eq!(major_requirement("- must do 12"), None);
        assert_eq!(major_requirement("- must do 123"), Some("must do 123".to_owned()));
    }

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
