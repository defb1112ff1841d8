//! Turns a step into a call: the request, and the data for reading its answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dialectic_base::problem::major_requirements;
use dialectic_llm::{AnswerSchema, Request};
use dialectic_record::debate::{
    AgentId, AnswerFormat, Attachment, CallKey, Contribution, DIFF_ENDING, Debate, Ledger, Point, Position,
    RejectedApproach, Ruling, shuffled,
};
use dialectic_record::prompt::{
    self, ASSESS, AnsweredQuestion, Assess, Authored, BEGINNING, Beginning, Candidate, Focus, HISTORY, MaterialPart,
    OWN_HISTORY, OwnHistory, PromptError, TitledText, Values,
};
use dialectic_record::protocol::motion::debaters;
use dialectic_record::protocol::{Authorship, OutputSpec, PromptContext, Protocol, Step, criteria, criteria_or, side};

use super::compare::{RawChallenge, RawKinds, RawRelations, RawScores};
use super::compare::{dispute, short};
use super::points::DraftTexts;
use super::points::{ListedPoints, answered_at_the_end};
use super::reply::{self, Ballot, Questions, RawJudgement, RoundScore};
use super::rulings::{ListedFindings, RawRulings};
use super::texts::{
    Earlier, anonymous_transcript, earlier_answers, earlier_texts, final_texts, has_points, history, material,
    newest_summary, number, own_rounds, speeches, text_label, transcript, wants_histories, who_is_who, whole_length,
};
use super::texts::{Titled, bounded, length, shorten, total};
use super::{Agent, Labels, Panel};

/// The characters of texts that are only mentioned.
const MENTIONS: usize = 8000;
/// The characters of texts examined for kinds of argument, per text and in total.
const OBSERVED: usize = 24_000;
/// The approximate length of a word with its space: models count words better than characters.
const CHARACTERS_PER_WORD: usize = 7;
/// The placeholder for the texts in a user's summary prompt.
const CONTENT: &str = "{content}";

/// The beginning of every prompt in a debate. Identical bytes let providers cache it.
#[derive(Debug, Clone)]
pub struct SharedPrompt {
    system: Arc<str>,
    /// One for each round, which differ only in the parts of a change.
    beginnings: Vec<Arc<str>>,
}

/// A prepared call.
#[derive(Clone)]
pub struct Call {
    pub step: Step,
    pub request: Request,
    /// The authors of the labels in the request.
    pub labels: Labels,
    /// The characters of the debate's texts that it shows without shortening.
    pub length: usize,
    /// The characters missing for points that its lists left out.
    pub room: usize,
    /// How to read objections in the answer.
    pub(super) reads: Option<AnswerFormat>,
    /// The decisions shown, in order.
    pub(super) decisions: Vec<String>,
    /// The major requirements shown, in order.
    pub(super) requirements: Vec<String>,
    /// The calls whose texts are shown under numbers, in order.
    pub(super) numbered: Vec<CallKey>,
    /// The numbers of the findings that the judge rules on.
    pub(super) findings: Vec<String>,
    /// The scored criteria.
    pub(super) criteria: Vec<String>,
    /// The open points for the judge's rulings, or the accepted ones for the checker, in the order of the list.
    pub listed: Vec<Point>,
    /// The points of the check for the judge's final text to answer, and missing accepted points.
    pub(super) checked: Vec<Point>,
    /// The judge's rulings on the draft that its final text replaces.
    pub(super) standing: Vec<Ruling>,
    /// Builds the request for a missing assessment.
    pub(super) assess: Option<MakeAssessment>,
}

/// Builds a request from a solution.
pub(super) type MakeAssessment = Arc<dyn Fn(&str) -> Result<Request, PromptError> + Send + Sync>;

impl SharedPrompt {
    /// The prompt of a debate by `protocol` at its current state.
    ///
    /// # Errors
    /// The template is defective.
    pub fn of(protocol: &Protocol, debate: &Debate) -> Result<Self, PromptError> {
        let parts = debate.change.as_ref().map_or(1, |change| change.parts());
        let beginning = |part| beginning(debate, |_, one| one.part == Some(part));
        let beginnings = (1..=parts).map(beginning).collect::<Result<_, _>>()?;
        Ok(Self { system: protocol.system.render(&())?.into(), beginnings })
    }

    /// The beginning of a step's prompt. Who decides on a change in parts sees what the findings name.
    fn beginning(&self, debate: &Debate, step: &Step) -> Result<Arc<str>, PromptError> {
        if self.beginnings.len() > 1 && matches!(step.answer, OutputSpec::FindingRulings | OutputSpec::FollowUp) {
            let named = named_by_findings(debate);
            return beginning(debate, |at, _| named.contains(&at));
        }
        let round = usize::try_from(step.key.round).unwrap_or(usize::MAX).clamp(1, self.beginnings.len());
        Ok(Arc::clone(&self.beginnings[round - 1]))
    }

    fn request(&self, agent: &Agent, history: Option<&str>, body: &str, answer: Option<Arc<AnswerSchema>>) -> Request {
        let own_system = agent.role.own_system.as_deref();
        self.request_as(agent, own_system, &self.beginnings[0], history, body, answer)
    }

    /// A request without an agent's system prompt if `own_system` is `None`.
    fn request_as(
        &self,
        agent: &Agent,
        own_system: Option<&str>,
        beginning: &str,
        history: Option<&str>,
        body: &str,
        answer: Option<Arc<AnswerSchema>>,
    ) -> Request {
        let settings = &agent.settings;
        Request {
            model: settings.model.as_str().into(),
            temperature: settings.temperature,
            max_tokens: settings.max_tokens,
            // Providers cache identical beginnings, so shared parts precede an agent's own.
            system: own_system
                .map_or_else(|| Arc::clone(&self.system), |own| format!("{}\n\n{own}", self.system).into()),
            prompt: prompt::compose(beginning, history, body),
            turns: Vec::new(),
            answer,
            tools: Arc::new([]),
            tools_are_optional: false,
        }
    }
}

/// The beginning of prompts, with the attachments for everyone and those of a change for which `is_shown` holds.
fn beginning(debate: &Debate, is_shown: impl Fn(usize, &Attachment) -> bool) -> Result<Arc<str>, PromptError> {
    let questions = debate.questions();
    let clarifications: Vec<_> = questions
        .iter()
        .filter(|one| !one.answer.is_empty())
        .map(|one| AnsweredQuestion { question: one.text, answer: one.answer })
        .collect();
    // Tools show the repository of a change by the paths of its diff.
    let has_paths = debate.change.as_ref().is_some_and(|change| change.base.is_some());
    let settings = debate.settings.as_ref().filter(|_| !has_paths);
    let context_dir = settings.and_then(|settings| settings.context_dir.as_ref());
    let context_dir = context_dir.map(|path| path.display().to_string());
    let attachments: Vec<_> = debate
        .attachments
        .iter()
        .enumerate()
        .filter(|(at, one)| one.part.is_none() || is_shown(*at, one))
        .map(|(_, one)| one)
        .collect();
    let material = material(debate);
    let gathered: Vec<_> = material.iter().map(Titled::entry).collect();
    let beginning = Beginning {
        problem: debate.problem.trim_end(),
        attachments: &attachments,
        context_dir: context_dir.as_deref(),
        gathered: &gathered,
        clarifications: &clarifications,
    };
    Ok(BEGINNING.render(&beginning)?.into())
}

/// The places of the attachments that findings name, the diffs of the gravest findings first, as far as they take no
/// more room than the largest part of the change, less the findings.
fn named_by_findings(debate: &Debate) -> BTreeSet<usize> {
    let findings = debate.findings();
    let reports: Vec<_> = findings.iter().flat_map(|finding| &finding.reports).collect();
    let size = |part: Option<u32>| -> usize {
        debate.attachments.iter().filter(|one| one.part == part).map(|one| one.text.len()).sum()
    };
    let parts = debate.change.as_ref().map_or(1, |change| change.parts());
    let said: usize = reports.iter().map(|report| report.finding.text.len()).sum();
    let mut room = (1..=parts).map(|part| size(Some(part))).max().unwrap_or(0).saturating_sub(said);
    let mut named = BTreeSet::new();
    for ending in [DIFF_ENDING, ""] {
        for (report, place) in reports.iter().filter_map(|report| Some((report, report.finding.place.as_ref()?))) {
            let is_it = |one: &Attachment| {
                // An earlier review had other parts.
                let is_here = report.round == 0 || one.part == Some(report.round);
                is_here && one.part.is_some() && one.name.strip_suffix(ending) == Some(place.path.as_str())
            };
            for (at, one) in debate.attachments.iter().enumerate().filter(|(_, one)| is_it(one)) {
                if one.text.len() <= room && named.insert(at) {
                    room -= one.text.len();
                }
            }
        }
    }
    named
}

/// The texts in a request.
#[derive(Default)]
struct ShownTexts<'a> {
    inputs: Vec<&'a Arc<Contribution>>,
    points: Option<ListedPoints>,
    claims: String,
    approaches: String,
    labels: Labels,
    candidates: Vec<Titled<'a>>,
    own_summary: Option<&'a str>,
    history: Option<String>,
    rounds: Vec<prompt::OwnRound<'a>>,
    entries: Vec<Titled<'a>>,
    parts: Vec<(&'static str, Vec<Titled<'a>>)>,
    question: Option<&'a str>,
    draft: Option<DraftTexts>,
    findings: ListedFindings,
    dispute: Option<String>,
    decisions: Vec<String>,
    requirements: Vec<String>,
    numbered: Vec<CallKey>,
    length: usize,
}

impl<'a> ShownTexts<'a> {
    /// The texts of `step`; those that can be shortened get `room` characters.
    fn of(
        debate: &'a Debate,
        step: &Step,
        room: usize,
        numbers: &'a BTreeMap<AgentId, String>,
    ) -> Result<Self, PromptError> {
        let (agent, round) = (&step.key.agent_id, step.key.round);
        let inputs: Vec<&Arc<Contribution>> = step.inputs.iter().filter_map(|key| debate.contribution(key)).collect();
        let own_summary = || newest_summary(debate, agent).map(|(_, summary)| summary.summary.as_ref());
        let points = || ListedPoints::of(debate, step);
        Ok(match step.shows {
            PromptContext::Inputs => Self { inputs: unread(inputs), points: points(), ..Self::default() },
            PromptContext::InputsAndHistory => {
                let (texts, limit) = history(debate, agent, round);
                let history = if texts.is_empty() {
                    None
                } else {
                    let texts = bounded(texts, limit);
                    let entries: Vec<_> = texts.iter().map(Titled::entry).collect();
                    Some(HISTORY.with("entries", &entries)?)
                };
                let inputs = unread(inputs);
                Self { inputs, points: points(), own_summary: own_summary(), history, ..Self::default() }
            }
            PromptContext::InputsAndDispute => Self {
                inputs: unread(inputs),
                points: points(),
                dispute: dispute(debate, agent, round),
                ..Self::default()
            },
            PromptContext::Decisions => Self::of_decisions(debate, step),
            PromptContext::Texts => Self::of_texts(debate, step, room),
            PromptContext::Numbered => Self::of_numbered(debate, step, room),
            PromptContext::Candidates { salt } | PromptContext::CandidatesReversed { salt } => {
                let mut order = shuffled(inputs, debate.seed.unwrap_or_default(), salt);
                if matches!(step.shows, PromptContext::CandidatesReversed { .. }) {
                    order.reverse();
                }
                let numbered = |one: &&Arc<Contribution>| (number(debate, &one.agent_id), one.agent_id.clone());
                let labels = Labels::of_texts(order.iter().map(numbered));
                let named = labels.iter().map(|(label, _)| label.to_owned()).zip(&order);
                let mut candidates: Vec<_> = named.map(|(label, one)| Titled::new(label, &*one.content)).collect();
                let length = total(&candidates);
                shorten(&mut candidates, room);
                let (points, claims) = (points(), claims(debate, step));
                Self { points, claims, labels, candidates, length, ..Self::default() }
            }
            PromptContext::OwnTexts => {
                let rounds = own_rounds(debate, agent, round, numbers);
                let length = debate.own_text_length(agent, round);
                Self { rounds, own_summary: own_summary(), length, ..Self::default() }
            }
            PromptContext::Transcript => {
                let entries = transcript(debate, &inputs, round);
                Self { inputs, entries, ..Self::default() }
            }
            PromptContext::AnonymousTranscript { reversed } => {
                let debaters = debaters(debate, reversed);
                let labels = Labels::of_debaters(debaters);
                let mut entries = anonymous_transcript(debate, &labels);
                let length = total(&entries);
                shorten(&mut entries, room);
                Self { labels, entries, length, ..Self::default() }
            }
            PromptContext::Draft => {
                let draft = DraftTexts::of(debate, step);
                let length = draft.as_ref().map_or(0, DraftTexts::length);
                Self { inputs, points: points(), draft, length, ..Self::default() }
            }
            PromptContext::Findings => {
                let findings = ListedFindings::of(debate, step);
                Self { length: length(&findings.text), findings, ..Self::default() }
            }
            PromptContext::EarlierRounds => {
                let mut entries = earlier_texts(debate, Earlier::ToBeCondensed);
                entries.reverse();
                Self { entries, length: debate.earlier_text_length(), ..Self::default() }
            }
            PromptContext::WholeDebate => {
                let (points, claims, approaches) = (points(), claims(debate, step), approaches(debate));
                let (parts, length) = (whole_debate(debate, room), whole_length(debate));
                Self { points, claims, approaches, parts, length, ..Self::default() }
            }
            PromptContext::Record => Self::of_record(debate, step, room),
        })
    }

    /// The finished debate for a follow-up question, with names because no further decision depends on them.
    fn of_record(debate: &'a Debate, step: &Step, room: usize) -> Self {
        let number = usize::from(step.key.pass);
        let (earlier, asked) = debate.follow_ups.split_at(number.saturating_sub(1).min(debate.follow_ups.len()));
        let mut parts = vec![("Who took part", vec![Titled::new("By name", who_is_who(debate))])];
        if let Some(solution) = &debate.final_solution {
            parts.push(("The solution", vec![Titled::new("As the user has it", &*solution.description)]));
        }
        parts.push(("What the user asked before", earlier_answers(earlier)));
        let points = ListedPoints::of(debate, step);
        let taken: usize = parts.iter().map(|(_, texts)| total(texts)).sum();
        let taken = taken + points.as_ref().map_or(0, |points| length(&points.text));
        let mut speeches = speeches(debate);
        let length = total(&speeches) + taken;
        shorten(&mut speeches, room.saturating_sub(taken));
        parts.insert(1, ("Speeches", speeches));
        parts.retain(|(_, texts)| !texts.is_empty());
        let question = asked.first().map(|asked| &*asked.question);
        Self { points, parts, question, length, ..Self::default() }
    }

    /// The decisions of a step's inputs.
    fn of_decisions(debate: &'a Debate, step: &Step) -> Self {
        let wordings = debate.decisions_of(&step.inputs).wordings;
        let decisions: Vec<String> = wordings.into_iter().map(|wording| wording.decision).collect();
        let length = decisions.iter().map(|decision| length(decision)).sum();
        Self { decisions, requirements: major_requirements(&debate.problem), length, ..Self::default() }
    }

    /// The inputs of a step under their numbers, without authors; the agent's own text is separate.
    fn of_texts(debate: &'a Debate, step: &Step, room: usize) -> Self {
        let is_own = |one: &&Arc<Contribution>| one.agent_id == step.key.agent_id;
        let (inputs, there): (Vec<_>, Vec<_>) =
            step.inputs.iter().filter_map(|key| debate.contribution(key)).partition(is_own);
        let number = |one: &Contribution| debate.text_number(&one.agent_id).unwrap_or_default();
        let mut numbered: Vec<_> = there.into_iter().map(|one| (number(one), one)).collect();
        numbered.sort_by_key(|(number, _)| *number);
        let titled =
            |(number, one): (u32, &'a Arc<Contribution>)| Titled::new(format!("Text {number}"), one.without_answers());
        let mut entries: Vec<_> = numbered.into_iter().map(titled).collect();
        let own: usize = inputs.iter().map(|one| length(&one.content)).sum();
        let length = total(&entries) + own;
        shorten(&mut entries, room.saturating_sub(own));
        Self { inputs, entries, length, ..Self::default() }
    }

    /// The inputs of a step under numbers.
    fn of_numbered(debate: &'a Debate, step: &Step, room: usize) -> Self {
        let there: Vec<_> = step.inputs.iter().filter_map(|key| Some((key, debate.contribution(key)?))).collect();
        let title = |(number, (_, one)): (usize, &(&CallKey, &'a Arc<Contribution>))| {
            Titled::new(format!("Contribution {number}: {}", debate.words(one.stage).noun), one.without_answers())
        };
        let mut entries: Vec<_> = (1..).zip(&there).map(title).collect();
        let length = total(&entries);
        shorten(&mut entries, OBSERVED.min(room));
        let numbered = there.iter().map(|(key, _)| (*key).clone()).collect();
        Self { entries, numbered, length, ..Self::default() }
    }

    fn listed(&self) -> Option<&str> {
        let findings = Some(self.findings.text.trim_end()).filter(|text| !text.is_empty());
        self.points.as_ref().map(|listed| listed.text.as_str()).or(findings)
    }

    fn entries(&self) -> Vec<TitledText<'_>> {
        self.entries.iter().map(Titled::entry).collect()
    }

    /// The texts of a summary as shown in a prompt.
    fn content(&self) -> Result<String, PromptError> {
        if self.rounds.is_empty() {
            HISTORY.with("entries", &self.entries())
        } else {
            OWN_HISTORY.render(&OwnHistory { rounds: &self.rounds, own_summary: self.own_summary })
        }
    }
}

impl Call {
    /// Marks the answer to be read for objections.
    pub fn to_be_read(self, debate: &Debate) -> Self {
        let reads = AnswerFormat::of(debate, &self.step.key, &self.step.inputs);
        Self { reads, ..self }
    }
}

/// Prepares the call of `agent` for `step`. Texts that can be shortened get `room` characters.
///
/// # Errors
/// A template is defective.
pub fn prepare(
    panel: &Panel,
    agent: &Agent,
    shared: &SharedPrompt,
    debate: &Debate,
    step: &Step,
    room: usize,
) -> Result<Call, PromptError> {
    let numbers = numbers(debate);
    let number_of = |id: &AgentId| numbers.get(id).map_or_else(|| id.to_string(), String::clone);
    let shown = ShownTexts::of(debate, step, room, &numbers)?;
    let mut role = agent.role.focusing(step.prompt.focus);
    let focus;
    // A user's summary prompt may contain a placeholder for the texts.
    let places_texts = step.answer == OutputSpec::Summary && role.focus.contains(CONTENT);
    if places_texts {
        focus = role.focus.replace(CONTENT, &shown.content()?);
        role.focus = &focus;
    }
    let target = step.key.target_agent_id.as_ref().and_then(|id| panel.agent(id)).map(|one| one.settings.name.as_str());
    let criteria = criteria_for(debate, step);
    let texts: Vec<_> = shown.inputs.iter().map(|one| (number_of(&one.agent_id), one.without_answers())).collect();
    let values = Values {
        role,
        inputs: texts.iter().map(|(author, text)| Authored { author, text }).collect(),
        candidates: shown.candidates.iter().map(|one| Candidate { label: &one.title, text: &one.text }).collect(),
        own_summary: shown.own_summary.filter(|_| !places_texts),
        rounds: if places_texts { Vec::new() } else { shown.rounds.clone() },
        entries: if places_texts { Vec::new() } else { shown.entries() },
        material: shown
            .parts
            .iter()
            .map(|(heading, texts)| MaterialPart { heading, entries: texts.iter().map(Titled::entry).collect() })
            .collect(),
        points: shown.listed(),
        claims: Some(shown.claims.as_str()).filter(|claims| !claims.is_empty()),
        approaches: Some(shown.approaches.as_str()).filter(|approaches| !approaches.is_empty()),
        draft: shown.draft.as_ref().map(DraftTexts::shown),
        question: shown.question,
        dispute: shown.dispute.as_deref(),
        decisions: shown.decisions.iter().map(String::as_str).collect(),
        requirements: shown.requirements.clone(),
        base: base_of(step, &shown.labels),
        side: debate.settings.as_ref().map_or(Position::Neutral, |settings| side(settings, &agent.settings.id)).name(),
        target,
        debaters: shown.labels.iter().map(|(label, _)| label).collect(),
        criteria: criteria.clone(),
        max_questions: if let OutputSpec::Questions { most } = step.answer { most } else { 0 },
        max_words: agent.settings.summarization.max_length / CHARACTERS_PER_WORD,
    };
    let body = step.prompt.render(&values)?;
    let answer = match &step.answer {
        OutputSpec::Text
        | OutputSpec::Summary
        | OutputSpec::FollowUp
        | OutputSpec::Check(_)
        | OutputSpec::Amendment
        | OutputSpec::Solution(_) => None,
        OutputSpec::Questions { .. } => Some(Arc::new(Questions::schema())),
        OutputSpec::Score(_) => Some(Arc::new(RoundScore::schema())),
        OutputSpec::Choice => Some(Arc::new(Ballot::schema())),
        OutputSpec::Word(words) => Some(Arc::new(Ballot::schema_of(words))),
        OutputSpec::Relations => Some(Arc::new(RawRelations::schema(!shown.requirements.is_empty()))),
        OutputSpec::Challenge => Some(Arc::new(RawChallenge::schema())),
        OutputSpec::Kinds => Some(Arc::new(RawKinds::schema())),
        OutputSpec::FindingRulings => Some(RawRulings::schema()),
        OutputSpec::Judgement => Some(Arc::new(RawJudgement::schema(&shown.labels, &criteria))),
        OutputSpec::Scores(_) => Some(Arc::new(RawScores::schema(&shown.labels, &criteria))),
    };
    // A checker has no role.
    let own_system = agent.role.own_system.as_deref().filter(|_| !matches!(step.answer, OutputSpec::Check(_)));
    let beginning = shared.beginning(debate, step)?;
    let request = shared.request_as(agent, own_system, &beginning, shown.history.as_deref(), &body, answer);
    let assess = if let OutputSpec::Solution(authorship) = &step.answer {
        Some(assessing(shared, agent, authorship, &shown))
    } else {
        None
    };
    let criteria = criteria.into_iter().map(str::to_owned).collect();
    let is_solution = matches!(step.answer, OutputSpec::Solution(_) | OutputSpec::Challenge);
    let is_check = matches!(step.answer, OutputSpec::Check(_));
    let accepted = shown.draft.as_ref().filter(|_| is_check).map(|draft| &draft.accepted);
    let listed = shown.points.as_ref().filter(|_| is_solution).or(accepted);
    let listed = listed.map(|listed| listed.points.clone()).unwrap_or_default();
    let is_final = step.shows == PromptContext::Draft && step.answer == OutputSpec::Solution(Authorship::Judge);
    let standing = debate.draft.iter().filter(|_| is_final).flat_map(|draft| &draft.rulings).cloned().collect();
    let room = shown.points.as_ref().map_or(0, |listed| listed.room) + shown.draft.as_ref().map_or(0, DraftTexts::room);
    let ShownTexts { labels, length, decisions, requirements, numbered, findings, .. } = shown;
    Ok(Call {
        step: step.clone(),
        request,
        labels,
        length,
        room,
        reads: None,
        decisions,
        requirements,
        numbered,
        findings: findings.numbers,
        criteria,
        listed,
        checked: points_of_check(debate, step),
        standing,
        assess,
    })
}

/// The points of the newest check, and accepted points that it did not find, for the judge's final text.
fn points_of_check(debate: &Debate, step: &Step) -> Vec<Point> {
    let is_final = step.shows == PromptContext::Draft && step.answer == OutputSpec::Solution(Authorship::Judge);
    let draft = debate.newest_draft().filter(|_| is_final);
    draft.map(|draft| answered_at_the_end(&Ledger::of(debate), &draft)).unwrap_or_default()
}

/// The criteria of the judge in a step.
fn criteria_for<'a>(debate: &'a Debate, step: &Step) -> Vec<&'a str> {
    let Some(settings) = &debate.settings else { return Vec::new() };
    if let OutputSpec::Scores(default) = &step.answer { criteria_or(settings, default) } else { criteria(settings) }
}

/// The label of the candidate on which a step builds its solution.
fn base_of<'a>(step: &Step, labels: &'a Labels) -> Option<&'a str> {
    let OutputSpec::Solution(Authorship::Based(key)) = &step.answer else { return None };
    labels.iter().find(|(_, author)| **author == key.agent_id).map(|(label, _)| label)
}

/// The last round and the earlier parts, in `room` characters.
fn whole_debate(debate: &Debate, room: usize) -> Vec<(&'static str, Vec<Titled<'_>>)> {
    let histories = wants_histories(debate);
    let mut last = final_texts(debate, histories);
    let left = room.saturating_sub(total(&last));
    shorten(&mut last, room);
    let limit = debate.settings.as_ref().map_or(usize::MAX, |settings| settings.debate.history_limit);
    let earlier = match &debate.judge_summary {
        Some(summary) if length(&summary.summary) <= left => {
            vec![Titled::new("Your summary of them", &*summary.summary)]
        }
        None if histories && left > MENTIONS => {
            bounded(earlier_texts(debate, Earlier::Whole), limit.min(left - MENTIONS))
        }
        Some(_) | None => Vec::new(),
    };
    let mut parts = vec![("Earlier rounds", earlier), ("The texts", last)];
    parts.retain(|(_, texts)| !texts.is_empty());
    parts
}

/// An item for each point accepted in the last round and never rechecked, for the author of a solution.
fn claims(debate: &Debate, step: &Step) -> String {
    if !matches!(step.answer, OutputSpec::Solution(_)) {
        return String::new();
    }
    let ledger = Ledger::of(debate);
    let item = |one: &Point| format!("- {}: {}", one.with_place(), short(&one.point.in_words()));
    ledger.claimed_last(debate).into_iter().map(item).collect::<Vec<_>>().join("\n")
}

/// An item for each review that rejects whole approaches.
fn approaches(debate: &Debate) -> String {
    let item = |(by, one): &(&AgentId, &RejectedApproach)| {
        let whose = match &one.target {
            Some(target) if target == *by => "gives up its own approach".to_owned(),
            Some(target) => format!("gives up the approach of {}", text_label(debate, target)),
            None => "gives up an approach".to_owned(),
        };
        format!("- The author of {} {whose}: {}", text_label(debate, by), one.remark().replace('\n', "\n  "))
    };
    Ledger::given_up(debate).iter().map(item).collect::<Vec<_>>().join("\n")
}

/// The texts of a step, without critiques whose points are listed in its prompt.
fn unread(mut inputs: Vec<&Arc<Contribution>>) -> Vec<&Arc<Contribution>> {
    inputs.retain(|one| one.target_agent_id.is_none() || !has_points(one));
    inputs
}

/// The number of each agent's text in prompts.
fn numbers(debate: &Debate) -> BTreeMap<AgentId, String> {
    let agents = debate.settings.iter().flat_map(|settings| &settings.agents);
    agents.map(|agent| (agent.id.clone(), number(debate, &agent.id))).collect()
}

/// Builds requests for the missing assessment of a solution.
fn assessing(shared: &SharedPrompt, agent: &Agent, authorship: &Authorship, shown: &ShownTexts<'_>) -> MakeAssessment {
    let (shared, agent) = (shared.clone(), agent.clone());
    let is_amended = *authorship == Authorship::Amended;
    let labels = if is_amended { shown.labels.clone() } else { Labels::default() };
    let texts: Vec<String> = shown.candidates.iter().map(|one| one.text.clone().into_owned()).collect();
    let points = shown.listed().map(str::to_owned);
    let answered = shown.points.as_ref().is_none_or(|listed| !listed.points.iter().any(|one| one.is_unanswerable));
    Arc::new(move |solution| assess(&shared, &agent, solution, &labels, &texts, (points.as_deref(), answered)))
}

/// Requests an assessment of `solution`, which may amend one of `candidates`.
fn assess(
    shared: &SharedPrompt,
    judge: &Agent,
    solution: &str,
    labels: &Labels,
    candidates: &[String],
    (points, answered): (Option<&str>, bool),
) -> Result<Request, PromptError> {
    let candidates: Vec<_> =
        labels.iter().zip(candidates).map(|((label, _), text)| Candidate { label, text }).collect();
    let role = judge.role.focusing(Focus::None);
    let body = ASSESS.render(&Assess { candidates: &candidates, points, answered, solution, role })?;
    Ok(shared.request(judge, None, &body, Some(reply::assessment(!candidates.is_empty(), points.is_some()))))
}
