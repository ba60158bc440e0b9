//! Runs the built `llsd` and catches all that it says.

use std::path::PathBuf;

use assert_cmd::Command;
use llsd_cases::files::yaml_files;
pub(crate) use llsd_cases::files::{repository, starter_base};
use llsd_yaml::documents;
use serde_json::Value;
use tempfile::TempDir;

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

/// A resource with a vLLM server, whose configuration is generated; `more` is added to its spec.
pub(crate) fn with_vllm(name: &str, more: &str) -> String {
    let resource = resource("demo", name);
    format!(
        "{resource}  providers: {{inference: {{provider: vllm, endpoint: \"http://vllm:8000\"}}}}\n{more}"
    )
}

/// Every file under `deploy/samples`, and the arguments by which it can be rendered.
pub(crate) fn samples() -> Vec<(String, Vec<String>)> {
    let text = |path: PathBuf| path.display().to_string();
    let facts = text(repository("crates/llsd/tests/data/facts-of-the-samples.yaml"));
    let base = text(starter_base("0.6.1"));
    yaml_files("deploy/samples")
        .into_iter()
        .map(|file| {
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            let mut arguments = vec!["-f".to_owned(), text(file), "--facts".into(), facts.clone()];
            if name == "v1alpha2-custom-image" {
                arguments.extend(["--base".to_owned(), base.clone()]);
            }
            (name, arguments)
        })
        .collect()
}

/// The documents of a text, read as kubectl reads them.
pub(crate) fn parse_documents(text: &str) -> Vec<Value> {
    documents(text).into_iter().map(|document| document.content.unwrap().to_json()).collect()
}

/// The one object of a kind.
pub(crate) fn object<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    objects.iter().find(|object| object["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}

/// Files for one test, gone with it.
pub(crate) struct Files(TempDir);

impl Files {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    /// Writes a file and tells its path.
    pub(crate) fn add(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }
}
