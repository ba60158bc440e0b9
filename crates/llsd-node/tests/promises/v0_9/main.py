"""Does what operator v0.9 does for its resources, as far as a server needs it: with its lease, its names, its labels and
its field managers, over and over. v0.9 itself is a program in Go, whose module no Go proxy had when this was written."""
import json
import os
import ssl
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
NAMESPACE, NAME, IMAGE = (os.environ[name] for name in ("OPERATOR_NAMESPACE", "HOSTNAME", "SERVER_IMAGE"))
TRUST = ssl.create_default_context(cafile=f"{ACCOUNT}/ca.crt")
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/54e06e98.llamastack.io"
SECONDS = 15
GROUP = "/apis/llamastack.io/v1alpha1"
START = (
    "exec python3 -m uvicorn llama_stack.core.server.server:create_app --factory"
    ' --host 0.0.0.0 --port "${LLS_PORT:-8321}" --workers "${LLS_WORKERS:-1}"'
)


def call(method, path, body=None, kind="application/json"):
    with open(f"{ACCOUNT}/token") as token:
        headers = {"Authorization": f"Bearer {token.read()}", "Content-Type": kind}
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(f"https://kubernetes.default.svc{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=10, context=TRUST) as answer:
        return json.load(answer)


def there(path):
    try:
        return call("GET", path)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise


def leads():
    """Whether the lease is this program's, which is renewed then. It is not given back at the end."""
    now = datetime.now(timezone.utc)
    at = now.isoformat(timespec="microseconds").replace("+00:00", "Z")
    lease = there(LEASE)
    if not lease:
        metadata = {"name": LEASE.rsplit("/", 1)[1]}
        spec = {"holderIdentity": NAME, "leaseDurationSeconds": SECONDS, "acquireTime": at, "renewTime": at}
        made = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        call("POST", LEASE.rsplit("/", 1)[0], made)
        return True
    spec = lease["spec"]
    age = (now - datetime.fromisoformat(spec["renewTime"])).total_seconds()
    if spec.get("holderIdentity") not in (NAME, "") and age < SECONDS:
        return False
    spec.update(holderIdentity=NAME, leaseDurationSeconds=SECONDS, renewTime=at)
    call("PUT", LEASE, lease)
    return True


def deployment(name, server, replicas):
    wanted, storage, config = server.get("containerSpec", {}), server.get("storage"), server.get("userConfig")
    port = wanted.get("port") or 8321
    requests = {"cpu": str(server.get("workers", 1)), "memory": "1Gi", **wanted.get("resources", {}).get("requests", {})}
    path = (storage or {}).get("mountPath") or "/.llama"
    volume = {"persistentVolumeClaim": {"claimName": f"{name}-pvc"}} if storage else {"emptyDir": {}}
    container = {
        "name": wanted.get("name") or "llama-stack",
        "image": IMAGE,
        "env": [
            {"name": "HF_HOME", "value": path},
            {"name": "LLS_WORKERS", "value": str(server.get("workers", 1))},
            {"name": "LLS_PORT", "value": str(port)},
            {"name": "LLAMA_STACK_CONFIG", "value": "/etc/llama-stack/config.yaml"},
            *wanted.get("env", []),
        ],
        "ports": [{"containerPort": port}],
        "resources": {"requests": requests},
        "startupProbe": {
            "httpGet": {"path": "/v1/health", "port": port},
            "initialDelaySeconds": 15, "timeoutSeconds": 30, "failureThreshold": 3, "successThreshold": 1,
        },
        "volumeMounts": [{"name": "lls-storage", "mountPath": path}],
    }
    volumes, annotations = [{"name": "lls-storage", **volume}], {}
    if config:
        container["command"], container["args"] = ["/bin/sh", "-c", START], []
        container["volumeMounts"].append({"name": "user-config", "mountPath": "/etc/llama-stack/", "readOnly": True})
        volumes.append({"name": "user-config", "configMap": {"name": config["configMapName"]}})
        annotations["configmap.hash/user-config"] = f"1-{config['configMapName']}"
    labels = {"app": "llama-stack", "app.kubernetes.io/instance": name}
    pod = {
        "serviceAccountName": f"{name}-sa", "securityContext": {"fsGroup": 1001},
        "containers": [container], "volumes": volumes,
    }
    template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {**spec, "strategy": {"type": "Recreate"}} if storage else spec


def objects(name, spec):
    server = spec["server"]
    port = server.get("containerSpec", {}).get("port") or 8321
    selector = {"app": "llama-stack", "app.kubernetes.io/instance": name}
    ports = [{"name": "http", "protocol": "TCP", "port": port, "targetPort": port}]
    yield "v1", "ServiceAccount", "serviceaccounts", "-sa", {}
    if server.get("storage"):
        claim = {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": server["storage"].get("size") or "10Gi"}},
        }
        yield "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "-pvc", {"spec": claim}
    yield "v1", "Service", "services", "-service", {"spec": {"type": "ClusterIP", "selector": selector, "ports": ports}}
    yield "apps/v1", "Deployment", "deployments", "", {"spec": deployment(name, server, spec.get("replicas", 1))}


def write(resource):
    """Creates what is missing, and applies the rest, by force, under the resource's own name."""
    metadata = resource["metadata"]
    namespace, name = metadata["namespace"], metadata["name"]
    owner = {
        "apiVersion": "llamastack.io/v1alpha1", "kind": "LlamaStackDistribution", "name": name, "uid": metadata["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }
    labels = {
        "app.kubernetes.io/managed-by": "llama-stack-operator", "app.kubernetes.io/part-of": "llama-stack",
        "llamastack.io/watch": "true",
    }
    for version, kind, plural, suffix, rest in objects(name, resource["spec"]):
        made = {"name": name + suffix, "namespace": namespace, "labels": labels, "ownerReferences": [owner]}
        made = {"apiVersion": version, "kind": kind, "metadata": made, **rest}
        root = "/api/v1" if version == "v1" else f"/apis/{version}"
        folder = f"{root}/namespaces/{namespace}/{plural}"
        if not there(f"{folder}/{name}{suffix}"):
            call("POST", f"{folder}?fieldManager=manager", made)
        elif kind != "PersistentVolumeClaim":
            query = f"fieldManager={name}&force=true"
            call("PATCH", f"{folder}/{name}{suffix}?{query}", made, "application/apply-patch+yaml")
    report(resource, there(f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}") or {})


def report(resource, running):
    metadata, now = resource["metadata"], datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = running.get("status", {}).get("readyReplicas", 0)
    is_ready = ready == resource["spec"].get("replicas", 1)
    condition = {
        "type": "DeploymentReady", "status": "True" if is_ready else "False", "lastTransitionTime": now,
        "reason": "DeploymentReady" if is_ready else "DeploymentFailed",
        "message": "Deployment is ready" if is_ready else "Deployment is pending",
    }
    port = resource["spec"]["server"].get("containerSpec", {}).get("port") or 8321
    resource["status"] = {
        "phase": "Ready" if is_ready else "Initializing",
        "availableReplicas": ready,
        "conditions": [condition],
        "version": {"operatorVersion": "0.9.0", "lastUpdated": now},
        "serviceURL": f"http://{metadata['name']}-service.{metadata['namespace']}.svc.cluster.local:{port}",
    }
    path = f"{GROUP}/namespaces/{metadata['namespace']}/llamastackdistributions/{metadata['name']}/status"
    call("PUT", path, resource)


while True:
    try:
        if leads():
            for found in call("GET", f"{GROUP}/llamastackdistributions")["items"]:
                # A list does not repeat on each item what all of them are.
                write({"apiVersion": "llamastack.io/v1alpha1", "kind": "LlamaStackDistribution", **found})
    except (OSError, KeyError) as error:
        print(f"{error!r}: {error.read()[:500] if isinstance(error, urllib.error.HTTPError) else ''}", flush=True)
    time.sleep(1)
