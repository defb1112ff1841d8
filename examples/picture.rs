//! Makes the picture of the terminal in the README: runs the program that was built in a terminal of its own, an offline
//! debate slowed down to the pace of models, and writes what the screen shows in the middle of the second round as SVG.
//!
//! `cargo build && cargo run --example picture` writes `docs/images/terminal.svg` anew.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use rexpect::process::PtyProcess;
use vt100::{Cell, Color, Parser};

/// What is typed.
const PROBLEM: &str = "Design a rate limiter for a public API. It must keep working when its store is down.";
/// The picture, within the repository.
const PICTURE: &str = "docs/images/terminal.svg";
const COLUMNS: u16 = 100;
const ROWS: u16 = 32;
/// The screen is taken when this many critiques of the second round have come back.
const MARK: &str = "r2 critique";
const MARKS: usize = 2;
/// The offline provider answers after half to one and a half times this many milliseconds.
const LATENCY: &str = "1500";
const PATIENCE: Duration = Duration::from_mins(2);

/// A character of the picture, in units of it.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 18.0;
/// Around the text, and the bar above it.
const MARGIN: f64 = 16.0;
const BAR: f64 = 34.0;
const INK: &str = "#d5d9e0";
const PAGE: &str = "#14171c";
/// The sixteen colours of a terminal.
const PALETTE: [&str; 16] = [
    "#4b5260", "#f07178", "#9ece6a", "#e0af68", "#7aa2f7", "#c99cf0", "#67c7d6", "#c8ccd4", "#7b8496", "#ff8f96",
    "#b6e07f", "#f0c684", "#98b8ff", "#dab4ff", "#86dbe8", "#ffffff",
];

fn main() -> Result<(), Box<dyn Error>> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let screen = screen(&program()?)?;
    fs::write(repository.join(PICTURE), picture(&screen))?;
    Ok(())
}

/// The program, which stands in the directory above that of the examples.
fn program() -> Result<PathBuf, Box<dyn Error>> {
    let own = std::env::current_exe()?;
    let program = own.ancestors().nth(2).map(|directory| directory.join("dialectic"));
    program.filter(|program| program.is_file()).ok_or_else(|| "there is no program: `cargo build` first".into())
}

/// What a terminal shows of a debate in the middle of its second round.
fn screen(program: &Path) -> Result<Parser, Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    // A directory in which somebody works has a configuration.
    Command::new(program).args(["config", "init"]).current_dir(place.path()).output()?;
    let mut command = Command::new("/bin/sh");
    let script = format!("stty rows {ROWS} cols {COLUMNS} && exec \"$0\" \"$@\"");
    command.args(["-c", &script]).arg(program).args(["debate", "--offline", PROBLEM]);
    command.current_dir(place.path()).env_clear().env("TERM", "xterm-256color").env("HOME", place.path());
    command.env("PATH", "/usr/bin:/bin").env("OFFLINE_LATENCY_MS", LATENCY).env("OFFLINE_SEED", "7");
    let mut process = PtyProcess::new(command)?;
    let mut terminal = process.get_file_handle()?;
    let mut parser = Parser::new(ROWS.try_into()?, COLUMNS.try_into()?, 0);
    let (mut bytes, begun) = ([0; 4096], Instant::now());
    while parser.screen().contents().matches(MARK).count() < MARKS {
        if begun.elapsed() > PATIENCE {
            return Err(format!("the screen never showed {MARK:?}:\n{}", parser.screen().contents()).into());
        }
        let read = terminal.read(&mut bytes)?;
        parser.process(&bytes[..read]);
    }
    process.kill(Signal::SIGKILL)?;
    Ok(parser)
}

/// The screen as SVG, with a bar above it that says what was typed.
fn picture(parser: &Parser) -> String {
    let screen = parser.screen();
    let rows: Vec<Vec<&Cell>> =
        (0..ROWS).map(|row| (0..COLUMNS).filter_map(|column| screen.cell(row, column)).collect()).collect();
    let used = rows.iter().rposition(|row| row.iter().any(|cell| cell.has_contents())).map_or(1, |last| last + 1);
    let width = f64::from(COLUMNS) * WIDTH + 2.0 * MARGIN;
    let height = BAR + lines(used) * HEIGHT + 1.5 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"A debate in a terminal, in its second round\" \
         font-family=\"ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"{PAGE}\"/>\n"
    );
    for (place, colour) in ["#f07178", "#e0af68", "#9ece6a"].iter().enumerate() {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.0}\" cy=\"17\" r=\"5.5\" fill=\"{colour}\"/>",
            MARGIN + 6.0 + lines(place) * 18.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"50%\" y=\"22\" text-anchor=\"middle\" fill=\"{}\">$ dialectic debate --offline \"{}\"</text>",
        PALETTE[8],
        escaped(&format!("{}…", &PROBLEM[..38])),
    );
    for (row, cells) in rows.iter().take(used).enumerate() {
        let y = BAR + (lines(row) + 1.0) * HEIGHT;
        for run in runs(cells) {
            let _ = writeln!(svg, "{}", run.drawn(y));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Characters beside each other that look alike.
struct StyledRun {
    from: usize,
    columns: usize,
    text: String,
    colour: String,
    is_bold: bool,
    is_dim: bool,
    is_italic: bool,
}

impl StyledRun {
    fn drawn(&self, y: f64) -> String {
        let x = MARGIN + lines(self.from) * WIDTH;
        let bold = if self.is_bold { " font-weight=\"bold\"" } else { "" };
        let dim = if self.is_dim { " opacity=\"0.6\"" } else { "" };
        let italic = if self.is_italic { " font-style=\"italic\"" } else { "" };
        // Whatever font is there, each character stands in its column.
        let length = lines(self.columns) * WIDTH;
        let (text, colour) = (escaped(&self.text), &self.colour);
        format!(
            "<text x=\"{x:.1}\" y=\"{y:.0}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
             fill=\"{colour}\"{bold}{dim}{italic} xml:space=\"preserve\">{text}</text>"
        )
    }
}

/// The runs of a row, without the spaces around them.
fn runs(cells: &[&Cell]) -> Vec<StyledRun> {
    let mut runs: Vec<StyledRun> = Vec::new();
    for (column, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_wide_continuation()) {
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let columns = if cell.is_wide() { 2 } else { 1 };
        let colour = if cell.inverse() { INK.to_owned() } else { colour(cell.fgcolor()) };
        let looks = (colour, cell.bold(), cell.dim(), cell.italic());
        match runs.last_mut().filter(|run| {
            (&run.colour, run.is_bold, run.is_dim, run.is_italic) == (&looks.0, looks.1, looks.2, looks.3)
        }) {
            Some(run) => {
                run.text.push_str(text);
                run.columns += columns;
            }
            None => runs.push(StyledRun {
                from: column,
                columns,
                text: text.to_owned(),
                colour: looks.0,
                is_bold: looks.1,
                is_dim: looks.2,
                is_italic: looks.3,
            }),
        }
    }
    for run in &mut runs {
        let behind = run.text.len() - run.text.trim_end_matches(' ').len();
        let before = run.text.len() - run.text.trim_start_matches(' ').len();
        if before < run.text.len() {
            run.text = run.text.trim_matches(' ').to_owned();
            (run.from, run.columns) = (run.from + before, run.columns - before - behind);
        } else {
            run.text.clear();
        }
    }
    runs.retain(|run| !run.text.is_empty());
    runs
}

fn colour(colour: Color) -> String {
    match colour {
        Color::Default => INK.to_owned(),
        Color::Idx(index @ 0..=15) => PALETTE[usize::from(index)].to_owned(),
        Color::Idx(index @ 16..=231) => {
            let level = |part: u8| if part == 0 { 0 } else { 55 + part * 40 };
            let index = index - 16;
            format!("#{:02x}{:02x}{:02x}", level(index / 36), level(index / 6 % 6), level(index % 6))
        }
        Color::Idx(index) => {
            let grey = 8 + (index - 232) * 10;
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
        Color::Rgb(r, g, b) => format!("#{r:02x}{g:02x}{b:02x}"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[expect(clippy::cast_precision_loss, reason = "a screen has few lines")]
fn lines(count: usize) -> f64 {
    count as f64
}
