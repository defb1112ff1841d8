//! Turns the library's remedies into hints of the command line.

use dialectic_base::diagnostic::Remedy;

/// The hint of an error, including its remedy on the command line.
pub fn hint(said: Option<String>, remedy: Option<&Remedy>) -> Option<String> {
    let Some(remedy) = remedy else { return said };
    let how = match remedy {
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

    #[test]
    fn the_command_line_adds_its_means_to_what_the_library_says() {
        let said = || Some("set a key".to_owned());
        let offline = hint(said(), Some(&Remedy::GoOffline)).unwrap();
        assert_eq!(offline, "set a key, or try `--offline`, which needs no key");
        assert_eq!(hint(said(), None), said());
        assert_eq!(hint(None, Some(&Remedy::List)).unwrap(), "`dialectic list` shows the saved debates");
        assert_eq!(hint(None, None), None);
    }
}
