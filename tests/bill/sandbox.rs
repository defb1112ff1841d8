//! The program's directory, and what its own books say there.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

pub(crate) use crate::support::{Finished, Running, Sandbox};

pub(crate) fn sandbox(environment: &[(&'static str, String)]) -> Sandbox {
    let program = std::env::var_os("BILL_PROGRAM").map(PathBuf::from);
    let sandbox = Sandbox::new().limit(Duration::from_mins(5));
    let sandbox = program.into_iter().fold(sandbox, Sandbox::program);
    environment.iter().fold(sandbox, |sandbox, (name, value)| sandbox.env(name, value))
}

impl Sandbox {
    /// The ids of the debates that have a journal, the oldest first.
    pub(crate) fn begun(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory().join("debates")).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut ids: Vec<String> =
            names.filter_map(|name| Some(name.strip_suffix(".events.jsonl")?.to_owned())).collect();
        ids.sort();
        ids
    }

    /// The state of a debate; null where there is none yet.
    pub(crate) fn saved(&self, id: &str) -> Value {
        let text = fs::read(self.directory().join(format!("debates/{id}.json"))).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or(Value::Null)
    }

    /// What the program's own books say that a debate has taken at most: what calls cost, and what was set aside for
    /// those of which that is not known.
    pub(crate) fn booked(&self, id: &str) -> f64 {
        let mut aside: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        let mut booked = 0.0;
        for event in self.recorded(id) {
            let (kind, usd) = (event["type"].as_str().unwrap_or_default(), event["usd"].as_f64());
            if let ("cost-reserved", Some(usd)) = (kind, usd) {
                let factor = event["factor"].as_f64().unwrap_or(1.0).max(1.0);
                aside.insert(event["seq"].as_u64().unwrap_or_default(), (usd, factor));
            }
            let call = &event["call"];
            if call["copied"] == true {
                continue;
            }
            let reserved = call["reservation"].as_u64().and_then(|number| aside.remove(&number));
            let unsaid = reserved.map(|(usd, factor)| if kind == "attempt-failed" { usd } else { usd / factor });
            booked += call["costUsd"].as_f64().or(unsaid).unwrap_or(0.0);
        }
        booked + aside.into_values().map(|(usd, _)| usd).sum::<f64>()
    }

    /// What the journal of a debate says of money, for people.
    pub(crate) fn books(&self, id: &str) -> String {
        lines(self.recorded(id).into_iter().filter_map(|event| {
            let (seq, kind, key) = (&event["seq"], &event["type"], &event["key"]);
            let (usd, error, call) = (&event["usd"], &event["error"], &event["call"]);
            let is_of_money = call.is_object() || usd.is_number() || kind == "resumed";
            is_of_money.then(|| format!("{seq} {kind} {key} usd {usd} error {error} call {call}"))
        }))
    }

    /// The events of a journal as far as they can be read; a kill may have cut it.
    fn recorded(&self, id: &str) -> Vec<Value> {
        let journal = fs::read_to_string(self.directory().join(format!("debates/{id}.events.jsonl")));
        journal.unwrap_or_default().lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Leaves the directory where it is.
    pub(crate) fn keep(self) -> PathBuf {
        let directory = self.directory().to_owned();
        std::mem::forget(self);
        directory
    }
}

/// The amounts of dollars in a text, in their order.
pub(crate) fn amounts(text: &str) -> Vec<f64> {
    let after = text.split('$').skip(1);
    let digits = after.map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || ".,".contains(c))).unwrap_or(rest.len());
        rest[..end].trim_end_matches(['.', ',']).replace(',', "")
    });
    digits.filter_map(|text| text.parse().ok()).collect()
}

/// Texts, each on a line of its own.
pub(crate) fn lines(texts: impl Iterator<Item = String>) -> String {
    texts.map(|text| text + "\n").collect()
}
