//! What the debate was run with.

use std::path::PathBuf;

use maud::{Markup, html};

use crate::report::View;
use crate::report::stages::first;
use dialectic_base::figures::{duration, score, thousands};
use dialectic_base::money::Usd;
use dialectic_record::debate::{
    AgentFailurePolicy, Debate, DebateSettings, PromptOrigin, ResultKind, Settings, SummarizationSettings,
    SynthesisMethod, TerminationKind,
};

use super::text::{name, verbatim};

/// The section: the settings that shape a debate in words, then all of them as they were saved.
pub(super) fn settings(view: &View<'_>) -> Markup {
    let Some(settings) = &view.debate.settings else { return Markup::default() };
    html! {
        dl.settings {
            @for (label, value) in shaping(view.debate, &settings.debate).into_iter().chain(around(view.debate, settings)) {
                div { dt { (label) } dd { (value) } }
            }
        }
        (prompts(view.debate))
        @if let Ok(json) = serde_json::to_string_pretty(settings) {
            details {
                summary { "All settings as JSON" }
                (verbatim(&json))
            }
        }
    }
}

fn shaping(record: &Debate, debate: &DebateSettings) -> Vec<(&'static str, Markup)> {
    // The two say how a debate ends whose rounds are scored.
    let is_scored = first(record, ResultKind::Score).is_some();
    let end = debate.termination_condition;
    let end = match end.kind {
        TerminationKind::Fixed => html! { "after the last round" },
        TerminationKind::Convergence => {
            html! { "when the agents agree, from a score of " (score(end.threshold)) " on" }
        }
        TerminationKind::Quality => {
            html! { "when the solution is good enough, from a score of " (score(end.threshold)) " on" }
        }
        TerminationKind::Resolved => html! { "when no blocking or major objection is open" },
    };
    let synthesis = match debate.synthesis_method {
        SynthesisMethod::Judge => "the judge writes the solution",
        SynthesisMethod::Voting => "the agents vote for a text",
        SynthesisMethod::Merge => "the judge amends the strongest text",
    };
    let failure = match debate.on_agent_failure {
        AgentFailurePolicy::Continue => "the others go on",
        AgentFailurePolicy::Fail => "the debate fails",
    };
    let limit = |amount: Option<Usd>| html! { @if let Some(amount) = amount { (amount) } @else { "none" } };
    let yes = |yes: bool| html! { @if yes { "yes" } @else { "no" } };
    let all = [
        ("Protocol", name(&debate.protocol)),
        ("Rounds at most", html! { (debate.rounds) }),
        ("Ends", end),
        ("Synthesis", html! { (synthesis) }),
        ("Full history", yes(debate.include_full_history)),
        ("Summaries", summarization(&debate.summarization)),
        ("Questions to the user", yes(debate.interactive_clarifications)),
        ("When an agent fails", html! { (failure) }),
        ("Calls at a time", html! { (debate.max_concurrency) }),
        ("Repeats of a call", html! { (debate.max_retries) }),
        ("Limit of a call", html! { (duration(debate.call_timeout)) }),
        ("Limit of a round", html! { (duration(debate.timeout_per_round)) }),
        ("Cost limit", limit(debate.budget.max_cost_usd)),
        ("Cost warning", limit(debate.budget.warn_cost_usd)),
    ];
    all.into_iter().filter(|(label, _)| is_scored || !["Ends", "Synthesis"].contains(label)).collect()
}

fn summarization(settings: &SummarizationSettings) -> Markup {
    if !settings.enabled {
        return html! { "no" };
    }
    let [threshold, length] = [settings.threshold, settings.max_length].map(|chars| thousands(chars as u64));
    html! { "from " (threshold) " characters on, to " (length) " at most (" (name(&settings.method)) ")" }
}

fn around(debate: &Debate, settings: &Settings) -> Vec<(&'static str, Markup)> {
    let path = |path: &PathBuf| html! { code { (name(&path.to_string_lossy())) } };
    let context = settings.context_dir.as_ref().map(|directory| ("Context directory", path(directory)));
    let seed = debate.seed.map(|seed| ("Seed", html! { (seed) }));
    context.into_iter().chain(seed).collect()
}

/// Which prompts are not the built-in ones.
fn prompts(debate: &Debate) -> Markup {
    let Some(sources) = &debate.prompt_sources else { return Markup::default() };
    let agents = sources.agents.iter().map(|source| (&source.agent_id, "", source.source, source.path.as_ref()));
    let judge = &sources.judge;
    let of_judge = [
        Some((&judge.id, "", judge.source, judge.path.as_ref())),
        judge.summary_source.map(|origin| (&judge.id, " (summary)", origin, judge.summary_path.as_ref())),
    ];
    let all = agents.chain(of_judge.into_iter().flatten());
    let files: Vec<_> = all.filter(|(_, _, origin, _)| *origin == PromptOrigin::File).collect();
    html! {
        @if files.is_empty() {
            p.note { "All prompts are the built-in ones." }
        } @else {
            h3 { "Prompts from files" }
            ul {
                @for (id, what, _, path) in files {
                    @let path = path.map(|path| path.to_string_lossy()).unwrap_or_default();
                    li { (name(id.as_str())) (what) ": " code { (name(&path)) } }
                }
            }
        }
    }
}
