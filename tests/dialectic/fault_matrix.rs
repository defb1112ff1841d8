//! Real faults of a real server, on the first, on every third, on every request of a phase: what each makes of a debate.
//! Some cells of the matrix; `recovery` has all protocols and tasks in process.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::recovery::When;
use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, config, sample, short_reply};

/// What a server does wrong.
type Fault = (&'static str, Kind, fn() -> Reply);

/// Whether another attempt is of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Transient,
    Final,
}

/// A 429 that does not say for how long is waited out for a minute: that is tested with a clock that is pushed.
const FAULTS: [Fault; 10] = [
    ("429 with Retry-After", Kind::Transient, || Reply::error(429, "slow down").header("retry-after", "0.2")),
    ("500", Kind::Transient, || Reply::error(500, "oops")),
    ("401", Kind::Final, || Reply::error(401, "no such key")),
    ("a hang", Kind::Transient, Reply::hang),
    ("a dropped answer", Kind::Transient, || Reply::text("Half of this is lost.").cut()),
    ("a web page", Kind::Transient, Reply::html),
    ("truncated JSON", Kind::Transient, || Reply::text("Half of this is lost.").truncated()),
    ("an empty answer", Kind::Transient, || Reply::text("")),
    ("no body", Kind::Transient, Reply::empty),
    ("an answer of 10 MB", Kind::Transient, Reply::huge),
];

const PHASES: [Purpose; 5] =
    [Purpose::Propose, Purpose::Critique, Purpose::Refine, Purpose::Confidence, Purpose::Synthesize];

/// How a debate ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Full,
    Degraded,
    Failed,
    /// It fails before anything can have been billed, and nothing is left of it.
    NeverBegun,
}

/// What must become of a debate of three agents whose calls have two attempts each.
fn expected(kind: Kind, when: When, phase: Purpose) -> End {
    let judge_alone = matches!(phase, Purpose::Confidence | Purpose::Synthesize);
    match (when, kind, phase) {
        // The judge is asked once: its third request never comes.
        (When::EveryThird, _, _) if judge_alone => End::Full,
        (When::First | When::EveryThird, Kind::Transient, _) => End::Full,
        (When::Always, Kind::Final, Purpose::Propose) => End::NeverBegun,
        (_, _, Purpose::Synthesize) | (When::Always, _, Purpose::Propose) => End::Failed,
        _ => End::Degraded,
    }
}

/// The attempts of one call: with one retry, two. A retry loop inside another would make it four or more.
const ATTEMPTS: usize = 2;

struct Cell {
    fault: Fault,
    when: When,
    phase: Purpose,
}

impl Cell {
    fn name(&self) -> String {
        format!("{} on {:?} request of {:?}", self.fault.0, self.when, self.phase)
    }

    fn run(&self) {
        let name = self.name();
        let (phase, when, fault) = (self.phase, self.when, self.fault.2);
        let met = Arc::new(AtomicUsize::new(0));
        let server = MockServer::with(move |request| {
            let hit = request.purpose == phase && when.holds(met.fetch_add(1, Ordering::SeqCst) + 1);
            if hit { fault() } else { reply(request) }
        });
        // Short only where it is waited for: a busy machine must not make a healthy answer late.
        let call_timeout = if self.fault.0 == "a hang" { 6_000 } else { 60_000 };
        let debate = json!({
            "maxRetries": ATTEMPTS - 1, "callTimeout": call_timeout,
            "terminationCondition": {"type": "convergence", "threshold": 90},
        });
        let sandbox = Sandbox::new().model_server(&server).config(&config(&["architect", "kiss", "testing"], &debate));
        // Many megabytes go through a server and a program that were not built for speed.
        let sandbox = sandbox.limit(Duration::from_mins(3));
        let finished = sandbox.run(["debate", "Design a queue", "--quiet"]);
        if expected(self.fault.1, when, phase) == End::NeverBegun {
            assert_eq!((finished.code, sandbox.debates()), (Some(3), Vec::new()), "{name}: {finished}");
            return assert_attempts(&name, &server.requests());
        }
        let state = sandbox.state(&sandbox.only_debate());
        let failures = state["failures"].as_array().map_or(0, Vec::len);
        let reasons = state["outcome"]["reasons"].as_array().cloned().unwrap_or_default();
        let kind = &state["outcome"]["kind"];
        match expected(self.fault.1, when, phase) {
            End::Full => {
                assert_eq!((finished.code, kind), (Some(0), &json!("full")), "{name}: {finished}");
                assert_eq!((failures, reasons.len()), (0, 0), "{name}");
            }
            End::Degraded => {
                assert_eq!((finished.code, kind), (Some(0), &json!("degraded")), "{name}: {finished}");
                assert!(failures > 0 && reasons.len() >= failures, "{name}: {reasons:?}");
                for reason in &reasons {
                    let reason = reason.as_str().unwrap();
                    assert!(finished.stderr.contains(&format!("  - {reason}\n")), "{name}: {reason}\n{finished}");
                }
            }
            End::Failed | End::NeverBegun => {
                assert_eq!(finished.code, Some(3), "{name}: {finished}");
                assert_eq!((&state["status"], kind), (&json!("failed"), &Value::Null), "{name}");
                assert!(finished.stderr.contains("hint: all texts are saved"), "{name}: {finished}");
            }
        }
        sandbox.assert_state_is_the_fold(&sandbox.only_debate());
        assert_attempts(&name, &server.requests());
        if expected(self.fault.1, when, phase) == End::Failed {
            self.resume(&server, &sandbox);
        }
    }

    /// Once the cause is gone, the debate continues; nothing that was answered is asked again.
    fn resume(&self, server: &MockServer, sandbox: &Sandbox) {
        let name = self.name();
        let before = server.requests().len();
        server.set_script(reply);
        let (finished, state) = sandbox.debated(["resume", "latest", "--quiet"]);
        assert_eq!(state["outcome"]["kind"], "full", "{name}: {finished}");
        let asked: Vec<_> = server.requests().iter().skip(before).map(|request| request.purpose).collect();
        let expected = if self.phase == Purpose::Synthesize { 1 } else { 14 };
        assert_eq!(asked.len(), expected, "{name}: {asked:?}");
    }
}

fn reply(request: &Incoming) -> Reply {
    match request.purpose {
        Purpose::Confidence => Reply::json(json!({"confidence": 10})),
        _ => short_reply(request),
    }
}

/// No question is put more often than it may be.
fn assert_attempts(name: &str, requests: &[Arc<Incoming>]) {
    let mut attempts: HashMap<u64, usize> = HashMap::new();
    let mut alike: HashMap<(u64, &str, bool), usize> = HashMap::new();
    for request in requests {
        *attempts.entry(request.digest).or_default() += 1;
        *alike.entry((request.digest, request.path.as_str(), request.schema().is_some())).or_default() += 1;
    }
    let most = alike.values().max().copied().unwrap_or(0);
    assert!(most <= ATTEMPTS, "{name}: a call had {most} attempts of one form");
    // Those beyond are trials, for a model that has never answered: by the other API, and without a schema.
    let most = attempts.values().max().copied().unwrap_or(0);
    assert!(most <= ATTEMPTS + 3, "{name}: a call had {most} attempts");
}

#[test]
fn no_fault_makes_a_debate_full_that_is_not() {
    let mut cells = Vec::new();
    for fault in FAULTS {
        for when in [When::First, When::EveryThird, When::Always] {
            cells.extend(PHASES.map(|phase| Cell { fault, when, phase }));
        }
    }
    // Most of the time is spent waiting between attempts: side by side, but not so many that they wait for each other.
    let cells = Mutex::new(sample(cells, 6));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let Some(cell) = cells.lock().unwrap().pop() else { break };
                    cell.run();
                }
            });
        }
    });
}
