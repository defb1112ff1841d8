//! Other programs move, remove and overwrite the files of a debate that runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde_json::Value;

use crate::resume::{everything, recorded_calls, reply, undisturbed};
use crate::storage::{assert_goes_on, assert_refused};
use crate::support::{Finished, MockServer, Purpose, Sandbox};

/// A debate in whose files something is done when the judge is asked for its first score: nothing else is in flight
/// then, so that the program waits until it is done.
struct Disturbed {
    server: MockServer,
    sandbox: Sandbox,
    finished: Finished,
    id: String,
    /// The calls until then.
    calls: usize,
}

/// `deed` is given the debates directory and the id of the debate.
fn disturbed(deed: impl FnOnce(&Path, &str) + Send + 'static) -> Disturbed {
    let server = MockServer::with(reply);
    let sandbox = everything(&server);
    let directory = sandbox.directory().join("debates");
    let deed = Mutex::new(Some((deed, directory)));
    let (told, deeds) = std::sync::mpsc::channel();
    server.set_script(move |request| {
        if request.purpose == Purpose::Confidence
            && let Some((deed, directory)) = deed.lock().unwrap().take()
        {
            let id = only_journal(&directory);
            // First, so that a deed that panics does not leave the test waiting.
            told.send((id.clone(), request.index + 1)).unwrap();
            deed(&directory, &id);
        }
        reply(request)
    });
    let finished = sandbox.run(["debate", "Design a queue", "--quiet"]);
    let (id, calls) = deeds.recv().unwrap();
    Disturbed { server, sandbox, finished, id, calls }
}

fn only_journal(directory: &Path) -> String {
    let mut names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.find_map(|name| name.strip_suffix(".events.jsonl").map(str::to_owned)).expect("there is a journal")
}

fn journal(directory: &Path, id: &str) -> PathBuf {
    directory.join(format!("{id}.events.jsonl"))
}

impl Disturbed {
    fn assert_refused(&self, says: &[&str]) {
        let error = format!("error: cannot save the debate {}\n", self.id);
        assert_refused(&self.finished, &[says, &[&error]].concat());
        // It did not go on to pay for what it could not keep.
        assert_eq!(self.server.requests().len(), self.calls, "{}", self.finished);
    }

    fn assert_goes_on(&self, (expected, calls): &(Value, usize)) {
        assert_goes_on(&self.server, &self.sandbox, &self.id, expected, *calls);
    }
}

const DISPLACED: &str = "was moved, removed or replaced while the debate was running\n";

#[test]
fn a_journal_or_directory_that_is_removed_is_put_back() {
    let undisturbed = undisturbed();
    let deeds: [fn(&Path, &str); 2] = [
        |directory, id| fs::remove_file(journal(directory, id)).unwrap(),
        |directory, _| {
            // A save that is under way may put a file into it meanwhile.
            while directory.exists() {
                drop(fs::remove_dir_all(directory));
            }
        },
    ];
    for deed in deeds {
        let disturbed = disturbed(deed);
        disturbed.assert_refused(&[DISPLACED, "hint: all texts are saved; fix the cause, then"]);
        // The answer that came while there was no file to keep it in is there, too.
        assert_eq!(recorded_calls(&disturbed.sandbox), disturbed.calls);
        disturbed.assert_goes_on(&undisturbed);
    }
}

#[test]
fn a_directory_that_is_moved_has_everything_where_it_is() {
    let disturbed = disturbed(|directory, _| fs::rename(directory, directory.with_extension("old")).unwrap());
    disturbed.assert_refused(&[DISPLACED, "hint: restore the debate's files"]);
    let directory = disturbed.sandbox.directory().join("debates");
    assert!(!directory.exists(), "what is there would be in the way");
    fs::rename(directory.with_extension("old"), &directory).unwrap();
    disturbed.assert_goes_on(&undisturbed());
}

#[test]
fn what_replaced_the_journal_is_left_alone() {
    let disturbed = disturbed(|directory, id| {
        fs::rename(journal(directory, id), directory.join("kept")).unwrap();
        fs::write(journal(directory, id), "somebody's notes").unwrap();
    });
    disturbed.assert_refused(&[DISPLACED]);
    let directory = disturbed.sandbox.directory().join("debates");
    assert_eq!(fs::read_to_string(journal(&directory, &disturbed.id)).unwrap(), "somebody's notes");
    let report = disturbed.sandbox.run(["report", "-d", &disturbed.id]).expect_code(0);
    assert!(report.stderr.starts_with("warning: ") && report.stdout.contains("Agent *agent-"), "{report}");
    disturbed.sandbox.run(["resume", &disturbed.id]).expect_code(2);
    fs::rename(directory.join("kept"), journal(&directory, &disturbed.id)).unwrap();
    disturbed.assert_goes_on(&undisturbed());
}

#[test]
fn a_journal_that_somebody_else_writes_to_is_not_written_behind() {
    let deeds: [fn(&Path, &str); 2] = [
        |directory, id| fs::write(journal(directory, id), "").unwrap(),
        |directory, id| {
            let path = journal(directory, id);
            fs::write(&path, fs::read_to_string(&path).unwrap() + "one line more\n").unwrap();
        },
    ];
    for deed in deeds {
        let disturbed = disturbed(deed);
        disturbed.assert_refused(&["was changed by another program while the debate was running\n"]);
        // What was in memory is in the state file, and nothing goes on from a record that is damaged.
        let (sandbox, id) = (&disturbed.sandbox, &disturbed.id);
        assert_eq!(sandbox.state(id)["rounds"][0]["contributions"].as_array().unwrap().len(), 12);
        sandbox.run(["report", "-d", id]).expect_code(0);
        sandbox.run(["verify", id]).expect_code(2);
        sandbox.run(["resume", id]).expect_code(2);
        assert_eq!(disturbed.server.requests().len(), disturbed.calls);
    }
}

#[test]
fn a_state_file_that_cannot_be_replaced_any_more_stops_the_debate() {
    let disturbed = disturbed(|directory, id| {
        let path = directory.join(format!("{id}.json"));
        // A save that is under way may put the file back meanwhile.
        while fs::create_dir_all(path.join("of-somebody")).is_err() {
            drop(fs::remove_file(&path));
        }
        // A state is saved once a second at most: the next save is due when the judge has answered.
        std::thread::sleep(std::time::Duration::from_secs(1));
    });
    let (sandbox, id) = (&disturbed.sandbox, &disturbed.id);
    assert_refused(&disturbed.finished, &[&format!("cannot write ./debates/{id}.json"), "Is a directory"]);
    let path = sandbox.directory().join(format!("debates/{id}.json"));
    assert!(path.join("of-somebody").is_dir());
    fs::remove_dir_all(path).unwrap();
    disturbed.assert_goes_on(&undisturbed());
}
