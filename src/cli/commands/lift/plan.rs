//! The cost of a set, reported before any money is spent.

use dialectic_base::figures::{counted, short_cost};
use dialectic_base::money::Usd;
use dialectic_base::provider::OFFLINE;
use dialectic_record::debate::Span;

use crate::cli::consent::{has_tools, may_begin};
use crate::cli::dialogue::NotAsked;
use crate::cli::terminal::Terminal;
use crate::error::Error;
use crate::lift::{Arm, Done, Notes, Problem, Question, foreseen_checklist};

use super::group::{Groups, debate_part};
use super::judging::open_questions;
use super::{Lift, text_of};

/// The likely and maximum text length in a future debate, in characters.
const TEXT: Span<usize> = Span { low: 12_000, high: 40_000 };

/// The remaining work for a set.
#[derive(Default)]
pub(super) struct Plan {
    debates: u64,
    arms: u64,
    rulings: u64,
    checklists: u64,
    /// The likely and maximum cost; absent if a price is unknown.
    cost: Span<Option<Usd>>,
    /// Whether agents may call tools, which no figure includes.
    tools: bool,
}

impl Plan {
    /// The remaining work for all problems of a set.
    pub(super) fn of(lift: &Lift) -> Result<Self, Error> {
        let zero = Some(Usd::ZERO);
        let mut plan = Self { cost: Span { low: zero, high: zero }, ..Self::default() };
        plan.tools = lift.planned.is_none() && lift.sides().any(|groups| has_tools(&groups.settings));
        for problem in &lift.set.problems {
            plan.add(lift, problem)?;
        }
        Ok(plan)
    }

    fn add(&mut self, lift: &Lift, problem: &Problem) -> Result<(), Error> {
        let groups = &lift.groups;
        let notes = Notes::look(&groups.notes_path(problem))?;
        if let Some(planned) = &lift.planned {
            for arm in lift.arms.iter().filter(|_| problem.answer.is_none()) {
                let done = planned.arm(problem, *arm).and_then(|done| done.as_ref().ok());
                let of = |done: &'_ Done| text_of(&done.debate).map(str::to_owned);
                let texts = planned.debate(problem).and_then(of).zip(done.and_then(of));
                // Without a text, there is nothing to ask about.
                if let Some((debate, arm_text)) = &texts {
                    let is_first = lift.arms.first() == Some(arm);
                    self.judge(lift, &notes, problem, Some((debate, arm_text)), is_first);
                }
            }
            return Ok(());
        }
        let (debate, of_debate) = self.debate(groups, &notes, problem, None)?;
        if let Some(other) = &lift.other {
            let notes_of_other = Notes::look(&other.notes_path(problem))?;
            let held = of_debate.high.filter(|money| lift.args.equal_money && *money > Usd::ZERO);
            let (done, _) = self.debate(other, &notes_of_other, problem, held)?;
            if problem.answer.is_none() {
                let texts = text(debate.as_ref()).zip(text(done.as_ref()));
                self.judge(lift, &notes, problem, texts, true);
            }
        }
        for arm in lift.runs() {
            let done = groups.finished(&notes, &groups.part_of(arm))?;
            if done.is_none() {
                self.arms += 1;
                let single = groups.forecast(&groups.single(problem))?;
                self.pay(match arm {
                    // The part in progress when the money is spent may be longer than foreseen.
                    Arm::SelfRefine | Arm::BestOfN => Span {
                        low: of_debate.low,
                        high: of_debate.high.zip(single.most()).map(|(debate, answer)| debate + answer),
                    },
                    Arm::Single => Span { low: single.likely(), high: single.most() },
                });
            }
            if problem.answer.is_none() && lift.arms.contains(&arm) {
                let is_first = lift.arms.first() == Some(&arm);
                let texts = text(debate.as_ref()).zip(text(done.as_ref()));
                self.judge(lift, &notes, problem, texts, is_first);
            }
        }
        Ok(())
    }

    /// Adds the debate of a problem under the limit `held`, if it does not exist. Returns it, and its cost.
    fn debate(
        &mut self,
        groups: &Groups,
        notes: &Notes,
        problem: &Problem,
        held: Option<Usd>,
    ) -> Result<(Option<Done>, Span<Option<Usd>>), Error> {
        if let Some(debate) = groups.finished(notes, &debate_part(held))? {
            let cost = debate.bill.full();
            return Ok((Some(debate), Span { low: cost, high: cost }));
        }
        let forecast = groups.forecast(&groups.debate(problem, None))?;
        let limit = groups.settings.max_cost().into_iter().chain(held).min();
        let capped = |cost: Option<Usd>| cost.map(|cost| limit.map_or(cost, |limit| cost.min(limit)));
        let cost = Span { low: capped(forecast.likely()), high: capped(forecast.most()) };
        self.debates += 1;
        self.pay(cost);
        Ok((None, cost))
    }

    /// Adds the judges' questions about the debate and an arm, whose texts may not exist yet.
    fn judge(&mut self, lift: &Lift, notes: &Notes, problem: &Problem, texts: Option<(&str, &str)>, is_first: bool) {
        let Span { low: short, high: long } = foreseen_checklist();
        let asked = |checklist, texts| {
            let mut open = open_questions(&lift.judges, notes, problem, checklist, texts, lift.args.repeat.get());
            // The checklist is made once for all arms.
            open.retain(|question| is_first || question.is_ruling());
            open
        };
        let cost = |questions: &[Question], of: fn(Span<Usd>) -> Usd| {
            questions.iter().map(|question| question.cost().map(of)).sum::<Option<Usd>>()
        };
        let (few, many) = if let Some((debate, arm)) = texts {
            (asked(short, [debate, arm]), asked(long, [debate, arm]))
        } else {
            let (few, many) = ("x".repeat(TEXT.low), "x".repeat(TEXT.high));
            (asked(short, [&few, &few]), asked(long, [&many, &many]))
        };
        self.rulings += many.iter().filter(|question| question.is_ruling()).count() as u64;
        self.checklists += many.iter().filter(|question| !question.is_ruling()).count() as u64;
        self.pay(Span { low: cost(&few, |cost| cost.low), high: cost(&many, |cost| cost.high) });
    }

    fn pay(&mut self, cost: Span<Option<Usd>>) {
        let add = |sum: Option<Usd>, cost: Option<Usd>| sum.zip(cost).map(|(sum, cost)| sum + cost);
        self.cost = Span { low: add(self.cost.low, cost.low), high: add(self.cost.high, cost.high) };
    }

    /// Whether nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        self.debates + self.arms + self.rulings + self.checklists == 0
    }

    /// `12 debates, 36 arms, 48 rulings, likely $12.30, at most $45.00`
    pub(super) fn said(&self) -> String {
        let counts = [
            (self.debates, "debate"),
            (self.arms, "arm"),
            (self.rulings, "comparison"),
            (self.checklists, "checklist"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(count, noun));
        let cost = match (self.cost.low, self.cost.high) {
            (Some(low), Some(high)) => format!("likely {}, at most {}", short_cost(low), short_cost(high)),
            _ => "at unknown cost".to_owned(),
        };
        let tools = if self.tools { ", plus tool calls" } else { "" };
        format!("{}, {cost}{tools}", counts.collect::<Vec<_>>().join(", "))
    }

    /// Shows the cost and asks for confirmation if no limit applies and the cost is unknown or above the user's
    /// threshold.
    pub(super) fn agree(&self, lift: &Lift, terminal: &mut Terminal) -> Result<(), Error> {
        if self.is_done() || lift.is_rehearsal() {
            return Ok(());
        }
        terminal.notice(&self.said());
        let most = self.cost.high.filter(|_| !self.tools);
        if may_begin(lift.args.max_cost, most, "Begin?")? { Ok(()) } else { Err(NotAsked::Declined.into()) }
    }
}

/// The answer of a finished part.
fn text(done: Option<&Done>) -> Option<&str> {
    done.and_then(|done| text_of(&done.debate))
}

impl Lift<'_> {
    /// Whether no model is called.
    pub(super) fn is_rehearsal(&self) -> bool {
        self.sides().flat_map(|groups| groups.settings.everybody()).all(|agent| agent.provider == OFFLINE)
            && self.judges.iter().all(|judge| judge.settings.provider == OFFLINE)
    }
}
