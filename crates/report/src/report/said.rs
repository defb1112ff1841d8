//! Lists the texts of a debate, so that each can be read separately.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;

use dialectic_base::figures::score;
use dialectic_base::markdown::{heading, inline};
use dialectic_base::problem::NO_ANSWER;
use dialectic_record::debate::{Answerer, Contribution, Debate, Metadata};
use dialectic_record::ids::{AgentId, ResultKind, StageId};

use super::block::{Block, line};
use super::markdown::for_readers;
use super::prose::below;
use super::stages::{capitalized, first, preposition};
use super::{View, subject};

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Said<'a> {
    /// The round; 0 outside the rounds.
    pub round: u32,
    /// The stage; `None` in states from older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<StageId>,
    /// The author; `None` if there was no call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<&'a AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_agent_id: Option<&'a AgentId>,
    pub content: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<&'a Metadata>,
}

/// All texts of a debate in order: those before the rounds, such as questions; those of each round, such as
/// contributions and scores; and those after the rounds, such as polls and the solution.
pub fn said<'a>(view: &'a View<'a>) -> Vec<Said<'a>> {
    let debate = view.debate;
    let stage = |yields: ResultKind| first(debate, yields).map(|stage| stage.id);
    let closing =
        |yields: ResultKind| debate.stages.iter().rfind(|stage| stage.yields == Some(yields)).map(|stage| stage.id);
    let text = |round, stage, agent_id: &'a AgentId, content| Said {
        round,
        stage,
        agent_id: Some(agent_id),
        target_agent_id: None,
        content,
        metadata: None,
    };
    let found = |round, yields, agent_id: Option<&'a AgentId>, blocks: &[Block<'_>]| Said {
        round,
        stage: stage(yields),
        agent_id,
        target_agent_id: None,
        content: Cow::Owned(for_readers(blocks, view)),
        metadata: None,
    };
    let judge = Some(&view.judge.id);
    let mut all = Vec::new();
    for group in debate.clarifications.iter().flatten() {
        let items = group.items.iter().map(|item| {
            let answer = if item.answer.is_empty() { "(not answered yet)" } else { &item.answer };
            let answer = if answer == NO_ANSWER { "(no answer)" } else { answer };
            let by = match item.answered_by {
                Some(Answerer::Agent) if item.answer == NO_ANSWER => " *(skipped by an agent)*",
                Some(Answerer::Agent) => " *(an agent's answer)*",
                None => "",
            };
            let pass = item.follow_up_pass().map(|pass| format!(" *(pass {pass})*")).unwrap_or_default();
            format!("- {}{pass}\n  - {}{by}\n", inline(&item.question), inline(answer))
        });
        all.push(text(0, stage(ResultKind::Questions), &group.agent_id, Cow::Owned(items.collect())));
    }
    if debate.gathered.is_some() {
        let material = subject::material(debate);
        let nothing = [Block::Paragraph(line!["Nothing was collected."])];
        all.push(found(0, ResultKind::Material, None, if material.is_empty() { &nothing } else { &material }));
    }
    if debate.selection.is_some() {
        all.push(found(0, ResultKind::Team, None, &subject::team(debate)));
    }
    for round in &debate.rounds {
        let number = round.round_number;
        for summary in round.summaries.iter().flat_map(|summaries| summaries.values()) {
            all.push(text(number, stage(ResultKind::Summary), &summary.agent_id, Cow::Borrowed(&*summary.summary)));
        }
        all.extend(round.contributions.iter().map(|one| of_contribution(view, number, one)));
        if let Some(evaluation) = &round.evaluation {
            let reached = evaluation.score.map_or_else(|| "could not be read".to_owned(), score);
            let line = format!("{}: {reached} ({} needed)\n", evaluation.kind.name(), score(evaluation.threshold));
            all.push(text(number, stage(ResultKind::Score), &view.judge.id, Cow::Owned(line)));
        }
        if !round.observations.is_empty() {
            all.push(found(number, ResultKind::Kinds, judge, &subject::arguments(std::slice::from_ref(round))));
        }
        if round.convergence.is_some() {
            // Without relations, no judge compared the decisions: they are identical, or the agreement is unknown.
            let by = judge.filter(|_| round.relations.is_some());
            all.push(found(number, ResultKind::Agreement, by, &subject::agreement(std::slice::from_ref(round), &[])));
        }
        if round.challenge.is_some() {
            all.push(found(number, ResultKind::Challenge, judge, &[Block::List(subject::challenged(round))]));
        }
    }
    for poll in &debate.polls {
        for (agent, vote) in &poll.votes {
            let reason = poll.reasons.get(agent).map(|reason| format!(": {}", inline(reason))).unwrap_or_default();
            all.push(text(0, Some(poll.stage), agent, Cow::Owned(format!("**{}**{reason}\n", inline(vote)))));
        }
    }
    if let Some(summary) = &debate.judge_summary {
        all.push(text(0, closing(ResultKind::Summary), &view.judge.id, Cow::Borrowed(&*summary.summary)));
    }
    for judgement in &debate.judgements {
        all.push(text(0, stage(ResultKind::Verdict), &view.judge.id, Cow::Borrowed(judgement.reasoning.as_str())));
    }
    all.extend(debate.checks.iter().map(|one| of_contribution(view, 0, one)));
    if let Some(solution) = &debate.final_solution {
        // The draft is the answer unless it was replaced.
        let draft = debate.newest_draft().map(|draft| draft.text.stage);
        let written = debate.final_text().map(|text| text.stage).or(draft);
        let of_solution = written.or_else(|| stage(ResultKind::Solution));
        let by = solution.synthesized_by.as_ref().unwrap_or(&view.judge.id);
        all.push(text(0, of_solution, by, Cow::Borrowed(solution.description.as_str())));
    }
    all
}

fn of_contribution<'a>(view: &'a View<'a>, round: u32, one: &'a Contribution) -> Said<'a> {
    let content = match &one.target_agent_id {
        Some(choice) if view.debate.yield_of(one) == Some(ResultKind::Ballot) => {
            Cow::Owned(format!("**{}**: {}", inline(view.name_of(choice)), one.content))
        }
        _ => Cow::Borrowed(&*one.content),
    };
    Said {
        round,
        stage: Some(one.stage),
        agent_id: Some(&one.agent_id),
        target_agent_id: one.target_agent_id.as_ref(),
        content,
        metadata: Some(&one.metadata),
    }
}

impl Said<'_> {
    /// The kind of result that the text's stage yields; `None` if the record does not describe the stage.
    pub fn yields(&self, debate: &Debate) -> Option<ResultKind> {
        debate.stage(self.stage?)?.yields
    }
}

/// Renders `texts` as a Markdown page. Headings inside a text move below the page's own headings.
pub fn readable(view: &View<'_>, texts: &[Said<'_>]) -> String {
    let mut page = String::new();
    let mut round = None;
    let named = |id: &AgentId| {
        let number = view.number_of(id).map(|number| format!(" ({number})")).unwrap_or_default();
        format!("{}{number}", heading(view.name_of(id)))
    };
    for one in texts {
        if round != Some(one.round) && one.round > 0 {
            // Writing to a string cannot fail.
            let _ = writeln!(page, "# Round {}\n", one.round);
        }
        round = Some(one.round);
        let what = one.stage.map_or_else(|| "said".to_owned(), |stage| view.debate.words(stage).noun.to_string());
        let target = one
            .target_agent_id
            .zip(one.stage)
            .map(|(target, stage)| format!(" {} {}", preposition(view.debate, stage), named(target)));
        let (what, target) = (capitalized(&what), target.unwrap_or_default());
        let by = one.agent_id.map(|agent| format!(", by {}", named(agent))).unwrap_or_default();
        let _ = writeln!(page, "## {}{target}{by}\n", heading(&what));
        let _ = writeln!(page, "{}\n", below(&one.content).trim());
    }
    page
}
