//! `resources.tools`: tool groups, as the release has them. Up to 0.6 they are registered; since 0.7 the
//! server finds them by their providers, and MCP servers are connectors.

use std::collections::HashSet;

use llsd_api::v1alpha2::ToolEntry;

use super::assignment::{self, Assigned};
use super::item::ResourceItem;
use crate::config::draft::{Draft, entry_id, has_id};
use crate::config::switched_off::Fallen;
use crate::problems::Reason;
use crate::server::substitution::{VariableState, references};
use llsd_yaml::document::{Node, Origin};

/// Tools as the rows of the catalogue name them.
const WEB_SEARCH: &str = "websearch";
const MCP: &str = "mcp";

type Tool<'a> = ResourceItem<'a, ToolEntry>;

/// What a tool is, once its name is understood.
enum Group {
    /// One of the server's own.
    BuiltIn { tool: &'static str },
    /// A server of the Model Context Protocol, by its name without the prefix.
    Mcp { name: String },
    /// Anything else that the user assigns to a provider.
    Other,
}

impl Group {
    /// The name by which it is registered.
    fn id(&self, tool: &Tool<'_>) -> String {
        match self {
            Self::BuiltIn { tool } => format!("builtin::{tool}"),
            Self::Mcp { name } => format!("mcp::{name}"),
            Self::Other => tool.name.to_owned(),
        }
    }
}

pub(in crate::config) fn apply(draft: &mut Draft<'_>) {
    let tools = draft.spec.resources.as_ref().and_then(|resources| resources.tools.as_ref());
    let of_base = if draft.profile.layout.has_tool_groups {
        draft.registered_now("tool_groups").len()
    } else {
        draft.document.get("connectors").map_or(0, |connectors| connectors.items().len())
    };
    let mut seen = HashSet::new();
    for tool in Tool::all(tools, "tools", |entry| &entry.name) {
        if assignment::dropped(draft, "tool_runtime", &tool.path, "tool") {
            continue;
        }
        let group = group(draft, &tool);
        if !seen.insert(group.id(&tool)) {
            assignment::listed_twice(draft, "tool", tool.name, &tool.path);
            continue;
        }
        if let Group::Mcp { name } = &group
            && !draft.profile.layout.has_tool_groups
        {
            connect(draft, of_base, &tool, name);
            continue;
        }
        let Some(provider) = provider(draft, &tool, &group) else { continue };
        if draft.profile.layout.has_tool_groups {
            register(draft, of_base, &tool, &group, &provider);
        } else {
            provide(draft, &tool, &group, &provider);
        }
    }
}

fn group(draft: &Draft<'_>, tool: &Tool<'_>) -> Group {
    let plain = tool.name.strip_prefix("builtin::").unwrap_or(tool.name).replace('-', "_");
    match plain.as_str() {
        "websearch" | "web_search" => Group::BuiltIn { tool: WEB_SEARCH },
        "rag" | "file_search" if draft.profile.layout.has_tool_groups => {
            Group::BuiltIn { tool: "rag" }
        }
        "rag" | "file_search" => Group::BuiltIn { tool: "file_search" },
        "wolfram_alpha" => Group::BuiltIn { tool: "wolfram_alpha" },
        _ => match tool.name.strip_prefix("mcp::") {
            Some(name) => Group::Mcp { name: name.to_owned() },
            None if tool.entry.is_some_and(|entry| entry.mcp_endpoint.is_some()) => {
                Group::Mcp { name: tool.name.to_owned() }
            }
            None => Group::Other,
        },
    }
}

/// The provider that runs the tool: the one named, else the one that can.
fn provider(draft: &mut Draft<'_>, tool: &Tool<'_>, group: &Group) -> Option<Assigned> {
    if let Some(named) = tool.entry.and_then(|entry| entry.provider.as_deref()) {
        return assignment::find(draft, "tool_runtime", named, &tool.path.key("provider"));
    }
    let tool_name = match group {
        Group::BuiltIn { tool } => tool,
        Group::Mcp { .. } => MCP,
        Group::Other => {
            draft.findings.problem(
                &tool.path,
                Reason::NotFound,
                format!("no provider is known for the tool `{}`", tool.name),
                "name its provider; known by name are websearch, rag, wolfram_alpha and mcp::NAME",
            );
            return None;
        }
    };
    let types: Vec<&str> = draft.profile.catalogue.runners(tool_name).collect();
    let entries = draft.providers("tool_runtime").iter();
    let able = entries
        .filter(|entry| types.contains(&entry.get_str("provider_type").unwrap_or_default()))
        .filter_map(|entry| {
            let id = entry_id(entry).filter(|id| draft.variables.admit(id))?;
            let is_sure = draft.variables.presence(&id) == VariableState::Set;
            Some((id, has_key(draft, entry), is_sure))
        });
    // The first of the best.
    let best = able.min_by_key(|(_, has_key, is_sure)| (!has_key, !is_sure));
    let Some((id, has_key, is_sure)) = best else {
        let runs = |fallen: &Fallen| types.contains(&fallen.provider_type.as_str());
        if assignment::left_out(draft, &tool.path, runs) {
            return None;
        }
        draft.findings.problem(
            &tool.path,
            Reason::NotFound,
            format!("no toolRuntime provider can run `{}`", tool.name),
            format!("add a provider of type {} under providers.toolRuntime", types.join(" or ")),
        );
        return None;
    };
    if matches!(group, Group::BuiltIn { tool: WEB_SEARCH }) && !has_key {
        draft.findings.warning(
            &tool.path,
            Reason::Required,
            format!("the search provider `{}` has no API key, so searches will fail", id.id),
            "configure a search provider with an apiKey under providers.toolRuntime",
        );
    }
    if !is_sure {
        assignment::unsure(draft, "tool_runtime", &id, &tool.path);
    }
    Some(Assigned::always(id.id, Origin::Rule("the provider that can run the tool")))
}

/// Whether a search provider's key comes from the resource or from a variable that is set.
fn has_key(draft: &Draft<'_>, entry: &Node) -> bool {
    let Some(key) = entry.at(&["config", "api_key"]) else { return false };
    match key.as_str() {
        None | Some("") => false,
        Some(text) => references(text).all(|reference| {
            reference.variable.starts_with("LLSD_") || draft.variables.surely(reference.variable)
        }),
    }
}

/// Up to 0.6: an entry of `tool_groups`.
fn register(
    draft: &mut Draft<'_>,
    of_base: usize,
    tool: &Tool<'_>,
    group: &Group,
    provider: &Assigned,
) {
    let id = group.id(tool);
    let origin = Origin::Field(tool.path.clone());
    let mut node = Node::map(origin);
    node.set("toolgroup_id", Node::scalar(id.as_str(), Origin::Field(tool.name_path())));
    node.set("provider_id", Node::scalar(provider.id.as_str(), provider.origin.clone()));
    if let Some(endpoint) = tool.entry.and_then(|entry| entry.mcp_endpoint.as_ref()) {
        let origin = Origin::Field(tool.path.key("mcpEndpoint").key("uri"));
        let mut mcp = Node::map(origin.clone());
        mcp.set("uri", Node::scalar(endpoint.uri.as_str(), origin));
        node.set("mcp_endpoint", mcp);
    }
    if let Some(args) = tool.entry.and_then(|entry| entry.args.as_ref()) {
        node.set("args", Node::from_field(&args.clone().into(), &tool.path.key("args")));
    }
    assignment::put(draft.registered("tool_groups"), of_base, "toolgroup_id", &id, node);
}

/// Since 0.7: the provider is enough, and must come first among those of its kind.
fn provide(draft: &mut Draft<'_>, tool: &Tool<'_>, group: &Group, provider: &Assigned) {
    no_arguments(draft, tool);
    if matches!(group, Group::BuiltIn { tool: WEB_SEARCH }) {
        put_first(draft, &provider.id);
    }
}

fn no_arguments(draft: &mut Draft<'_>, tool: &Tool<'_>) {
    if tool.entry.is_some_and(|entry| entry.args.is_some()) {
        draft.findings.warning(
            &tool.path.key("args"),
            Reason::Ignored,
            format!("tools have no arguments in {}", draft.profile.name()),
            "put them into the settings of the provider",
        );
    }
}

/// The server gives web search to the first provider that has a key.
fn put_first(draft: &mut Draft<'_>, id: &str) {
    let searches: Vec<&str> = draft.profile.catalogue.runners(WEB_SEARCH).collect();
    let origin = Origin::Base;
    let entries =
        draft.document.entry_map("providers", &origin).entry_list("tool_runtime", &origin);
    let is_search =
        |entry: &Node| entry.get_str("provider_type").is_some_and(|name| searches.contains(&name));
    let chosen = entries.iter().position(|entry| has_id(entry, id));
    let first = entries.iter().position(is_search);
    if let (Some(chosen), Some(first)) = (chosen, first)
        && first < chosen
    {
        let entry = entries.remove(chosen);
        entries.insert(first, entry);
    }
}

/// Since 0.7 an MCP server is a connector, which the server asks by itself: no provider runs it.
fn connect(draft: &mut Draft<'_>, of_base: usize, tool: &Tool<'_>, name: &str) {
    no_arguments(draft, tool);
    if let Some(named) = tool.entry.and_then(|entry| entry.provider.as_deref())
        && assignment::find(draft, "tool_runtime", named, &tool.path.key("provider")).is_none()
    {
        return;
    }
    let Some(endpoint) = tool.entry.and_then(|entry| entry.mcp_endpoint.as_ref()) else {
        draft.findings.problem(
            &tool.path,
            Reason::Required,
            format!("the MCP server `{name}` has no address"),
            "write it as an object with mcpEndpoint.uri",
        );
        return;
    };
    let origin = Origin::Field(tool.path.clone());
    let mut node = Node::map(origin.clone());
    node.set("connector_id", Node::scalar(name, Origin::Field(tool.name_path())));
    node.set("connector_type", Node::scalar("mcp", origin.clone()));
    let uri = Origin::Field(tool.path.key("mcpEndpoint").key("uri"));
    node.set("url", Node::scalar(endpoint.uri.as_str(), uri));
    let connectors = draft.document.entry_list("connectors", &origin);
    assignment::put(connectors, of_base, "connector_id", name, node);
}
