//! Which release of which server a base configuration is for. Every release says `version: 2`, so
//! the layout is told from the document's shape, and the provider types from the release. OGX kept the
//! layout of 0.7: where a document fits both servers, the image decides.

use serde_json::Value;

use super::catalogue::Catalogue;
use super::marks::Mark;
use super::number::{ServerFamily, Span};
use super::set::Releases;
use super::stated::Stated;
use super::table::Release;
use crate::values::connection::Form;

/// The server that a document is for: the layout of its file and the provider types it knows.
#[derive(Clone, Copy, Debug)]
pub struct ServerProfile {
    pub releases: &'static Releases,
    /// A release of the layout, for its traits.
    pub layout: &'static Release,
    pub catalogue: Catalogue,
    /// The image states which release it holds, so what the catalogue lacks does not exist there.
    pub release_known: bool,
    stated: Option<Stated>,
}

impl ServerProfile {
    /// How messages name the server: `0.7.3`, or `0.5 and 0.6` where only the layout is known.
    pub fn name(&self) -> &'static str {
        if self.release_known { &self.catalogue.release.title } else { &self.layout.layout }
    }

    pub fn server(&self) -> ServerFamily {
        self.layout.server
    }

    /// The catalogues that the server may have, the most likely one first.
    pub fn candidates(&self) -> impl Iterator<Item = Catalogue> {
        let (chosen, layout, is_open) = (self.catalogue, self.layout, !self.release_known);
        let others = self.releases.catalogues().filter(move |other| {
            is_open
                && other.release.layout == layout.layout
                && other.release.number != chosen.release.number
        });
        std::iter::once(chosen).chain(others)
    }

    /// Whether an API ended with llama-stack and is not in this server.
    pub fn lacks_api(&self, api: &str) -> bool {
        self.server() == ServerFamily::Ogx && self.releases.ended_with_llama_stack(api)
    }

    /// How the server takes the address of a Postgres: as the last release does that came out no
    /// later than the stated one. Where none is stated the first one decides.
    pub fn database_form(&self) -> Form {
        let of_server = || self.releases.all().iter().filter(|row| row.server == self.server());
        let stated = self.stated.and_then(|stated| stated.at(self.server()));
        let earlier = stated.and_then(|stated| of_server().rfind(|row| row.number <= stated));
        earlier.or(of_server().next()).map_or(Form::Encoded, |row| row.postgres)
    }
}

/// Why a document has no profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoProfile {
    /// It belongs to a layout that no supported release reads.
    Foreign(&'static str),
    /// It holds marks of layouts that exclude each other.
    Contradiction(String),
    /// It is of llama-stack, by these marks, and the image is known to hold OGX.
    OtherServer(String),
    /// It is of other releases than the one that the image states. A server takes nothing that is half
    /// of one layout and half of another.
    OtherRelease {
        /// The releases whose layout it has.
        layout: String,
        /// What in it the stated release does not know.
        marks: String,
        stated: String,
    },
}

/// The profile of a document; `release` is what the image states of itself, as far as it does.
pub fn detect(
    releases: &'static Releases,
    document: &Value,
    release: Option<&str>,
) -> Result<ServerProfile, NoProfile> {
    if let Some(foreign) = foreign(document) {
        return Err(NoProfile::Foreign(foreign));
    }
    let stated = release.map(Stated::parse);
    let wanted = stated.and_then(|stated| stated.server);
    let mut marks = Mark::found_in(document);
    if wanted == Some(ServerFamily::Ogx) {
        marks.retain(|mark| !mark.can_be_switched_off(releases));
    }
    let spans: Vec<Span> = marks.iter().map(|mark| mark.span()).collect();
    let fits = |row: &&Release| spans.iter().all(|span| span.contains(row.number));
    let possible: Vec<&'static Release> = releases.all().iter().filter(fits).collect();
    let list = || marks.iter().map(|mark| mark.what).collect::<Vec<_>>().join(", ");
    if possible.is_empty() {
        return Err(NoProfile::Contradiction(list()));
    }
    let (llama_stack, ogx): (Vec<_>, Vec<_>) =
        possible.into_iter().partition(|row| row.server == ServerFamily::LlamaStack);
    let possible = match wanted {
        Some(ServerFamily::Ogx) if ogx.is_empty() => return Err(NoProfile::OtherServer(list())),
        Some(ServerFamily::Ogx) => ogx,
        Some(ServerFamily::LlamaStack) | None if llama_stack.is_empty() => ogx,
        Some(ServerFamily::LlamaStack) | None => llama_stack,
    };
    let of_image = stated
        .and_then(|stated| stated.release(releases, stated.server.unwrap_or(possible[0].server)));
    if let Some(own) = of_image
        && !possible.iter().any(|row| row.number == own.number)
    {
        let unknown = marks.iter().filter(|mark| !mark.span().contains(own.number));
        return Err(NoProfile::OtherRelease {
            layout: layout_of(&possible),
            marks: unknown.map(|mark| mark.what).collect::<Vec<_>>().join(", "),
            stated: release.unwrap_or_default().to_owned(),
        });
    }
    Ok(choose(releases, document, &possible, stated))
}

/// How releases are named together: by the layout that they share, else by the first and the last.
fn layout_of(possible: &[&'static Release]) -> String {
    let (first, last) = (possible[0], possible[possible.len() - 1]);
    if first.layout == last.layout {
        first.layout.clone()
    } else {
        format!("{} to {}", first.title, last.title)
    }
}

/// The layout among the releases of one server that a document can be for, and its catalogue.
fn choose(
    releases: &'static Releases,
    document: &Value,
    possible: &[&'static Release],
    stated: Option<Stated>,
) -> ServerProfile {
    let newest = possible.last().copied().unwrap_or(releases.newest(ServerFamily::Ogx));
    let release = stated.and_then(|stated| stated.release(releases, newest.server));
    let named = possible.iter().find(|row| release.is_some_and(|own| own.number == row.number));
    // Releases that know `distro_name` ship files with it, so its absence tells an older one.
    let old_name = document.get("image_name").is_some() && document.get("distro_name").is_none();
    let older = possible.iter().rfind(|row| old_name && row.name_key == "image_name");
    let layout = *named.or(older).unwrap_or(&newest);
    let newest_of_layout = || releases.all().iter().rfind(|row| row.layout == layout.layout);
    let chosen = release.or_else(newest_of_layout).unwrap_or(layout);
    ServerProfile {
        releases,
        layout,
        catalogue: releases.catalogue_of(chosen),
        release_known: release.is_some(),
        stated: stated.filter(|_| release.is_some() || layout.server == ServerFamily::Ogx),
    }
}

fn foreign(document: &Value) -> Option<&'static str> {
    if document.get("routing_table").is_some() {
        return Some("a Llama Stack server of 2024 (`routing_table`)");
    }
    if !document.get("providers").is_some_and(Value::is_object) {
        return Some("no server that is known here (it has no `providers`)");
    }
    None
}
