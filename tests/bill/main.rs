//! A provider that keeps the bill: random debates, through the command line and through the server, against servers
//! that fail after the work was done, close connections, break off, and say of tokens what vendors say of them. None may
//! be billed more than its limit, nor more than its books say; and where at most 5 % of the calls meet a fault, nearly all have a whole round and an
//! answer.
//!
//! ```sh
//! cargo test --locked --test bill                          # 500 debates
//! BILL_DEBATES=50 BILL_SEED=7 cargo test --test bill       # others, and fewer
//! BILL_ONLY=7000012 cargo test --test bill                 # one again, by its seed
//! ```
//!
//! `BILL_PROGRAM` is the program to be tested, where it is not the one that was built.

#![cfg(test)]
#![expect(clippy::disallowed_methods, reason = "what is printed here are figures of our own")]

mod answers;
mod chance;
mod command_line;
mod dialect;
mod plan;
mod provider;
mod request;
mod sandbox;
mod served;
#[path = "../dialectic/support/mod.rs"]
#[expect(dead_code, unused_imports, reason = "the tests use all of it")]
mod support;

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use plan::Plan;

/// What came of a debate.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent findings")]
struct Verdict {
    /// It was billed more than its limit.
    is_over: bool,
    /// It was billed more than the program knows.
    is_short: bool,
    /// It did not begin.
    is_refused: bool,
    /// At most 5 % of its calls were to meet a fault.
    is_calm: bool,
    /// It has a whole round and an answer.
    is_whole: bool,
    /// It is not of a debate but of a server's day.
    is_of_the_day: bool,
    /// What was billed of the limit.
    share: f64,
    exit: Option<i32>,
    kind: String,
    /// All that there is to know, where something is wrong.
    story: String,
}

impl Verdict {
    fn of_the_day() -> Self {
        Self { is_of_the_day: true, ..Self::default() }
    }

    fn is_to_be_told(&self) -> bool {
        self.is_over || self.is_short || (self.is_calm && !self.is_whole) || self.is_refused
    }
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Nothing can be done when even this cannot be written.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How many of ten places are servers, which run some debates each.
const SERVED: u64 = 1;

fn run() -> io::Result<bool> {
    let only = std::env::var("BILL_ONLY").ok().and_then(|text| text.parse().ok());
    let first = number("BILL_SEED", 1) * 1_000_000;
    let debates = number("BILL_DEBATES", 500);
    let tells_all = number("BILL_TELL", 0) > 0;
    let next = AtomicU64::new(first);
    let verdicts = Mutex::new(Vec::new());
    let began = Instant::now();
    let count = || {
        let verdicts = verdicts.lock().expect("no holder of the verdicts panics");
        verdicts.iter().filter(|(.., verdict): &&(_, _, _, Verdict)| !verdict.is_of_the_day).count() as u64
    };
    let one = |seed: u64| -> io::Result<()> {
        let plan = Plan::draw(seed);
        let is_served = seed % 10 < SERVED;
        let came = if is_served { served::run(&plan) } else { command_line::run(&plan).map(|one| vec![one]) };
        let came = came.map_err(|error| io::Error::other(format!("seed {seed}: {error}; {}", plan.line())))?;
        if tells_all {
            let mut out = io::stdout().lock();
            for Verdict { share, kind, .. } in &came {
                writeln!(out, "{seed}: {share:.3} of the limit billed, {kind}; {}", plan.line())?;
            }
        }
        let came = came.into_iter().map(|verdict| (seed, plan.protocol, is_served, verdict));
        verdicts.lock().expect("no holder of the verdicts panics").extend(came);
        Ok(())
    };
    let work = || -> io::Result<()> {
        while count() < debates {
            one(next.fetch_add(1, Ordering::SeqCst))?;
        }
        Ok(())
    };
    match only {
        Some(seed) => one(seed)?,
        None => std::thread::scope(|scope| {
            let hands: Vec<_> = (0..number("BILL_AT_ONCE", 8)).map(|_| scope.spawn(work)).collect();
            hands.into_iter().try_for_each(|hand| hand.join().expect("no debate panics"))
        })?,
    }
    let verdicts = verdicts.into_inner().expect("no holder of the verdicts panics");
    tell(&verdicts, first, began.elapsed().as_secs())
}

/// Says what came of all of them; whether it is as it should be.
fn tell(verdicts: &[(u64, &str, bool, Verdict)], first: u64, seconds: u64) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    let all = || verdicts.iter().map(|(.., verdict)| verdict);
    for verdict in all().filter(|verdict| !verdict.story.is_empty()) {
        writeln!(out, "{}", verdict.story)?;
    }
    let count = |is_one: &dyn Fn(&Verdict) -> bool| all().filter(|verdict| is_one(verdict)).count();
    let seeds = |is_one: &dyn Fn(&Verdict) -> bool| -> Vec<u64> {
        verdicts.iter().filter(|(.., verdict)| is_one(verdict)).map(|(seed, ..)| *seed).collect()
    };
    let over = seeds(&|verdict| verdict.is_over);
    let short = seeds(&|verdict| verdict.is_short);
    let refused = seeds(&|verdict| verdict.is_refused);
    let calm = count(&|verdict| verdict.is_calm);
    let whole = count(&|verdict| verdict.is_calm && verdict.is_whole);
    let not_whole = seeds(&|verdict| verdict.is_calm && !verdict.is_whole);
    let debates = verdicts.iter().filter(|(.., verdict)| !verdict.is_of_the_day);
    let served = debates.clone().filter(|(_, _, is_served, _)| *is_served).count();
    let mut protocols: BTreeMap<&str, usize> = BTreeMap::new();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for (_, protocol, _, verdict) in debates.clone() {
        *protocols.entry(protocol).or_default() += 1;
        *kinds.entry(verdict.kind.clone()).or_default() += 1;
    }
    let most = all().map(|verdict| verdict.share).fold(0.0, f64::max);
    let debates = debates.count();
    writeln!(
        out,
        "seeds from {first}: {debates} debates in {seconds} s, {served} of them by a server\n\
         {protocols:?}, {kinds:?}\n\
         {} over their limit: {over:?}; at most {most:.3} of a limit was billed\n\
         {} billed more than the program has in its books: {short:?}\n\
         {} never begun: {refused:?}\n\
         {whole} of {calm} with few faults have a whole round and an answer; not {not_whole:?}",
        over.len(),
        short.len(),
        refused.len(),
    )?;
    Ok(over.is_empty() && short.is_empty() && refused.is_empty() && whole * 100 >= calm * 95)
}
