//! Pages as axe judges them, which finds what shuts people out who read with their ears, a keyboard or little contrast.

use serde_json::json;

use super::browser::is_installed;
use super::{debates, offline, page, saved};
use crate::serve::browser::chromium::{Chromium, axe};
use crate::support::{Sandbox, config};
use dialectic_record::debate::{Debate, Recorded, fold};

/// A debate of which every call failed.
fn failed() -> (Debate, Vec<Recorded>) {
    let sandbox = Sandbox::new().config(&config(&["architect", "kiss"], &json!({}))).env("OFFLINE_FAIL_EVERY", "1");
    sandbox.run(["debate", "--offline", "Design a queue"]);
    let (debate, events) = saved(&sandbox);
    assert_eq!(debate.status.name(), "failed");
    (debate, events)
}

/// A motion that is still argued.
fn running_motion() -> (Debate, Vec<Recorded>) {
    let (_, mut events) = offline(&json!({"protocol": "oxford"}), &[], &[]);
    events.truncate(events.len() / 2);
    let debate = fold(&events).unwrap();
    assert_eq!(debate.status.name(), "running");
    (debate, events)
}

#[test]
fn every_page_can_be_read_by_everybody_without_a_script_too() {
    let Some(axe) = is_installed().then(axe).flatten() else { return };
    let mut all = debates();
    for (name, (debate, events)) in [("failed", failed()), ("running motion", running_motion())] {
        all.push((name, debate, events));
    }
    let mut chromium = Chromium::start();
    let mut tab = chromium.tab();
    for (name, debate, events) in &all {
        let unfolded = page(debate, events).replace("<details", "<details open");
        let sandbox = Sandbox::new().file("page.html", unfolded);
        let address = format!("file://{}", sandbox.directory().join("page.html").display());
        for (width, is_dark, scripts) in
            [(390, false, true), (390, true, true), (1280, false, true), (1280, true, true), (1280, false, false)]
        {
            tab.size(width, is_dark);
            tab.allow_scripts(scripts);
            tab.go(&address);
            // The page is there already; what follows is axe's.
            tab.allow_scripts(true);
            assert_eq!(tab.violations(&axe), json!([]), "{name} at {width}, dark: {is_dark}, scripts: {scripts}");
        }
    }
    tab.assert_quiet();
}
