//! What the debate was run with.

use crate::debate::{
    AgentFailurePolicy, Debate, DebateSettings, PromptOrigin, Settings, SummarizationSettings, SynthesisMethod,
    TerminationKind,
};
use crate::figures::{duration, score, thousands};
use crate::report::View;

use super::markup::{Markup, html, push};
use super::text::{name, verbatim};

/// The section: the settings that shape a debate in words, then all of them as they were saved.
pub(super) fn settings(view: &View<'_>) -> Markup {
    let Some(settings) = &view.debate.settings else { return Markup::default() };
    let mut section = html!("<dl class=\"settings\">\n");
    for (label, value) in shaping(&settings.debate).into_iter().chain(around(view.debate, settings)) {
        push!(section, "<div><dt>{}</dt><dd>{}</dd></div>\n", label, value);
    }
    push!(section, "</dl>\n{}", prompts(view.debate));
    if let Ok(json) = serde_json::to_string_pretty(settings) {
        push!(section, "<details>\n<summary>All settings as JSON</summary>\n{}</details>\n", verbatim(&json));
    }
    section
}

fn shaping(debate: &DebateSettings) -> Vec<(&'static str, Markup)> {
    let end = debate.termination_condition;
    let end = match end.kind {
        TerminationKind::Fixed => html!("after the last round"),
        TerminationKind::Convergence => html!("when the agents agree, from a score of {} on", score(end.threshold)),
        TerminationKind::Quality => {
            html!("when the solution is good enough, from a score of {} on", score(end.threshold))
        }
    };
    let synthesis = match debate.synthesis_method {
        SynthesisMethod::Judge => "the judge writes the solution",
        SynthesisMethod::Voting => "the agents vote for a refinement",
        SynthesisMethod::Merge => "the judge amends the strongest refinement",
    };
    let failure = match debate.on_agent_failure {
        AgentFailurePolicy::Continue => "the others go on",
        AgentFailurePolicy::Fail => "the debate fails",
    };
    let limit = |amount: Option<crate::debate::Usd>| amount.map_or_else(|| html!("none"), |amount| html!("{}", amount));
    let yes = |yes: bool| if yes { html!("yes") } else { html!("no") };
    vec![
        ("Protocol", name(&debate.protocol)),
        ("Rounds at most", html!("{}", debate.rounds)),
        ("Ends", end),
        ("Synthesis", html!("{}", synthesis)),
        ("Full history", yes(debate.include_full_history)),
        ("Summaries", summarization(&debate.summarization)),
        ("Questions to the user", yes(debate.interactive_clarifications)),
        ("When an agent fails", html!("{}", failure)),
        ("Calls at a time", html!("{}", debate.max_concurrency)),
        ("Repeats of a call", html!("{}", debate.max_retries)),
        ("Limit of a call", html!("{}", duration(debate.call_timeout))),
        ("Limit of a round", html!("{}", duration(debate.timeout_per_round))),
        ("Cost limit", limit(debate.budget.max_cost_usd)),
        ("Cost warning", limit(debate.budget.warn_cost_usd)),
    ]
}

fn summarization(settings: &SummarizationSettings) -> Markup {
    if !settings.enabled {
        return html!("no");
    }
    let [threshold, length] = [settings.threshold, settings.max_length].map(|chars| thousands(chars as u64));
    html!("from {} characters on, to {} at most ({})", threshold, length, name(&settings.method))
}

fn around(debate: &Debate, settings: &Settings) -> Vec<(&'static str, Markup)> {
    let context = settings
        .context_dir
        .as_ref()
        .map(|path| ("Context directory", html!("<code>{}</code>", name(&path.to_string_lossy()))));
    let seed = debate.seed.map(|seed| ("Seed", html!("{}", seed)));
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
    let mut files = Markup::default();
    for (id, what, origin, path) in agents.chain(of_judge.into_iter().flatten()) {
        if origin == PromptOrigin::File {
            let path = path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
            push!(files, "<li>{}{}: <code>{}</code></li>\n", name(id.as_str()), what, name(&path));
        }
    }
    if files.is_empty() {
        html!("<p class=\"note\">All prompts are the built-in ones.</p>\n")
    } else {
        html!("<h3>Prompts from files</h3>\n<ul>\n{}</ul>\n", files)
    }
}
