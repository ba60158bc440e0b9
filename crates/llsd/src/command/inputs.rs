//! What `validate`, `render` and `explain` are given: resources, and with the flags of
//! [`FactsFlags`] what is known of the world around them; or a resource of the cluster by its name.

use clap::{ArgGroup, Args};
use llsd_offline::Input;

use super::cluster::ClusterFlags;
use super::facts_flags::FactsFlags;
use super::files::{FileFlags, name_of_a_resource};
use super::registry_access::Connection;
use super::{Printout, live, registry_facts};
use llsd_install::names;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("resources").args(["name", "files"]).required(true))]
pub(super) struct Inputs {
    /// A resource of the cluster, in place of files; what its operator would ask for is asked as yourself
    #[arg(value_parser = name_of_a_resource, conflicts_with_all = ["base", "image_config", "release", "facts"])]
    name: Option<String>,

    #[command(flatten)]
    place: ClusterFlags,

    /// The operator's namespace, for a resource of the cluster
    #[arg(long, env = "OPERATOR_NAMESPACE", default_value = names::NAMESPACE, value_name = "NAMESPACE",
          hide_env = true)]
    operator_namespace: String,

    #[command(flatten)]
    files: FileFlags,

    /// Ask registries what the images of servers and of external providers say of themselves, as yourself
    #[arg(long, conflicts_with = "name")]
    registry: bool,

    #[command(flatten)]
    connection: Connection,

    /// Fail with exit code 1 where there are warnings, too
    #[arg(long)]
    strict: bool,

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
        let input = self.read()?;
        Ok(Input { strict: self.strict, ..input })
    }

    fn read(&self) -> Result<Input, Printout> {
        if self.connection.is_given() && !self.registry {
            return Err(Printout::usage("--plain-http and --ca-file go with --registry"));
        }
        if let Some(name) = &self.name {
            return live::input(name, &self.place, &self.operator_namespace);
        }
        if self.place.kubeconfig.is_given() {
            return Err(Printout::usage(
                "--context and --kubeconfig are for a resource of the cluster by its name: files are read without a \
                 cluster",
            ));
        }
        let sources = self.files.open_all(self.facts.files())?;
        let mut input = self.facts.read_all()?;
        input.add_all(&sources);
        if let Some(namespace) = &self.place.namespace {
            input.place_in(namespace);
        }
        if self.registry {
            registry_facts::ask(&mut input, &self.connection)?;
        }
        Ok(input)
    }
}
