//! What `validate`, `render` and `explain` are given: resources, and with the flags of
//! [`FactsFlags`] what is known of the world around them; or a resource of the cluster by its name.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use llsd_offline::Input;

use super::cluster::NamespaceFlag;
use super::facts_flags::FactsFlags;
use super::files::open_all;
use super::registry_access::Connection;
use super::{Printout, live, provider_facts};
use llsd_install::names;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("resources").args(["name", "files"]).required(true))]
pub(super) struct Inputs {
    /// A resource of the cluster, in place of files; what its operator would ask for is asked as yourself
    #[arg(conflicts_with_all = ["base", "image_config", "release", "facts"])]
    name: Option<String>,

    #[command(flatten)]
    place: NamespaceFlag,

    /// The operator's namespace, for a resource of the cluster
    #[arg(long, env = "OPERATOR_NAMESPACE", default_value = names::NAMESPACE, value_name = "NAMESPACE",
          hide_env = true)]
    operator_namespace: String,

    /// Files with resources in YAML or JSON; `-` is stdin
    #[arg(short = 'f', long = "filename", value_name = "FILE", num_args = 1..)]
    files: Vec<PathBuf>,

    /// Ask registries what the images of external providers say of themselves, as yourself
    #[arg(long, conflicts_with = "name")]
    registry: bool,

    #[command(flatten)]
    connection: Connection,

    #[command(flatten)]
    facts: FactsFlags,
}

impl Inputs {
    /// What stands in the place of a resource's name.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Reads everything before anything is checked, so that a mistyped file name is not lost among
    /// findings. The error is one of usage.
    pub(super) fn read_all(&self) -> Result<Input, Printout> {
        if self.connection.is_given() && !self.registry {
            return Err(Printout::usage("--plain-http and --ca-file go with --registry"));
        }
        if let Some(name) = &self.name {
            return live::input(name, &self.place, &self.operator_namespace);
        }
        if self.place.namespace.is_some() {
            return Err(Printout::usage(
                "--namespace is for a resource of the cluster by its name",
            ));
        }
        let sources = open_all(&self.files, self.facts.files())?;
        let mut input = self.facts.read_all()?;
        for source in &sources {
            input.add(source);
        }
        if self.registry {
            provider_facts::ask(&mut input, &self.connection)?;
        }
        Ok(input)
    }
}
