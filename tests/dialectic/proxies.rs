//! Proxies on the way to a server, certificates of the user's own, and errors that name what is at fault.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::{Value, json};

use crate::support::{MockServer, Sandbox, config, short_reply};

/// Two agents and a judge at a server that is not on this machine, if it is anywhere.
fn far_away(scheme: &str) -> Value {
    let mut settings = config(&["architect", "kiss"], &json!({}));
    for agent in settings["agents"].as_array_mut().unwrap() {
        agent["provider"] = json!("far");
    }
    settings["judge"]["provider"] = json!("far");
    settings["providers"] = json!({"far": {"baseUrl": format!("{scheme}://models.example/v1"), "api": "chat"}});
    settings
}

/// What a debate there says on standard error.
fn complaint(scheme: &str, variables: &[(&str, &str)]) -> String {
    let mut sandbox = Sandbox::new().config(&far_away(scheme));
    for (name, value) in variables {
        sandbox = sandbox.env(name, value);
    }
    let finished = sandbox.run(["debate", "Design a queue", "-c", "debate-config.json"]);
    assert_ne!(finished.code, Some(0), "{finished}");
    finished.stderr.clone()
}

/// A proxy that wants a password for whatever it is asked; it ends with the test.
fn demanding_proxy() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut lines = BufReader::new(connection.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            // The other side may have gone.
            let _ = connection.write_all(refusal.as_bytes());
        }
    });
    port
}

/// A port at which nobody listens.
fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn an_error_of_the_proxys_names_the_proxy() {
    let (closed, demanding) = (closed_port(), demanding_proxy());
    for scheme in ["http", "https"] {
        let proxy = |port: u16| format!("http://user:pass-word@127.0.0.1:{port}");
        let said = complaint(scheme, &[("ALL_PROXY", &proxy(closed))]);
        assert!(said.contains(&format!("the proxy http://127.0.0.1:{closed}")) && said.contains("refused"), "{said}");
        assert!(!said.contains("pass-word"), "{said}");
        let said = complaint(scheme, &[("ALL_PROXY", &proxy(demanding))]);
        let expected = format!("(407): the proxy http://127.0.0.1:{demanding} requires a user name and password");
        assert!(said.contains(&expected), "{scheme}: {said}");
    }
}

#[test]
fn what_runs_on_this_machine_is_reached_without_a_proxy() {
    let server = MockServer::with(short_reply);
    let closed = format!("http://127.0.0.1:{}", closed_port());
    let sandbox = Sandbox::new().model_server(&server).env("HTTP_PROXY", &closed).env("ALL_PROXY", &closed);
    sandbox.config(&config(&["architect", "kiss"], &json!({}))).run(["debate", "Design a queue"]).expect_code(0);
    assert_eq!(server.requests().len(), 7);
}

#[test]
fn a_certificate_file_that_cannot_be_used_is_named_before_anything_is_sent() {
    let said = complaint("https", &[("SSL_CERT_FILE", "gone.pem")]);
    assert!(said.contains("the certificate file `gone.pem` (from SSL_CERT_FILE) cannot be read"), "{said}");
    let said = complaint("https", &[("SSL_CERT_FILE", "debate-config.json")]);
    assert!(said.contains("`debate-config.json` (from SSL_CERT_FILE) contains no PEM certificate"), "{said}");
    // A server without a certificate does not need the file.
    let server = MockServer::with(short_reply);
    let sandbox = Sandbox::new().model_server(&server).env("SSL_CERT_FILE", "gone.pem");
    sandbox.config(&config(&["architect", "kiss"], &json!({}))).run(["debate", "Design a queue"]).expect_code(0);
}
