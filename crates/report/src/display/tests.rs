//! Displays a protocol that this crate does not know, and provides writers for other tests.

use std::io::{Result, Write};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anstream::adapter::strip_str;
use dialectic_record::debate::fixture::pitching;
use dialectic_record::live::Progress;
use dialectic_record::protocol::DIALECTIC;

use super::forecast::Plan;
use super::live::{PendingControls, block};
use super::result::plain_lines;
use super::screen::TerminalSize;
use super::told::Scrollback;

/// What was written to any of its clones.
#[derive(Clone, Default)]
pub(super) struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

pub(super) struct FailingWriter(pub(super) std::io::ErrorKind);

impl Write for FailingWriter {
    fn write(&mut self, _: &[u8]) -> Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

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
    let (mut progress, mut begun) = (Progress::new(pitching::panel(), now), Vec::new());
    let mut lines = Vec::new();
    for signal in pitching::scene() {
        progress.see(&signal, now);
        lines.extend(plain_lines(&mut begun, &progress, &signal));
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
        let (told, _) = teller.tell(&progress, &signal, 79, true);
        lines.extend(told.iter().map(|line| strip_str(line).to_string()));
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
    for stage in pitching::stages().iter().filter(|stage| stage.yields.is_some()) {
        let words = &stage.words;
        assert!(text.contains(&*words.noun) && text.contains(&*words.progressive), "{words:?}: {text}");
    }
    for line in [
        "⠋ System Architect (1)     pitching · 0:00 · retry 2 in 4 s: rate limited",
        "⠋ Simplicity Advocate (3)  heckling 2 pitches · thinking · 0:00",
        "✓ pitch  ✓ heckles  ✓ applause  ✓ show of hands  ▸ rulings 1/2",
        "Round 1/3 · 0:00 · cost unknown · 8,604 tokens",
    ] {
        assert!(lines.iter().any(|shown| shown == line), "{text}");
    }
    assert_own_words(&text);
}
