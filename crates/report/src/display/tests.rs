//! Runs a protocol that this crate does not know through everything that displays a debate.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anstream::adapter::strip_str;
use serde_json::Value;

use dialectic_record::debate::Progress;
use dialectic_record::debate::fixture::pitching;
use dialectic_record::protocol::DIALECTIC;

use super::EventSink;
use super::forecast::Plan;
use super::live::{PendingControls, TerminalSize, block};
use super::result::PlainLines;
use super::told::Scrollback;

/// Checks that `text` contains no word of the default protocol.
fn assert_own_words(text: &str) {
    let foreign = DIALECTIC.stages.iter().map(|stage| &stage.info).filter(|stage| stage.yields.is_some());
    for stage in foreign {
        let words = &stage.words;
        let forms = [&words.noun, &words.plural, &words.progressive, &words.present, &words.past, &words.infinitive];
        for word in forms.map(AsRef::as_ref).into_iter().chain([stage.id.as_str()]) {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}

#[test]
fn plain_lines_have_the_words_of_the_protocol() {
    let now = Instant::now();
    let (mut progress, mut plain) = (Progress::new(pitching::panel(), now), PlainLines::default());
    let mut lines = Vec::new();
    for signal in pitching::scene() {
        progress.see(&signal, now);
        lines.extend(plain.lines(&progress, &signal));
    }
    let lines = lines.join("\n");
    insta::assert_snapshot!(lines, @"
    round 1/3: pitches started (1 expected)
    round 1/3: pitches ended: 1 of 1, $0.0100 so far
    round 1/3: heckles started (2 expected)
    round 1/3: heckles ended: 1 of 2, 1 failed, $0.0200 so far
    round 1/3: applauses started (1 expected)
    round 1/3: applauses ended: 1 of 1, cost unknown so far
    show of hands started (1 expected)
    show of hands ended: 1 of 1, cost unknown so far
    ruling started (2 expected)
    ruling ended: 2 of 2, cost unknown so far
    ruling: nobody wins (System Architect 72.5, Simplicity Advocate 65), the result changed with the order
    ");
    assert_own_words(&lines);
}

#[test]
fn what_stays_in_the_scrollback_has_the_words_of_the_protocol() {
    let now = Instant::now();
    let mut progress = Progress::new(pitching::panel(), now);
    let (mut teller, mut lines) = (Scrollback::new(&progress), Vec::new());
    for signal in pitching::scene() {
        progress.see(&signal, now);
        let told = teller.tell(&progress, &signal, 79, true);
        lines.extend(told.lines.iter().map(|line| strip_str(line).to_string()));
    }
    let text = lines.join("\n");
    insta::assert_snapshot!(text, @"
    ✓ r1 pitch System Architect (1) · 1.2 s · “text”
    ✓ r1 heckle Simplicity Advocate (3) → System Architect (1) · 1.2 s · “text”
    ✗ r1 heckle Simplicity Advocate (3) → Performance Engineer (2)
        lost for words (after 4 attempts)
    ✓ r1 applause Simplicity Advocate (3) → System Architect (1) · 1.2 s
        “because”
    ✓ r1 show of hands Performance Engineer (2) · 1.2 s · against: because
    ✓ r1 ruling Judge · 1.2 s
        System Architect wins (System Architect 72.5, Simplicity Advocate 65)
    ✓ r1 ruling Judge · 1.2 s
        nobody wins (System Architect 72.5, Simplicity Advocate 65)
    ◆ ruling: nobody wins (System Architect 72.5, Simplicity Advocate 65), the
      result changed with the order
    ");
    assert_own_words(&text);
}

#[test]
fn the_live_block_has_the_words_of_the_protocol() {
    let now = Instant::now();
    let mut progress = Progress::new(pitching::panel(), now);
    let (plan, mut lines) = (Plan::default(), Vec::<String>::new());
    for signal in pitching::scene() {
        progress.see(&signal, now);
        for line in block(&progress, &plan, PendingControls::default(), now, TerminalSize { columns: 80, rows: 24 }) {
            let line = strip_str(&line).to_string();
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    let text = lines.join("\n");
    insta::assert_snapshot!(text, @"
    · System Architect (1)
    · Performance Engineer (2)
    · Simplicity Advocate (3)
    · Judge
    Round 1/3 · 0:00
    ▸ pitch
    ▸ pitch 0/1
    ⠋ System Architect (1)     pitching · thinking · 0:00
    ⠋ System Architect (1)     pitching · 0:00 · retry 2 in 4 s: rate limited
    ▸ pitch 1/1
    Round 1/3 · 0:00 · $0.0100 · 1,434 tokens
    ✓ pitch
    ✓ pitch  ▸ heckles 0/2
    ⠋ Simplicity Advocate (3)  heckling System Architect · thinking · 0:00
    ⠋ Simplicity Advocate (3)  heckling 2 pitches · thinking · 0:00
    ✓ pitch  ▸ heckles 1/2
    Round 1/3 · 0:00 · $0.0200 · 2,868 tokens
    ⠋ Simplicity Advocate (3)  heckling Performance Engineer · thinking · 0:00
    ✓ pitch  ▸ heckles 2/2
    ✓ pitch  ✓ heckles
    ✓ pitch  ✓ heckles  ▸ applause 0/1
    ⠋ Simplicity Advocate (3)  applauding · thinking · 0:00
    ✓ pitch  ✓ heckles  ▸ applause 1/1
    Round 1/3 · 0:00 · cost unknown · 4,302 tokens
    ✓ pitch  ✓ heckles  ✓ applause
    ✓ pitch  ✓ heckles  ✓ applause  ▸ show of hands 0/1
    ⠋ Performance Engineer (2) raising a hand · thinking · 0:00
    ✓ pitch  ✓ heckles  ✓ applause  ▸ show of hands 1/1
    Round 1/3 · 0:00 · cost unknown · 5,736 tokens
    ✓ pitch  ✓ heckles  ✓ applause  ✓ show of hands
    ✓ pitch  ✓ heckles  ✓ applause  ✓ show of hands  ▸ rulings 0/2
    ⠋ Judge                    deliberating · thinking · 0:00
    ✓ pitch  ✓ heckles  ✓ applause  ✓ show of hands  ▸ rulings 1/2
    Round 1/3 · 0:00 · cost unknown · 7,170 tokens
    ✓ pitch  ✓ heckles  ✓ applause  ✓ show of hands  ▸ rulings 2/2
    Round 1/3 · 0:00 · cost unknown · 8,604 tokens
    ✓ pitch  ✓ heckles  ✓ applause  ✓ show of hands  ✓ rulings
    ");
    assert_own_words(&text);
}

#[derive(Clone, Default)]
struct OutputBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for OutputBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_event_stream_names_the_stages_of_the_protocol() {
    let memory = OutputBuffer::default();
    let mut sink = EventSink::new("memory".to_owned(), Box::new(memory.clone()));
    let scene = pitching::scene();
    for signal in &scene {
        sink.write(signal).unwrap();
    }
    let text = String::from_utf8(memory.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), scene.len());
    let places = ["/node", "/phase", "/key/phase", "/contribution/type"];
    let named =
        |line: &Value| places.iter().filter_map(|place| line.pointer(place)?.as_str().map(str::to_owned)).collect();
    let mut stages: Vec<String> = lines.iter().flat_map::<Vec<String>, _>(named).collect();
    stages.dedup();
    let stages = stages.join(" ");
    assert_eq!(stages, "pitch heckle applause interlude show-of-hands ruling");
    let of = |kind: &str| lines.iter().find(|line| line["type"] == kind).unwrap();
    assert_eq!(of("polled")["vote"], "against");
    assert_eq!(of("judged")["judgement"]["scores"]["agent-architect"], 72.5);
    assert_eq!(of("decided")["verdict"]["stable"], false);
}
