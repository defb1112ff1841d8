//! One round with few calls: agents propose, each reviews all other proposals, the judge drafts an answer, and the
//! draft is checked.

use crate::debate::Debate;
use crate::ids::{CallKey, ResultKind, StageId, StageInfo};
use crate::prompt::Prompt;
use crate::settings::{Critics, DebateSettings, Settings, TerminationKind};

use super::check::{self, CHECK, CHECK_DUE, COMPLETE, FINALISE, READ};
use super::questions::{CLARIFY, all_clear, answers, clarification, initialization};
use super::{
    Authorship, BudgetClass, Next, OutputSpec, PROPOSAL, PROPOSALS_COMPLETE, PromptContext, Protocol, Row, SYNTHESIS,
    Stage, Step, Trigger, Unfit, complete_or_fallback, enough_agents, enough_proposals, key, keys, nothing,
    proposal_info, synthesis_info,
};

const REVIEW: StageId = StageId::new("review");

const REVIEWS_COMPLETE: Trigger = Trigger("REVIEWS_COMPLETE");

static SYSTEM: Prompt = prompt!("system/council.md", None);
static PROPOSE: Prompt = prompt!("council/propose.md", Propose);
static REVIEW_TEXTS: Prompt = prompt!("council/review.md", Critique);
static SYNTHESIZE: Prompt = prompt!("council/synthesize.md", None);

/// The number of agents in a debate with `--quick`.
pub const QUICK_AGENTS: usize = 2;
const ROUNDS: u32 = 1;

pub static COUNCIL: Protocol = Protocol {
    name: "council",
    about: "agents propose, each reviews all others in one call, the judge drafts one answer, and the draft is checked",
    suits: "a first debate, and any question that needs different views in few calls",
    calls: "2·n + 1, and 3 to 8 for the check",
    check,
    default_rounds: ROUNDS,
    default_check: DebateSettings::DEFAULT_CHECK,
    built_in_agents: None,
    system: &SYSTEM,
    closing: SYNTHESIS,
    prompts: &[&CLARIFY, &PROPOSE, &REVIEW_TEXTS, &SYNTHESIZE, &READ, &FINALISE],
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Begin(PROPOSAL))),
        answers(),
        Stage {
            info: proposal_info(),
            facts: nothing,
            steps: |debate| keys(debate, debate.current_round, PROPOSAL).into_iter().map(proposal).collect(),
            outcome: |debate| enough_proposals(debate, "a council"),
            rows: &[Row(PROPOSALS_COMPLETE, Next::Go(REVIEW))],
        },
        Stage {
            info: StageInfo::new(REVIEW, ["review", "reviews", "reviewing", "reviews", "reviewed", "review"])
                .yielding(ResultKind::Critique)
                .in_round()
                .essential(),
            facts: nothing,
            steps: reviews,
            outcome: |debate| Ok(complete_or_fallback(debate, REVIEW, REVIEWS_COMPLETE)),
            rows: &[Row(REVIEWS_COMPLETE, Next::Go(SYNTHESIS))],
        },
        Stage {
            info: synthesis_info(),
            facts: |debate| check::stands(debate, false),
            steps: |debate| synthesis(debate).into_iter().collect(),
            outcome: |debate| {
                let nothing = "there are no proposals to base an answer on";
                check::ended(debate, SYNTHESIS, nothing, "the judge could not write the answer")
            },
            rows: &[Row(COMPLETE, Next::Done), Row(CHECK_DUE, Next::Go(CHECK))],
        },
        check::check_of_answer(),
        check::final_text(check::finalised),
    ],
};

fn check(settings: &Settings) -> Result<(), Unfit> {
    let rules = &settings.debate;
    enough_agents(settings, "council")?;
    let of_dialectic = |key: &str| format!("use the protocol dialectic, or remove `{key}`");
    if rules.rounds != ROUNDS {
        let problem = format!("council has one round, not {}", rules.rounds);
        return Err(Unfit::new(problem, of_dialectic("debate.rounds")).about("debate.rounds"));
    }
    if rules.critics != Critics::All {
        let problem = "in a council every agent reviews all others, so `debate.critics` does not apply";
        return Err(Unfit::new(problem, of_dialectic("debate.critics")));
    }
    if rules.termination_condition.kind != TerminationKind::Fixed {
        let (problem, key) =
            ("a council has one round, so no condition can end it early", "debate.terminationCondition");
        return Err(Unfit::new(problem, of_dialectic(key)).about(key));
    }
    Ok(())
}

fn proposal(key: CallKey) -> Step {
    Step::new(key, &PROPOSE, OutputSpec::Text)
}

fn reviews(debate: &Debate) -> Vec<Step> {
    let mut proposals = keys(debate, debate.current_round, PROPOSAL);
    proposals.retain(|key| !debate.has_failed(key));
    let step = |key: CallKey| {
        let review = Step::new(key, &REVIEW_TEXTS, OutputSpec::Text).after(proposals.clone());
        review.showing(PromptContext::Texts)
    };
    let steps = keys(debate, debate.current_round, REVIEW).into_iter().map(step);
    let has_others = |step: &Step| step.inputs.iter().any(|text| text.agent_id != step.key.agent_id);
    steps.filter(has_others).collect()
}

fn synthesis(debate: &Debate) -> Option<Step> {
    let settings = debate.settings.as_ref().filter(|_| debate.final_round().is_some())?;
    let solution =
        Step::new(key(debate, SYNTHESIS, &settings.judge), &SYNTHESIZE, OutputSpec::Solution(Authorship::Judge));
    let solution = solution.showing(PromptContext::WholeDebate).paid(BudgetClass::Closing);
    Some(solution.delivered(check::delivery(debate)))
}
