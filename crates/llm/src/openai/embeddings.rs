//! Embeddings: what is sent, and what comes back.
//! Source of the format: platform.openai.com, "API reference", "Embeddings".

use serde::{Deserialize, Serialize};

use crate::error::may_bill;
use crate::{FailedAttempt, ModelError, Reply, Request, Usage};

use super::OpenAiClient;
use super::failure::{ErrorField, Refusal, excerpt};
use super::lenient::{ReportedUsage, stated_cost, tolerant, tolerant_list};
use super::transport::{Posted, broken};

const PATH: &str = "/embeddings";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: Vec<&'a str>,
}

/// An answer; whatever may be absent is.
#[derive(Deserialize)]
struct Answer {
    #[serde(default, deserialize_with = "tolerant_list")]
    data: Option<Vec<Embedding>>,
    #[serde(default, deserialize_with = "tolerant")]
    model: Option<String>,
    #[serde(default, deserialize_with = "tolerant")]
    usage: Option<ReportedUsage>,
    #[serde(default, deserialize_with = "tolerant")]
    error: Option<ErrorField>,
}

#[derive(Deserialize)]
struct Embedding {
    index: Option<usize>,
    embedding: Vec<f64>,
}

impl OpenAiClient {
    /// Asks for the embeddings of texts, all in one request.
    pub(super) async fn embed(&self, request: &Request) -> Result<Reply, FailedAttempt> {
        let input: Vec<&str> = request.embeds.iter().map(AsRef::as_ref).collect();
        let wanted = input.len();
        let answer = match self.transport.post(PATH, &Body { model: &request.model, input }).await? {
            Posted::Whole(answer) => answer,
            Posted::Streamed(_) => return Err(broken("it is a stream, and embeddings come as a whole").into()),
        };
        let address = self.transport.address();
        if !answer.status.is_success() {
            let refusal = Refusal::of_answer(&answer, address, PATH);
            // A server that has no such thing says so in different ways. Asking again would change nothing.
            let lacks_it = matches!(refusal.status, 404 | 405 | 501);
            let error = match refusal.into_error() {
                ModelError::ServerFailed { status, message, .. } if lacks_it => ModelError::Refused { status, message },
                error => error,
            };
            return Err(FailedAttempt { may_be_billed: may_bill(answer.status.as_u16()), ..error.into() });
        }
        let mut read: Answer = serde_json::from_slice(&answer.body)
            .map_err(|_| broken(format!("it holds no embeddings: {}", excerpt(&answer.body, address))))?;
        let usage = Usage {
            tokens: read.usage.as_ref().and_then(ReportedUsage::input_alone),
            cost: stated_cost(read.usage.as_ref(), &answer.headers),
        };
        // The answer had begun: whatever it says, work was done for it.
        let failed = |error: ModelError| FailedAttempt { error, usage, may_be_billed: true };
        if let Some(fault) = read.error.take().and_then(ErrorField::into_fault) {
            return Err(failed(Refusal::inside(fault, &answer, address).into_error()));
        }
        let embeddings = in_order(read.data.unwrap_or_default(), wanted).map_err(|fault| failed(broken(fault)))?;
        Ok(Reply {
            embeddings,
            served_model: read.model,
            tokens: usage.tokens,
            stated_cost: usage.cost,
            ..Reply::default()
        })
    }
}

/// The vectors in the order of the texts, where there is one of each and all are of one kind.
fn in_order(mut data: Vec<Embedding>, wanted: usize) -> Result<Vec<Vec<f64>>, String> {
    if data.iter().all(|one| one.index.is_some()) {
        data.sort_by_key(|one| one.index);
    }
    let length = data.first().map_or(0, |one| one.embedding.len());
    let is_whole = |one: &Embedding| {
        one.embedding.len() == length && length > 0 && one.embedding.iter().all(|value| value.is_finite())
    };
    if data.len() != wanted {
        return Err(format!("it holds {} embeddings of {wanted} texts", data.len()));
    }
    if !data.iter().all(is_whole) {
        return Err("its embeddings are not of one length, or not numbers".to_owned());
    }
    Ok(data.into_iter().map(|one| one.embedding).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embedding(index: Option<usize>, embedding: &[f64]) -> Embedding {
        Embedding { index, embedding: embedding.to_vec() }
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let swapped = vec![embedding(Some(1), &[2.0]), embedding(Some(0), &[1.0])];
        assert_eq!(in_order(swapped, 2), Ok(vec![vec![1.0], vec![2.0]]));
        let unnumbered = vec![embedding(None, &[2.0]), embedding(None, &[1.0])];
        assert_eq!(in_order(unnumbered, 2), Ok(vec![vec![2.0], vec![1.0]]));
    }

    #[test]
    fn what_is_no_embedding_of_each_text_is_refused() {
        assert!(in_order(vec![embedding(Some(0), &[1.0])], 2).unwrap_err().contains("1 embeddings of 2"));
        assert!(in_order(vec![embedding(Some(0), &[])], 1).is_err());
        assert!(in_order(vec![embedding(Some(0), &[1.0]), embedding(Some(1), &[1.0, 2.0])], 2).is_err());
        assert!(in_order(vec![embedding(Some(0), &[f64::NAN])], 1).is_err());
    }
}
