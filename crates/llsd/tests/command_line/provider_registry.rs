//! `--registry`: what the images of external providers say of themselves, asked as the operator asks it.

use llsd_testkit::{RegistryServer, TestImage, TestLayer};

use crate::support::{Files, run};

const PACKAGE_FILE: &str = "\
apiVersion: llamastack.io/v1alpha1
kind: ProviderPackage
metadata: {name: acme, version: '1', vendor: ACME}
spec:
  packageName: acme_provider
  providerType: remote::acme
  api: inference
  wheelPath: packages/acme_provider-1-py3-none-any.whl
";

fn resource(image: &str) -> String {
    format!(
        "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\n\
         metadata: {{name: a, namespace: demo}}\nspec:\n  distribution: {{name: starter}}\n  \
         externalProviders:\n    inference:\n    - {{providerId: acme, image: '{image}'}}\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_says_what_an_external_provider_is() {
    let registry = RegistryServer::builder().start().await.unwrap();
    let file =
        TestLayer::files(&[("lls-provider/lls-provider-spec.yaml", PACKAGE_FILE.as_bytes())]);
    let above = TestLayer::files(&[("etc/other", b"x")]).gzip();
    let image = TestImage::new().layer(file.gzip()).layer(above);
    let digest = registry.push("providers/acme", "1", &image).await.unwrap();
    registry.push("providers/bare", "1", &TestImage::new()).await.unwrap();
    let image = |name: &str| format!("{}/providers/{name}:1", registry.host());
    let asked = async |command: &'static str, image: String, flags: &'static [&'static str]| {
        let files = Files::new();
        // Without it the internet would be asked for the server's own image.
        let facts = files.add("facts.yaml", "image: {digest: \"sha256:1234\"}\n");
        let work = move || {
            let arguments = [&[command, "-f", "-", "--facts", &facts], flags].concat();
            run(&arguments, &resource(&image))
        };
        let ran = tokio::task::spawn_blocking(work).await.unwrap();
        drop(files);
        ran
    };
    let flags = &["--registry", "--plain-http"][..];

    let rendered = asked("render", image("acme"), flags).await;
    assert_eq!(rendered.code, 0, "{}", rendered.stderr);
    assert!(rendered.stdout.contains("module: acme_provider"), "{}", rendered.stdout);
    assert!(rendered.stdout.contains(&format!("{}@{digest}", image("acme"))), "pinned");
    let explained = asked("explain", image("acme"), flags).await;
    let line = "provider_type: remote::acme";
    let line = explained.stdout.lines().find(|found| found.contains(line)).unwrap_or_default();
    assert!(line.contains("# spec.externalProviders.inference[0].image"), "{}", explained.stdout);
    assert_eq!(asked("validate", image("acme"), flags).await.code, 0);

    let bare = asked("validate", image("bare"), flags).await;
    assert_eq!(bare.code, 1);
    let words = format!("Missing /lls-provider/lls-provider-spec.yaml in image {}", image("bare"));
    assert!(bare.stderr.contains(&words), "{}", bare.stderr);
    let nowhere = asked("render", image("nowhere"), flags).await;
    assert_eq!(nowhere.code, 3, "{}", nowhere.stderr);
    assert!(nowhere.stderr.contains("not found in the registry"), "{}", nowhere.stderr);
    assert_eq!(asked("render", image("acme"), &[]).await.code, 3, "nobody was asked");
    assert_eq!(asked("render", image("acme"), &["--plain-http"]).await.code, 2);
}
