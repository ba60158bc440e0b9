//! ConfigMaps beside the resource: a cluster would have them.

use llsd_plan::facts::ConfigMapFacts;
use llsd_plan::problems::Reason;
use llsd_yaml::documents;
use serde_json::Value;

use crate::input::Input;
use crate::source::Source;

/// Takes the ConfigMaps of the files into the facts of the input, and no longer says of them that they were passed
/// over.
pub fn add_config_maps(input: &mut Input, sources: &[Source]) {
    let Some(facts) = &mut input.facts else { return };
    for source in sources {
        let documents = source.text.as_ref().map(|text| documents(text)).unwrap_or_default();
        for document in documents {
            let Ok(tree) = document.content else { continue };
            let object = tree.to_json();
            let Some((name, data)) = config_map(&object) else { continue };
            let found = ConfigMapFacts { data, ..ConfigMapFacts::default() };
            facts.config_maps.entry(name).or_insert(found);
            input.remarks.retain(|remark| {
                let is_of_it =
                    remark.file == source.name && remark.document == Some(document.number);
                let mut warnings = remark.warnings.iter();
                !(is_of_it && warnings.all(|finding| finding.problem.reason == Reason::Ignored))
            });
        }
    }
}

type Data = std::collections::BTreeMap<String, String>;

fn config_map(object: &Value) -> Option<(String, Data)> {
    (object.get("kind")? == "ConfigMap").then_some(())?;
    let name = object.pointer("/metadata/name")?.as_str()?.to_owned();
    let data = object.get("data").and_then(Value::as_object).into_iter().flatten();
    let texts = data.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())));
    Some((name, texts.collect()))
}

#[cfg(test)]
mod tests {
    use llsd_plan::facts::Facts;

    use super::*;

    #[test]
    fn a_config_map_in_the_file_is_known_and_no_longer_passed_over() {
        let text = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: a}\n\
                    spec: {distribution: {name: starter}}\n---\napiVersion: v1\nkind: ConfigMap\n\
                    metadata: {name: own}\ndata: {config.yaml: 'version: 2'}\n---\napiVersion: v1\nkind: Secret\n\
                    metadata: {name: other}\n";
        let source = Source::new("stack.yaml", text.as_bytes().to_vec());
        let mut input = Input { facts: Some(Facts::default()), ..Input::default() };
        input.add(&source);
        assert_eq!(input.remarks.len(), 2);
        add_config_maps(&mut input, &[source]);
        let maps = &input.facts.unwrap().config_maps;
        assert_eq!(maps["own"].data["config.yaml"], "version: 2");
        let left: Vec<Option<usize>> = input.remarks.iter().map(|remark| remark.document).collect();
        assert_eq!(left, [Some(3)], "a Secret is not read");
    }
}
