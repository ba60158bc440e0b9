//! Where `llsd up` keeps things: environments in the user's cache, the state of a server in its data folder.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};

/// The folder of the data of all servers whose files are in one folder.
const DATA: &str = ".llsd";

/// The user's cache of this program: LLSD_CACHE, else as the XDG specification says.
pub(super) fn cache() -> Result<PathBuf, String> {
    cache_of(|name| env::var_os(name).filter(|value| !value.is_empty()))
}

fn cache_of(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, String> {
    let set = |name| variable(name).map(PathBuf::from);
    let root = set("LLSD_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("llsd")))
        .or_else(|| Some(set("HOME")?.join(".cache").join("llsd")))
        .ok_or("none of LLSD_CACHE, XDG_CACHE_HOME and HOME is set")?;
    // The server runs in the folder of its data, from where a relative path leads elsewhere.
    let root = path::absolute(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    Ok(root.join("up"))
}

/// The folder of a server's data, beside the file unless another one is asked for, as an absolute path. It is made with
/// a folder that git ignores.
pub(super) fn data(asked: Option<&Path>, file: &Path, name: &str) -> io::Result<PathBuf> {
    if let Some(folder) = asked {
        private(folder)?;
        return fs::canonicalize(folder);
    }
    let all = beside(file).join(DATA);
    private(&all)?;
    let ignored = all.join(".gitignore");
    if !ignored.exists() {
        fs::write(&ignored, "*\n")?;
    }
    let folder = all.join(name);
    private(&folder)?;
    fs::canonicalize(folder)
}

/// The folder that a file is in; stdin is here.
pub(super) fn beside(file: &Path) -> PathBuf {
    let parent = if file.is_dir() { Some(file) } else { file.parent() };
    parent.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// A folder that only its user reads: databases and configurations are in it.
fn private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_an_absolute_path_also_where_a_relative_one_is_set() {
        let cache = |set: &[(&str, &str)]| {
            cache_of(|name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
        };
        let here = env::current_dir().unwrap();
        assert_eq!(cache(&[("LLSD_CACHE", "cache")]).unwrap(), here.join("cache/up"));
        assert_eq!(cache(&[("XDG_CACHE_HOME", "./xdg")]).unwrap(), here.join("xdg/llsd/up"));
        let of_home = cache(&[("HOME", "/home/you")]).unwrap();
        assert_eq!(of_home, Path::new("/home/you/.cache/llsd/up"));
        assert!(cache(&[]).is_err());
    }

    #[test]
    fn the_data_of_a_server_is_beside_its_file_unless_asked_otherwise() {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        let file = root.join("stack.yaml");
        assert_eq!(data(None, &file, "demo").unwrap(), root.join(".llsd/demo"));
        assert_eq!(fs::read_to_string(root.join(".llsd/.gitignore")).unwrap(), "*\n");
        let other = root.join("a/b");
        assert_eq!(data(Some(&other), &file, "demo").unwrap(), other);
        assert!(!other.join(".gitignore").exists());
        assert_eq!(beside(Path::new("stack.yaml")), Path::new("."));
        assert_eq!(beside(&root), root);
    }
}
