//! What a debate is like: all of it follows from its seed.

use std::collections::BTreeMap;

use rand::RngExt as _;
use rand_chacha::ChaCha12Rng;
use serde_json::{Value, json};

use crate::chance::chance;
use crate::dialect::{Dialect, Price};
use crate::provider::{Closing, Fault, Provider, Terms, seed_of};

const ROLES: [&str; 4] = ["architect", "kiss", "testing", "security"];
const PROTOCOLS: [&str; 6] = ["dialectic", "council", "arena", "oxford", "lincoln-douglas", "roundtable"];

/// Who wrote the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Config {
    /// The user, who names it.
    Named,
    /// A stranger, in the directory: it names no servers and no prices, and its limit only lowers the user's. The user
    /// has a configuration of their own with both, and sets the limit on the command line.
    Found,
    /// The same, and the limit is the user's standing one.
    FoundWithStandingLimit,
}

/// What happens to a run.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Disturbance {
    /// `kill -9` when the provider has read so many requests more.
    Killed(usize),
    /// Ctrl-C then.
    Interrupted(usize),
}

/// What one sandbox is set up with.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) protocol: &'static str,
    pub(crate) agents: usize,
    pub(crate) rounds: u32,
    pub(crate) critics: Option<usize>,
    pub(crate) config: Config,
    pub(crate) terms: Terms,
    /// How many times the least limit the limit is.
    pub(crate) generosity: f64,
    pub(crate) disturbances: Vec<Disturbance>,
    /// Whether at most 5 % of the calls meet a fault.
    pub(crate) is_calm: bool,
    provider: &'static str,
    debate: Value,
    api: &'static str,
    wants_streams: bool,
    max_tokens: Option<u32>,
    found_limit: Option<f64>,
}

impl Plan {
    pub(crate) fn draw(seed: u64) -> Self {
        let mut random = chance(seed, "plan");
        let random = &mut random;
        let protocol = PROTOCOLS[random.random_range(0..PROTOCOLS.len())];
        let agents = match protocol {
            "lincoln-douglas" => 2,
            "dialectic" => random.random_range(1..=3),
            _ => random.random_range(2..=3),
        };
        let is_calm = random.random_bool(0.5);
        let faults =
            if is_calm { [0.0, 0.02, 0.05][random.random_range(0..3)] } else { random.random_range(0.08..0.6) };
        // Where every call takes nearly all that it may, a limit is met before the debate is over.
        let is_tight = random.random_bool(0.5);
        // And where it would be long, what the books do not know is soon more than what was left.
        let is_harsh = is_tight && !is_calm;
        let rounds = match protocol {
            "council" => 1,
            "dialectic" | "arena" if is_harsh => 5,
            "dialectic" | "arena" => random.random_range(1..=3),
            _ if is_harsh => 8,
            _ => random.random_range(2..=5),
        };
        let config = match random.random_range(0..10) {
            0..6 => Config::Named,
            6..8 => Config::Found,
            _ => Config::FoundWithStandingLimit,
        };
        let dialect = Dialect::draw(random);
        let critics = (protocol == "dialectic" && random.random_bool(0.3)).then_some(1);
        let mut debate = debate_of(protocol, is_calm, random);
        debate["protocol"] = json!(protocol);
        debate["rounds"] = json!(rounds);
        if let Some(critics) = critics {
            debate["critics"] = json!(critics);
        }
        let count = [0, 0, 0, 0, 0, 1, 1, 1, 2][random.random_range(0..9)];
        let disturbances = (0..count).map(|_| {
            let after = random.random_range(1..16);
            if random.random_bool(0.75) { Disturbance::Killed(after) } else { Disturbance::Interrupted(after) }
        });
        let disturbances = disturbances.collect();
        let prices = prices(agents, is_tight, random);
        let closing = match random.random_range(0..10) {
            // A connection that closes under a request is a fault of that call, too, and none of the 5 %.
            _ if is_calm => Closing::Keeps,
            0..6 => Closing::Keeps,
            6..8 => Closing::AtOnce,
            _ => Closing::Soon,
        };
        let fault = random.random_bool(0.5).then(|| Fault::draw(random));
        // What hangs takes a time-out each.
        let fault = fault.filter(|fault| !matches!(fault, Fault::Hangs | Fault::Silent));
        let after_the_work = [
            Fault::Status(502),
            Fault::Status(504),
            Fault::Status(524),
            Fault::Swallowed,
            Fault::Broken,
            Fault::Error(500),
            Fault::Error(429),
        ];
        let fault = if is_harsh { Some(after_the_work[random.random_range(0..after_the_work.len())]) } else { fault };
        let has_responses = random.random_bool(0.5);
        let wants_streams = random.random_bool(0.7);
        Self {
            seed,
            protocol,
            agents,
            rounds,
            critics,
            config,
            generosity: match random.random_range(0..3) {
                _ if is_harsh => random.random_range(1.2..2.2),
                0 => 1.0,
                _ => 10_f64.powf(random.random_range(0.0..0.6)),
            },
            disturbances,
            is_calm,
            provider: match dialect {
                Dialect::OpenRouter => "openrouter",
                _ if random.random_bool(0.7) || config != Config::Named => "openai",
                _ => "gateway",
            },
            debate,
            api: ["auto", "auto", "chat", if has_responses { "responses" } else { "chat" }][random.random_range(0..4)],
            wants_streams,
            max_tokens: random.random_bool(0.3).then(|| random.random_range(600..3000)),
            found_limit: [None, Some(500.0), Some(1e6)][random.random_range(0..3)],
            terms: Terms {
                seed: seed_of(seed, "provider"),
                prices,
                tokens_per_byte: if is_tight { 0.48 } else { random.random_range(0.15..0.49) },
                long: if is_tight { 1.0 } else { [0.0, 0.1, 0.5][random.random_range(0..3)] },
                dialect,
                has_responses,
                is_elsewhere: random.random_bool(0.5),
                streams: random.random_bool(0.9),
                is_old: random.random_bool(0.15),
                faults,
                fault,
                closing,
            },
        }
    }

    /// The variables that say where the provider is, and with which key.
    pub(crate) fn environment(&self, provider: &Provider) -> Vec<(&'static str, String)> {
        let (key, base_url) = ("sk-test-of-the-bill-0123456789".to_owned(), provider.base_url());
        let mut variables = match self.provider {
            "openrouter" => vec![("OPENROUTER_BASE_URL", base_url), ("OPENROUTER_API_KEY", key)],
            "openai" => vec![("OPENAI_BASE_URL", base_url), ("OPENAI_API_KEY", key)],
            _ => vec![("GATEWAY_KEY", key)],
        };
        variables.extend(provider.proxy().map(|proxy| ("http_proxy", proxy)));
        variables
    }

    /// The configuration in the directory, or the one that is named.
    pub(crate) fn file(&self, base_url: &str) -> Value {
        let max_tokens = self.max_tokens;
        let agent = |id: String, role: &str, model: String| {
            let mut agent = json!({"id": id, "name": role, "role": role, "model": model, "provider": self.provider});
            if let Some(most) = max_tokens.filter(|_| role == "kiss") {
                agent["maxTokens"] = json!(most);
            }
            agent
        };
        let roles = &ROLES[..self.agents];
        let agents: Vec<Value> =
            roles.iter().map(|role| agent(format!("agent-{role}"), role, model_of(role, &self.terms.prices))).collect();
        let judge = agent("judge".to_owned(), "generalist", model_of("judge", &self.terms.prices));
        let mut debate = self.debate.clone();
        if let Some(limit) = self.found_limit.filter(|_| self.config == Config::FoundWithStandingLimit) {
            debate["budget"]["maxCostUsd"] = json!(limit);
        }
        let mut file = json!({"agents": agents, "judge": judge, "debate": debate});
        if self.config == Config::Named {
            file["providers"] = self.providers(base_url);
            file["prices"] = self.price_list();
        }
        file
    }

    fn providers(&self, base_url: &str) -> Value {
        let mut provider = json!({"api": self.api, "stream": self.wants_streams});
        if self.provider == "gateway" {
            provider["baseUrl"] = json!(base_url);
            provider["apiKeyEnv"] = json!("GATEWAY_KEY");
        }
        json!({self.provider: provider})
    }

    /// The option that names the configuration, where it is to be named.
    pub(crate) fn naming_its_file(&self) -> Vec<String> {
        let is_named = self.config == Config::Named;
        if is_named { ["--config", "mine.json"].map(str::to_owned).into() } else { Vec::new() }
    }

    /// The user's own configuration, where there is one.
    pub(crate) fn own(&self, base_url: &str, limit: f64) -> Option<Value> {
        let own = json!({"providers": self.providers(base_url), "prices": self.price_list()});
        match self.config {
            Config::Named => None,
            Config::Found => Some(own),
            Config::FoundWithStandingLimit => {
                let mut own = own;
                own["debate"] = json!({"budget": {"maxCostUsd": limit}});
                Some(own)
            }
        }
    }

    fn price_list(&self) -> Value {
        let price = |price: &Price| {
            let mut said = json!({"inputPerMTok": price.input, "outputPerMTok": price.output});
            if let Some(cached) = price.cached {
                said["cachedInputPerMTok"] = json!(cached);
            }
            said
        };
        self.terms.prices.iter().map(|(model, of)| (model.clone(), price(of))).collect()
    }

    /// Whether a round of a saved debate has all that belongs into one.
    pub(crate) fn is_whole(&self, round: &Value) -> bool {
        let said = round["contributions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let count = |stage: &str| said.iter().filter(|one| one["stage"] == stage || one["type"] == stage).count();
        let others = self.critics.unwrap_or(usize::MAX).min(self.agents - 1);
        match self.protocol {
            "dialectic" => {
                count("proposal") == self.agents
                    && count("critique") == self.agents * others
                    && count("refinement") == self.agents
            }
            "arena" => {
                count("proposal") == self.agents
                    && count("critique") == self.agents * others
                    && count("revision") == self.agents
            }
            "council" => count("proposal") == self.agents && count("review") == self.agents,
            _ => {
                let debaters = if self.protocol == "roundtable" { self.agents } else { 2 };
                let mut speakers: Vec<&str> = said.iter().filter_map(|one| one["agentId"].as_str()).collect();
                speakers.sort_unstable();
                speakers.dedup();
                speakers.len() >= debaters
            }
        }
    }

    /// All of it in a line.
    pub(crate) fn line(&self) -> String {
        let Terms { dialect, faults, fault, closing, streams, has_responses, is_old, long, is_elsewhere, .. } =
            &self.terms;
        let (protocol, agents, rounds, config) = (self.protocol, self.agents, self.rounds, self.config);
        let (provider, api, wants_streams) = (self.provider, self.api, self.wants_streams);
        let (found_limit, disturbances) = (self.found_limit, &self.disturbances);
        format!(
            "{protocol}, {agents} agents, {rounds} rounds, {config:?} (limit {found_limit:?}), \
             {provider}, {api}, streams {wants_streams} and {streams}, responses {has_responses}, old {is_old}, elsewhere {is_elsewhere}, \
             {dialect:?}, long {long}, faults {faults:.2} {fault:?}, {closing:?}, {disturbances:?}, {}",
            self.debate
        )
    }
}

fn debate_of(protocol: &str, is_calm: bool, random: &mut ChaCha12Rng) -> Value {
    let mut debate = json!({
        "maxRetries": random.random_range(if is_calm { 2..=3 } else { 0..=3 }), "callTimeout": 4000, "idleTimeout": 2500, "timeoutPerRound": 60_000,
        "maxConcurrency": ([1, 2, 16][random.random_range(0..3)]), "seed": random.random_range(0..1000),
        "summarization": {"enabled": random.random_bool(0.5), "threshold": 1500, "maxLength": 600},
    });
    if protocol == "dialectic" {
        let kind = ["fixed", "fixed", "quality", "convergence", "resolved"][random.random_range(0..5)];
        debate["terminationCondition"] = json!({"type": kind, "threshold": 95});
    }
    if protocol == "arena" {
        debate["arena"] = json!({
            "observer": random.random_bool(0.3), "trickster": random.random_bool(0.3),
            "extendedRounds": random.random_range(0..2),
        });
    }
    debate
}

/// The model of a role: all ask the first one where there is no other.
fn model_of(role: &str, prices: &BTreeMap<String, Price>) -> String {
    let own = format!("model-{role}");
    if prices.contains_key(&own) { own } else { format!("model-{}", ROLES[0]) }
}

fn prices(agents: usize, is_tight: bool, random: &mut ChaCha12Rng) -> BTreeMap<String, Price> {
    let are_alike = random.random_bool(0.4);
    let judge = (!is_tight || !are_alike).then_some("judge");
    let roles = ROLES[..if are_alike { 1 } else { agents }].iter().copied().chain(judge);
    let price = |role: &str| {
        let input = 10_f64.powf(random.random_range(-0.5..1.0));
        let cached = random.random_bool(0.5).then_some(input * 0.1);
        (format!("model-{role}"), Price { input, cached, output: input * random.random_range(1.0..6.0) })
    };
    roles.map(price).collect()
}
