//! Turns the library's remedies into hints of the command line.

use dialectic_base::diagnostic::Remedy;

/// The hint of an error, including its remedy on the command line.
pub fn hint(said: Option<String>, remedy: Option<&Remedy>) -> Option<String> {
    let Some(remedy) = remedy else { return said };
    let how = match remedy {
        Remedy::NameConfig(path) => format!(": --config {}", path.display()),
        Remedy::NameConfigOfRecord => ": --config <path>".to_owned(),
        Remedy::NameEnvFile(path) => format!(": --env-file {}", path.display()),
        Remedy::NameContext(path) => format!(": --context {}", path.display()),
        Remedy::NameProvider => "write `provider/model`".to_owned(),
        Remedy::SetUp => "; or try `--offline`, which needs no key; or run `dialectic init`. With the \
                          program `claude` or `codex`, `-m claude` and `-m codex` need no key either"
            .to_owned(),
        Remedy::GoOffline => ", or try `--offline`, which needs no key".to_owned(),
        Remedy::LimitQuestion => " with --max-cost".to_owned(),
        Remedy::LimitCallsOfQuestion => " with --max-calls".to_owned(),
        Remedy::Set("agents") => ", or with --agents".to_owned(),
        Remedy::Set("debate.rounds") => " (--rounds sets it)".to_owned(),
        Remedy::Set("debate.terminationCondition") => " (--until sets it)".to_owned(),
        Remedy::Set(_) => String::new(),
        Remedy::Resume(id) => format!(": dialectic resume {id}"),
        Remedy::List => "`dialectic list` shows the saved debates".to_owned(),
        Remedy::Verify => "; `dialectic verify` shows which parts are intact".to_owned(),
        Remedy::Show => "; `dialectic show` shows the debate so far".to_owned(),
    };
    Some(said.unwrap_or_default() + &how)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_base::diagnostic::{found_config, remedy_of_warning};

    #[test]
    fn a_warning_of_a_found_configuration_has_its_remedy() {
        let warning = found_config("a `b`.json".as_ref(), "and c");
        assert_eq!(remedy_of_warning(&warning), Some(Remedy::NameConfig("a `b`.json".into())));
        let shown = hint(Some(warning.clone()), remedy_of_warning(&warning).as_ref()).unwrap();
        assert_eq!(
            shown,
            "`a `b`.json` was found and not named, and c. If you trust the file, name it as the configuration: --config a `b`.json"
        );
        assert_eq!(remedy_of_warning("the file is old"), None);
    }

    #[test]
    fn the_command_line_adds_its_means_to_what_the_library_says() {
        let said = || Some("if you trust that file, name it".to_owned());
        let named = Remedy::NameConfig("a.json".into());
        assert_eq!(hint(said(), Some(&named)).unwrap(), "if you trust that file, name it: --config a.json");
        assert_eq!(hint(said(), None), said());
        assert_eq!(hint(None, Some(&Remedy::List)).unwrap(), "`dialectic list` shows the saved debates");
        assert_eq!(hint(None, None), None);
    }
}
