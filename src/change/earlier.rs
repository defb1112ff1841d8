//! An earlier review of the same change, and what became of its findings.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use dialectic_engine::access::Environment;
use dialectic_engine::git::GitError;
use dialectic_engine::runner::Attachments;
use dialectic_engine::tools::{AccessError, Source};
use dialectic_record::answer::Solution;
use dialectic_record::change::{ChangeSet, EarlierFinding, EarlierReview, code_at, lines_of_code};
use dialectic_record::debate::{Attachment, Debate, Status};
use dialectic_record::points::{FindingDecision, FindingRuling, RaisedPoint, ReviewedFinding, describe_review};
use dialectic_record::settings::Settings;

use crate::error::Error;

use super::parts::numbered;
use super::{Change, Repository, Tree, Wanted, of_pipe};

const EARLIER: &str = "earlier-findings.txt";

impl Change {
    /// Adds the findings of an earlier review, so that the agents and the judge decide on them again.
    ///
    /// # Errors
    ///
    /// Returns an error if the findings contain an API key.
    pub fn since(mut self, earlier: &Debate, settings: &Settings, environment: &Environment) -> Result<Self, Error> {
        let kept = earlier.findings().into_iter().filter(ReviewedFinding::is_kept);
        let review = earlier_review(kept, earlier, &self.attachments);
        let findings = &review.findings;
        if !findings.is_empty() {
            let line = |(number, EarlierFinding { finding, .. }): (usize, &EarlierFinding)| {
                let place = finding.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
                format!("E{number} [{}] {place}{}\n", finding.severity.name(), finding.text)
            };
            let list: String = (1..).zip(findings).map(line).collect();
            let mut attachments = Attachments::new(settings, environment).unlimited();
            attachments.add(EARLIER.to_owned(), list.as_bytes())?;
            self.attachments = [&*attachments.into_all(), &*self.attachments].concat().into();
            let _ = write!(
                self.problem,
                " {EARLIER} lists what an earlier review found: E1 and on. Readers report one again only if they see that \
                 it is still there, and say its number. The judge rules on each of them too: `stands` where it is still \
                 there, `fixed` where the code no longer has it, `dismissed` where it never was a fault, `open` where the \
                 material shown does not tell. A new finding that is the same as an earlier one has its number in `sameAs`."
            );
        }
        self.set.since = Some(review);
        Ok(self)
    }
}

fn kept(earlier: &Debate, wanted: &Wanted) -> Vec<ReviewedFinding> {
    let is_wanted = |finding: &ReviewedFinding| wanted.has(path(finding).unwrap_or_default());
    earlier.findings().into_iter().filter(|finding| finding.is_kept() && is_wanted(finding)).collect()
}

fn path(finding: &ReviewedFinding) -> Option<&str> {
    finding.lead().place.as_ref().map(|place| place.path.as_str())
}

/// The `kept` findings of the `earlier` review. If the code of a finding is found in `attachments`, the finding gets
/// the lines at which it is found; otherwise, its lines do not change.
fn earlier_review(
    kept: impl IntoIterator<Item = ReviewedFinding>,
    earlier: &Debate,
    attachments: &[Attachment],
) -> EarlierReview {
    let finding = |kept: ReviewedFinding| {
        let mut finding = RaisedPoint { severity: kept.severity, fingerprint: None, ..kept.lead().clone() };
        let code = |place| lines_of_code(attachments, place, &code_at(&earlier.attachments, place));
        let now = finding.place.as_ref().and_then(code);
        if let Some((place, now)) = finding.place.as_mut().zip(now) {
            place.lines = Some(now);
        }
        EarlierFinding { id: kept.id, untouched: now.is_some(), finding }
    };
    EarlierReview { id: earlier.id.clone(), findings: kept.into_iter().map(finding).collect() }
}

/// `now` contains the current texts of the findings' files. `fixed_by` says why a finding is fixed, or returns `None`.
fn judged_again(
    kept: Vec<ReviewedFinding>,
    earlier: &Debate,
    set: ChangeSet,
    now: &[Attachment],
    fixed_by: impl Fn(&EarlierFinding) -> Option<&'static str>,
) -> Debate {
    let since = earlier_review(kept, earlier, now);
    let change = Some(Arc::new(ChangeSet { since: Some(since), ..set }));
    let mut debate = Debate { status: Status::Completed, change, ..Debate::default() };
    let fixed = debate.earlier().filter_map(|(number, finding)| {
        Some(FindingRuling {
            finding: number,
            decision: FindingDecision::Fixed,
            severity: None,
            same_as: None,
            reason: fixed_by(finding)?.to_owned(),
        })
    });
    let finding_rulings: Vec<FindingRuling> = fixed.collect();
    let description = describe_review(&debate, &finding_rulings, "");
    debate.final_solution = Some(Solution { description, finding_rulings, ..Solution::default() });
    debate
}

/// The review of a piped diff that shows no text, so that no earlier finding in the `wanted` files can be judged.
pub fn unseen(earlier: &Debate, wanted: &Wanted) -> Debate {
    judged_again(kept(earlier, wanted), earlier, of_pipe(), &[], |_| None)
}

impl Repository {
    /// Returns the review for a repository without changes. It says what became of the earlier findings in the `wanted`
    /// files.
    ///
    /// # Errors
    ///
    /// Returns an error if Git or the file system fails.
    pub fn without_change(
        &self,
        earlier: &Debate,
        wanted: &Wanted,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<Debate, Error> {
        let kept = kept(earlier, wanted);
        let change = earlier.change.as_deref();
        let undone = change.map(|change| self.undone(change)).transpose()?.flatten();
        // Undoing the change fixes a finding outside the changed files only if the whole change was undone. This is
        // certain only if all changed files are wanted.
        let is_all_wanted = change.is_some_and(|change| {
            let left_out = change.left_out.iter().map(|one| &one.path);
            change.files.iter().map(|file| &file.path).chain(left_out).all(|path| wanted.has(path))
        });
        let is_in_change = |path: &str| change.is_some_and(|change| change.file(path).is_some());
        let undone = |path: Option<&str>| undone.filter(|_| is_all_wanted || path.is_some_and(is_in_change));
        let base = Some(self.base.clone());
        let set = ChangeSet { of: self.of.clone(), base, head: self.head.clone(), ..ChangeSet::default() };
        let paths: BTreeSet<&str> = kept.iter().filter_map(path).filter(|path| undone(Some(path)).is_none()).collect();
        let (now, gone) = self.texts(&set, paths, settings, environment)?;
        let fixed_by = |finding: &EarlierFinding| {
            let place = finding.finding.place.as_ref();
            let is_known = |path: &String| gone.contains(path) || now.iter().any(|file| file.name == *path);
            let has_changed = || {
                !finding.untouched
                    && place
                        .is_some_and(|place| is_known(&place.path) && !code_at(&earlier.attachments, place).is_empty())
            };
            let no_longer = || has_changed().then_some("its lines were changed or removed");
            undone(place.map(|place| place.path.as_str())).or_else(no_longer)
        };
        Ok(judged_again(kept, earlier, set, &now, fixed_by))
    }

    /// How an earlier change was undone; `None` if it may still exist somewhere.
    fn undone(&self, earlier: &ChangeSet) -> Result<Option<&'static str>, GitError> {
        if earlier.base.as_ref() != Some(&self.base) || earlier.of != self.of {
            return Ok(None);
        }
        let Some((old, now)) = earlier.head.as_ref().zip(self.head.as_ref()) else {
            // Do not say that the change was undone: another branch may be checked out now.
            let are_working_trees = earlier.head.is_none() && self.head.is_none();
            return Ok(are_working_trees.then_some("the change no longer exists"));
        };
        // The head may now be on another branch, so check that it descends from the old head.
        let Some(old) = self.git.commit(old)? else { return Ok(None) };
        let is_built_upon = self.git.merge_base(&old, now)?.as_ref() == Some(&old);
        Ok(is_built_upon.then_some("the change was undone"))
    }

    /// The texts of the files at `paths` that can be read, and the paths without a file.
    fn texts(
        &self,
        set: &ChangeSet,
        paths: BTreeSet<&str>,
        settings: &Settings,
        environment: &Environment,
    ) -> Result<(Vec<Attachment>, Vec<String>), Error> {
        let directory = Tree::of(&self.git, environment, settings)?.directory;
        let is_on_disk = |path: &&str| !matches!(directory.read(path, 0), Err(AccessError::NotFound));
        let on_disk: BTreeSet<&str> = paths.iter().copied().filter(is_on_disk).collect();
        let source = Source::after(set, directory, self.git.clone())?;
        // If the head is a commit, the working tree may belong to a different commit.
        let listed = self.head.as_ref().map(|_| source.paths().into_iter().collect::<BTreeSet<_>>());
        let is_there = |path: &String| match &listed {
            Some(listed) => listed.contains(path),
            None => on_disk.contains(path.as_str()),
        };
        let (there, gone): (Vec<String>, Vec<String>) = paths.into_iter().map(str::to_owned).partition(is_there);
        let mut now = Vec::new();
        source.visit(&there, |path, text| {
            let (name, text) = (path.to_owned(), numbered(text).into());
            now.push(Attachment { name, sha256: String::new(), text, part: None });
            true
        })?;
        Ok((now, gone))
    }
}
