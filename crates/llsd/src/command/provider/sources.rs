//! The wheels that `llsd provider package` is given, by themselves or in folders.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use llsd_provider::Fault;
use llsd_provider::wheel::Wheel;

use crate::command::registry_access::{Failure, Remarks};

/// The wheels by their paths, in the order of their names.
fn paths(sources: &[PathBuf]) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let unread = |path: &Path, why: &dyn std::fmt::Display| {
        Failure::Usage(format!("{}: {why}", path.display()))
    };
    let mut found = BTreeMap::new();
    for source in sources {
        let files = if source.is_dir() {
            let own = wheels_in(source).map_err(|error| unread(source, &error))?;
            let dist = source.join("dist");
            let own = if own.is_empty() && dist.is_dir() { wheels_in(&dist) } else { Ok(own) };
            own.map_err(|error| unread(&dist, &error))?
        } else {
            vec![source.clone()]
        };
        if files.is_empty() {
            let place = source.display();
            let message = format!(
                "there are no wheels in it; `pip wheel --wheel-dir {place}/dist {place}` builds them"
            );
            return Err(unread(source, &message));
        }
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            found.insert(name, file);
        }
    }
    Ok(found)
}

fn wheels_in(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "whl") {
            files.push(path);
        }
    }
    Ok(files)
}

/// The wheels, opened; what is wrong with them is among the remarks.
pub(super) fn opened(
    sources: &[PathBuf],
    remarks: &mut Remarks,
) -> Result<Vec<Wheel<File>>, Failure> {
    let (mut wheels, mut is_wrong) = (Vec::new(), false);
    for (name, path) in paths(sources)? {
        let file = File::open(&path)
            .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
        match Wheel::open(&name, file) {
            Ok(wheel) => wheels.push(wheel),
            Err(faults) => {
                is_wrong = true;
                for Fault { at, message, remedy } in &faults {
                    remarks.problem(at, message, remedy);
                }
            }
        }
    }
    if is_wrong { Err(Failure::Remarked) } else { Ok(wheels) }
}

/// The wheels' bytes by their names.
pub(super) fn contents(sources: &[PathBuf]) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let mut contents = BTreeMap::new();
    for (name, path) in paths(sources)? {
        let bytes = fs::read(&path)
            .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
        contents.insert(name, bytes);
    }
    Ok(contents)
}
