//! Selects several debates by several names.

use std::path::Path;

use super::{Directory, Entry, StoreError};

impl Directory {
    /// The debates that match `names`, each once, in the order of the names. A name is one for [`Directory::find`], or
    /// a pattern of paths (`*`, `?`, `[...]`), whose matches are sorted.
    ///
    /// # Errors
    /// A name matches none or several, or a pattern matches nothing.
    pub fn select<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Entry>, StoreError> {
        let mut selected: Vec<Entry> = Vec::new();
        for name in names {
            let found = if is_pattern(name) { matching(name)? } else { vec![self.find(name)?] };
            for entry in found {
                if selected.iter().all(|known| !is_same(&known.state, &entry.state)) {
                    selected.push(entry);
                }
            }
        }
        Ok(selected)
    }
}

/// Whether two paths, such as `x.json` and `./x.json`, lead to the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    one == other || real(one) == real(other)
}

/// Whether a name is a pattern; an existing file with such characters is not.
fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '[']) && !Path::new(name).exists()
}

/// The matching debates, without directories, which patterns such as `debates/*` do not intend.
fn matching(pattern: &str) -> Result<Vec<Entry>, StoreError> {
    let named = || pattern.to_owned();
    let paths = glob::glob(pattern).map_err(|source| StoreError::Pattern { pattern: named(), source })?;
    let mut entries = Vec::new();
    for path in paths {
        let path = path.map_err(|source| StoreError::Search { pattern: named(), source })?;
        if !path.is_dir() {
            entries.push(Entry::of_state(&path));
        }
    }
    if entries.is_empty() { Err(StoreError::NoMatch { pattern: named() }) } else { Ok(entries) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_and_patterns_select_each_debate_once() {
        let temporary = tempfile::tempdir().unwrap();
        for name in ["b.json", "a.json", "a.events.jsonl", "[x].json", "sub/c.json"] {
            let path = temporary.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "{}").unwrap();
        }
        let directory = Directory::at(temporary.path());
        let select = |names: &[&str]| {
            let names: Vec<String> =
                names.iter().map(|name| temporary.path().join(name).to_str().unwrap().to_owned()).collect();
            let selected = directory.select(names.iter().map(String::as_str));
            selected.map(|entries| entries.iter().map(Entry::id).collect::<Vec<_>>())
        };
        assert_eq!(select(&["b.json", "*", "sub/../a.json"]).unwrap(), ["b", "[x]", "a"]);
        assert_eq!(select(&["[x].json"]).unwrap(), ["[x]"]);
        assert_eq!(select(&["*/?.json"]).unwrap(), ["c"]);
        assert!(matches!(select(&["*.md"]), Err(StoreError::NoMatch { .. })));
        assert!(matches!(select(&["[a"]), Err(StoreError::Pattern { .. })));
        assert_eq!(directory.select(["a"]).unwrap().len(), 1);
    }
}
