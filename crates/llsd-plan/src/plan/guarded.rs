//! What would open, from within its pod, a server that is to ask its callers who they are: variables by which
//! it is started, mounts over the files by which it decides, and commands that run beside it.

use k8s_openapi::api::core::v1::Probe;
use llsd_api::v1alpha2::{LlamaStackDistributionSpec, OverridesSpec, ProbesSpec};

use crate::facts::Facts;
use crate::problems::{FieldPath, Findings, Reason};
use crate::server::guarded::{covered_folder, is_kept_variable};

/// Reports what the user's own settings of the pod must leave to the operator where there is `access`.
pub(super) fn check(spec: &LlamaStackDistributionSpec, facts: &Facts, findings: &mut Findings) {
    let (Some(_), Some(workload)) = (&spec.access, &spec.workload) else { return };
    let path = FieldPath::spec().key("workload");
    let own = workload.storage.as_ref().and_then(|storage| storage.mount_path.as_deref());
    let own = own.map(|mount| (path.key("storage").key("mountPath"), mount));
    let overrides = path.key("overrides");
    let theirs = workload.overrides.iter().flat_map(|it| it.volume_mounts.iter().flatten());
    let theirs = theirs.enumerate().map(|(index, mount)| {
        (overrides.key("volumeMounts").index(index).key("mountPath"), mount.mount_path.as_str())
    });
    for (path, mount) in own.into_iter().chain(theirs) {
        if let Some(folder) = covered_folder(mount) {
            findings.problem(
                &path,
                Reason::Conflict,
                format!(
                    "with access, what is in {} is the operator's",
                    folder.trim_end_matches('/')
                ),
                "mount the volume elsewhere",
            );
        }
    }
    if let Some(given) = &workload.overrides {
        variables(given, facts, &overrides, findings);
        probes(given, &overrides, findings);
    }
}

/// A command runs in the server's container, and could change what the server does or listen in its place.
fn probes(given: &OverridesSpec, path: &FieldPath, findings: &mut Findings) {
    let Some(ProbesSpec { startup, readiness, liveness }) = &given.probes else { return };
    let all = [("startup", startup), ("readiness", readiness), ("liveness", liveness)];
    let is_command = |probe: &Option<Probe>| probe.iter().any(|probe| probe.exec.is_some());
    for (name, _) in all.into_iter().filter(|(_, probe)| is_command(probe)) {
        findings.problem(
            &path.key("probes").key(name).key("exec"),
            Reason::Conflict,
            "with access, a probe runs no command in the server's container",
            "use httpGet, tcpSocket or grpc, or remove it for the operator's own probe",
        );
    }
}

/// One of the user's own in the place of the operator's could open the server. This is the early word: what an
/// object of `envFrom` gets later, the start program removes.
fn variables(given: &OverridesSpec, facts: &Facts, path: &FieldPath, findings: &mut Findings) {
    let single = given.env.iter().flatten().enumerate();
    let single = single.map(|(index, it)| (path.key("env").index(index), it.name.clone()));
    let sources = given.env_from.iter().flatten().enumerate();
    let from = sources.flat_map(|(index, source)| {
        let path = path.key("envFrom").index(index);
        let known = facts.variables_from(source).known.into_iter();
        known.map(move |(name, _)| (path.clone(), name))
    });
    for (path, name) in single.chain(from).filter(|(_, name)| is_kept_variable(name)) {
        findings.problem(
            &path,
            Reason::Conflict,
            format!("with access, {name} is the operator's to set"),
            "remove the variable",
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn problems(workload: &Value, access: bool) -> Vec<String> {
        let mut spec = json!({"distribution": {"name": "starter"}, "workload": workload});
        if access {
            spec["access"] = json!({"authentication": {"github": {}}});
        }
        let facts = json!({
            "secrets": {"all": {"keys": {"ROOT_PATH": {"hash": "1"}, "TOKEN": {"hash": "2"}}}},
            "configMaps": {"many": {"data": {"PYTHONPATH": "/data", "A": "b"}}},
        });
        let mut findings = Findings::default();
        let spec = serde_json::from_value(spec).unwrap();
        check(&spec, &serde_json::from_value(facts).unwrap(), &mut findings);
        findings.problems.iter().map(|it| format!("{}: {}", it.path, it.message)).collect()
    }

    #[test]
    fn nothing_of_the_users_own_can_open_a_guarded_server_from_within_its_pod() {
        let variables =
            ["UVICORN_ROOT_PATH", "LOG_LEVEL", "FORWARDED_ALLOW_IPS", "PYTHONPATH", "PATH"];
        let variables = variables.map(|name| json!({"name": name, "value": "x"}));
        let mounts = ["/data", "/etc/llama-stack/config.yaml", "/run", "/var/run"];
        let mounts = mounts.map(|path| json!({"name": "mine", "mountPath": path}));
        let workload = json!({
            "storage": {"mountPath": "/etc"},
            "overrides": {
                "env": variables,
                "volumeMounts": mounts,
                "envFrom": [
                    {"prefix": "UVICORN_", "secretRef": {"name": "all"}},
                    {"configMapRef": {"name": "many"}},
                ],
                "probes": {
                    "startup": {"exec": {"command": ["true"]}},
                    "readiness": {"httpGet": {"path": "/v1/health", "port": 8321}},
                    "liveness": {"exec": {}, "periodSeconds": 5},
                },
            },
        });
        assert_eq!(
            problems(&workload, true),
            [
                "spec.workload.storage.mountPath: with access, what is in /etc/llama-stack is the operator's",
                "spec.workload.overrides.volumeMounts[1].mountPath: with access, what is in /etc/llama-stack is the operator's",
                "spec.workload.overrides.volumeMounts[2].mountPath: with access, what is in /run/llama-stack-trust is the operator's",
                "spec.workload.overrides.volumeMounts[3].mountPath: with access, what is in /run/llama-stack-trust is the operator's",
                "spec.workload.overrides.env[0]: with access, UVICORN_ROOT_PATH is the operator's to set",
                "spec.workload.overrides.env[2]: with access, FORWARDED_ALLOW_IPS is the operator's to set",
                "spec.workload.overrides.env[3]: with access, PYTHONPATH is the operator's to set",
                "spec.workload.overrides.env[4]: with access, PATH is the operator's to set",
                "spec.workload.overrides.envFrom[0]: with access, UVICORN_ROOT_PATH is the operator's to set",
                "spec.workload.overrides.envFrom[0]: with access, UVICORN_TOKEN is the operator's to set",
                "spec.workload.overrides.envFrom[1]: with access, PYTHONPATH is the operator's to set",
                "spec.workload.overrides.probes.startup.exec: with access, a probe runs no command in the server's container",
                "spec.workload.overrides.probes.liveness.exec: with access, a probe runs no command in the server's container",
            ]
        );
        assert_eq!(problems(&workload, false), Vec::<String>::new());
    }
}
