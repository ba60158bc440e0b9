//! Nothing of a server lies beside what asks callers who they are: every route is one of HTTP, of the one
//! application that the middleware is around. Middleware of the server lets WebSockets and mounted
//! applications of other protocols pass, so there must be none.

use std::fs;

use llsd_testkit::{OpenAiStub, Release};
use serde_json::json;

use super::{PATIENCE, releases, status};
use crate::pod::{Pod, Secrets};

/// Python reads it before the server's own program: each application writes down its routes.
const LISTING: &str = r#"
import os
import fastapi

build = fastapi.FastAPI.build_middleware_stack

def listed(application):
    with open(os.environ["ROUTES"], "a") as file:
        for route in application.routes:
            print(type(route).__name__, getattr(route, "path", "?"), file=file)
        print("--", file=file)
    return build(application)

fastapi.FastAPI.build_middleware_stack = listed
"#;

#[tokio::test(flavor = "multi_thread")]
async fn no_websocket_and_no_mounted_application_escapes_the_middleware() {
    let mut releases = releases();
    if Release::is_thorough_test() {
        releases.push(Release::newest_ogx());
    }
    for release in releases {
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
        fs::write(folder.path().join("sitecustomize.py"), LISTING).unwrap();
        let file = folder.path().join("routes");
        let boot = pod
            .boot(pod.config().to_owned())
            .with_env("PYTHONPATH", folder.path().display().to_string())
            .with_env("ROUTES", file.display().to_string());
        let mut server = release.boot(boot).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap();
        assert_eq!(status(&server, "/v1/models", None).await, 401, "{release}");

        let listed = fs::read_to_string(&file).unwrap();
        let (routes, others) = listed.split_once("--\n").unwrap();
        assert_eq!(others, "", "{release} serves one application");
        assert!(routes.contains("APIRoute /v1/models\n"), "{release}: {routes}");
        for route in routes.lines() {
            let kind = route.split(' ').next().unwrap();
            assert!(matches!(kind, "Route" | "APIRoute"), "{release}: {route}");
        }
    }
}
