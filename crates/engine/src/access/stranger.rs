//! Limits on found files.
//!
//! A directory that was cloned or unpacked can contain a configuration, an environment file and records, and a run in
//! it uses them. Files that were only *found*, and not named on the command line, must not disclose the user's keys and
//! files: keys go only to servers that the user chose, or to well-known ones; prompts and tools read only the directory
//! itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::Url;

use dialectic_base::diagnostic::found_config;
use dialectic_base::money::{BudgetLimit, Price, Usd};
use dialectic_base::provider::OFFLINE;
use dialectic_base::secrets::{is_same_file, may_hold_secrets};
use dialectic_llm::command::program_preset;
use dialectic_llm::models::{built_in_price, with_cache_writes};
use dialectic_record::debate::{BudgetSettings, PromptSources, ProviderSettings, Settings, Terms};

use super::endpoint::Outline;
use super::environment::Environment;
use super::headers;
use super::program::{bound_outputs, is_program};
use super::servers::{is_key_of_another, is_loopback, list_price, origin, preset_at};
use super::trust_error::{PromptFault, TrustError};

/// The author of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Author {
    /// The user: on the command line, in the process's environment, or in a file that the command line names.
    User,
    /// The author of a found environment file.
    EnvFile(Arc<Path>),
    /// The author of a found configuration.
    Config(Arc<Path>),
    /// The author of the resumed record.
    Record(Arc<Path>),
}

impl Author {
    /// The file, unless it is the user's.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::User => None,
            Self::EnvFile(path) | Self::Config(path) | Self::Record(path) => Some(path),
        }
    }
}

/// The author of a run's settings, and what the user vouches for.
#[derive(Debug, Clone, PartialEq)]
pub struct Trust {
    author: Author,
    /// Providers from a file that the user named besides a record.
    vouched: BTreeMap<String, ProviderSettings>,
    /// The user's own prices by model.
    prices: BTreeMap<String, Price>,
    /// The maximum outputs of models, as configured by the user.
    outputs: BTreeMap<String, u32>,
    /// Prices by model that the user named in earlier runs.
    remembered: Vec<(String, Price)>,
    /// The default cost limits.
    standing: BudgetSettings,
    /// The limit of the command line, which overrides all others.
    limit: BudgetLimit,
    /// Directories where prompt files may be, and which tools may read for a record.
    directories: Vec<PathBuf>,
    /// The prompt sources in the record.
    recorded: Option<PromptSources>,
}

impl Trust {
    /// All settings are the user's.
    pub fn of_user() -> Self {
        Self {
            author: Author::User,
            vouched: BTreeMap::new(),
            prices: BTreeMap::new(),
            outputs: BTreeMap::new(),
            remembered: Vec::new(),
            standing: BudgetSettings::default(),
            limit: BudgetLimit::default(),
            directories: Vec::new(),
            recorded: None,
        }
    }

    /// The configuration was found in its directory.
    pub fn of_found_config(path: &Path) -> Self {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self { author: Author::Config(path.into()), ..Self::of_user() }.and_directory(directory)
    }

    /// The settings come from a record, which was made with prompts from these sources.
    pub fn of_record(path: &Path, recorded: Option<&PromptSources>) -> Self {
        let of_record = Self { author: Author::Record(path.into()), recorded: recorded.cloned(), ..Self::of_user() };
        of_record.and_directory(Path::new("."))
    }

    /// The user also named a configuration with these settings: its providers, prices, cost limits and prompt files
    /// next to it count as the user's.
    pub fn and_config(mut self, settings: &Settings) -> Self {
        self = self.and_own(settings);
        let directory = settings.base_dir.clone();
        directory.map_or(self.clone(), |directory| self.and_directory(&directory))
    }

    /// The providers, prices and cost limits of the user's own configuration are the user's.
    pub fn and_own(mut self, user: &Settings) -> Self {
        self.vouched.extend(user.providers.clone());
        self.prices.extend(user.prices.clone());
        let outputs = user.models.iter().filter_map(|(model, limits)| Some((model.clone(), limits.max_output?)));
        self.outputs.extend(outputs);
        self.standing = user.debate.budget;
        self
    }

    /// The user named a file with these prices.
    pub fn and_prices(mut self, prices: &BTreeMap<String, Price>) -> Self {
        self.prices.extend(prices.iter().map(|(model, price)| (model.clone(), *price)));
        self
    }

    /// The user named these prices in earlier runs: records keep them.
    pub fn and_remembered(mut self, prices: Vec<(String, Price)>) -> Self {
        self.remembered = prices;
        self
    }

    /// The command line sets a limit of cost or calls.
    pub fn and_limit(mut self, limit: BudgetLimit) -> Self {
        self.limit = BudgetLimit { usd: limit.usd.or(self.limit.usd), calls: limit.calls.or(self.limit.calls) };
        self
    }

    /// The user named another directory or file that may be read.
    pub fn and_directory(mut self, directory: &Path) -> Self {
        self.directories.extend(directory.canonicalize());
        self
    }

    /// The user changed these settings on the command line: new servers, prices and limits are the user's.
    pub fn and_changes(mut self, before: &Settings, after: &Settings) -> Self {
        let url = |entry: Option<&ProviderSettings>| entry.and_then(|entry| entry.base_url.clone());
        let moved = after
            .providers
            .iter()
            .filter(|(name, entry)| entry.base_url.is_some() && url(before.providers.get(*name)) != entry.base_url);
        self.vouched.extend(moved.map(|(name, entry)| (name.clone(), entry.clone())));
        let priced = after.prices.iter().filter(|(model, price)| before.prices.get(*model) != Some(price));
        self.prices.extend(priced.map(|(model, price)| (model.clone(), *price)));
        let (old, new) = (before.debate.budget, after.debate.budget);
        self.and_limit(BudgetLimit {
            usd: new.max_cost_usd.filter(|_| new.max_cost_usd != old.max_cost_usd),
            calls: new.max_calls.filter(|_| new.max_calls != old.max_calls),
        })
    }

    /// Sets the default limits.
    pub fn with_standing_limits(mut self, limits: BudgetSettings) -> Self {
        let own = self.standing;
        self.standing = BudgetSettings {
            max_cost_usd: limits.max_cost_usd.or(own.max_cost_usd),
            warn_cost_usd: limits.warn_cost_usd.or(own.warn_cost_usd),
            max_calls: limits.max_calls.or(own.max_calls),
        };
        self
    }

    /// The default cost limit of a debate.
    pub fn standing_limit(&self) -> Option<Usd> {
        self.standing.max_cost_usd
    }

    /// Lets a found configuration lower the default limits, but not raise them.
    pub fn tighten(&self, budget: &mut BudgetSettings) {
        fn tighter<T: Ord>(found: Option<T>, own: Option<T>) -> Option<T> {
            [found, own].into_iter().flatten().min()
        }
        let BudgetSettings { max_cost_usd, warn_cost_usd, max_calls } = budget;
        *max_cost_usd = tighter(*max_cost_usd, self.standing.max_cost_usd);
        *warn_cost_usd = tighter(*warn_cost_usd, self.standing.warn_cost_usd);
        *max_calls = tighter(*max_calls, self.standing.max_calls);
    }

    /// Sets the terms of a run: the effective prices, and for a record the limits.
    pub fn set_terms(&self, settings: &mut Settings, environment: &Environment) {
        // For others, the rest was decided when the configuration was loaded.
        let mut budget = BudgetSettings::default();
        if let Author::Record(_) = self.author {
            budget = settings.debate.budget;
            self.tighten(&mut budget);
        }
        settings.terms = Terms {
            prices: BTreeMap::new(),
            max_cost: self.limit.usd.or(budget.max_cost_usd),
            max_calls: self.limit.calls.or(budget.max_calls),
        };
        self.lend_programs(settings);
        if self.author != Author::User {
            let is_record = matches!(self.author, Author::Record(_));
            let is_users = |model: &str| {
                self.prices.contains_key(model) || self.remembered.iter().any(|(named, _)| named == model)
            };
            bound_outputs(settings, &self.outputs, |model| is_record && is_users(model));
        }
        settings.terms.prices = self.prices(settings, environment);
    }

    /// Lets a record's agents use the user's configured programs by name.
    pub fn lend_programs(&self, settings: &mut Settings) {
        for (name, entry) in self.vouched.iter().filter(|(_, entry)| entry.program.is_some()) {
            settings.providers.entry(name.clone()).or_insert_with(|| entry.clone());
        }
    }

    /// Checks that the user configured a provider's program.
    ///
    /// # Errors
    /// A found file redefines the provider.
    pub(crate) fn check_program(
        &self,
        name: &str,
        providers: &BTreeMap<String, ProviderSettings>,
    ) -> Result<(), TrustError> {
        let Some(entry) = providers.get(name).filter(|entry| entry.program.is_none()) else { return Ok(()) };
        let is_users_program = self.vouched.get(name).is_some_and(|entry| entry.program.is_some());
        let author = self.of_provider(name, entry);
        if *author == Author::User || !is_users_program && program_preset(name).is_none() {
            return Ok(());
        }
        Err(TrustError::Program { provider: name.to_owned(), author: author.clone() })
    }

    /// The directories of the project, and others that may be read.
    pub(super) fn directories(&self) -> impl Iterator<Item = &PathBuf> {
        self.directories.iter()
    }

    /// The effective prices of a found file. A server that receives the user's key bills the user, so the price is the
    /// user's own or the host's list price; the file's counts only if it is higher.
    fn prices(&self, settings: &Settings, environment: &Environment) -> BTreeMap<(String, String), Option<Price>> {
        if self.author == Author::User {
            return BTreeMap::new();
        }
        let has_limit = settings.max_cost().is_some();
        let used: BTreeSet<&String> = settings.everybody().map(|agent| &agent.model).collect();
        let models: BTreeSet<&String> = settings.prices.keys().chain(used).collect();
        let mut prices = BTreeMap::new();
        for (provider, url) in self.billing(settings, environment) {
            for model in &models {
                let with_writes = |price| with_cache_writes(price, provider, model);
                let listed = || match url {
                    // A program's models have their vendor's prices.
                    None if is_program(provider, &settings.providers) => built_in_price(provider, model),
                    _ => list_price(url.as_ref()?, model),
                };
                let known = self.prices.get(*model).copied().or_else(listed);
                let price = match (settings.prices.get(*model), known) {
                    (Some(found), Some(known)) => Some(with_writes(*found).at_least(with_writes(known))),
                    (Some(found), None) => Some(*found).filter(|found| self.keeps(model, *found, has_limit)),
                    (None, known) => known,
                };
                prices.insert((provider.to_owned(), (*model).clone()), price);
            }
        }
        prices
    }

    /// The providers in use that receive a key of the user's, each with its address.
    fn billing<'a>(&self, settings: &'a Settings, environment: &Environment) -> Vec<(&'a str, Option<Url>)> {
        let providers: BTreeSet<&str> = settings.everybody().map(|agent| agent.provider.as_str()).collect();
        let with_key = providers.into_iter().filter(|provider| *provider != OFFLINE).filter_map(|provider| {
            if is_program(provider, &settings.providers) {
                return Some((provider, None));
            }
            let outline = Outline::of(provider, &settings.providers)?;
            let url = outline.base_url(environment).and_then(|text| Url::parse(text.trim()).ok());
            self.sends_users_key(provider, &outline, environment).then_some((provider, url))
        });
        with_key.collect()
    }

    /// Whether to use a price that neither the user nor the list can confirm. A resumed debate keeps prices that the
    /// user named before: anyone can write a record, and an understated price would void the user's limit. Without a
    /// limit prices have no effect, but a record still cannot make a server free.
    fn keeps(&self, model: &str, price: Price, has_limit: bool) -> bool {
        match &self.author {
            Author::Record(_) => {
                let is_remembered = self.remembered.iter().any(|(of, named)| of == model && *named == price);
                is_remembered || !has_limit && price.input_per_m_tok > 0.0 && price.output_per_m_tok > 0.0
            }
            Author::User | Author::EnvFile(_) | Author::Config(_) => false,
        }
    }

    /// The prices that a record with these settings needs from the user when it is resumed: those of unlisted models on
    /// servers that receive a key.
    pub fn prices_to_remember(&self, settings: &Settings, environment: &Environment) -> Vec<(String, Price)> {
        let named = |(provider, url): (&str, Option<Url>)| {
            let used = settings.everybody().filter(move |agent| agent.provider == provider);
            let unlisted =
                used.filter(move |agent| url.as_ref().and_then(|url| list_price(url, &agent.model)).is_none());
            let priced = unlisted.filter_map(|agent| Some((agent.model.clone(), *settings.prices.get(&agent.model)?)));
            let is_users =
                |(model, price): &(String, Price)| self.author == Author::User || self.prices.get(model) == Some(price);
            priced.filter(is_users).collect::<Vec<_>>()
        };
        let mut prices: Vec<(String, Price)> = Vec::new();
        for one in self.billing(settings, environment).into_iter().flat_map(named) {
            if !prices.contains(&one) {
                prices.push(one);
            }
        }
        prices
    }

    /// Whether a provider's server receives the user's credentials.
    fn sends_users_key(&self, name: &str, outline: &Outline, environment: &Environment) -> bool {
        let headers = outline.headers();
        let in_headers = headers.iter().flat_map(|(_, value)| headers::variables(value));
        let mut variables = outline.api_key_env().into_iter().chain(in_headers);
        // The user may have put a key into a header directly.
        let has_own_headers = outline
            .entry
            .is_some_and(|entry| !entry.headers.is_empty() && *self.of_provider(name, entry) == Author::User);
        has_own_headers
            || variables.any(|variable| {
                environment.author(variable).is_some_and(|author| self.author == Author::User || *author != self.author)
            })
    }

    /// A warning for each found price of a model in use that was overruled.
    pub fn overruled_prices(&self, settings: &Settings) -> Vec<String> {
        let Some(path) = self.author.file() else { return Vec::new() };
        let used: BTreeSet<(&str, &str)> =
            settings.everybody().map(|agent| (agent.provider.as_str(), agent.model.as_str())).collect();
        let warning = |(provider, model): (&str, &str)| {
            let found = *settings.prices.get(model)?;
            let held = settings.terms.prices.get(&(provider.to_owned(), model.to_owned()))?;
            let instead = match held {
                Some(held) if *held == with_cache_writes(found, provider, model).at_least(found) => return None,
                Some(_) => "if it is lower, the known price applies",
                None => "no other price is known",
            };
            let what = format!("and {provider} receives your key, so the price of {model} in it is ignored; {instead}");
            Some(found_config(path, &what))
        };
        used.into_iter().filter_map(warning).collect()
    }

    /// The author of a provider's entry.
    fn of_provider(&self, name: &str, entry: &ProviderSettings) -> &Author {
        // Compares destination and credentials; the other values are harmless.
        let sends_alike = |vouched: &ProviderSettings| {
            (&vouched.base_url, &vouched.api_key_env, &vouched.headers)
                == (&entry.base_url, &entry.api_key_env, &entry.headers)
        };
        if self.vouched.get(name).is_some_and(sends_alike) { &Author::User } else { &self.author }
    }

    /// The author of a provider's address.
    fn of_server<'a>(&'a self, name: &str, outline: &Outline, environment: &'a Environment) -> &'a Author {
        let moved_by = outline.moved_by().filter(|variable| environment.has(variable));
        let own_url = outline.entry.filter(|entry| entry.base_url.is_some());
        match (moved_by.and_then(|variable| environment.author(variable)), own_url) {
            (Some(author), _) => author,
            (None, Some(entry)) => self.of_provider(name, entry),
            (None, None) => &Author::User,
        }
    }

    /// Whether a variable that names an account may go to a provider's server: to the provider's own server, or to one
    /// by the same author that belongs to no other provider. It is optional, so it is omitted where a key would be an
    /// error.
    pub(super) fn lets_identify(
        &self,
        name: &str,
        outline: &Outline,
        variable: &str,
        environment: &Environment,
    ) -> bool {
        let Some(url) = outline.base_url(environment).and_then(|text| Url::parse(text.trim()).ok()) else {
            return false;
        };
        let known: Vec<_> = preset_at(&url).collect();
        if known.is_empty() {
            environment.author(variable) == Some(self.of_server(name, outline, environment))
        } else {
            known.into_iter().any(|owner| outline.preset == Some(owner))
        }
    }

    /// Checks that the author of a provider's settings may send it these values.
    pub(super) fn check_provider(
        &self,
        name: &str,
        outline: &Outline,
        environment: &Environment,
    ) -> Result<(), TrustError> {
        let entry_author = outline.entry.map_or(&Author::User, |entry| self.of_provider(name, entry));
        let url_author = self.of_server(name, outline, environment);
        let key = outline.api_key_env();
        let own_headers = outline.entry.iter().flat_map(|entry| &entry.headers);
        let mut foreign = own_headers.filter_map(|(header, value)| {
            let variable = headers::variables(value).into_iter().find(|variable| Some(*variable) != key)?;
            Some((header, variable))
        });
        if let Some((header, variable)) = foreign.next().filter(|_| *entry_author != Author::User) {
            return Err(TrustError::Header {
                variable: variable.to_owned(),
                header: header.clone(),
                provider: name.to_owned(),
                author: entry_author.clone(),
            });
        }
        let Some(url) = outline.base_url(environment).and_then(|text| Url::parse(text.trim()).ok()) else {
            return Ok(());
        };
        let headers = outline.headers();
        let in_headers = headers.iter().flat_map(|(_, value)| headers::variables(value));
        let sent = key.into_iter().chain(in_headers);
        check_url(url_author, &url, sent, environment)?;
        // Even a well-known server must not receive another provider's key.
        let names_key = outline.entry.is_some_and(|entry| entry.api_key_env.is_some());
        let responsible = [url_author, if names_key { entry_author } else { &Author::User }];
        let responsible = responsible.into_iter().find(|author| **author != Author::User);
        match (responsible, key.and_then(|key| Some((key, environment.author(key)?)))) {
            (Some(author), Some((variable, set_by)))
                if set_by != author && !is_loopback(&url) && is_key_of_another(variable, &url) =>
            {
                Err(TrustError::Key { variable: variable.to_owned(), host: origin(&url), author: author.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Refuses prompt files that a found file must not send. A file whose hash is in the record is already known to the
    /// record's author.
    ///
    /// # Errors
    /// A prompt file is elsewhere, or may hold secrets.
    pub fn check_prompts(
        &self,
        settings: &Settings,
        environment: &Environment,
        now: &PromptSources,
    ) -> Result<(), TrustError> {
        if self.author == Author::User {
            return Ok(());
        }
        let base = settings.base_dir.clone().unwrap_or_default();
        for agent in settings.everybody() {
            let configured = [
                &agent.system_prompt_path,
                &agent.summary_prompt_path,
                &agent.clarification_prompt_path,
                &agent.summarization.prompt_path,
            ];
            let role = base.join("prompts").join("roles").join(format!("{}.md", agent.role));
            let files = configured.into_iter().flatten().map(|path| base.join(path)).chain([role]);
            // Missing files are not sent.
            for path in files.filter_map(|path| path.canonicalize().ok()) {
                let fault = self.prompt_fault(&path, environment);
                let is_known = || {
                    let recorded = self.recorded.as_ref();
                    recorded.is_some_and(|before| before.has_same_texts(now, &agent.id))
                };
                if let Some(fault) = fault.filter(|fault| *fault == PromptFault::Secret || !is_known()) {
                    return Err(TrustError::Prompt {
                        path,
                        agent: agent.id.clone(),
                        fault,
                        author: self.author.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    fn prompt_fault(&self, path: &Path, environment: &Environment) -> Option<PromptFault> {
        let is_env_file = environment.file().is_some_and(|file| is_same_file(file, path));
        if is_env_file || may_hold_secrets(path) {
            return Some(PromptFault::Secret);
        }
        let is_inside = self.directories.iter().any(|directory| path.starts_with(directory));
        (!is_inside).then_some(PromptFault::Outside)
    }

    /// Checks the directory that tools may read.
    ///
    /// # Errors
    /// A record set it, and it is neither in the working directory nor named by the user.
    pub fn check_context(&self, settings: &Settings) -> Result<(), TrustError> {
        let has_tools = settings.everybody().any(|agent| !agent.tools.is_empty());
        if has_tools { self.check_reading(settings) } else { Ok(()) }
    }

    /// Why commands in the settings do not run; `None` if the settings are the user's own.
    pub fn forbids_commands(&self) -> Option<String> {
        match &self.author {
            Author::User => None,
            Author::EnvFile(path) | Author::Config(path) => Some(format!(
                "`{}` was found and not named, and such a file runs no commands; if you trust it, name it as the configuration",
                path.display()
            )),
            Author::Record(_) => Some("the commands of a saved debate are not run".to_owned()),
        }
    }

    /// Checks the context directory for reading without a tool.
    ///
    /// # Errors
    /// A record set it, and it is neither in the working directory nor named by the user.
    pub fn check_reading(&self, settings: &Settings) -> Result<(), TrustError> {
        let Some(path) = &settings.context_dir else { return Ok(()) };
        let Author::Record(_) = self.author else { return Ok(()) };
        let Ok(real) = path.canonicalize() else { return Ok(()) };
        if self.directories.iter().any(|directory| real.starts_with(directory)) {
            return Ok(());
        }
        Err(TrustError::Context { path: path.clone(), author: self.author.clone() })
    }
}

impl Environment {
    /// Checks a server named by a variable, and the variables sent to it.
    ///
    /// # Errors
    /// A key would go to a server that the user did not choose.
    pub fn check_server(&self, variable: &str, url: &Url, keys: &[&str]) -> Result<(), TrustError> {
        let author = self.author(variable).unwrap_or(&Author::User);
        check_url(author, url, keys.iter().copied(), self)
    }
}

/// Unless a found server is well known, it may receive only values of the same file.
fn check_url<'a>(
    author: &Author,
    url: &Url,
    keys: impl IntoIterator<Item = &'a str>,
    environment: &Environment,
) -> Result<(), TrustError> {
    if *author == Author::User || is_loopback(url) || preset_at(url).next().is_some() {
        return Ok(());
    }
    let diverted = |variable: &&str| environment.author(variable).is_some_and(|set_by| set_by != author);
    match keys.into_iter().find(diverted) {
        Some(variable) => {
            Err(TrustError::Key { variable: variable.to_owned(), host: origin(url), author: author.clone() })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use dialectic_base::diagnostic::{Diagnostic, Remedy};

    use super::*;

    /// The host determines the price, regardless of the provider's name in a found configuration.
    #[test]
    fn a_found_price_is_held_against_the_list_of_the_host() {
        let mut settings = dialectic_record::debate::default_settings();
        for agent in settings.agents.iter_mut().chain([&mut settings.judge]) {
            (agent.provider, agent.model) = ("alias".to_owned(), "gpt-4.1".to_owned());
        }
        settings.agents[0].provider = "ollama".to_owned();
        settings.agents[1].model = "nobody-knows-this".to_owned();
        settings.prices.insert("gpt-4.1".to_owned(), Price::flat(0.0, Some(0.0), 1000.0));
        settings.prices.insert("nobody-knows-this".to_owned(), Price::flat(9.0, None, 9.0));
        let at = |url: &str| ProviderSettings {
            base_url: Some(url.to_owned()),
            api_key_env: Some("OPENAI_API_KEY".to_owned()),
            ..Default::default()
        };
        settings.providers.insert("alias".to_owned(), at("https://api.openai.com/v1"));
        settings.providers.insert("ollama".to_owned(), at("http://localhost:4000/v1"));
        let key = Environment::from_pairs([("OPENAI_API_KEY", "sk-1")]);
        let found = Trust::of_found_config(Path::new("./debate-config.json"));
        let price = |settings: &Settings, provider: &str, model: &str| {
            settings.terms.prices.get(&(provider.to_owned(), model.to_owned())).copied()
        };
        found.set_terms(&mut settings, &key);
        let listed = built_in_price("openai", "gpt-4.1").unwrap();
        let held = price(&settings, "alias", "gpt-4.1").flatten().unwrap();
        assert!(listed.input_per_m_tok > 0.0);
        // The maximum of each component.
        assert_eq!(held, Price { output_per_m_tok: 1000.0, ..listed });
        assert_eq!(price(&settings, "alias", "nobody-knows-this"), Some(None), "unpriced");
        assert_eq!(price(&settings, "ollama", "gpt-4.1"), Some(None), "no server that takes a key is free by its name");
        // The user's own price applies to any server.
        let mut own = dialectic_record::debate::default_settings();
        own.prices.insert("gpt-4.1".to_owned(), Price::flat(5.0, None, 6.0));
        found.clone().and_own(&own).set_terms(&mut settings, &key);
        let held = price(&settings, "ollama", "gpt-4.1").flatten().unwrap();
        assert_eq!(held, Price::flat(5.0, Some(5.0), 1000.0));
        // The file's price applies without a key and if the user wrote it.
        found.set_terms(&mut settings, &Environment::default());
        assert!(settings.terms.prices.is_empty());
        Trust::of_user().set_terms(&mut settings, &key);
        assert!(settings.terms.prices.is_empty());
    }

    #[test]
    fn a_built_in_providers_server_is_scheme_host_and_port() {
        for (url, expected) in [
            ("https://api.openai.com/v1", true),
            ("https://API.openai.com:443/else", true),
            ("http://api.openai.com/v1", false),
            ("https://api.openai.com:8443/v1", false),
            ("https://api.openai.com.example/v1", false),
            ("https://eu.api.openai.com/v1", false),
        ] {
            assert_eq!(preset_at(&Url::parse(url).unwrap()).next().is_some(), expected, "{url}");
        }
    }

    #[test]
    fn a_variable_of_a_found_file_may_go_where_that_file_says() {
        let found = Author::EnvFile(Path::new(".env").into());
        let mut environment = Environment::default();
        environment.extend([("URL", "x"), ("KEY", "theirs")].map(|(name, value)| (name.into(), value.into())), &found);
        let url = Url::parse("https://models.example/v1").unwrap();
        assert_eq!(environment.check_server("URL", &url, &["KEY", "UNSET"]), Ok(()));
        let others = Author::EnvFile(Path::new("other.env").into());
        let error = check_url(&others, &url, ["KEY"], &environment).unwrap_err();
        assert_eq!(
            error.to_string(),
            "KEY would go to https://models.example, because the found file `other.env` says so"
        );
        assert_eq!(error.hint().unwrap(), "if you trust that file, name it");
        assert_eq!(error.remedy().unwrap(), Remedy::NameEnvFile("other.env".into()));
    }
}
