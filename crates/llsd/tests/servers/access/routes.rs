//! Nothing of a server lies beside what asks callers who they are: every route is one of HTTP, of the one
//! application that the middleware is around. Middleware of the server lets WebSockets and mounted
//! applications of other protocols pass, so there must be none.

use std::fs;

use llsd_testkit::OpenAiStub;
use serde_json::json;

use super::{PATIENCE, releases, status};
use crate::pod::{Pod, Secrets};

/// Each application writes down its routes before it serves.
const LISTING: &str = r#"
import os
import fastapi
from starlette.routing import Route

build = fastapi.FastAPI.build_middleware_stack

def leaves(routes):
    for route in routes:
        # What newer releases of FastAPI keep for an included router.
        included = getattr(route, "original_router", None)
        yield from leaves(included.routes) if included else [route]

def listed(application):
    with open(os.environ["ROUTES"], "a") as file:
        for route in leaves(application.routes):
            kind = "http" if isinstance(route, Route) else type(route).__name__
            print(kind, getattr(route, "path", "?"), file=file)
        print("--", file=file)
    return build(application)

fastapi.FastAPI.build_middleware_stack = listed
"#;

#[tokio::test(flavor = "multi_thread")]
async fn no_websocket_and_no_mounted_application_escapes_the_middleware() {
    for release in releases() {
        if !release.install_or_skip() {
            return;
        }
        let stub = OpenAiStub::start(&["llama"]).await.unwrap();
        let spec = json!({
            "providers": {"inference": {"provider": "vllm", "endpoint": stub.url()}},
            "access": {"authentication": {"kubernetes": {}}},
        });
        let pod = Pod::planned(release, spec, &Secrets::new());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("routes");
        let boot = pod
            .boot(pod.config().to_owned())
            .with_python_before(LISTING)
            .with_env("ROUTES", file.display().to_string());
        let mut server = release.boot(boot).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap();
        assert_eq!(status(&server, "/v1/models", None).await, 401, "{release}");

        let listed = fs::read_to_string(&file).unwrap();
        let (routes, others) = listed.split_once("--\n").unwrap();
        assert_eq!(others, "", "{release} serves one application");
        assert!(routes.contains("/models\n"), "{release}: {routes}");
        for route in routes.lines() {
            assert!(route.starts_with("http "), "{release}: {route}");
        }
    }
}
