//! Journals that are written, read, cut off and tampered with.

use super::*;
use crate::event::Event;
use crate::ids::{StageId, Timestamp};

fn event(seq: u64) -> Recorded {
    Recorded { seq, at: Timestamp::now(), event: Event::StageEntered { stage: StageId::new("proposal") } }
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.events.jsonl");
    (directory, path)
}

fn journal_of(count: u64, path: &Path) -> Vec<Recorded> {
    let mut journal = Journal::create(path).unwrap();
    let events: Vec<_> = (1..=count).map(event).collect();
    for event in &events {
        journal.append(event).unwrap();
    }
    events
}

#[test]
fn a_reader_follows_a_journal_that_grows_and_waits_for_whole_lines() {
    let (directory, path) = place();
    let mut events = journal_of(2, &path);
    let mut reader = JournalReader::open(&path).unwrap();
    let mut read = || reader.next_event().unwrap();
    assert_eq!([read(), read(), read()], [Some(events[0].clone()), Some(events[1].clone()), None]);
    let (mut journal, _) = Journal::reopen(&path, 0).unwrap();
    events.push(event(3));
    journal.append(&events[2]).unwrap();
    assert_eq!([read(), read()], [Some(events[2].clone()), None]);
    let line = serde_json::to_string(&event(4)).unwrap() + "\n";
    let (beginning, rest) = line.split_at(20);
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(beginning.as_bytes()).unwrap();
    assert_eq!(read(), None);
    // The open file stays readable, even if it is moved.
    std::fs::rename(&path, directory.path().join("b")).unwrap();
    file.write_all(rest.as_bytes()).unwrap();
    assert_eq!(read().map(|event| event.seq), Some(4));
}

#[test]
fn a_cut_last_line_is_dropped_and_writing_goes_on_behind_the_last_whole_one() {
    let (_keep, path) = place();
    let mut events = journal_of(2, &path);
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"seq\":3,\"at").unwrap();
    let (mut journal, contents) = Journal::reopen(&path, 0).unwrap();
    assert!(contents.cut_short);
    assert_eq!(contents.events, events);
    events.push(event(3));
    journal.append(&events[2]).unwrap();
    drop(journal);
    assert_eq!(read_journal(&path).unwrap().events, events);
}

#[test]
fn a_second_process_is_told_that_the_debate_runs() {
    let (_keep, path) = place();
    let _running = Journal::create(&path).unwrap();
    assert!(matches!(Journal::reopen(&path, 0), Err(JournalError::Locked { .. })));
}

fn faults(path: &Path, text: &[u8]) -> Option<String> {
    // Some file systems write a file to the disk at once when it was emptied before: here it is overwritten.
    let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path).unwrap();
    file.write_all(text).unwrap();
    file.set_len(text.len() as u64).unwrap();
    read_journal(path).err().map(|error| error.to_string().replace(&path.display().to_string(), "a"))
}

fn journal_text(count: u64) -> String {
    let (_keep, path) = place();
    journal_of(count, &path);
    std::fs::read_to_string(&path).unwrap()
}

#[test]
fn every_flip_of_every_byte_is_found() {
    let (_keep, path) = place();
    let whole = journal_text(3).into_bytes();
    assert_eq!(faults(&path, &whole), None);
    for byte in 0..whole.len() {
        for pattern in (0..8).map(|bit| 1 << bit).chain([0x2a, 0x0a, 0x03, 0x07, 0xff]) {
            let mut flipped = whole.clone();
            flipped[byte] ^= pattern;
            assert!(faults(&path, &flipped).is_some(), "byte {byte} ^ {pattern:#x}");
        }
    }
}

#[test]
fn what_was_done_to_a_journal_is_named() {
    let (_keep, path) = place();
    let text = journal_text(3);
    let lines: Vec<&str> = text.lines().collect();
    let joined = |lines: &[&str]| lines.join("\n") + "\n";
    let named = |text: &str| faults(&path, text.as_bytes()).unwrap();
    let changed = text.replacen("\"seq\":3", "\"seq\":4", 1);
    let unsealed = text.replacen("\"hash\"", "\"hush\"", 1);
    let unlinked = format!("{}\n{{\"seq\":2}}\n", lines[0]);
    let found = [
        named(&changed),
        named(&unsealed),
        named(&unlinked),
        named(&joined(&[lines[0], lines[2]])),
        named(&joined(&[lines[1], lines[2]])),
        named(&joined(&[lines[0], lines[2], lines[1]])),
        named(&joined(&[lines[0], lines[1], lines[1], lines[2]])),
        named(&text.replacen('\n', " ", 1)),
        named(&(text.trim_end().to_owned() + " ")),
        named(&(text.clone() + "\n")),
    ];
    insta::assert_snapshot!(found.join("\n"), @"
    line 3 of the journal a was changed: its hash does not match
    line 1 of the journal a was changed: its hash is in the wrong place
    line 2 of the journal a is not an event
    line 2 of the journal a does not follow line 1: lines were changed, removed, added or moved
    line 1 of the journal a does not follow the beginning: lines were changed, removed, added or moved
    line 2 of the journal a does not follow line 1: lines were changed, removed, added or moved
    line 3 of the journal a does not follow line 2: lines were changed, removed, added or moved
    line 1 of the journal a was changed: its hash does not match
    the end of the journal a was changed: the text after line 2 is not a journal line
    line 4 of the journal a is not an event
    ");
}

#[test]
fn a_line_may_be_cut_anywhere() {
    let (_keep, path) = place();
    let whole = journal_text(2);
    let first = whole.find('\n').unwrap() + 1;
    for length in first + 1..whole.len() {
        assert_eq!(faults(&path, &whole.as_bytes()[..length]), None, "{length}");
    }
    // Some file systems leave zeros in place of an unfinished line.
    assert_eq!(faults(&path, format!("{}\0\0\0", &whole[..first + 20]).as_bytes()), None);
    assert_eq!(faults(&path, format!("{}\0\0\0", &whole[..first]).as_bytes()), None);
}

#[test]
fn the_numbers_of_a_line_may_be_cut_too() {
    for rest in ["{\"score\":71.", "{\"score\":-", "{\"score\":1e", "{\"score\":1e-", "{\"a\":\"\\u00", "{\"a\":tr"] {
        assert!(is_cut(rest.as_bytes()), "{rest}");
    }
    assert!(is_cut(&"{\"a\":\"é".as_bytes()[..7]));
    for rest in ["{} ", "{}\0", "{}x", "x", " ", "{x"] {
        assert!(!is_cut(rest.as_bytes()), "{rest:?}");
    }
}

#[test]
fn gigabytes_of_zeros_are_neither_read_nor_a_cut_line() {
    let (_keep, path) = place();
    journal_of(2, &path);
    OpenOptions::new().append(true).open(&path).unwrap().set_len(2 << 30).unwrap();
    assert!(matches!(read_journal(&path), Err(JournalError::End { line: 2, .. })));
    assert!(matches!(Journal::reopen(&path, 0), Err(JournalError::End { line: 2, .. })));
    assert_eq!(last_event(&path).unwrap(), None);
    let mut reader = JournalReader::open(&path).unwrap();
    let read: Vec<_> = (0..3).map(|_| reader.next_event().map(|event| event.map(|event| event.seq)).ok()).collect();
    assert_eq!(read, [Some(Some(1)), Some(Some(2)), None]);
    // Here the zeros never end.
    let mut line = Vec::new();
    assert_eq!(read_line(&mut BufReader::new(std::io::repeat(0)), &mut line).unwrap(), None);
    assert!(line.len() < MOST_ZEROS);
    // A crash can leave as many zeros as the unfinished line was long.
    let mut file = File::create(&path).unwrap();
    file.write_all(journal_text(2).as_bytes()).unwrap();
    let length = file.metadata().unwrap().len();
    file.set_len(length + MOST_ZEROS as u64 - 1).unwrap();
    assert!(read_journal(&path).unwrap().cut_short);
}

#[test]
fn a_journal_in_a_later_format_is_refused_by_its_first_line() {
    let (_keep, path) = place();
    let later = FORMAT_VERSION + 1;
    // A later format may also number its lines differently.
    for seq in ["", "\"seq\":\"1\",", "\"seq\":1,\"prev\":0,"] {
        std::fs::write(&path, format!("{{{seq}\"type\":\"created\",\"formatVersion\":{later}}}\n")).unwrap();
        assert!(matches!(read_journal(&path), Err(JournalError::Newer { found, .. }) if found == later), "{seq}");
    }
}
