//! Reads the environment: the process's variables, an environment file, and the user's own keys, in this order of
//! precedence. No other module of this crate reads the environment.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use dialectic_base::encoding::{NotUtf8, decode};
use dialectic_engine::access::{Environment, is_trusted};
use dialectic_llm::openai::CERTIFICATE_FILE;

const DEFAULT_FILE: &str = ".env";

#[derive(Debug, thiserror::Error)]
pub enum EnvError {
    #[error("cannot read the environment file `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the environment file `{}` is not UTF-8 text", path.display())]
    NotUtf8 { path: PathBuf, fault: NotUtf8 },
}

/// Reads the process's variables, the environment file and the user's own keys, in this order of precedence. Without a
/// `named` file, reads `.env` in the working directory, but uses only its keys unless the user trusts it. Empty
/// variables count as unset. Does not change the process's environment.
///
/// # Errors
///
/// Returns an error if a file cannot be read or is not UTF-8. A `.env` that is missing or is a directory (another
/// tool's virtual environment) is not an error.
pub fn capture_environment(named: Option<&Path>) -> Result<Environment, EnvError> {
    let default = Path::new(DEFAULT_FILE);
    let mut environment = with_own_keys()?;
    match named {
        Some(path) => add_file(&mut environment, path, true)?,
        None if default.is_file() => add_file(&mut environment, default, false)?,
        None => {}
    }
    environment.extend(process_variables());
    Ok(environment)
}

/// Reads the process's variables and the user's own keys, but no environment file.
///
/// # Errors
///
/// Returns an error if the file with the user's keys cannot be read or is not UTF-8.
pub fn users_environment() -> Result<Environment, EnvError> {
    let mut environment = with_own_keys()?;
    environment.extend(process_variables());
    Ok(environment)
}

/// Reads only the process's variables, for terminal settings.
pub fn process_environment() -> Environment {
    let mut environment = places();
    environment.extend(process_variables());
    environment
}

const CACHE: &str = "XDG_CACHE_HOME";

/// This program's cache directory; `None` if there is neither a home directory nor `XDG_CACHE_HOME`.
pub fn cache_directory() -> Option<PathBuf> {
    // `etcetera` ignores `XDG_CACHE_HOME` if there is no home directory, as in some containers.
    let named = || std::env::var_os(CACHE).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = etcetera::choose_base_strategy().map(|strategy| strategy.cache_dir()).ok().or_else(named)?;
    Some(cache.join("dialectic"))
}

/// Reads the user's own keys. Variables that are added later override the keys.
fn with_own_keys() -> Result<Environment, EnvError> {
    let mut environment = places();
    let keys = environment.keys_path().filter(|path| path.is_file());
    let Some(path) = keys else { return Ok(environment) };
    let (pairs, warnings) = read_text(&read(&path)?, &path);
    environment.extend(pairs);
    environment.warn(warnings);
    if let Some(mode) = open_to_others(&path) {
        let path = path.display();
        environment
            .warn([format!("other users can read your keys in {path} (mode {mode:04o}); run `chmod 600 {path}`")]);
    }
    Ok(environment)
}

fn places() -> Environment {
    let strategy = etcetera::choose_base_strategy().ok();
    let user_directory = strategy.as_ref().map(|strategy| strategy.config_dir().join("dialectic"));
    let home = strategy.map(|strategy| strategy.home_dir().to_owned());
    let certificates = std::env::var_os(CERTIFICATE_FILE).filter(|path| !path.is_empty()).map(PathBuf::from);
    Environment::default().with_places(user_directory, home, certificates)
}

fn add_file(environment: &mut Environment, path: &Path, is_named: bool) -> Result<(), EnvError> {
    let text = read(path)?;
    let (pairs, warnings) = read_text(&text, path);
    environment.warn(warnings);
    environment.set_file(path);
    if is_named || is_trusted(path, &text, environment) {
        environment.extend(pairs);
    } else {
        environment.add_untrusted(pairs, path);
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, EnvError> {
    let bytes = std::fs::read(path).map_err(|source| EnvError::Unreadable { path: path.to_owned(), source })?;
    decode(&bytes).map(str::to_owned).map_err(|fault| EnvError::NotUtf8 { path: path.to_owned(), fault })
}

/// Parses an environment file. Malformed lines only cause warnings, because the file may belong to another tool.
fn read_text(text: &str, path: &Path) -> (Vec<(String, String)>, Vec<String>) {
    let mut faults = Vec::new();
    let pairs = parse(text, &mut faults);
    // Never quote the line: it may contain a key.
    let warning = |(line, fault)| format!("line {line} of the environment file `{}` {fault}", path.display());
    (pairs, faults.into_iter().map(warning).collect())
}

/// The file's mode, if users other than its owner have access.
#[cfg(unix)]
fn open_to_others(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn open_to_others(_: &Path) -> Option<u32> {
    None
}

/// Skips variables that are not Unicode, because the program does not use any of them.
fn process_variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

const QUOTES: [char; 3] = ['"', '\'', '`'];

const NO_PAIR: &str = "is ignored: it is not `NAME=value`";
const OPEN_QUOTE: &str = "has an unclosed quote; keeping it as part of the value";

/// Returns the names and values in `text`, in order. Adds the number (from 1) and fault of each malformed line to
/// `faults`.
fn parse(text: &str, faults: &mut Vec<(usize, &'static str)>) -> Vec<(String, String)> {
    // Classic Mac OS ended lines with a lone carriage return.
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    let mut pairs = Vec::new();
    let mut rest = text.as_str();
    let mut line = 1;
    while !rest.is_empty() {
        let current = first_line(rest);
        let mut taken = current.len();
        match name_and_value(current) {
            Some((name, value_at)) => {
                let (value, used, fault) = value(&rest[value_at..]);
                taken = value_at + used;
                pairs.push((name.to_owned(), value));
                faults.extend(fault.map(|fault| (line, fault)));
            }
            None if is_blank_or_comment(current) => {}
            None => faults.push((line, NO_PAIR)),
        }
        line += rest[..taken].matches('\n').count() + 1;
        rest = rest.get(taken + 1..).unwrap_or_default();
    }
    pairs
}

fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}

fn is_blank_or_comment(text: &str) -> bool {
    let text = text.trim_start();
    text.is_empty() || text.starts_with('#')
}

/// The name that a line sets, and the offset of the value.
fn name_and_value(line: &str) -> Option<(&str, usize)> {
    let unindented = line.trim_start();
    let exported = unindented.strip_prefix("export").filter(|after| after.starts_with(char::is_whitespace));
    let named = exported.map_or(unindented, str::trim_start);
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let end = named.find(|c| !is_name(c))?;
    let (name, after) = named.split_at(end);
    let value = match after.trim_start().strip_prefix('=') {
        Some(value) => value,
        // A colon only separates name and value if whitespace follows, as in YAML, so that `http://x` is not a pair.
        None => after.strip_prefix(':').filter(|value| value.is_empty() || value.starts_with(char::is_whitespace))?,
    };
    (!name.is_empty()).then(|| (name, line.len() - value.len()))
}

/// Returns the value at the start of `text`, its length including the rest of its last line, and any fault.
fn value(text: &str) -> (String, usize, Option<&'static str>) {
    let line = first_line(text);
    let begin = line.len() - line.trim_start().len();
    let quote = line[begin..].chars().next().filter(|c| QUOTES.contains(c));
    if let Some((quote, inside)) = quote.and_then(|quote| Some((quote, quoted(text, begin + 1, quote)?))) {
        let used = inside.end + first_line(&text[inside.end..]).len();
        let written = &text[inside];
        return (if quote == '"' { unescape(written) } else { written.to_owned() }, used, None);
    }
    let written = line.split('#').next().unwrap_or_default().trim();
    let is_open = quote.is_some_and(|quote| !written[1.min(written.len())..].contains(quote));
    (written.to_owned(), line.len(), is_open.then_some(OPEN_QUOTE))
}

/// The byte range inside quotes that open at `begin`. `None` if they are not closed, or if anything but a comment
/// follows. A quote after a backslash only closes if no other quote does, as in `'C:\dir\'`.
fn quoted(text: &str, begin: usize, quote: char) -> Option<Range<usize>> {
    let closes = |at: &usize| is_blank_or_comment(first_line(&text[at + 1..]));
    let mut escaped = None;
    let mut backslashes = 0;
    for (at, c) in text[begin..].char_indices().map(|(offset, c)| (begin + offset, c)) {
        if c == quote {
            if backslashes % 2 == 0 {
                return Some(at).filter(closes).map(|end| begin..end);
            }
            escaped = escaped.or(Some(at).filter(closes));
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
    }
    escaped.map(|end| begin..end)
}

/// Replaces escape sequences, except unknown ones.
fn unescape(written: &str) -> String {
    let mut value = String::with_capacity(written.len());
    let mut chars = written.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            value.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => value.push('\n'),
            Some('r') => value.push('\r'),
            Some('t') => value.push('\t'),
            Some(c @ ('"' | '\\' | '$')) => value.push(c),
            other => {
                value.push('\\');
                value.extend(other);
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_text(text: &str) -> Environment {
        let (pairs, warnings) = read_text(text, Path::new("my.env"));
        let mut environment = Environment::default();
        environment.extend(pairs);
        environment.warn(warnings);
        environment
    }

    #[test]
    fn bad_lines_are_named_by_number_and_never_quoted() {
        let environment = from_text("B=1\nsk-secret-key\nB=2\nsk-secret-key\n");
        assert_eq!(environment.get("B"), Some("2"), "the last one counts");
        assert_eq!(
            environment.warnings(),
            [
                "line 2 of the environment file `my.env` is ignored: it is not `NAME=value`",
                "line 4 of the environment file `my.env` is ignored: it is not `NAME=value`"
            ]
        );
        let open = from_text("A=1\nB='open\nC=3\n");
        assert_eq!((open.get("B"), open.get("C")), (Some("'open"), Some("3")));
        assert_eq!(
            open.warnings(),
            ["line 2 of the environment file `my.env` has an unclosed quote; keeping it as part of the value"]
        );
    }

    #[test]
    fn a_named_file_must_be_readable_text() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("no.env");
        assert!(matches!(capture_environment(Some(&missing)), Err(EnvError::Unreadable { .. })));
        assert!(matches!(capture_environment(Some(directory.path())), Err(EnvError::Unreadable { .. })));
        let binary = directory.path().join("binary.env");
        std::fs::write(&binary, [b'A', b'=', 0xff]).unwrap();
        assert!(matches!(capture_environment(Some(&binary)), Err(EnvError::NotUtf8 { .. })));
    }

    fn one(line: &str) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        let pairs = parse(line, &mut faults);
        assert_eq!(faults, [], "{line}");
        pairs
    }

    /// Follows the majority where readers in other languages differ.
    #[test]
    fn values_are_what_other_readers_make_of_them() {
        for (line, expected) in [
            ("A=plain", "plain"),
            ("A=two words", "two words"),
            ("A = spaced ", "spaced"),
            ("  A=indented", "indented"),
            ("A=", ""),
            ("A: yaml", "yaml"),
            ("A: 'quoted yaml' # why", "quoted yaml"),
            ("A: http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1"),
            ("export A=exported", "exported"),
            ("export\tA: both", "both"),
            // Variables are not expanded, whatever the quotes.
            ("A=$HOME/x", "$HOME/x"),
            ("A=${HOME}", "${HOME}"),
            ("A=\"pa$$word ${HOME} $1\"", "pa$$word ${HOME} $1"),
            ("A='$HOME'", "$HOME"),
            ("A=`$HOME`", "$HOME"),
            ("A=$(cat /etc/passwd)", "$(cat /etc/passwd)"),
            // Quotes.
            ("A=\"double\"", "double"),
            ("A='single'", "single"),
            ("A=`back`", "back"),
            ("A=`it's \"both\"`", "it's \"both\""),
            ("A=\"it's\"", "it's"),
            ("A='say \"yes\"'", "say \"yes\""),
            ("A=\"  kept  \"", "  kept  "),
            ("A=\"\"", ""),
            ("A=don't", "don't"),
            ("A={\"json\": \"value\"}", "{\"json\": \"value\"}"),
            ("A=\"x\" y", "\"x\" y"),
            // Comments.
            ("A=value # why", "value"),
            ("A=value#why", "value"),
            ("A=# why", ""),
            ("A=\"value # none\" # why", "value # none"),
            ("A='value#none'#why", "value#none"),
            ("A=`#`", "#"),
            ("A=\"closed\" # not \"this\"", "closed"),
            // Escapes work only in double quotes.
            (r#"A="a\nb\tc\rd""#, "a\nb\tc\rd"),
            (r#"A="say \"yes\"""#, "say \"yes\""),
            (r#"A="back\\slash \d \$x""#, "back\\slash \\d $x"),
            (r"A='a\nb'", r"a\nb"),
            (r"A=`a\nb`", r"a\nb"),
            (r"A=a\nb", r"a\nb"),
            (r"A='C:\dir\'", r"C:\dir\"),
            (r"A='it\'s'", r"it\'s"),
            ("A.b-C_1=x=y", "x=y"),
        ] {
            let pairs = one(line);
            let [(name, value)] = pairs.as_slice() else { panic!("{line}: {pairs:?}") };
            assert_eq!(value, expected, "{line}");
            assert!(name.starts_with('A'), "{line}");
        }
    }

    #[test]
    fn quotes_reach_over_lines() {
        for quote in QUOTES {
            let text = format!("A={quote}one\n  two # three\n\nfour{quote} # why\nB=2\n");
            let pairs = one(&text);
            assert_eq!(pairs[0].1, "one\n  two # three\n\nfour", "{quote}");
            assert_eq!(pairs[1], ("B".to_owned(), "2".to_owned()));
        }
    }

    #[test]
    fn every_line_end_is_one_and_a_byte_order_mark_is_none_of_the_name() {
        for end in ["\n", "\r\n", "\r"] {
            let text = ["\u{feff}A=1", "", "# note", "B=\"x", "y\"", "C=3"].join(end);
            let pairs = one(&text);
            let expected = [("A", "1"), ("B", "x\ny"), ("C", "3")];
            assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())), "{end:?}");
        }
    }

    #[test]
    fn what_sets_nothing_is_told_by_line_and_what_follows_is_read() {
        let text = "A=1\n\nnonsense\nB=\"x\ny\"\nexport C\nhttp://x\n=5\nD='open\nE:tight\nF=6";
        let mut faults = Vec::new();
        let pairs = parse(text, &mut faults);
        let names: Vec<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["A", "B", "D", "F"]);
        assert_eq!(pairs[2].1, "'open");
        let none = |line| (line, NO_PAIR);
        assert_eq!(faults, [none(3), none(6), none(7), none(8), (9, OPEN_QUOTE), none(10)]);
    }
}
