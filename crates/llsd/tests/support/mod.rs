//! Runs the built `llsd` and catches all that it says.

#![allow(dead_code)] // Every test file uses its own part of it.

use assert_cmd::Command;

pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn run(arguments: &[&str], stdin: &str) -> Run {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("llsd"))
        .args(arguments)
        .write_stdin(stdin)
        .output()
        .unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn validate_stdin(text: &str) -> Run {
    run(&["validate", "-f", "-"], text)
}

/// Also tells the name that the findings carry.
pub(crate) fn validate_file(bytes: &[u8]) -> (Run, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stack.yaml").display().to_string();
    std::fs::write(&file, bytes).unwrap();
    (run(&["validate", "-f", &file], ""), file)
}

/// The smallest resource, in five lines.
pub(crate) fn resource(namespace: &str, name: &str) -> String {
    format!(
        "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\n\
         metadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  distribution: {{name: starter}}\n"
    )
}
