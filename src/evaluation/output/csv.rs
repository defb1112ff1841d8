//! The CSV: quoted by RFC 4180. Uses the line ending of the file it appends to.

use csv::{IntoInnerError, ReaderBuilder, Terminator, Writer, WriterBuilder};

use crate::evaluation::pairwise::two_decimals;
use crate::evaluation::{Criterion, Evaluated, EvaluationRun};

/// The title of the first column; the criteria follow.
const DEBATE: &str = "debate";

/// The line ending of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnd {
    /// As in RFC 4180, and from spreadsheets.
    CrLf,
    /// As from this program and most tools.
    Lf,
}

/// Whether a file begins with the header of [`csv_rows`].
pub fn is_csv_header(file: &[u8]) -> bool {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(file);
    let first = reader.byte_records().next().and_then(Result::ok);
    first.is_some_and(|first| first.iter().eq(columns().map(str::as_bytes)))
}

/// A row for each counted run: the debate's name and the run's averages with two decimals, empty without a score.
/// `header` adds the header.
///
/// # Errors
/// Never in practice: it is written to memory.
pub fn csv_rows(evaluated: &[Evaluated], header: bool, line_end: LineEnd) -> std::io::Result<Vec<u8>> {
    let terminator = match line_end {
        LineEnd::CrLf => Terminator::CRLF,
        LineEnd::Lf => Terminator::Any(b'\n'),
    };
    let mut writer = WriterBuilder::new().terminator(terminator).from_writer(Vec::new());
    if header {
        writer.write_record(columns())?;
    }
    for one in evaluated {
        for run in one.counted() {
            write_run(&mut writer, &one.subject.name, run)?;
        }
    }
    writer.into_inner().map_err(IntoInnerError::into_error)
}

fn columns() -> impl Iterator<Item = &'static str> {
    [DEBATE].into_iter().chain(Criterion::ALL.map(Criterion::title))
}

fn write_run(writer: &mut Writer<Vec<u8>>, name: &str, run: &EvaluationRun) -> csv::Result<()> {
    let averages = run.averages();
    let scores =
        Criterion::ALL.map(|criterion| averages.get(&criterion).copied().map(two_decimals).unwrap_or_default());
    writer.write_record([name].into_iter().chain(scores.iter().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_known_however_it_was_written() {
        let header = csv_rows(&[], true, LineEnd::CrLf).unwrap();
        let text = String::from_utf8(header.clone()).unwrap();
        assert_eq!(
            text,
            "debate,Functional Completeness,Performance & Scalability,Security,Maintainability & Evolvability,\
             Regulatory Compliance,Testability,Requirements Fulfillment,Overall Score\r\n"
        );
        assert!(is_csv_header(&header));
        assert!(is_csv_header(&csv_rows(&[], true, LineEnd::Lf).unwrap()));
        assert!(is_csv_header(format!("\u{feff}{}", text.replace("debate", "\"debate\"").trim_end()).as_bytes()));
        for other in ["", "debate\r\n", "id,x\n1,2\n", "\u{0}", &text.replace("Security", "Safety")] {
            assert!(!is_csv_header(other.as_bytes()), "{other:?}");
        }
    }
}
