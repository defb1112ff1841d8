//! Lets judges compare two answers, and saves every reply as it arrives.

use std::collections::VecDeque;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::cli::interrupt::Interrupts;
use crate::cli::session::debates;
use crate::error::Error;
use crate::lift::{
    Judge, Note, Notes, Preference, Problem, Question, Ruling, Side, checklist_items, checklist_question,
    ruling_question,
};
use dialectic_base::money::Usd;
use dialectic_base::provider::OFFLINE;
use dialectic_engine::runner::note_spent;
use dialectic_llm::models::family;
use dialectic_record::debate::{AgentId, AgentSettings};

use super::purse::{Purse, Spent};

/// The maximum number of questions in flight.
const IN_FLIGHT: usize = 8;

/// The two questions of each ruling, by each judge and in each repetition: the debate's text is shown first, then the
/// arm's.
fn pairs(
    judges: &[Judge],
    problem: &Problem,
    checklist: &[String],
    texts: [&str; 2],
    repeat: u32,
) -> Vec<[Question; 2]> {
    let [debate, arm] = texts;
    let pair = |judge: &Judge, number| {
        let ask = |texts| ruling_question(judge, &problem.text, checklist, texts, number);
        [ask([debate, arm]), ask([arm, debate])]
    };
    judges.iter().flat_map(|judge| (1..=repeat).map(move |number| pair(judge, number))).collect()
}

/// The unanswered questions for comparing two answers. `foreseen` stands in for a checklist that does not exist yet.
pub(in crate::cli) fn open_questions(
    judges: &[Judge],
    notes: &Notes,
    problem: &Problem,
    foreseen: Vec<String>,
    texts: [&str; 2],
    repeat: u32,
) -> Vec<Question> {
    let Some(first) = judges.first() else { return Vec::new() };
    let mut open = Vec::new();
    let made = checklist_question(first, &problem.text);
    let checklist = match (problem.checklist.is_empty(), notes.answer(&made.id)) {
        (false, _) => problem.checklist.clone(),
        (true, Some(answer)) => checklist_items(answer),
        (true, None) => {
            open.push(made);
            foreseen
        }
    };
    open.extend(pairs(judges, problem, &checklist, texts, repeat).into_iter().flatten());
    open.retain(|question| notes.answer(&question.id).is_none());
    open
}

/// The warnings about judges related to the participants.
pub(in crate::cli) fn relations<'a, I>(judges: &[Judge], took_part: impl Fn() -> I) -> Vec<String>
where
    I: Iterator<Item = &'a AgentSettings>,
{
    let mut said = Vec::new();
    for Judge { settings, .. } in judges.iter().filter(|judge| judge.settings.provider != OFFLINE) {
        let (id, model) = (&settings.id, &settings.model);
        if took_part().any(|agent| agent.model == *model) {
            said.push(format!("judge {id}: its model, {model}, took part; models prefer their own texts"));
            continue;
        }
        match family(model) {
            None => said
                .push(format!("judge {id}: the family of {model} is unknown, so it may be related to a participant")),
            Some(own) if took_part().any(|agent| family(&agent.model) == Some(own)) => {
                said.push(format!(
                    "judge {id}: a model of its family, {own}, took part; models prefer their own texts"
                ));
            }
            Some(_) => {}
        }
    }
    said
}

/// A judge's ruling, with its preference in each order.
pub(in crate::cli) struct Ruled {
    /// The judge.
    pub(in crate::cli) judge: AgentId,
    /// The ruling.
    pub(in crate::cli) ruling: Ruling,
    /// The preferred side and the reason, for each order of the texts.
    pub(in crate::cli) said: [(Option<Side>, String); 2],
}

/// The rulings on the debate's answer and an arm's. A ruling whose question failed is left out, with a warning.
pub(in crate::cli) async fn rulings(
    judges: &[Judge],
    notes: &mut Notes,
    problem: &Problem,
    texts: [&str; 2],
    repeat: u32,
    purse: &mut Purse,
    interrupts: &mut Interrupts,
) -> Result<(Vec<Ruled>, Vec<String>), Error> {
    let mut faults = Vec::new();
    let Some(first) = judges.first() else { return Ok((Vec::new(), faults)) };
    let made = checklist_question(first, &problem.text);
    let id = made.id.clone();
    if problem.checklist.is_empty() && notes.answer(&id).is_none() {
        faults.extend(ask(vec![made], notes, purse, interrupts).await?);
    }
    let checklist = match notes.answer(&id) {
        _ if !problem.checklist.is_empty() => problem.checklist.clone(),
        Some(answer) => checklist_items(answer),
        // Rulings without a checklist are not comparable.
        None => return Ok((Vec::new(), faults)),
    };
    let open = pairs(judges, problem, &checklist, texts, repeat).into_iter().flatten();
    let open: Vec<Question> = open.filter(|question| notes.answer(&question.id).is_none()).collect();
    faults.extend(ask(open, notes, purse, interrupts).await?);
    let said = |question: &Question, order| {
        let preference = notes.answer(&question.id).and_then(Preference::read)?;
        Some((preference.of(order), preference.reason))
    };
    let ruling = |[one, other]: [Question; 2]| {
        let judge = one.judge.settings.id.clone();
        let said = [said(&one, [Side::Debate, Side::Arm])?, said(&other, [Side::Arm, Side::Debate])?];
        Some(Ruled { judge, ruling: Ruling::of(said[0].0, said[1].0), said })
    };
    Ok((pairs(judges, problem, &checklist, texts, repeat).into_iter().filter_map(ruling).collect(), faults))
}

/// The cost of a group's judges so far.
pub(super) fn spent(notes: &Notes) -> Spent {
    Spent { paid: notes.judging(), listed: notes.judging_listed() }
}

/// Asks the questions, a few at once. After an interrupt it asks no more but waits for calls in flight, which are paid
/// for; a second interrupt ends the wait. Returns why some questions have no answer.
async fn ask(
    questions: Vec<Question>,
    notes: &mut Notes,
    purse: &mut Purse,
    interrupts: &mut Interrupts,
) -> Result<Vec<String>, Error> {
    if questions.is_empty() {
        // What is paid for is shown, even if it exceeds the limit.
        return Ok(Vec::new());
    }
    let most: Option<Usd> = questions.iter().map(|question| question.cost().map(|cost| cost.high)).sum();
    purse.check(most, "the rulings")?;
    let before = spent(notes);
    let mut paid = Usd::ZERO;
    let mut waiting: VecDeque<Question> = questions.into();
    let mut in_flight = FuturesUnordered::new();
    let (mut faults, mut is_interrupted) = (Vec::new(), false);
    loop {
        while !is_interrupted && in_flight.len() < IN_FLIGHT {
            let Some(question) = waiting.pop_front() else { break };
            let (id, judge) = (question.id.clone(), question.judge.settings.id.to_string());
            let most = question.cost().map(|cost| cost.high);
            notes.add(Note::Asked { question: id.clone(), judge: judge.clone(), most })?;
            in_flight.push(async move { (id, judge, question.ask().await) });
        }
        tokio::select! {
            // An interrupt precedes an answer, since the answer would start the next question.
            biased;
            () = interrupts.next() => {
                if is_interrupted {
                    break;
                }
                is_interrupted = true;
            }
            answered = in_flight.next() => {
                let Some((question, judge, replied)) = answered else { break };
                let (answer, fault) = match replied.answer {
                    Ok(answer) => (Some(answer), None),
                    Err(fault) => (None, Some(fault)),
                };
                faults.extend(fault.iter().map(|fault| format!("judge {judge}: {fault}")));
                paid += replied.cost.unwrap_or_default();
                notes.add(Note::Answered { question, answer, fault, cost: replied.cost, notional: replied.notional })?;
            }
        }
    }
    purse.took(before, spent(notes));
    // Debates count by their records; rulings leave no record.
    let directory = debates()?;
    if paid > Usd::ZERO
        && directory.path().is_dir()
        && let Err(error) = note_spent(&directory, paid)
    {
        faults.push(format!("the daily limit does not include the rulings: {error}"));
    }
    if is_interrupted { Err(Error::LiftInterrupted) } else { Ok(faults) }
}
