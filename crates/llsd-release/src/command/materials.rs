//! `llsd-release materials`: writes the bill of materials and the provenance of a build.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use llsd_release::bill_of_materials::bill_of_materials;
use llsd_release::provenance::{Build, provenance};
use serde_json::Value;

use super::files::{read_text, write};
use super::source::Source;

/// Write what the program is made of, and from
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    source: Source,

    /// The compiler's target, one for each architecture
    #[arg(long = "target", value_name = "TARGET", required = true)]
    targets: Vec<String>,

    /// Who builds: an address that tells it to whoever verifies
    #[arg(long, value_name = "BUILDER", default_value = "local")]
    builder: String,

    /// Write them into this folder
    #[arg(long, value_name = "DIR")]
    output_dir: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<String, String> {
    let release = arguments.source.release();
    let lock = read_text("Cargo.lock".as_ref())?;
    let metadata = metadata(&arguments.targets)?;
    let bill = bill_of_materials(&metadata, &lock, &release).map_err(|error| error.to_string())?;
    let compiler = said("rustc", &["--version"])?.trim().to_owned();
    let build = Build {
        builder: arguments.builder.clone(),
        targets: arguments.targets.clone(),
        compiler,
        lock,
    };
    let mut written = Vec::new();
    for (name, said) in [("sbom.cdx.json", bill), ("provenance.json", provenance(&build, &release))]
    {
        let path = arguments.output_dir.join(name);
        write(&path, format!("{said:#}\n"))?;
        written.push(format!("{}\n", path.display()));
    }
    Ok(written.concat())
}

fn metadata(targets: &[String]) -> Result<Value, String> {
    let mut arguments = vec!["metadata", "--format-version", "1", "--locked"];
    for target in targets {
        arguments.extend(["--filter-platform", target]);
    }
    let text = said("cargo", &arguments)?;
    serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))
}

fn said(program: &str, arguments: &[&str]) -> Result<String, String> {
    let done = Command::new(program).args(arguments).output();
    let done = done.map_err(|error| format!("{program}: {error}"))?;
    if !done.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    String::from_utf8(done.stdout).map_err(|error| format!("{program}: {error}"))
}
