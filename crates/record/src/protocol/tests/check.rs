//! The check of the answer: who reads a draft, what follows from the findings, and what stays unread.

use crate::debate::{Lens, OutcomeKind, StopReason};
use crate::points::Severity;

use super::super::*;
use super::course::{Course, ScriptedReply, first, good, settings};

const CHECKED: [&Protocol; 3] = [&DIALECTIC, &COUNCIL, &ARENA];

/// A debate of three agents and one round, whose answer is checked through this many lenses.
fn begun(protocol: &'static Protocol, lenses: u32) -> Settings {
    let mut settings = settings(protocol, 3, 1);
    settings.debate.check = lenses;
    settings
}

fn checked(protocol: &'static Protocol, lenses: u32, reply: &dyn Fn(&Step) -> ScriptedReply) -> Course {
    Course::start(protocol, begun(protocol, lenses)).run(reply, &mut first)
}

/// The checker with this lens finds a serious fault.
fn faulted(at: Lens) -> impl Fn(&Step) -> ScriptedReply {
    move |step| match &step.answer {
        OutputSpec::Check(lens) if *lens == at => ScriptedReply::Checked(vec![Severity::Blocking]),
        _ => good(step),
    }
}

/// The calls from the first check on.
fn calls(course: &Course) -> Vec<String> {
    let name = |step: &Step| format!("{} {} {}", step.key.stage, step.key.agent_id, step.key.pass);
    let from = course.calls.iter().position(|step| matches!(step.answer, OutputSpec::Check(_)));
    course.calls[from.unwrap_or(course.calls.len())..].iter().map(name).collect()
}

fn outcome(course: &Course) -> (OutcomeKind, Vec<String>) {
    let outcome = course.debate.outcome.as_ref().unwrap();
    (outcome.kind, outcome.reasons.clone())
}

#[test]
fn a_draft_in_which_nothing_grave_is_found_is_the_answer() {
    for protocol in CHECKED {
        let course = checked(protocol, 3, &|step| match &step.answer {
            OutputSpec::Check(_) => ScriptedReply::Checked(vec![Severity::Minor]),
            _ => good(step),
        });
        let debate = &course.debate;
        assert!(calls(&course).iter().all(|call| call.starts_with("check")), "{}: {:?}", protocol.name, calls(&course));
        assert_eq!(outcome(&course), (OutcomeKind::Full, vec![]), "{}", protocol.name);
        let (draft, solution) = (debate.draft.as_ref().unwrap(), debate.final_solution.as_ref().unwrap());
        assert_eq!(draft.description, solution.description, "{}", protocol.name);
        assert!(solution.unverified.is_empty());
        assert_eq!(debate.checks.len(), 4, "the draft, and what each lens saw");
        assert!(debate.rounds.iter().all(|round| round.contributions.iter().all(|one| one.metadata.lens.is_none())));
    }
}

#[test]
fn something_grave_has_the_answer_written_anew_once_and_says_what_nobody_read() {
    for protocol in CHECKED {
        for lens in Lens::ALL {
            let course = checked(protocol, 3, &faulted(lens));
            assert_eq!(calls(&course)[3..], ["final judge 1"], "{}", protocol.name);
            assert_eq!(outcome(&course).0, OutcomeKind::Full);
            let text = course.debate.final_text().unwrap();
            assert_eq!(text.stage, FINAL);
            let written = course.calls.iter().find(|step| step.key.stage == text.stage).unwrap();
            let shown = written.inputs.iter().filter(|key| key.stage == CHECK).count();
            assert_eq!((shown, written.cost), (3, BudgetClass::Check));
        }
    }
}

#[test]
fn another_approach_is_another_draft_which_is_checked_once_more() {
    for protocol in CHECKED {
        let reply = |step: &Step| match &step.answer {
            OutputSpec::Check(_) => ScriptedReply::Checked(vec![Severity::Major]),
            OutputSpec::Amendment | OutputSpec::Solution(_) if step.delivery == Delivery::DraftIfRethought => {
                ScriptedReply::Rethought("Another way.".to_owned())
            }
            _ => good(step),
        };
        let course = checked(protocol, 3, &reply);
        let made: Vec<String> = calls(&course);
        let passes: Vec<&str> = made.iter().filter_map(|call| call.rsplit(' ').next()).take(8).collect();
        assert_eq!(passes, ["1", "2", "3", "1", "4", "5", "6", "2"], "{}: {made:?}", protocol.name);
        assert_eq!((&*made[3], &*made[7]), ("final judge 1", "final judge 2"), "{}", protocol.name);
        assert_eq!(course.debate.newest_draft().unwrap().text.content.as_ref(), "Another way.");
        assert_eq!(course.debate.newest_draft().unwrap().number, 2);
    }
}

#[test]
fn a_lens_that_failed_degrades_and_a_final_text_that_failed_leaves_the_draft() {
    for protocol in CHECKED {
        let course = checked(protocol, 3, &|step| match &step.answer {
            OutputSpec::Check(Lens::Facts) => ScriptedReply::Failed,
            _ => good(step),
        });
        let (kind, reasons) = outcome(&course);
        assert_eq!(kind, OutcomeKind::Degraded);
        assert!(reasons.contains(&"the answer was not checked for facts".to_owned()), "{reasons:?}");
        assert_eq!(course.debate.unverified(), ["The answer was not checked for facts."]);
        let course = checked(protocol, 3, &|step| match step.key.stage.as_str() {
            "final" => ScriptedReply::Failed,
            _ => faulted(Lens::Execute)(step),
        });
        let (kind, reasons) = outcome(&course);
        assert_eq!((kind, reasons.len()), (OutcomeKind::Degraded, 1), "{reasons:?}");
        let draft = course.debate.draft.as_ref().unwrap();
        let solution = course.debate.final_solution.as_ref().unwrap();
        assert!(solution.description.starts_with(draft.description.trim_end()), "{}", solution.description);
        assert_eq!(course.debate.unverified(), ["Nothing was changed in response to D1."]);
    }
}

#[test]
fn without_a_check_the_same_calls_are_made_but_for_its_own() {
    for protocol in CHECKED {
        let [with, without] = [3, 0].map(|lenses| checked(protocol, lenses, &faulted(Lens::Facts)));
        let keys = |course: &Course| {
            let is_own = |step: &&Step| step.cost != BudgetClass::Check;
            course.calls.iter().filter(is_own).map(|step| step.key.clone()).collect::<Vec<_>>()
        };
        assert_eq!(keys(&with), keys(&without), "{}", protocol.name);
        assert_eq!(with.calls.len(), without.calls.len() + 4);
        assert!(without.debate.draft.is_none() && without.debate.checks.is_empty());
    }
}

#[test]
fn checkers_are_the_panels_models_in_turn_and_neither_the_judges_nor_the_author() {
    let mut settings = begun(&DIALECTIC, 3);
    for (agent, model) in settings.agents.iter_mut().zip(["x", "x", "m"]) {
        agent.model = model.to_owned();
    }
    let course = Course::start(&DIALECTIC, settings.clone()).run(&good, &mut first);
    assert_eq!(calls(&course), ["check a 1", "check b 2", "check a 3"], "the judge has the model `m` too");
    settings.agents[2].model = "y".to_owned();
    let course = Course::start(&DIALECTIC, settings.clone()).run(&good, &mut first);
    assert_eq!(calls(&course), ["check a 1", "check c 2", "check b 3"]);
    let course = Course::start(&BEST_OF_N, settings).run(&faulted(Lens::Requirements), &mut first);
    assert_eq!(calls(&course), ["check b 1", "check c 2", "check b 3", "final a 1"], "the judge chose a");
}

#[test]
fn a_user_who_stops_the_check_gets_the_draft() {
    for protocol in CHECKED {
        let mut course = Course::start(protocol, begun(protocol, 3));
        course.go_on_until(|course| course.stage() == CHECK, &good);
        course.take_facts();
        course.stop(StopReason::User);
        let course = course.run(&good, &mut first);
        assert_eq!(outcome(&course), (OutcomeKind::Stopped, vec!["stopped by the user".to_owned()]));
        assert!(calls(&course).iter().all(|call| !call.starts_with("check")), "{:?}", calls(&course));
        assert_eq!(course.debate.unverified(), ["Nobody has independently checked this answer."]);
    }
}

#[test]
fn a_council_has_eleven_calls_and_refuses_what_it_has_no_place_for() {
    let course = checked(&COUNCIL, 3, &faulted(Lens::Facts));
    assert_eq!(course.calls.len(), 11);
    let review = course.calls.iter().find(|step| step.key.stage.as_str() == "review").unwrap();
    // The other two texts and the reviewer's own.
    assert_eq!((review.inputs.len(), review.shows), (3, PromptContext::Texts));
    let problem = |change: &dyn Fn(&mut Settings)| {
        let mut settings = begun(&COUNCIL, 3);
        change(&mut settings);
        (COUNCIL.check)(&settings).unwrap_err().problem
    };
    assert_eq!(problem(&|of| of.debate.rounds = 2), "council has one round, not 2");
    assert!(problem(&|of| of.debate.critics = crate::settings::Critics::Number(1)).contains("`debate.critics`"));
    let until = crate::settings::TerminationKind::Quality;
    assert!(problem(&|of| of.debate.termination_condition.kind = until).contains("no condition can end it"));
    let mut quick = settings(&COUNCIL, QUICK_AGENTS, 1);
    quick.debate.check = 1;
    let course = Course::start(&COUNCIL, quick).run(&faulted(Lens::Requirements), &mut first);
    assert_eq!(course.calls.len(), 7);
}
