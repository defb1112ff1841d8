//! What the program says about itself: help, version, protocols, completions, manual.

use dialectic::protocol::PROTOCOLS;

use crate::support::Sandbox;

#[test]
fn the_version_is_the_packages() {
    let version = format!("dialectic {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(Sandbox::new().run(["--version"]).expect_code(0).stdout, version);
    assert_eq!(Sandbox::new().run(["-V"]).expect_code(0).stdout, version);
}

#[test]
fn help_fits_a_terminal_and_goes_to_standard_output() {
    let sandbox = Sandbox::new();
    let commands =
        ["debate", "resume", "replay", "fork", "verify", "eval", "list", "report", "config", "protocols", "man"];
    for command in commands {
        for help in [vec![command, "-h"], vec![command, "--help"], vec!["help", command]] {
            let finished = sandbox.run(&help).expect_code(0);
            assert_eq!(finished.stderr, "", "{help:?}");
            assert!(finished.stdout.contains(&format!("Usage: dialectic {command}")), "{finished}");
            assert!(finished.stdout.lines().all(|line| line.chars().count() <= 100), "{finished}");
        }
    }
    let nothing = sandbox.run([] as [&str; 0]).expect_code(2);
    assert_eq!((&*nothing.stdout, nothing.stderr.contains("Usage: dialectic")), ("", true));
}

#[test]
fn the_help_of_the_program() {
    insta::assert_snapshot!(Sandbox::new().run(["-h"]).expect_code(0).stdout, @r#"
    Language-model agents debate a problem, and a judge hands back one answer

    Usage: dialectic [OPTIONS] <COMMAND>

    Commands:
      debate       Debate a problem and print the solution
      resume       Carry a paused, failed or killed debate on from its last finished call
      list         List the saved debates, newest first
      show         Print a part of a saved debate, such as its objections
      report       Write a report of a saved debate, as Markdown or as a page
      eval         Have the solutions of saved debates scored by evaluators
      replay       Show a past debate again
      fork         Branch a debate off at a point, change something, and go on from there
      verify       Check that the record of a debate is whole
      config       Write, check and show configurations
      protocols    Show the protocols that a debate can follow
      completions  Print a completion script for a shell
      man          Print the manual page
      help         Print this message or the help of the given subcommand(s)

    Options:
          --color <WHEN>  When to use colour; `auto` also honours `NO_COLOR` [default: auto] [possible
                          values: auto, always, never]
      -h, --help          Print help (see more with '--help')
      -V, --version       Print version

    Try it without a key: dialectic debate --offline "Design a rate limiting system"
    "#);
}

#[test]
fn the_help_of_debate() {
    insta::assert_snapshot!(Sandbox::new().run(["debate", "-h"]).expect_code(0).stdout, @r"
    Debate a problem and print the solution

    Usage: dialectic debate [OPTIONS] [PROBLEM]

    Arguments:
      [PROBLEM]  The problem as text; `-` reads it from standard input

    Options:
      -p, --problemDescription <PATH>  Read the problem from a UTF-8 file
      -a, --agents <ROLES>             Keep only the agents with these roles, separated by commas
      -r, --rounds <N>                 How many rounds, from 1 to 100 [default: the configuration's,
                                       else 3]
          --until <CONDITION>          When to end before the last round [default: the configuration's,
                                       else fixed] [possible values: fixed, convergence, quality,
                                       resolved]
      -c, --config <PATH>              The configuration file [default: ./debate-config.json]
          --context <DIR>              The directory that the agents' file tools may read [default: the
                                       working directory]
          --protocol <NAME>            The protocol that the debate follows; see `dialectic protocols`
          --clarify                    Let the agents ask you what is unclear before they begin
          --offline                    Call no model: all answers come from the embedded rule-based
                                       rehearsal, without key, network or cost
          --max-cost <USD>             Close the debate before it costs more than this many dollars; the
                                       judge's answer is within it
          --warn-cost <USD>            Warn once when the debate has cost this many dollars
          --seed <NUMBER>              Shuffle what the judge and voters read as every debate with this
                                       seed does
          --dry-run                    Print each call that the debate would make, its tokens and its
                                       cost; call nothing
      -o, --output <PATH>              Write the result to a file: `.json` the whole state, anything
                                       else the solution's text
          --report <PATH>              Write a report of the debate to a file when it is over: `.html` a
                                       page, else `.md`
      -e, --env-file <PATH>            The environment file with the keys [default: .env, if it is
                                       there]
      -v, --verbose                    Say who takes part and what each call took, on standard error
          --events <PATH>              Write every event as a line of JSON to a file, or to standard
                                       output (`-`; nothing else goes there then)
          --strict                     Exit with 5 unless everything that was to be done was done
          --watch <HOW>                How much of the debate to show: a line for each call, whole
                                       texts, or nothing [default: compact] [possible values: compact,
                                       full, quiet]
          --quiet                      Show no progress: the same as `--watch quiet`
          --no-pager                   Print the solution as it is, however long it is
          --color <WHEN>               When to use colour; `auto` also honours `NO_COLOR` [default:
                                       auto] [possible values: auto, always, never]
      -h, --help                       Print help (see more with '--help')
      -V, --version                    Print version
    ");
}

#[test]
fn protocols_are_listed_and_shown_as_tables_and_diagrams() {
    let sandbox = Sandbox::new();
    let listed = sandbox.run(["protocols"]).expect_code(0).stdout;
    for protocol in PROTOCOLS {
        assert!(listed.lines().any(|line| line.split(' ').next() == Some(protocol.name)), "{listed}");
        let shown = sandbox.run(["protocols", "show", protocol.name]).expect_code(0).stdout;
        assert!(shown.contains(&protocol.diagram()) && shown.contains(&protocol.columns()), "{shown}");
    }
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
    error: the protocol `dialogue` is unknown; known: dialectic, oxford, lincoln-douglas, roundtable, review
    ");
    sandbox.run(["protocols", "show", "dialogue"]).expect_code(2);
    sandbox.run(["protocols", "show"]).expect_code(2);
    sandbox.run(["protocols", "--mermaid"]).expect_code(2);
}

#[test]
fn completions_know_every_command() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.run(["completions", shell]).expect_code(0);
        assert_eq!(script.stderr, "", "{shell}");
        for word in ["debate", "resume", "problemDescription", "protocols"] {
            assert!(script.stdout.contains(word), "{shell}: {word}");
        }
    }
    sandbox.run(["completions", "tcsh"]).expect_code(2);
}

#[test]
fn a_completion_script_is_one_that_its_shell_can_read() {
    let script = Sandbox::new().run(["completions", "bash"]).expect_code(0).stdout;
    let bash = Sandbox::new().program("/bin/bash").file("script", script);
    bash.run(["-n", "script"]).expect_code(0);
}

#[test]
fn the_manual_is_one_page_or_a_page_for_each_command() {
    let sandbox = Sandbox::new();
    let page = sandbox.run(["man"]).expect_code(0).stdout;
    assert!(page.contains(".TH dialectic 1") && page.contains(".SH SUBCOMMANDS"), "{page}");
    let finished = sandbox.run(["man", "--dir", "share/man1"]).expect_code(0);
    assert_eq!((&*finished.stdout, &*finished.stderr), ("", "Wrote the manual to share/man1\n"));
    for name in ["dialectic", "dialectic-debate", "dialectic-resume", "dialectic-config-check"] {
        assert!(sandbox.read(format!("share/man1/{name}.1")).contains(&format!(".TH {name} 1")));
    }
}

#[test]
fn a_dry_run_says_what_makes_a_call_uncertain_and_how_many_rounds_that_means() {
    let sandbox = Sandbox::new();
    let dry = |protocol: &str| {
        let args = ["debate", "Design a queue", "--offline", "--dry-run", "--protocol", protocol];
        sandbox.run(args).expect_code(0).stdout
    };
    let review = dry("review");
    assert!(review.contains("(a call with a question mark is made only when the reviews ask for it)"), "{review}");
    assert!(review.contains("1 to 3 rounds are run, as the reviews decide, and no call is repeated"), "{review}");
    for protocol in ["dialectic", "oxford", "roundtable"] {
        let dry = dry(protocol);
        assert!(dry.contains("every round is run, and no call is repeated") && !dry.contains("question mark"), "{dry}");
    }
}
