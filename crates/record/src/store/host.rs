//! Requests to the host (the person or agent that runs the debate) and its replies, in a directory next to the record
//! until the debate is complete.
//!
//! The run rewrites the requests whenever they change; they follow from the record. A reply is written once, by any
//! process, and stays until the debate is complete or the call has failed.

use std::fs;
use std::io::{BufReader, ErrorKind};
use std::path::PathBuf;
use std::time::SystemTime;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use dialectic_base::encoding::hexadecimal;

use crate::ids::{AgentId, CallKey};

use super::snapshot::{open_regular, write_once};
use super::{Entry, Readers, StoreError, write_atomically};

/// A request that waits for the host's reply. Contains everything that the host needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostRequest {
    /// Unique within the debate.
    pub id: String,
    #[serde(flatten)]
    pub key: CallKey,
    pub agent_name: String,
    pub role: String,
    /// The noun for the answer, for example `critique`.
    pub wanted: String,
    pub system: String,
    pub text: String,
    /// The JSON schema of the answer; absent for free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The configured maximum length of the answer; absent if only `text` states a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// The requests that a run made.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostRequests {
    /// Whether the run makes no further requests until the host replies or a model answers.
    #[serde(rename = "complete")]
    pub is_complete: bool,
    pub requests: Vec<HostRequest>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedReply {
    pub text: String,
    /// The person or model that wrote the reply, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl HostRequest {
    /// The id of a call's request: eight hexadecimal digits, the same in every run.
    pub fn id_of(key: &CallKey) -> String {
        let CallKey { round, stage, agent_id, target_agent_id, pass } = key;
        let target = target_agent_id.as_ref().map(AgentId::as_str);
        let text = format!("{:?}", (round, stage.as_str(), agent_id.as_str(), target, pass));
        let mut id = hexadecimal(&Sha256::digest(text));
        id.truncate(8);
        id
    }

    /// Describes the request, for example `The kiss (kiss): critique of agent-architect, round 1`.
    pub fn about(&self) -> String {
        let Self { key, agent_name, role, wanted, .. } = self;
        let about = key.target_agent_id.as_ref().map(|target| format!(" of {target}")).unwrap_or_default();
        let round = if key.round > 0 { format!(", round {}", key.round) } else { String::new() };
        format!("{agent_name} ({role}): {wanted}{about}{round}")
    }
}

impl Entry {
    fn host_path(&self) -> PathBuf {
        self.state.with_extension("host")
    }

    fn requests_path(&self) -> PathBuf {
        self.host_path().join("requests.json")
    }

    /// The path of the reply to a call. Computes the file name from `key`, because the id that a saved request contains
    /// is untrusted.
    fn reply_path(&self, key: &CallKey) -> PathBuf {
        self.host_path().join(format!("{}.reply", HostRequest::id_of(key)))
    }

    /// The requests without a reply, in the debate's order.
    ///
    /// # Errors
    ///
    /// Returns an error if the files cannot be read.
    pub fn host_requests(&self) -> Result<HostRequests, StoreError> {
        let HostRequests { mut is_complete, requests: shown } = self.shown_to_host()?;
        let mut requests = Vec::new();
        for request in shown {
            match self.host_reply(&request.key)? {
                Some(_) => is_complete = false,
                None => requests.push(request),
            }
        }
        Ok(HostRequests { is_complete, requests })
    }

    /// The requests as the run last wrote them, including those that the host has answered since.
    ///
    /// # Errors
    ///
    /// Returns an error if the files cannot be read.
    pub fn shown_to_host(&self) -> Result<HostRequests, StoreError> {
        Ok(read_json(self.requests_path())?.unwrap_or_default())
    }

    /// Replaces the requests.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn write_host_requests(&self, requests: &HostRequests) -> Result<(), StoreError> {
        let path = self.host_path();
        fs::create_dir_all(&path).map_err(|source| StoreError::Directory { path, source })?;
        write_atomically(&self.requests_path(), Readers::Owner, |out| Ok(serde_json::to_writer_pretty(out, requests)?))
    }

    /// The reply to a request, if there is one.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn host_reply(&self, key: &CallKey) -> Result<Option<SavedReply>, StoreError> {
        read_json(self.reply_path(key))
    }

    /// The reply to the request with this id, if there is one, even if the request is no longer shown.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read.
    pub fn host_reply_to(&self, id: &str) -> Result<Option<SavedReply>, StoreError> {
        // The id is untrusted and must not escape the directory.
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id { read_json(self.host_path().join(format!("{id}.reply"))) } else { Ok(None) }
    }

    /// Saves the reply to a request unless the request already has one. Returns whether the reply was saved.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn save_host_reply(&self, key: &CallKey, reply: &SavedReply) -> Result<bool, StoreError> {
        write_once(&self.reply_path(key), |out| Ok(serde_json::to_writer(out, reply)?))
    }

    /// Removes the reply to a request, so that the host can reply again.
    pub fn forget_host_reply(&self, key: &CallKey) {
        drop(fs::remove_file(self.reply_path(key)));
    }

    /// When the requests or replies last changed; `None` if there are none.
    pub fn host_changed(&self) -> Option<SystemTime> {
        fs::metadata(self.host_path()).and_then(|metadata| metadata.modified()).ok()
    }

    pub fn forget_host(&self) {
        drop(fs::remove_dir_all(self.host_path()));
    }
}

fn read_json<T: DeserializeOwned>(path: PathBuf) -> Result<Option<T>, StoreError> {
    let read = match open_regular(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.and_then(|file| Ok(serde_json::from_reader(BufReader::new(file))?)),
    };
    read.map(Some).map_err(|source| StoreError::Read { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::StageId;

    fn key(agent: &str) -> CallKey {
        CallKey::new(1, StageId::new("proposal"), &agent.into())
    }

    fn request(agent: &str) -> HostRequest {
        HostRequest {
            id: HostRequest::id_of(&key(agent)),
            key: key(agent),
            agent_name: agent.to_owned(),
            role: "kiss".to_owned(),
            wanted: "proposal".to_owned(),
            system: String::new(),
            text: String::new(),
            schema: None,
            max_tokens: None,
        }
    }

    #[test]
    fn a_request_waits_until_its_first_reply() {
        let directory = tempfile::tempdir().unwrap();
        let entry = Entry::of_state(&directory.path().join("a.json"));
        assert_eq!(entry.host_requests().unwrap(), HostRequests::default());
        assert_ne!(HostRequest::id_of(&key("a")), HostRequest::id_of(&key("a").pass(2)));
        // An agent's id can be any text.
        let requests = vec![request("../a"), request("b")];
        entry.write_host_requests(&HostRequests { is_complete: true, requests: requests.clone() }).unwrap();
        let said = |text: &str| SavedReply { text: text.to_owned(), by: None };
        assert!(entry.save_host_reply(&key("../a"), &said("first")).unwrap());
        assert!(!entry.save_host_reply(&key("../a"), &said("second")).unwrap());
        assert_eq!(entry.host_reply(&key("../a")).unwrap(), Some(said("first")));
        let open = entry.host_requests().unwrap();
        assert_eq!(open, HostRequests { is_complete: false, requests: vec![request("b")] });
        entry.write_host_requests(&open).unwrap();
        assert_eq!(entry.host_reply_to(&HostRequest::id_of(&key("../a"))).unwrap(), Some(said("first")));
        assert_eq!(entry.host_reply_to(&HostRequest::id_of(&key("b"))).unwrap(), None);
        fs::write(directory.path().join("a.reply"), serde_json::to_string(&said("outside")).unwrap()).unwrap();
        assert_eq!(entry.host_reply_to("../a").unwrap(), None);
        fs::remove_file(directory.path().join("a.reply")).unwrap();
        entry.write_host_requests(&HostRequests { is_complete: true, requests }).unwrap();
        entry.forget_host_reply(&key("../a"));
        assert!(entry.host_requests().unwrap().is_complete);
        fs::write(entry.requests_path(), "{").unwrap();
        assert!(matches!(entry.host_requests(), Err(StoreError::Read { .. })));
        entry.forget_host();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
