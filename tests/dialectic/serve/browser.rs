//! The page in a real browser, which a test drives as a person would.

mod chromium;

use serde_json::{Value, json};

use self::chromium::{Chromium, Tab};
use super::client::{Serving, curious, held_by, journal, sandbox};
use crate::report_page::browser::is_installed;
use crate::support::{Gate, Incoming, MockServer, Purpose, Reply, Sandbox, short_reply};

/// What stands in the badge of the debate.
const STATUS: &str = "document.querySelector('.state .badge')?.textContent";

/// What would run if it became markup.
const HOSTILE: &str =
    "<script>window.hacked = 1</script><img src=x onerror=\"window.hacked = 2\"> \u{202e}[x](javascript:hacked)";

fn press(tab: &mut Tab, text: &str) {
    tab.until(&format!(
        "[...document.querySelectorAll('button')].some(one => one.textContent === {text:?} && !one.disabled)"
    ));
    tab.run(&format!("[...document.querySelectorAll('button')].find(one => one.textContent === {text:?}).click()"));
}

fn fill(tab: &mut Tab, selector: &str, text: &str) {
    tab.until(&format!("document.querySelector({selector:?})"));
    tab.run(&format!(
        "{{ const field = document.querySelector({selector:?}); field.focus(); field.value = {text:?}; \
         field.dispatchEvent(new Event('input', {{ bubbles: true }})); }}"
    ));
}

fn is(tab: &mut Tab, status: &str) {
    tab.until(&format!("{STATUS} === {status:?}"));
}

/// The events of the journal as the page notes them.
fn lines(sandbox: &Sandbox, id: &str) -> Vec<String> {
    let line = |event: &Value| {
        format!("{} {} {}", event["seq"], event["at"].as_str().unwrap(), event["type"].as_str().unwrap())
    };
    journal(sandbox, id).iter().map(line).collect()
}

fn seen(tab: &mut Tab) -> Vec<String> {
    serde_json::from_value(tab.run("window.debate.seen")).unwrap()
}

#[test]
fn a_person_starts_watches_and_steers_a_debate_while_the_server_is_killed_twice() {
    if !is_installed() {
        return;
    }
    let server = MockServer::with(|request| curious(request).after(std::time::Duration::from_millis(250)));
    let sandbox = sandbox(&server, &json!({"rounds": 5}));
    let mut serving = Serving::start(&sandbox, &[]);
    let port = serving.port().to_owned();
    let mut chromium = Chromium::start();
    let mut tab = chromium.tab();
    tab.go(&serving.address.clone());
    tab.until("document.querySelector('h1')?.textContent === 'Debates'");
    tab.run("document.querySelector('[data-nav=new]').click()");
    fill(&mut tab, "#problem", "Design a queue");
    tab.run("document.querySelector('#clarify').click()");
    // The button works when it is known what the debate would take.
    tab.until("!document.querySelector('form.new button.primary').disabled");
    assert!(tab.text(".forecast").contains("Calls"), "{}", tab.text(".forecast"));
    press(&mut tab, "Start the debate");
    is(&mut tab, "waiting for answers");
    let id = tab.run("location.pathname").as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    tab.until("document.querySelectorAll('.questions textarea').length === 2");
    fill(&mut tab, "#question-0", "Two thousand <b>bold</b> ones.");
    press(&mut tab, "Send the answers");
    is(&mut tab, "running");
    tab.until("document.querySelectorAll('.entry').length > 1");
    press(&mut tab, "Pause");
    is(&mut tab, "paused");
    serving.kill();
    tab.until("!document.querySelector('#offline').hidden");
    serving = Serving::start(&sandbox, &["--port", &port]);
    tab.until("document.querySelector('#offline').hidden");
    press(&mut tab, "Resume");
    is(&mut tab, "running");
    let so_far = seen(&mut tab).len();
    tab.until(&format!("window.debate.seen.length > {so_far} + 3"));
    serving.kill();
    tab.until("!document.querySelector('#offline').hidden");
    serving = Serving::start(&sandbox, &["--port", &port]);
    is(&mut tab, "interrupted");
    press(&mut tab, "Resume");
    is(&mut tab, "running");
    press(&mut tab, "Stop and close");
    is(&mut tab, "completed");
    assert_eq!(seen(&mut tab), lines(&sandbox, &id));
    let answered = server.requests().iter().any(|request| request.text().contains("Two thousand <b>bold</b> ones."));
    assert!(answered, "the answer reaches the agents as it was given");
    sandbox.assert_state_is_the_fold(&id);
    assert_eq!(serving.status(&id), "completed");
    // The result is the report.
    tab.until("document.querySelector('iframe.report')?.contentDocument?.querySelector('#solution')");
    tab.until("document.querySelector('iframe.report').clientHeight > 500");
    tab.assert_quiet();
}

#[test]
fn nothing_that_anybody_wrote_runs_or_becomes_markup() {
    if !is_installed() {
        return;
    }
    let server = MockServer::with(|request: &Incoming| {
        let reply = short_reply(request);
        match (&reply.content, request.purpose) {
            (crate::support::Content::Text(text), Purpose::Propose | Purpose::Critique | Purpose::Refine) => {
                Reply::text(format!("{HOSTILE}\n\n- {HOSTILE}\n\n```\n{HOSTILE}\n```\n\n{text}"))
            }
            _ => reply,
        }
    });
    let sandbox = sandbox(&server, &json!({}));
    let serving = Serving::start(&sandbox, &[]);
    let agents = json!([
        {"role": "architect", "name": HOSTILE, "model": "model-architect", "provider": "openai"},
        {"role": "kiss", "name": "\"><svg onload=window.hacked=3>", "model": "model-kiss", "provider": "openai"},
    ]);
    let body = json!({"problem": HOSTILE, "files": [{"name": HOSTILE, "text": HOSTILE}], "agents": agents});
    let id = serving.begin(&body);
    serving.wait_for(&id, "completed");
    let mut chromium = Chromium::start();
    let mut tab = chromium.tab();
    tab.go(&serving.address.clone());
    tab.until("document.querySelector('tbody a')?.textContent.includes('<script>window.hacked')");
    tab.run("document.querySelector('tbody a').click()");
    is(&mut tab, "completed");
    tab.until("document.querySelector('iframe.report')?.contentDocument?.querySelector('#solution')");
    tab.run("document.querySelector('#tab-course').click()");
    tab.run("document.querySelectorAll('details').forEach(one => { one.open = true; })");
    tab.until("document.querySelector('.entry .text')?.textContent.includes('<script>window.hacked')");
    assert_eq!(tab.run("window.hacked ?? null"), Value::Null);
    let made = "document.querySelectorAll('main script, main img, main svg[onload], main [onerror], main a[href^=javascript]').length";
    assert_eq!(tab.run(made), json!(0));
    tab.assert_quiet();
}

#[test]
fn seven_tabs_are_told_everything() {
    if !is_installed() {
        return;
    }
    let gate = Gate::shut();
    let held = gate.clone();
    let server = MockServer::with(move |request| {
        let reply = short_reply(request);
        if request.purpose == Purpose::Critique { held_by(reply, &held) } else { reply }
    });
    let sandbox = sandbox(&server, &json!({}));
    let serving = Serving::start(&sandbox, &[]);
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    let mut chromium = Chromium::start();
    let mut first = chromium.tab();
    first.go(&serving.address.clone());
    first.until("document.querySelector('h1')?.textContent === 'Debates'");
    let address = format!("http://{}/debates/{id}", serving.authority);
    let mut tabs: Vec<Tab> = (0..7).map(|_| chromium.tab()).collect();
    for tab in &mut tabs {
        tab.go(&address);
        is(tab, "running");
        tab.until("document.querySelectorAll('.entry').length > 1");
    }
    gate.open();
    serving.wait_for(&id, "completed");
    for tab in &mut tabs {
        is(tab, "completed");
        assert_eq!(seen(tab), lines(&sandbox, &id));
        // A tab more than there are connections still has one for its requests.
        assert_eq!(tab.run("fetch('/api/v1/setup').then(answer => answer.status)"), json!(200));
    }
}

#[test]
fn every_view_fits_a_phone_and_a_reader() {
    if !is_installed() {
        return;
    }
    let axe = std::env::var("AXE").ok().map(|path| std::fs::read_to_string(path).unwrap());
    assert!(axe.is_some() || std::env::var_os("CI").is_none(), "AXE is not set, and nothing was checked by it");
    let gate = Gate::shut();
    let held = gate.clone();
    let server = MockServer::with(move |request| {
        let reply = curious(request);
        if request.purpose == Purpose::Critique { held_by(reply, &held) } else { reply }
    });
    let sandbox = sandbox(&server, &json!({}));
    let serving = Serving::start(&sandbox, &[]);
    let agents: Vec<Value> =
        ["architect", "kiss", "security", "performance"].iter().map(|role| json!({"role": role})).collect();
    let motion = serving
        .begin(&json!({"problem": "Split the monolith?", "protocol": "oxford", "rounds": 2, "offline": true, "agents": agents}));
    serving.wait_for(&motion, "completed");
    let asking = serving.begin(&json!({"problem": "Design a cache", "debate": {"interactiveClarifications": true}}));
    serving.wait_for(&asking, "asking");
    let running =
        serving.begin(&json!({"problem": "Design a queue, and a rather long title for it that goes on and on"}));
    let views = [
        ("/".to_owned(), "document.querySelectorAll('.debates tbody tr').length === 3"),
        ("/new".to_owned(), "document.querySelectorAll('.members tbody tr').length === 2"),
        (format!("/debates/{running}"), "document.querySelectorAll('.graph .edge').length > 0"),
        (format!("/debates/{asking}"), "document.querySelectorAll('.questions textarea').length === 2"),
        (
            format!("/debates/{motion}"),
            "document.querySelector('iframe.report')?.contentDocument?.querySelector('#solution')",
        ),
        (format!("/debates/{motion}#course"), "document.querySelectorAll('.side').length > 1"),
        ("/nowhere".to_owned(), "document.querySelector('h1')"),
    ];
    let mut chromium = Chromium::start();
    let mut tab = chromium.tab();
    tab.go(&serving.address.clone());
    tab.until("document.querySelector('h1')?.textContent === 'Debates'");
    for (path, is_there) in &views {
        for (width, is_dark) in [(390, false), (390, true), (1280, false), (1280, true)] {
            tab.size(width, is_dark);
            tab.go(&format!("http://{}{path}", serving.authority));
            if path.ends_with("#course") {
                tab.until("document.querySelector('#tab-result[aria-selected=true]')");
                tab.run("document.querySelector('#tab-course').click()");
            }
            tab.until(is_there);
            let widest = tab.run("document.documentElement.scrollWidth").as_u64().unwrap();
            assert!(widest <= u64::from(width), "{path} is {widest} pixels wide at {width}");
            if let Some(axe) = &axe {
                tab.run(&format!("{axe}; null"));
                let found = tab.run(
                    "axe.run(document, { iframes: false }).then(all => all.violations.map(one => \
                     `${one.id}: ${one.nodes.map(node => node.target.join(' ')).join(', ')}`))",
                );
                assert_eq!(found, json!([]), "{path} at {width}, dark: {is_dark}");
            }
        }
    }
    // With the keyboard alone: the first stop leads past the navigation, and each control can be reached.
    tab.size(1280, false);
    tab.go(&format!("http://{}/debates/{running}", serving.authority));
    tab.until("document.querySelectorAll('.graph .edge').length > 0");
    let mut stops = Vec::new();
    for _ in 0..14 {
        tab.key("Tab");
        stops.push(tab.run("document.activeElement.textContent.trim().slice(0, 24)").as_str().unwrap().to_owned());
    }
    assert_eq!(stops[0], "Skip to the content");
    for wanted in ["New debate", "Pause", "Stop and close", "Debate"] {
        assert!(stops.iter().any(|stop| stop == wanted), "{wanted}: {stops:?}");
    }
    gate.open();
}
