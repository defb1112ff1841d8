//! Turns a step into a call: the request, and the data for reading its answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use dialectic_base::problem::major_requirements;
use dialectic_llm::{AnswerSchema, Request};
use dialectic_record::change::DIFF_ENDING;
use dialectic_record::debate::{Attachment, Contribution, Debate, shuffled};
use dialectic_record::ids::AgentId;
use dialectic_record::points::{AnswerFormat, Ledger, ParsedAnswer, Point, RejectedApproach, Ruling};
use dialectic_record::prompt::{
    self, ASSESS, Assess, Authored, BEGINNING, Beginning, Focus, FocusedRole, HISTORY, Label, Listing, MaterialPart,
    OWN_HISTORY, PromptError, Titled, Values,
};
use dialectic_record::protocol::motion::{DEFAULT_CRITERIA, criteria_or, debaters, side};
use dialectic_record::protocol::{Authorship, OutputSpec, PromptContext, Step};
use dialectic_record::settings::Position;

use super::compare::{RawChallenge, RawKinds, RawRelations, RawScores, dispute, short};
use super::labels::{of_debaters, word_for};
use super::points::{answered_at_the_end, checked_draft, listed};
use super::reply::{self, Ballot, Questions, RawJudgement, RoundScore};
use super::rulings::{RawRulings, show_findings};
use super::texts::{
    Earlier, anonymous_transcript, bounded, earlier_answers, earlier_texts, final_texts, has_points, history, length,
    material, newest_summary, number, own_rounds, shorten, speeches, text_label, total, transcript, wants_histories,
    who_is_who,
};
use super::{Agent, Panel};

/// The number of characters reserved for older texts that are shown as one line each.
const MENTIONS: usize = 8000;
/// The maximum total length in characters of the texts that are examined for kinds of argument.
const OBSERVED: usize = 24_000;
/// The approximate length of a word with its space. Prompts state limits in words, because models count words better
/// than characters.
const CHARACTERS_PER_WORD: usize = 7;
const CONTENT: &str = "{content}";

#[derive(Clone)]
pub struct Call {
    pub step: Step,
    pub request: Request,
    /// What the answer may refer to. In a check, the points are the accepted ones.
    pub listing: Listing,
    /// The total length in characters of the debate's texts in the request, before shortening.
    pub length: usize,
    /// The number of characters that the point lists leave unused because the next point did not fit; 0 if all points
    /// fit.
    pub room: usize,
    /// Set by [`to_be_read`](Self::to_be_read); `None` if no statements are expected.
    pub(super) reads: Option<AnswerFormat>,
    /// The points that the judge's final text must answer: see [`answered_at_the_end`].
    pub(super) checked: Vec<Point>,
    /// The rulings on the old draft; empty unless the answer is the judge's final text.
    pub(super) standing: Vec<Ruling>,
    pub(super) assess: Option<MakeAssessment>,
}

impl Agent {
    fn request(&self, prompt: Arc<str>, answer: Option<AnswerSchema>) -> Request {
        Request {
            model: self.settings.model.as_str().into(),
            temperature: self.settings.temperature,
            max_tokens: self.settings.max_tokens,
            system: Arc::clone(&self.system),
            prompt,
            turns: Vec::new(),
            answer: answer.map(Arc::new),
            tools: Arc::new([]),
            tools_are_optional: false,
        }
    }
}

/// Builds the request for a missing assessment. The argument is the solution.
pub(super) type MakeAssessment = Arc<dyn Fn(&str) -> Result<Request, PromptError> + Send + Sync>;

/// Renders the text with which all prompts of a debate begin, because providers cache identical beginnings. A change
/// that is reviewed in parts has one beginning for each part, and thus for each round.
///
/// # Errors
///
/// Returns an error if the template cannot be rendered.
pub fn beginnings(debate: &Debate) -> Result<Arc<[Arc<str>]>, PromptError> {
    let parts = debate.change.as_ref().map_or(1, |change| change.parts());
    (1..=parts).map(|part| beginning(debate, |_, one| one.part == Some(part))).collect()
}

/// Renders a beginning with every ordinary attachment, and with those attachments of a change that `is_shown` accepts.
fn beginning(debate: &Debate, is_shown: impl Fn(usize, &Attachment) -> bool) -> Result<Arc<str>, PromptError> {
    let questions = debate.questions();
    let clarifications: Vec<_> = questions.iter().filter(|one| !one.answer.is_empty()).collect();
    // In a review, tools use the paths of the diff, so the directory must not be shown.
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
    let beginning = Beginning {
        problem: debate.problem.trim_end(),
        attachments: &attachments,
        context_dir: context_dir.as_deref(),
        gathered: &material,
        clarifications: &clarifications,
    };
    Ok(BEGINNING.render(&beginning)?.into())
}

/// Returns the indices of the attachments that findings name. Their total size in bytes is limited to the size of the
/// largest part of the change, minus that of the findings. If not all attachments fit, diffs come before files, and
/// attachments of graver findings before those of others.
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
                // A finding of an earlier review (round 0) may name a file of any part, because the change was divided
                // differently then.
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

/// Collects what the prompt of `step` shows. Texts that may be shortened are cut to `room` characters in total.
fn shown<'a>(debate: &'a Debate, step: &Step, room: usize) -> Values<'a> {
    let (agent, round) = (&step.key.agent_id, step.key.round);
    let inputs: Vec<&Arc<Contribution>> = step.inputs.iter().filter_map(|key| debate.contribution(key)).collect();
    let own_summary = || newest_summary(debate, agent).map(|(_, summary)| summary.summary.as_ref());
    let listing = Listing { points: listed(debate, step), criteria: criteria_for(debate, step), ..Listing::default() };
    let mut values = Values { listing, ..Values::default() };
    match step.shows {
        PromptContext::Inputs => values.inputs = unread(debate, inputs),
        PromptContext::InputsAndHistory => {
            (values.inputs, values.own_summary) = (unread(debate, inputs), own_summary());
        }
        PromptContext::InputsAndDispute => {
            (values.inputs, values.dispute) = (unread(debate, inputs), dispute(debate, agent, round));
        }
        PromptContext::Decisions => {
            let wordings = debate.decisions_of(&step.inputs).wordings;
            values.listing.decisions = wordings.into_iter().map(|wording| wording.decision).collect();
            values.listing.requirements = major_requirements(&debate.problem);
            values.length = values.listing.decisions.iter().map(|decision| length(decision)).sum();
        }
        PromptContext::Texts => show_texts(&mut values, debate, step, room),
        PromptContext::Numbered => {
            let title = |(number, one): (usize, &&'a Arc<Contribution>)| {
                Titled::new(format!("Contribution {number}: {}", debate.words(one.stage).noun), one.without_answers())
            };
            values.entries = (1..).zip(&inputs).map(title).collect();
            values.length = total(&values.entries);
            shorten(&mut values.entries, OBSERVED.min(room));
            let there = step.inputs.iter().filter(|key| debate.contribution(key).is_some());
            values.listing.numbered = there.cloned().collect();
        }
        PromptContext::Candidates { salt } | PromptContext::CandidatesReversed { salt } => {
            let mut order = shuffled(inputs, debate.seed.unwrap_or_default(), salt);
            if matches!(step.shows, PromptContext::CandidatesReversed { .. }) {
                order.reverse();
            }
            let candidate = |one: &&'a Arc<Contribution>| Titled::new(number(debate, &one.agent_id), &*one.content);
            values.candidates = order.iter().map(candidate).collect();
            let label = |one: &Arc<Contribution>| Label {
                word: number(debate, &one.agent_id),
                author: one.agent_id.clone(),
                name: one.agent_id.to_string(),
            };
            values.listing.labels = order.into_iter().map(label).collect();
            values.length = total(&values.candidates);
            shorten(&mut values.candidates, room);
            values.claims = claims(debate, step);
        }
        PromptContext::OwnTexts => {
            (values.rounds, values.own_summary) = (own_rounds(debate, agent, round), own_summary());
            values.length = debate.own_text_lengths(agent, round).sum();
        }
        PromptContext::Transcript => values.entries = transcript(debate, &inputs, round),
        PromptContext::AnonymousTranscript { reversed } => {
            values.listing.labels = of_debaters(debaters(debate, reversed));
            values.entries = anonymous_transcript(debate, &values.listing.labels);
            values.length = total(&values.entries);
            shorten(&mut values.entries, room);
        }
        PromptContext::Draft => {
            values.draft = checked_draft(debate, step);
            values.length = values.draft.as_ref().map_or(0, |draft| {
                let texts = [&draft.text, &draft.assessment, &draft.accepted.text, &draft.points];
                texts.into_iter().map(|text| length(text)).sum()
            });
        }
        PromptContext::Findings => show_findings(&mut values, debate, step),
        PromptContext::EarlierRounds => {
            values.entries = earlier_texts(debate, Earlier::ToBeCondensed);
            values.entries.reverse();
            values.length = debate.earlier_text_length();
        }
        PromptContext::WholeDebate => {
            (values.claims, values.approaches) = (claims(debate, step), approaches(debate));
            show_whole_debate(&mut values, debate, room);
        }
        PromptContext::Record => show_record(&mut values, debate, step, room),
    }
    values
}

/// Shows the finished debate for a follow-up question. Includes names, because they can no longer bias a decision.
fn show_record<'a>(values: &mut Values<'a>, debate: &'a Debate, step: &Step, room: usize) {
    let number = usize::from(step.key.pass);
    let (earlier, asked) = debate.follow_ups.split_at(number.saturating_sub(1).min(debate.follow_ups.len()));
    let part = |heading, entries| MaterialPart { heading, entries };
    let mut parts = vec![part("Who took part", vec![Titled::new("By name", who_is_who(debate))])];
    if let Some(solution) = &debate.final_solution {
        parts.push(part("The solution", vec![Titled::new("As the user has it", &*solution.description)]));
    }
    parts.push(part("What the user asked before", earlier_answers(earlier)));
    let taken: usize = parts.iter().map(|part| total(&part.entries)).sum();
    let taken = taken + length(&values.listing.points.text);
    let mut speeches = speeches(debate);
    values.length = total(&speeches) + taken;
    shorten(&mut speeches, room.saturating_sub(taken));
    parts.insert(1, part("Speeches", speeches));
    parts.retain(|part| !part.entries.is_empty());
    values.material = parts;
    values.question = asked.first().map(|asked| &*asked.question);
}

fn show_texts<'a>(values: &mut Values<'a>, debate: &'a Debate, step: &Step, room: usize) {
    let is_own = |one: &&Arc<Contribution>| one.agent_id == step.key.agent_id;
    let (own, there): (Vec<_>, Vec<_>) =
        step.inputs.iter().filter_map(|key| debate.contribution(key)).partition(is_own);
    let number = |one: &Contribution| debate.text_number(&one.agent_id).unwrap_or_default();
    let mut numbered: Vec<_> = there.into_iter().map(|one| (number(one), one)).collect();
    numbered.sort_by_key(|(number, _)| *number);
    let titled =
        |(number, one): (u32, &'a Arc<Contribution>)| Titled::new(format!("Text {number}"), one.without_answers());
    values.entries = numbered.into_iter().map(titled).collect();
    let taken: usize = own.iter().map(|one| length(&one.content)).sum();
    values.length = total(&values.entries) + taken;
    shorten(&mut values.entries, room.saturating_sub(taken));
    values.inputs = own.into_iter().map(|one| authored(debate, one)).collect();
}

impl Call {
    /// Must be called before the answer is read: otherwise, no statements are parsed from the answer.
    pub fn to_be_read(self, debate: &Debate) -> Self {
        let reads = AnswerFormat::of(debate, &self.step.key, &self.step.inputs);
        Self { reads, ..self }
    }

    /// Parses the statements in the answer; `None` if none were requested or found.
    pub(super) fn read(&self, text: &str) -> Option<Box<ParsedAnswer>> {
        let reading = self.reads.as_ref()?.read(text);
        Some(reading).filter(ParsedAnswer::says_something).map(Box::new)
    }
}

/// Prepares the call of `agent` for `step`. Texts that may be shortened are cut to `room` characters in total.
///
/// # Errors
///
/// Returns an error if a template cannot be rendered.
pub fn prepare(
    panel: &Panel,
    agent: &Agent,
    beginnings: &[Arc<str>],
    debate: &Debate,
    step: &Step,
    room: usize,
) -> Result<Call, PromptError> {
    let focus;
    let values = shown(debate, step, room);
    let mut values = Values {
        role: agent.role.focusing(step.prompt.focus),
        base: base_of(step, &values.listing.labels),
        side: debate.settings.as_ref().map_or(Position::Neutral, |settings| side(settings, &agent.settings.id)).name(),
        target: step.key.target_agent_id.as_ref().and_then(|id| panel.agent(id)).map(|one| &*one.settings.name),
        max_questions: if let OutputSpec::Questions { most } = step.answer { most } else { 0 },
        max_words: agent.settings.summarization.max_length / CHARACTERS_PER_WORD,
        ..values
    };
    // A user's summary prompt may contain a placeholder for the texts to summarize.
    if step.answer == OutputSpec::Summary && values.role.focus.contains(CONTENT) {
        let texts = if values.rounds.is_empty() { &HISTORY } else { &OWN_HISTORY };
        focus = values.role.focus.replace(CONTENT, &texts.render(&values)?);
        let role = FocusedRole { focus: &focus, ..values.role };
        values = Values { role, own_summary: None, rounds: Vec::new(), entries: Vec::new(), ..values };
    }
    let has_history = step.shows == PromptContext::InputsAndHistory;
    let history = if has_history { history(debate, &step.key.agent_id, step.key.round) } else { Vec::new() };
    let history = (!history.is_empty()).then(|| HISTORY.with("entries", &history)).transpose()?;
    let body = step.prompt.render(&values)?;
    // A ruling or an answer about a change in parts requires the attachments that the findings name.
    let of_findings = matches!(step.answer, OutputSpec::FindingRulings | OutputSpec::FollowUp);
    let beginning = if beginnings.len() > 1 && of_findings {
        let named = named_by_findings(debate);
        beginning(debate, |at, _| named.contains(&at))?
    } else {
        let round = usize::try_from(step.key.round).unwrap_or(usize::MAX).clamp(1, beginnings.len());
        Arc::clone(&beginnings[round - 1])
    };
    let prompt = prompt::compose(&beginning, history.as_deref(), &body);
    let mut request = agent.request(prompt, schema(step, &values.listing));
    let is_check = matches!(step.answer, OutputSpec::Check(_));
    if is_check {
        // A checker has no role, so the request has only the shared system text.
        request.system = Arc::clone(&panel.system);
    }
    let is_solution = matches!(step.answer, OutputSpec::Solution(_));
    let assess = is_solution.then(|| assessing(&beginnings[0], agent, step, &values));
    let is_final = step.shows == PromptContext::Draft && step.answer == OutputSpec::Solution(Authorship::Judge);
    let standing = debate.draft.iter().filter(|_| is_final).flat_map(|draft| &draft.rulings).cloned().collect();
    let checked = debate.newest_draft().filter(|_| is_final);
    let checked = checked.map(|draft| answered_at_the_end(&Ledger::of(debate), &draft)).unwrap_or_default();
    let Values { mut listing, draft, length, .. } = values;
    let accepted = draft.map(|draft| draft.accepted).unwrap_or_default();
    let room = listing.points.room + accepted.room;
    if is_check {
        listing.points = accepted;
    }
    Ok(Call { step: step.clone(), request, listing, length, room, reads: None, checked, standing, assess })
}

fn schema(step: &Step, listing: &Listing) -> Option<AnswerSchema> {
    let Listing { labels, requirements, criteria, .. } = listing;
    Some(match &step.answer {
        OutputSpec::Text
        | OutputSpec::Summary
        | OutputSpec::FollowUp
        | OutputSpec::Check(_)
        | OutputSpec::Amendment
        | OutputSpec::Solution(_) => return None,
        OutputSpec::Questions { .. } => Questions::schema(),
        OutputSpec::Score(_) => AnswerSchema::of::<RoundScore>("evaluation"),
        OutputSpec::Choice => AnswerSchema::of::<Ballot>("ballot"),
        OutputSpec::Word(words) => Ballot::schema_of(words),
        OutputSpec::Relations => RawRelations::schema(!requirements.is_empty()),
        OutputSpec::Challenge => AnswerSchema::of::<RawChallenge>("challenge"),
        OutputSpec::Kinds => AnswerSchema::of::<RawKinds>("kinds"),
        OutputSpec::FindingRulings => RawRulings::schema(),
        OutputSpec::Judgement => RawJudgement::schema(labels, criteria),
        OutputSpec::Scores(_) => RawScores::schema(labels, criteria),
        OutputSpec::Json(kind) => AnswerSchema::with_root(kind.name, kind.schema),
    })
}

fn criteria_for(debate: &Debate, step: &Step) -> Vec<String> {
    let Some(settings) = &debate.settings else { return Vec::new() };
    let default = if let OutputSpec::Scores(default) = step.answer { default } else { &DEFAULT_CRITERIA };
    criteria_or(settings, default).into_iter().map(str::to_owned).collect()
}

fn base_of(step: &Step, labels: &[Label]) -> Option<String> {
    let OutputSpec::Solution(Authorship::Based(key)) = &step.answer else { return None };
    word_for(labels, &key.agent_id).map(str::to_owned)
}

fn show_whole_debate<'a>(values: &mut Values<'a>, debate: &'a Debate, room: usize) {
    let histories = wants_histories(debate);
    let mut last = final_texts(debate, histories);
    let of_last = total(&last);
    let left = room.saturating_sub(of_last);
    shorten(&mut last, room);
    let limit = debate.settings.as_ref().map_or(usize::MAX, |settings| settings.debate.history_limit);
    let (earlier, of_earlier) = match &debate.judge_summary {
        Some(summary) => {
            let whole = length(&summary.summary);
            let shown = (whole <= left).then(|| Titled::new("Your summary of them", &*summary.summary));
            (shown.into_iter().collect(), whole)
        }
        None if histories => {
            let texts = earlier_texts(debate, Earlier::Whole);
            let whole = total(&texts).min(limit);
            let room = left.saturating_sub(MENTIONS);
            (if room > 0 { bounded(texts, limit.min(room)) } else { Vec::new() }, whole)
        }
        None => (Vec::new(), 0),
    };
    values.length = of_last + of_earlier;
    let parts = [("Earlier rounds", earlier), ("The texts", last)];
    let parts = parts.map(|(heading, entries)| MaterialPart { heading, entries });
    values.material = parts.into_iter().filter(|part| !part.entries.is_empty()).collect();
}

/// The points that were accepted in the last round and never rechecked. Empty unless `step` is for a solution.
fn claims(debate: &Debate, step: &Step) -> String {
    if !matches!(step.answer, OutputSpec::Solution(_)) {
        return String::new();
    }
    let ledger = Ledger::of(debate);
    let item = |one: &Point| format!("- {}: {}", one.with_place(), short(&one.point.in_words()));
    ledger.claimed_last(debate).into_iter().map(item).collect::<Vec<_>>().join("\n")
}

fn approaches(debate: &Debate) -> String {
    let item = |(by, one): &(&AgentId, &RejectedApproach)| {
        let whose = match &one.target {
            Some(target) if target == *by => "gives up its own approach".to_owned(),
            Some(target) => format!("rejects the approach of {}", text_label(debate, target)),
            None => "gives up an approach".to_owned(),
        };
        format!("- The author of {} {whose}: {}", text_label(debate, by), one.remark().replace('\n', "\n  "))
    };
    Ledger::given_up(debate).iter().map(item).collect::<Vec<_>>().join("\n")
}

fn unread<'a>(debate: &Debate, inputs: Vec<&'a Arc<Contribution>>) -> Vec<Authored<'a>> {
    let unread = inputs.into_iter().filter(|one| one.target_agent_id.is_none() || !has_points(one));
    unread.map(|one| authored(debate, one)).collect()
}

fn authored<'a>(debate: &Debate, one: &'a Contribution) -> Authored<'a> {
    Authored { author: number(debate, &one.agent_id), text: one.without_answers() }
}

fn assessing(beginning: &Arc<str>, judge: &Agent, step: &Step, values: &Values<'_>) -> MakeAssessment {
    let (beginning, judge) = (Arc::clone(beginning), judge.clone());
    let is_amended = step.answer == OutputSpec::Solution(Authorship::Amended);
    let candidates = values.candidates.iter().filter(|_| is_amended);
    let owned = |one: &Titled<'_>| Titled::new(one.title.as_str(), one.text.clone().into_owned());
    let candidates: Vec<Titled<'static>> = candidates.map(owned).collect();
    let points = values.listing.points.text.clone();
    let answered = !values.listing.points.points.iter().any(|one| one.is_unanswerable);
    Arc::new(move |solution| {
        let role = judge.role.focusing(Focus::None);
        let body = ASSESS.render(&Assess { candidates: &candidates, points: &points, answered, solution, role })?;
        let answer = reply::assessment(!candidates.is_empty(), !points.is_empty());
        Ok(judge.request(prompt::compose(&beginning, None, &body), Some(answer)))
    })
}
