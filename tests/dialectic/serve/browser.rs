//! The page in a real browser, which a test drives as a person would.

use serde_json::{Value, json};

use super::client::{Serving, curious, journal, sandbox, serving};
use crate::budget::said;
use crate::chromium::{Profile, Tab, axe, is_installed};
use crate::support::{Incoming, MockServer, Purpose, Reply, Sandbox, short_reply, spread};

/// What stands in the badge of the debate.
const STATUS: &str = "document.querySelector('.state .badge')?.textContent";

/// What would run if it became markup.
const HOSTILE: &str =
    "<script>window.hacked = 1</script><img src=x onerror=\"window.hacked = 2\"> \u{202e}[x](javascript:hacked)";

/// A motion that is still argued, and a debate whose judge cannot be asked.
const MOTION: &str = "We should stay with Rust";
const DOOMED: &str = "A problem without an answer";

/// A tab that has signed in and shows the list.
fn entered(profile: &mut Profile, serving: &Serving) -> Tab {
    let mut tab = profile.tab();
    tab.go(&serving.address);
    tab.until("document.querySelector('h1')?.textContent === 'Debates'");
    tab
}

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
    // How a run ended begins with one word.
    let words = if status == "completed" { json!(["complete", "incomplete", "stopped"]) } else { json!([status]) };
    tab.until(&format!("{words}.some(word => {STATUS}?.startsWith(word))"));
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
    let sandbox = sandbox(&server, &json!({"rounds": 20}));
    let mut serving = Serving::start(&sandbox, &[]);
    let port = serving.port().to_owned();
    let mut profile = Profile::new();
    let mut tab = entered(&mut profile, &serving);
    tab.run("document.querySelector('[data-nav=new]').click()");
    fill(&mut tab, "#problem", "Design a queue");
    tab.run("document.querySelector('#clarify').click()");
    // The button works when it is known what the debate would take.
    tab.until("!document.querySelector('form.new button.primary').disabled");
    assert!(tab.text(".forecast").contains(" calls."), "{}", tab.text(".forecast"));
    press(&mut tab, "Start the debate");
    is(&mut tab, "waiting for answers");
    press(&mut tab, "Pause");
    is(&mut tab, "paused");
    press(&mut tab, "Resume");
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
    tab.until("document.querySelector('.report')?.shadowRoot?.querySelector('#solution')");
    tab.until("document.querySelector('.report').clientHeight > 500");
    tab.run("document.querySelector('#question').closest('details').open = true");
    fill(&mut tab, "#question", "What if the <i>budget</i> is halved?");
    press(&mut tab, "Ask");
    tab.until("document.querySelector('.report')?.shadowRoot?.querySelector('#follow-ups')?.textContent.includes('<i>budget</i>')");
    tab.until("document.querySelector('#question').value === ''");
    assert_eq!(sandbox.state(&id)["followUps"][0]["question"], "What if the <i>budget</i> is halved?");
    // The judge's texts are among what was said.
    tab.until("[...document.querySelectorAll('.entry strong')].some(one => one.textContent.endsWith('· synthesis'))");
    tab.assert_quiet();
}

#[test]
fn similar_questions_are_one_and_a_later_pass_is_named() {
    if !is_installed() {
        return;
    }
    let server = MockServer::with(|request| {
        if request.purpose != Purpose::Clarify {
            return short_reply(request);
        }
        let pass = 1 + ["answer 1", "answer 2"].iter().filter(|answer| request.text().contains(**answer)).count();
        let text = format!("How many users has pass {pass}?");
        Reply::json(json!({"questions": [{"id": "q1", "text": text}]}))
    });
    let (sandbox, serving) = serving(&server);
    let id = serving.begin(&json!({"problem": "Design a queue", "debate": {"interactiveClarifications": true}}));
    let mut profile = Profile::new();
    let mut tab = entered(&mut profile, &serving);
    tab.go(&format!("http://{}/debates/{id}", serving.authority));
    for pass in 1..=3 {
        tab.until(&format!("document.querySelector('.questions label')?.textContent.includes('has pass {pass}?')"));
        let title = tab.text("#questions-title");
        let named = format!("Follow-up questions on your answers: pass {pass} of at most 3");
        assert_eq!(title, if pass == 1 { "The agents ask".to_owned() } else { named });
        assert_eq!(tab.run("document.querySelectorAll('.questions textarea').length"), json!(1));
        assert_eq!(tab.text(".questions .who").trim_end(), "The architect and The kiss:");
        fill(&mut tab, "#question-0", &format!("answer {pass}"));
        press(&mut tab, "Send the answers");
    }
    is(&mut tab, "completed");
    assert_eq!(server.requests().iter().filter(|request| request.purpose == Purpose::Clarify).count(), 6);
    assert!(server.requests().last().unwrap().text().contains("answer 3"));
    sandbox.assert_state_is_the_fold(&id);
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
    let (_sandbox, serving) = serving(&server);
    let agents = json!([
        {"role": "architect", "name": HOSTILE, "model": "model-architect", "provider": "openai"},
        {"role": "kiss", "name": "\"><svg onload=window.hacked=3>", "model": "model-kiss", "provider": "openai"},
    ]);
    let body = json!({"problem": HOSTILE, "files": [{"name": HOSTILE, "text": HOSTILE}], "agents": agents});
    serving.wait_for(&serving.begin(&body), "completed");
    let mut profile = Profile::new();
    let mut tab = profile.tab();
    tab.go(&serving.address);
    tab.until("document.querySelector('tbody a')?.textContent.includes('<script>window.hacked')");
    tab.run("document.querySelector('tbody a').click()");
    is(&mut tab, "completed");
    tab.until("document.querySelector('.report')?.shadowRoot?.querySelector('#solution')");
    tab.run("document.querySelector('#tab-course').click()");
    tab.run("document.querySelectorAll('details').forEach(one => { one.open = true; })");
    let inside = "document.querySelector('.report').shadowRoot.querySelectorAll('script, img, svg[onload], [onerror], a[href^=javascript]').length";
    assert_eq!(tab.run(inside), json!(0), "the report is part of the page, and nothing in it runs");
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
    let (server, gate) = MockServer::held(short_reply, |request| request.purpose == Purpose::Critique);
    let (sandbox, serving) = serving(&server);
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    let mut profile = Profile::new();
    drop(entered(&mut profile, &serving));
    let address = format!("http://{}/debates/{id}", serving.authority);
    let mut tabs: Vec<Tab> = (0..7).map(|_| profile.tab()).collect();
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
    let axe = axe();
    // A motion that does not come further than its rebuttals, and a debate that finds no end.
    let answer = |request: &Incoming| {
        if request.prompt().contains(MOTION) {
            return said(request, false);
        }
        let fails = request.prompt().contains(DOOMED) && request.purpose == Purpose::Synthesize;
        if fails { Reply::error(400, "no such thing") } else { curious(request) }
    };
    let (server, gate) = MockServer::held(answer, |request| {
        request.task() == "rebut" || request.purpose == Purpose::Critique && !request.prompt().contains(DOOMED)
    });
    let sandbox = sandbox(&server, &json!({}));
    let serving = Serving::start(&sandbox, &["--max-debates", "9"]);
    let failed = serving.begin(&json!({"problem": DOOMED}));
    serving.wait_for(&failed, "failed");
    let arguing = serving.begin(&json!({"problem": MOTION, "protocol": "oxford", "rounds": 3}));
    let agents: Vec<Value> =
        ["architect", "kiss", "security", "performance"].iter().map(|role| json!({"role": role})).collect();
    let motion = serving
        .begin(&json!({"problem": "Split the monolith?", "protocol": "oxford", "rounds": 2, "offline": true, "agents": agents}));
    serving.wait_for(&motion, "completed");
    let asking = serving.begin(&json!({"problem": "Design a cache", "debate": {"interactiveClarifications": true}}));
    serving.wait_for(&asking, "asking");
    let running =
        serving.begin(&json!({"problem": "Design a queue, and a rather long title for it that goes on and on"}));
    let arena = serving.begin(&json!({"problem": "Which store do we take?", "protocol": "arena", "offline": true}));
    serving.wait_for(&arena, "completed");
    let views = [
        ("/".to_owned(), "document.querySelectorAll('.debates tbody tr').length === 6"),
        ("/new".to_owned(), "document.querySelectorAll('.members tbody tr').length === 2"),
        (format!("/debates/{running}"), "document.querySelectorAll('.graph .edge').length > 0"),
        (format!("/debates/{arguing}"), "document.querySelectorAll('.side').length > 1"),
        (format!("/debates/{failed}"), "document.querySelector('main .problem')"),
        (format!("/debates/{asking}"), "document.querySelectorAll('.questions textarea').length === 2"),
        (format!("/debates/{motion}"), "document.querySelector('.report')?.shadowRoot?.querySelector('#solution')"),
        (format!("/debates/{motion}#course"), "document.querySelectorAll('.side').length > 1"),
        (format!("/debates/{arena}#course"), "document.querySelectorAll('main table').length > 3"),
        ("/nowhere".to_owned(), "document.querySelector('h1')"),
    ];
    let mut profile = Profile::new();
    let mut tab = entered(&mut profile, &serving);
    let windows = [(390, false), (1280, true), (390, true), (1280, false)];
    for (number, (path, is_there)) in views.iter().enumerate() {
        for (width, is_dark) in spread(windows.len(), 1, number).map(|window| windows[window]) {
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
                assert_eq!(tab.violations(axe), json!([]), "{path} at {width}, dark: {is_dark}");
            }
        }
    }
    gate.open();
}

#[test]
fn a_contest_is_shown_by_what_its_record_says() {
    if !is_installed() {
        return;
    }
    let mut config = super::client::config(&["architect", "kiss", "testing", "security"], &json!({"rounds": 2}));
    config["debate"]["arena"] = json!({"team": {"size": 3}, "observer": true, "trickster": true});
    let sandbox = Sandbox::new().config(&config).env("DIALECTIC_TOKEN", super::client::TOKEN);
    let serving = Serving::start(&sandbox, &[]);
    let problem = "Where do we keep the sessions? It must survive the loss of a node.";
    let id = serving.begin(&json!({"problem": problem, "protocol": "arena", "offline": true}));
    serving.wait_for(&id, "completed");
    let events = journal(&sandbox, &id);
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
    let mut profile = Profile::new();
    let mut tab = profile.tab();
    tab.go(&serving.address.replace("/?", &format!("/debates/{id}?")));
    is(&mut tab, "completed");
    tab.run("document.querySelector('#tab-course').click()");
    let section = |name: &str| {
        format!(
            "[...document.querySelectorAll('#panel-course section')].find(one => one.querySelector('h2').textContent === {name:?})"
        )
    };
    let text = |tab: &mut Tab, name: &str| -> String {
        tab.until(&section(name));
        tab.run(&format!("{}.innerText", section(name))).as_str().unwrap().to_owned()
    };
    let team = text(&mut tab, "Team");
    assert!(team.contains("3 of 4 agents take part") && team.contains("By calibration"), "{team}");
    let cards = tab.run("document.querySelectorAll('.agents .agent').length");
    assert_eq!(cards, json!(4), "the team and the judge, and not who was left out");
    let agreement = text(&mut tab, "Agreement");
    let last = of("measured").last().unwrap()["convergence"].clone();
    assert!(agreement.contains(&format!("{} %", last["agreement"].as_f64().unwrap().round())), "{agreement}\n{last}");
    assert!(agreement.contains("Each text against its author’s one before"), "{agreement}");
    let kinds = text(&mut tab, "Kinds of argument");
    assert!(kinds.contains("Evidence") && kinds.contains("The architect"), "{kinds}");
    let verdict = of("decided")[0]["verdict"].clone();
    let noun = events[0]["stages"].as_array().unwrap().iter().find(|stage| stage["yields"] == "verdict").unwrap();
    let noun = noun["words"]["noun"].as_str().unwrap();
    let shown = text(&mut tab, &format!("{}{}", noun[..1].to_uppercase(), &noun[1..]));
    for score in verdict["scores"].as_object().unwrap().values() {
        let score = (score.as_f64().unwrap() * 10.0).round() / 10.0;
        assert!(shown.contains(&score.to_string()), "{shown}\n{score}");
    }
    let votes = of("contributed").iter().filter(|event| event["contribution"]["type"] == "vote").count();
    if votes > 0 {
        assert!(text(&mut tab, "Votes").contains("voted (quorum: "));
    }
    tab.assert_quiet();
}

#[test]
fn a_warning_of_the_cost_that_is_acknowledged_is_gone_in_every_tab() {
    if !is_installed() {
        return;
    }
    let dear = |request: &Incoming| short_reply(request).usage(20_000, 0, 1_000);
    let (server, gate) = MockServer::held(dear, |request| request.purpose == Purpose::Critique);
    let mut config = super::client::config(&["architect", "kiss"], &json!({"budget": {"warnCostUsd": 0.01}}));
    for model in ["model-architect", "model-kiss", "model-judge"] {
        config["prices"][model] = json!({"inputPerMTok": 1.0, "outputPerMTok": 1.0});
    }
    let sandbox = sandbox(&server, &json!({})).config(&config);
    let serving = Serving::start(&sandbox, &[]);
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    let mut profile = Profile::new();
    let mut tabs = [profile.tab(), profile.tab()];
    tabs[0].go(&serving.address.replace("/?", &format!("/debates/{id}?")));
    let shown = "document.querySelector('.warning')?.textContent.includes('reached your warning limit')";
    tabs[0].until(shown);
    tabs[1].go(&format!("http://{}/debates/{id}", serving.authority));
    tabs[1].until(shown);
    assert_eq!(tabs[1].run("document.querySelectorAll('.warning').length"), json!(1), "it is said once");
    press(&mut tabs[0], "Acknowledge");
    for tab in &mut tabs {
        tab.until("!document.querySelector('.warning')");
    }
    let acknowledged = journal(&sandbox, &id).iter().filter(|event| event["type"] == "cost-acknowledged").count();
    assert_eq!(acknowledged, 1);
    gate.open();
    // One that is opened later does not show it either.
    serving.wait_for(&id, "completed");
}

#[test]
fn files_go_byte_for_byte_and_a_branch_has_another_judge() {
    if !is_installed() {
        return;
    }
    let server = MockServer::with(short_reply);
    let (sandbox, serving) = serving(&server);
    let mut profile = Profile::new();
    let mut tab = profile.tab();
    tab.go(&serving.address.replace("/?", "/new?"));
    fill(&mut tab, "#problem", "Design a queue");
    let choose = |tab: &mut Tab, files: &str| {
        tab.run(&format!(
            "{{ const all = new DataTransfer(); {files}.forEach(([name, bytes]) => all.items.add(new File([new Uint8Array(bytes)], name))); \
             const field = document.querySelector('#files'); field.files = all.files; field.dispatchEvent(new Event('change', {{ bubbles: true }})); }}"
        ));
    };
    choose(&mut tab, "[['latin1.txt', [0x63, 0xe9]], ['bom.md', [0xef, 0xbb, 0xbf, 0x48, 0x69]]]");
    tab.until("document.querySelector('.forecast .problem')?.textContent.includes('latin1.txt cannot be attached: it is not UTF-8 text')");
    assert_eq!(tab.run("document.querySelector('form.new button.primary').disabled"), json!(true));
    choose(&mut tab, "[['bom.md', [0xef, 0xbb, 0xbf, 0x48, 0x69]]]");
    press(&mut tab, "Start the debate");
    is(&mut tab, "completed");
    let id = tab.run("location.pathname").as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let attachments = sandbox.state(&id)["attachments"].clone();
    // printf '\357\273\277Hi' | sha256sum
    let hash = "7169d3eccde6a49cc40d142c2196ccfc46c5deca049a00b92c677c7b72759feb";
    assert_eq!(attachments, json!([{"name": "bom.md", "sha256": hash, "text": "Hi"}]));
    press(&mut tab, "Fork…");
    tab.until("document.querySelector('dialog[open] #judge-model')");
    assert_eq!(tab.run("document.querySelectorAll('dialog .members tbody tr').length"), json!(2));
    tab.run(
        "{ const model = document.querySelector('dialog #judge-model'); \
         model.value = [...model.options].find(one => one.textContent.startsWith('model-kiss')).value; }",
    );
    press(&mut tab, "Fork");
    tab.until(&format!("!location.pathname.endsWith({id:?})"));
    is(&mut tab, "completed");
    let fork = tab.run("location.pathname").as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let settings = sandbox.state(&fork)["settings"].clone();
    assert_eq!((&settings["judge"]["model"], &settings["judge"]["id"]), (&json!("model-kiss"), &json!("judge")));
    assert_eq!(settings["agents"], sandbox.state(&id)["settings"]["agents"]);
    // The list says which of the two is the fork.
    tab.go(&serving.address);
    tab.until("document.querySelectorAll('.debates tbody tr').length === 2");
    assert_eq!(tab.text(&format!("[data-id='{fork}'] .fork")), format!("a fork of {id}"));
    assert_eq!(tab.run("document.querySelectorAll('.fork').length"), json!(1));
    tab.assert_quiet();
}

/// However the record arrives, in one piece or while it is written: the last round is unfolded, and what a reader
/// unfolded or folded stays so.
#[test]
fn a_result_unfolds_the_same_round_on_every_load() {
    if !is_installed() {
        return;
    }
    let (server, gate) = MockServer::held(short_reply, |_| true);
    let sandbox = sandbox(&server, &json!({"rounds": 3}));
    let serving = Serving::start(&sandbox, &[]);
    let mut profile = Profile::new();
    let mut tab = profile.tab();
    let id = serving.begin(&json!({"problem": "Design a queue"}));
    let address = serving.address.replace("/?", &format!("/debates/{id}?"));
    let open = |tab: &mut Tab| {
        let all = lines(&sandbox, &id).len();
        tab.until(&format!("window.debate?.seen.length === {all} && document.querySelectorAll('.round').length === 3"));
        tab.run("[...document.querySelectorAll('details.round')].filter(one => one.open).map(one => one.dataset.key)")
    };
    // Watched from its first event on.
    tab.go(&address);
    is(&mut tab, "running");
    gate.open();
    serving.wait_for(&id, "completed");
    is(&mut tab, "completed");
    assert_eq!(open(&mut tab), json!(["round-3"]));
    for _ in 0..3 {
        tab.go(&address);
        is(&mut tab, "completed");
        assert_eq!(open(&mut tab), json!(["round-3"]));
    }
    for number in [1, 3] {
        tab.run(&format!("document.querySelector('[data-key=round-{number}] > summary').click()"));
    }
    assert_eq!(open(&mut tab), json!(["round-1"]));
    tab.assert_quiet();
}

#[test]
fn a_debate_is_started_and_read_with_the_keyboard_alone() {
    if !is_installed() {
        return;
    }
    let (server, gate) = MockServer::held(short_reply, |request| request.purpose == Purpose::Critique);
    let (_sandbox, serving) = serving(&server);
    let mut profile = Profile::new();
    let mut tab = entered(&mut profile, &serving);
    // Where the focus is can be seen at every stop.
    let stop_at = |tab: &mut Tab, wanted: &str| {
        for _ in 0..60 {
            tab.key("Tab");
            let focus = "(() => { const one = document.activeElement; const style = getComputedStyle(one); \
                         return [one.textContent.trim(), style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0, one.tagName]; })()";
            let focus = tab.run(focus);
            if focus[2] != "BODY" {
                assert_eq!(focus[1], json!(true), "{focus}");
            }
            if focus[0] == wanted {
                return;
            }
        }
        panic!("the focus never comes to {wanted}");
    };
    stop_at(&mut tab, "Skip to content");
    stop_at(&mut tab, "New debate");
    tab.key("Enter");
    tab.until("document.activeElement?.id === 'problem'");
    tab.write("Design a queue");
    tab.until("!document.querySelector('form.new button.primary').disabled");
    stop_at(&mut tab, "Start the debate");
    tab.key("Enter");
    is(&mut tab, "running");
    // The focus is at the beginning of the debate.
    tab.until("document.activeElement?.id === 'main'");
    stop_at(&mut tab, "Pause");
    stop_at(&mut tab, "Stop and close");
    gate.open();
    is(&mut tab, "completed");
    stop_at(&mut tab, "Copy the solution");
    stop_at(&mut tab, "Result");
    tab.assert_quiet();
}
