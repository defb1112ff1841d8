//! Renders a protocol's table as Markdown, as a Mermaid diagram, and as a drawing and columns for a terminal.

use super::{Next, Protocol, Row, Stage};

impl Next {
    pub fn name(self) -> &'static str {
        match self {
            Self::Go(stage) | Self::Begin(stage) => stage.as_str(),
            Self::Suspend => "suspend",
            Self::Done => "done",
            Self::Fail => "fail",
            Self::Pause => "pause",
        }
    }
}

impl Protocol {
    pub fn rows(&self) -> impl Iterator<Item = (&Stage, &Row)> {
        self.stages.iter().flat_map(|stage| stage.rows.iter().map(move |row| (stage, row)))
    }

    pub fn mermaid(&self) -> String {
        let id = |name: &str| name.replace('-', "_");
        let mut lines = vec!["stateDiagram-v2".to_owned(), format!("    [*] --> {}", id(self.start().as_str()))];
        for (stage, Row(trigger, next)) in self.rows() {
            let to = match next {
                Next::Go(stage) | Next::Begin(stage) => id(stage.as_str()),
                Next::Suspend => "suspended".to_owned(),
                Next::Done => "[*]".to_owned(),
                Next::Fail => "failed".to_owned(),
                Next::Pause => "paused".to_owned(),
            };
            lines.push(format!("    {} --> {to}: {}", id(stage.info.id.as_str()), trigger.0));
        }
        lines.join("\n") + "\n"
    }

    pub fn table(&self) -> String {
        let mut lines = vec!["| stage | event | next |".to_owned(), "| --- | --- | --- |".to_owned()];
        for (stage, Row(trigger, next)) in self.rows() {
            let begins = if matches!(next, Next::Begin(_)) { ", in a new round" } else { "" };
            lines.push(format!("| {} | {} | {}{begins} |", stage.info.id, trigger.0, next.name()));
        }
        lines.join("\n") + "\n"
    }

    pub fn columns(&self) -> String {
        let rows =
            self.rows().map(|(stage, row)| [stage.info.id.as_str().to_owned(), label(*row), row.1.name().to_owned()]);
        let rows: Vec<[String; 3]> = [["stage", "event", "next"].map(str::to_owned)].into_iter().chain(rows).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (first, second) = (width(0), width(1));
        let lines = rows.iter().map(|[stage, event, next]| format!("{stage:first$}  {event:second$}  {next}\n"));
        lines.collect::<Vec<_>>().concat()
    }

    /// Draws the stages in a column, and each transition that does not lead to the next stage as a branch. `↺` marks a
    /// transition to the same or an earlier stage.
    pub fn diagram(&self) -> String {
        let places: Vec<&Stage> = self.stages.iter().filter(|stage| stage.info.is_transition_target).collect();
        let mut drawing = Drawing::default();
        for (place, stage) in places.iter().enumerate() {
            drawing.stage(stage.info.id.as_str());
            let kinds = self.stages.iter().take_while(|other| other.info.id != stage.info.id);
            let kinds: Vec<_> = kinds
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .take_while(|kind| !kind.info.is_transition_target)
                .collect();
            if !kinds.is_empty() {
                let kinds: Vec<_> = kinds.iter().rev().map(|kind| kind.info.id.as_str()).collect();
                drawing.line(format!("  │ (with {})", kinds.join(", ")));
            }
            // The end is drawn below the last stage.
            let target = |next: Next| match next {
                Next::Go(id) | Next::Begin(id) => places.iter().position(|stage| stage.info.id == id),
                Next::Done => Some(places.len()),
                Next::Suspend | Next::Fail | Next::Pause => None,
            };
            let (ahead, aside): (Vec<&Row>, Vec<&Row>) =
                stage.rows.iter().partition(|row| target(row.1) == Some(place + 1));
            for (index, row) in aside.iter().enumerate() {
                let branch = if ahead.is_empty() && index + 1 == aside.len() { "└" } else { "├" };
                let (label, to) = (label(**row), target(row.1));
                match to {
                    Some(to) if to <= place => drawing.exit(format!("  {branch}─ {label} ↺"), to),
                    Some(to) => drawing.exit(format!("  {branch}─ {label}"), to),
                    None => drawing.line(format!("  {branch}─ {label} ─▶ {}", row.1.name())),
                }
            }
            for row in &ahead {
                drawing.line(format!("  │ {}", label(**row)));
            }
            drawing.line(if ahead.is_empty() { String::new() } else { "  ▼".to_owned() });
        }
        drawing.stage(Next::Done.name());
        drawing.finish()
    }
}

fn label(Row(trigger, next): Row) -> String {
    let begins = if matches!(next, Next::Begin(_)) { ", new round" } else { "" };
    format!("{}{begins}", trigger.0)
}

/// The number of columns before the first line on the right, and between two lines.
const GAP: usize = 3;

#[derive(Debug, Default)]
struct Drawing {
    lines: Vec<String>,
    /// The line number of each stage.
    stages: Vec<usize>,
    /// Transitions drawn on the right: the line number of the label, and the index of the target stage.
    exits: Vec<(usize, usize)>,
}

/// A line on the right, which collects all transitions to one stage.
struct Rail {
    stage: usize,
    first: usize,
    last: usize,
}

impl Drawing {
    fn line(&mut self, text: String) {
        self.lines.push(text);
    }

    fn stage(&mut self, name: &str) {
        self.stages.push(self.lines.len());
        self.line(name.to_owned());
    }

    fn exit(&mut self, text: String, to: usize) {
        self.exits.push((self.lines.len(), to));
        self.line(text);
    }

    fn rails(&self) -> Vec<Rail> {
        let rails = self.stages.iter().enumerate().filter_map(|(place, stage)| {
            let from = self.exits.iter().filter(|(_, to)| *to == place).map(|(line, _)| *line);
            let (first, last) = from.fold(None, |span: Option<(usize, usize)>, line| {
                let (first, last) = span.unwrap_or((*stage, *stage));
                Some((first.min(line), last.max(line)))
            })?;
            Some(Rail { stage: *stage, first, last })
        });
        let mut rails: Vec<Rail> = rails.collect();
        // Short lines are placed first, furthest to the left, where they cross fewer other lines.
        rails.sort_by_key(|rail| rail.last - rail.first);
        rails
    }

    fn finish(self) -> String {
        let mut tracks: Vec<Vec<Rail>> = Vec::new();
        for rail in self.rails() {
            let is_free =
                |track: &&mut Vec<Rail>| track.iter().all(|other| rail.last < other.first || other.last < rail.first);
            match tracks.iter_mut().find(is_free) {
                Some(track) => track.push(rail),
                None => tracks.push(vec![rail]),
            }
        }
        let written = self.lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        let width = written + GAP * tracks.len() + 1;
        let pad = |line: &String| line.chars().chain(std::iter::repeat(' ')).take(width).collect();
        let mut grid: Vec<Vec<char>> = self.lines.iter().map(pad).collect();
        let tracks = || {
            tracks
                .iter()
                .enumerate()
                .flat_map(|(track, rails)| rails.iter().map(move |rail| (written + GAP * (track + 1), rail)))
        };
        for (column, rail) in tracks() {
            grid[rail.first..=rail.last].iter_mut().for_each(|line| line[column] = '│');
        }
        for (column, rail) in tracks() {
            let place = self.stages.iter().position(|stage| *stage == rail.stage);
            let exits = self.exits.iter().filter(|(_, to)| Some(*to) == place).map(|(line, _)| *line);
            for line in exits.chain([rail.stage]) {
                let mut from = self.lines[line].chars().count() + 1;
                if line == rail.stage {
                    grid[line][from] = '◀';
                    from += 1;
                }
                for cell in &mut grid[line][from..column] {
                    *cell = if *cell == '│' { '┼' } else { '─' };
                }
                grid[line][column] = match (line > rail.first, line < rail.last) {
                    (true, true) => '┤',
                    (true, false) => '┘',
                    (false, _) => '┐',
                };
            }
        }
        let lines = grid.into_iter().map(|line| line.into_iter().collect::<String>().trim_end().to_owned() + "\n");
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;

    #[test]
    fn a_drawing_shows_the_way_on_the_ways_around_and_the_loops() {
        let drawings: Vec<String> = PROTOCOLS.iter().map(|one| format!("{}\n\n{}", one.name, one.diagram())).collect();
        insta::assert_snapshot!("drawings", drawings.join("\n"));
    }

    #[test]
    fn every_drawing_and_table_is_whole_and_fits_a_terminal() {
        for protocol in PROTOCOLS {
            let (drawn, columns) = (protocol.diagram(), protocol.columns());
            for line in drawn.lines().chain(columns.lines()) {
                assert!(line.chars().count() <= 80 && line == line.trim_end(), "{line}");
            }
            let labels =
                drawn.lines().filter(|line| line.starts_with("  ") && line.contains(|c: char| c.is_ascii_uppercase()));
            assert_eq!(labels.count(), protocol.rows().count(), "{drawn}");
            assert_eq!(columns.lines().count(), protocol.rows().count() + 1);
            let stages = drawn.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
            let stages: Vec<&str> = stages.filter_map(|line| line.split(' ').next()).collect();
            let places = protocol
                .stages
                .iter()
                .filter(|stage| stage.info.is_transition_target)
                .map(|stage| stage.info.id.as_str());
            assert_eq!(stages, places.chain(["done"]).collect::<Vec<_>>());
        }
    }
}
