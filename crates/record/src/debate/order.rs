//! Orders derived from a debate's seed: text numbers and repeatable shuffles.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;

use super::{AgentId, AgentSettings, Critics, Debate};

/// The salt of the text numbers.
const NUMBERS: u32 = 1 << 16;

/// `items` in an order that depends only on `seed` and `salt`, which distinguishes the shuffles of a debate.
pub fn shuffled<T>(items: impl IntoIterator<Item = T>, seed: u32, salt: u32) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    // ChaCha12 gives the same numbers in every version, unlike the standard generator.
    let mut rng = ChaCha12Rng::seed_from_u64(u64::from(seed) << 32 | u64::from(salt));
    items.shuffle(&mut rng);
    items
}

impl Debate {
    /// The agents in the order of their text numbers: one permutation for the whole debate that hides the configured
    /// order. Records without settings use the order of first contributions.
    pub fn in_order_of_numbers(&self) -> Vec<&AgentId> {
        let Some(settings) = &self.settings else {
            let mut spoke: Vec<&AgentId> = Vec::new();
            for one in self.rounds.iter().flat_map(|round| &round.contributions) {
                if !spoke.contains(&&one.agent_id) {
                    spoke.push(&one.agent_id);
                }
            }
            return spoke;
        };
        let agents = settings.agents.iter().map(|agent| &agent.id);
        match self.seed {
            Some(seed) => shuffled(agents, seed, NUMBERS),
            None => agents.collect(),
        }
    }

    /// The number of an agent's text in prompts, from 1, by the debate's permutation.
    pub fn text_number(&self, author: &AgentId) -> Option<u32> {
        self.text_numbers()(author)
    }

    /// [`Self::text_number`] of many authors, whose order is determined once.
    pub fn text_numbers(&self) -> impl Fn(&AgentId) -> Option<u32> {
        let order = self.in_order_of_numbers();
        move |author| u32::try_from(order.iter().position(|known| *known == author)? + 1).ok()
    }

    /// The critics of `target`'s text, in the order of the panel: all other agents, or the configured number of agents
    /// that follow `target` in the panel.
    pub fn critics_of(&self, target: &AgentId) -> Vec<&AgentSettings> {
        let team = self.team();
        let Some(place) = team.iter().position(|agent| agent.id == *target) else { return Vec::new() };
        let wanted = match self.settings.as_ref().map(|settings| settings.debate.critics) {
            Some(Critics::Number(number)) => number as usize,
            Some(Critics::All) | None => team.len(),
        };
        let is_critic = |at: usize| at != place && (at + team.len() - place - 1) % team.len() < wanted;
        team.iter().enumerate().filter(|(at, _)| is_critic(*at)).map(|(_, agent)| *agent).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debate::fixture::debate;

    #[test]
    fn the_order_depends_on_seed_and_salt_alone() {
        let order = |seed, salt| shuffled(0..8, seed, salt);
        assert_eq!(order(7, 1), order(7, 1));
        assert_ne!(order(7, 1), order(7, 2));
        assert_ne!(order(7, 1), order(8, 1));
        let mut sorted = order(7, 1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn texts_have_the_numbers_from_1_on_in_an_order_of_the_seed() {
        let mut debate = debate();
        let ids: Vec<AgentId> = debate.settings.as_ref().unwrap().agents.iter().map(|agent| agent.id.clone()).collect();
        let mut orders = std::collections::BTreeSet::new();
        for seed in 0..40 {
            debate.seed = Some(seed);
            let numbers: Vec<u32> = ids.iter().map(|id| debate.text_number(id).unwrap()).collect();
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            assert!((1..).zip(sorted).all(|(expected, found)| expected == found), "{numbers:?}");
            orders.insert(numbers);
        }
        assert!(orders.len() > 1, "every seed gives the same order");
        debate.seed = None;
        let numbers: Vec<u32> = ids.iter().map(|id| debate.text_number(id).unwrap()).collect();
        assert!((1..).zip(numbers).all(|(expected, found)| expected == found), "without a seed it is the settings'");
        assert_eq!(debate.text_number(&"nobody".into()), None);
        debate.settings = None;
        assert_eq!(debate.text_number(&debate.rounds[0].contributions[0].agent_id.clone()), Some(1));
    }
}
