//! Nothing of a server lies beside what asks callers who they are: every route is one of HTTP, of the one
//! application that the middleware is around. Middleware of the server lets WebSockets and mounted
//! applications of other protocols pass, so there must be none.

use std::fs;

use llsd_testkit::OpenAiStub;
use serde_json::json;

use super::{PATIENCE, releases, status};
use crate::pod::{Pod, Secrets};

/// With each request, the application that serves it writes down its routes.
const LISTING: &str = r#"
import os
import fastapi
from starlette.routing import Route

serve = fastapi.FastAPI.__call__

def leaves(routes):
    for route in routes:
        # What newer releases of FastAPI keep for an included router.
        included = getattr(route, "original_router", None)
        yield from leaves(included.routes) if included else [route]

async def listed(application, scope, receive, send):
    if scope["type"] == "http":
        with open(os.path.join(os.environ["ROUTES"], str(id(application))), "w") as file:
            for route in leaves(application.routes):
                kind = "http" if isinstance(route, Route) else type(route).__name__
                print(kind, getattr(route, "path", "?"), file=file)
    await serve(application, scope, receive, send)

fastapi.FastAPI.__call__ = listed
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
        let boot = pod
            .boot(pod.config().to_owned())
            .with_python_before(LISTING)
            .with_env("ROUTES", folder.path().display().to_string());
        let mut server = release.boot(boot).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap();
        assert_eq!(status(&server, "/v1/models", None).await, 401, "{release}");

        let files: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{release} serves one application");
        let routes = fs::read_to_string(&files[0]).unwrap();
        assert!(routes.contains("/models\n"), "{release}: {routes}");
        for route in routes.lines() {
            assert!(route.starts_with("http "), "{release}: {route}");
        }
    }
}
