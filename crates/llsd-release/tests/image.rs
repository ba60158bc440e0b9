//! The image: the same bytes twice, small, complete, and signed so that others can tell.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use llsd_image::assembly::Assembled;
use llsd_image::{Digest, Reference};
use llsd_registry::attached::attached;
use llsd_registry::signature::{KeyProblem, VerifyingKey};
use llsd_registry::{Client, Config};
use llsd_release::image::{Release, assemble};
use llsd_release::push::{Said, attach};
use llsd_release::root::{PROGRAM, USER};
use llsd_release::signing::SigningKey;
use llsd_release::verify::{LIMIT, Verified, verify};
use llsd_release::{bill_of_materials, layout};
use llsd_testkit::RegistryServer;
use serde_json::{Value, json};

fn release() -> Release {
    Release { version: "0.1.0".into(), revision: "c0ffee".into(), time: 1_700_000_000 }
}

fn program() -> Vec<(String, Vec<u8>)> {
    vec![("amd64".to_owned(), b"\x7fELF a small program".to_vec())]
}

fn image() -> Assembled {
    assemble(&program(), &release())
}

fn json_of(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// Path, mode, owner and content of each entry of the layer.
fn entries(image: &Assembled) -> Vec<(String, u32, u64, Vec<u8>)> {
    let layer = image.blobs.iter().find(|blob| blob.media_type.ends_with("tar+gzip")).unwrap();
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&layer.bytes[..]));
    let mut found = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let (mode, owner) = (entry.header().mode().unwrap(), entry.header().uid().unwrap());
        assert_eq!(entry.header().mtime().unwrap(), 1_700_000_000, "{path}");
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        found.push((path, mode, owner, content));
    }
    found
}

#[test]
fn the_same_program_gives_the_same_digest_twice_and_another_one_another() {
    assert_eq!(image().digest(), image().digest());
    let other = assemble(&[("amd64".into(), b"another".to_vec())], &release());
    assert_ne!(image().digest(), other.digest());
}

#[test]
fn the_image_holds_the_program_roots_and_its_user_and_nothing_else() {
    let entries = entries(&image());
    let modes: BTreeMap<&str, u32> =
        entries.iter().map(|(path, mode, ..)| (path.as_str(), *mode)).collect();
    assert_eq!(
        modes,
        BTreeMap::from([
            ("etc/", 0o755),
            ("etc/group", 0o644),
            ("etc/passwd", 0o644),
            ("etc/ssl/", 0o755),
            ("etc/ssl/certs/", 0o755),
            ("etc/ssl/certs/ca-certificates.crt", 0o644),
            ("usr/", 0o755),
            ("usr/local/", 0o755),
            ("usr/local/bin/", 0o755),
            ("usr/local/bin/llsd", 0o755),
        ])
    );
    assert!(entries.iter().all(|(_, _, owner, _)| *owner == 0), "only root may write");
    let program = entries.iter().find(|(path, ..)| path.ends_with("llsd")).unwrap();
    assert_eq!(program.3, b"\x7fELF a small program");
}

#[test]
fn it_runs_as_nobody_and_says_what_it_is() {
    let image = image();
    let config = json_of(&image.blobs[0].bytes);
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"], json!(["/usr/local/bin/llsd"]));
    assert_eq!(config["config"]["Env"], json!(["PATH=/usr/local/bin"]));
    let labels = &config["config"]["Labels"];
    assert_eq!(labels["org.opencontainers.image.version"], "0.1.0");
    assert_eq!(labels["org.opencontainers.image.revision"], "c0ffee");
    assert_eq!(config["created"], "2023-11-14T22:13:20Z");
    assert_eq!(json_of(&image.top.bytes)["layers"].as_array().unwrap().len(), 1);
}

#[test]
fn the_containerfile_starts_the_same_program_as_the_same_user() {
    let text = std::fs::read_to_string(llsd_cases::files::repository("Containerfile")).unwrap();
    for line in [
        format!("USER {USER}:{USER}"),
        format!("ENTRYPOINT [\"/{PROGRAM}\"]"),
        "ENV PATH=/usr/local/bin".to_owned(),
        "FROM scratch".to_owned(),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}");
    }
}

#[test]
fn several_architectures_make_an_index() {
    let programs = ["amd64", "arm64"].map(|name| (name.to_owned(), name.as_bytes().to_vec()));
    let image = assemble(&programs, &release());
    let index = json_of(&image.top.bytes);
    let platforms: Vec<&Value> = index["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["platform"]["architecture"])
        .collect();
    assert_eq!(platforms, ["amd64", "arm64"]);
    assert_eq!(image.manifests.len(), 2);
}

#[test]
fn a_folder_holds_the_image_under_its_version() {
    let folder = tempfile::tempdir().unwrap();
    let image = image();
    layout::write(&image, "0.1.0", &folder.path().join("image")).unwrap();
    let at = |path: &str| std::fs::read(folder.path().join("image").join(path)).unwrap();
    let index = json_of(&at("index.json"));
    let top = &index["manifests"][0];
    assert_eq!(top["digest"], image.digest().to_string());
    assert_eq!(top["annotations"]["org.opencontainers.image.ref.name"], "0.1.0");
    assert_eq!(at(&format!("blobs/sha256/{}", image.digest().hex())), image.top.bytes);
    for blob in &image.blobs {
        assert_eq!(at(&format!("blobs/sha256/{}", blob.digest().hex())), blob.bytes);
    }
}

/// A key pair as the documentation has it made: `openssl`, and so as anybody's own.
fn key_pair(folder: &Path) -> (SigningKey, VerifyingKey) {
    let (private, public) = (folder.join("llsd.key"), folder.join("llsd.pub"));
    let run = |arguments: &[&str]| {
        let done = Command::new("openssl").args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let curve = "ec_paramgen_curve:P-256";
    run(&["genpkey", "-algorithm", "EC", "-pkeyopt", curve, "-out", private.to_str().unwrap()]);
    run(&["pkey", "-in", private.to_str().unwrap(), "-pubout", "-out", public.to_str().unwrap()]);
    let text = |path| std::fs::read_to_string(path).unwrap();
    (SigningKey::parse(&text(private)).unwrap(), VerifyingKey::parse(&text(public)).unwrap())
}

#[test]
fn a_text_that_is_no_key_is_refused() {
    assert_eq!(SigningKey::parse("").unwrap_err(), KeyProblem::NoBlock("PRIVATE KEY"));
    assert_eq!(VerifyingKey::parse("x").unwrap_err(), KeyProblem::NoBlock("PUBLIC KEY"));
    let other = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    assert_eq!(VerifyingKey::parse(other).unwrap_err(), KeyProblem::OtherKey);
}

async fn read_back(
    client: &Client,
    digest: &Digest,
    at: &Reference,
    key: &VerifyingKey,
) -> Verified {
    let read = async |tag: &Reference| attached(client.repository(tag, None), LIMIT).await;
    verify(digest, at, key, read).await.unwrap()
}

#[tokio::test]
async fn a_pushed_image_is_signed_and_a_key_that_did_not_sign_it_is_told_so() {
    let registry = RegistryServer::builder().start().await.unwrap();
    let mut config = Config::default();
    for allowed in [
        llsd_registry::mirrors::Registries::allow_plain_http,
        llsd_registry::mirrors::Registries::allow_private,
    ] {
        allowed(&mut config.registries, llsd_registry::mirrors::HostPattern::every());
    }
    let client = Client::new(config);
    let folder = tempfile::tempdir().unwrap();
    let (key, public) = key_pair(folder.path());
    let reference: Reference = format!("{}/llsd/operator:0.1.0", registry.host()).parse().unwrap();
    let image = image();
    let repository = client.repository(&reference, None);
    let digest = repository.push_image(&image, "0.1.0").await.unwrap();
    assert_eq!(digest, image.digest());
    assert_eq!(read_back(&client, &digest, &reference, &public).await, Verified::default());

    let (bill, provenance) = (json!({"bomFormat": "CycloneDX"}), json!({"buildDefinition": {}}));
    let said = Said { bill_of_materials: &bill, provenance: &provenance, key: &key };
    attach(&digest, &reference, &said, repository).await.unwrap();
    let verified = read_back(&client, &digest, &reference, &public).await;
    assert!(verified.is_signed);
    assert_eq!(
        verified.attestations,
        [
            ("https://cyclonedx.org/bom".to_owned(), bill),
            ("https://slsa.dev/provenance/v1".to_owned(), provenance),
        ]
    );

    let other = tempfile::tempdir().unwrap();
    let (_, stranger) = key_pair(other.path());
    assert_eq!(read_back(&client, &digest, &reference, &stranger).await, Verified::default());
    // What is signed of one image says nothing of another.
    let another = assemble(&[("amd64".into(), b"another".to_vec())], &release());
    let moved: Reference = format!("{}:0.1.0", reference.name()).parse().unwrap();
    client.repository(&moved, None).push_image(&another, "0.1.0").await.unwrap();
    let verified = read_back(&client, &another.digest(), &moved, &public).await;
    assert_eq!(verified, Verified::default());
}

/// Cargo's own account of what the program is built from, against the bill.
#[test]
fn the_bill_of_materials_lists_every_crate_of_the_program() {
    let root = llsd_cases::files::repository("");
    let cargo = |arguments: &[&str]| {
        let done = Command::new("cargo").args(arguments).current_dir(&root).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    let target = "x86_64-unknown-linux-gnu";
    let metadata =
        cargo(&["metadata", "--format-version", "1", "--locked", "--filter-platform", target]);
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap();
    let bill = bill_of_materials::bill_of_materials(
        &serde_json::from_str(&metadata).unwrap(),
        &lock,
        &release(),
    )
    .unwrap();
    let listed: BTreeMap<&str, &Value> = bill["components"]
        .as_array()
        .unwrap()
        .iter()
        .map(|component| (component["purl"].as_str().unwrap(), component))
        .collect();
    let tree = cargo(&[
        "tree",
        "--locked",
        "-p",
        "llsd",
        "-e",
        "normal,build",
        "--target",
        target,
        "--prefix",
        "none",
        "--no-dedupe",
        "-f",
        "{p}",
    ]);
    let mut count = 0;
    for line in tree.lines().filter(|line| !line.starts_with("llsd v")) {
        let (name, rest) = line.split_once(" v").unwrap();
        let version = rest.split(' ').next().unwrap();
        let part = listed.get(format!("pkg:cargo/{name}@{version}").as_str());
        let part = part.unwrap_or_else(|| panic!("{line} is not in the bill"));
        assert!(part["licenses"][0]["expression"].is_string(), "{line}");
        assert!(line.contains('/') || part["hashes"][0]["content"].is_string(), "{line}");
        count += 1;
    }
    assert!(count > 100, "{count}");
    assert!(listed.keys().any(|purl| purl.starts_with("pkg:cargo/webpki-root-certs@")));
    assert!(!listed.keys().any(|purl| purl.starts_with("pkg:cargo/proptest@")), "for tests alone");
}
