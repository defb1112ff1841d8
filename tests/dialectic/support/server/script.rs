//! What the mock server answers.

use std::time::Duration;

use axum::body::Bytes;
use serde_json::{Value, json};

use super::{Gate, Incoming, Purpose, prose};

/// An answer, to be built step by step: `Reply::text("…").usage(10, 0, 5).after(Duration::from_millis(20))`.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) content: Content,
    pub(crate) delivery: Delivery,
    pub(crate) latency: Duration,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// Input, cached input, output; absent: nothing is reported.
    pub(crate) usage: Option<(u64, u64, u64)>,
    pub(crate) served_model: Option<String>,
    pub(crate) ending: Ending,
    /// Between two pieces of a stream.
    pub(crate) gap: Duration,
    /// What holds a stream up in its middle.
    pub(crate) gate: Option<Gate>,
    /// Whether it is sent as a whole even where a stream is wished for.
    pub(crate) whole: bool,
    /// Whether each piece of a stream goes out before the next, instead of as many at once as there are.
    pub(crate) one_by_one: bool,
}

/// What an answer holds.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// A model's text, in the form of the API in use.
    Text(String),
    /// A model's tool calls: name and arguments.
    ToolCalls(Vec<(String, Value)>),
    /// A body that is sent as it stands.
    Raw(Bytes),
    /// Pieces that are sent one by one, whether or not a stream was requested; after the last comes what the delivery
    /// says.
    Pieces(Vec<Bytes>),
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Complete,
    OutputLimit,
    ContentFilter,
}

/// How an answer gets to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// As a whole.
    Whole,
    /// The first half of the body, and that is all: a well-formed HTTP answer with broken JSON.
    Half,
    /// The first half of the body, then the connection breaks.
    Cut,
    /// The first half of a stream, then nothing more, and no end either.
    Silent,
    /// The first half of a stream, then an event that says that something broke.
    Fault,
    /// Never.
    Never,
}

impl Reply {
    fn new(content: Content) -> Self {
        Self {
            content,
            delivery: Delivery::Whole,
            latency: Duration::ZERO,
            status: 200,
            headers: Vec::new(),
            usage: Some((100, 0, 20)),
            served_model: None,
            ending: Ending::Complete,
            gap: Duration::ZERO,
            gate: None,
            whole: false,
            one_by_one: false,
        }
    }

    /// A model's text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }

    /// A model's text that is this JSON.
    #[expect(clippy::needless_pass_by_value, reason = "called with json!() throughout")]
    pub(crate) fn json(value: Value) -> Self {
        Self::text(value.to_string())
    }

    /// A model that wants tools called.
    pub(crate) fn tool_calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        Self::new(Content::ToolCalls(calls.into_iter().map(|(name, arguments)| (name.to_owned(), arguments)).collect()))
    }

    /// An error as the API documents them.
    pub(crate) fn error(status: u16, message: &str) -> Self {
        let body = json!({"error": {"message": message, "type": "mock_error", "param": null, "code": null}});
        Self::raw("application/json", body.to_string()).status(status)
    }

    /// A body that is sent as it stands, with status 200.
    pub(crate) fn raw(content_type: &str, body: impl Into<Bytes>) -> Self {
        Self::untyped(body).header("content-type", content_type)
    }

    /// The same, not saying of what type it is.
    pub(crate) fn untyped(body: impl Into<Bytes>) -> Self {
        Self::new(Content::Raw(body.into()))
    }

    /// Pieces that are sent one by one as they stand, and what follows on the last of them.
    pub(crate) fn pieces(
        content_type: &str,
        pieces: impl IntoIterator<Item = impl Into<Bytes>>,
        delivery: Delivery,
    ) -> Self {
        let content = Content::Pieces(pieces.into_iter().map(Into::into).collect());
        Self { delivery, ..Self::new(content) }.header("content-type", content_type)
    }

    /// A web page, as proxies and login walls send them.
    pub(crate) fn html() -> Self {
        Self::raw("text/html", "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>")
    }

    /// No body at all.
    pub(crate) fn empty() -> Self {
        Self::raw("application/json", "")
    }

    /// A model's text of 10 MB, as a whole: word by word it would take minutes to send.
    pub(crate) fn huge() -> Self {
        Self::text("ten megabytes ".repeat(10_000_000 / 14 + 1)).unstreamed()
    }

    /// No answer, ever.
    pub(crate) fn hang() -> Self {
        Self { delivery: Delivery::Never, ..Self::text("") }
    }

    /// The connection breaks in the middle of the body.
    pub(crate) fn cut(self) -> Self {
        Self { delivery: Delivery::Cut, ..self }
    }

    /// The body is complete for HTTP, but ends in the middle of the JSON.
    pub(crate) fn truncated(self) -> Self {
        Self { delivery: Delivery::Half, ..self }
    }

    /// A stream that goes silent in the middle.
    pub(crate) fn silent(self) -> Self {
        Self { delivery: Delivery::Silent, ..self }
    }

    /// A stream with an error in the middle.
    pub(crate) fn faulty(self) -> Self {
        Self { delivery: Delivery::Fault, ..self }
    }

    /// A stream that pauses in the middle until the gate opens; any other reply starts then.
    pub(crate) fn held(self, gate: &Gate) -> Self {
        Self { gate: Some(gate.clone()), ..self }
    }

    /// A stream with that time between its pieces.
    pub(crate) fn paced(self, gap: Duration) -> Self {
        Self { gap, ..self }
    }

    /// A stream whose pieces go out in packets of their own, without a pause.
    pub(crate) fn word_by_word(self) -> Self {
        Self { one_by_one: true, ..self }
    }

    /// Of a server that does not stream, whatever it is asked for.
    pub(crate) fn unstreamed(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Sent after that time.
    pub(crate) fn after(self, latency: Duration) -> Self {
        Self { latency, ..self }
    }

    /// With that HTTP status.
    pub(crate) fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// With one header more.
    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Reports those tokens: input (cached ones included), cached input, output.
    pub(crate) fn usage(self, input: u64, cached: u64, output: u64) -> Self {
        Self { usage: Some((input, cached, output)), ..self }
    }

    /// Reports no tokens.
    pub(crate) fn without_usage(self) -> Self {
        Self { usage: None, ..self }
    }

    /// Says that another model than the requested one answered.
    pub(crate) fn served_by(self, model: &str) -> Self {
        Self { served_model: Some(model.to_owned()), ..self }
    }

    /// The model stopped for that reason.
    pub(crate) fn ending(self, ending: Ending) -> Self {
        Self { ending, ..self }
    }
}

/// An answer that fits the request and depends on nothing else: the same request, the same answer.
pub(crate) fn default_reply(request: &Incoming) -> Reply {
    if request.task() == "check" {
        return Reply::text("No objections.");
    }
    let text = |words| prose(request.digest, words);
    let input = request.messages.iter().map(|message| message.text.len() as u64).sum::<u64>() / 4;
    let reply = match request.purpose {
        Purpose::Clarify => Reply::json(json!({"questions": []})),
        Purpose::Confidence => Reply::json(json!({"reason": text(8), "confidence": 82})),
        Purpose::Vote => Reply::json(json!({"choice": "1", "confidence": 70, "reason": text(12)})),
        Purpose::Synthesize => Reply::text(solution(request, &text(80))),
        Purpose::Assess => Reply::json(assessment(request)),
        Purpose::Evaluate => Reply::json(scores(&text(10))),
        Purpose::Summarize => Reply::text(text(40)),
        Purpose::Critique => Reply::text(format!("1. {}\n2. {}", text(30), text(20))),
        Purpose::Propose | Purpose::Refine | Purpose::Text => {
            Reply::text(format!("## Approach\n\n{}\n\n## Requirements Coverage\n\n- All of it: {}", text(80), text(8)))
        }
    };
    let Content::Text(answer) = &reply.content else { return reply };
    let output = answer.len() as u64 / 4;
    reply.usage(input, 0, output)
}

/// A script for protocols that the kit does not know: each task has its answer, and a request with another one is
/// refused with an error that names it.
pub(crate) fn by_task<const N: usize>(answers: [(&'static str, Reply); N]) -> impl Fn(&Incoming) -> Reply {
    move |request| {
        let answer = answers.iter().find(|(task, _)| *task == request.task());
        answer.map_or_else(
            || Reply::error(400, &format!("no answer to `{}`", request.task())),
            |(_, reply)| reply.clone(),
        )
    }
}

/// Like [`default_reply`], with texts so short that nobody ever has anything to condense.
pub(crate) fn short_reply(request: &Incoming) -> Reply {
    match request.purpose {
        Purpose::Propose | Purpose::Refine | Purpose::Summarize => Reply::text(prose(request.digest, 6)),
        Purpose::Critique => Reply::text(format!("1. [minor] {}", prose(request.digest, 6))),
        Purpose::Synthesize => Reply::text(solution(request, &prose(request.digest, 6))),
        _ => default_reply(request),
    }
}

fn solution(request: &Incoming, markdown: &str) -> String {
    answer(&format!("{markdown}\n\n## Requirements Coverage\n\n- All of it."), &assessment(request))
}

/// A solution as older programs asked for it.
pub(crate) fn solved(markdown: &str, confidence: u8) -> Value {
    json!({
        "solutionMarkdown": markdown, "tradeoffs": [], "recommendations": [], "unfulfilledMajorRequirements": [],
        "openQuestions": [], "confidence": confidence,
    })
}

/// A judge's answer: the solution, and its assessment as a block of JSON.
pub(crate) fn answer(markdown: &str, assessment: &Value) -> String {
    format!("{markdown}\n\n```json\n{assessment}\n```")
}

fn assessment(request: &Incoming) -> Value {
    let mut assessment = json!({
        "tradeoffs": ["More storage for less waiting"],
        "recommendations": ["Measure before the launch"],
        "unfulfilledMajorRequirements": [],
        "openQuestions": [],
        "confidence": 82,
    });
    // A merge names its base in addition.
    let names_base = request.schema().is_some_and(|schema| schema["properties"].get("base").is_some());
    if names_base || request.prompt().contains("`base`") {
        assessment["base"] = json!("1");
    }
    assessment
}

fn scores(reasoning: &str) -> Value {
    let score = |score: u32| json!({"score": score, "reasoning": reasoning});
    json!({
        "evaluation": {
            "functional_completeness": score(8),
            "non_functional": {
                "performance_scalability": score(7),
                "security": score(6),
                "maintainability_evolvability": score(9),
                "regulatory_compliance": score(5),
                "testability": score(8),
                "requirements_fulfillment": score(7),
            },
        },
        "overall_summary": {"strengths": [reasoning], "weaknesses": [reasoning], "overall_score": 7},
    })
}
