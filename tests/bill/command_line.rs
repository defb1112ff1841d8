//! A debate through the command line, with all that happens to it.

use std::io;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::Verdict;
use crate::plan::{Config, Disturbance, Plan};
use crate::provider::{Provider, sum};
use crate::sandbox::{Finished, Running, Sandbox, amounts, lines, sandbox};

/// A run that takes longer hangs.
const LONGEST: Duration = Duration::from_mins(4);
/// How often a debate is taken up again that pauses because the server is gone.
const PATIENCE: usize = 6;
/// `EX_TEMPFAIL`: what the program ends with then.
const TRY_AGAIN: i32 = 75;
/// Below what any debate costs.
const TOO_LITTLE: f64 = 0.0001;

pub(crate) fn run(plan: &Plan) -> io::Result<Verdict> {
    let provider = Provider::start(plan.terms.clone())?;
    let sandbox = sandbox(&plan.environment(&provider));
    let name = if plan.config == Config::Named { "mine.json" } else { "debate-config.json" };
    sandbox.write(name, plan.file(&provider.base_url()).to_string());
    let mut disturbances = plan.disturbances.iter();
    let (limit, mut ended) = begin(plan, &sandbox, &provider, disturbances.next())?;
    let mut stderr = ended.stderr;
    let mut patience = PATIENCE;
    // What was begun is taken up again after each kill, each Ctrl-C, and where the program says so.
    while patience > 0 && matches!(ended.code, None | Some(130 | TRY_AGAIN)) && !sandbox.begun().is_empty() {
        patience -= usize::from(ended.code == Some(TRY_AGAIN));
        let mut arguments = vec!["resume".to_owned(), "latest".to_owned(), "--quiet".to_owned()];
        arguments.extend(plan.naming_its_file());
        ended = disturbed(sandbox.spawn(&arguments), &provider, disturbances.next())?;
        stderr.push_str(&ended.stderr);
    }
    // What was still on its way when the program ended.
    std::thread::sleep(Duration::from_millis(20));
    let bill = provider.bill();
    let billed = sum(&bill);
    let is_refused = sandbox.begun().is_empty() && billed == 0.0;
    let state = sandbox.begun().last().map(|id| sandbox.saved(id)).unwrap_or_default();
    let rounds = state["rounds"].as_array().map(Vec::as_slice).unwrap_or_default();
    let has_answer = state["finalSolution"]["description"].as_str().is_some_and(|text| !text.trim().is_empty());
    let is_over = billed > limit + 1e-9;
    let booked: f64 = sandbox.begun().iter().map(|id| sandbox.booked(id)).sum();
    let is_whole = has_answer && rounds.iter().any(|round| plan.is_whole(round));
    let is_short = billed > booked + 1e-9;
    let mut verdict = Verdict { is_over, is_short, is_refused, is_calm: plan.is_calm, is_whole, ..Verdict::default() };
    verdict.share = billed / limit;
    verdict.exit = ended.code;
    verdict.kind = state["outcome"]["kind"].as_str().unwrap_or("none").to_owned();
    if verdict.is_to_be_told() {
        let books = lines(sandbox.begun().iter().map(|id| format!("{id}\n{}", sandbox.books(id))));
        let lines = lines(bill.iter().map(|entry| format!("  {}", entry.line)));
        let (seed, line, usage) = (plan.seed, plan.line(), &state["usage"]);
        let (status, outcome, failures) = (&state["status"], &state["outcome"], &state["failures"]);
        let code = ended.code;
        let kept = sandbox.keep();
        let kept = kept.display();
        verdict.story = format!(
            "command line, seed {seed}: ${billed:.6} billed of ${limit:.6}, ${booked:.6} in its books\n{line}\n{status}, {outcome}, exit {code:?}, \
             in {kept}\nfailures: {failures}\nusage by the program: {usage}\nits books:\n{books}the bill:\n{lines}\
             what it said:\n{stderr}\n"
        );
    }
    Ok(verdict)
}

/// Looks for the least limit that buys a debate, and begins one with as many times that as planned. The limit that held,
/// and how the first run ended.
fn begin(
    plan: &Plan,
    sandbox: &Sandbox,
    provider: &Provider,
    disturbance: Option<&Disturbance>,
) -> io::Result<(f64, Finished)> {
    let attempt = |limit: f64, disturbance| {
        if let Some(own) = plan.own(&provider.base_url(), limit) {
            sandbox.write(".config/dialectic/config.json", own.to_string());
        }
        let mut arguments = vec!["debate".to_owned(), "--quiet".to_owned()];
        arguments.extend(plan.naming_its_file());
        if plan.config != Config::FoundWithStandingLimit {
            arguments.extend(["--max-cost".to_owned(), format!("{limit:.6}")]);
        }
        arguments.push("[case 1] Design a queue for a shop.\n- It must not lose an order.".to_owned());
        disturbed(sandbox.spawn(&arguments), provider, disturbance)
    };
    let mut limit = TOO_LITTLE;
    let mut refused = attempt(limit, None)?;
    while refused.code == Some(2) && refused.stderr.contains("does not cover one round") {
        // Amounts are told to a hundredth of a cent, upwards.
        let said = amounts(&refused.stderr).into_iter().filter(|amount| *amount > limit + 1e-9);
        let Some(least) = said.min_by(f64::total_cmp) else { break };
        limit = least * plan.generosity;
        refused = attempt(limit, disturbance)?;
    }
    Ok((limit, refused))
}

/// Waits for the end of a run, or brings it about.
fn disturbed(mut running: Running, provider: &Provider, disturbance: Option<&Disturbance>) -> io::Result<Finished> {
    let before = provider.requests();
    let mut disturbance = disturbance.copied();
    let until = Instant::now() + LONGEST;
    while !running.has_ended() {
        if Instant::now() > until {
            return Err(io::Error::other(format!("it hangs: {}", running.stderr())));
        }
        let so_far = provider.requests() - before;
        match disturbance {
            Some(Disturbance::Killed(after)) if so_far >= after => {
                return Ok(running.kill());
            }
            Some(Disturbance::Interrupted(after)) if so_far >= after => {
                disturbance = None;
                running.signal(Signal::SIGINT);
            }
            _ => {}
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    Ok(running.wait())
}
