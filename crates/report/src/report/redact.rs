//! Prepares a debate for reports: removes attachments, collected material, tool calls, and paths and servers of the
//! machine on which the debate ran.
//!
//! The data is removed before a report is written, so that no format can show it. Texts by agents, the judge and the
//! user are not changed, and may quote what was removed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use dialectic_record::debate::{Debate, Metadata};
use dialectic_record::settings::{AgentSettings, DebateSettings, Settings, SummarizationSettings};

const PATH: &str = "[path]";
const ADDRESS: &str = "[address]";

pub fn redact(debate: &mut Debate) {
    let (paths, addresses) = (known_paths(debate), known_addresses(debate));
    debate.attachments = Arc::default();
    debate.prompt_sources = None;
    if let Some(gathered) = &mut debate.gathered {
        gathered.material.clear();
    }
    let Debate { rounds, checks, follow_ups, settings, .. } = debate;
    for one in rounds.iter_mut().flat_map(|round| &mut round.contributions).chain(checks) {
        let Metadata { tool_calls, tool_results, .. } = &one.metadata;
        if !tool_calls.is_empty() || !tool_results.is_empty() {
            forget_tools(&mut Arc::make_mut(one).metadata);
        }
    }
    follow_ups.iter_mut().filter_map(|one| one.metadata.as_mut()).for_each(forget_tools);
    *settings = settings.as_ref().map(without_machine);
    hide_paths(debate, &paths, &addresses);
}

fn without_machine(settings: &Settings) -> Settings {
    // List every field of `Settings`, so that a new one causes a compile error. Fields of agents, the debate and
    // summaries are kept unless they are removed here.
    let Settings { agents, judge, debate, providers: _, prices, models, elsewhere: _, base_dir: _, context_dir: _ } =
        settings.clone();
    let mut debate = DebateSettings { summarization: summarization(debate.summarization), ..debate };
    debate.arena.context_commands.clear();
    Settings {
        agents: agents.into_iter().map(agent).collect(),
        judge: agent(judge),
        debate,
        providers: BTreeMap::new(),
        prices,
        models,
        elsewhere: BTreeSet::new(),
        base_dir: None,
        context_dir: None,
    }
}

fn agent(agent: AgentSettings) -> AgentSettings {
    AgentSettings {
        system_prompt_path: None,
        summary_prompt_path: None,
        clarification_prompt_path: None,
        summarization: summarization(agent.summarization),
        ..agent
    }
}

fn summarization(settings: SummarizationSettings) -> SummarizationSettings {
    SummarizationSettings { prompt_path: None, ..settings }
}

fn forget_tools(metadata: &mut Metadata) {
    metadata.tool_calls.clear();
    metadata.tool_results.clear();
}

/// The names of files and directories in the record, longest first, so that no name is replaced only in part.
fn known_paths(debate: &Debate) -> Vec<String> {
    let settings = debate.settings.iter().flat_map(|settings| {
        let of_agents = settings.everybody().flat_map(|agent| {
            let own = [&agent.system_prompt_path, &agent.summary_prompt_path, &agent.clarification_prompt_path];
            own.into_iter().chain([&agent.summarization.prompt_path]).flatten()
        });
        of_agents
            .chain(&settings.debate.summarization.prompt_path)
            .chain(&settings.base_dir)
            .chain(&settings.context_dir)
    });
    let prompts = debate.prompt_sources.iter().flat_map(|sources| {
        let agents = sources.agents.iter().flat_map(|one| &one.path);
        agents.chain(&sources.judge.path).chain(&sources.judge.summary_path)
    });
    let files = settings.chain(prompts).map(|path| path.display().to_string());
    let given = debate.attachments.iter().map(|one| one.name.clone());
    let gathered = debate.gathered.iter().flat_map(|gathered| &gathered.material).map(|one| one.name.clone());
    // Skip short names, which also occur inside other words.
    let mut known: Vec<String> = files.chain(given).chain(gathered).filter(|name| name.len() > 3).collect();
    known.sort_by_key(|name| std::cmp::Reverse(name.len()));
    known
}

/// The server addresses in the record, as `host:port` and, unless it could be an ordinary word, `host`; longest first.
fn known_addresses(debate: &Debate) -> Vec<String> {
    let providers = debate.settings.iter().flat_map(|settings| settings.providers.values());
    let servers = providers.filter_map(|provider| {
        let (_, rest) = provider.base_url.as_deref()?.trim().split_once("://")?;
        let (server, _) = rest.split_once(['/', '?', '#']).unwrap_or((rest, ""));
        Some(server.rsplit_once('@').map_or(server, |(_, server)| server))
    });
    let names = servers.flat_map(|server| {
        // The colons inside an IPv6 address do not begin a port.
        let port = server.rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
        let host = port.map_or(server, |(host, _)| host);
        [server, host]
    });
    let mut known: Vec<String> = names.filter(|name| name.contains(['.', ':'])).map(str::to_owned).collect();
    known.sort_by_key(|name| std::cmp::Reverse(name.len()));
    known
}

/// Removes paths and addresses from the program's own texts: errors, and reasons that quote them.
fn hide_paths(debate: &mut Debate, paths: &[String], addresses: &[String]) {
    let reasons = debate.outcome.iter_mut().flat_map(|outcome| &mut outcome.reasons);
    let failures = debate.failures.iter_mut().map(|failure| &mut failure.error);
    let agreement = debate.rounds.iter_mut().filter_map(|round| round.convergence.as_mut());
    let agreement = agreement.flat_map(|one| &mut one.unknown);
    for text in reasons.chain(failures).chain(agreement).chain(&mut debate.error) {
        *text = without_paths(text, paths, addresses);
    }
}

/// Replaces known paths and addresses, and words that look like them, with [`PATH`] and [`ADDRESS`].
fn without_paths(text: &str, paths: &[String], addresses: &[String]) -> String {
    let text = paths.iter().fold(text.to_owned(), |text, path| text.replace(path.as_str(), PATH));
    let is_edge = |c: char| c.is_whitespace() || "\"'`()<>,;=“”‘’".contains(c);
    let mut hidden = String::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (edge, word) = rest.split_at(rest.find(|c| !is_edge(c)).unwrap_or(rest.len()));
        let (word, after) = word.split_at(word.find(is_edge).unwrap_or(word.len()));
        hidden.push_str(edge);
        // An error from a server may contain HTML, such as `</b>`.
        let is_tag = edge.ends_with('<') && after.starts_with('>') && word.matches('/').count() == 1;
        hidden.push_str(match word {
            word if is_tag => word,
            word if is_path(word) => PATH,
            word if is_address(word) => ADDRESS,
            word => word,
        });
        rest = after;
    }
    addresses.iter().fold(hidden, |text, address| text.replace(address.as_str(), ADDRESS))
}

/// Whether a word is a path, possibly with a prefix, as in `cwd:/x`.
fn is_path(word: &str) -> bool {
    let word = bare(word);
    let labelled = word.split_once(':').filter(|(label, rest)| label.len() > 1 && !rest.starts_with("//"));
    is_bare_path(word) || labelled.is_some_and(|(_, rest)| is_bare_path(rest))
}

fn is_address(word: &str) -> bool {
    let word = word.trim_end_matches([':', '.', '!', '?']);
    word.contains("://") || word.parse::<SocketAddr>().is_ok() || word.parse::<IpAddr>().is_ok()
}

fn bare(word: &str) -> &str {
    word.trim_start_matches(['[', '{', '|']).trim_end_matches([':', '.', '!', '?'])
}

/// Whether a word is a path: absolute, relative to the home or working directory, or with a directory and a file
/// extension. A model's name such as `maker/model-1.5` is not a path, and neither is a URL.
fn is_bare_path(word: &str) -> bool {
    let is_letter = word.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    let has_drive = is_letter && [":/", ":\\"].iter().any(|begin| word[1..].starts_with(begin));
    let begins = ["/", "./", "../", ".\\", "..\\", "\\\\"].iter().any(|begin| word.starts_with(begin));
    // Matches `~/x`, `~user/x`, `$HOME/x` and `%USERPROFILE%\x`.
    let is_named = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic() || "/\\{_".contains(c));
    let has_variable = word.strip_prefix(['~', '$', '%']).is_some_and(is_named) && word.contains(['/', '\\']);
    let is_file_url = word.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    if begins || has_drive || has_variable || is_file_url {
        return word.len() > 1;
    }
    let file = word.rsplit_once(['/', '\\']).map(|(_, file)| file).filter(|_| !word.contains("://"));
    let ending = file.and_then(|file| file.rsplit_once('.')).map(|(_, ending)| ending);
    ending.is_some_and(|ending| ending.starts_with(|c: char| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests;
