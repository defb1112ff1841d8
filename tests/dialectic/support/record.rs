//! Records of debates that never took place, for tests of the fold.

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha12Rng;
use serde_json::{Value, json};

use dialectic_base::call::{CallRecord, Tokens};
use dialectic_base::money::Usd;
use dialectic_record::event::{Event, Recorded};
use dialectic_record::ids::Timestamp;
use dialectic_record::protocol::DIALECTIC;
use dialectic_record::settings::Settings;

use super::prose;

/// What a made-up debate looks like.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) agents: usize,
    pub(crate) rounds: u32,
    /// Whether questions were asked and answered.
    pub(crate) clarified: bool,
    /// Whether later rounds begin with summaries.
    pub(crate) summarized: bool,
    /// One call in so many failed for good; 0 for none.
    pub(crate) failing: u64,
    /// One call in so many has no known price; 0 for none.
    pub(crate) unpriced: u64,
    /// Whether it was interrupted between rounds.
    pub(crate) interrupted: bool,
    /// Everything else.
    pub(crate) seed: u64,
}

/// One contribution's place in a round: stage, author, target.
pub(crate) type Place = (&'static str, usize, Option<usize>);

impl Plan {
    /// The event sequence, the events of each stage in an order that the number decides.
    pub(crate) fn events(&self, order: u64) -> Vec<Recorded> {
        let mut random = ChaCha12Rng::seed_from_u64(order);
        let mut events = Vec::new();
        for mut stage in self.stages() {
            stage.shuffle(&mut random);
            events.append(&mut stage);
        }
        events.into_iter().zip(1..).map(|(event, seq)| Recorded { seq, at: moment(seq), event }).collect()
    }

    /// What a round holds, in the order in which it is stored, but for what failed.
    pub(crate) fn places(&self, round: u32) -> Vec<Place> {
        let agents = || 0..self.agents;
        let mut places: Vec<Place> = agents().map(|agent| ("proposal", agent, None)).collect();
        for critic in agents() {
            let targets = agents().filter(|target| *target != critic);
            places.extend(targets.map(|target| ("critique", critic, Some(target))));
        }
        places.extend(agents().map(|agent| ("refinement", agent, None)));
        places.retain(|place| !self.fails(round, place));
        places
    }

    /// Agent ids, deliberately not in alphabetical order.
    pub(crate) fn agent_id(agent: usize) -> String {
        format!("agent-{}", ["kiss", "architect", "testing", "security", "performance"][agent])
    }

    fn fails(&self, round: u32, place: &Place) -> bool {
        self.failing != 0 && self.draw(&format!("{round}{place:?}")).is_multiple_of(self.failing)
    }

    /// A number that depends on the seed and the key alone.
    fn draw(&self, key: &str) -> u64 {
        key.bytes().fold(self.seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(5)
        })
    }

    /// The events in stages. Within a stage the order is up to the models.
    fn stages(&self) -> Vec<Vec<Event>> {
        let enter = |node: &str| vec![event(json!({"type": "node-entered", "node": node}))];
        let mut stages = vec![vec![self.created()], enter("initialization"), enter("clarification")];
        if self.clarified {
            stages.extend(self.clarification());
        }
        for round in 1..=self.rounds {
            stages.push(enter("round-manager"));
            stages.push(vec![event(json!({"type": "round-begun", "round": round, "node": "summarization"}))]);
            if self.summarized && round > 1 {
                stages.push((0..self.agents).map(|agent| self.summary("summarization", round, agent)).collect());
            }
            stages.push(self.round(round));
            let score = if self.draw(&format!("score{round}")).is_multiple_of(4) { Value::Null } else { json!(71.5) };
            let evaluation = json!({"type": "convergence", "score": score, "threshold": 80.0});
            let call = self.call(&format!("evaluation{round}"));
            let key = json!({"round": round, "phase": "evaluation", "agentId": "judge-main"});
            let evaluated = json!({"type": "evaluated", "key": key, "evaluation": evaluation, "call": call});
            stages.push(vec![event(evaluated)]);
            if self.interrupted {
                stages.push(vec![event(json!({"type": "paused"}))]);
                stages.push(vec![event(json!({"type": "resumed"}))]);
            }
        }
        stages.push(enter("synthesis"));
        stages.push(vec![self.summary("judge-summary", self.rounds, 0)]);
        let solution = json!({"description": prose(self.seed, 30), "confidence": 82.0, "synthesizedBy": "judge-main"});
        let call = self.call("synthesis");
        let key = json!({"round": self.rounds, "phase": "synthesis", "agentId": "judge-main"});
        stages.push(vec![event(json!({"type": "synthesized", "key": key, "solution": solution, "call": call}))]);
        stages.push(vec![event(json!({
            "type": "completed", "outcome": {"kind": "degraded", "reasons": ["something failed"]},
        }))]);
        stages
    }

    fn created(&self) -> Event {
        event(json!({
            "type": "created", "formatVersion": 2, "id": "deb-20250101-010203-ab12", "problem": prose(self.seed, 40),
            "settings": self.settings(), "seed": 7, "stages": &*DIALECTIC.infos(),
            "promptSources": {
                "agents": [{"agentId": Self::agent_id(0), "role": "kiss", "source": "file", "path": "/a/b.md"}],
                "judge": {"id": "judge-main", "source": "built-in", "summarySource": "built-in"},
            },
        }))
    }

    fn settings(&self) -> Settings {
        let summarization = json!({"enabled": true, "threshold": 5000, "maxLength": 2500, "method": "length-based", "promptPath": null});
        let agent = |id: &str| {
            json!({
                "id": id, "name": id, "role": "architect", "model": "gpt-4", "provider": "openai", "temperature": 0.5,
                "summarization": summarization, "enabled": true, "tools": [{"name": "file_read"}], "toolCallLimit": 10,
            })
        };
        let agents: Vec<Value> = (0..self.agents).map(|position| agent(&Self::agent_id(position))).collect();
        let settings = json!({
            "agents": agents, "judge": agent("judge-main"),
            "debate": {
                "protocol": "dialectic", "rounds": self.rounds,
                "terminationCondition": {"type": "convergence", "threshold": 80.0}, "synthesisMethod": "judge",
                "includeFullHistory": true, "timeoutPerRound": 300_000, "summarization": summarization,
                "interactiveClarifications": self.clarified, "clarificationsMaxPerAgent": 5,
                "clarificationsMaxIterations": 3, "maxConcurrency": 16, "callTimeout": 120_000, "maxRetries": 3,
                "onAgentFailure": "continue", "budget": {"maxCostUsd": 1.25, "warnCostUsd": null}, "trace": null,
                "orchestratorType": "state-machine",
            },
        });
        serde_json::from_value(settings).expect("these settings are as the state has them")
    }

    fn clarification(&self) -> Vec<Vec<Event>> {
        let item =
            |agent: usize, item: u32| json!({"id": format!("{agent}-q{item}"), "question": prose(7, 5), "answer": ""});
        let asked = |agent: usize| {
            let id = Self::agent_id(agent);
            // To the last agent all is clear, so a call without questions is there too.
            let items = if agent + 1 == self.agents { Vec::new() } else { vec![item(agent, 1), item(agent, 2)] };
            let questions = json!({"agentId": id, "agentName": id, "role": "kiss", "items": items});
            let call = self.call(&format!("clarification{agent}"));
            let key = json!({"round": 0, "phase": "clarification", "agentId": id});
            event(json!({"type": "questions-asked", "key": key, "questions": questions, "call": call}))
        };
        let answered = |agent: usize, item: u32| {
            let (id, item) = (Self::agent_id(agent), format!("{agent}-q{item}"));
            event(json!({"type": "question-answered", "agentId": id, "itemId": item, "answer": format!("to {item}")}))
        };
        vec![
            (0..self.agents).map(asked).collect(),
            vec![event(json!({"type": "suspended", "node": "clarification-input"}))],
            (0..self.agents - 1).flat_map(|agent| [answered(agent, 1), answered(agent, 2)]).collect(),
            vec![event(json!({"type": "resumed"}))],
        ]
    }

    fn summary(&self, phase: &str, round: u32, agent: usize) -> Event {
        let id = if phase == "summarization" { Self::agent_id(agent) } else { "judge-main".to_owned() };
        let call = self.call(&format!("{phase}{round}{agent}"));
        let metadata = json!({"beforeChars": 6000, "afterChars": 2400, "method": "length-based", "temperature": 0.5});
        let text = prose(self.draw(&id), 20);
        let summary = json!({"agentId": id, "agentRole": "kiss", "summary": text, "metadata": metadata});
        let key = json!({"round": round, "phase": phase, "agentId": id});
        event(json!({"type": "summarized", "key": key, "summary": summary, "call": call}))
    }

    /// All calls of a round: finished ones, some after a reply with tool calls, and failed ones.
    fn round(&self, round: u32) -> Vec<Event> {
        let everything = Self { failing: 0, ..self.clone() }.places(round);
        let mut events = Vec::new();
        for place in everything {
            let (kind, agent, target) = place;
            let (id, target) = (Self::agent_id(agent), target.map(Self::agent_id));
            let phase = json!(kind);
            if self.fails(round, &place) {
                let at = moment(self.draw(&format!("{place:?}")) % 1000);
                let failure = json!({
                    "agentId": id, "targetAgentId": target, "phase": phase, "round": round,
                    "error": "the server failed (500)", "attempts": 4, "at": at,
                });
                events.push(event(json!({"type": "call-failed", "failure": failure})));
                continue;
            }
            let name = format!("{round}{place:?}");
            let key = json!({"round": round, "phase": phase, "agentId": id, "targetAgentId": target});
            if self.draw(&name).is_multiple_of(5) {
                let reply = json!({"text": "", "toolCalls": [{"id": "c", "name": "file_read", "arguments": "{}"}]});
                let call = self.call(&format!("{name}-tools"));
                events.push(event(json!({"type": "replied", "key": key, "reply": reply, "call": call})));
            }
            let mut contribution = json!({
                "agentId": id, "agentRole": "kiss", "type": phase, "content": prose(self.draw(&name), 15),
                "metadata": {"tokensUsed": 12, "latencyMs": 3, "model": "gpt-4"},
            });
            if let Some(target) = target {
                contribution["targetAgentId"] = json!(target);
            }
            let call = self.call(&name);
            events.push(event(json!({"type": "contributed", "key": key, "contribution": contribution, "call": call})));
        }
        events
    }

    /// A call's record: two models, odd amounts, some without price or tokens.
    fn call(&self, name: &str) -> CallRecord {
        let draw = self.draw(name);
        let unpriced = self.unpriced != 0 && draw.is_multiple_of(self.unpriced);
        let tokens = Tokens {
            input_tokens: draw % 5000,
            cached_input_tokens: draw % 100,
            output_tokens: draw % 700,
            ..Tokens::default()
        };
        CallRecord {
            model: ["gpt-4", "small-model"][usize::from(draw.is_multiple_of(3))].to_owned(),
            provider: "openai".to_owned(),
            tokens: (!draw.is_multiple_of(11)).then_some(tokens),
            cost_usd: (!unpriced).then(|| Usd::for_tokens(draw % 5000, 0.1 + 0.2)),
            latency_ms: draw % 900,
            attempts: 1,
            ..CallRecord::default()
        }
    }
}

fn event(value: Value) -> Event {
    let text = value.to_string();
    serde_json::from_value(value).unwrap_or_else(|error| panic!("not an event: {error}\n{text}"))
}

fn moment(millis: u64) -> Timestamp {
    let text = format!("2025-01-01T00:{:02}:{:02}.{:03}Z", millis / 60_000 % 60, millis / 1000 % 60, millis % 1000);
    serde_json::from_value(Value::String(text)).expect("this is a point in time")
}
