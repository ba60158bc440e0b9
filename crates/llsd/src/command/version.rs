//! `llsd version`: which program this is, and what it knows.

use clap::Args;
use llsd_install::names::OLDEST_KUBERNETES;
use llsd_plan::objects::DEFAULT_OPERATOR_IMAGE;
use llsd_plan::releases::{Releases, ServerFamily};
use serde_json::{Value, json};

use super::Printout;
use super::format::OutputFormat;

/// Print the version, the commit it was built from, and the server releases that it knows
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = OutputFormat::Text, value_name = "FORMAT")]
    output: OutputFormat,
}

pub(super) fn run(arguments: &Arguments) -> Printout {
    let known = known();
    Printout::fine(arguments.output.print(&known, || lines(&known)))
}

fn known() -> Value {
    let of = |server: ServerFamily, prefix: &str| -> Vec<&str> {
        let rows = Releases::shipped().all().iter().filter(|release| release.server == server);
        rows.map(|release| release.name.trim_start_matches(prefix)).collect()
    };
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        // Given by whoever builds a release; a build of a working tree has none.
        "commit": option_env!("LLSD_COMMIT").filter(|commit| !commit.is_empty()),
        "image": DEFAULT_OPERATOR_IMAGE,
        "resource": ["v1alpha1", "v1alpha2"],
        "kubernetes": format!("{OLDEST_KUBERNETES} and newer"),
        "servers": {"llama-stack": of(ServerFamily::LlamaStack, ""), "ogx": of(ServerFamily::Ogx, "ogx-")},
    })
}

/// The lines for people.
pub(super) fn text() -> String {
    lines(&known())
}

fn lines(known: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("of a working tree").to_owned();
    let list = |value: &Value| {
        let words: Vec<String> = value.as_array().into_iter().flatten().map(word).collect();
        words.join(", ")
    };
    format!(
        "llsd {}\ncommit:      {}\nimage:       {}\nresource:    {}\nKubernetes:  {}\nllama-stack: {}\nOGX:         {}\n",
        word(&known["version"]),
        word(&known["commit"]),
        word(&known["image"]),
        list(&known["resource"]),
        word(&known["kubernetes"]),
        list(&known["servers"]["llama-stack"]),
        list(&known["servers"]["ogx"]),
    )
}
