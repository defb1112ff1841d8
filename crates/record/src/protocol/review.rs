//! One author and several reviewers: a draft is rewritten until they accept it.

use crate::debate::{
    AgentSettings, CallKey, CallStatus, DEMAND, Debate, DebateSettings, Event, ResultKind, Settings, StageId, StageInfo,
};
use crate::prompt::Prompt;

use super::check::{self, AMEND, APPROACH_CHANGED, CHECK, CHECK_DUE, COMPLETE, POINTS_RAISED, READ};
use super::{
    Authorship, BudgetClass, CLARIFY, Next, OutputSpec, PromptContext, Protocol, Row, Stage, Step, Trigger, Unfit,
    all_clear, answers, clarification, initialization, is_last_round, key, nothing, with_failure,
};

const DRAFT: StageId = StageId::new("draft");
const REVIEW_STAGE: StageId = StageId::new("review");
const REWRITE: StageId = StageId::new("rewrite");
const AMENDMENT: StageId = StageId::new("amend");
const SYNTHESIS: StageId = StageId::new("synthesis");

const DRAFT_READY: Trigger = Trigger("DRAFT_READY");
const REWRITE_DEMANDED: Trigger = Trigger("REWRITE_DEMANDED");
const ACCEPTED: Trigger = Trigger("ACCEPTED");
const REWRITE_READY: Trigger = Trigger("REWRITE_READY");
const MAX_ROUNDS_REACHED: Trigger = Trigger("MAX_ROUNDS_REACHED");
const AMENDED: Trigger = Trigger("AMENDED");

/// A reviewer's acceptance.
const ACCEPT: &str = "accept";

/// The minimum rounds: a draft and one rewrite.
const FEWEST_ROUNDS: u32 = 2;

static SYSTEM: Prompt = prompt!("system/review.md", None);
static WRITE_DRAFT: Prompt = prompt!("review/draft.md", Propose);
static WRITE_REVIEW: Prompt = prompt!("review/review.md", Critique);
static WRITE_AGAIN: Prompt = prompt!("review/rewrite.md", Refine);
static ASSESS: Prompt = prompt!("review/assess.md", None);
static ASSESS_AMENDED: Prompt = prompt!("check/assess.md", None);

/// The first agent writes; the others accept or demand a rewrite.
pub static REVIEW: Protocol = Protocol {
    name: "review",
    about: "one agent writes, the others accept it or demand a rewrite; the judge assesses the result",
    suits: "a design question that needs one coherent answer in few calls",
    calls: "at most n·r + 1, and 4 for the check",
    check,
    default_rounds: 2,
    default_check: DebateSettings::DEFAULT_CHECK,
    built_in_agents: None,
    system: &SYSTEM,
    closing: SYNTHESIS,
    prompts: &[&CLARIFY, &WRITE_DRAFT, &WRITE_REVIEW, &WRITE_AGAIN, &ASSESS, &READ, &AMEND, &ASSESS_AMENDED],
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Begin(DRAFT))),
        answers(),
        Stage {
            info: StageInfo::new(DRAFT, ["draft", "drafts", "drafting", "drafts", "drafted", "draft"])
                .yielding(ResultKind::Proposal)
                .in_round()
                .essential(),
            facts: nothing,
            steps: |debate| own_text(debate, DRAFT, &WRITE_DRAFT),
            outcome: drafted,
            rows: &[Row(DRAFT_READY, Next::Go(REVIEW_STAGE))],
        },
        Stage {
            info: StageInfo::new(REWRITE, ["rewrite", "rewrites", "rewriting", "rewrites", "rewrote", "rewrite"])
                .yielding(ResultKind::Proposal)
                .in_round()
                .essential(),
            facts: nothing,
            steps: |debate| own_text(debate, REWRITE, &WRITE_AGAIN),
            outcome: |debate| Ok(rewritten(debate)),
            rows: &[
                Row(REWRITE_READY, Next::Go(REVIEW_STAGE)),
                Row(MAX_ROUNDS_REACHED, Next::Go(SYNTHESIS)),
                Row(CHECK_DUE, Next::Go(CHECK)),
            ],
        },
        Stage {
            info: StageInfo::new(REVIEW_STAGE, ["review", "reviews", "reviewing", "reviews", "reviewed", "review"])
                .yielding(ResultKind::Ballot)
                .in_round()
                .essential(),
            facts: nothing,
            steps: review,
            outcome: |debate| Ok(reviewed(debate)),
            rows: &[
                Row(REWRITE_DEMANDED, Next::Begin(REWRITE)),
                Row(ACCEPTED, Next::Go(SYNTHESIS)),
                Row(MAX_ROUNDS_REACHED, Next::Go(SYNTHESIS)),
                Row(CHECK_DUE, Next::Go(CHECK)),
            ],
        },
        check::check(
            put_up_for_check,
            |debate| Ok(if amendment(debate).is_empty() { COMPLETE } else { POINTS_RAISED }),
            &[Row(POINTS_RAISED, Next::Go(AMENDMENT)), Row(COMPLETE, Next::Go(SYNTHESIS))],
        ),
        Stage {
            info: StageInfo::new(AMENDMENT, ["amendment", "amendments", "amending", "amends", "amended", "amend"])
                .yielding(ResultKind::Proposal),
            facts: |debate| check::redrafted(debate, check::of_author),
            steps: amendment,
            outcome: |debate| Ok(if check::is_unread(debate) { APPROACH_CHANGED } else { AMENDED }),
            rows: &[Row(AMENDED, Next::Go(SYNTHESIS)), Row(APPROACH_CHANGED, Next::Go(CHECK))],
        },
        Stage {
            info: StageInfo::new(
                SYNTHESIS,
                ["assessment", "assessments", "assessing", "assesses", "assessed", "assess"],
            )
            .yielding(ResultKind::Solution)
            .essential(),
            facts: nothing,
            steps: assessment,
            outcome: assessed,
            rows: &[Row(COMPLETE, Next::Done)],
        },
    ],
};

/// The author and the reviewers.
pub fn author_and_reviewers(settings: &Settings) -> Option<(&AgentSettings, &[AgentSettings])> {
    settings.agents.split_first()
}

fn check(settings: &Settings) -> Result<(), Unfit> {
    if settings.agents.len() < 2 {
        let problem = "review needs two agents, one to write and one to review, but only one takes part";
        let hint = "the first agent writes, the others review: choose more in the configuration";
        return Err(Unfit::new(problem, hint).about("agents"));
    }
    if settings.debate.rounds < FEWEST_ROUNDS {
        let problem = format!("review needs {FEWEST_ROUNDS} rounds, a draft and a rewrite, not 1");
        let hint = format!("set `debate.rounds` to at least {FEWEST_ROUNDS}");
        return Err(Unfit::new(problem, hint).about("debate.rounds"));
    }
    Ok(())
}

/// The author's call in a round: the draft in the first, later a rewrite.
fn text_of(debate: &Debate, round: u32) -> Option<CallKey> {
    let (author, _) = debate.settings.as_ref().and_then(author_and_reviewers)?;
    Some(CallKey::new(round, if round <= 1 { DRAFT } else { REWRITE }, &author.id))
}

/// The author's last finished text.
fn last_text(debate: &Debate) -> Option<CallKey> {
    let texts = (1..=debate.current_round).rev().filter_map(|round| text_of(debate, round));
    texts.into_iter().find(|text| debate.settled(text) == Some(CallStatus::Done))
}

/// Each reviewer's call of a round.
fn reviews_of(debate: &Debate, round: u32) -> Vec<CallKey> {
    let panel = debate.settings.as_ref().and_then(author_and_reviewers);
    let keys = panel.map(|(author, reviewers)| {
        reviewers.iter().map(|one| CallKey::new(round, REVIEW_STAGE, &one.id).about(&author.id)).collect()
    });
    keys.unwrap_or_default()
}

fn has_decided(debate: &Debate, review: &CallKey, choice: &str) -> bool {
    debate.contribution(review).is_some_and(|one| one.metadata.choice.as_deref() == Some(choice))
}

/// The reviews of a round that demand a rewrite.
fn demands_of(debate: &Debate, round: u32) -> Vec<CallKey> {
    let mut reviews = reviews_of(debate, round);
    reviews.retain(|review| has_decided(debate, review, DEMAND));
    reviews
}

/// The author writes: a new text in the first round, else a revision of its last text by the demands.
fn own_text(debate: &Debate, stage: StageId, prompt: &'static Prompt) -> Vec<Step> {
    let round = debate.current_round;
    let Some(key) = text_of(debate, round).filter(|key| key.stage == stage) else { return Vec::new() };
    let before = round.checked_sub(1).filter(|before| *before > 0);
    let inputs =
        before.into_iter().flat_map(|before| text_of(debate, before).into_iter().chain(demands_of(debate, before)));
    vec![Step::new(key, prompt, OutputSpec::Text).after(inputs)]
}

fn drafted(debate: &Debate) -> Result<Trigger, String> {
    if last_text(debate).is_some() {
        return Ok(DRAFT_READY);
    }
    Err(with_failure(debate, DRAFT, "there is no draft"))
}

/// All review the same text, knowing the earlier demands. In records older than the check, a text that could not be
/// rewritten any more was not reviewed.
fn review(debate: &Debate) -> Vec<Step> {
    let round = debate.current_round;
    if is_last_round(debate) && debate.stage(CHECK).is_none() {
        return Vec::new();
    }
    let Some(text) = text_of(debate, round).filter(|text| !debate.has_failed(text)) else { return Vec::new() };
    let answered = demands_of(debate, round.saturating_sub(1));
    let step = |key| Step::new(key, &WRITE_REVIEW, OutputSpec::Word(&[ACCEPT, DEMAND])).after([text.clone()]);
    reviews_of(debate, round).into_iter().map(|key| step(key).after(answered.clone())).collect()
}

/// Any demand means a rewrite. A failed review accepts nothing; without reviews the draft closes the debate.
fn reviewed(debate: &Debate) -> Trigger {
    let reviews = reviews_of(debate, debate.current_round);
    let decides = |choice| reviews.iter().any(|review| has_decided(debate, review, choice));
    match (decides(DEMAND), decides(ACCEPT)) {
        (true, _) if !is_last_round(debate) => REWRITE_DEMANDED,
        (true, _) => closed(debate, MAX_ROUNDS_REACHED),
        (false, true) => closed(debate, ACCEPTED),
        (false, false) => closed(debate, Trigger::STOP),
    }
}

/// The trigger if no rewrite follows: the check of the last text, or else `trigger`.
fn closed(debate: &Debate, trigger: Trigger) -> Trigger {
    if debate.lenses().is_empty() || last_text(debate).is_none() { trigger } else { CHECK_DUE }
}

/// The last draft closes the debate if no other follows.
fn rewritten(debate: &Debate) -> Trigger {
    let round = debate.current_round;
    let is_there = text_of(debate, round).is_some_and(|text| debate.settled(&text) == Some(CallStatus::Done));
    match (is_there, is_last_round(debate) && debate.stage(CHECK).is_none()) {
        (false, _) => closed(debate, Trigger::STOP),
        (true, true) => MAX_ROUNDS_REACHED,
        (true, false) => REWRITE_READY,
    }
}

/// The author's last text becomes the draft to check.
fn put_up_for_check(debate: &Debate) -> Vec<Event> {
    let is_open = debate.newest_draft().is_none() && !debate.lenses().is_empty() && debate.final_solution.is_none();
    let text = last_text(debate).filter(|_| is_open).and_then(|text| debate.contribution(&text));
    text.map(|text| check::draft(text, check::of_author(text))).into_iter().collect()
}

/// The author amends the draft once, by the last demands and the checkers' findings.
fn amendment(debate: &Debate) -> Vec<Step> {
    let Some(draft) = debate.newest_draft().filter(|_| check::is_due(debate) && !check::is_unread(debate)) else {
        return Vec::new();
    };
    // Another draft already meets the demands.
    let demands = if draft.number == 1 { demands_of(debate, draft.key.round) } else { Vec::new() };
    let step =
        if demands.is_empty() { check::rewrite(debate, AMENDMENT) } else { check::rewrite_of_draft(debate, AMENDMENT) };
    step.map(|step| step.after(demands)).into_iter().collect()
}

/// The call with the text for the judge's assessment: the amendment, or else the checked draft.
fn delivered(debate: &Debate) -> Option<CallKey> {
    let draft = debate.newest_draft()?;
    let amended = debate
        .final_text()
        .map(|text| CallKey::new(debate.current_round, text.stage, &text.agent_id).pass(draft.number));
    Some(amended.unwrap_or(draft.key))
}

/// The judge assesses the last text with its reviews, or with the demands that it answers.
fn assessment(debate: &Debate) -> Vec<Step> {
    let (Some(settings), Some(text)) = (&debate.settings, last_text(debate)) else { return Vec::new() };
    if let (Some(draft), Some(text)) = (debate.newest_draft(), delivered(debate)) {
        let answer = OutputSpec::Solution(Authorship::Kept(text.clone()));
        let assessment = Step::new(key(debate, SYNTHESIS, &settings.judge), &ASSESS_AMENDED, answer);
        let assessment = assessment.after([draft.key.clone()]).after(check::keys(debate, &draft)).after([text]);
        return vec![assessment.showing(PromptContext::Draft).paid(BudgetClass::Closing)];
    }
    let mut reviews = reviews_of(debate, text.round);
    reviews.retain(|review| debate.settled(review) == Some(CallStatus::Done));
    if reviews.is_empty() {
        reviews = demands_of(debate, text.round.saturating_sub(1));
    }
    let answer = OutputSpec::Solution(Authorship::Kept(text.clone()));
    let assessment = Step::new(key(debate, SYNTHESIS, &settings.judge), &ASSESS, answer);
    vec![assessment.after([text]).after(reviews).paid(BudgetClass::Closing)]
}

fn assessed(debate: &Debate) -> Result<Trigger, String> {
    if debate.final_solution.is_some() {
        return Ok(COMPLETE);
    }
    if last_text(debate).is_none() {
        return Err("there is no draft to close the debate with".to_owned());
    }
    Err(with_failure(debate, SYNTHESIS, "the judge could not assess the draft"))
}
