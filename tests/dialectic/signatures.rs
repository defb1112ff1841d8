//! `dialectic sign` and what `verify` says of signatures; keys are made here, and plain `ssh-keygen` is asked, too.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::{Value, json};

use crate::support::{MockServer, Purpose, Reply, Sandbox, config, short_reply};

const NAMESPACE: &str = "dialectic-record@v1";

/// A finished debate and its id, in a place with a key of its own in `~/.ssh`, a second one, and a file of signers that
/// names the first.
fn finished() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "Design a queue", "--offline", "--quiet", "--protocol", "council"]).expect_code(0);
    let id = sandbox.only_debate();
    for key in [".ssh/id_ed25519", "other"] {
        make_key(&sandbox, key, "");
    }
    let public = sandbox.read(".ssh/id_ed25519.pub");
    (sandbox.file("signers", format!("alice@example.org {public}")), id)
}

fn make_key(sandbox: &Sandbox, path: &str, passphrase: &str) {
    let path = sandbox.directory().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-C", "test", "-N", passphrase, "-f"])
        .arg(path)
        .status();
    assert!(made.expect("ssh-keygen is installed").success());
}

fn signed() -> (Sandbox, String) {
    let (sandbox, id) = finished();
    sandbox.run(["sign", &id]).expect_code(0);
    (sandbox, id)
}

fn path(id: &str, ending: &str) -> String {
    format!("debates/{id}.{ending}")
}

/// Plain `ssh-keygen -Y`, as the documentation has it.
fn keygen(sandbox: &Sandbox, arguments: &[&str], input: &str) -> bool {
    let input = fs::File::open(sandbox.directory().join(input)).unwrap();
    let mut command = Command::new("ssh-keygen");
    command.arg("-Y").args(arguments).current_dir(sandbox.directory()).stdin(input);
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
}

/// What `verify --json` says, and how it ends.
fn verified(sandbox: &Sandbox, arguments: &[&str], code: i32) -> Value {
    let finished = sandbox.run([&["verify", "--json"], arguments].concat()).expect_code(code);
    serde_json::from_str(&finished.stdout).unwrap()
}

/// The three words.
fn words(json: &Value) -> [bool; 3] {
    ["whole", "signed", "trusted"].map(|word| json[word].as_bool().unwrap())
}

#[test]
fn a_signature_is_made_and_plain_ssh_keygen_accepts_it() {
    let (sandbox, id) = finished();
    let journal = sandbox.journal(&id);
    let said = sandbox.run(["sign", "latest"]).expect_code(0);
    assert!(
        said.stdout.is_empty() && said.stderr.starts_with(&format!("Signed {} events of {id} with ", journal.len())),
        "{said}"
    );
    let statement: Value = serde_json::from_str(&sandbox.read(path(&id, "signed.json"))).unwrap();
    let mark = sandbox.state(&id)["journal"]["sha256"].clone();
    assert_eq!(statement, json!({"id": id, "head": mark, "lines": journal.len()}));
    let signature = path(&id, "signed.json.sig");
    let verify = ["verify", "-f", "signers", "-I", "alice@example.org", "-n", NAMESPACE, "-s", &signature];
    assert!(keygen(&sandbox, &verify, &path(&id, "signed.json")));

    let text = |arguments: &[&str]| sandbox.run([&["verify", &id], arguments].concat()).expect_code(0).stdout;
    assert!(text(&[]).starts_with(&format!("{id}: the record is intact and signed\n")), "{}", text(&[]));
    let trusted = text(&["--signers", "signers"]);
    assert!(trusted.starts_with(&format!("{id}: the record is intact, signed and trusted\n")), "{trusted}");
    assert!(trusted.contains(" events by alice@example.org with ssh-ed25519 SHA256:"), "{trusted}");
    assert_eq!(words(&verified(&sandbox, &[&id], 0)), [true, true, false]);
    let json = verified(&sandbox, &[&id, "--signers", "signers"], 0);
    assert_eq!(words(&json), [true, true, true]);
    assert_eq!(json["signature"]["signers"], json!(["alice@example.org"]));
    // Signers from a pipe, which can be read once.
    let mut shell = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_dialectic");
    shell
        .args(["-c", &format!("cat signers | {program} verify {id} --signers /dev/stdin")])
        .current_dir(sandbox.directory());
    assert!(shell.output().unwrap().status.success());
}

#[test]
fn what_comes_later_is_unsigned_and_not_broken() {
    let (sandbox, id) = signed();
    let lines = sandbox.journal(&id).len();
    sandbox.run(["rate", &id, "+1", "Still holds"]).expect_code(0);
    sandbox.run(["tag", &id, "adr-7"]).expect_code(0);
    let json = verified(&sandbox, &[&id, "--signers", "signers"], 0);
    assert_eq!(words(&json), [true, true, true]);
    assert_eq!((&json["signature"]["signedEvents"], &json["signature"]["unsignedEvents"]), (&json!(lines), &json!(2)));
    let text = sandbox.run(["verify", &id]).expect_code(0).stdout;
    assert!(text.contains(&format!("signed   the first {lines} events with ")), "{text}");
    assert!(text.contains("2 events came later: not signed"), "{text}");
    // Signing again covers them.
    sandbox.run(["sign", &id]).expect_code(0);
    assert_eq!(verified(&sandbox, &[&id], 0)["signature"]["unsignedEvents"], 0);
}

/// A question is a note on the debate, and its calls are no part of the course; a debate that goes on may end otherwise.
#[test]
fn a_question_leaves_a_signature_and_a_debate_that_goes_on_does_not() {
    let (sandbox, id) = signed();
    sandbox.run(["ask", &id, "Why so?", "--max-cost", "5"]).expect_code(0);
    assert_eq!(words(&verified(&sandbox, &[&id, "--signers", "signers"], 0)), [true, true, true]);
    let failing = Arc::new(AtomicBool::new(true));
    let fails = Arc::clone(&failing);
    let server = MockServer::with(move |request| match request.purpose {
        Purpose::Synthesize if fails.load(Relaxed) => Reply::error(400, "no"),
        _ => short_reply(request),
    });
    let (sandbox, _) = finished();
    let sandbox = sandbox.model_server(&server).file("c.json", config(&["architect", "kiss"], &json!({})).to_string());
    let failed = sandbox.run(["debate", "Design a cache", "-c", "c.json", "--quiet"]);
    assert_ne!(failed.code, Some(0), "{failed}");
    sandbox.run(["sign", "latest"]).expect_code(0);
    assert_eq!(words(&verified(&sandbox, &["latest", "--signers", "signers"], 0)), [true, true, true]);
    failing.store(false, Relaxed);
    sandbox.run(["resume", "latest", "-c", "c.json", "--quiet"]).expect_code(0);
    let json = verified(&sandbox, &["latest", "--signers", "signers"], 2);
    assert_eq!(words(&json), [true, false, false]);
    assert_eq!(json["signature"]["refusal"], "continued");
}

#[test]
fn each_forgery_is_refused_in_its_own_words() {
    let (sandbox, id) = signed();
    let journal = sandbox.read(path(&id, "events.jsonl"));
    let state = sandbox.read(path(&id, "json"));
    let [statement, signature] = ["signed.json", "signed.json.sig"].map(|ending| sandbox.read(path(&id, ending)));
    let restore = || {
        for (ending, text) in
            [("events.jsonl", &journal), ("json", &state), ("signed.json", &statement), ("signed.json.sig", &signature)]
        {
            sandbox.write(path(&id, ending), text);
        }
    };
    let refused = |arguments: &[&str]| {
        let json = verified(&sandbox, &[&[id.as_str()], arguments].concat(), 2);
        let text = sandbox.run([&["verify", &id], arguments].concat()).expect_code(2);
        let reason = text.stdout.lines().find_map(|line| line.strip_prefix("  - the signature: ")).unwrap_or_default();
        let error = text.stderr.lines().next().unwrap_or_default();
        let refusal = json["signature"]["refusal"].as_str().unwrap_or_default().to_owned();
        restore();
        (words(&json), refusal, reason.replace(&id, "[id]"), error.replace(&id, "[id]"))
    };

    // A flipped byte: in the journal, in what was signed, and in the signature.
    sandbox.write(path(&id, "events.jsonl"), journal.replacen("Design a queue", "Design a quevr", 1));
    let (said, refusal, _, error) = refused(&[]);
    assert_eq!((said, refusal.as_str()), ([false, false, false], "damaged"));
    assert_eq!(error, "error: the record of [id] is damaged");
    sandbox.write(path(&id, "signed.json"), statement.replacen("\"head\":\"", "\"head\":\"0", 1));
    let changed = refused(&[]);
    assert_eq!((changed.0, changed.1.as_str()), ([true, false, false], "altered"));
    assert_eq!(changed.2, "it does not match ./debates/[id].signed.json: one of the two was changed");
    // In the text of the file: its frame, the length of a field in its middle, and the last quarter, which is the signature.
    for (place, refusal) in [(3, "unreadable"), (signature.len() / 2, "altered"), (signature.len() * 3 / 4, "altered")]
    {
        let mut bytes = signature.clone().into_bytes();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        sandbox.write(path(&id, "signed.json.sig"), bytes);
        assert_eq!(refused(&[]).1, refusal, "byte {place}");
    }

    // A shortened journal, which is whole by itself once the state file is gone.
    let lines: Vec<&str> = journal.lines().collect();
    let shorter = lines[..lines.len() - 2].join("\n") + "\n";
    sandbox.write(path(&id, "events.jsonl"), &shorter);
    sandbox.remove(path(&id, "json"));
    let shortened = refused(&["--signers", "signers"]);
    assert_eq!((shortened.0, shortened.1.as_str()), ([true, false, false], "shortened"));
    let (all, left) = (lines.len(), lines.len() - 2);
    assert_eq!(shortened.2, format!("the journal was shortened: {all} events were signed, but it has {left}"));
    assert_eq!(shortened.3, "error: the signature of [id] is not valid");

    // Another end of the same length, whose hashes fit.
    sandbox.write(path(&id, "events.jsonl"), &shorter);
    sandbox.remove(path(&id, "json"));
    sandbox.run(["tag", &id, "a"]).expect_code(0);
    sandbox.run(["tag", &id, "b"]).expect_code(0);
    assert_eq!(refused(&[]).1, "other-journal");

    // Another namespace, with the right key.
    sandbox.remove(path(&id, "signed.json.sig"));
    assert!(keygen(&sandbox, &["sign", "-f", ".ssh/id_ed25519", "-n", "file", &path(&id, "signed.json")], "signers"));
    let foreign = refused(&["--signers", "signers"]);
    assert_eq!((foreign.0, foreign.1.as_str()), ([true, false, false], "other-namespace"));
    assert_eq!(foreign.2, format!("it was made for `file`, not for `{NAMESPACE}`"));

    // An unknown signer.
    sandbox.run(["sign", &id, "--key", "other"]).expect_code(0);
    let unknown = refused(&["--signers", "signers"]);
    assert_eq!((unknown.0, unknown.1.as_str()), ([true, true, false], "unknown-signer"));
    assert_eq!(unknown.2, "none of your signers made it");
    assert_eq!(unknown.3, "error: the record of [id] is signed, but by none of the signers in signers");
    // One who may sign other things only.
    let public = sandbox.read(".ssh/id_ed25519.pub");
    sandbox.write("files", format!("alice@example.org namespaces=\"file\" {public}"));
    let limited = refused(&["--signers", "files"]);
    assert_eq!(limited.1, "unknown-signer");
    assert!(limited.2.starts_with("none of your signers made it (ssh-keygen: "), "{}", limited.2);

    // One of the two files alone; a file that never ends in its place; and none where one is required.
    sandbox.remove(path(&id, "signed.json"));
    assert_eq!(refused(&[]).1, "missing");
    sandbox.write(path(&id, "signed.json.sig"), "x".repeat(100_000));
    assert_eq!(refused(&[]).1, "unreadable");
    for ending in ["signed.json", "signed.json.sig"] {
        sandbox.remove(path(&id, ending));
    }
    let (said, _, _, error) = refused(&["--signers", "signers"]);
    assert_eq!((said, error.as_str()), ([true, false, false], "error: the record of [id] is not signed"));
}

#[test]
fn the_signature_of_another_debate_is_refused() {
    let (sandbox, id) = signed();
    sandbox.run(["debate", "Design a stack", "--offline", "--quiet", "--protocol", "council"]).expect_code(0);
    let other = sandbox.debates().into_iter().find(|other| *other != id).unwrap();
    for ending in ["signed.json", "signed.json.sig"] {
        sandbox.write(path(&other, ending), sandbox.read(path(&id, ending)));
    }
    let json = verified(&sandbox, &[&other, "--signers", "signers"], 2);
    assert_eq!(json["signature"]["refusal"], "other-debate");
}

#[test]
fn only_what_is_whole_and_at_rest_is_signed() {
    let server = MockServer::with(|_| Reply::hang());
    let sandbox = Sandbox::new().model_server(&server).config(&config(&["architect", "kiss"], &json!({})));
    make_key(&sandbox, "key", "");
    let running = sandbox.spawn(["debate", "Design a queue"]);
    server.wait_for_requests(2);
    let refused = sandbox.run(["sign", "latest", "--key", "key"]).expect_code(75);
    assert!(refused.stderr.contains("is running in another process"), "{refused}");
    running.kill();
    // What was said so far can be signed, without the line that a crash cut short; `resume` then goes on from there.
    let id = sandbox.only_debate();
    let journal = sandbox.read(path(&id, "events.jsonl"));
    let lines = journal.lines().count();
    sandbox.write(path(&id, "events.jsonl"), format!("{journal}{{\"seq\":9,\"at"));
    let said = sandbox.run(["sign", &id, "--key", "key"]).expect_code(0);
    assert!(said.stderr.contains("incomplete") && said.stderr.contains(&format!("Signed {lines} events")), "{said}");
    server.set_script(short_reply);
    sandbox.run(["resume", &id, "--quiet"]).expect_code(0);
    // What came then is not what was signed: anybody could have written it.
    assert_eq!(verified(&sandbox, &[&id], 2)["signature"]["refusal"], "continued");
    // A record that is not whole.
    let [statement, signature] = ["signed.json", "signed.json.sig"].map(|ending| sandbox.read(path(&id, ending)));
    let journal = sandbox.read(path(&id, "events.jsonl"));
    sandbox.write(path(&id, "events.jsonl"), journal.replacen("Design a queue", "Design a stack", 1));
    let refused = sandbox.run(["sign", &id, "--key", "key"]).expect_code(2);
    assert!(refused.stderr.contains("is damaged, so it was not signed"), "{refused}");
    assert_eq!(sandbox.read(path(&id, "signed.json")), statement);
    assert_eq!(sandbox.read(path(&id, "signed.json.sig")), signature);
    // One of an older version, which kept no journal.
    let (_, state) = &crate::fixtures::states()[0];
    sandbox.write("old.json", state);
    assert!(sandbox.run(["sign", "old.json", "--key", "key"]).expect_code(2).stderr.contains("has no journal"));
}

#[test]
fn without_a_key_or_the_program_it_says_what_to_do() {
    let (sandbox, id) = finished();
    let no_key = Sandbox::new();
    for ending in ["json", "events.jsonl"] {
        no_key.write(path(&id, ending), sandbox.read(path(&id, ending)));
    }
    let refused = no_key.run(["sign", &id]).expect_code(2);
    assert!(refused.stderr.contains("hint: name one with --key, or make one: ssh-keygen -t ed25519"), "{refused}");
    let refused = no_key.run(["sign", &id, "--key", "none"]).expect_code(2);
    assert!(refused.stderr.contains("cannot read the key none"), "{refused}");
    let refused = no_key.file("text", "no key\n").run(["sign", &id, "--key", "text"]).expect_code(1);
    assert!(refused.stderr.contains("error: ssh-keygen did not sign with text"), "{refused}");

    // A passphrase that nobody is there to type, and one that a program tells.
    make_key(&sandbox, "locked", "secret");
    let refused = sandbox.run(["sign", &id, "--key", "locked"]).expect_code(1);
    assert!(refused.stderr.contains("ssh-keygen did not sign with locked"), "{refused}");
    assert!(!sandbox.directory().join(path(&id, "signed.json")).exists());
    sandbox.write("askpass", "#!/bin/sh\necho secret\n");
    let askpass = sandbox.directory().join("askpass");
    set_executable(&askpass);
    let sandbox = sandbox.env("SSH_ASKPASS", askpass.to_str().unwrap()).env("SSH_ASKPASS_REQUIRE", "force");
    sandbox.run(["sign", &id, "--key", "locked"]).expect_code(0);

    // Without the program a record is still whole, and no more is said; who requires a signature is told.
    let sandbox = sandbox.env("PATH", "/nowhere");
    let refused = sandbox.run(["sign", &id]).expect_code(1);
    assert!(refused.stderr.contains("there is no program `ssh-keygen` on PATH\nhint: install OpenSSH"), "{refused}");
    let json = verified(&sandbox, &[&id], 0);
    assert_eq!((words(&json), &json["signature"]["refusal"]), ([true, false, false], &json!("unchecked")));
    let refused = sandbox.run(["verify", &id, "--signers", "signers"]).expect_code(1);
    assert!(refused.stderr.contains("there is no program `ssh-keygen` on PATH"), "{refused}");
    // One in the working directory is not taken for it.
    sandbox.write("ssh-keygen", "#!/bin/sh\nexit 0\n");
    set_executable(&sandbox.directory().join("ssh-keygen"));
    let here = sandbox.directory().to_str().unwrap().to_owned();
    let sandbox = sandbox.env("PATH", &format!(".:{here}"));
    sandbox.run(["sign", &id]).expect_code(1);
    let refused = sandbox.run(["verify", &id, "--signers", "none"]).expect_code(2);
    assert!(refused.stderr.contains("cannot read the signers none"), "{refused}");
}

/// A program that crashes, is too old, or is something else says nothing of a signature: neither that it holds nor that
/// it was changed.
#[test]
fn an_unknown_answer_of_ssh_keygen_is_no_verdict() {
    let (sandbox, id) = signed();
    let programs = tempfile::tempdir().unwrap();
    let program = programs.path().join("ssh-keygen");
    let old_path = std::env::var("PATH").unwrap();
    let sandbox = sandbox.env("PATH", &format!("{}:{old_path}", programs.path().display()));
    let real = std::env::split_paths(&old_path).map(|place| place.join("ssh-keygen")).find(|path| path.is_file());
    let real = real.expect("ssh-keygen is installed").display().to_string();
    let but = |subcommand: &str, instead: &str| {
        format!("for one; do [ \"$one\" = {subcommand} ] && {{ {instead}; }}; done\nexec {real} \"$@\"")
    };
    let cases = [
        ("kill -9 $$".to_owned(), "it said nothing (signal: 9 (SIGKILL))"),
        ("exit 0".to_owned(), "it said nothing (exit status: 0)"),
        ("echo Fine.".to_owned(), "Fine."),
        ("echo 'Good \"file\" signature with ED25519 key x'".to_owned(), "Good \"file\" signature with ED25519 key x"),
        ("echo 'unknown option -- Y' >&2; exit 1".to_owned(), "unknown option -- Y"),
        (but("find-principals", "echo 'Unsupported operation' >&2; exit 1"), "Unsupported operation"),
        (but("verify", "echo '\u{1b}[31mcrashed' >&2; exit 139"), "[31mcrashed"),
    ];
    for (script, said) in cases {
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        set_executable(&program);
        let json = verified(&sandbox, &[&id, "--signers", "signers"], 1);
        let [whole, _, trusted] = words(&json);
        assert!(whole && !trusted, "{json:#}");
        assert_eq!(json["signature"]["refusal"], "unclear", "{script}: {json:#}");
        let reason = json["signature"]["reason"].as_str().unwrap();
        assert!(reason.starts_with("it was not checked: ssh-keygen says: ") && reason.ends_with(said), "{reason}");
    }
    fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
    let refused = sandbox.run(["verify", &id]).expect_code(1);
    assert!(refused.stderr.contains(&format!("the signature of {id} was not checked\nhint: ")), "{refused}");
}

fn set_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_files_of_a_signature_are_no_debates_and_go_with_theirs() {
    let (sandbox, id) = signed();
    let listed: Value = serde_json::from_str(&sandbox.run(["list", "--json"]).expect_code(0).stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed:#}");
    for ending in ["signed.json", "signed.json.sig"] {
        let file = path(&id, ending);
        assert_eq!(verified(&sandbox, &[&file], 0)["id"], id.as_str());
        sandbox.run(["report", &id, "-o", &file, "--format", "markdown"]).expect_code(2);
    }
    // A fork has a journal of its own, and no signature.
    sandbox.run(["fork", &id, "--at", "start", "--offline", "--quiet"]).expect_code(0);
    assert_eq!(verified(&sandbox, &["latest"], 0)["signed"], false);
    let of_debate =
        || sandbox.files().iter().filter(|(path, _)| path.to_string_lossy().contains(&format!("{id}."))).count();
    assert_eq!(of_debate(), 4);
    sandbox.run(["rm", "--yes", &id]).expect_code(0);
    assert_eq!(of_debate(), 0);
    sandbox.run(["rm", "--yes", "./debates/*.json"]).expect_code(0);
    assert!(sandbox.debates().is_empty());
}

#[test]
fn a_hostile_name_steers_no_terminal() {
    let (sandbox, id) = signed();
    let public = sandbox.read(".ssh/id_ed25519.pub");
    sandbox.write("hostile", format!("\u{1b}[31m-I@x,\u{202e}b {public}"));
    let finished = sandbox.run(["verify", &id, "--signers", "hostile"]).expect_code(0);
    assert!(!finished.stdout.contains('\u{1b}') && !finished.stdout.contains('\u{202e}'), "{finished}");
    sandbox.write("hostile", [0_u8, 255, 10, 0].repeat(1000));
    assert_eq!(verified(&sandbox, &[&id, "--signers", "hostile"], 2)["signature"]["refusal"], "unknown-signer");
    // An id that leads elsewhere names no file.
    let state = sandbox.state(&id);
    sandbox.write(
        "debates/x.json",
        json!({"id": "../../up", "problem": "p", "status": "completed", "rounds": state["rounds"]}).to_string(),
    );
    sandbox.run(["tag", "x", "a"]).expect_code(0);
    sandbox.run(["sign", "x"]).expect_code(0);
    assert_eq!(words(&verified(&sandbox, &["x", "--signers", "signers"], 0)), [true, true, true]);
    assert!(sandbox.directory().join("debates/x.signed.json.sig").exists());
}
