//! Nobody else gets in.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use super::client::{Serving, TOKEN};
use crate::support::{Sandbox, wait_until};

/// Method, path, headers, and the status of the answer.
type Case<'a> = (&'a str, &'a str, Vec<(&'a str, &'a str)>, u16);

fn serving() -> (Sandbox, Serving) {
    let sandbox = Sandbox::new().env("DIALECTIC_TOKEN", TOKEN);
    let serving = Serving::start(&sandbox, &[]);
    (sandbox, serving)
}

/// The path of the address with its one-time token.
fn ticket(serving: &Serving) -> String {
    serving.address.split_once(&serving.authority).unwrap().1.to_owned()
}

#[test]
fn requests_are_refused_that_are_nobodys() {
    let (_sandbox, serving) = serving();
    let bearer = format!("Bearer {TOKEN}");
    let wrong = format!("Bearer {}x", &TOKEN[1..]);
    let own = format!("http://{}", serving.authority);
    let body = json!({"problem": "x", "offline": true}).to_string();
    let list = "/api/v1/debates";
    let json_type = ("Content-Type", "application/json");
    let form_type = ("Content-Type", "application/x-www-form-urlencoded");
    let known = ("Authorization", bearer.as_str());
    let cases: Vec<Case> = vec![
        ("GET", list, vec![known], 200),
        ("GET", list, vec![known, ("Origin", &own)], 200),
        ("GET", list, vec![], 401),
        ("GET", list, vec![("Authorization", &wrong)], 401),
        ("GET", list, vec![("Authorization", "Bearer")], 401),
        ("GET", list, vec![("Authorization", TOKEN)], 401),
        ("GET", list, vec![("Cookie", "dialectic=x")], 401),
        ("GET", list, vec![known, ("Host", "evil.example")], 421),
        ("GET", "/", vec![("Host", "evil.example")], 421),
        ("GET", list, vec![known, ("Host", "127.0.0.1")], 421),
        ("GET", list, vec![known, ("Host", "127.0.0.1.evil.example")], 421),
        ("GET", list, vec![known, ("Origin", "http://evil.example")], 403),
        ("GET", list, vec![known, ("Origin", "null")], 403),
        ("GET", list, vec![known, ("Origin", "http://127.0.0.1:1")], 403),
        ("GET", list, vec![known, ("Sec-Fetch-Site", "cross-site")], 403),
        ("GET", list, vec![known, ("Sec-Fetch-Site", "same-site")], 403),
        ("POST", list, vec![form_type], 403),
        ("POST", list, vec![json_type], 403),
        ("POST", list, vec![known, form_type], 415),
        ("POST", list, vec![("X-Dialectic", "1"), json_type], 401),
        ("POST", list, vec![known, json_type, ("Origin", "http://evil.example")], 403),
        ("GET", "/api/v1/debates/..%2f..%2f..%2fetc%2fpasswd", vec![known], 404),
        ("GET", "/api/v1/debates/%2e%2e", vec![known], 404),
        ("GET", "/api/v1/debates/../../etc/passwd", vec![known], 404),
        ("GET", "/api/v1/debates/..%5c..%5cx/report", vec![known], 404),
        ("GET", "/api/v1/debates/deb%00x/events", vec![known], 404),
        ("GET", "/assets/..%2f..%2fCargo.toml/x", vec![], 404),
        ("GET", "/healthz", vec![("Host", "10.0.0.1")], 200),
    ];
    for (method, path, headers, status) in cases {
        let answer = serving.raw(method, path, &headers, if method == "POST" { body.as_bytes() } else { b"" });
        assert_eq!(answer.status, status, "{method} {path} {headers:?}\n{}", answer.text());
        assert!(!answer.text().contains("root:"), "{path}");
    }
    assert_eq!(serving.get("/debates")["total"], 0);
}

#[test]
fn the_printed_address_lets_one_browser_in_once() {
    let (sandbox, serving) = serving();
    let ticket = ticket(&serving);
    let page = serving.raw("GET", "/", &[], b"").expect(403);
    assert!(page.text().contains("Open the address that the server printed"));
    let entered = serving.raw("GET", &ticket, &[], b"").expect(303);
    assert_eq!(entered.header("location"), Some("/"), "the token does not stay in the address");
    let cookie = entered.header("set-cookie").unwrap();
    assert!(cookie.contains("SameSite=Strict") && cookie.contains("HttpOnly"), "{cookie}");
    assert!(!cookie.contains(TOKEN));
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let with = [("Cookie", cookie.as_str())];
    let page = serving.raw("GET", "/", &with, b"").expect(200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe") && !page.text().contains("onclick") && !page.text().contains("<script>"));
    serving.raw("GET", &ticket, &with, b"").expect(303);
    let used = serving.raw("GET", &ticket, &[], b"").expect(403);
    assert!(used.text().contains("has already been used"), "{}", used.text());
    serving.raw("GET", "/api/v1/debates", &with, b"").expect(200);
    // So does the token itself.
    let own = [("Content-Type", "application/json"), ("X-Dialectic", "1")];
    let sign_in =
        |token: &str| serving.raw("POST", "/api/v1/session", &own, json!({ "token": token }).to_string().as_bytes());
    sign_in("wrong").expect(403);
    let signed_in = sign_in(TOKEN).expect(204).header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    serving.raw("GET", "/api/v1/debates", &[("Cookie", &signed_in)], b"").expect(200);
    // A change needs what no form can send.
    let body = json!({"problem": "x", "offline": true}).to_string();
    let form = [with[0], ("Content-Type", "text/plain")];
    serving.raw("POST", "/api/v1/debates", &form, body.as_bytes()).expect(403);
    let own = [with[0], ("Content-Type", "application/json"), ("X-Dialectic", "1")];
    serving.raw("POST", "/api/v1/debates", &own, body.as_bytes()).expect(201);
    // The cookie is still accepted after a restart with the same token; another server's is not.
    let port = serving.port().to_owned();
    let again = serving.again(&sandbox);
    again.raw("GET", "/", &with, b"").expect(200);
    drop(again);
    let other = Serving::start(&Sandbox::new(), &["--port", &port]);
    other.raw("GET", "/", &with, b"").expect(403);
}

/// Whoever wrote a file that was found must not get in.
#[test]
fn a_token_of_a_found_file_opens_nothing() {
    let with = |sandbox: &Sandbox, options: &[&str]| {
        let serving = Serving::start(sandbox, options);
        let answer = serving.ask("GET", "/debates", None).status;
        (answer, serving.interrupt().stderr)
    };
    let sandbox = Sandbox::new().file(".env", format!("DIALECTIC_TOKEN={TOKEN}"));
    let (status, stderr) = with(&sandbox, &[]);
    assert_eq!(status, 401, "{stderr}");
    assert!(stderr.contains("only its API keys are used, not DIALECTIC_TOKEN"), "{stderr}");
    assert!(stderr.contains("dialectic config trust .env"), "{stderr}");
    assert!(stderr.contains("Authorization: Bearer"), "the token of this start is told:\n{stderr}");
    assert_eq!(with(&sandbox, &["--env-file", ".env"]).0, 200);
    // The user's own keys are not hidden by it either.
    let sandbox = Sandbox::new()
        .file(".config/dialectic/keys.env", format!("DIALECTIC_TOKEN={TOKEN}"))
        .file(".env", "DIALECTIC_TOKEN=somebody-elses-0123456789");
    assert_eq!(with(&sandbox, &[]).0, 200);
}

/// Everybody on the machine sees the arguments of a process.
#[test]
fn a_browser_is_opened_by_a_private_page_without_a_token_in_its_arguments() {
    let sandbox = Sandbox::new();
    let place = sandbox.directory().join("opened");
    let script = format!(
        "#!/bin/sh\nstat -c %a \"$1\" > '{0}.mode'\ncat \"$1\" > '{0}.page'\nprintf '%s' \"$*\" > '{0}.new'\nmv '{0}.new' '{0}'\n",
        place.display()
    );
    let sandbox = sandbox.file("browser", script);
    let browser = sandbox.directory().join("browser");
    std::fs::set_permissions(&browser, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let sandbox = sandbox.env("BROWSER", &browser.display().to_string());
    let serving = Serving::start(&sandbox, &["--open"]);
    wait_until("a browser is opened", || place.exists());
    let token = serving.address.split_once("token=").unwrap().1.to_owned();
    let arguments = sandbox.read("opened");
    assert!(!arguments.contains(&token) && !arguments.contains("token"), "{arguments}");
    assert_eq!(sandbox.read("opened.mode"), "600\n");
    assert!(sandbox.read("opened.page").contains(&format!("0; url={}", serving.address)));
    // A page on disk is another site: its browser sends the cookie only with what a page from here leads to.
    let path = format!("/?token={token}");
    let answer = serving.raw("GET", &path, &[("Sec-Fetch-Site", "cross-site")], b"").expect(200);
    assert!(answer.header("set-cookie").is_some() && answer.text().contains("0; url=/"), "{answer:?}");
    let page = std::path::PathBuf::from(arguments);
    serving.interrupt();
    assert!(!page.exists(), "the page goes with the server");
}

#[test]
fn beyond_this_machine_a_token_and_limits_are_needed() {
    let sandbox = Sandbox::new();
    let all = ["serve", "--host", "0.0.0.0", "--max-cost", "1", "--max-cost-per-day", "5"];
    let refused = sandbox.run(all).expect_code(2);
    assert!(refused.stderr.contains("the token DIALECTIC_TOKEN is missing"), "{refused}");
    let short = Sandbox::new().env("DIALECTIC_TOKEN", "short").run(["serve"]).expect_code(2);
    assert!(short.stderr.contains("too short"), "{short}");
    let sandbox = sandbox.env("DIALECTIC_TOKEN", TOKEN);
    let refused = sandbox.run(&all[..3]).expect_code(2);
    assert!(refused.stderr.contains("the limit --max-cost is missing"), "{refused}");
    let refused = sandbox.run(&all[..5]).expect_code(2);
    assert!(refused.stderr.contains("the limit --max-cost-per-day is missing"), "{refused}");
    let serving = Serving::start(&sandbox, &all[1..]);
    serving.raw("GET", "/", &[("Host", "192.168.7.7:80")], b"").expect(421);
    let finished = serving.interrupt().expect_code(130);
    assert!(finished.stderr.contains("is not encrypted"), "{finished}");
    assert!(!finished.stderr.contains(TOKEN), "{finished}");
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let (_sandbox, serving) = serving();
    let posting = |length: &str| {
        let mut stream = TcpStream::connect(&serving.authority).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let head = format!(
            "POST /api/v1/debates HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\
             Content-Type: application/json\r\n{length}\r\n\r\n",
            serving.authority
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    };
    let mut stream = posting("Content-Length: 100000000");
    let mut answer = [0; 64];
    let length = stream.read(&mut answer).unwrap();
    assert!(String::from_utf8_lossy(&answer[..length]).contains(" 413 "));
    // Of one that does not say how long it is, no more is read than it may have.
    let mut stream = posting("Transfer-Encoding: chunked");
    let chunk = [b"10000\r\n".as_slice(), &vec![b' '; 0x10000], b"\r\n"].concat();
    let sent = (0..1600).take_while(|_| stream.write_all(&chunk).is_ok()).count();
    assert!(sent < 1600, "a hundred megabytes are taken");
    serving.raw("GET", "/healthz", &[], b"").expect(200);
}
