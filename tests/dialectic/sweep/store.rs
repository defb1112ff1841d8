//! The promises of every store, in a directory and in a bucket.

use std::path::Path;
use std::sync::Arc;

use dialectic_cli::sweep::store::{self, Creation, SharedStore, Store};
use dialectic_engine::access::Environment;
use futures_util::future::join_all;

use crate::support::thoroughness;

const TAKERS: usize = 16;

/// Checks every promise on an empty store, which several clients have opened.
async fn keeps_its_promises(clients: &[SharedStore]) {
    let first = &*clients[0];
    assert_eq!(first.list("").await.unwrap(), [""; 0]);
    objects_are_created_once(first).await;
    lists_have_one_level(first).await;
    names_are_checked(first).await;
    sizes_do_not_matter(first).await;
    one_of_many_is_acknowledged(clients).await;
    equal_bytes_are_acknowledged(clients).await;
}

async fn objects_are_created_once(store: &dyn Store) {
    assert_eq!(store.get("set").await.unwrap(), None);
    assert_eq!(store.create("set", b"one").await.unwrap(), Creation::Acknowledged);
    assert_eq!(store.create("set", b"two").await.unwrap(), Creation::Taken);
    assert_eq!(store.create("set", b"one").await.unwrap(), Creation::Acknowledged, "a retry of one's own write");
    assert_eq!(store.create("set", b"").await.unwrap(), Creation::Taken);
    assert_eq!(store.create("set", b"one more").await.unwrap(), Creation::Taken);
    assert_eq!(store.get("set").await.unwrap().as_deref(), Some(&b"one"[..]));
}

async fn lists_have_one_level(store: &dyn Store) {
    let names = ["a/2", "a/1", "a/b/3", "a/b/c/4", "a.b/5", "ab", "z"];
    for name in names {
        assert_eq!(store.create(name, name.as_bytes()).await.unwrap(), Creation::Acknowledged);
    }
    assert_eq!(store.list("").await.unwrap(), ["a", "a.b", "ab", "set", "z"]);
    assert_eq!(store.list("a").await.unwrap(), ["1", "2", "b"]);
    assert_eq!(store.list("a/b").await.unwrap(), ["3", "c"]);
    assert_eq!(store.list("a/b/c").await.unwrap(), ["4"]);
    assert_eq!(store.list("z").await.unwrap(), [""; 0], "an object is not a prefix");
    assert_eq!(store.list("none").await.unwrap(), [""; 0]);
    assert_eq!(store.get("a").await.unwrap(), None, "a prefix is not an object");
    assert_eq!(store.get("z/1").await.unwrap(), None);
    for name in names {
        assert_eq!(store.get(name).await.unwrap().as_deref(), Some(name.as_bytes()));
    }
}

async fn names_are_checked(store: &dyn Store) {
    for bad in ["", "/a", "a/", "a//b", "../a", "a/../../b", "a b", "ä", "~new"] {
        let fault = store.create(bad, b"").await.unwrap_err();
        assert_eq!(fault.to_string(), format!("cannot create `{bad}` in the store {}", store.place()));
        store.get(bad).await.unwrap_err();
        if !bad.is_empty() {
            store.list(bad).await.unwrap_err();
        }
    }
}

async fn sizes_do_not_matter(store: &dyn Store) {
    let large = b"0123456789abcdef".repeat(200_000);
    for (name, bytes) in [("sizes/none", &b""[..]), ("sizes/large", &large)] {
        assert_eq!(store.create(name, bytes).await.unwrap(), Creation::Acknowledged);
        assert_eq!(store.get(name).await.unwrap().as_deref(), Some(bytes));
        assert_eq!(store.create(name, b"other").await.unwrap(), Creation::Taken);
        assert_eq!(store.create(name, bytes).await.unwrap(), Creation::Acknowledged);
    }
}

/// Many clients create each name at once and read it: all read the acknowledged bytes.
async fn one_of_many_is_acknowledged(clients: &[SharedStore]) {
    for round in 0..4 * thoroughness() {
        let name = format!("race/{round:08}");
        let takers = (0..TAKERS).map(|taker| {
            let (store, name) = (Arc::clone(&clients[taker % clients.len()]), name.clone());
            tokio::spawn(async move {
                let mine = format!("{taker} ").repeat(2_000);
                let seen = store.get(&name).await.unwrap();
                let created = store.create(&name, mine.as_bytes()).await.unwrap();
                let found = store.get(&name).await.unwrap().expect("what was created is found");
                assert!(store.list("race").await.unwrap().contains(&name["race/".len()..].to_owned()));
                assert!(seen.is_none_or(|seen| seen == found), "an object is visible whole or not at all");
                assert_eq!(created == Creation::Acknowledged, found == mine.as_bytes());
                (created, found)
            })
        });
        let ended: Vec<_> = join_all(takers).await.into_iter().map(Result::unwrap).collect();
        let acknowledged = ended.iter().filter(|(created, _)| *created == Creation::Acknowledged).count();
        assert_eq!(acknowledged, 1, "{name}");
        assert!(ended.iter().all(|(_, found)| *found == ended[0].1), "{name}");
    }
}

async fn equal_bytes_are_acknowledged(clients: &[SharedStore]) {
    let takers = (0..TAKERS).map(|taker| {
        let store = Arc::clone(&clients[taker % clients.len()]);
        tokio::spawn(async move { store.create("equal/1", b"the same").await.unwrap() })
    });
    for created in join_all(takers).await {
        assert_eq!(created.unwrap(), Creation::Acknowledged);
    }
}

async fn opened(root: &Path) -> SharedStore {
    store::open(root.to_str().unwrap(), &Environment::default()).await.unwrap()
}

#[tokio::test]
async fn a_directory_keeps_its_promises() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("not/yet/there");
    keeps_its_promises(&[opened(&root).await, opened(&root).await]).await;
}

#[cfg(feature = "s3")]
mod s3 {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::sync::LazyLock;

    use serde_json::json;

    use super::*;
    use crate::budget::priced;
    use crate::support::{MockServer, Sandbox, short_reply};

    /// The server of `tests/sweep/s3_server.py`, with the Python in `S3_SERVER` (`.ci/run` installs one). It ends with this
    /// process, when its standard input does.
    struct Server {
        _process: Child,
        port: u16,
    }

    static SERVER: LazyLock<Option<Server>> = LazyLock::new(|| {
        let Some(python) = std::env::var_os("S3_SERVER") else {
            assert!(std::env::var_os("CI").is_none(), "S3_SERVER is not set, and S3 was not tested");
            return None;
        };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sweep/s3_server.py");
        let mut command = Command::new(python);
        let command = command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("the server can be started");
        let mut port = String::new();
        BufReader::new(process.stdout.take().expect("it is piped")).read_line(&mut port).expect("it says its port");
        Some(Server { _process: process, port: port.trim().parse().expect("a port is a number") })
    });

    fn variables(port: u16) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")),
            ("AWS_ACCESS_KEY_ID", "a".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "b".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ]
    }

    fn environment(port: u16) -> Environment {
        Environment::from_pairs(variables(port).each_ref().map(|(name, value)| (*name, value.as_str())))
    }

    #[tokio::test]
    async fn a_bucket_keeps_its_promises() {
        let Some(server) = &*SERVER else { return };
        let mut clients = Vec::new();
        for place in ["s3://sets/one/two", "s3://sets/one/two/"] {
            clients.push(store::open(place, &environment(server.port)).await.unwrap());
        }
        keeps_its_promises(&clients).await;
        let above = store::open_to_read("s3://sets/one", &environment(server.port)).unwrap();
        assert_eq!(above.list("").await.unwrap(), ["two"]);
        assert!(above.get("two/probe").await.unwrap().is_some());
    }

    #[tokio::test]
    async fn answers_that_are_lost_change_no_promise() {
        let Some(server) = &*SERVER else { return };
        let store = store::open("s3://lossy/a", &environment(server.port)).await.unwrap();
        keeps_its_promises(&[store]).await;
    }

    #[tokio::test]
    async fn a_server_that_overwrites_is_refused() {
        let Some(server) = &*SERVER else { return };
        for _ in 0..2 {
            let error = store::open("s3://forgetful/a", &environment(server.port)).await.unwrap_err();
            assert_eq!(
                error.to_string(),
                "the S3 server at s3://forgetful/a overwrites existing objects: it ignores `If-None-Match: *`"
            );
            assert_eq!(error.exit_code(), 4);
        }
    }

    #[tokio::test]
    async fn what_cannot_be_used_is_named_and_not_tried_again() {
        let with = |pair| Environment::from_pairs([pair]);
        let error = store::open("s3://sets", &with(("AWS_ENDPOINT_URL", "127.0.0.1:9000/x"))).await.unwrap_err();
        assert_eq!((error.to_string().as_str(), error.exit_code()), ("AWS_ENDPOINT_URL is not a URL", 4));
        let error = store::open("s3://sets", &with(("AWS_ACCESS_KEY_ID", "a"))).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot set up access to the store s3://sets");
        assert_eq!(error.exit_code(), 4);
        for address in ["s3://", "s3:///a", "s3://sets/a//b", "s3://sets/../a", "s3://sets/a b", "s3://user:key@sets"] {
            let error = store::open(address, &Environment::default()).await.unwrap_err();
            assert_eq!((error.to_string(), error.exit_code()), (format!("`{address}` is not a store"), 2));
        }
        let Some(server) = &*SERVER else { return };
        let error = store::open("s3://elsewhere", &environment(server.port)).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot create `probe` in the store s3://elsewhere");
        assert_eq!(error.exit_code(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_gone_is_worth_another_try() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let error = store::open("s3://sets/a", &environment(port)).await.unwrap_err();
        assert_eq!(error.to_string(), "cannot read `probe` in the store s3://sets/a");
        assert_eq!(error.exit_code(), 75);
    }

    #[test]
    fn a_set_in_a_bucket_has_the_results_of_one_in_a_directory() {
        let Some(server) = &*SERVER else { return };
        let models = MockServer::with(short_reply);
        let mut sandbox = Sandbox::new()
            .model_server(&models)
            .config(&priced(&["architect"], &json!({})))
            .file("problem.md", "Design a queue")
            .file("sweep.json", r#"{"problems": ["problem.md"], "variants": [{"name": "a", "protocol": "single"}]}"#);
        for (name, value) in variables(server.port) {
            sandbox = sandbox.env(name, &value);
        }
        sandbox.run(["sweep", "plan", "sweep.json", "-o", "plan.jsonl"]).expect_code(0);
        let results = |store: &str| {
            sandbox.run(["sweep", "run", "plan.jsonl", "--store", store]).expect_code(0);
            sandbox.run(["sweep", "collect", "plan.jsonl", "--complete", "--store", store]).expect_code(0).stdout
        };
        assert_eq!(results("s3://sets/set"), results("set"));
    }
}
