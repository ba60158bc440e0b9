//! What a provider's image would hold, as a folder: one, or one for each machine where they differ.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use llsd_provider::ProviderPackage;
use llsd_provider::layout::{FILE, PACKAGES};
use llsd_provider::python::Architecture;

use crate::command::registry_access::Failure;

/// Writes a new folder; the files, line by line.
pub(super) fn write(
    folder: &Path,
    images: &[(Architecture, ProviderPackage)],
    wheels: &BTreeMap<String, Vec<u8>>,
) -> Result<String, Failure> {
    let failed = |path: &Path, why: &str| Failure::Usage(format!("{}: {why}", path.display()));
    match fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
        Ok(false) => return Err(failed(folder, "the folder is not empty; give a new one")),
        Err(_) if folder.exists() => return Err(failed(folder, "it is no folder")),
        Ok(true) | Err(_) => {}
    }
    let mut written = Vec::new();
    for (path, content) in files(folder, images, wheels) {
        fs::create_dir_all(path.parent().unwrap_or(&path))
            .and_then(|()| fs::write(&path, content))
            .map_err(|error| failed(&path, &error.to_string()))?;
        written.push(format!("{}\n", path.display()));
    }
    Ok(written.concat())
}

fn files(
    folder: &Path,
    images: &[(Architecture, ProviderPackage)],
    wheels: &BTreeMap<String, Vec<u8>>,
) -> Vec<(PathBuf, Vec<u8>)> {
    let is_same = images.windows(2).all(|pair| pair[0].1.to_yaml() == pair[1].1.to_yaml());
    let mut files = Vec::new();
    for (machine, package) in images.iter().take(if is_same { 1 } else { images.len() }) {
        let root = if is_same { folder.to_owned() } else { folder.join(machine.of_image()) };
        files.push((root.join(FILE), package.to_yaml().into_bytes()));
        for name in std::iter::once(&package.wheel).chain(&package.dependency_wheels) {
            let content = wheels.get(name).cloned().unwrap_or_default();
            files.push((root.join(PACKAGES).join(name), content));
        }
    }
    files
}
