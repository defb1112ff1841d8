//! What a report knows: the debate, its journal where there is one, and who took part.

use std::collections::BTreeSet;

use crate::debate::{AgentId, AgentSettings, Debate, Recorded, Settings};

/// Roles that older files may name; any other role in a file without settings is shown as the first.
const KNOWN_ROLES: [&str; 7] =
    ["architect", "performance", "security", "testing", "kiss", "datamodeling", "generalist"];
/// What stands for a model that is not on record.
const UNKNOWN_MODEL: &str = "N/A";
/// The provider, temperatures and judge of older files, which did not save them.
const OLD_PROVIDER: &str = "openai";
const OLD_TEMPERATURE: f64 = 0.5;
const OLD_JUDGE: &str = "judge-main";
const OLD_JUDGE_ROLE: &str = "generalist";
const OLD_JUDGE_TEMPERATURE: f64 = 0.3;

/// A debate as a report sees it.
#[derive(Debug, Clone)]
pub struct View<'a> {
    /// The state.
    pub debate: &'a Debate,
    /// The events of its journal, empty where it has none.
    pub events: &'a [Recorded],
    /// The agents: in configuration order where settings are known, else as they first spoke.
    pub agents: Vec<Participant>,
    /// The judge.
    pub judge: Participant,
}

/// An agent or the judge, from settings or put together from what the state says.
#[derive(Debug, Clone, PartialEq)]
pub struct Participant {
    /// Its id.
    pub id: AgentId,
    /// What people call it.
    pub name: String,
    /// Its role.
    pub role: String,
    /// Its model, `N/A` where unknown.
    pub model: String,
    /// Its provider.
    pub provider: String,
    /// Its sampling temperature.
    pub temperature: f64,
    /// All its settings, where they are known.
    pub settings: Option<AgentSettings>,
}

impl<'a> View<'a> {
    /// The view of `debate`. Agents and judge come from `configured` (matched by the ids found in the state) where it
    /// is given, else from the state's own settings, else from the contributions.
    #[must_use]
    pub fn new(debate: &'a Debate, events: &'a [Recorded], configured: Option<&Settings>) -> Self {
        let settings = configured.or(debate.settings.as_ref());
        let configured_agents = settings.map(|settings| settings.agents.as_slice()).unwrap_or_default();
        let spoke: Vec<(&AgentId, &str)> = speakers(debate);
        let agents = if configured.is_none() && !configured_agents.is_empty() {
            // The state's own settings name everybody, those too whose every call failed.
            configured_agents.iter().map(Participant::configured).collect()
        } else {
            let known = |id: &AgentId| configured_agents.iter().find(|agent| agent.id == *id);
            let own = |id: &AgentId| debate.settings.iter().flat_map(|of| &of.agents).find(|agent| agent.id == *id);
            spoke
                .into_iter()
                .map(|(id, role)| match known(id).or_else(|| own(id)) {
                    Some(agent) => Participant::configured(agent),
                    None => Participant::reconstructed(id, role),
                })
                .collect()
        };
        let judge = settings.map_or_else(
            || Participant::reconstructed_judge(debate),
            |settings| Participant::configured(&settings.judge),
        );
        Self { debate, events, agents, judge }
    }

    /// What people call an agent or the judge; its id where nothing else is known.
    #[must_use]
    pub fn name_of<'v>(&'v self, id: &'v AgentId) -> &'v str {
        let found = self.agents.iter().chain([&self.judge]).find(|participant| participant.id == *id);
        found.map_or(id.as_str(), |participant| participant.name.as_str())
    }
}

/// Who contributed, with its role, in the order in which each first did.
fn speakers(debate: &Debate) -> Vec<(&AgentId, &str)> {
    let mut seen = BTreeSet::new();
    let contributions = debate.rounds.iter().flat_map(|round| &round.contributions);
    let speakers = contributions.map(|contribution| (&contribution.agent_id, contribution.agent_role.as_ref()));
    speakers.filter(|(id, _)| seen.insert(*id)).collect()
}

impl Participant {
    fn configured(settings: &AgentSettings) -> Self {
        Self {
            id: settings.id.clone(),
            name: settings.name.clone(),
            role: settings.role.clone(),
            model: settings.model.clone(),
            provider: settings.provider.clone(),
            temperature: settings.temperature,
            settings: Some(settings.clone()),
        }
    }

    fn reconstructed(id: &AgentId, role: &str) -> Self {
        let known = KNOWN_ROLES.contains(&role);
        Self {
            id: id.clone(),
            name: id.as_str().to_owned(),
            role: if known { role } else { KNOWN_ROLES[0] }.to_owned(),
            model: UNKNOWN_MODEL.to_owned(),
            provider: OLD_PROVIDER.to_owned(),
            temperature: OLD_TEMPERATURE,
            settings: None,
        }
    }

    fn reconstructed_judge(debate: &Debate) -> Self {
        let by = debate.final_solution.as_ref().and_then(|solution| solution.synthesized_by.clone());
        let id = by.unwrap_or_else(|| AgentId::new(OLD_JUDGE));
        Self { temperature: OLD_JUDGE_TEMPERATURE, ..Self::reconstructed(&id, OLD_JUDGE_ROLE) }
    }
}
