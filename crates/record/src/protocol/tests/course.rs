//! Runs debates without models: calls that are ready finish in any order and with any result.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::answer::{Advice, Argument, Challenge, Judgement, Observation, RelatedPair, Relation, Relations, Solution};
use crate::debate::{
    AgentClarifications, Clarification, Contribution, Debate, Evaluation, Failure, Metadata, Outcome, StopReason,
    Summary, SummaryMetadata, fixture,
};
use crate::event::{Event, ForkPoint, Recorded, fold, fork};
use crate::ids::{AgentId, CallKey, StageId, Timestamp};
use crate::points::{AnswerFormat, ParsedAnswer, RaisedPoint, Severity};
use crate::settings::{AgentSettings, Settings, TerminationKind};
use chrono::DateTime;
use dialectic_base::call::CallRecord;
use dialectic_base::money::BudgetLimit;

use super::super::{Delivery, Next, OutputSpec, Protocol, Step, Trigger};

/// The result of a call. A reply that does not fit the request counts as a failure.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptedReply {
    Failed,
    /// No questions, or an unreadable score.
    Nothing,
    Text(String),
    Word(&'static str),
    Score(f64),
    /// The candidate at this index.
    Choice(usize),
    /// The index of the winner, and a score for each agent in configuration order.
    Judgement(Option<usize>, Vec<f64>),
    /// All decisions are related in this way; `None` leaves them unrelated.
    Related(Option<Relation>),
    /// The number of unsupported claims; no points count as unanswered.
    Challenged(usize),
    /// The kinds of argument in every text.
    Observed,
    /// Points against a draft, with these severities.
    Checked(Vec<Severity>),
    /// A text whose author abandoned the draft's approach.
    Rethought(String),
    /// A score for each agent in configuration order, and the indices of those that miss a requirement.
    Scored(Vec<f64>, Vec<usize>),
}

/// A debate in progress.
pub(super) struct Course {
    pub(super) protocol: &'static Protocol,
    pub(super) debate: Debate,
    events: Vec<Recorded>,
    /// The stages entered so far.
    pub(super) visited: Vec<StageId>,
    /// The calls made so far, in the order in which they finished.
    pub(super) calls: Vec<Step>,
}

/// Settings with this many agents, named `a`, `b` and so on, and the judge `judge`.
pub(super) fn settings(protocol: &Protocol, agents: usize, rounds: u32) -> Settings {
    let mut settings = fixture::debate().settings.unwrap();
    let rules = &mut settings.debate.summarization;
    (rules.enabled, rules.threshold, rules.max_length) = (false, 40, 20);
    let summarization = rules.clone();
    let [role, model, provider] = ["kiss", "m", "offline"].map(str::to_owned);
    let anybody = AgentSettings { role, model, provider, summarization, ..settings.judge };
    let agent = |id: &str, name: &str| AgentSettings { id: id.into(), name: name.to_owned(), ..anybody.clone() };
    let names = ["Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gil"].iter().zip('a'..);
    settings.agents = names.take(agents).map(|(name, id)| agent(&id.to_string(), name)).collect();
    settings.judge = agent("judge", "Judge");
    (settings.debate.protocol, settings.debate.rounds) = (protocol.name.to_owned(), rounds);
    settings.debate.termination_condition.kind = TerminationKind::Fixed;
    settings
}

fn now() -> Timestamp {
    Timestamp::from(DateTime::UNIX_EPOCH)
}

fn call() -> CallRecord {
    fixture::call(None)
}

/// A text of the step's agent.
fn text(step: &Step, content: &str) -> Contribution {
    let target_agent_id = step.key.target_agent_id.clone();
    Contribution { target_agent_id, ..fixture::text(step.key.stage, step.key.agent_id.as_str(), content) }
}

impl Course {
    pub(super) fn start(protocol: &'static Protocol, settings: Settings) -> Self {
        let Event::Created(mut created) = fixture::created(protocol.infos()) else { panic!("a debate begins with it") };
        (created.seed, created.settings) = (settings.debate.seed.unwrap_or(1), settings);
        let first = Recorded { seq: 1, at: now(), event: Event::Created(created) };
        let debate = Debate::create(&first).unwrap();
        let mut course = Self { protocol, debate, events: vec![first], visited: Vec::new(), calls: Vec::new() };
        course.enter(protocol.start());
        course
    }

    pub(super) fn record(&mut self, event: Event) {
        let recorded = Recorded { seq: self.events.len() as u64 + 1, at: now(), event };
        self.debate.apply(&recorded).unwrap();
        self.events.push(recorded);
    }

    fn enter(&mut self, stage: StageId) {
        self.visited.push(stage);
        self.record(Event::StageEntered { stage });
    }

    pub(super) fn stage(&self) -> StageId {
        self.debate.current_stage.unwrap()
    }

    /// The calls that can start now.
    pub(super) fn ready(&self) -> Vec<Step> {
        let reach = self.protocol.within_reach(self.stage()).into_iter();
        let mut steps: Vec<Step> = reach.flat_map(|stage| (stage.steps)(&self.debate)).collect();
        let keys: BTreeSet<_> = steps.iter().map(|step| step.key.clone()).collect();
        assert_eq!(keys.len(), steps.len(), "a call is there twice: {steps:#?}");
        steps.retain(|step| {
            self.debate.settled(&step.key).is_none() && self.protocol.can_start(step, &self.debate, |_| None)
        });
        steps
    }

    /// Records the facts that follow from the record.
    pub(super) fn take_facts(&mut self) {
        for _ in 0..10 {
            let reach = self.protocol.within_reach(self.stage()).into_iter();
            let facts: Vec<Event> = reach.flat_map(|stage| (stage.facts)(&self.debate)).collect();
            if facts.is_empty() {
                return;
            }
            for fact in facts {
                self.record(fact);
            }
        }
        panic!("facts follow from {} without end", self.stage());
    }

    fn is_settled(&self) -> bool {
        let stage = self.protocol.stage(self.stage()).unwrap();
        (stage.steps)(&self.debate).iter().all(|step| self.debate.settled(&step.key).is_some())
    }

    /// Leaves the current stage with `trigger`; returns false at the end.
    pub(super) fn leave(&mut self, trigger: Trigger) -> bool {
        match self.protocol.next(self.stage(), trigger).unwrap() {
            Next::Go(stage) => self.enter(stage),
            Next::Begin(stage) => {
                self.record(Event::RoundBegun { round: self.debate.current_round + 1, stage });
                self.enter(stage);
            }
            Next::Suspend => {
                let open = self.debate.open_questions();
                let open: Vec<_> = open.map(|(group, item)| (group.agent_id.clone(), item.id.clone())).collect();
                self.record(Event::Suspended { stage: self.stage() });
                for (agent_id, item_id) in open {
                    self.record(Event::QuestionAnswered { agent_id, item_id, answer: "yes".to_owned(), by: None });
                }
                self.record(Event::Resumed(BudgetLimit::default()));
                self.enter(self.stage());
            }
            Next::Done => {
                let outcome = Outcome::derive(&self.debate);
                self.record(Event::Completed { outcome });
                return false;
            }
            Next::Fail | Next::Pause => panic!("no outcome leads there"),
        }
        true
    }

    fn outcome(&self) -> Result<Trigger, String> {
        (self.protocol.stage(self.stage()).unwrap().outcome)(&self.debate)
    }

    /// Goes on until this holds, always with the first call that is ready.
    pub(super) fn go_on_until(&mut self, holds: impl Fn(&Self) -> bool, reply: &dyn Fn(&Step) -> ScriptedReply) {
        while !holds(self) {
            self.take_facts();
            match self.ready().first().cloned() {
                Some(step) => self.settle(&step, reply(&step)),
                None if holds(self) => {}
                None => assert!(self.leave(self.outcome().unwrap())),
            }
        }
    }

    /// Runs to the end. `reply` returns the result of a call, and `pick` chooses which of several possible things
    /// happens next.
    pub(super) fn run(mut self, reply: &dyn Fn(&Step) -> ScriptedReply, pick: &mut dyn FnMut(usize) -> usize) -> Self {
        for _ in 0..5_000 {
            self.take_facts();
            let ready = self.ready();
            let is_settled = self.is_settled();
            assert!(is_settled || !ready.is_empty(), "{} is stuck in {}", self.protocol.name, self.stage());
            let chosen = pick(ready.len() + usize::from(is_settled));
            if let Some(step) = ready.into_iter().nth(chosen) {
                self.settle(&step, reply(&step));
                continue;
            }
            match self.outcome() {
                Ok(trigger) if self.leave(trigger) => {}
                Ok(_) => return self.ended(),
                Err(error) => {
                    self.record(Event::Failed { error });
                    return self.ended();
                }
            }
        }
        panic!("{} has no end", self.protocol.name);
    }

    /// Forks the debate at a point that it reached.
    pub(super) fn fork(&self, point: &ForkPoint) -> Self {
        let settings = self.debate.settings.clone().unwrap();
        let mut branch = Self::start(self.protocol, settings);
        branch.events.truncate(1);
        branch.debate = Debate::create(&branch.events[0]).unwrap();
        for event in fork(&self.events, point).unwrap() {
            branch.record(event);
        }
        branch
    }

    /// Resumes a failed debate.
    pub(super) fn resumed(mut self) -> Self {
        self.record(Event::Resumed(BudgetLimit::default()));
        self
    }

    /// Tells it to close.
    pub(super) fn stop(&mut self, reason: StopReason) {
        self.record(Event::Stopping { reason });
        self.leave(Trigger::STOP);
    }

    fn ended(self) -> Self {
        assert_eq!(fold(&self.events).unwrap(), self.debate);
        self
    }

    /// Finishes a call.
    pub(super) fn settle(&mut self, step: &Step, reply: ScriptedReply) {
        let event = self.result(step, reply);
        assert_eq!(event.settles().map(|(key, _)| key), Some(&step.key), "{event:?}");
        self.calls.push(step.clone());
        self.record(event);
    }

    fn result(&self, step: &Step, reply: ScriptedReply) -> Event {
        let key = step.key.clone();
        let settings = self.debate.settings.as_ref().unwrap();
        let agent = settings.everybody().find(|agent| agent.id == key.agent_id).unwrap();
        let contributed = |one: Contribution| Event::Contributed {
            key: key.clone(),
            contribution: Arc::new(one),
            call: Some(call()),
        };
        match (&step.answer, reply) {
            (OutputSpec::Check(lens), ScriptedReply::Checked(points)) => {
                let points = points
                    .into_iter()
                    .map(|severity| RaisedPoint::new(severity, format!("It breaks in {}.", lens.name())));
                let reading = ParsedAnswer { points: Some(points.collect()), ..ParsedAnswer::default() };
                let metadata = Metadata { lens: Some(*lens), ..Metadata::default() };
                contributed(Contribution { metadata, reading: Some(reading.into()), ..text(step, "1. It breaks.") })
            }
            (OutputSpec::Amendment, ScriptedReply::Text(said)) => contributed(text(step, &said)),
            (OutputSpec::Amendment, ScriptedReply::Rethought(said)) => {
                let metadata = Metadata { rethought: true, ..Metadata::default() };
                contributed(Contribution { metadata, ..text(step, &said) })
            }
            (OutputSpec::Solution(_), ScriptedReply::Rethought(said)) => self.delivered(step, &said, true),
            (OutputSpec::Text, ScriptedReply::Text(said)) => {
                let reading = AnswerFormat::of(&self.debate, &key, &step.inputs).map(|reads| reads.read(&said));
                let reading = reading.filter(ParsedAnswer::says_something).map(Box::new);
                contributed(Contribution { reading, ..text(step, &said) })
            }
            (OutputSpec::Questions { .. }, ScriptedReply::Nothing) => self.asked(step, None),
            (OutputSpec::Questions { .. }, ScriptedReply::Text(text)) => self.asked(step, Some(text)),
            (OutputSpec::Summary, ScriptedReply::Text(text)) => {
                let summary = Summary {
                    agent_id: agent.id.clone(),
                    agent_role: agent.role.as_str().into(),
                    summary: text.into(),
                    metadata: SummaryMetadata::default(),
                };
                Event::Summarized { key, summary, call: call() }
            }
            (OutputSpec::Score(kind), reply @ (ScriptedReply::Score(_) | ScriptedReply::Nothing)) => {
                let score = if let ScriptedReply::Score(score) = reply { Some(score) } else { None };
                let evaluation = Evaluation { kind: *kind, score, threshold: 80.0 };
                Event::Evaluated { key, evaluation, call: Some(call()) }
            }
            (OutputSpec::Choice, ScriptedReply::Choice(place)) => {
                let candidates: Vec<_> =
                    step.inputs.iter().filter(|one| self.debate.contribution(one).is_some()).collect();
                let choice = candidates[place % candidates.len()].agent_id.clone();
                contributed(Contribution { target_agent_id: Some(choice), ..text(step, "better") })
            }
            (OutputSpec::Word(words), ScriptedReply::Word(word)) => {
                assert!(words.contains(&word), "{word} was not to choose");
                Event::Polled { key, vote: word.to_owned(), reason: "because".to_owned(), call: call() }
            }
            (OutputSpec::Judgement, ScriptedReply::Judgement(winner, scores)) => {
                let spoke = super::super::motion::debaters(&self.debate, false);
                let has_spoken = |id: &AgentId| spoke.iter().any(|agent| agent.id == *id);
                let scores = settings.agents.iter().map(|agent| agent.id.clone()).zip(scores);
                let judgement = Judgement {
                    pass: key.pass,
                    winner: winner.map(|place| settings.agents[place].id.clone()).filter(has_spoken),
                    scores: scores.filter(|(id, _)| has_spoken(id)).collect(),
                    criteria: [("logic".to_owned(), "Ada\nwas closer.".to_owned())].into(),
                    reasoning: if key.pass == 1 { "Pass 1: Ada met Ben." } else { "Pass 2: Ben met Ada." }.to_owned(),
                    advice: Advice {
                        adopt_if: Some("the load grows".to_owned()),
                        reject_if: Some(format!("pass {} is right", key.pass)),
                        measure: None,
                    },
                    ..Judgement::default()
                };
                Event::Judged { key, judgement, call: call() }
            }
            (OutputSpec::Relations | OutputSpec::Challenge | OutputSpec::Kinds | OutputSpec::Scores(_), reply)
                if reply != ScriptedReply::Failed =>
            {
                self.compared(step, reply)
            }
            (OutputSpec::Solution(_) | OutputSpec::FindingRulings, ScriptedReply::Text(text)) => {
                self.delivered(step, &text, false)
            }
            (_, ScriptedReply::Failed) => {
                let failure =
                    Failure { key, error: "503".to_owned(), kind: None, server_gone: false, attempts: 1, at: now() };
                Event::CallFailed { failure, call: None }
            }
            (answer, reply) => panic!("{reply:?} is no answer to {answer:?}"),
        }
    }

    /// The event for a solution, according to the step's delivery.
    fn delivered(&self, step: &Step, content: &str, rethought: bool) -> Event {
        let metadata = Metadata { rethought, ..Metadata::default() };
        let text = Arc::new(Contribution { metadata, ..text(step, content) });
        let solution = Box::new(Solution { description: content.to_owned(), ..Solution::default() });
        let (key, call) = (Some(step.key.clone()), Some(call()));
        match (step.delivery, rethought) {
            (Delivery::Draft, _) | (Delivery::DraftIfRethought, true) => {
                Event::Drafted { key, text: Some(text), solution, call }
            }
            (Delivery::DraftIfRethought, false) => Event::Synthesized { key, text: Some(text), solution, call },
            (Delivery::Answer, _) => {
                let text = (step.key.stage != self.protocol.closing).then_some(text);
                Event::Synthesized { key, text, solution, call }
            }
        }
    }

    /// The judge's result where it compares texts.
    fn compared(&self, step: &Step, reply: ScriptedReply) -> Event {
        let key = step.key.clone();
        let settings = self.debate.settings.as_ref().unwrap();
        match (&step.answer, reply) {
            (OutputSpec::Relations, ScriptedReply::Related(relation)) => {
                let wordings = self.debate.decisions_of(&step.inputs).wordings;
                let decisions: Vec<String> = wordings.into_iter().map(|wording| wording.decision).collect();
                let pair = |pair: &[String]| {
                    let [first, second] = [&pair[0], &pair[1]].map(Clone::clone);
                    relation.map(|relation| RelatedPair { first, second, relation })
                };
                let pairs = decisions.windows(2).filter_map(pair).collect();
                let relations = Relations { decisions, pairs, ..Relations::default() };
                Event::Related { key, relations, call: call() }
            }
            (OutputSpec::Challenge, ScriptedReply::Challenged(claims)) => {
                let claims = (0..claims).map(|number| format!("claim {number}")).collect();
                Event::Challenged { key, challenge: Challenge { claims, ..Challenge::default() }, call: call() }
            }
            (OutputSpec::Kinds, ScriptedReply::Observed) => {
                let kinds = [Argument::Evidence].into();
                let observed = |of: &CallKey| Observation { of: of.clone(), kinds: BTreeSet::clone(&kinds) };
                Event::Observed { key, observations: step.inputs.iter().map(observed).collect(), call: call() }
            }
            (OutputSpec::Scores(_), ScriptedReply::Scored(scores, missing)) => {
                let id = |place: usize| settings.agents[place].id.clone();
                let is_judged = |id: &AgentId| step.inputs.iter().any(|text| text.agent_id == *id);
                let scores = scores
                    .into_iter()
                    .enumerate()
                    .filter(|(place, _)| *place < settings.agents.len())
                    .map(|(place, score)| (id(place), score));
                let scores: BTreeMap<AgentId, f64> = scores.filter(|(id, _)| is_judged(id)).collect();
                let best = scores.values().copied().fold(0.0, f64::max);
                let mut leading = scores.iter().filter(|(_, score)| **score >= best).map(|(id, _)| id.clone());
                let judgement = Judgement {
                    pass: key.pass,
                    winner: leading.next().filter(|_| leading.next().is_none()),
                    by_criterion: scores
                        .iter()
                        .map(|(id, score)| (id.clone(), [("x".to_owned(), *score)].into()))
                        .collect(),
                    missing: missing.into_iter().map(|place| (id(place), vec!["a requirement".to_owned()])).collect(),
                    scores,
                    ..Judgement::default()
                };
                Event::Judged { key, judgement, call: call() }
            }
            (answer, reply) => panic!("{reply:?} is no answer to {answer:?}"),
        }
    }

    fn asked(&self, step: &Step, question: Option<String>) -> Event {
        let id = format!("q{}", step.key.pass);
        let items = question.map(|question| Clarification {
            id,
            question,
            answer: String::new(),
            answered_by: None,
            pass: Some(step.key.pass),
        });
        let settings = self.debate.settings.as_ref().unwrap();
        let agent = settings.everybody().find(|agent| agent.id == step.key.agent_id).unwrap();
        let questions = AgentClarifications {
            agent_id: agent.id.clone(),
            agent_name: agent.name.clone(),
            role: agent.role.clone(),
            items: items.into_iter().collect(),
        };
        Event::QuestionsAsked { key: step.key.clone(), questions, call: call() }
    }
}

/// A successful reply: a text, an acceptance, or the first agent as winner.
pub(super) fn good(step: &Step) -> ScriptedReply {
    match &step.answer {
        // A critique must have points, and a review of several texts a section for each.
        OutputSpec::Text if ["critique", "review"].contains(&step.key.stage.as_str()) => {
            let sections = (1..=9).map(|number| format!("## Text {number}\n\nNo objections."));
            ScriptedReply::Text(if step.key.target_agent_id.is_some() {
                "No objections.".to_owned()
            } else {
                sections.collect::<Vec<_>>().join("\n\n")
            })
        }
        OutputSpec::Text if step.key.stage.as_str() == "findings" => {
            ScriptedReply::Text("1. [major] a.rs:1: a fault.".to_owned())
        }
        OutputSpec::Text if step.key.stage.as_str() == "confirmation" => {
            let lines = (1..=9).map(|number| format!("- {number}.1 confirmed: line 1 shows it"));
            ScriptedReply::Text(lines.collect::<Vec<_>>().join("\n"))
        }
        OutputSpec::Text
        | OutputSpec::Summary
        | OutputSpec::Amendment
        | OutputSpec::Solution(_)
        | OutputSpec::FindingRulings
        | OutputSpec::FollowUp => ScriptedReply::Text(format!("text of {}", step.key.agent_id)),
        OutputSpec::Questions { .. } => ScriptedReply::Nothing,
        OutputSpec::Score(_) => ScriptedReply::Score(0.0),
        OutputSpec::Choice => ScriptedReply::Choice(0),
        OutputSpec::Word(words) => ScriptedReply::Word(words[0]),
        OutputSpec::Judgement => ScriptedReply::Judgement(Some(0), vec![80.0, 70.0, 60.0, 50.0, 40.0, 30.0]),
        OutputSpec::Relations => ScriptedReply::Related(None),
        OutputSpec::Challenge => ScriptedReply::Challenged(0),
        OutputSpec::Kinds => ScriptedReply::Observed,
        OutputSpec::Check(_) => ScriptedReply::Checked(Vec::new()),
        OutputSpec::Scores(_) => ScriptedReply::Scored(vec![80.0, 70.0, 60.0, 50.0, 40.0, 30.0, 20.0], Vec::new()),
        OutputSpec::Json(kind) => unreachable!("no built-in protocol asks for `{}`", kind.name),
    }
}

/// Always picks the first.
pub(super) fn first(_: usize) -> usize {
    0
}
