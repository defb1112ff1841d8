//! The skill for coding agents: it is printed, and written where each agent looks.

use crate::support::Sandbox;

const OURS: &str = include_str!("../../assets/skills/dialectic/SKILL.md");

#[test]
fn it_is_printed_and_goes_where_the_agents_that_are_there_look() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(["skill"]).expect_code(0).stdout, OURS);
    sandbox.run(["skill", "install"]).expect_code(2).says(["none of ~/.agents, ~/.claude, ~/.codex exists"]);
    for agent in [".claude", ".codex"] {
        std::fs::create_dir(sandbox.directory().join(agent)).unwrap();
    }
    sandbox.run(["skill", "install"]).expect_code(0);
    sandbox.write(".claude/skills/dialectic/SKILL.md", "an older one");
    sandbox.write(".claude/skills/dialectic/notes.md", "mine");
    sandbox.run(["skill", "install"]).expect_code(0);
    for agent in [".claude", ".codex"] {
        assert_eq!(sandbox.read(format!("{agent}/skills/dialectic/SKILL.md")), OURS);
    }
    assert_eq!(sandbox.read(".claude/skills/dialectic/notes.md"), "mine");
    assert!(!sandbox.directory().join(".agents").exists());
}

#[test]
fn it_goes_to_a_named_directory() {
    let sandbox = Sandbox::new();
    let installed = sandbox.run(["skill", "install", "project/.claude/skills"]).expect_code(0);
    assert_eq!(installed.stdout, "project/.claude/skills/dialectic/SKILL.md\n");
    assert_eq!(sandbox.read("project/.claude/skills/dialectic/SKILL.md"), OURS);
}
