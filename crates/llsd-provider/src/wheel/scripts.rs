//! Programs that a wheel brings: those of its entry points, written as pip writes them, and its own
//! scripts, whose first line names the Python that runs them.

/// The first line of a program: the installer does not know where the server's Python lies.
const SHEBANG: &str = "#!/usr/bin/env python3";

/// The programs that `entry_points.txt` asks for, by name.
pub(super) fn of_entry_points(text: &str) -> Vec<(String, String)> {
    let mut section = "";
    let mut programs = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name.trim();
        } else if matches!(section, "console_scripts" | "gui_scripts") && !line.starts_with('#') {
            programs.extend(program(line));
        }
    }
    programs
}

/// `acme = acme.cli:main [extra]`.
fn program(line: &str) -> Option<(String, String)> {
    let (name, target) = line.split_once('=')?;
    let target = target.split('[').next().unwrap_or_default().trim();
    let (module, function) = target.split_once(':')?;
    let (name, module, function) = (name.trim(), module.trim(), function.trim());
    let is_path = |text: &str| {
        text.split('.')
            .all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_'))
    };
    let is_name = !name.is_empty()
        && !name.starts_with('.')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if !is_name || !is_path(module) || !is_path(function) {
        return None;
    }
    let first = function.split('.').next().unwrap_or_default();
    let text = format!(
        "{SHEBANG}\nimport sys\nfrom {module} import {first}\n\nif __name__ == \"__main__\":\n    \
         sys.exit({function}())\n"
    );
    Some((name.to_owned(), text))
}

/// A script whose first line stands for the Python that it is installed for.
pub(super) fn with_python(content: &[u8]) -> Option<Vec<u8>> {
    let rest = content.strip_prefix(b"#!python")?;
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    Some([SHEBANG.as_bytes(), &rest[end..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_points_become_programs() {
        let text = "[other]\nx = y:z\n[console_scripts]\nacme = acme.cli:App.run [extra]\n\
                    ../evil = a:b\nbad = a:b; import os\n";
        let programs = of_entry_points(text);
        assert_eq!(programs.len(), 1);
        assert_eq!(programs[0].0, "acme");
        assert!(programs[0].1.contains("from acme.cli import App\n"));
        assert!(programs[0].1.contains("sys.exit(App.run())"));
    }

    #[test]
    fn a_script_names_the_python_that_there_is() {
        assert_eq!(with_python(b"#!pythonw\nx").unwrap(), b"#!/usr/bin/env python3\nx");
        assert_eq!(with_python(b"#!/bin/sh\n"), None);
    }
}
