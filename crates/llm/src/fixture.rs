//! Requests, callers and listeners for tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use secrecy::SecretString;
use tokio::time::Instant;

use dialectic_base::provider::ApiKind;

use crate::openai::Endpoint;
use crate::{Caller, CallerLimits, ChatModel, ConcurrencyLimit, Listener, Live, Request, Timeouts};

/// Only streams that are supposed to break are idle this long.
pub(crate) const IDLE: Duration = Duration::from_secs(20);

pub(crate) fn request(model: &str, system: &str, prompt: &str) -> Request {
    Request {
        model: model.into(),
        temperature: 0.7,
        max_tokens: None,
        system: system.into(),
        prompt: prompt.into(),
        turns: vec![],
        answer: None,
        tools: Arc::new([]),
        tools_are_optional: false,
    }
}

pub(crate) fn endpoint(base_url: &str, key: &str, api: ApiKind) -> Endpoint {
    Endpoint {
        name: "local".into(),
        base_url: base_url.to_owned(),
        api_key: Some(SecretString::from(key)),
        headers: vec![],
        api,
        streams: true,
        takes_schemas: true,
    }
}

pub(crate) fn caller(chat: Arc<dyn ChatModel>, timeouts: Timeouts, max_retries: u32) -> Caller {
    Caller {
        chat,
        provider: "local".into(),
        price: None,
        timeouts,
        silence: None,
        limits: CallerLimits { in_flight: Arc::new(ConcurrencyLimit::at_most(16)), max_retries },
        account: None,
        observer: None,
    }
}

/// The streamed words, and when they came.
pub(crate) struct Heard(Mutex<Vec<(Duration, String)>>, Instant);

impl Default for Heard {
    fn default() -> Self {
        Self(Mutex::default(), Instant::now())
    }
}

impl Listener for Heard {
    fn on_token(&self, text: &str) {
        self.0.lock().unwrap().push((self.1.elapsed(), text.to_owned()));
    }
}

impl Heard {
    pub(crate) fn live(&self, idle: Duration) -> Live<'_> {
        Live { listener: self, timeouts: Timeouts { first_token: IDLE, idle }, attempt: 1, further: None }
    }

    pub(crate) fn in_time(self) -> Vec<(Duration, String)> {
        self.0.into_inner().unwrap()
    }

    pub(crate) fn texts(self) -> Vec<String> {
        self.in_time().into_iter().map(|(_, text)| text).collect()
    }
}
