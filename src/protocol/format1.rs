//! Records of format 1, in which events of calls did not carry their keys and a debate not its stages.

use serde_json::{Map, Value, json};

use crate::debate::{Debate, FORMAT_VERSION, StageInfo};

use super::{DIALECTIC, Protocol};

/// Puts the events of a journal of format 1 into today's form, one after the other from the first. Those that newer
/// versions appended to it stay as they are.
#[derive(Debug, Default)]
pub struct Upgrade {
    is_needed: bool,
    round: u64,
    judge: Value,
}

impl Upgrade {
    /// Begins with a journal whose first event names this format.
    pub fn begin(&mut self, format_version: u32) {
        self.is_needed = format_version < FORMAT_VERSION;
    }

    /// Whether there is anything to do.
    #[must_use]
    pub fn is_needed(&self) -> bool {
        self.is_needed
    }

    /// Puts the next event into today's form. What is missing or wrong in it stays so, and does not read then.
    pub fn apply(&mut self, event: &mut Value) {
        let Some(event) = event.as_object_mut() else { return };
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        if event.contains_key("key") {
            return;
        }
        match kind.as_str() {
            "created" => self.created(event),
            "round-begun" => {
                self.round = event.get("round").and_then(Value::as_u64).unwrap_or(self.round);
                event.entry("node").or_insert(json!("summarization"));
            }
            "questions-asked" => {
                let pass = event.remove("iteration").unwrap_or(json!(1));
                let agent = event["questions"]["agentId"].clone();
                event.insert(
                    "key".to_owned(),
                    json!({"round": 0, "phase": "clarification", "agentId": agent, "pass": pass}),
                );
            }
            "summarized" => {
                let agent = event["summary"]["agentId"].clone();
                insert_key(event, "summarization", &agent);
            }
            "contributed" => {
                let (kind, agent) = (event["contribution"]["type"].clone(), event["contribution"]["agentId"].clone());
                let target = event["contribution"].get("targetAgentId").filter(|_| kind == "critique").cloned();
                insert_key(event, kind.as_str().unwrap_or_default(), &agent);
                if let Some(target) = target {
                    event["key"]["targetAgentId"] = target;
                }
                if !event.contains_key("call") {
                    event["contribution"]["metadata"]["carriedOver"] = json!(true);
                }
            }
            "evaluated" => {
                let judge = self.judge.clone();
                insert_key(event, "evaluation", &judge);
            }
            "judge-summarized" => {
                event.insert("type".to_owned(), json!("summarized"));
                event.insert("round".to_owned(), json!(self.round));
                let judge = self.judge.clone();
                insert_key(event, "judge-summary", &judge);
            }
            "synthesized" if event.contains_key("call") => {
                event.insert("round".to_owned(), json!(self.round));
                let judge = self.judge.clone();
                insert_key(event, "synthesis", &judge);
            }
            _ => {}
        }
    }

    fn created(&mut self, event: &mut Map<String, Value>) {
        self.judge = event["settings"]["judge"]["id"].clone();
        let protocol = event["settings"]["debate"]["protocol"].as_str().and_then(Protocol::named);
        event.entry("stages").or_insert(json!(infos(protocol)));
        event.insert("formatVersion".to_owned(), json!(FORMAT_VERSION));
    }
}

/// `round` becomes a part of the event's key.
fn insert_key(event: &mut Map<String, Value>, stage: &str, agent: &Value) {
    let round = event.remove("round").unwrap_or_default();
    event.insert("key".to_owned(), json!({"round": round, "phase": stage, "agentId": agent}));
}

fn infos(protocol: Option<&Protocol>) -> Vec<&StageInfo> {
    protocol.unwrap_or(&DIALECTIC).stages.iter().map(|stage| &stage.info).collect()
}

/// Gives a state of before format 2 the stages of its protocol, and marks the proposals in it that were carried over.
pub fn upgrade_state(debate: &mut Debate) {
    if debate.stages.is_empty() {
        let protocol = debate.settings.as_ref().and_then(|settings| Protocol::named(&settings.debate.protocol));
        debate.stages = protocol.unwrap_or(&DIALECTIC).infos();
    }
    if debate.format_version.is_none_or(|version| version < FORMAT_VERSION) {
        debate.mark_carried_over();
    }
}
