//! The layouts of config.yaml, the oldest first, and everything in which they differ beyond their
//! provider types. The rest of generation asks here and compares no layouts itself.

use super::{Era, Server};
use crate::connection::Form;

/// How a configuration is laid out; the names are the releases that share a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    UpTo0_2_12,
    From0_2_13,
    V0_3,
    V0_4,
    V0_5,
    V0_7,
    Ogx1_0,
    Ogx1_1,
    Ogx1_2,
    Ogx1_4,
    Ogx1_5,
}

use Layout::{
    From0_2_13, Ogx1_0, Ogx1_1, Ogx1_2, Ogx1_4, Ogx1_5, UpTo0_2_12, V0_3, V0_4, V0_5, V0_7,
};

impl Layout {
    pub(super) const ALL: [Self; 11] =
        [UpTo0_2_12, From0_2_13, V0_3, V0_4, V0_5, V0_7, Ogx1_0, Ogx1_1, Ogx1_2, Ogx1_4, Ogx1_5];
    pub(super) const NEWEST: Self = Ogx1_5;

    /// The releases whose catalogues belong to the layout, the oldest first.
    pub(super) fn releases(self) -> &'static [&'static str] {
        match self {
            UpTo0_2_12 => &["0.2.12"],
            From0_2_13 => &["0.2.24"],
            V0_3 => &["0.3.5"],
            V0_4 => &["0.4.7"],
            V0_5 => &["0.5.4", "0.6.1"],
            V0_7 => &["0.7.3"],
            Ogx1_0 => &["ogx-1.0.4"],
            Ogx1_1 => &["ogx-1.1.3"],
            Ogx1_2 => &["ogx-1.2.5", "ogx-1.3.1"],
            Ogx1_4 => &["ogx-1.4.1"],
            Ogx1_5 => &["ogx-1.5.0"],
        }
    }

    pub(super) fn named(self) -> &'static str {
        match self {
            UpTo0_2_12 => "up to 0.2.12",
            From0_2_13 => "0.2.13 to 0.2.24",
            V0_3 => "0.3",
            V0_4 => "0.4",
            V0_5 => "0.5 and 0.6",
            V0_7 => "0.7",
            Ogx1_0 => "OGX 1.0",
            Ogx1_1 => "OGX 1.1",
            Ogx1_2 => "OGX 1.2 and 1.3",
            Ogx1_4 => "OGX 1.4",
            Ogx1_5 => "OGX 1.5",
        }
    }

    pub(super) fn server(self) -> Server {
        if self < Ogx1_0 { Server::LlamaStack } else { Server::Ogx }
    }
}

/// The kinds of state that a server keeps in its storage section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    Kv,
    Sql,
}

impl Era {
    /// The name that the API of agents and responses has in this release.
    pub fn agents_api(&self) -> &'static str {
        if self.layout >= V0_7 { "responses" } else { "agents" }
    }

    pub fn has_storage_section(&self) -> bool {
        self.layout >= V0_3
    }

    /// What the server keeps a store in that not every layout has, or keeps alike.
    pub fn store(&self, name: &str) -> Option<StoreKind> {
        let since = match name {
            "prompts" => V0_4,
            "connectors" => V0_5,
            _ => return None,
        };
        match self.layout {
            layout if layout < since => None,
            layout if layout < Ogx1_0 => Some(StoreKind::Kv),
            _ => Some(StoreKind::Sql),
        }
    }

    /// The folder in which the server keeps its state.
    pub fn state_folder(&self) -> &'static str {
        match self.server() {
            Server::LlamaStack => "~/.llama",
            Server::Ogx => "~/.ogx",
        }
    }

    /// How the server takes the address of a Postgres.
    pub fn database_form(&self) -> Form {
        match self.server() {
            Server::LlamaStack => Form::Encoded,
            Server::Ogx if self.said.is_some_and(|said| said.is_since((1, 4, 1))) => Form::Whole,
            // Every release of OGX takes the parts, also one that nobody named.
            Server::Ogx => Form::Plain,
        }
    }

    /// Between the name of a variable and its default.
    pub fn default_sign(&self) -> &'static str {
        if self.layout == UpTo0_2_12 { ":" } else { ":=" }
    }

    /// Tools are registered as tool groups; later servers find them by their providers alone.
    pub fn has_tool_groups(&self) -> bool {
        self.layout < V0_7
    }

    /// A provider may name a Python package of its own.
    pub fn takes_external_packages(&self) -> bool {
        self.layout > UpTo0_2_12
    }

    pub fn has_workers(&self) -> bool {
        self.layout >= V0_3
    }

    /// The server's own command refuses to serve plain HTTP unless the file allows it.
    pub fn must_allow_plain_http(&self) -> bool {
        self.layout >= Ogx1_2
    }

    /// The server turns what a variable gives into a number or boolean where it looks like one.
    pub fn coerces_variables(&self) -> bool {
        self.layout >= From0_2_13
    }

    /// The server sends nothing until a section of the file switches telemetry on.
    pub fn has_telemetry_section(&self) -> bool {
        self.layout == V0_3
    }

    /// The server adds the path to the address of Ollama and Azure by itself.
    pub fn adds_paths(&self) -> bool {
        self.layout < V0_4
    }

    pub fn knows_rerank_models(&self) -> bool {
        self.layout >= V0_4
    }

    /// Clients ask for a model by the name that the resource gives it. Between 0.3 and 0.7 it is
    /// the provider's own name, whatever the resource says.
    pub fn has_aliases(&self) -> bool {
        !(V0_3..=V0_7).contains(&self.layout)
    }

    /// A model of the provider `all` is served by whichever inference provider comes first.
    pub fn has_provider_all(&self) -> bool {
        self.layout >= Ogx1_0
    }

    /// The server lists the models of its providers beside those of the file, and stops where a
    /// name meets another registration than the last one of the same model.
    pub fn lists_over_aliases(&self) -> bool {
        self.layout >= Ogx1_0
    }

    /// An empty list of APIs serves none; in other layouts it serves all that have providers.
    pub fn serves_nothing_of_an_empty_list(&self) -> bool {
        self.layout >= Ogx1_5
    }
}
