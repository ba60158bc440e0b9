//! What a container's command line and environment become. Pure: the objects were read before.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, EnvVarSource, ObjectFieldSelector, Pod};

use crate::{image::ImageStandIn, objects::Objects, refusal::Refusal};

/// A container's environment, and its command line.
pub(crate) struct Invocation {
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) command: Vec<String>,
}

pub(crate) fn invocation(
    pod: &Pod,
    ip: &str,
    container: &Container,
    image: &ImageStandIn,
    objects: &Objects,
) -> Result<Invocation, Refusal> {
    let declared = declared(pod, ip, container, objects)?;
    let expanded = |words: Option<&Vec<String>>| -> Vec<String> {
        words.into_iter().flatten().map(|word| expand(word, &declared)).collect()
    };
    let (named, args) = (expanded(container.command.as_ref()), expanded(container.args.as_ref()));
    // A container that names a command leaves the image's whole entrypoint out.
    let mut command = if named.is_empty() { image.command().to_vec() } else { named };
    command.extend(args);
    if command.is_empty() {
        return Err(Refusal::create("no command specified"));
    }
    let name = pod.metadata.name.clone().unwrap_or_default();
    let mut env: BTreeMap<String, String> = image.env().into_iter().collect();
    env.insert("HOSTNAME".into(), name);
    env.extend(declared);
    Ok(Invocation { env, command })
}

/// The variables of the container itself; those of `envFrom` first, which the others override.
fn declared(
    pod: &Pod,
    ip: &str,
    container: &Container,
    objects: &Objects,
) -> Result<BTreeMap<String, String>, Refusal> {
    let mut env = BTreeMap::new();
    for from in container.env_from.iter().flatten() {
        let prefix = from.prefix.as_deref().unwrap_or_default();
        let mut add = |data: BTreeMap<String, String>| {
            env.extend(data.into_iter().map(|(key, value)| (format!("{prefix}{key}"), value)));
        };
        if let Some(source) = &from.config_map_ref {
            add(objects.config_map_texts(&source.name, source.optional)?);
        }
        if let Some(source) = &from.secret_ref {
            add(objects.secret_texts(&source.name, source.optional)?);
        }
    }
    for variable in container.env.iter().flatten() {
        let value = match &variable.value_from {
            None => Some(expand(variable.value.as_deref().unwrap_or_default(), &env)),
            Some(source) => value_from(pod, ip, source, objects)?,
        };
        if let Some(value) = value {
            env.insert(variable.name.clone(), value);
        }
    }
    Ok(env)
}

/// `None` for what is optional and not there.
fn value_from(
    pod: &Pod,
    ip: &str,
    source: &EnvVarSource,
    objects: &Objects,
) -> Result<Option<String>, Refusal> {
    if let Some(key) = &source.secret_key_ref {
        let mut texts = objects.secret_texts(&key.name, key.optional)?;
        return found(texts.remove(&key.key), "Secret", &key.name, &key.key, key.optional);
    }
    if let Some(key) = &source.config_map_key_ref {
        let mut texts = objects.config_map_texts(&key.name, key.optional)?;
        return found(texts.remove(&key.key), "ConfigMap", &key.name, &key.key, key.optional);
    }
    if let Some(field) = &source.field_ref {
        return field_of(pod, ip, field).map(Some);
    }
    Err(Refusal::configuration("a variable has a source that is not stood in for"))
}

fn found(
    value: Option<String>,
    kind: &str,
    name: &str,
    key: &str,
    optional: Option<bool>,
) -> Result<Option<String>, Refusal> {
    if value.is_none() && optional != Some(true) {
        let message = format!("couldn't find key {key} in {kind} {name}");
        return Err(Refusal::configuration(message));
    }
    Ok(value)
}

/// A field of the pod itself, as variables and volumes may name it.
pub(crate) fn field_of(
    pod: &Pod,
    ip: &str,
    field: &ObjectFieldSelector,
) -> Result<String, Refusal> {
    let metadata = &pod.metadata;
    let spec = pod.spec.as_ref();
    let path = field.field_path.as_str();
    let value = match path {
        "metadata.name" => metadata.name.clone(),
        "metadata.namespace" => metadata.namespace.clone(),
        "metadata.uid" => metadata.uid.clone(),
        "spec.nodeName" => spec.and_then(|spec| spec.node_name.clone()),
        "spec.serviceAccountName" => spec.and_then(|spec| spec.service_account_name.clone()),
        "status.hostIP" => Some("127.0.0.1".into()),
        "status.podIP" | "status.podIPs" => Some(ip.to_owned()),
        _ => {
            let (map, key) = path
                .strip_suffix("']")
                .and_then(|path| path.split_once("['"))
                .ok_or_else(|| Refusal::configuration(format!("{path} is not stood in for")))?;
            let map =
                if map == "metadata.labels" { &metadata.labels } else { &metadata.annotations };
            map.as_ref().and_then(|map| map.get(key).cloned())
        }
    };
    Ok(value.unwrap_or_default())
}

/// As Kubernetes does it: `$(NAME)` is replaced where the name is known, `$$` is a dollar sign, and
/// everything else stays.
pub(crate) fn expand(text: &str, known: &BTreeMap<String, String>) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let reference = after.strip_prefix('(').and_then(|after| after.split_once(')'));
        if let Some((name, after)) = reference {
            let unknown = || format!("$({name})");
            expanded.push_str(&known.get(name).cloned().unwrap_or_else(unknown));
            rest = after;
        } else {
            expanded.push('$');
            rest = after.strip_prefix('$').unwrap_or(after);
        }
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_expanded_as_kubernetes_does() {
        let known = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        let cases = [
            ("$(A)", "1"),
            ("x$(A)y$(A)", "x1y1"),
            ("$(B)", "$(B)"),
            ("$$(A)", "$(A)"),
            ("$$$(A)", "$1"),
            ("$A ${A} 5$", "$A ${A} 5$"),
            ("$(A", "$(A"),
            ("$$", "$"),
        ];
        for (text, expected) in cases {
            assert_eq!(expand(text, &known), expected, "{text}");
        }
    }
}
