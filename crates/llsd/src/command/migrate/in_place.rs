//! `llsd migrate --in-place`: each result comes into its file.

use std::fmt::Write as _;
use std::path::Path;

use crate::command::{Exit, Printout, whole_file};

/// Writes the files that changed, and none where one cannot be written as what it is. `said` goes to stderr before
/// what is said of the files.
pub(super) fn write_back(changed: &[(String, String)], said: String) -> Result<Printout, Printout> {
    if let Some((name, _)) = changed.iter().find(|(name, _)| is_json(name)) {
        let message =
            format!("{name} is JSON, and the result is YAML: print it without --in-place");
        return Err(Printout::usage(&message));
    }
    let mut done = Printout { stdout: String::new(), stderr: said, exit: Exit::Fine };
    for (name, text) in changed {
        if let Err(error) = whole_file::write(Path::new(name), text) {
            let _ = writeln!(done.stderr, "error: {name}: {error}");
            done.exit = Exit::Usage;
            return Err(done);
        }
        let _ = writeln!(done.stderr, "wrote {name}");
    }
    Ok(done)
}

fn is_json(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("json"))
}

#[cfg(test)]
mod tests {
    use std::fs::{read_to_string, write};

    use super::*;

    #[test]
    fn where_a_file_cannot_be_written_those_before_it_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (one, gone, three) = (path("one.yaml"), path("gone/two.yaml"), path("three.yaml"));
        write(&one, "old").unwrap();
        write(&three, "old").unwrap();
        let changed = [&one, &gone, &three].map(|name| (name.clone(), "new".to_owned()));
        let failed = write_back(&changed, "2 of 2 resources migrated\n".to_owned()).unwrap_err();
        assert_eq!(failed.exit, Exit::Usage);
        let told = format!("2 of 2 resources migrated\nwrote {one}\nerror: {gone}: ");
        assert!(failed.stderr.starts_with(&told), "{}", failed.stderr);
        assert_eq!(read_to_string(&one).unwrap(), "new");
        assert_eq!(read_to_string(&three).unwrap(), "old");
    }
}
