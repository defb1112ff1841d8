//! A motion without sides: the agents speak in turn, each seeing the earlier speeches.

use crate::settings::DebateSettings;

use super::motion::{
    CLOSE, CLOSINGS_COMPLETE, DEFAULT_ROUNDS, OPEN, OPENING, REBUT, SYSTEM, check_rounds, closing, closing_info,
    opening, opening_info, rebuttal, rebuttal_info, speeches,
};
use super::questions::{CLARIFY, all_clear, answers, clarification, initialization};
use super::verdict::{JUDGE, VERDICT, verdict, without_votes};
use super::{Next, Protocol, Row, Unfit};

pub static ROUNDTABLE: Protocol = Protocol {
    name: "roundtable",
    about: "agents without sides take turns speaking on a motion, each hearing the earlier speeches; the judge scores each agent",
    suits: "an open question that needs different points of view",
    calls: "n·r + 2",
    check: |settings| {
        check_rounds(settings)?;
        if settings.agents.len() < 2 {
            let problem = "roundtable needs at least two agents, but only one takes part";
            return Err(Unfit::new(problem, "enable more agents in the configuration").about("agents"));
        }
        Ok(())
    },
    default_rounds: DEFAULT_ROUNDS,
    default_check: DebateSettings::DEFAULT_CHECK,
    built_in_agents: None,
    system: &SYSTEM,
    closing: VERDICT,
    prompts: &[&CLARIFY, &OPEN, &REBUT, &CLOSE, &JUDGE],
    stages: &[
        initialization(),
        clarification(&all_clear(Next::Begin(OPENING))),
        answers(),
        opening(opening_info().in_turn(), |debate| speeches(debate, OPENING, &OPEN)),
        rebuttal(rebuttal_info().in_turn()),
        closing(closing_info().in_turn(), &[Row(CLOSINGS_COMPLETE, Next::Go(VERDICT))]),
        verdict(without_votes),
    ],
};
