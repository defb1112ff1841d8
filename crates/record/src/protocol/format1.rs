//! Records of format 1, in which events of calls did not carry their keys and a debate not its stages.

use serde_json::{Value, json};

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
        if !event.is_object() || event.get("key").is_some() {
            return;
        }
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "created" => self.created(event),
            "round-begun" => {
                self.round = event["round"].as_u64().unwrap_or(self.round);
                if event.get("node").is_none() {
                    event["node"] = json!("summarization");
                }
            }
            "questions-asked" => {
                let agent = event["questions"]["agentId"].clone();
                let pass = event.as_object_mut().and_then(|event| event.remove("iteration")).unwrap_or(json!(1));
                event["round"] = json!(0);
                insert_key(event, &json!("clarification"), &agent);
                event["key"]["pass"] = pass;
            }
            "summarized" => {
                let agent = event["summary"]["agentId"].clone();
                insert_key(event, &json!("summarization"), &agent);
            }
            "contributed" => {
                let said = &event["contribution"];
                let (kind, agent) = (said["type"].clone(), said["agentId"].clone());
                let target = said.get("targetAgentId").filter(|_| kind == "critique").cloned();
                insert_key(event, &kind, &agent);
                if let Some(target) = target {
                    event["key"]["targetAgentId"] = target;
                }
                let is_free = event.get("call").is_none();
                if let Some(said) = event.get_mut("contribution").and_then(Value::as_object_mut).filter(|_| is_free) {
                    let metadata = said.entry("metadata").or_insert(json!({})).as_object_mut();
                    metadata.map(|metadata| metadata.insert("carriedOver".to_owned(), json!(true)));
                }
            }
            "evaluated" => insert_key(event, &json!("evaluation"), &self.judge),
            "judge-summarized" => {
                event["type"] = json!("summarized");
                event["round"] = json!(self.round);
                insert_key(event, &json!("judge-summary"), &self.judge);
            }
            "synthesized" if event.get("call").is_some() => {
                event["round"] = json!(self.round);
                insert_key(event, &json!("synthesis"), &self.judge);
            }
            _ => {}
        }
    }

    fn created(&mut self, event: &mut Value) {
        self.judge = event["settings"]["judge"]["id"].clone();
        if event.get("stages").is_none() {
            let protocol = event["settings"]["debate"]["protocol"].as_str().and_then(Protocol::named);
            event["stages"] = json!(infos(protocol));
        }
        event["formatVersion"] = json!(FORMAT_VERSION);
    }
}

/// `round` becomes a part of the key of `event`, which is an object.
fn insert_key(event: &mut Value, stage: &Value, agent: &Value) {
    let round = event.as_object_mut().and_then(|event| event.remove("round")).unwrap_or_default();
    event["key"] = json!({"round": round, "phase": stage, "agentId": agent});
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
