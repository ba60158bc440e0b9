//! An image that holds no wheels but packages as Python imports them, and says in labels what they are:
//! its tree is copied, into a folder of its own, without the distributions that are there already.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use llsd_provider::layout::{PACKAGES, UNPACKED};
use llsd_provider::python::normalised;
use llsd_provider::{Candidate, Decision, Distribution, Fault, Package};

/// Files and folders of a tree.
const MOST: usize = 200_000;
/// Of a text in a `.dist-info` folder.
const LONGEST: u64 = 16 << 20;

/// A tree and the distributions in it.
#[derive(Debug)]
pub(super) struct Unpacked {
    from: PathBuf,
    distributions: Vec<Distribution>,
}

impl Unpacked {
    /// The tree of an image's folder; `None` where there is none.
    pub(super) fn find(folder: &Path) -> io::Result<Option<Self>> {
        let from = folder.join(PACKAGES);
        if !from.is_dir() {
            return Ok(None);
        }
        let mut distributions = Vec::new();
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let text = |name: &str| text(&entry.path().join(name));
            let name = entry.file_name();
            let (metadata, record) = (text("METADATA"), text("RECORD"));
            distributions.extend(Distribution::read(&name.to_string_lossy(), &metadata, &record));
        }
        distributions.sort_by(|one, other| one.folder.cmp(&other.folder));
        Ok(Some(Self { from, distributions }))
    }

    /// The distributions, of which one brings the module that the server loads.
    pub(super) fn candidates(&self, module: &str) -> Vec<Candidate<'_>> {
        self.distributions.iter().map(|one| one.candidate(module)).collect()
    }

    /// Distributions that are installed in another version and have no `RECORD` that lists their files.
    pub(super) fn cannot_be_left_out(&self, decisions: &[Decision]) -> Vec<Fault> {
        let unknown = |(own, decision): (&Distribution, &Decision)| {
            let Decision::There { version: has, whose } = decision else { return None };
            let Distribution { folder, metadata, files } = own;
            (files.is_none() && *has != metadata.version).then(|| {
                let name = normalised(&metadata.name);
                let message = format!(
                    "it brings {name} {}, {whose} has {has}, and without RECORD its files cannot be left out",
                    metadata.version
                );
                Fault::new(folder, message, format!("leave {name} out of the image"))
            })
        };
        self.distributions.iter().zip(decisions).filter_map(unknown).collect()
    }

    /// Copies the tree to the place of this provider: what it brought, and what was done, line by line.
    pub(super) fn copy(
        &self,
        target: &Path,
        id: &str,
        decisions: &[Decision],
    ) -> io::Result<(Vec<Package>, String)> {
        let (mut packages, mut lines, mut left_out) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (own, decision) in self.distributions.iter().zip(decisions) {
            let (name, version) = (normalised(&own.metadata.name), own.metadata.version.clone());
            if let (Decision::There { version: has, whose }, Some(files)) = (decision, &own.files) {
                lines.push(format!("{name} {version} left out: {whose} has {has}\n"));
                left_out.extend(files.iter().map(|(path, _)| self.from.join(path)));
            } else {
                lines.push(format!("{name} {version} copied\n"));
                packages.push(Package { name, version, provider: id.to_owned() });
            }
        }
        let to = target.join(UNPACKED).join(id);
        if to.exists() {
            fs::remove_dir_all(&to)?;
        }
        copy(&self.from, &to, &left_out, &mut 0)?;
        Ok((packages, lines.concat()))
    }
}

/// Reads a text of a distribution; empty if it is missing, too long or not UTF-8.
fn text(path: &Path) -> String {
    let fits = fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= LONGEST);
    if fits { fs::read_to_string(path).unwrap_or_default() } else { String::new() }
}

/// Folders are made for what is in them: an empty one would be a package to Python.
fn copy(from: &Path, to: &Path, left_out: &BTreeSet<PathBuf>, count: &mut usize) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        *count += 1;
        if *count > MOST {
            return Err(io::Error::other(format!("there are more than {MOST} files in it")));
        }
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target, left_out, count)?;
        } else if !left_out.contains(&entry.path()) {
            fs::create_dir_all(to)?;
            if kind.is_symlink() {
                symlink(fs::read_link(entry.path())?, target)?;
            } else if kind.is_file() {
                fs::copy(entry.path(), target)?;
            }
        }
    }
    Ok(())
}
