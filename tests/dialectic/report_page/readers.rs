//! Pages as axe judges them, which finds what shuts people out who read with their ears, a keyboard or little contrast.

use serde_json::json;

use super::{DEBATES, page};
use crate::chromium::{Profile, axe, is_installed};
use crate::support::{Sandbox, config, spread};
use dialectic_record::debate::Debate;
use dialectic_record::event::{Recorded, fold};

/// A debate of which every call failed.
fn failed() -> Debate {
    let sandbox = Sandbox::new().config(&config(&["architect", "kiss"], &json!({}))).env("OFFLINE_FAIL_EVERY", "1");
    sandbox.run(["debate", "--offline", "Design a queue"]);
    let debate = sandbox.debate(&sandbox.only_debate());
    assert_eq!(debate.status.name(), "failed");
    debate
}

/// A motion that is still argued.
fn running_motion() -> Debate {
    let sandbox =
        Sandbox::new().config(&config(&["architect", "security", "kiss"], &json!({"protocol": "oxford", "rounds": 2})));
    sandbox.run(["debate", "--offline", "Queues are better than locks."]).expect_code(0);
    let journal = sandbox.journal(&sandbox.only_debate());
    let events: Vec<Recorded> = journal.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let debate = fold(&events[..events.len() / 2]).unwrap();
    assert_eq!(debate.status.name(), "running");
    debate
}

#[test]
fn every_page_can_be_read_by_everybody_without_a_script_too() {
    let Some(axe) = is_installed().then(axe).flatten() else { return };
    let more = [("failed", failed()), ("running motion", running_motion())];
    let mut profile = Profile::new();
    let mut tab = profile.tab();
    let windows =
        [(390, false, true), (1280, true, true), (1280, false, false), (390, true, true), (1280, false, true)];
    for (number, (name, debate)) in DEBATES.iter().chain(&more).enumerate() {
        let unfolded = page(debate).replace("<details", "<details open");
        let sandbox = Sandbox::new().file("page.html", unfolded);
        let address = format!("file://{}", sandbox.directory().join("page.html").display());
        for (width, is_dark, scripts) in spread(windows.len(), 1, number).map(|window| windows[window]) {
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
