//! What is wrong with a package file, and where.

use super::*;

const GOOD: &str = "apiVersion: llamastack.io/v1alpha1
kind: ProviderPackage
metadata: {name: acme, version: 1.2.0, vendor: ACME}
spec:
  packageName: acme_provider
  providerType: remote::acme
  api: inference
  wheelPath: packages/acme_provider-1.2.0-py3-none-any.whl
  dependencyWheels: [/lls-provider/packages/httpx-0.28.1-py3-none-any.whl]
";

fn messages(text: &str) -> Vec<String> {
    PackageFile::parse(text).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn the_file_says_what_the_image_provides() {
    let file = PackageFile::parse(GOOD).unwrap();
    let package = &file.packages[0];
    assert_eq!(package.wheel, "acme_provider-1.2.0-py3-none-any.whl");
    assert_eq!(package.dependency_wheels, ["httpx-0.28.1-py3-none-any.whl"]);
    assert_eq!(package.loader, Loader::Module);
}

#[test]
fn everything_that_is_wrong_is_said_with_its_line() {
    let wrong = GOOD
        .replace("remote::acme", "acme")
        .replace("  api: inference\n", "  apis: inference\n")
        .replace("packages/acme_provider-1.2.0-py3-none-any.whl", "../x.whl")
        .replace("1.2.0, vendor: ACME", "1.2");
    assert_eq!(
        messages(&wrong),
        [
            "lls-provider-spec.yaml, line 7, column 9: spec.apis: there is no such field",
            "lls-provider-spec.yaml, line 3, column 33: metadata.version: must be a text; put it into quotes",
            "lls-provider-spec.yaml, line 3, column 1: metadata.vendor: is missing",
            "lls-provider-spec.yaml, line 4, column 1: spec.api: is missing",
            "lls-provider-spec.yaml, line 6, column 17: spec.providerType: acme is not a provider type such as remote::acme or inline::acme",
            "lls-provider-spec.yaml, line 8, column 14: spec.wheelPath: ../x.whl does not lie in /lls-provider/packages",
        ]
    );
    assert!(messages("kind: [")[0].starts_with("lls-provider-spec.yaml, line 1"));
}

#[test]
fn what_has_another_form_is_said_once_for_each_field() {
    let wrong = GOOD
        .replace("kind: ProviderPackage", "kind: Package")
        .replace("acme_provider\n", "acme-provider\n")
        .replace("api: inference", "api: inference/v1")
        .replace("[/lls-provider/packages/httpx-0.28.1-py3-none-any.whl]", "httpx");
    let wrong = format!("{wrong}  loader: pip\n  api: vector_io\n");
    let told: Vec<String> = PackageFile::parse(&wrong)
        .unwrap_err()
        .into_iter()
        .map(|fault| format!("{} {}", fault.at.rsplit(": ").next().unwrap(), fault.message))
        .collect();
    assert_eq!(
        told,
        [
            "spec.api already set on line 7",
            "kind must be ProviderPackage",
            "spec.packageName acme-provider is no Python module",
            "spec.dependencyWheels must be a list of texts",
            "spec.loader pip is neither module nor providers.d",
        ]
    );
    let class = format!("{GOOD}  configClass: acme.Config\n");
    assert!(messages(&class)[0].ends_with("go with the loader providers.d"));
    let list = "apiVersion: llamastack.io/v1alpha1\nkind: ProviderPackage\nmetadata: []\n";
    assert!(messages(list)[0].ends_with("metadata: must be a mapping"), "{:?}", messages(list));
    assert_eq!(messages("")[0], "lls-provider-spec.yaml: it has 0 documents instead of one");
    let no_wheel = GOOD.replace("acme_provider-1.2.0-py3-none-any.whl", "acme.tar.gz");
    assert!(messages(&no_wheel)[0].contains("spec.wheelPath: packages/acme.tar.gz: "));
}

#[test]
fn a_package_without_a_provider_module_names_its_class() {
    let with = |loader: &str| PackageFile::parse(&format!("{GOOD}  loader: providers.d\n{loader}"));
    assert!(with("").is_err());
    let file = with("  configClass: acme_provider.config.Config\n").unwrap();
    assert!(matches!(&file.packages[0].loader, Loader::ProvidersD { .. }));
}

#[test]
fn an_image_of_two_providers_is_asked_by_api_and_name() {
    let second = GOOD.replace("name: acme", "name: other").replace("remote::acme", "inline::b");
    let file = PackageFile::parse(&format!("{GOOD}---\n{second}")).unwrap();
    assert_eq!(file.find("inference", "other").unwrap().name, "other");
    assert_eq!(file.find("inference", "b").unwrap().name, "other");
    assert_eq!(file.find("inference", "third"), None);
    assert_eq!(file.find("safety", "acme"), None);
}
