//! Requests that wait for the host, and its replies: a directory beside the record while it is unfinished.
//!
//! The run writes the requests anew whenever they change; they follow from the record. A reply is written once, by any
//! process, and stays until the debate is complete.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::debate::CallKey;

use super::snapshot::write_once;
use super::{Entry, Readers, StoreError, write_atomically};

/// A request that waits for the host's reply. It needs no other text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostRequest {
    /// The id within the debate.
    pub id: String,
    #[serde(flatten)]
    pub key: CallKey,
    /// The name and role of the agent that speaks.
    pub agent_name: String,
    pub role: String,
    /// What the answer is, as a noun.
    pub wanted: String,
    pub system: String,
    pub text: String,
    /// The JSON schema of the answer; absent for free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// The configured maximum length of the answer; absent if the text alone states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// The host's reply to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedReply {
    pub text: String,
    /// The person or model that wrote it, if named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl HostRequest {
    /// The id of a call's request: letters and digits, the same in every run.
    pub fn id_of(key: &CallKey) -> String {
        // Keys always have a JSON form.
        let [a, b, c, d, ..]: [u8; 32] = Sha256::digest(serde_json::to_vec(key).unwrap_or_default()).into();
        format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
    }

    /// Who is to write what: `The kiss (kiss): critique of agent-architect, round 1`.
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

    /// Not from the request's own id, which may come from anywhere.
    fn reply_path(&self, key: &CallKey) -> PathBuf {
        self.host_path().join(format!("{}.reply", HostRequest::id_of(key)))
    }

    /// The requests without a reply, in the order in which the debate wants them.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn host_requests(&self) -> Result<Vec<HostRequest>, StoreError> {
        let mut requests = self.shown_to_host()?;
        requests.retain(|request| !self.reply_path(&request.key).exists());
        Ok(requests)
    }

    /// The requests that the last run showed, including those with a reply by now.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn shown_to_host(&self) -> Result<Vec<HostRequest>, StoreError> {
        let path = self.requests_path();
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(|source| StoreError::Read { path: path.clone(), source })?,
        };
        serde_json::from_slice(&bytes).map_err(|error| StoreError::Read { path, source: error.into() })
    }

    /// Replaces the requests.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write_host_requests(&self, requests: &[&HostRequest]) -> Result<(), StoreError> {
        let path = self.host_path();
        fs::create_dir_all(&path).map_err(|source| StoreError::Directory { path, source })?;
        write_atomically(&self.requests_path(), Readers::Owner, |out| Ok(serde_json::to_writer_pretty(out, requests)?))
    }

    /// The reply to a request; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn host_reply(&self, key: &CallKey) -> Result<Option<SavedReply>, StoreError> {
        let path = self.reply_path(key);
        match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| StoreError::Read { path, source: error.into() }),
            Err(source) => Err(StoreError::Read { path, source }),
        }
    }

    /// Saves the reply to a request unless it has one. Returns whether it was saved.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save_host_reply(&self, key: &CallKey, reply: &SavedReply) -> Result<bool, StoreError> {
        write_once(&self.reply_path(key), |out| Ok(serde_json::to_writer(out, reply)?))
    }

    /// The time of the last request or reply; `None` if there are none.
    pub fn host_changed(&self) -> Option<SystemTime> {
        fs::metadata(self.host_path()).and_then(|metadata| metadata.modified()).ok()
    }

    /// Removes the requests and replies of a complete debate.
    pub fn forget_host(&self) {
        drop(fs::remove_dir_all(self.host_path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debate::StageId;

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
        assert_eq!(entry.host_requests().unwrap(), []);
        // An agent's id is any text.
        entry.write_host_requests(&[&request("../a"), &request("b")]).unwrap();
        let said = |text: &str| SavedReply { text: text.to_owned(), by: None };
        assert!(entry.save_host_reply(&key("../a"), &said("first")).unwrap());
        assert!(!entry.save_host_reply(&key("../a"), &said("second")).unwrap());
        assert_eq!(entry.host_reply(&key("../a")).unwrap(), Some(said("first")));
        assert_eq!(entry.host_requests().unwrap(), [request("b")]);
        entry.forget_host();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
