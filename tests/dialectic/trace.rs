//! Traces as a collector on loopback gets them, and what a collector that is not there costs.

use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::json;

use crate::support::{Finished, Sandbox, block_on};

const SECRET: &str = "sk-lf-never-to-be-seen";

/// A request as it arrived.
struct Delivered {
    path: String,
    headers: HeaderMap,
    spans: Vec<Span>,
}

/// Serves these routes at a free port for as long as the tests run.
pub(crate) fn serve(routes: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        block_on(async {
            axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), routes).await.unwrap();
        });
    });
    address
}

/// A collector that answers every request with a status.
struct Collector {
    address: SocketAddr,
    delivered: Receiver<Delivered>,
}

impl Collector {
    fn start(status: StatusCode) -> Self {
        let (sender, delivered) = channel();
        let answer = move |uri: Uri, headers: HeaderMap, body: Bytes| {
            let request = ExportTraceServiceRequest::decode(body).unwrap();
            let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
            let spans = scopes.flat_map(|scope| scope.spans).collect();
            // Sent before the answer, so that it is there when the program has ended.
            let _ = sender.send(Delivered { path: uri.path().to_owned(), headers, spans });
            std::future::ready(status)
        };
        Self { address: serve(Router::new().fallback(axum::routing::post(answer))), delivered }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What has been delivered. To be called when the program has ended.
    fn delivered(&self) -> Vec<Delivered> {
        self.delivered.try_iter().collect()
    }
}

/// A sandbox in which debates are traced to `target`.
fn traced(target: &str) -> Sandbox {
    Sandbox::new().config(&json!({"debate": {"trace": target, "traceContent": true, "rounds": 1, "seed": 7}}))
}

fn langfuse(url: &str) -> Sandbox {
    traced("langfuse")
        .env("LANGFUSE_BASE_URL", url)
        .env("LANGFUSE_PUBLIC_KEY", "pk-lf-1")
        .env("LANGFUSE_SECRET_KEY", SECRET)
}

fn debate(sandbox: &Sandbox) -> Finished {
    let finished = sandbox.run(["debate", "--offline", "Design a cache that must survive restarts"]);
    assert!(!finished.stdout.contains(SECRET) && !finished.stderr.contains(SECRET), "{finished}");
    finished
}

fn attribute(span: &Span, name: &str) -> Option<String> {
    let value = span.attributes.iter().find(|pair| pair.key == name)?.value.clone()?.value?;
    Some(match value {
        Any::StringValue(text) => text,
        Any::IntValue(number) => number.to_string(),
        Any::DoubleValue(number) => number.to_string(),
        Any::ArrayValue(list) => {
            let texts = list.values.into_iter().map(|one| match one.value {
                Some(Any::StringValue(text)) => text,
                other => format!("{other:?}"),
            });
            format!("[{}]", texts.collect::<Vec<_>>().join(", "))
        }
        other => format!("{other:?}"),
    })
}

/// The warnings about traces.
fn complaints(finished: &Finished) -> Vec<&str> {
    finished.stderr.lines().filter(|line| line.contains("could not deliver traces")).collect()
}

#[test]
fn langfuse_gets_the_whole_debate() {
    let collector = Collector::start(StatusCode::OK);
    let sandbox = langfuse(&collector.url()).env("OTEL_EXPORTER_OTLP_HEADERS", "x-other=secret-of-another");
    assert_eq!(complaints(&debate(&sandbox).expect_code(0)), [""; 0]);
    let delivered = collector.delivered();
    for request in &delivered {
        assert_eq!(request.path, "/api/public/otel/v1/traces");
        assert_eq!(request.headers["content-type"], "application/x-protobuf");
        assert_eq!(request.headers["x-langfuse-ingestion-version"], "4");
        // `pk-lf-1:sk-lf-never-to-be-seen`
        assert_eq!(request.headers["authorization"], "Basic cGstbGYtMTpzay1sZi1uZXZlci10by1iZS1zZWVu");
        assert!(!request.headers.contains_key("x-other"));
    }
    let spans: Vec<Span> = delivered.into_iter().flat_map(|request| request.spans).collect();
    let [root] = &spans.iter().filter(|span| span.parent_span_id.is_empty()).collect::<Vec<_>>()[..] else {
        panic!("not one root among {} spans", spans.len());
    };
    let id = sandbox.only_debate();
    let saved = sandbox.debate(&id);
    assert_eq!(root.name, "dialectic debate");
    assert_eq!(attribute(root, "dialectic.debate.outcome").as_deref(), Some("full"));
    assert!(spans.iter().all(|span| span.trace_id == root.trace_id));
    assert!(spans.iter().all(|span| attribute(span, "langfuse.session.id").as_deref() == Some(id.as_str())));
    assert!(spans.iter().all(|span| span.start_time_unix_nano <= span.end_time_unix_nano));
    let of_type = |kind: &str| -> Vec<&Span> {
        spans.iter().filter(|span| attribute(span, "langfuse.observation.type").as_deref() == Some(kind)).collect()
    };
    let generations = of_type("generation");
    let requests: u64 = saved.usage.values().map(|usage| usage.requests).sum();
    assert_eq!(generations.len() as u64, requests, "one for each call");
    let agents: Vec<&[u8]> = of_type("agent").iter().map(|span| &*span.span_id).collect();
    for generation in generations {
        assert!(agents.contains(&&*generation.parent_span_id), "{} has no agent", generation.name);
        assert_eq!(attribute(generation, "gen_ai.request.model").as_deref(), Some("rehearsal"));
        assert_eq!(attribute(generation, "gen_ai.provider.name").as_deref(), Some("offline"));
        assert_eq!(attribute(generation, "langfuse.version").map(|version| version.len()), Some(12));
        assert!(attribute(generation, "langfuse.observation.cost_details").is_some());
        assert!(attribute(generation, "langfuse.observation.output").is_some(), "{} says nothing", generation.name);
    }
    assert_eq!(attribute(root, "langfuse.trace.tags").as_deref(), Some("[dialectic, offline/rehearsal]"));
    let settings = attribute(root, "langfuse.trace.metadata.settings").unwrap();
    let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
    assert_eq!((&settings["debate"]["rounds"], &settings["judge"]["role"]), (&json!(1), &json!("generalist")));
    let asked = generations_input(&spans);
    assert!(asked.iter().all(|asked| asked.contains("Design a cache that must survive restarts")), "{asked:?}");
    let nodes = spans.iter().filter_map(|span| attribute(span, "dialectic.node"));
    assert!(nodes.eq(nodes_of_the_journal(&sandbox, &id)), "a span for each node, in their order");
}

/// What the calls were asked.
fn generations_input(spans: &[Span]) -> Vec<String> {
    let calls = spans.iter().filter(|span| attribute(span, "dialectic.phase").is_some());
    calls.map(|span| attribute(span, "langfuse.observation.input").expect("it is asked something")).collect()
}

#[test]
fn what_is_asked_and_answered_stays_here_unless_it_is_wanted() {
    let collector = Collector::start(StatusCode::OK);
    let sandbox = langfuse(&collector.url()).config(&json!({"debate": {"trace": "langfuse", "rounds": 1}}));
    debate(&sandbox).expect_code(0);
    let spans: Vec<Span> = collector.delivered().into_iter().flat_map(|request| request.spans).collect();
    let [saved] = &sandbox.debates()[..] else { panic!("not one debate") };
    let saved = sandbox.state(saved);
    let said = saved["rounds"][0]["contributions"].as_array().unwrap().iter();
    let said: Vec<&str> = said.map(|one| one["content"].as_str().unwrap()).collect();
    assert!(!spans.is_empty() && !said.is_empty());
    for span in &spans {
        let is_call = attribute(span, "dialectic.phase").is_some();
        assert!(!is_call || attribute(span, "langfuse.observation.input").is_none(), "{}", span.name);
        let output = attribute(span, "langfuse.observation.output");
        assert!(output.is_none(), "{}: {output:?}", span.name);
        let contents =
            span.attributes.iter().filter(|pair| ["input.", "output."].iter().any(|at| pair.key.starts_with(at)));
        assert_eq!(contents.map(|pair| &pair.key).collect::<Vec<_>>(), Vec::<&String>::new(), "{}", span.name);
        for pair in &span.attributes {
            let value = format!("{:?}", pair.value);
            assert!(!said.iter().any(|text| value.contains(text)), "{}: {value}", pair.key);
        }
    }
}

fn nodes_of_the_journal(sandbox: &Sandbox, id: &str) -> Vec<String> {
    let entered = sandbox.events(id).into_iter().filter(|event| event["type"] == "node-entered");
    entered.map(|event| event["node"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn any_collector_gets_it_by_the_standard_variables() {
    let collector = Collector::start(StatusCode::OK);
    // From the environment file, where keys are kept.
    let variables = format!(
        "OTEL_EXPORTER_OTLP_ENDPOINT={}/otel\nOTEL_EXPORTER_OTLP_HEADERS=x-key={SECRET},x-team=a%20b\n",
        collector.url()
    );
    let sandbox = traced("otlp").file(".env", variables);
    sandbox.trust(".env");
    assert_eq!(complaints(&debate(&sandbox).expect_code(0)), [""; 0]);
    let delivered = collector.delivered();
    let spans: Vec<&Span> = delivered.iter().flat_map(|request| &request.spans).collect();
    let root = spans.iter().find(|span| span.parent_span_id.is_empty()).unwrap();
    assert_eq!(attribute(root, "input.value").as_deref(), Some("Design a cache that must survive restarts"));
    assert_eq!(attribute(root, "output.value"), attribute(root, "langfuse.observation.output"));
    let calls: Vec<_> = spans.iter().filter(|span| attribute(span, "dialectic.phase").is_some()).collect();
    assert!(!calls.is_empty());
    for call in calls {
        assert_eq!(attribute(call, "input.value"), attribute(call, "langfuse.observation.input"));
        assert_eq!(attribute(call, "input.mime_type").as_deref(), Some("application/json"));
        assert_eq!(attribute(call, "output.value"), attribute(call, "langfuse.observation.output"));
        assert!(attribute(call, "output.mime_type").is_some(), "{}", call.name);
    }
    for request in delivered {
        assert_eq!(request.path, "/otel/v1/traces");
        assert!(request.headers["x-key"] == SECRET && request.headers["x-team"] == "a b", "{:?}", request.headers);
        assert!(!request.headers.contains_key("authorization"));
    }
}

#[test]
fn a_dead_collector_costs_one_warning() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    // The numbers of texts and points are drawn from the seed, and stand in the output.
    let plain = Sandbox::new().config(&json!({"debate": {"rounds": 1, "seed": 7}}));
    let untraced = debate(&plain).expect_code(0);
    let finished = debate(&langfuse(&format!("http://{address}"))).expect_code(0);
    let [warning] = complaints(&finished)[..] else { panic!("not one warning: {finished}") };
    let expected =
        format!("warning: could not deliver traces to http://{address}/api/public/otel/v1/traces: Connection refused");
    assert!(warning.starts_with(&expected), "{warning}");
    assert_eq!(finished.stderr.lines().count(), untraced.stderr.lines().count() + 1, "{finished}");
    assert_eq!(finished.stdout, untraced.stdout);
}

#[test]
fn a_collector_that_refuses_is_named_with_its_answer_and_one_that_never_answers_is_not_waited_for() {
    let (refusing, silent) = (Collector::start(StatusCode::UNAUTHORIZED), TcpListener::bind("127.0.0.1:0").unwrap());
    for (url, says) in [
        (refusing.url(), "the server answered 401 Unauthorized"),
        (format!("http://{}", silent.local_addr().unwrap()), "timed out"),
    ] {
        let finished = debate(&langfuse(&url)).expect_code(0);
        let [warning] = complaints(&finished)[..] else { panic!("not one warning: {finished}") };
        assert!(warning.ends_with(says), "{warning}");
    }
}

#[test]
fn without_its_keys_there_is_a_warning_and_the_debate() {
    let sandbox = traced("langfuse").env("LANGFUSE_SECRET_KEY", SECRET);
    let says = "warning: not sending traces: setting `debate.trace` to `langfuse` requires the environment variable \
                LANGFUSE_PUBLIC_KEY\n";
    debate(&sandbox).expect_code(0).says([says]);
    assert_eq!(sandbox.debates().len(), 1);
    let offline = |id: &str| json!({"id": id, "name": id, "role": "kiss", "model": "m", "provider": "offline"});
    let offline = json!({"agents": [offline("a")], "judge": offline("j"), "debate": {"trace": "langfuse"}});
    sandbox.config(&offline).run(["config", "check"]).expect_code(0).says([says]);
}

#[test]
fn a_destination_that_cannot_be_understood_is_found_before_the_debate() {
    let sandbox = langfuse("ftp://nowhere");
    debate(&sandbox).expect_code(4).says(["LANGFUSE_BASE_URL must be an http or https URL"]);
    assert_eq!(sandbox.debates(), [""; 0]);
}
