//! A matrix of critiques by critic and target, with the outcome of their points.

use std::collections::{BTreeSet, HashMap};

use maud::{Markup, html};

use crate::report::View;
use dialectic_base::figures::counted;
use dialectic_record::debate::{AgentId, Answered, Contribution, Counts, Ledger, Objection, ResultKind};

use super::contributions::folded;
use super::elements::{ColumnHeading, table};
use super::participants::{PanelMember, Participants};
use super::text::{plain, words};

/// The characters of a collapsed critique.
const BEGINNING: usize = 110;

/// A critique and its number.
struct Critique<'v> {
    round: u32,
    /// The number in the debate from 1; its anchor.
    number: usize,
    contribution: &'v Contribution,
}

impl Critique<'_> {
    fn is_by(&self, member: &PanelMember<'_>) -> bool {
        self.contribution.agent_id == *member.id
    }

    /// The points of this critique.
    fn points<'a>(&self, ledger: &'a Ledger) -> Vec<&'a Objection> {
        let of = |one: &&Objection| {
            one.round == self.round
                && one.critic_id == self.contribution.agent_id
                && Some(&one.target_id) == self.contribution.target_agent_id.as_ref()
        };
        ledger.objections.iter().filter(of).collect()
    }

    fn is_about(&self, member: &PanelMember<'_>) -> bool {
        self.contribution.target_agent_id.as_ref() == Some(member.id)
    }
}

/// The outcome of points as the colour of an edge, which the text next to it explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PointOutcome {
    /// All are settled.
    Settled,
    /// The author claims to have met an open one.
    Open,
    /// An open one was partly accepted.
    Partly,
    /// An open one was never answered.
    Unanswered,
    /// An open one was rejected.
    Rejected,
}

impl PointOutcome {
    /// The worst outcome of the open points.
    pub(super) fn of<'a>(points: impl IntoIterator<Item = &'a Objection>) -> Self {
        let outcomes = points.into_iter().filter(|one| one.open).map(|one| match one.answer {
            Answered::Accepted => Self::Open,
            Answered::Partly => Self::Partly,
            Answered::Rejected => Self::Rejected,
            Answered::Unanswered => Self::Unanswered,
        });
        outcomes.max().unwrap_or(Self::Settled)
    }

    /// The class in the stylesheet.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Open => "open",
            Self::Partly => "partly",
            Self::Unanswered => "unanswered",
            Self::Rejected => "rejected",
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Settled => "every point settled",
            Self::Open => "an accepted point still open",
            Self::Partly => "a point accepted in part, and open",
            Self::Unanswered => "a point never answered",
            Self::Rejected => "a point rejected, and open",
        }
    }
}

fn all<'v>(view: &'v View<'_>) -> impl Iterator<Item = Critique<'v>> {
    let contributions = view.debate.contributions();
    let critiques = contributions.filter(|(_, one)| view.debate.yield_of(one) == Some(ResultKind::Critique));
    critiques.zip(1..).map(|((round, contribution), number)| Critique { round, number, contribution })
}

/// The numbers of the critiques on the page, by round, critic and author.
pub(super) fn numbers<'v>(view: &'v View<'_>) -> HashMap<(u32, &'v AgentId, &'v AgentId), usize> {
    let key =
        |one: &Critique<'v>| Some((one.round, &one.contribution.agent_id, one.contribution.target_agent_id.as_ref()?));
    all(view).filter_map(|one| Some((key(&one)?, one.number))).collect()
}

pub(super) fn critiques(view: &View<'_>, participants: &Participants<'_>, ledger: &Ledger) -> Markup {
    let critiques: Vec<Critique<'_>> = all(view).collect();
    html! {
        (matrix(participants, &critiques, ledger))
        @for critiques in critiques.chunk_by(|one, next| one.round == next.round) {
            @if let Some(first) = critiques.first() { h3 { "Round " (first.round) } }
            @for critique in critiques { (text(participants, critique)) }
        }
    }
}

/// Critics as rows, targets as columns.
fn matrix(participants: &Participants<'_>, critiques: &[Critique<'_>], ledger: &Ledger) -> Markup {
    let members = participants.members().iter();
    let critics = members.clone().filter(|member| critiques.iter().any(|critique| critique.is_by(member)));
    let targets: Vec<&PanelMember<'_>> =
        members.filter(|member| critiques.iter().any(|critique| critique.is_about(member))).collect();
    if targets.is_empty() {
        return Markup::default();
    }
    let rows = html! {
        @for critic in critics {
            tr {
                th scope="row" { (critic.chip()) }
                @for target in &targets { (cell(critic, target, critiques, ledger)) }
            }
        }
    };
    let names = targets.iter().map(|target| ColumnHeading::words(target.chip()));
    let columns: Vec<ColumnHeading> = [ColumnHeading::words("")].into_iter().chain(names).collect();
    let caption = "Critics as rows, authors as columns, with rounds and words";
    html! {
        (legend(critiques, ledger))
        (table("matrix", caption, &columns, &rows, None))
    }
}

/// The legend for the edges that occur.
fn legend(critiques: &[Critique<'_>], ledger: &Ledger) -> Markup {
    let points = critiques.iter().map(|critique| critique.points(ledger)).filter(|points| !points.is_empty());
    let outcomes: BTreeSet<PointOutcome> = points.map(PointOutcome::of).collect();
    html! {
        @if !outcomes.is_empty() {
            ul.legend {
                @for outcome in outcomes { li { span.edge.(outcome.class()) { (outcome.in_words()) } } }
            }
        }
    }
}

fn cell(critic: &PanelMember<'_>, target: &PanelMember<'_>, critiques: &[Critique<'_>], ledger: &Ledger) -> Markup {
    let mut fitting =
        critiques.iter().filter(|critique| critique.is_by(critic) && critique.is_about(target)).peekable();
    if fitting.peek().is_some() {
        html! {
            td {
                ul {
                    @for critique in fitting { (entry(critique, ledger)) }
                }
            }
        }
    } else if critic.id == target.id {
        html! { td.own { span aria-label="its own" { "–" } } }
    } else {
        html! { td { span.none { "none" } } }
    }
}

/// A critique in a cell with its points' outcome.
fn entry(critique: &Critique<'_>, ledger: &Ledger) -> Markup {
    let Critique { round, number, contribution } = critique;
    let points = critique.points(ledger);
    let class = (!points.is_empty()).then(|| format!("edge {}", PointOutcome::of(points.iter().copied()).class()));
    let counts = Counts::of(points);
    html! {
        li class=[class] {
            a href={ "#critique-" (number) } { "Round " (round) }
            " " small { (counted(words(&contribution.content), "word")) }
            @if counts.all > 0 {
                " " small.fates { (counted(counts.all as u64, "point")) ": " (counts.answers()) "; " (open(counts)) }
            }
        }
    }
}

fn open(counts: Counts) -> String {
    match counts.all_open() {
        0 => "none open".to_owned(),
        open => format!("{open} open"),
    }
}

fn text(participants: &Participants<'_>, critique: &Critique<'_>) -> Markup {
    let one = critique.contribution;
    let title = html! {
        (participants.chip(&one.agent_id))
        @if let Some(target) = &one.target_agent_id { " on " (participants.chip(target)) }
    };
    folded(&title, Some(format!("critique-{}", critique.number)), one)
}

/// The first words outside of headings.
pub(super) fn beginning(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let prose: Vec<&str> = lines.take(2).collect();
    plain(&prose.join(" ").replace(['*', '`'], ""), BEGINNING)
}
