//! What the program asks and where it ends, pinned for whole debates: every prompt by its digest, every part of the
//! state by its own. A change that is not meant to reach a prompt or a result shows here if it does.
//!
//! `UPDATE_ORACLE=1 cargo test --test dialectic oracle` writes the files of `tests/oracle` anew.

mod debates;
mod pinned;

use serde_json::{Value, json};

use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, answer, config, default_reply, prose};

/// A debate that is run step by step against a server that answers what was asked alone.
struct Oracle {
    server: MockServer,
    sandbox: Sandbox,
}

impl Oracle {
    /// Agents with these roles. What the script has no answer for gets the usual one.
    fn new(
        roles: &[&str],
        debate: &Value,
        script: impl Fn(&Incoming) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        Self::configured(&config(roles, &seeded(debate)), script)
    }

    fn configured(config: &Value, script: impl Fn(&Incoming) -> Option<Reply> + Send + Sync + 'static) -> Self {
        let server = MockServer::with(move |request| script(request).unwrap_or_else(|| usual(request)));
        let sandbox = Sandbox::new().model_server(&server).config(config);
        Self { server, sandbox }
    }

    /// Runs the program.
    fn run(&self, code: i32, arguments: &[&str], input: &str) {
        self.sandbox.run_with_input(arguments.iter().chain(&["--quiet"]), input).expect_code(code);
    }

    /// Holds the newest debate and all requests since [`MockServer::forget`] to the file of that name.
    fn is_pinned(&self, name: &str) {
        self.server.assert_clean();
        let id = self.sandbox.debates().pop().expect("there is a debate");
        self.sandbox.assert_state_is_the_fold(&id);
        let home = self.sandbox.directory().to_string_lossy().into_owned();
        // What tools answer names files by their whole paths.
        let state = self.sandbox.state(&id).to_string().replace(&home, "[directory]");
        let state = pinned::state(&serde_json::from_str(&state).expect("a path without its beginning is a text still"));
        let text = format!("{}\n{state}", pinned::requests(&self.server.requests(), &home));
        pinned::compare(name, &text);
    }
}

/// The settings with a seed: candidates are shuffled alike each time.
fn seeded(debate: &Value) -> Value {
    let mut debate = debate.clone();
    debate["seed"] = 7.into();
    debate
}

/// Which call of a debate a request is, as far as the marks say that begin the texts in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    round: usize,
    purpose: Purpose,
    agent: String,
    target: Option<String>,
}

/// What a text of an agent begins with: `[refinement 2 kiss]`.
#[derive(Debug, Clone, Copy)]
struct Mark<'a> {
    kind: &'a str,
    round: usize,
    agent: &'a str,
}

impl<'a> Mark<'a> {
    fn all(text: &'a str) -> impl Iterator<Item = Self> {
        text.split('[').skip(1).filter_map(|rest| {
            let [kind, round, agent] =
                <[&str; 3]>::try_from(rest.split_once(']')?.0.split(' ').collect::<Vec<_>>()).ok()?;
            Some(Self { kind, round: round.parse().ok()?, agent })
        })
    }

    /// The round in which this is of a finished one; a summary is made in the round that begins with it.
    fn next(self) -> usize {
        self.round + usize::from(self.kind != "summary")
    }
}

impl Call {
    fn of(request: &Incoming) -> Self {
        let prompt = request.prompt();
        let subject = prompt.rfind("\n# Text ").and_then(|start| Mark::all(&prompt[start..]).next());
        let target = |purpose| subject.filter(|_| purpose == Purpose::Critique).map(|mark| mark.agent.to_owned());
        let round = match request.purpose {
            // A refinement is the next round's proposal.
            Purpose::Critique | Purpose::Refine => {
                subject.map_or(0, |mark| mark.round + usize::from(mark.kind == "refinement"))
            }
            Purpose::Propose | Purpose::Summarize => Mark::all(prompt).map(Mark::next).max().unwrap_or(1),
            _ => Mark::all(prompt).map(|mark| mark.round).max().unwrap_or(0),
        };
        let agent = request.model().trim_start_matches("model-").to_owned();
        Self { round, purpose: request.purpose, agent, target: target(request.purpose) }
    }

    /// A number of its own for each call.
    fn seed(&self) -> u64 {
        format!("{self:?}").bytes().fold(7, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}

/// An agent's text of that many words, marked.
fn text(request: &Incoming, words: usize) -> Reply {
    let call = Call::of(request);
    let kind = match call.purpose {
        Purpose::Propose => "proposal",
        Purpose::Critique => "critique",
        Purpose::Refine => "refinement",
        _ => "summary",
    };
    let point = if call.purpose == Purpose::Critique { "1. [major] " } else { "" };
    let text = format!("{point}[{kind} {} {}] {}", call.round, call.agent, prose(call.seed(), words));
    let output = text.len() as u64 / 4;
    Reply::text(text).usage(request.text().len() as u64 / 4, 0, output)
}

/// The usual answer: one that depends on which call it is and not on the words of its prompt, so that a prompt that
/// changed does not change all that come after it.
fn usual(request: &Incoming) -> Reply {
    match request.purpose {
        Purpose::Propose | Purpose::Refine => text(request, 70),
        Purpose::Critique => text(request, 40),
        Purpose::Summarize => text(request, 30),
        Purpose::Synthesize => {
            let base = if request.prompt().contains("`base`") { json!("1") } else { json!(null) };
            let assessment = json!({
                "base": base, "tradeoffs": ["More storage for less waiting"], "recommendations": [],
                "unfulfilledMajorRequirements": [], "openQuestions": ["How many tenants?"], "confidence": 82,
            });
            Reply::text(answer(&prose(Call::of(request).seed(), 60), &assessment))
        }
        _ => default_reply(request),
    }
}
