//! Whose signature an image has: of the keys that were asked for, of this image, in the source or a mirror.

use llsd_registry::mirrors::Registries;
use llsd_registry::signature::VerifyingKey;
use llsd_registry::{Config, Credential, Digest, Error, Reference, Registry};
use llsd_testkit::{ImageSigner, RegistryServer, TestImage};

const REPOSITORY: &str = "team/server";

fn key(signer: &ImageSigner) -> VerifyingKey {
    VerifyingKey::parse(&signer.public_key()).unwrap()
}

async fn signed_by(
    registries: &str,
    host: &str,
    digest: &Digest,
    keys: &[VerifyingKey],
) -> Result<VerifyingKey, Error> {
    let registries = Registries::parse(registries).unwrap();
    let registry = Registry::new(Config { registries, ..Config::default() });
    let image: Reference = format!("{host}/{REPOSITORY}:1").parse().unwrap();
    let anonymous: Vec<Credential> = Vec::new();
    registry.signed_by(&image, digest, keys, &anonymous).await.cloned()
}

#[tokio::test]
async fn an_image_is_signed_by_a_key_that_signed_this_image_and_no_other() {
    let server = RegistryServer::builder().start().await.unwrap();
    let host = server.host().to_owned();
    let allowed = format!("{{insecureHosts: ['{host}'], privateHosts: ['{host}']}}");
    let (ours, strangers) = (ImageSigner::generate().unwrap(), ImageSigner::generate().unwrap());
    let keys = [key(&strangers), key(&ours)];
    let image = server.push(REPOSITORY, "1", &TestImage::new()).await.unwrap();
    let other = TestImage::new().label("other", "image");
    let other = server.push(REPOSITORY, "2", &other).await.unwrap();
    let digest: Digest = image.parse().unwrap();
    let unsigned = Err(Error::Unsigned { at: format!("{host}/{REPOSITORY}@{image}") });

    assert_eq!(signed_by(&allowed, &host, &digest, &keys).await, unsigned, "nothing is attached");
    server.sign(REPOSITORY, &image, &other, &ours).await.unwrap();
    assert_eq!(signed_by(&allowed, &host, &digest, &keys).await, unsigned, "of another image");
    server.sign(REPOSITORY, &image, &image, &ours).await.unwrap();
    assert_eq!(signed_by(&allowed, &host, &digest, &keys).await, Ok(key(&ours)));
    assert_eq!(signed_by(&allowed, &host, &digest, &keys[..1]).await, unsigned, "of another key");
    assert_eq!(signed_by(&allowed, &host, &digest, &[]).await, unsigned, "no key is known");

    let mirrored = format!(
        "{{mirrors: [{{source: source.invalid, mirrors: ['{host}']}}], insecureHosts: ['{host}']}}"
    );
    let found = signed_by(&mirrored, "source.invalid", &digest, &keys).await;
    assert_eq!(found, Ok(key(&ours)), "the mirror has it");
}
