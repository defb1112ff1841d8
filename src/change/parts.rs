//! Fits a change into the models' context windows, in several parts if necessary.

use std::sync::Arc;

use dialectic_base::figures::{counted, thousands};
use dialectic_engine::access::Environment;
use dialectic_engine::engine::room_for_change;
use dialectic_engine::runner::Attachments;
use dialectic_record::change::{ChangeSet, ChangedFile, DIFF_ENDING, LeftOut};
use dialectic_record::debate::Attachment;
use dialectic_record::settings::{DebateSettings, Settings};

use crate::error::{Error, UserError};

use super::diff::{self, FileDiff};

const LEFT_OUT: &str = "left-out.txt";
/// Attached only if the change is divided into parts.
const ALL_FILES: &str = "all-files.txt";
/// The bytes reserved for the list of withheld files.
const SHARE: usize = 2000;
/// The overhead of an attachment, in bytes.
const FRAME: usize = 200;
/// The overhead of a path in the list of all files, in bytes.
const IN_PART: usize = 20;

pub(super) const ONLY_PERMISSIONS: &str = "only its permissions changed";

#[derive(Debug)]
pub enum Found {
    Change(Box<Change>),
    Nothing,
    OnlyPermissions,
}

#[derive(Debug)]
pub struct Change {
    pub problem: String,
    pub attachments: Arc<[Attachment]>,
    pub set: ChangeSet,
}

/// `read` has each file's diff and, if known, the full text after the change.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) read: Vec<(FileDiff, Option<String>)>,
    pub(super) left_out: Vec<LeftOut>,
}

impl Files {
    pub(super) fn leave(&mut self, path: &str, reason: impl Into<String>) {
        self.left_out.push(LeftOut { path: path.to_owned(), reason: reason.into() });
    }
}

fn reasons(left_out: &[LeftOut]) -> String {
    let first: Vec<String> = left_out.iter().take(3).map(|one| format!("{} ({})", one.path, one.reason)).collect();
    first.join(", ")
}

/// Puts its number before each line, because models cannot count lines.
pub(super) fn numbered(text: &str) -> String {
    let line = |(number, line): (usize, &str)| format!("{number:>4} | {line}\n");
    (1..).zip(text.lines()).map(line).collect()
}

/// A file's change, or a piece of it if it does not fit into one part.
struct Piece {
    path: String,
    text: String,
    whole: Option<String>,
}

/// Groups consecutive pieces. A directory that fits into `room` becomes one group; the contents of a larger directory
/// are grouped in the same way. Returns the number of pieces in each group.
fn together(pieces: &[Piece], depth: usize, room: usize) -> Vec<usize> {
    let [first, .., last] = pieces else { return vec![pieces.len()] };
    if first.path == last.path {
        return vec![1; pieces.len()];
    }
    if pieces.iter().map(Piece::size).sum::<usize>() <= room {
        return vec![pieces.len()];
    }
    let name = |piece: &Piece| piece.path.split('/').nth(depth).map(str::to_owned);
    let below = pieces.chunk_by(|one, other| name(one) == name(other));
    below.flat_map(|below| together(below, depth + 1, room)).collect()
}

impl Piece {
    fn size(&self) -> usize {
        self.text.len() + FRAME
    }
}

/// Distributes pieces over parts of at most `room` bytes, ordered by path.
fn in_parts(mut pieces: Vec<Piece>, room: usize) -> Vec<Vec<Piece>> {
    pieces.sort_by(|one, other| one.path.cmp(&other.path));
    let mut parts: Vec<Vec<Piece>> = Vec::new();
    for count in together(&pieces, 0, room) {
        let unit: Vec<Piece> = pieces.drain(..count).collect();
        let size = |pieces: &[Piece]| pieces.iter().map(Piece::size).sum::<usize>();
        match parts.last_mut().filter(|part| size(part) + size(&unit) <= room) {
            Some(part) => part.extend(unit),
            None => parts.push(unit),
        }
    }
    parts
}

/// Includes all diffs, in several parts if necessary, and as many full files as fit into the models' context windows.
pub(super) fn assemble(
    Files { read, mut left_out }: Files,
    mut set: ChangeSet,
    settings: &Settings,
    environment: &Environment,
) -> Result<Found, Error> {
    let most = room_for_change(settings);
    let was_empty = read.is_empty();
    let names: usize = read.iter().map(|(diff, _)| diff.path().len() + IN_PART).sum();
    let size: usize = read.iter().map(|(diff, _)| diff.text.len() + FRAME).sum();
    let reserved = if size + SHARE <= most { SHARE } else { SHARE + names };
    let room = most.saturating_sub(reserved.min(most / 2));
    let mut pieces = Vec::new();
    for (diff, whole) in read {
        let path = diff.path().to_owned();
        let texts = diff.pieces(room.saturating_sub(FRAME));
        if let Some(text) = texts.iter().find(|text| text.len() + FRAME > room) {
            let size = thousands(text.len() as u64);
            left_out.push(LeftOut { path, reason: format!("too large: one of its lines has about {size} characters") });
            continue;
        }
        let whole = whole.filter(|whole| texts.len() == 1 && !whole.trim().is_empty());
        pieces.extend(texts.into_iter().map(|text| Piece { path: path.clone(), text, whole: whole.clone() }));
        set.files.push(ChangedFile { path, hunks: diff.hunks, lines: None, parts: Vec::new() });
    }
    if set.files.is_empty() {
        return match left_out.as_slice() {
            [] if was_empty => Ok(Found::Nothing),
            all if was_empty && all.iter().all(|one| one.reason == ONLY_PERMISSIONS) => Ok(Found::OnlyPermissions),
            _ => {
                let message = format!("cannot review any file of this change: {}", reasons(&left_out));
                Err(UserError::input(message).into())
            }
        };
    }
    let is_series = pieces.iter().any(|piece| piece.text.contains("\ndiff --git "));
    let parts = in_parts(pieces, room);
    if parts.len() > DebateSettings::MOST_ROUNDS as usize {
        let message =
            format!("this change is too large to review: it would take {} parts", thousands(parts.len() as u64));
        return Err(UserError::input(message).with_hint("review only some files: dialectic review <paths>").into());
    }
    let mut attachments = Attachments::new(settings, environment).unlimited();
    if !left_out.is_empty() {
        let list = left_out.iter().map(|one| format!("{}: {}", one.path, one.reason)).collect::<Vec<_>>().join("\n");
        let list: String = list.chars().take(SHARE).collect();
        attachments.add(LEFT_OUT.to_owned(), list.as_bytes())?;
    }
    let is_one = parts.len() == 1;
    for (part, pieces) in (1..).zip(&parts) {
        for file in set.files.iter_mut().filter(|file| !is_one && pieces.iter().any(|one| one.path == file.path)) {
            file.parts.push(part);
        }
    }
    if !is_one {
        let line =
            |file: &ChangedFile| format!("{}: {}\n", diff::one_line(&file.path), file.part().unwrap_or_default());
        let all: String = set.files.iter().map(line).collect();
        attachments.add(ALL_FILES.to_owned(), all.as_bytes())?;
    }
    for (part, pieces) in (1..).zip(&parts) {
        let part = (!is_one).then_some(part);
        for piece in pieces {
            attachments.add(format!("{}{DIFF_ENDING}", piece.path), piece.text.as_bytes())?.part = part;
        }
        let taken: usize = pieces.iter().map(Piece::size).sum();
        let mut left = room.min(DebateSettings::ATTACHMENT_LIMIT).saturating_sub(taken);
        for (piece, whole) in pieces.iter().filter_map(|piece| Some((piece, piece.whole.as_ref()?))) {
            let shown = numbered(whole);
            if let Some(rest) = left.checked_sub(shown.len() + FRAME) {
                left = rest;
                attachments.add(piece.path.clone(), shown.as_bytes())?.part = part;
                if let Some(file) = set.files.iter_mut().find(|file| file.path == piece.path) {
                    file.lines = u32::try_from(whole.lines().count()).ok();
                }
            }
        }
    }
    let withheld = format!(" {LEFT_OUT} lists what is not shown, with the reason.");
    let in_parts = format!(
        " It is reviewed in {} parts, one after the other: you are shown one of them, and {ALL_FILES} lists all files \
         with their parts.",
        parts.len()
    );
    let problem = format!(
        "Review: {}\n\nFind the faults that this change brings in, before it is merged. It touches {}.\n\n\
         The attachments whose names end in `{DIFF_ENDING}` are the change. The others are files that it touches, as they \
         are after it, each under its path and with its lines numbered, as far as there is room.{}{}{}",
        set.of,
        counted(set.files.len() as u64, "file"),
        if left_out.is_empty() { "" } else { &withheld },
        if is_one { "" } else { &in_parts },
        if is_series { " Where a file has several patches, each builds on the one before." } else { "" },
    );
    set.left_out = left_out;
    Ok(Found::Change(Box::new(Change { problem, attachments: attachments.into_all(), set })))
}
