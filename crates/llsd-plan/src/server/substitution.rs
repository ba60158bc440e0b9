//! The server's `${env.…}` references, in the grammar of either generation: what they stand for
//! when a variable is set or not.

use std::collections::{BTreeMap, BTreeSet};

use llsd_api::provider_id::short_name;

use llsd_yaml::document::{Content, Node};

/// A value of this kind tells the server to leave an entry out.
const DISABLED: &str = "__disabled__";

/// One `${env.VARIABLE…}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VariableReference<'a> {
    pub(crate) variable: &'a str,
    pub(crate) form: ReferenceForm<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReferenceForm<'a> {
    /// `${env.X}`: the server exits when X is not set.
    Required,
    /// `${env.X:=value}`, up to 0.2.12 `${env.X:value}`.
    Default(&'a str),
    /// `${env.X:+value}`, up to 0.2.12 `${env.X+value}`: the value if X is set, else nothing.
    Alternative(&'a str),
}

/// All references of a text, in order, and what follows the last one.
pub(crate) fn references(text: &str) -> impl Iterator<Item = VariableReference<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find("${env.")?;
            rest = &rest[start + "${env.".len()..];
            let end = rest.find('}')?;
            let inside = &rest[..end];
            if let Some(reference) = parse(inside) {
                rest = &rest[end + 1..];
                return Some(reference);
            }
        }
    })
}

fn parse(inside: &str) -> Option<VariableReference<'_>> {
    let name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let length = inside.find(|c| !name(c)).unwrap_or(inside.len());
    if length == 0 {
        return None;
    }
    let (variable, rest) = inside.split_at(length);
    let form = if rest.is_empty() {
        ReferenceForm::Required
    } else if let Some(value) = rest.strip_prefix(":+").or_else(|| rest.strip_prefix('+')) {
        ReferenceForm::Alternative(value)
    } else {
        ReferenceForm::Default(rest.strip_prefix(":=").or_else(|| rest.strip_prefix(':'))?)
    };
    Some(VariableReference { variable, form })
}

/// The reference that a text consists of, and nothing else.
pub(crate) fn whole(text: &str) -> Option<VariableReference<'_>> {
    let inside = text.strip_prefix("${env.")?.strip_suffix('}')?;
    if inside.contains('}') { None } else { parse(inside) }
}

/// The id that a provider or resource of the base has, and the variable it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EffectiveId {
    pub(crate) id: String,
    pub(crate) condition: Option<String>,
}

impl EffectiveId {
    /// The effective id of a written one: `${env.OLLAMA_URL:+ollama}` is `ollama`, if `OLLAMA_URL`
    /// is set. `provider_type` names what an id is unknown of until a variable is set.
    pub(crate) fn parse(written: &str, provider_type: &str) -> Option<Self> {
        let always = |id: &str| Self { id: id.to_owned(), condition: None };
        let when = |id: &str, variable: &str| Self {
            id: id.to_owned(),
            condition: Some(variable.to_owned()),
        };
        let short = short_name(provider_type);
        match whole(written) {
            None if written == DISABLED || written.is_empty() => None,
            None => Some(always(written)),
            Some(VariableReference { form: ReferenceForm::Required, .. }) => Some(always(short)),
            Some(VariableReference { variable, form: ReferenceForm::Default(DISABLED | "") }) => {
                Some(when(short, variable))
            }
            Some(VariableReference { form: ReferenceForm::Default(id), .. }) => Some(always(id)),
            Some(VariableReference { variable, form: ReferenceForm::Alternative(id) }) => {
                Some(when(id, variable))
            }
        }
    }
}

/// What is known of a variable of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableState {
    Set,
    /// Not there, or empty.
    Unset,
    /// Only the cluster knows.
    Unknown,
}

/// The variables that the server will find set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    known: BTreeMap<String, VariableState>,
    /// Whole Secrets or ConfigMaps of which not all is known become variables too, so any other name may be set.
    open: bool,
}

impl Variables {
    /// What is noted last of a name holds.
    pub(crate) fn note(&mut self, name: &str, state: VariableState) {
        self.known.insert(name.to_owned(), state);
    }

    /// There may be others.
    pub(crate) fn note_unknown(&mut self) {
        self.open = true;
    }

    pub(crate) fn state(&self, name: &str) -> VariableState {
        let other = if self.open { VariableState::Unknown } else { VariableState::Unset };
        self.known.get(name).copied().unwrap_or(other)
    }

    /// Whether it is known that the variable is set.
    pub(crate) fn surely(&self, name: &str) -> bool {
        self.state(name) == VariableState::Set
    }

    /// Whether the variable could be set, as far as can be known here.
    pub(crate) fn possibly(&self, name: &str) -> bool {
        self.state(name) != VariableState::Unset
    }

    /// Whether an entry with this id is there when the server runs.
    pub(crate) fn presence(&self, id: &EffectiveId) -> VariableState {
        id.condition.as_deref().map_or(VariableState::Set, |variable| self.state(variable))
    }

    /// Whether an entry with this id can be there when the server runs.
    pub(crate) fn admit(&self, id: &EffectiveId) -> bool {
        self.presence(id) != VariableState::Unset
    }
}

/// Every variable that a document refers to.
pub(crate) fn variables_of(node: &Node, found: &mut BTreeSet<String>) {
    match &node.content {
        Content::List(items) => items.iter().for_each(|item| variables_of(item, found)),
        Content::Map(fields) => fields.iter().for_each(|(_, node)| variables_of(node, found)),
        Content::Scalar(value) => {
            let text = value.as_str().unwrap_or_default();
            found.extend(references(text).map(|reference| reference.variable.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("ollama", Some(("ollama", None)))]
    #[case("${env.OLLAMA_URL:+ollama}", Some(("ollama", Some("OLLAMA_URL"))))]
    #[case("${env.OLLAMA_URL+ollama}", Some(("ollama", Some("OLLAMA_URL"))))]
    #[case("${env.ENABLE_VLLM:=__disabled__}", Some(("vllm", Some("ENABLE_VLLM"))))]
    #[case("${env.ENABLE_VLLM:__disabled__}", Some(("vllm", Some("ENABLE_VLLM"))))]
    #[case("${env.ID:=faiss}", Some(("faiss", None)))]
    #[case("__disabled__", None)]
    fn an_id_is_known_by_what_it_becomes(
        #[case] written: &str,
        #[case] expected: Option<(&str, Option<&str>)>,
    ) {
        let id = EffectiveId::parse(written, "remote::vllm");
        assert_eq!(id.as_ref().map(|id| (id.id.as_str(), id.condition.as_deref())), expected);
    }

    #[test]
    fn several_references_in_one_text_are_all_found() {
        let text = "${env.DIR:=~/.llama}/${env.NAME}.db ${env.lower} ${HOME} ${env.X:-y}";
        let found: Vec<&str> = references(text).map(|reference| reference.variable).collect();
        assert_eq!(found, ["DIR", "NAME", "X"]);
        assert_eq!(whole("x${env.A}"), None);
        assert_eq!(whole("${env.A}${env.B}"), None);
    }
}
