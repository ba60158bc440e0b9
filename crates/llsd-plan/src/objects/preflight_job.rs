//! The Job in which an image checks a change: the very pod that would be rolled out, with the preflight in the
//! server's place. It serves nothing, is selected by nothing, holds no secret and asks for little.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    Affinity, Container, EnvVar, NodeAffinity, NodeSelector, NodeSelectorRequirement,
    NodeSelectorTerm, PodSpec, PodTemplateSpec, ResourceRequirements, Volume,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::blueprint::Owner;
use super::kind::ObjectKind;
use super::planned::{PlannedObject, planned};
use super::pod::{START, config_map_volume, empty_volume, literal, read_only, small};
use super::{labels, names, start_program};
use crate::facts::shape::Shape;
use crate::resource::Resource;
use crate::server::paths::{PREFLIGHT_PROGRAM, START_DIR};
use crate::values::quantity::nanos;

/// What a pod of such a Job is for, in its labels.
pub const COMPONENT: &str = "preflight";
/// Tells the program that nothing is started.
const PREFLIGHT: &str = "LLS_PREFLIGHT";

/// Kubernetes forgets a Job that nobody asked about for so long.
const FORGOTTEN_AFTER: i32 = 3600;
/// Labels by which meshes leave a pod alone: their proxies would never let it end. Who wants them all the same,
/// for rules that know pods by them, sets the label in `overrides.podLabels`.
const NO_MESH: [(&str, &str); 2] =
    [("sidecar.istio.io/inject", "false"), ("kuma.io/sidecar-injection", "disabled")];
/// To import a server and its providers takes hundreds of megabytes, with PyTorch more; the rest of what the
/// server may have is for models.
const LEAST_MEMORY: &str = "1Gi";
const MOST_MEMORY: &str = "2Gi";

/// Shapes of secret values, by Secret and key.
pub type Shapes = BTreeMap<String, BTreeMap<String, Shape>>;

/// How the pod can have a claim beside those that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimUse {
    /// From every node.
    Anywhere,
    /// On the node of the pods that have it.
    OnTheirNode,
    /// Not at all.
    NotBeside,
}

/// What a Job is made from.
#[derive(Clone, Copy, Debug)]
pub struct PreflightJob<'a> {
    pub resource: &'a Resource,
    /// As it would be rolled out.
    pub template: &'a PodTemplateSpec,
    /// Stands for what is checked.
    pub hash: &'a str,
    pub shapes: &'a Shapes,
    pub claims: &'a BTreeMap<String, ClaimUse>,
    /// Where the server's pods run.
    pub node: Option<&'a str>,
    /// How long the Job may take.
    pub seconds: i64,
}

impl PreflightJob<'_> {
    /// The program of the preflight, and the Job.
    pub fn objects(&self) -> Vec<PlannedObject> {
        let program = start_program::of_namespace(&self.resource.key.namespace);
        let objects = [
            planned(ObjectKind::ConfigMap, Some(&program)),
            planned(ObjectKind::Job, Some(&self.job())),
        ];
        objects.into_iter().flatten().collect()
    }

    fn job(&self) -> Job {
        let owner = Owner::from_resource(self.resource);
        let mut metadata = owner.owned(names::preflight(owner.name, self.hash));
        metadata.labels = Some(labels::of_component(owner.name, COMPONENT));
        Job {
            metadata,
            spec: Some(JobSpec {
                backoff_limit: Some(0),
                active_deadline_seconds: Some(self.seconds),
                ttl_seconds_after_finished: Some(FORGOTTEN_AFTER),
                template: PodTemplateSpec {
                    metadata: Some(ObjectMeta {
                        labels: Some(self.pod_labels()),
                        ..ObjectMeta::default()
                    }),
                    spec: self.template.spec.as_ref().map(|spec| self.pod(spec)),
                },
                ..JobSpec::default()
            }),
            ..Job::default()
        }
    }

    fn pod_labels(&self) -> BTreeMap<String, String> {
        let metadata = self.template.metadata.as_ref();
        let chosen = metadata.and_then(|metadata| metadata.labels.as_ref());
        let mesh = NO_MESH.map(|(label, off)| {
            let chosen = chosen.and_then(|chosen| chosen.get(label));
            (label, chosen.map_or(off, String::as_str))
        });
        let ours = [(labels::MANAGED_BY, labels::OPERATOR), (labels::COMPONENT, COMPONENT)];
        let all = ours.into_iter().chain(mesh);
        all.map(|(label, value)| (label.to_owned(), value.to_owned())).collect()
    }

    fn pod(&self, server: &PodSpec) -> PodSpec {
        let mut volumes: Vec<Volume> =
            server.volumes.iter().flatten().map(|volume| self.volume(volume)).collect();
        if volumes.iter().all(|volume| volume.name != START) {
            volumes.push(config_map_volume(START, start_program::name().to_owned()));
        }
        let installs = server.init_containers.iter().flatten();
        let installs: Vec<Container> = installs
            .filter(|it| it.restart_policy.is_none() && it.name != labels::WAIT_FOR_MODELS)
            .map(|container| Container { env: None, env_from: None, ..container.clone() })
            .collect();
        PodSpec {
            service_account_name: server.service_account_name.clone(),
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            image_pull_secrets: server.image_pull_secrets.clone(),
            security_context: server.security_context.clone(),
            init_containers: Some(installs).filter(|installs| !installs.is_empty()),
            containers: server.containers.iter().take(1).map(|it| self.container(it)).collect(),
            volumes: Some(volumes),
            restart_policy: Some("Never".to_owned()),
            termination_grace_period_seconds: Some(0),
            affinity: self.affinity(server),
            node_selector: server.node_selector.clone(),
            tolerations: server.tolerations.clone(),
            runtime_class_name: server.runtime_class_name.clone(),
            ..PodSpec::default()
        }
    }

    fn container(&self, server: &Container) -> Container {
        let mut mounts = server.volume_mounts.clone().unwrap_or_default();
        if mounts.iter().all(|mount| mount.name != START) {
            mounts.push(read_only(START, START_DIR));
        }
        let variables_from = server.env_from.iter().flatten();
        let variables_from: Vec<_> =
            variables_from.filter(|source| source.secret_ref.is_none()).cloned().collect();
        Container {
            name: server.name.clone(),
            image: server.image.clone(),
            image_pull_policy: server.image_pull_policy.clone(),
            command: Some(vec!["python3".to_owned(), PREFLIGHT_PROGRAM.to_owned()]),
            env: Some(self.variables(server)),
            env_from: Some(variables_from).filter(|sources| !sources.is_empty()),
            volume_mounts: Some(mounts),
            resources: Some(trimmed(server.resources.as_ref())),
            security_context: server.security_context.clone(),
            termination_message_policy: Some("File".to_owned()),
            ..Container::default()
        }
    }

    /// The server's variables, with a placeholder for each that comes from a Secret.
    fn variables(&self, server: &Container) -> Vec<EnvVar> {
        let own: Vec<EnvVar> =
            server.env.iter().flatten().map(|variable| self.variable(variable)).collect();
        let mut variables: Vec<EnvVar> = Vec::new();
        for source in server.env_from.iter().flatten() {
            let Some(secret) = &source.secret_ref else { continue };
            let prefix = source.prefix.as_deref().unwrap_or_default();
            for (key, shape) in self.shapes.get(&secret.name).into_iter().flatten() {
                variables.push(literal(format!("{prefix}{key}"), shape.placeholder()));
            }
        }
        variables.extend(own);
        variables.push(literal(PREFLIGHT, "1"));
        // Kubernetes takes the last of several, and server-side apply refuses them.
        let mut last: Vec<EnvVar> = Vec::with_capacity(variables.len());
        for variable in variables {
            last.retain(|earlier| earlier.name != variable.name);
            last.push(variable);
        }
        last
    }

    fn variable(&self, variable: &EnvVar) -> EnvVar {
        let secret = variable.value_from.as_ref().and_then(|from| from.secret_key_ref.as_ref());
        let Some(secret) = secret else { return variable.clone() };
        let known = self.shapes.get(&secret.name).and_then(|keys| keys.get(&secret.key));
        // Of the Secrets that the operator makes itself only the port is a number.
        let shape = known.copied().unwrap_or(match secret.key.as_str() {
            "port" => Shape::Number,
            _ => Shape::Text,
        });
        literal(variable.name.clone(), shape.placeholder())
    }

    /// A volume as it is, or an empty one in its place where it holds secrets or cannot be shared.
    fn volume(&self, volume: &Volume) -> Volume {
        let projects_a_secret = volume.projected.iter().any(|projected| {
            projected.sources.iter().flatten().any(|source| source.secret.is_some())
        });
        let claim = volume.persistent_volume_claim.as_ref();
        let is_elsewhere = claim.is_some_and(|claim| match self.claim_use(&claim.claim_name) {
            ClaimUse::Anywhere => false,
            ClaimUse::OnTheirNode => self.node.is_none(),
            ClaimUse::NotBeside => true,
        });
        if volume.secret.is_some() || volume.csi.is_some() || projects_a_secret || is_elsewhere {
            return empty_volume(&volume.name);
        }
        volume.clone()
    }

    fn claim_use(&self, claim: &str) -> ClaimUse {
        self.claims.get(claim).copied().unwrap_or(ClaimUse::NotBeside)
    }

    /// To the node of the server's pods where a volume is only there; else the server's own wishes for
    /// nodes. Those for other pods are about who serves.
    fn affinity(&self, server: &PodSpec) -> Option<Affinity> {
        let mut claims =
            server.volumes.iter().flatten().filter_map(|it| it.persistent_volume_claim.as_ref());
        let binds = claims.any(|it| self.claim_use(&it.claim_name) == ClaimUse::OnTheirNode);
        let node = match self.node.filter(|_| binds) {
            Some(node) => Some(at_node(node)),
            None => server.affinity.as_ref().and_then(|affinity| affinity.node_affinity.clone()),
        };
        node.map(|node| Affinity { node_affinity: Some(node), ..Affinity::default() })
    }
}

/// How a claim can be mounted beside the pods that have it, by its access modes.
pub fn claim_use<T: AsRef<str>>(access_modes: &[T]) -> ClaimUse {
    let has = |mode: &str| access_modes.iter().any(|known| known.as_ref() == mode);
    if has("ReadWriteMany") {
        ClaimUse::Anywhere
    } else if has("ReadWriteOnce") {
        ClaimUse::OnTheirNode
    } else {
        ClaimUse::NotBeside
    }
}

fn at_node(node: &str) -> NodeAffinity {
    let name = NodeSelectorRequirement {
        key: "metadata.name".to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![node.to_owned()]),
    };
    let term = NodeSelectorTerm { match_fields: Some(vec![name]), match_expressions: None };
    NodeAffinity {
        required_during_scheduling_ignored_during_execution: Some(NodeSelector {
            node_selector_terms: vec![term],
        }),
        ..NodeAffinity::default()
    }
}

/// Little CPU and memory to begin with, up to as much memory as the server may have, and no device.
fn trimmed(server: Option<&ResourceRequirements>) -> ResourceRequirements {
    let memory = |list: Option<&BTreeMap<String, Quantity>>| list?.get("memory").cloned();
    let given = server.and_then(|given| {
        memory(given.limits.as_ref()).or_else(|| memory(given.requests.as_ref()))
    });
    let given = given.as_ref().map_or(LEAST_MEMORY, |given| &given.0);
    let limit = match nanos(given) {
        given if given < nanos(LEAST_MEMORY) => LEAST_MEMORY,
        given if given > nanos(MOST_MEMORY) => MOST_MEMORY,
        _ => given,
    };
    small([("cpu", "100m"), ("memory", "256Mi")], [("cpu", "1"), ("memory", limit)])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The Job for a server with everything that must not get into it.
    fn job(claims: &[(&str, ClaimUse)], node: Option<&str>) -> Value {
        let resource = Resource::parse(&json!({
            "metadata": {"name": "llama", "namespace": "here", "uid": "1"},
        }));
        let secret = |name: &str, key: &str| json!({"name": name, "valueFrom": {"secretKeyRef": {"name": "keys", "key": key}}});
        let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path});
        let template = json!({
            "metadata": {"labels": {"app": "llama-stack", "team": "a"}},
            "spec": {
                "serviceAccountName": "llama-sa",
                "affinity": {"podAntiAffinity": {}},
                "initContainers": [
                    {"name": "install-a", "image": "a:1"},
                    {"name": "redis-proxy", "image": "b:1", "restartPolicy": "Always"},
                ],
                "containers": [{
                    "name": "llama-stack", "image": "server:2", "command": ["serve"],
                    "ports": [{"containerPort": 8321}],
                    "readinessProbe": {"httpGet": {"port": 8321}},
                    "lifecycle": {"preStop": {"sleep": {"seconds": 15}}},
                    "env": [secret("URL", "url"), secret("PORT", "port"), {"name": "A", "value": "1"}],
                    "envFrom": [{"prefix": "P_", "secretRef": {"name": "more"}}],
                    "resources": {"limits": {"nvidia.com/gpu": "1", "memory": "8Gi"}},
                    "volumeMounts": [mount("lls-storage", "/.llama"), mount("server-tls", "/tls")],
                }],
                "volumes": [
                    {"name": "lls-storage", "persistentVolumeClaim": {"claimName": "llama-pvc"}},
                    {"name": "server-tls", "secret": {"secretName": "tls"}},
                ],
            },
        });
        let template: PodTemplateSpec = serde_json::from_value(template).unwrap();
        let shapes = Shapes::from([
            ("keys".to_owned(), [("url".to_owned(), Shape::Https)].into()),
            ("more".to_owned(), [("TOKEN".to_owned(), Shape::Text)].into()),
        ]);
        let claims = claims.iter().map(|(name, claim)| ((*name).to_owned(), *claim)).collect();
        let preflight = PreflightJob {
            resource: &resource,
            template: &template,
            hash: "0a1b2c3d",
            shapes: &shapes,
            claims: &claims,
            node,
            seconds: 60,
        };
        let mut objects = preflight.objects();
        let job = objects.pop().unwrap();
        assert_eq!((job.kind, job.name.as_str()), (ObjectKind::Job, "llama-preflight-0a1b2c3d"));
        assert_eq!(objects[0].kind, ObjectKind::ConfigMap, "its program comes before it");
        job.json
    }

    #[test]
    fn the_pod_is_the_servers_and_serves_nothing_and_holds_no_secret() {
        let job = job(&[], None);
        let (template, pod) = (&job["spec"]["template"], &job["spec"]["template"]["spec"]);
        assert!(!job.to_string().contains("secret"), "{job}");
        assert!(template["metadata"]["labels"].get("app").is_none(), "nothing selects it");
        assert_eq!(pod["initContainers"].as_array().unwrap().len(), 1, "a sidecar never ends");
        assert_eq!(
            (&pod["restartPolicy"], &job["spec"]["backoffLimit"]),
            (&json!("Never"), &json!(0))
        );
        let container = &pod["containers"][0];
        assert_eq!(container["command"], json!(["python3", PREFLIGHT_PROGRAM]));
        for field in ["ports", "readinessProbe", "lifecycle", "envFrom"] {
            assert!(container.get(field).is_none(), "{field}");
        }
        let value = |name: &str| {
            let mut all = container["env"].as_array().unwrap().iter();
            all.find(|variable| variable["name"] == name).unwrap()["value"].clone()
        };
        assert_eq!(value("URL"), "https://placeholder.invalid");
        assert_eq!((value("PORT"), value("A")), (json!("1"), json!("1")));
        assert_eq!((value("P_TOKEN"), value("LLS_PREFLIGHT")), (json!("placeholder"), json!("1")));
        let limits = &container["resources"]["limits"];
        assert_eq!(
            limits,
            &json!({"cpu": "1", "memory": "2Gi"}),
            "no device, and no room for models"
        );
        let mounts = container["volumeMounts"].as_array().unwrap();
        assert!(mounts.iter().any(|mount| mount["mountPath"] == START_DIR));
    }

    #[test]
    fn a_volume_is_there_only_where_it_can_be_shared() {
        let volume = |job: &Value| job["spec"]["template"]["spec"]["volumes"][0].clone();
        let affinity = |job: &Value| job["spec"]["template"]["spec"]["affinity"].to_string();
        let once = job(&[("llama-pvc", claim_use(&["ReadWriteOnce"]))], Some("node-1"));
        assert!(volume(&once)["persistentVolumeClaim"].is_object());
        assert!(affinity(&once).contains("node-1"), "{once}");
        let many = job(&[("llama-pvc", claim_use(&["ReadWriteMany"]))], None);
        assert!(volume(&many)["persistentVolumeClaim"].is_object());
        assert_eq!(affinity(&many), "null");
        for (modes, node) in [("ReadWriteOncePod", Some("node-1")), ("ReadWriteOnce", None)] {
            let alone = job(&[("llama-pvc", claim_use(&[modes]))], node);
            assert!(volume(&alone)["emptyDir"].is_object(), "{modes}");
        }
    }
}
