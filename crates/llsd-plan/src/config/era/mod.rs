//! Which generation of which server a base configuration belongs to. Every release says `version:
//! 2`, so the layout is told from the document's shape, and the provider catalogue from the release.
//! OGX kept the layout of 0.7: where a document fits both servers, the image decides.

mod layout;
mod marks;
mod release;

use serde_json::Value;

use super::catalogue::Catalogue;
use marks::Mark;
use release::Said;

pub use layout::{Layout, StoreKind};
pub use release::{Server, is_known, of_ogx, server_of};

/// The generation of a server: the layout of its file and the provider types it knows.
#[derive(Clone, Copy, Debug)]
pub struct Era {
    layout: Layout,
    pub catalogue: &'static Catalogue,
    /// The image says which release it holds, so what the catalogue lacks does not exist there.
    pub release_known: bool,
    said: Option<Said>,
}

impl Era {
    /// How messages name the server: `0.7.3`, or `0.5 and 0.6` where only the layout is known.
    pub fn name(&self) -> &'static str {
        if self.release_known { &self.catalogue.name } else { self.layout.named() }
    }

    pub fn server(&self) -> Server {
        self.layout.server()
    }

    /// The catalogues that the server may have, the most likely one first.
    pub fn candidates(&self) -> impl Iterator<Item = &'static Catalogue> {
        let others = if self.release_known { &[] } else { self.layout.releases() };
        let chosen = self.catalogue;
        std::iter::once(chosen).chain(
            others
                .iter()
                .filter_map(|release| Catalogue::of(release))
                .filter(|other| other.release != chosen.release),
        )
    }

    /// Whether an API ended with llama-stack and is not in this server.
    pub fn lacks_api(&self, api: &str) -> bool {
        self.server() == Server::Ogx && marks::GONE_APIS.contains(&api)
    }
}

/// Why a document has no era.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoEra {
    /// It belongs to a layout that no supported release reads.
    Foreign(&'static str),
    /// It holds marks of layouts that exclude each other.
    Contradiction(String),
    /// It is of llama-stack, by these marks, and the image is known to hold OGX.
    OtherServer(String),
}

/// The era of a document; `release` is what the image says of itself, as far as it does.
pub fn detect(document: &Value, release: Option<&str>) -> Result<Era, NoEra> {
    if let Some(foreign) = foreign(document) {
        return Err(NoEra::Foreign(foreign));
    }
    let said = release.map(Said::parse);
    let wanted = said.and_then(|said| said.server);
    let mut marks = Mark::of(document);
    if wanted == Some(Server::Ogx) {
        marks.retain(|mark| !mark.can_be_switched_off());
    }
    let fits = |layout: &Layout| marks.iter().all(|mark| mark.admits(*layout));
    let possible: Vec<Layout> = Layout::ALL.into_iter().filter(fits).collect();
    let list = || marks.iter().map(|mark| mark.what).collect::<Vec<_>>().join(", ");
    if possible.is_empty() {
        return Err(NoEra::Contradiction(list()));
    }
    let of = |server: Server| -> Vec<Layout> {
        possible.iter().copied().filter(|layout| layout.server() == server).collect()
    };
    let (llama_stack, ogx) = (of(Server::LlamaStack), of(Server::Ogx));
    let possible = match wanted {
        Some(Server::Ogx) if ogx.is_empty() => return Err(NoEra::OtherServer(list())),
        Some(Server::Ogx) => ogx,
        _ if llama_stack.is_empty() => ogx,
        _ => llama_stack,
    };
    Ok(choose(document, &possible, said))
}

/// The layout among those that a document of one server can have, and its catalogue.
fn choose(document: &Value, possible: &[Layout], said: Option<Said>) -> Era {
    let newest = possible.last().copied().unwrap_or(Layout::NEWEST);
    let catalogue = said.and_then(|said| said.catalogue(newest.server()));
    let named = catalogue.and_then(|catalogue| {
        possible.iter().find(|layout| layout.releases().contains(&catalogue.release.as_str()))
    });
    // Releases that know `distro_name` ship files with it, so its absence tells an older one.
    let old_name = document.get("image_name").is_some() && document.get("distro_name").is_none();
    let older = possible.iter().rfind(|layout| old_name && **layout <= Layout::V0_4);
    let layout = *named.or(older).unwrap_or(&newest);
    let newest_release = || layout.releases().last().and_then(|release| Catalogue::of(release));
    Era {
        layout,
        catalogue: catalogue.or_else(newest_release).expect("a layout has releases of ours"),
        release_known: catalogue.is_some(),
        said: said.filter(|_| catalogue.is_some() || layout.server() == Server::Ogx),
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
