//! The input of a report: the debate and its participants.

use std::collections::{BTreeMap, BTreeSet};

use super::prose::plain;
use dialectic_base::provider::OFFLINE;
use dialectic_record::debate::{Debate, Status};
use dialectic_record::ids::AgentId;
use dialectic_record::settings::defaults::unnamed_agent;
use dialectic_record::settings::{AgentSettings, Position, Settings};

/// Roles in older files. An agent whose settings are unknown keeps its role if it is one of these, and otherwise gets
/// the first of these.
const KNOWN_ROLES: [&str; 7] =
    ["architect", "performance", "security", "testing", "kiss", "datamodeling", "generalist"];
const UNKNOWN_MODEL: &str = "N/A";
/// Assumed, like the temperatures and the judge below, for older files without settings.
const OLD_PROVIDER: &str = "openai";
const OLD_TEMPERATURE: f64 = 0.5;
const OLD_JUDGE: &str = "judge-main";
const OLD_JUDGE_ROLE: &str = "generalist";
const OLD_JUDGE_TEMPERATURE: f64 = 0.3;

#[derive(Debug, Clone)]
pub struct View<'a> {
    pub debate: &'a Debate,
    /// The agents: first those in the settings, then others in the order of their first contributions.
    pub agents: Vec<AgentSettings>,
    pub judge: AgentSettings,
    /// The agents whose settings are unknown and therefore assumed.
    pub(super) assumed: BTreeSet<AgentId>,
    /// Whether the judge's settings are unknown and therefore assumed. The judge of a debate without settings may also
    /// be in `assumed`, as an author of contributions.
    pub(super) is_judge_assumed: bool,
    sides: BTreeMap<AgentId, Position>,
    /// The status according to the files. The debate itself does not record that the program was killed.
    standing: Option<&'static str>,
    /// Whether Markdown shows the latency and tokens of each contribution.
    pub(super) has_usage: bool,
}

impl<'a> View<'a> {
    /// Creates the view of `debate`. The settings of an agent come from `configured` if it contains the agent's id,
    /// otherwise from the debate, and are otherwise assumed. The same holds for the judge, but a configured judge with
    /// a different id is ignored if the debate has settings.
    pub fn new(debate: &'a Debate, configured: Option<&Settings>) -> Self {
        let own = debate.settings.as_ref();
        let known = |id: &AgentId| {
            let mut agents = configured.into_iter().chain(own).flat_map(|settings| &settings.agents);
            agents.find(|agent| agent.id == *id)
        };
        let mut assumed = BTreeSet::new();
        let mut assume = |id: &AgentId, role| {
            assumed.insert(id.clone());
            agent_of(id, role)
        };
        let agents = members(debate).into_iter();
        let agents = agents.map(|(id, role)| known(id).cloned().unwrap_or_else(|| assume(id, role))).collect();
        let own_judge = own.map(|settings| &settings.judge);
        let configured_judge = configured.map(|settings| &settings.judge);
        let judge = match (configured_judge, own_judge) {
            (Some(configured), Some(own)) if configured.id != own.id => own.clone(),
            (Some(judge), _) | (None, Some(judge)) => judge.clone(),
            (None, None) => judge_of(debate),
        };
        let is_judge_assumed = configured_judge.or(own_judge).is_none();
        let given = own.into_iter().flat_map(|settings| &settings.agents);
        let sides = given.filter_map(|agent| Some((agent.id.clone(), agent.position?))).collect();
        Self { debate, agents, judge, assumed, is_judge_assumed, sides, standing: None, has_usage: false }
    }

    /// This view, but of `debate`, which must be a copy of the view's own debate.
    pub(super) fn on(&self, debate: &'a Debate) -> Self {
        Self { debate, ..self.clone() }
    }

    /// Sets the status according to the files, such as whether a process is running the debate.
    pub fn with_standing(self, standing: &'static str) -> Self {
        Self { standing: Some(standing), ..self }
    }

    pub fn with_usage(self, has_usage: bool) -> Self {
        Self { has_usage, ..self }
    }

    pub fn run_in_words(&self) -> String {
        match self.standing {
            Some(standing) if self.debate.outcome.is_none() && self.debate.status != Status::Failed => {
                standing.to_owned()
            }
            Some(_) | None => self.debate.run_in_words(),
        }
    }

    pub fn by_number(&self) -> Vec<&AgentSettings> {
        let mut agents: Vec<&AgentSettings> = self.agents.iter().collect();
        agents.sort_by_key(|one| self.number_of(&one.id).unwrap_or(u32::MAX));
        agents
    }

    /// The number of an agent, as used for its text in prompts and for the points against it.
    pub fn number_of(&self, id: &AgentId) -> Option<u32> {
        self.debate.text_number(id)
    }

    /// Sets each agent's side to the result of `side`, overriding the settings. Has no effect if the debate has no
    /// settings.
    pub fn with_sides(mut self, side: impl Fn(&Settings, &AgentId) -> Position) -> Self {
        if let Some(settings) = &self.debate.settings {
            self.sides = settings.agents.iter().map(|agent| (agent.id.clone(), side(settings, &agent.id))).collect();
        }
        self
    }

    /// The judge's confidence in the solution, from 0 to 100. `None` if the judge gave none or used the offline
    /// provider.
    pub fn confidence(&self) -> Option<f64> {
        let is_model = self.debate.settings.as_ref().is_none_or(|settings| settings.judge.provider != OFFLINE);
        self.debate.final_solution.as_ref().and_then(|solution| solution.confidence).filter(|_| is_model)
    }

    /// The title that the judge gave, or else the first line of text in the problem, without heading markers.
    pub fn title(&self) -> Option<&'a str> {
        let debate = self.debate;
        if let Some(title) = debate.given_title() {
            return Some(title);
        }
        let lines = self.debate.problem.lines().map(|line| line.trim_start().trim_start_matches('#').trim());
        lines.into_iter().find(|line| !line.is_empty())
    }

    /// The problem without its title, if the title is a whole heading or paragraph. Otherwise, or if the judge gave the
    /// title, the whole problem.
    pub fn problem_below_title(&self) -> &'a str {
        let debate = self.debate;
        let problem = debate.problem.trim_start();
        let (first, rest) = problem.split_once('\n').unwrap_or((problem, ""));
        let is_own = first.starts_with('#') || rest.lines().next().is_none_or(|next| next.trim().is_empty());
        let bare = |text: &str| text.trim_end_matches(|c: char| ".?!:…".contains(c)).to_owned();
        let is_whole = || bare(&debate.title()) == bare(&plain(first));
        if debate.given_title().is_none() && is_own && is_whole() { rest } else { &debate.problem }
    }

    /// The name of a participant, or `id` if the participant is unknown.
    pub fn name_of<'v>(&'v self, id: &'v AgentId) -> &'v str {
        let found = self.agents.iter().chain([&self.judge]).find(|participant| participant.id == *id);
        found.map_or(id.as_str(), |participant| participant.name.as_str())
    }

    /// The judged agents, highest mean score first.
    pub fn judged(&self) -> Vec<&'a AgentId> {
        let means = self.debate.verdict.as_ref().map(|verdict| &verdict.scores);
        let passes = self.debate.judgements.iter().map(|judgement| &judgement.scores);
        let all: BTreeSet<&AgentId> = means.into_iter().chain(passes).flat_map(BTreeMap::keys).collect();
        let mean = |id: &AgentId| means.and_then(|means| means.get(id).copied()).unwrap_or(f64::NEG_INFINITY);
        let mut judged: Vec<&AgentId> = all.into_iter().collect();
        judged.sort_by(|one, other| mean(other).total_cmp(&mean(one)));
        judged
    }

    pub fn side_of(&self, id: &AgentId) -> Option<Position> {
        self.sides.get(id).copied()
    }

    pub fn has_sides(&self) -> bool {
        self.sides.values().any(|side| *side != Position::Neutral)
    }
}

/// The participants with their roles, without the judge: first the agents from the settings, even if all their calls
/// failed, then others in the order of their first contributions.
fn members(debate: &Debate) -> Vec<(&AgentId, &str)> {
    let mut seen = BTreeSet::new();
    let settled = debate.agents().iter().map(|agent| (&agent.id, agent.role.as_str()));
    let contributions = debate.rounds.iter().flat_map(|round| &round.contributions);
    let spoke = contributions
        .filter(|one| debate.settings.as_ref().is_none_or(|settings| settings.judge.id != one.agent_id))
        .map(|one| (&one.agent_id, one.agent_role.as_ref()));
    settled.chain(spoke).filter(|(id, _)| seen.insert(*id)).collect()
}

fn agent_of(id: &AgentId, role: &str) -> AgentSettings {
    let known = KNOWN_ROLES.contains(&role);
    AgentSettings {
        id: id.clone(),
        name: id.as_str().to_owned(),
        role: if known { role } else { KNOWN_ROLES[0] }.to_owned(),
        model: UNKNOWN_MODEL.to_owned(),
        provider: OLD_PROVIDER.to_owned(),
        temperature: OLD_TEMPERATURE,
        ..unnamed_agent()
    }
}

fn judge_of(debate: &Debate) -> AgentSettings {
    let by = debate.final_solution.as_ref().and_then(|solution| solution.synthesized_by.clone());
    // After a vote, the solution is by an agent, not by the judge.
    let by = by.filter(|id| members(debate).iter().all(|(member, _)| *member != id));
    let id = by.unwrap_or_else(|| AgentId::new(OLD_JUDGE));
    AgentSettings { temperature: OLD_JUDGE_TEMPERATURE, ..agent_of(&id, OLD_JUDGE_ROLE) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::markdown;
    use dialectic_record::settings::default_settings;

    fn debate(settings: Option<&Settings>, synthesized_by: &str) -> Debate {
        let said =
            |agent: &str, role: &str| json!({"agentId": agent, "agentRole": role, "type": "proposal", "content": ""});
        let spoke = [said("agent-kiss", "kiss"), said("agent-x", "operations"), said("agent-kiss", "kiss")];
        let mut state = json!({
            "id": "d", "problem": "p", "status": "completed", "rounds": [{"roundNumber": 1, "contributions": spoke}],
            "finalSolution": {"description": "", "synthesizedBy": synthesized_by},
        });
        if let Some(settings) = settings {
            state["settings"] = serde_json::to_value(settings).unwrap();
        }
        serde_json::from_value(state).unwrap()
    }

    fn shown(view: &View) -> Vec<String> {
        let members = view.agents.iter().chain([&view.judge]);
        members.map(|one| format!("{} {} {} {}", one.id, one.name, one.role, one.model)).collect()
    }

    #[test]
    fn without_settings_everybody_is_reconstructed() {
        let debate_of_judge = debate(None, "judge-7");
        let view = View::new(&debate_of_judge, None);
        let agents = ["agent-kiss agent-kiss kiss N/A", "agent-x agent-x architect N/A"];
        assert_eq!(shown(&view), [agents[0], agents[1], "judge-7 judge-7 generalist N/A"]);
        assert_eq!((view.agents[0].temperature, view.judge.temperature), (0.5, 0.3));
        let voted = debate(None, "agent-kiss");
        assert_eq!(View::new(&voted, None).judge.id.as_str(), "judge-main");
    }

    #[test]
    fn settings_name_everybody_and_a_configuration_is_matched_by_id() {
        let own = default_settings();
        let mut configured = default_settings();
        configured.agents[2].name = "Keeper of simple things".to_owned();
        configured.agents[1].id = AgentId::new("agent-other");
        configured.judge.name = "The chair".to_owned();
        let debate_without = debate(None, "judge-main");
        let debate_with = debate(Some(&own), "judge-main");
        let own_names = [
            "agent-architect System Architect architect gpt-5.6-luna",
            "agent-performance Performance Engineer performance gpt-5.6-luna",
            "agent-kiss Simplicity Advocate kiss gpt-5.6-luna",
            "agent-x agent-x architect N/A",
            "judge-main Technical Judge generalist gpt-5.6-luna",
        ];
        assert_eq!(shown(&View::new(&debate_with, None)), own_names);
        let mut names = own_names;
        names[2] = "agent-kiss Keeper of simple things kiss gpt-5.6-luna";
        names[4] = "judge-main The chair generalist gpt-5.6-luna";
        assert_eq!(shown(&View::new(&debate_with, Some(&configured))), names);
        assert_eq!(shown(&View::new(&debate_without, Some(&configured))), names[2..]);
        configured.judge.id = AgentId::new("somebody-else");
        assert_eq!(View::new(&debate_with, Some(&configured)).judge.name, "Technical Judge");
        assert_eq!(View::new(&debate_without, Some(&configured)).judge.name, "The chair");
    }

    #[test]
    fn a_configured_judge_is_known_even_if_it_contributed() {
        let mut configured = default_settings();
        configured.judge.id = AgentId::new("agent-x");
        let debate = debate(None, "agent-x");
        let enabled = |view: &View| {
            let mut report = Vec::new();
            markdown(view, &mut report).unwrap();
            let report = String::from_utf8(report).unwrap();
            let rows = report.lines().filter(|line| line.starts_with("| agent-x |"));
            rows.map(|row| row.split(" | ").nth(6).unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(enabled(&View::new(&debate, Some(&configured))), ["N/A", "true"], "as an agent, and as the judge");
        assert_eq!(enabled(&View::new(&debate, None)), ["N/A"]);
    }
}
