//! Paths within an image, in the one form that they are compared in: `app/config.yaml`.

/// Without leading `/` and `./`, without empty and `.` parts. `None` for the root itself, for
/// anything with `..`, and for what no file can be named.
pub fn plain_path(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return None,
            part if part.contains('\0') => return None,
            part => parts.push(part),
        }
    }
    if parts.is_empty() {
        return None;
    }
    Some(parts.join("/"))
}

/// Where a symbolic link at `link` leads. `None` where it climbs out of the image.
pub(super) fn symbolic_target(link: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = match link.rsplit_once('/') {
        Some((folder, _)) if !target.starts_with('/') => folder.split('/').collect(),
        _ => Vec::new(),
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty() && !target.contains('\0')).then(|| parts.join("/"))
}

/// What is left of `path` below `ancestor`: empty for the same path, `None` for another branch.
pub(super) fn below<'a>(path: &'a str, ancestor: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(ancestor)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_path_are_one() {
        for path in ["a/b", "/a/b", "./a/b", "//a/./b", "a/b/"] {
            assert_eq!(plain_path(path).unwrap(), "a/b");
        }
        for path in ["", "/", ".", "a/../b", "..", "../a", "a\0b"] {
            assert_eq!(plain_path(path), None, "{path}");
        }
    }

    #[test]
    fn links_stay_within_the_image() {
        let lead = |link, target| symbolic_target(link, target);
        assert_eq!(lead("a/b", "c").unwrap(), "a/c");
        assert_eq!(lead("a/b", "/c").unwrap(), "c");
        assert_eq!(lead("a/b/c", "../../d").unwrap(), "d");
        assert_eq!(lead("b", "./x//y").unwrap(), "x/y");
        assert_eq!(lead("a/b", "../../etc"), None);
        assert_eq!(lead("a", "/../etc"), None);
        assert_eq!(lead("a", ""), None);
    }
}
