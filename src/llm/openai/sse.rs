//! Server-sent events, from bytes as the network cuts them.
//! Source of the format: WHATWG, HTML Living Standard, "Server-sent events", "Interpreting an event stream".

/// An event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Event {
    /// What it calls itself; empty when it does not.
    pub(super) name: String,
    /// Its data, never empty; lines are joined by `\n`.
    pub(super) data: String,
}

/// Turns bytes into events. Comments, ids and reconnection times mean nothing here and are passed over, and so are
/// events without data.
#[derive(Default)]
pub(super) struct EventParser {
    line: Vec<u8>,
    /// The last byte was a CR: a LF that follows belongs to it.
    after_cr: bool,
    /// The first line has been read; before it there may be a byte order mark.
    begun: bool,
    event: Event,
}

const BYTE_ORDER_MARK: char = '\u{feff}';

impl EventParser {
    /// The events that `bytes` complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, end) = match piece.split_last() {
                Some((end @ (b'\n' | b'\r'), text)) => (text, Some(*end)),
                _ => (piece, None),
            };
            let is_second_half = self.after_cr && text.is_empty() && end == Some(b'\n');
            self.after_cr = end == Some(b'\r');
            if is_second_half {
                continue;
            }
            self.line.extend_from_slice(text);
            if end.is_some() {
                events.extend(self.end_line());
            }
        }
        events
    }

    /// The event that the end of the stream leaves unfinished: the standard drops it, but some servers forget the
    /// empty line behind their last one.
    pub(super) fn finish(mut self) -> Option<Event> {
        self.end_line().or_else(|| self.end_event())
    }

    fn end_line(&mut self) -> Option<Event> {
        // A line is read as a whole, so that no character is cut in two.
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = if self.begun { &line } else { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line) };
        self.begun = true;
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                self.event.data.push_str(value);
                self.event.data.push('\n');
            }
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        let mut event = std::mem::take(&mut self.event);
        event.data.pop();
        (!event.data.is_empty()).then_some(event)
    }
}

/// Whether `body` begins like an event stream, whatever its server calls it.
pub(super) fn looks_like_events(body: &[u8]) -> bool {
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body).trim_ascii_start();
    ["data:", "event:", ":", "id:", "retry:"].iter().any(|field| body.starts_with(field.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.to_owned(), data: data.to_owned() }
    }

    /// The events of `text`, which arrives in chunks of `size` bytes.
    fn in_chunks(text: &str, size: usize) -> Vec<Event> {
        let mut parser = EventParser::default();
        let mut events: Vec<Event> = text.as_bytes().chunks(size).flat_map(|chunk| parser.push(chunk)).collect();
        events.extend(parser.finish());
        events
    }

    #[test]
    fn events_are_the_same_however_they_are_cut_and_their_lines_end() {
        let text =
            "\u{feff}: hello\nevent: greeting\nid: 7\ndata: Grüße\n\n:\n\ndata:two\ndata\ndata:  lines\nretry: 3\n\n";
        let events = [event("greeting", "Grüße"), event("", "two\n\n lines")];
        for end in ["\n", "\r", "\r\n"] {
            let text = text.replace('\n', end);
            for size in 1..=text.len() {
                assert_eq!(in_chunks(&text, size), events, "{end:?} {size}");
            }
        }
    }

    #[test]
    fn an_event_without_data_is_none_and_takes_its_name_along() {
        assert_eq!(in_chunks("event: ping\n\ndata:\n\nevent: x\ndata: \n\ndata: y\n\n", 5), [event("", "y")]);
    }

    #[test]
    fn the_last_event_may_lack_its_empty_line() {
        for end in ["", "\n", "\r", "\n\n"] {
            assert_eq!(in_chunks(&format!("data: [DONE]{end}"), 4), [event("", "[DONE]")], "{end:?}");
        }
    }

    #[test]
    fn a_stream_is_known_by_its_beginning() {
        for body in ["data: x", "\r\n: processing\n", "event: response.created\n", "\u{feff}data:{}"] {
            assert!(looks_like_events(body.as_bytes()), "{body:?}");
        }
        for body in ["", "{\"data:\": 1}", "<html>data:</html>", "database failure", "upstream error: x"] {
            assert!(!looks_like_events(body.as_bytes()), "{body:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..200), size in 1_usize..20) {
            let mut parser = EventParser::default();
            let events: Vec<Event> = bytes.chunks(size).flat_map(|chunk| parser.push(chunk)).collect();
            let mut whole = EventParser::default();
            prop_assert_eq!(events, whole.push(&bytes));
            prop_assert_eq!(parser.finish(), whole.finish());
        }
    }
}
