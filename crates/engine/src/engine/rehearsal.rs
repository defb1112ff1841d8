//! Runs a debate in memory without a model, to predict its remaining calls and the length of their requests.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::agent::{Agent, Panel, prepare};
use crate::tools::specs;
use dialectic_base::call::CallRecord;
use dialectic_base::problem::NO_ANSWER;
use dialectic_llm::{Turn, request_bytes};
use dialectic_record::answer::{Advice, Challenge, Judgement, RelatedPair, Relation, Relations, Solution};
use dialectic_record::change::DIFF_ENDING;
use dialectic_record::debate::{
    AgentClarifications, Clarification, Contribution, Debate, Evaluation, Metadata, Summary, SummaryMetadata,
};
use dialectic_record::event::{Event, Recorded};
use dialectic_record::ids::{AgentId, CallKey, ResultKind, StageId, Timestamp};
use dialectic_record::points::{
    Change, Found, Ledger, ParsedAnswer, Place, Point, PointId, RaisedPoint, RecheckStanding, RejectedApproach, Report,
    Response, Severity, Stance, Statement,
};
use dialectic_record::protocol::{BudgetClass, Delivery, Next, OutputSpec, Protocol, Stage, Step};
use dialectic_record::settings::AgentSettings;

use super::{EngineError, check_before_closing, has_something_to_check};

/// The length in bytes of a message that asks again after an unusable answer.
const SECOND_CHANCE_BYTES: usize = 1000;
/// The maximum number of points that prompts request about one text.
const POINTS: usize = 7;
const POINTS_OF_EACH: usize = 5;
/// The assumed length in bytes of a point and its remedy, as strong models write them.
const POINT_BYTES: usize = 450;
const REMARK_BYTES: usize = 100;
/// The assumed length in bytes of each question to the user, and of each answer.
const QUESTION_BYTES: usize = 300;
/// The bytes that labels add to a list of all points.
const LABELS: usize = 30 * 20;
/// The number of decisions that a text is assumed to make.
const DECISIONS: usize = 7;
const DECISION_BYTES: usize = 120;
/// A protocol that makes more transitions than this is assumed never to end.
const MOST_TRANSITIONS: usize = 10_000;

#[derive(Debug, Clone)]
pub(super) struct RehearsedCall {
    pub(super) key: CallKey,
    pub(super) cost: BudgetClass,
    pub(super) in_round: bool,
    /// Whether the request is only made if the first answer cannot be used.
    pub(super) is_second_chance: bool,
    pub(super) bytes: usize,
    pub(super) offers_tools: bool,
}

#[derive(Clone, Copy)]
pub(super) struct SampleAnswers<'a> {
    pub(super) bytes: &'a dyn Fn(&AgentSettings) -> usize,
    /// Whether to assume everything that adds calls: agents choose the last option, texts make different decisions, and
    /// every agreement is challenged if allowed. Authors accept every point in part, so the judge has to rule on it and
    /// the check has to look for it.
    pub(super) demanding: bool,
    /// Whether to assume what prolongs a debate: every text misses a requirement, and authors abandon the approach of
    /// their draft.
    pub(super) extends: bool,
    /// Whether every text raises points that are answered, maintained and never verified, which maximizes lists of
    /// points.
    pub(super) disputes: bool,
}

#[derive(Clone)]
pub(super) struct Rehearsal<'a> {
    protocol: &'static Protocol,
    panel: &'a Panel,
    beginnings: &'a [Arc<str>],
    answers: SampleAnswers<'a>,
    debate: Debate,
    /// Filler texts by length: a rehearsal has thousands of texts but few lengths.
    fillers: RefCell<BTreeMap<usize, Arc<str>>>,
    foreseen: Vec<RehearsedCall>,
    /// The pass of each set of questions to the user, and the bytes of the questions and their answers.
    asked: Vec<(u8, usize)>,
    goes_on: bool,
}

impl<'a> Rehearsal<'a> {
    pub(super) fn new(
        protocol: &'static Protocol,
        panel: &'a Panel,
        beginnings: &'a [Arc<str>],
        debate: &Debate,
        answers: SampleAnswers<'a>,
    ) -> Self {
        let (debate, fillers) = (debate.clone(), RefCell::default());
        Self {
            protocol,
            panel,
            beginnings,
            answers,
            debate,
            fillers,
            foreseen: Vec::new(),
            asked: Vec::new(),
            goes_on: false,
        }
    }

    /// Returns the calls until the end of round `until` or of the last round. Omits the closing, and a check that
    /// precedes the closing.
    pub(super) fn rounds(&mut self, until: u32) -> Result<Vec<RehearsedCall>, EngineError> {
        let closing = self.protocol.closing;
        let check = check_before_closing(self.protocol);
        let mut stage = self.debate.current_stage.unwrap_or(self.protocol.start());
        for _ in 0..MOST_TRANSITIONS {
            if stage == closing || Some(stage) == check {
                break;
            }
            stage = match self.run_stage(stage)? {
                Next::Go(next) => next,
                Next::Begin(_) if self.debate.current_round >= until => {
                    self.goes_on = true;
                    break;
                }
                Next::Begin(next) => {
                    self.apply(Event::RoundBegun { round: self.debate.current_round + 1, stage: next });
                    next
                }
                Next::Suspend | Next::Done | Next::Fail | Next::Pause => break,
            };
            self.apply(Event::StageEntered { stage });
        }
        Ok(std::mem::take(&mut self.foreseen))
    }

    pub(super) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Returns the closing calls after `events`, which close the debate early or skip its check. Leaves the rehearsal
    /// unchanged.
    pub(super) fn closing(&self, events: impl IntoIterator<Item = Event>) -> Result<Vec<RehearsedCall>, EngineError> {
        let answers = SampleAnswers { extends: false, ..self.answers };
        let mut closing = Rehearsal { answers, foreseen: Vec::new(), ..self.clone() };
        for event in events {
            closing.apply(event);
        }
        closing.bring_to_an_end()?;
        Ok(closing.foreseen)
    }

    /// Runs the closing, and a check that precedes the closing if there is something to check. Returns the first stage
    /// of the next round if the closing leads to one.
    fn bring_to_an_end(&mut self) -> Result<Option<StageId>, EngineError> {
        let is_reached = self.debate.current_stage == Some(self.protocol.closing);
        let check = check_before_closing(self.protocol).filter(|_| !is_reached && has_something_to_check(&self.debate));
        let mut stage = check.unwrap_or(self.protocol.closing);
        for _ in 0..MOST_TRANSITIONS {
            self.apply(Event::StageEntered { stage });
            match self.run_stage(stage)? {
                Next::Go(next) => stage = next,
                Next::Begin(next) => return Ok(Some(next)),
                Next::Suspend | Next::Done | Next::Fail | Next::Pause => break,
            }
        }
        Ok(None)
    }

    /// Closes the debate, and begins another round if the closing leads to one. Returns the calls, and whether a round
    /// was begun.
    pub(super) fn close(&mut self) -> Result<(Vec<RehearsedCall>, bool), EngineError> {
        let next = self.bring_to_an_end()?;
        if let Some(next) = next {
            self.apply(Event::RoundBegun { round: self.debate.current_round + 1, stage: next });
            self.apply(Event::StageEntered { stage: next });
        }
        Ok((std::mem::take(&mut self.foreseen), next.is_some()))
    }

    fn run_stage(&mut self, stage: StageId) -> Result<Next, EngineError> {
        let Some(declared) = self.protocol.stage(stage) else { return Ok(Next::Done) };
        // Try each step once: a step without an answer would be wanted forever.
        let mut tried = HashSet::new();
        loop {
            let is_new = establish(declared, &mut self.debate);
            let steps = (declared.steps)(&self.debate);
            let ready = steps.into_iter().filter(|step| {
                self.debate.settled(&step.key).is_none()
                    && !tried.contains(&step.key)
                    && self.protocol.can_start(step, &self.debate, |_| None)
            });
            let ready: Vec<Step> = ready.collect();
            if ready.is_empty() && !is_new {
                break;
            }
            for step in ready {
                tried.insert(step.key.clone());
                self.make(&step, declared)?;
            }
        }
        let Ok(trigger) = (declared.outcome)(&self.debate) else { return Ok(Next::Fail) };
        Ok(self.protocol.next(stage, trigger)?)
    }

    fn make(&mut self, step: &Step, stage: &Stage) -> Result<(), EngineError> {
        let panel = self.panel;
        let agent =
            panel.agent(&step.key.agent_id).ok_or_else(|| EngineError::UnknownAgent(step.key.agent_id.clone()))?;
        let listed = self.measure(step, stage, agent)?;
        let record = agent.caller.unsent(&agent.settings.model);
        if let Some(event) = self.answer(step, stage, agent, record, &listed) {
            if let (Event::QuestionsAsked { questions, .. }, OutputSpec::Questions { most }) = (&event, &step.answer)
                && !questions.items.is_empty()
            {
                let bytes = QUESTION_BYTES.saturating_mul(*most as usize).min((self.answers.bytes)(&agent.settings));
                self.asked.push((step.key.pass, 2 * bytes));
            }
            self.apply(event);
        }
        Ok(())
    }

    fn foresee(&mut self, step: &Step, stage: &Stage, bytes: usize, is_second_chance: bool, offers_tools: bool) {
        let (key, cost, in_round) = (step.key.clone(), step.cost, stage.info.in_round);
        self.foreseen.push(RehearsedCall { key, cost, in_round, is_second_chance, bytes, offers_tools });
    }

    /// Adds the step's requests to the foreseen calls. Returns the points that the prompt lists.
    fn measure(&mut self, step: &Step, stage: &Stage, agent: &Agent) -> Result<Vec<Point>, EngineError> {
        let mut call = prepare(self.panel, agent, self.beginnings, &self.debate, step, usize::MAX)?;
        if step.may_use_tools() {
            call.request.tools = specs(agent.settings.tools.iter().map(|tool| tool.name.as_str())).into();
        }
        let room = self.clarified(step) + if self.answers.disputes { call.room } else { 0 };
        let offers_tools = !call.request.tools.is_empty();
        self.foresee(step, stage, request_bytes(&call.request) + room, false, offers_tools);
        if matches!(step.cost, BudgetClass::Closing | BudgetClass::Check)
            && matches!(
                step.answer,
                OutputSpec::Solution(_) | OutputSpec::Judgement | OutputSpec::Scores(_) | OutputSpec::Json(_)
            )
        {
            // Assume that the whole answer is missing: asking for it takes a longer request than asking for an
            // assessment.
            let text = "x".repeat((self.answers.bytes)(&agent.settings));
            call.request.turns = vec![
                Turn::Assistant { text, calls: Vec::new(), message: None },
                Turn::User("x".repeat(SECOND_CHANCE_BYTES)),
            ];
            self.foresee(step, stage, request_bytes(&call.request) + room, true, false);
        }
        Ok(call.listing.points.points)
    }

    /// Makes the event that records a sample answer. `None` for a follow-up question, which no protocol has, and for a
    /// choice without options.
    fn answer(&self, step: &Step, stage: &Stage, agent: &Agent, call: CallRecord, listed: &[Point]) -> Option<Event> {
        let (key, settings) = (step.key.clone(), &agent.settings);
        let text = self.filler((self.answers.bytes)(settings));
        let yields = self.debate.stage(step.key.stage).and_then(|stage| stage.yields);
        let demanding = self.answers.demanding;
        let reading = if let OutputSpec::Json(kind) = step.answer {
            Some(ParsedAnswer { json: (kind.sample)(), ..ParsedAnswer::default() })
        } else {
            yields.map(|yields| self.reading(yields, step, text.len(), listed))
        };
        let reading = reading.filter(ParsedAnswer::says_something).map(Box::new);
        let contribution = |content, target, metadata| {
            Contribution::by(settings, step.key.stage, content, target, metadata, reading.clone())
        };
        Some(match &step.answer {
            OutputSpec::Text | OutputSpec::Check(_) | OutputSpec::Amendment | OutputSpec::Json(_) => {
                let lens = if let OutputSpec::Check(lens) = &step.answer { Some(*lens) } else { None };
                let metadata = Metadata { lens, rethought: self.is_rethought(step), ..Metadata::default() };
                let contribution = contribution(text, key.target_agent_id.clone(), metadata);
                Event::Contributed { key, contribution, call: Some(call) }
            }
            OutputSpec::FollowUp => return None,
            OutputSpec::Summary => Event::Summarized { key, summary: Self::summary(settings, text.len()), call },
            OutputSpec::Questions { most } => {
                let questions = AgentClarifications {
                    agent_id: settings.id.clone(),
                    agent_name: settings.name.clone(),
                    role: settings.role.clone(),
                    items: self.questions(&key, *most),
                };
                Event::QuestionsAsked { key, questions, call }
            }
            OutputSpec::Score(kind) => {
                let evaluation = Evaluation { kind: *kind, score: Some(0.0), threshold: f64::INFINITY };
                Event::Evaluated { key, evaluation, call: Some(call) }
            }
            // Let everybody choose the same text, so that the vote has a winner.
            OutputSpec::Choice => {
                let choice = step.inputs.first()?.agent_id.clone();
                let contribution = contribution(Arc::default(), Some(choice), Metadata::default());
                Event::Contributed { key, contribution, call: Some(call) }
            }
            OutputSpec::Word(words) => {
                let word = if demanding { words.last() } else { words.first() }?;
                Event::Polled { key, vote: (*word).to_owned(), reason: String::new(), call }
            }
            OutputSpec::Relations => {
                // Full agreement ends the debate early, unless it is challenged.
                let alike = self.related(step, true, call.clone());
                if !demanding || leads_to_a_challenge(stage, self.debate.clone(), alike.clone()) {
                    alike
                } else {
                    self.related(step, false, call)
                }
            }
            OutputSpec::Challenge => {
                let claims = if demanding { vec!["x".repeat(POINT_BYTES); POINTS] } else { Vec::new() };
                Event::Challenged { key, challenge: Challenge { claims, points: Vec::new() }, call }
            }
            OutputSpec::Kinds => Event::Observed { key, observations: Vec::new(), call },
            OutputSpec::Judgement | OutputSpec::Scores(_) => {
                let judgement = Judgement {
                    pass: key.pass,
                    winner: None,
                    scores: BTreeMap::new(),
                    criteria: BTreeMap::new(),
                    reasoning: String::new(),
                    by_criterion: BTreeMap::new(),
                    missing: self.missing(step),
                    lacking: Vec::new(),
                    advice: Advice::default(),
                };
                Event::Judged { key, judgement, call }
            }
            OutputSpec::FindingRulings => {
                let solution = Box::new(Solution { description: text.to_string(), ..Solution::default() });
                Event::Synthesized { key: Some(key), text: None, solution, call: Some(call) }
            }
            OutputSpec::Solution(_) => {
                let solution = Box::new(Solution { description: text.to_string(), ..Solution::default() });
                let (rethought, call) = (self.is_rethought(step), Some(call));
                let text = Some(contribution(text, None, Metadata { rethought, ..Metadata::default() }));
                if step.delivery == Delivery::Draft || rethought {
                    Event::Drafted { key: Some(key), text, solution, call }
                } else {
                    let text = text.filter(|_| self.debate.draft.is_some());
                    Event::Synthesized { key: Some(key), text, solution, call }
                }
            }
        })
    }

    fn is_rethought(&self, step: &Step) -> bool {
        self.answers.extends && step.delivery == Delivery::DraftIfRethought
    }

    fn related(&self, step: &Step, are_same: bool, call: CallRecord) -> Event {
        let wordings = self.debate.decisions_of(&step.inputs).wordings;
        let decisions: Vec<String> = wordings.into_iter().map(|wording| wording.decision).collect();
        let pairs = decisions.windows(2).filter(|_| are_same).map(|pair| RelatedPair {
            first: pair[0].clone(),
            second: pair[1].clone(),
            relation: Relation::Same,
        });
        let relations = Relations { pairs: pairs.collect(), decisions, ..Relations::default() };
        Event::Related { key: step.key.clone(), relations, call }
    }

    /// One question stands for all questions of an agent; [`clarified`](Self::clarified) adds their total length.
    fn questions(&self, key: &CallKey, most: u32) -> Vec<Clarification> {
        let asked = Clarification {
            id: "q1".to_owned(),
            // Unique, because similar questions would be merged.
            question: format!("{} {}", key.agent_id, key.pass),
            answer: NO_ANSWER.to_owned(),
            answered_by: None,
            pass: Some(key.pass),
        };
        if self.answers.demanding && most > 0 { vec![asked] } else { Vec::new() }
    }

    /// The number of bytes that the questions and answers of earlier passes add to a request.
    fn clarified(&self, step: &Step) -> usize {
        let is_shown = |pass: u8| !matches!(step.answer, OutputSpec::Questions { .. }) || pass < step.key.pass;
        self.asked.iter().filter(|(pass, _)| is_shown(*pass)).map(|(_, bytes)| bytes).sum()
    }

    fn missing(&self, step: &Step) -> BTreeMap<AgentId, Vec<String>> {
        let texts = step.inputs.iter().filter(|_| self.answers.extends && matches!(step.answer, OutputSpec::Scores(_)));
        texts.map(|text| (text.agent_id.clone(), vec!["x".repeat(POINT_BYTES)])).collect()
    }

    fn summary(settings: &AgentSettings, length: usize) -> Summary {
        let max_length = length.min(settings.summarization.max_length);
        let method = settings.summarization.method.clone();
        Summary {
            agent_id: settings.id.clone(),
            agent_role: settings.role.as_str().into(),
            summary: "x".repeat(max_length).into(),
            metadata: SummaryMetadata { after_chars: max_length, method, ..SummaryMetadata::default() },
        }
    }

    fn filler(&self, bytes: usize) -> Arc<str> {
        Arc::clone(self.fillers.borrow_mut().entry(bytes).or_insert_with(|| "x".repeat(bytes).into()))
    }

    fn apply(&mut self, event: Event) {
        apply(&mut self.debate, event);
    }

    /// Returns what would be parsed from an answer of `length` bytes that raises as many objections as the prompt
    /// allows. A check only raises objections in a demanding rehearsal.
    fn reading(&self, yields: ResultKind, step: &Step, length: usize, listed: &[Point]) -> ParsedAnswer {
        let (key, SampleAnswers { demanding, disputes, .. }) = (&step.key, self.answers);
        let points = |target: Option<&AgentId>, texts: usize| {
            let count = if target.is_none() { POINTS } else { POINTS_OF_EACH };
            let whole = length / texts.max(1);
            let bytes = if disputes { (whole + LABELS) / count } else { POINT_BYTES.min(whole / count) };
            let (text, target) = (self.filler(bytes), target.cloned());
            vec![RaisedPoint { target, ..RaisedPoint::new(Severity::Major, text) }; count]
        };
        let raising = |points| ParsedAnswer { points: Some(points), ..ParsedAnswer::default() };
        match (yields, &key.target_agent_id) {
            (ResultKind::Critique, Some(target)) => {
                ParsedAnswer { rechecks: self.rechecks(step, target, length), ..raising(points(None, 1)) }
            }
            // One critique covers all texts.
            (ResultKind::Critique, None) => {
                let texts = || step.inputs.iter().map(|of| &of.agent_id);
                let given_up = texts().filter(|_| disputes);
                let given_up =
                    given_up.map(|of| RejectedApproach { target: Some(of.clone()), reason: "x".repeat(POINT_BYTES) });
                let points = texts().flat_map(|of| points(Some(of), step.inputs.len())).collect();
                ParsedAnswer { given_up: given_up.collect(), ..raising(points) }
            }
            // Raise points, so that the draft is rewritten.
            (ResultKind::Check, _) if demanding => {
                // Let the checker find none of the changes, so that all points stay listed.
                let verification = |one: &Point| Statement {
                    point: one.id.clone(),
                    verdict: Found::NotFound,
                    section: None,
                    reason: Some(self.remark(length, listed.len())),
                };
                let verifications = listed.iter().filter(|_| disputes).map(verification).collect();
                ParsedAnswer { verifications, ..raising(points(None, 1)) }
            }
            (ResultKind::Check, _) => raising(Vec::new()),
            (ResultKind::Proposal, None) => ParsedAnswer {
                change: Some(Change { added: 1, removed: 1 }),
                decisions: (1..=DECISIONS).map(|number| decision(demanding.then_some(&key.agent_id), number)).collect(),
                answers: self.replies(step, length),
                ..ParsedAnswer::default()
            },
            // Let findings fill the whole text, so that the prompts of their readers are as long as possible.
            (ResultKind::Findings, _) => {
                let text = "x".repeat(length / POINTS);
                // Name the largest attachments, because the judge of a change in several parts sees the attachments
                // that findings name.
                let mut shown: Vec<_> =
                    self.debate.attachments.iter().filter(|one| one.part == Some(key.round)).collect();
                shown.sort_by_key(|one| std::cmp::Reverse(one.text.len()));
                let place = |at: usize| {
                    let path = shown.get(at % shown.len().max(1))?.name.trim_end_matches(DIFF_ENDING).to_owned();
                    Some(Place { path, lines: None })
                };
                let finding = |at| RaisedPoint { place: place(at), ..RaisedPoint::new(Severity::Major, text.as_str()) };
                ParsedAnswer { findings: Some((0..POINTS).map(finding).collect()), ..ParsedAnswer::default() }
            }
            (ResultKind::Opinion, Some(author)) => {
                let findings = self.debate.findings_of(author, key.round).unwrap_or_default();
                let reason = Some(self.filler(length / findings.len().max(1)));
                let opinion = |one: Report| Statement {
                    point: PointId::of_finding(&one.number),
                    verdict: Stance::Left,
                    section: None,
                    reason: reason.clone(),
                };
                ParsedAnswer { opinions: findings.into_iter().map(opinion).collect(), ..ParsedAnswer::default() }
            }
            (ResultKind::Opinion, None)
            | (ResultKind::Proposal, Some(_))
            | (
                ResultKind::Ballot
                | ResultKind::Material
                | ResultKind::Team
                | ResultKind::Agreement
                | ResultKind::Challenge
                | ResultKind::Kinds
                | ResultKind::Speech
                | ResultKind::Questions
                | ResultKind::Summary
                | ResultKind::Score
                | ResultKind::Verdict
                | ResultKind::Solution,
                _,
            ) => ParsedAnswer::default(),
        }
    }

    /// In a demanding rehearsal, accepts every new point in part, so that it is accepted but stays open. Otherwise
    /// empty.
    fn replies(&self, step: &Step, length: usize) -> Vec<Statement<Response>> {
        let CallKey { agent_id, round, .. } = &step.key;
        let ledger = self.answers.demanding.then(|| Ledger::seen_by(&self.debate, agent_id, *round, &step.inputs));
        let due = ledger.iter().flat_map(|ledger| ledger.to_answer(agent_id));
        let due: Vec<_> = due.filter(|one| one.response().is_none()).collect();
        let reply = |one: &&Point| Statement {
            point: one.id.clone(),
            verdict: Response::Partly,
            section: Some(String::new()),
            reason: Some(self.remark(length, due.len())),
        };
        due.iter().map(reply).collect()
    }

    /// If `disputes` is set, maintains every point, so that it stays on the lists. Otherwise empty.
    fn rechecks(&self, step: &Step, target: &AgentId, length: usize) -> Vec<Statement<RecheckStanding>> {
        let CallKey { agent_id, round, .. } = &step.key;
        let ledger = self.answers.disputes.then(|| Ledger::seen_by(&self.debate, target, *round, &step.inputs));
        let due = ledger.iter().flat_map(|ledger| ledger.to_recheck(agent_id, target));
        let due: Vec<_> = due.filter(|one| one.recheck().is_none()).collect();
        let recheck = |one: &&Point| Statement {
            point: one.id.clone(),
            verdict: RecheckStanding::Maintained,
            section: None,
            reason: Some(self.remark(length, due.len())),
        };
        due.iter().map(recheck).collect()
    }

    /// Filler for one remark, if an answer of `length` bytes contains `points` remarks.
    fn remark(&self, length: usize, points: usize) -> Arc<str> {
        let whole = length / points.max(1);
        self.filler(if self.answers.disputes { whole } else { REMARK_BYTES.min(whole) })
    }
}

fn apply(debate: &mut Debate, event: Event) {
    // Applying this event cannot fail; if it did, the forecast would only be lower.
    drop(debate.apply(&Recorded { seq: 0, at: Timestamp::now(), event }));
}

/// Applies the facts of the stage until the stage has no new facts. Returns whether any were applied.
fn establish(stage: &Stage, debate: &mut Debate) -> bool {
    let mut is_new = false;
    loop {
        let facts = (stage.facts)(debate);
        if facts.is_empty() {
            return is_new;
        }
        is_new = true;
        for fact in facts {
            apply(debate, fact);
        }
    }
}

fn leads_to_a_challenge(stage: &Stage, mut debate: Debate, event: Event) -> bool {
    apply(&mut debate, event);
    establish(stage, &mut debate);
    (stage.steps)(&debate)
        .iter()
        .any(|step| step.answer == OutputSpec::Challenge && debate.settled(&step.key).is_none())
}

fn decision(agent: Option<&AgentId>, number: usize) -> String {
    let unique = format!("{} {number} ", agent.map_or("all", AgentId::as_str));
    let filler = "x".repeat(DECISION_BYTES.saturating_sub(unique.len()));
    unique + &filler
}
