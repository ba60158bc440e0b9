//! From a place in the generated file to the field of the resource that asked for it.

use llsd_plan::problems::{FieldPath, Problem, Segment};
use llsd_yaml::document::{Content, Node, Origin};

/// The field behind a place such as `providers.inference[1].config.url`: that of the place itself, or of the nearest
/// part around it that the resource asked for.
pub fn field_behind(document: &Node, place: &str) -> Option<FieldPath> {
    let (mut node, mut rest, mut field) = (document, place, None);
    while let Some((inner, behind)) = step(node, rest) {
        (node, rest) = (inner, behind);
        if let Origin::Field(path) = &inner.origin {
            field = Some(path.clone());
        }
    }
    field
}

/// One step down, and what is left of the place. Keys may hold dots.
fn step<'n, 'p>(node: &'n Node, place: &'p str) -> Option<(&'n Node, &'p str)> {
    match &node.content {
        Content::List(items) => {
            let (index, rest) = place.strip_prefix('[')?.split_once(']')?;
            Some((items.get(index.parse::<usize>().ok()?)?, rest))
        }
        Content::Map(fields) => {
            let place = place.strip_prefix('.').unwrap_or(place);
            fields.iter().find_map(|(key, inner)| {
                let rest = place.strip_prefix(key.as_str())?;
                (rest.is_empty() || rest.starts_with(['.', '['])).then_some((inner, rest))
            })
        }
        Content::Scalar(_) => None,
    }
}

/// Whether something is said of the field, or of what holds it.
pub fn is_remarked(path: &FieldPath, warnings: &[Problem]) -> bool {
    warnings.iter().any(|warning| path.segments().starts_with(warning.path.segments()))
}

/// Whether something is said of a part of the field that the resource leaves to the base: of `settings.project` for
/// `config.project`.
pub fn is_part_remarked(field: &FieldPath, place: &str, warnings: &[Problem]) -> bool {
    let name = place.rsplit(['.', ']']).next().map(|name| Segment::Key(name.to_owned()));
    let mut paths = warnings.iter().map(|warning| warning.path.segments());
    paths.any(|path| path.starts_with(field.segments()) && path.last() == name.as_ref())
}

#[cfg(test)]
mod tests {
    use llsd_plan::problems::{Findings, Reason};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_of_the_file_leads_to_the_field_that_asked_for_it() {
        let path = FieldPath::spec().key("providers").key("inference");
        let mut entry = Node::map(Origin::Field(path.clone()));
        let settings = path.key("settings").key("a.b");
        entry.set("config", Node::from_value(json!({"url": "http://x"}), &Origin::Base));
        entry.get_mut("config").unwrap().set("a.b", Node::from_field(&json!([1]), &settings));
        let mut document = Node::map(Origin::Base);
        document
            .entry_map("providers", &Origin::Base)
            .entry_list("inference", &Origin::Base)
            .push(entry);
        let behind = |place: &str| field_behind(&document, place).map(|path| path.to_string());
        let found = "spec.providers.inference";
        assert_eq!(behind("providers.inference[0].config.url").as_deref(), Some(found));
        assert_eq!(behind("providers.inference[0].config.absent").as_deref(), Some(found));
        let deep = "spec.providers.inference.settings.[a.b][0]".replace(".[", "[");
        assert_eq!(behind("providers.inference[0].config.a.b[0]"), Some(deep));
        assert_eq!(behind("providers.inference[1]"), None);
        assert_eq!(behind("apis"), None);
    }

    #[test]
    fn what_is_said_of_a_setting_is_said_of_it_in_the_base() {
        let provider = FieldPath::spec().key("providers").key("inference");
        let setting = provider.key("settings").key("project");
        let mut findings = Findings::default();
        findings.warning(&setting, Reason::Required, "is not set", "set it");
        let is_said = |place: &str| is_part_remarked(&provider, place, &findings.warnings);
        assert!(is_said("providers.inference[0].config.project"));
        assert!(!is_said("providers.inference[0].config.location"));
        let other = FieldPath::spec().key("providers").key("safety");
        assert!(!is_part_remarked(
            &other,
            "providers.safety[0].config.project",
            &findings.warnings
        ));
    }
}
