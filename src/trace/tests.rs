//! The spans of invented debates, as an exporter receives them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanId, Status, TracerProvider as _};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};

use dialectic_base::call::{CallRecord, Tokens, ToolCall, ToolResult};
use dialectic_base::money::Usd;
use dialectic_record::debate::fixture::{
    self, CLARIFICATION, CRITIQUE, EVALUATION, PROPOSAL, ROUND_MANAGER, SUMMARIZATION, completed, key, pitching,
};
use dialectic_record::debate::{Contribution, Debate, Evaluation, Failure};
use dialectic_record::event::{Event, Recorded, StoredReply};
use dialectic_record::ids::{CallKey, DebateId, StageId, StageInfo, Timestamp};
use dialectic_record::live::{CallDescription, Signal};
use dialectic_record::protocol::DIALECTIC;
use dialectic_record::settings::{TerminationKind, default_settings};

use super::spans::Spans;

const ARCHITECT: &str = "agent-architect";
const KISS: &str = "agent-kiss";

/// A debate and its trace. Every event takes a second.
struct Scene {
    exporter: InMemorySpanExporter,
    provider: SdkTracerProvider,
    spans: Option<Spans>,
    /// The models' prompts, if the trace contains them.
    asked: Option<CallDescription>,
    seq: u64,
    now: SystemTime,
}

impl Scene {
    fn new() -> Self {
        Self::of(DIALECTIC.infos())
    }

    fn of(stages: Arc<[StageInfo]>) -> Self {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let Event::Created(mut created) = fixture::created(stages) else { panic!("a debate begins with it") };
        created.problem = "\nDesign a cache\nwith care".into();
        (created.id, created.settings) = (DebateId::new("deb-1"), default_settings());
        let created = Recorded { seq: 1, at: Timestamp::now(), event: Event::Created(created) };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
        let debate = Debate::create(&created).unwrap();
        let mut spans = Spans::new(provider.tracer("test"), debate, "abc123".to_owned(), now);
        spans.see(&Signal::Recorded(Arc::new(created)), now);
        let asked = CallDescription { system: "Be brief.".into(), prompt: "Design it.".into() };
        Self { exporter, provider, spans: Some(spans), asked: Some(asked), seq: 1, now }
    }

    fn without_content(self) -> Self {
        Self { asked: None, ..self }
    }

    fn signal(mut self, signal: &Signal) -> Self {
        self.now += Duration::from_secs(1);
        self.spans.as_mut().unwrap().see(signal, self.now);
        self
    }

    fn event(mut self, event: Event) -> Self {
        self.seq += 1;
        let recorded = Recorded { seq: self.seq, at: Timestamp::now(), event };
        self.signal(&Signal::Recorded(Arc::new(recorded)))
    }

    fn enter(self, stage: StageId) -> Self {
        self.event(Event::StageEntered { stage })
    }

    fn start(self, key: &CallKey) -> Self {
        let asked = self.asked.clone();
        self.signal(&Signal::CallStarted { key: key.clone(), model: "gpt-4".to_owned(), asked })
    }

    fn end(self, key: &CallKey, call: Option<&CallRecord>) -> Self {
        self.ended(key, call, None)
    }

    fn ended(self, key: &CallKey, call: Option<&CallRecord>, error: Option<&str>) -> Self {
        self.signal(&Signal::CallEnded {
            key: key.clone(),
            latency_ms: call.map_or(0, |call| call.latency_ms),
            tokens: call.and_then(|call| call.tokens),
            cost_usd: call.and_then(|call| call.cost_usd),
            error: error.map(str::to_owned),
            waits_for_server: false,
        })
    }

    fn contribute(self, key: &CallKey, call: Option<CallRecord>) -> Self {
        let target_agent_id = key.target_agent_id.clone();
        let text = fixture::text(key.stage, key.agent_id.as_str(), "what was said");
        let contribution = Contribution { target_agent_id, ..text };
        self.event(Event::Contributed { key: key.clone(), contribution: Arc::new(contribution), call })
    }

    fn answer(self, key: &CallKey) -> Self {
        self.contribute(key, Some(record())).end(key, Some(&record()))
    }

    fn failed(self, key: &CallKey, error: &str, kind: &str, call: Option<CallRecord>) -> Self {
        let failure = Failure {
            key: key.clone(),
            error: error.to_owned(),
            kind: Some(kind.to_owned()),
            server_gone: false,
            attempts: 4,
            at: Timestamp::now(),
        };
        self.event(Event::CallFailed { failure, call })
    }

    fn fail(self, key: &CallKey, error: &str) -> Self {
        self.failed(key, error, "server-failed", None).ended(key, None, Some(error))
    }

    /// The second answer to a question was unreadable, too.
    fn unreadable(self, key: &CallKey, error: &str) -> Self {
        self.failed(key, error, Failure::UNREADABLE, Some(record())).end(key, Some(&record()))
    }

    fn close(mut self) -> Trace {
        self.spans.take().unwrap().close(self.now + Duration::from_secs(1));
        self.provider.force_flush().unwrap();
        Trace(self.exporter.get_finished_spans().unwrap())
    }
}

struct Trace(Vec<SpanData>);

impl Trace {
    fn all(&self, name: &str) -> Vec<&SpanData> {
        self.0.iter().filter(|span| span.name == name).collect()
    }

    fn one(&self, name: &str) -> &SpanData {
        let [span] = self.all(name)[..] else { panic!("not one span {name}: {}", self.outline()) };
        span
    }

    /// Every span with its parents and its start and end in seconds, ordered by start.
    fn outline(&self) -> String {
        let mut lines: Vec<(SystemTime, String)> =
            self.0.iter().map(|span| (span.start_time, self.line(span))).collect();
        lines.sort();
        lines.into_iter().map(|(_, line)| line + "\n").collect()
    }

    fn line(&self, span: &SpanData) -> String {
        let seconds = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() - 1_000;
        let mut path = vec![span.name.to_string()];
        let mut at = span;
        while at.parent_span_id != SpanId::INVALID {
            at = self.0.iter().find(|other| other.span_context.span_id() == at.parent_span_id).unwrap();
            path.push(at.name.to_string());
        }
        path.reverse();
        format!("{} {}..{}", path.join(" > "), seconds(span.start_time), seconds(span.end_time))
    }
}

fn attribute(span: &SpanData, name: &str) -> Option<String> {
    span.attributes.iter().find(|pair| pair.key.as_str() == name).map(|pair| pair.value.to_string())
}

fn record() -> CallRecord {
    CallRecord {
        served_model: Some("gpt-4-0613".to_owned()),
        tokens: Some(Tokens { input_tokens: 1_000, cached_input_tokens: 600, output_tokens: 50, ..Tokens::default() }),
        latency_ms: 1_000,
        attempts: 2,
        ..fixture::call(Some(Usd::from_dollars(0.0125)))
    }
}

#[test]
fn a_debate_is_stages_with_agents_with_calls() {
    let propose = key(PROPOSAL, ARCHITECT, None);
    let slow = key(PROPOSAL, KISS, None);
    let critique = key(CRITIQUE, KISS, Some(ARCHITECT));
    let trace = Scene::new()
        .enter(ROUND_MANAGER)
        .event(Event::RoundBegun { round: 1, stage: SUMMARIZATION })
        .enter(PROPOSAL)
        .start(&propose)
        .start(&slow)
        .answer(&propose)
        // Begins in the proposal stage and ends in the critique stage.
        .start(&critique)
        .answer(&slow)
        .enter(CRITIQUE)
        .answer(&critique)
        .event(completed())
        .close();
    insta::assert_snapshot!(trace.outline(), @r"
    dialectic debate 0..15
    dialectic debate > round-manager 1..3
    dialectic debate > proposal 3..11
    dialectic debate > proposal > agent-architect 4..7
    dialectic debate > proposal > agent-architect > proposal 4..7
    dialectic debate > proposal > agent-kiss 5..13
    dialectic debate > proposal > agent-kiss > proposal 5..10
    dialectic debate > proposal > agent-kiss > critique of agent-architect 8..13
    dialectic debate > critique 11..14
    ");
    let root = trace.one("dialectic debate");
    assert_eq!(attribute(root, "dialectic.debate.problem").as_deref(), Some("Design a cache"));
    assert_eq!(attribute(root, "dialectic.debate.total_tokens").as_deref(), Some("3150"));
    assert_eq!(attribute(root, "dialectic.debate.cost_usd").as_deref(), Some("0.0375"));
    assert_eq!(attribute(root, "dialectic.debate.outcome").as_deref(), Some("full"));
    assert_eq!(attribute(trace.one("critique"), "dialectic.round").as_deref(), Some("1"));
    for span in &trace.0 {
        assert_eq!(span.span_context.trace_id(), root.span_context.trace_id());
        assert_eq!(attribute(span, "session.id").as_deref(), Some("deb-1"), "{}", span.name);
    }
}

#[test]
fn a_generation_tells_model_tokens_cost_prompts_and_output() {
    let propose = key(PROPOSAL, ARCHITECT, None);
    let trace = Scene::new()
        .event(Event::RoundBegun { round: 1, stage: SUMMARIZATION })
        .start(&propose)
        .signal(&Signal::CallRetrying {
            key: propose.clone(),
            attempt: 1,
            error: "overloaded".to_owned(),
            wait: Duration::from_millis(500),
        })
        .answer(&propose)
        .close();
    let span = trace.one("proposal");
    let mut attributes: Vec<String> =
        span.attributes.iter().map(|pair| format!("{} = {}", pair.key, pair.value)).collect();
    attributes.sort();
    insta::assert_snapshot!(attributes.join("\n"));
    assert_eq!(span.status, Status::Unset);
    assert_eq!(span.events.events[0].name, "retry");
}

#[test]
fn a_reply_that_is_no_result_is_a_generation_of_its_own() {
    let ask = CallKey { round: 0, ..key(CLARIFICATION, KISS, None) };
    let reply = StoredReply {
        text: "no JSON".to_owned(),
        parse_error: Some("expected a value".to_owned()),
        ..StoredReply::default()
    };
    let replied = Event::Replied { key: ask.clone(), reply, call: record() };
    let trace = Scene::new()
        .start(&ask)
        .event(replied.clone())
        .fail(&ask, "the server answered 500")
        .start(&ask)
        .event(replied)
        .unreadable(&ask, "the ballot could not be read: expected a value")
        .close();
    let spans = trace.all("clarification");
    let statuses: Vec<bool> = spans.iter().map(|span| matches!(span.status, Status::Error { .. })).collect();
    assert_eq!(statuses, [false, true, false, true], "{}", trace.outline());
    assert_eq!(spans[1].status, Status::error("the server answered 500"));
    assert_eq!(attribute(spans[1], "error.type").as_deref(), Some("server-failed"));
    // The second answer was unreadable for the same reason, so this call failed for good.
    assert_eq!(spans[3].status, Status::error("the ballot could not be read: expected a value"));
    assert_eq!(attribute(spans[3], "error.type").as_deref(), Some("unreadable"));
    assert_eq!(attribute(spans[3], "gen_ai.usage.cost").as_deref(), Some("0.0125"));
    for span in [spans[0], spans[2]] {
        assert_eq!(attribute(span, "langfuse.observation.level").as_deref(), Some("WARNING"));
        assert_eq!(attribute(span, "langfuse.observation.output").as_deref(), Some("no JSON"));
    }
}

#[test]
fn a_tool_is_a_span_with_its_arguments_and_what_it_read_is_content() {
    let propose = key(PROPOSAL, KISS, None);
    let call = ToolCall { id: "t1".to_owned(), name: "file_read".to_owned(), arguments: "{\"path\":\"a\"}".to_owned() };
    let result = ToolResult { tool_call_id: "t1".to_owned(), role: "tool".to_owned(), content: "the file".to_owned() };
    let reply = StoredReply {
        text: "let me look".to_owned(),
        tool_calls: vec![call],
        tool_results: vec![result],
        ..StoredReply::default()
    };
    let run = |scene: Scene| {
        let replied = Event::Replied { key: propose.clone(), reply: reply.clone(), call: record() };
        scene
            .event(Event::RoundBegun { round: 1, stage: SUMMARIZATION })
            .enter(PROPOSAL)
            .start(&propose)
            .signal(&Signal::Warning { message: "time passes".to_owned(), failed: None })
            .event(replied)
            .answer(&propose)
            .close()
    };
    let trace = run(Scene::new());
    insta::assert_snapshot!(trace.outline(), @r"
    dialectic debate 0..8
    dialectic debate > proposal 2..8
    dialectic debate > proposal > agent-kiss 3..7
    dialectic debate > proposal > agent-kiss > proposal 3..4
    dialectic debate > proposal > agent-kiss > execute_tool file_read 4..5
    dialectic debate > proposal > agent-kiss > proposal 5..7
    ");
    let tool = trace.one("execute_tool file_read");
    assert_eq!(attribute(tool, "langfuse.observation.type").as_deref(), Some("tool"));
    assert_eq!(attribute(tool, "gen_ai.tool.call.arguments").as_deref(), Some("{\"path\":\"a\"}"));
    assert_eq!(attribute(tool, "langfuse.observation.output").as_deref(), Some("the file"));
    let contents = ["input.value", "input.mime_type", "output.value", "output.mime_type"];
    assert_eq!(
        contents.map(|name| attribute(tool, name).unwrap()),
        ["{\"path\":\"a\"}", "application/json", "the file", "text/plain"]
    );
    let calls: Vec<_> =
        trace.all("proposal").into_iter().filter(|span| attribute(span, "dialectic.phase").is_some()).collect();
    let reasons: Vec<_> = calls.iter().map(|span| attribute(span, "gen_ai.response.finish_reasons").unwrap()).collect();
    assert_eq!(reasons, ["[\"tool_calls\"]", "[\"stop\"]"]);
    let asked = attribute(calls[1], "langfuse.observation.input").unwrap();
    assert!(asked.contains("let me look") && asked.contains("the file"), "{asked}");

    let trace = run(Scene::new().without_content());
    let tool = trace.one("execute_tool file_read");
    assert_eq!(attribute(tool, "gen_ai.tool.call.arguments").as_deref(), Some("{\"path\":\"a\"}"));
    for span in &trace.0 {
        for pair in &span.attributes {
            let value = pair.value.to_string();
            let is_content =
                ["Be brief", "let me look", "the file", "what was said"].iter().any(|text| value.contains(text));
            assert!(!is_content, "{}: {} = {value}", span.name, pair.key);
            assert!(!contents.contains(&pair.key.as_str()), "{}: {}", span.name, pair.key);
        }
    }
}

#[test]
fn a_result_that_took_no_call_is_no_generation() {
    let propose = key(PROPOSAL, KISS, None);
    let trace = Scene::new()
        .event(Event::RoundBegun { round: 1, stage: SUMMARIZATION })
        .start(&propose)
        .contribute(&propose, None)
        .end(&propose, None)
        .close();
    assert!(trace.all("proposal").is_empty(), "{}", trace.outline());
}

#[test]
fn a_trace_has_the_stages_of_the_protocol_and_its_results() {
    let trace = pitching::scene().iter().fold(Scene::of(pitching::stages()), Scene::signal).close();
    insta::assert_snapshot!(trace.outline(), @r"
    dialectic debate 0..42
    dialectic debate > pitch 2..9
    dialectic debate > pitch > agent-architect 4..7
    dialectic debate > pitch > agent-architect > pitch 4..7
    dialectic debate > heckle 9..18
    dialectic debate > heckle > agent-kiss 11..15
    dialectic debate > heckle > agent-kiss > heckle of agent-architect 11..14
    dialectic debate > heckle > agent-kiss > heckle of agent-performance 12..15
    dialectic debate > applause 18..24
    dialectic debate > applause > agent-kiss 20..22
    dialectic debate > applause > agent-kiss > applause 20..22
    dialectic debate > interlude 24..25
    dialectic debate > show-of-hands 25..31
    dialectic debate > show-of-hands > agent-performance 27..29
    dialectic debate > show-of-hands > agent-performance > show-of-hands 27..29
    dialectic debate > ruling 31..41
    dialectic debate > ruling > judge 33..38
    dialectic debate > ruling > judge > ruling 33..35
    dialectic debate > ruling > judge > ruling 36..38
    ");
    let results = ["choice", "scores", "winner", "stable", "votes", "pass"];
    let mut attributes: Vec<String> = Vec::new();
    for span in &trace.0 {
        let pairs = span.attributes.iter().filter(|pair| results.iter().any(|name| pair.key.as_str().ends_with(name)));
        attributes.extend(pairs.map(|pair| format!("{}: {} = {}", span.name, pair.key, pair.value)));
    }
    insta::assert_snapshot!(attributes.join("\n"), @r#"
    show-of-hands: dialectic.ballot.choice = against
    ruling: dialectic.judgement.scores = {"agent-architect":72.5,"agent-kiss":65.0}
    ruling: dialectic.judgement.winner = agent-architect
    ruling: dialectic.call.pass = 2
    ruling: dialectic.judgement.scores = {"agent-architect":72.5,"agent-kiss":65.0}
    dialectic debate: dialectic.poll.show-of-hands.votes = {"agent-performance":"against"}
    dialectic debate: dialectic.verdict.scores = {"agent-architect":72.5,"agent-kiss":65.0}
    dialectic debate: dialectic.verdict.stable = false
    "#);
}

#[test]
fn a_score_that_cannot_be_read_is_a_failed_call() {
    let score = key(EVALUATION, "judge-main", None);
    let unread = Evaluation { kind: TerminationKind::Quality, score: None, threshold: 80.0 };
    let trace = Scene::new()
        .event(Event::RoundBegun { round: 1, stage: SUMMARIZATION })
        .start(&score)
        .event(Event::Evaluated { key: score.clone(), evaluation: unread, call: Some(record()) })
        .ended(&score, None, Some("it contains no JSON object"))
        // Ended without a recorded reason, as when the cost limit leaves no room for the call.
        .start(&score)
        .ended(&score, None, Some("no room"))
        .close();
    let spans = trace.all("evaluation");
    let statuses: Vec<&Status> = spans.iter().map(|span| &span.status).collect();
    assert_eq!(statuses, [&Status::error("it contains no JSON object"), &Status::error("no room")]);
    let types: Vec<_> = spans.iter().map(|span| attribute(span, "error.type").unwrap()).collect();
    assert_eq!(types, ["unreadable", "_OTHER"]);
}

#[test]
fn what_fails_has_the_status_error() {
    let propose = key(PROPOSAL, ARCHITECT, None);
    let lost = key(PROPOSAL, KISS, None);
    let trace = Scene::new()
        .enter(PROPOSAL)
        .start(&propose)
        .start(&lost)
        .fail(&propose, "no credit")
        .event(Event::Failed { error: "too few proposals".to_owned() })
        .close();
    let calls = trace.all("proposal");
    // The stage has this name, too.
    assert_eq!(calls.len(), 3, "{}", trace.outline());
    let statuses: Vec<&Status> = calls.iter().map(|span| &span.status).collect();
    for error in ["no credit", "too few proposals", "abandoned when the debate ended"] {
        assert!(statuses.contains(&&Status::error(error)), "{error}: {statuses:?}");
    }
    let root = trace.one("dialectic debate");
    assert_eq!(root.status, Status::error("too few proposals"));
    assert_eq!(attribute(root, "dialectic.debate.status").as_deref(), Some("failed"));
}
