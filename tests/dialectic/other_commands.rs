//! What the program says about itself: help, version, protocols, completions, manual.

use crate::handling::debated;
use crate::support::Sandbox;
use dialectic_record::protocol::{PROTOCOLS, Protocol};

#[test]
fn the_version_is_the_packages() {
    let version = format!("dialectic {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(Sandbox::new().run(["--version"]).expect_code(0).stdout, version);
    assert_eq!(Sandbox::new().run(["-V"]).expect_code(0).stdout, version);
}

#[test]
fn help_fits_a_terminal_and_goes_to_standard_output() {
    let sandbox = Sandbox::new();
    for command in dialectic_cli::cli::command().get_subcommands_mut() {
        for help in [command.render_help(), command.render_long_help()] {
            assert!(help.to_string().lines().all(|line| line.chars().count() <= 100), "{help}");
        }
    }
    for help in [["help", "debate"], ["debate", "--help"]] {
        let finished = sandbox.run(help).expect_code(0);
        assert!(finished.stderr.is_empty() && finished.stdout.contains("Usage: dialectic debate"), "{finished}");
    }
    let nothing = sandbox.run([] as [&str; 0]).expect_code(2);
    assert_eq!((&*nothing.stdout, nothing.stderr.contains("Usage: dialectic")), ("", true));
}

#[test]
fn the_help_of_the_program() {
    insta::assert_snapshot!("help", Sandbox::new().run(["-h"]).expect_code(0).stdout);
}

#[test]
fn the_help_of_debate() {
    insta::assert_snapshot!("help of debate", Sandbox::new().run(["debate", "-h"]).expect_code(0).stdout);
}

#[test]
fn protocols_are_listed_and_shown_as_tables_and_diagrams() {
    let sandbox = Sandbox::new();
    let listed = sandbox.run(["protocols"]).expect_code(0).stdout;
    for protocol in PROTOCOLS {
        assert!(listed.lines().any(|line| line.split(' ').next() == Some(protocol.name)), "{listed}");
    }
    let oxford = Protocol::named("oxford").unwrap();
    let shown = sandbox.run(["protocols", "show", "oxford"]).expect_code(0).stdout;
    assert!(shown.contains(&oxford.diagram()) && shown.contains(&oxford.columns()), "{shown}");
    let table = sandbox.run(["protocols", "dialectic"]).expect_code(0).stdout;
    for row in [
        "| stage | event | next |",
        "| round-manager | BEGIN_ROUND | summarization, in a new round |",
        "| clarification-input | WAITING_FOR_INPUT | suspend |",
        "| evaluation | CONSENSUS_REACHED | synthesis |",
        "| synthesis | COMPLETE | done |",
    ] {
        assert!(table.lines().any(|line| line == row), "{row}:\n{table}");
    }
    let diagram = sandbox.run(["protocols", "dialectic", "--mermaid"]).expect_code(0).stdout;
    assert!(diagram.starts_with("stateDiagram-v2\n"), "{diagram}");
    // A row of the table is an edge of the diagram; the table has two lines above its rows.
    let edges = diagram.lines().filter(|line| line.contains(" --> ") && line.contains(": ")).count();
    assert_eq!(edges, table.lines().count() - 2);
    insta::assert_snapshot!(sandbox.run(["protocols", "dialogue"]), @"
    exit: 2
    --- stdout

    --- stderr
    error: the protocol `dialogue` is unknown (known: `dialectic`, `council`, `oxford`, `lincoln-douglas`, `roundtable`, `review`, `arena`, `single`, `self-refine`, `best-of-n`)
    ");
    let near = sandbox.run(["protocols", "councl"]).expect_code(2).stderr;
    assert_eq!(near, "error: the protocol `councl` is unknown (did you mean `council`?)\n");
    sandbox.run(["protocols", "--mermaid"]).expect_code(2);
}

#[test]
fn there_is_a_completion_script_that_its_shell_can_read() {
    for shell in ["zsh", "fish", "elvish", "powershell", "bash"] {
        let script = Sandbox::new().run(["completions", shell]).expect_code(0);
        assert!(script.stderr.is_empty() && script.stdout.contains("DIALECTIC_COMPLETE"), "{script}");
        if shell == "bash" {
            Sandbox::new().program("/bin/bash").file("script", script.stdout).run(["-n", "script"]).expect_code(0);
        }
    }
}

#[test]
fn a_shell_completes_debates_roles_protocols_and_stages() {
    let (sandbox, id) = debated();
    sandbox.write("debates/$(touch hacked).json", "{}");
    let program = env!("CARGO_BIN_EXE_dialectic");
    let bash = sandbox.program("/bin/bash");
    let complete = |words: &[&str]| -> Vec<String> {
        let (last, quoted) =
            (words.len() - 1, words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "));
        let script = format!(
            "source <({program} completions bash)\nCOMP_WORDS=({quoted})\nCOMP_CWORD={last}\n\
             _clap_complete_dialectic dialectic '{}' '{}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words[last],
            words[last - 1],
        );
        let shown = bash.run(["-c", &script]).expect_code(0);
        assert_eq!(shown.stderr, "");
        let mut words: Vec<String> = shown.stdout.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words
    };
    let short = id[id.len() - 4..].to_owned();
    assert_eq!(complete(&["dialectic", "report", &short[..2]]), [short.as_str()]);
    assert_eq!(complete(&["dialectic", "eval", "-d", "deb-"]), [id.as_str()]);
    assert!(complete(&["dialectic", "show", ""]).iter().all(|one| !one.contains('$')));
    assert_eq!(complete(&["dialectic", "debate", "-a", "kiss,sec"]), ["kiss,security"]);
    assert_eq!(complete(&["dialectic", "debate", "--protocol", "ox"]), ["oxford"]);
    assert_eq!(complete(&["dialectic", "fork", &id, "--at", "1.cr"]), ["1.critique"]);
    assert_eq!(complete(&["dialectic", "show", &id, "stage", "crit"]), ["critique"]);
    assert_eq!(complete(&["dialectic", "show", &id, "agent", "agent-k"]), ["agent-kiss"]);
    assert_eq!(complete(&["dialectic", "protocols", "show", "ox"]), ["oxford"]);
    assert_eq!(complete(&["dialectic", "review", "--since", "deb-"]), [id.as_str()]);
    assert!(!bash.directory().join("hacked").exists());
}

#[test]
fn the_manual_is_one_page_or_a_page_for_each_command() {
    let sandbox = Sandbox::new();
    sandbox.run(["man"]).expect_code(0).prints([".TH dialectic 1", ".SH SUBCOMMANDS"]);
    let finished = sandbox.run(["man", "--dir", "share/man1"]).expect_code(0);
    assert_eq!((&*finished.stdout, &*finished.stderr), ("", "Wrote the manual to share/man1\n"));
    for name in ["dialectic", "dialectic-debate", "dialectic-resume", "dialectic-config-check"] {
        assert!(sandbox.read(format!("share/man1/{name}.1")).contains(&format!(".TH {name} 1")));
    }
    let pages = std::fs::read_dir(sandbox.directory().join("share/man1")).unwrap();
    assert!(!pages.flatten().any(|page| page.file_name().to_string_lossy().contains("help")));
}
