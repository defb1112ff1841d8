//! Parses server-sent events from arbitrary chunks. The format is specified in the WHATWG HTML Living Standard,
//! "Server-sent events", "Interpreting an event stream".

use std::borrow::Cow;

use memchr::memchr2;
use serde::de::IgnoredAny;

use super::lenient::{BYTE_ORDER_MARK, parsed};

/// The data of the last event of a stream, in either API.
pub(super) const DONE: &str = "[DONE]";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ServerSentEvent<'a> {
    /// May be empty.
    pub(super) name: &'a str,
    /// Never empty. Lines are separated by `\n`.
    pub(super) data: &'a str,
}

/// Skips comments, ids, reconnection times, and events without data. Avoids allocations, because answers have one event
/// per word.
#[derive(Default)]
pub(super) struct EventParser {
    /// The bytes received. Those before `at` were parsed, and those before `searched` contain no line break.
    bytes: Vec<u8>,
    at: usize,
    searched: usize,
    /// Whether the last byte was a CR, to which a following LF belongs.
    after_cr: bool,
    /// Whether the first line, which may start with a byte order mark, was read.
    begun: bool,
    name: String,
    data: String,
    /// Whether the current event was returned.
    is_over: bool,
}

impl EventParser {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.searched -= self.at;
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn next(&mut self) -> Option<ServerSentEvent<'_>> {
        self.forget_event();
        loop {
            if self.after_cr && self.at < self.bytes.len() {
                self.after_cr = false;
                self.at += usize::from(self.bytes[self.at] == b'\n');
                self.searched = self.searched.max(self.at);
            }
            let Some(length) = memchr2(b'\n', b'\r', &self.bytes[self.searched..]) else {
                self.searched = self.bytes.len();
                return None;
            };
            let (start, end) = (self.at, self.searched + length);
            self.after_cr = self.bytes[end] == b'\r';
            (self.at, self.searched) = (end + 1, end + 1);
            if self.take_line(start, end) && self.has_data() {
                return Some(self.event());
            }
        }
    }

    /// The unfinished event at the end of the stream. The standard drops it, but some servers omit the last empty line.
    /// Call this once there is no next event.
    pub(super) fn finish(&mut self) -> Option<ServerSentEvent<'_>> {
        self.forget_event();
        let (start, end) = (self.at, self.bytes.len());
        self.at = end;
        // An empty line ends the event, with or without data.
        let is_over = start < end && self.take_line(start, end) && !self.has_data();
        (!is_over && self.has_data()).then(|| self.event())
    }

    /// Reads a line; returns whether it ends an event.
    fn take_line(&mut self, start: usize, end: usize) -> bool {
        // Complete lines contain only complete characters.
        let line = &self.bytes[start..end];
        // Nearly every line is UTF-8, and checking is faster than converting.
        let line = str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
        let line = if self.begun { &line } else { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line) };
        self.begun = true;
        let goes_on = self.data.starts_with('{') && !self.data.trim_end().ends_with('}');
        if line.is_empty() && goes_on {
            // Possibly a raw empty line within a JSON string.
            self.data.push('\n');
            return false;
        }
        if line.is_empty() {
            if !self.has_data() {
                self.name.clear();
                self.data.clear();
            }
            return true;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            // Some servers separate events by a single line break.
            "event" | "data" if is_whole(&self.data) || goes_on && self.data.ends_with("\n\n") => {
                (self.at, self.searched, self.after_cr) = (start, start, false);
                return true;
            }
            "event" => value.clone_into(&mut self.name),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" | "retry" | "" => {}
            // A raw line break within a JSON string.
            _ if goes_on => {
                self.data.push_str(line);
                self.data.push('\n');
            }
            _ => {}
        }
        false
    }

    /// Whether there is data other than a line break.
    fn has_data(&self) -> bool {
        self.data.len() > 1
    }

    fn event(&mut self) -> ServerSentEvent<'_> {
        self.is_over = true;
        ServerSentEvent { name: &self.name, data: &self.data[..self.data.len() - 1] }
    }

    fn forget_event(&mut self) {
        if std::mem::take(&mut self.is_over) {
            self.name.clear();
            self.data.clear();
        }
    }
}

fn is_whole(data: &str) -> bool {
    let data = data.trim_end();
    data == DONE || data.starts_with('{') && data.ends_with('}') && parsed::<IgnoredAny>(data).is_ok()
}

pub(super) fn looks_like_events(body: &[u8]) -> bool {
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body).trim_ascii_start();
    ["data:", "event:", ":", "id:", "retry:"].iter().any(|field| body.starts_with(field.as_bytes()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Owned = (String, String);

    fn event(name: &str, data: &str) -> Owned {
        (name.to_owned(), data.to_owned())
    }

    /// The events of `bytes` in chunks of `size`, and the unfinished one at the end.
    fn read(bytes: &[u8], size: usize) -> (Vec<Owned>, Option<Owned>) {
        let mut parser = EventParser::default();
        let mut events = Vec::new();
        for chunk in bytes.chunks(size) {
            parser.push(chunk);
            while let Some(ServerSentEvent { name, data }) = parser.next() {
                events.push(event(name, data));
            }
        }
        (events, parser.finish().map(|ServerSentEvent { name, data }| event(name, data)))
    }

    /// Reads all events from chunks of this size.
    fn in_chunks(text: &str, size: usize) -> Vec<Owned> {
        let (mut events, last) = read(text.as_bytes(), size);
        events.extend(last);
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
            prop_assert_eq!(read(&bytes, size), read(&bytes, bytes.len().max(1)));
        }
    }
}
