//! Where each file of a wheel goes below the folder that is put on Python's path, as `pip install
//! --target` places it.

use crate::python::normalised;

/// Where a file goes, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Below the folder.
    pub path: String,
    pub is_executable: bool,
    /// Its first line may name the Python that runs it.
    pub is_script: bool,
}

/// `None` for what belongs nowhere.
pub(super) fn place(path: &str, data: &str, name: &str, is_executable: bool) -> Option<Placed> {
    let at = |path: String| Placed { path, is_executable, is_script: false };
    let Some(below) = path.strip_prefix(data).and_then(|path| path.strip_prefix('/')) else {
        return Some(at(path.to_owned()));
    };
    let (scheme, below) = below.split_once('/')?;
    match scheme {
        "purelib" | "platlib" | "data" => Some(at(below.to_owned())),
        "headers" => Some(at(format!("include/{}/{below}", normalised(name)))),
        "scripts" => {
            Some(Placed { path: format!("bin/{below}"), is_executable: true, is_script: true })
        }
        _ => None,
    }
}
