//! The skill for coding agents: where it is put, and what is left alone.

use std::os::unix::fs::symlink;

use crate::support::Sandbox;

const OURS: &str = include_str!("../../assets/skills/dialectic/SKILL.md");

#[test]
fn it_goes_where_each_agent_looks() {
    let sandbox = Sandbox::new();
    let home = sandbox.directory().to_owned();
    let at = |path: &str| home.join(path);
    for (agent, variable, path) in [
        ("agents", None, ".agents/skills"),
        ("claude", None, ".claude/skills"),
        ("codex", None, ".codex/skills"),
        ("opencode", None, ".config/opencode/skills"),
        ("claude", Some(("CLAUDE_CONFIG_DIR", "c")), "c/skills"),
        ("codex", Some(("CODEX_HOME", "x")), "x/skills"),
        ("opencode", Some(("XDG_CONFIG_HOME", "o")), "o/opencode/skills"),
    ] {
        let file = format!("{path}/dialectic/SKILL.md");
        let mut command = sandbox.command(["skill", "install", "--for", agent]);
        if let Some((name, below)) = variable {
            command.env(name, at(below));
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{agent}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(sandbox.read(&file), OURS, "{agent}");
        let mut command = sandbox.command(["skill", "remove", "--for", agent]);
        if let Some((name, below)) = variable {
            command.env(name, at(below));
        }
        assert!(command.output().unwrap().status.success());
        assert!(!at(&format!("{path}/dialectic")).exists(), "{agent}");
    }
    for (agent, path) in [("agents", ".agents"), ("claude", ".claude"), ("codex", ".codex"), ("opencode", ".opencode")]
    {
        let project = Sandbox::new();
        project.run(["skill", "install", "--project", "--for", agent]).expect_code(0);
        assert_eq!(project.read(format!("{path}/skills/dialectic/SKILL.md")), OURS);
    }
}

#[test]
fn where_nothing_is_named_it_goes_to_those_that_are_there() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.directory().join(".codex")).unwrap();
    sandbox.run(["skill", "install"]).expect_code(0);
    let is_there = |path: &str| sandbox.directory().join(path).exists();
    assert!(is_there(".agents/skills/dialectic/SKILL.md") && is_there(".codex/skills/dialectic/SKILL.md"));
    assert!(!is_there(".claude") && !is_there(".config/opencode"));
    sandbox.run(["skill", "remove"]).expect_code(0);
    assert!(!is_there(".agents/skills/dialectic") && !is_there(".codex/skills/dialectic"));
    sandbox.run(["skill", "remove"]).expect_code(0);
}

#[test]
fn its_own_is_renewed_and_nobody_elses_is_touched() {
    let sandbox = Sandbox::new();
    let install = ["skill", "install", "--for", "claude"];
    sandbox.run(install).expect_code(0);
    sandbox.write(".claude/skills/dialectic/SKILL.md", "an older one");
    sandbox.run(install).expect_code(0);
    assert_eq!(sandbox.read(".claude/skills/dialectic/SKILL.md"), OURS);
    // What the user put beside it stays.
    sandbox.write(".claude/skills/dialectic/notes.md", "mine");
    sandbox.run(["skill", "remove", "--for", "claude"]).expect_code(0);
    assert_eq!(sandbox.read(".claude/skills/dialectic/notes.md"), "mine");
    assert!(!sandbox.directory().join(".claude/skills/dialectic/SKILL.md").exists());
    // Without the mark it is somebody else's.
    for command in ["install", "remove"] {
        let refused = sandbox.run(["skill", command, "--for", "claude"]).expect_code(1);
        assert!(refused.stderr.contains("was not written by dialectic"), "{refused}");
    }
}

#[test]
fn no_link_is_followed() {
    for link in [".claude", ".claude/skills", ".claude/skills/dialectic"] {
        let sandbox = Sandbox::new().file("elsewhere/skills/dialectic/.installed-by-dialectic", "1");
        let path = sandbox.directory().join(link);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(sandbox.directory().join("elsewhere"), &path).unwrap();
        let before = sandbox.files();
        for command in ["install", "remove"] {
            let refused = sandbox.run(["skill", command, "--for", "claude"]).expect_code(1);
            assert!(refused.stderr.contains("is a link"), "{link}: {refused}");
        }
        assert_eq!(sandbox.files(), before, "{link}");
    }
    let sandbox = Sandbox::new().file("mine", "mine");
    sandbox.run(["skill", "install", "--for", "claude"]).expect_code(0);
    let skill = sandbox.directory().join(".claude/skills/dialectic/SKILL.md");
    std::fs::remove_file(&skill).unwrap();
    symlink(sandbox.directory().join("mine"), &skill).unwrap();
    sandbox.run(["skill", "install", "--for", "claude"]).expect_code(1);
    sandbox.run(["skill", "remove", "--for", "claude"]).expect_code(0);
    assert_eq!(sandbox.read("mine"), "mine");
}
