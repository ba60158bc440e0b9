//! A published image as a whole: which layer shows a file, and what changing labels leaves alone.

use llsd_registry::labels::{Change, INLINE, VERSION};
use llsd_registry::{Client, Error, FoundFile, Published, Reference, Source};
use llsd_testkit::{RegistryServer, TestImage, TestLayer};
use tar::{Builder, EntryType, Header};

use crate::setup::{ask, config, registry};

fn files(files: &[(&str, &str)]) -> TestLayer {
    let bytes: Vec<(&str, &[u8])> =
        files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    TestLayer::files(&bytes).gzip()
}

fn link(path: &str, target: &str) -> TestLayer {
    let mut archive = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Symlink);
    header.set_size(0);
    archive.append_link(&mut header, path, target).unwrap();
    TestLayer::archive(archive.into_inner().unwrap())
}

/// The file under `app/c` as an image of these layers, the lowest first, shows it.
async fn find(server: &RegistryServer, layers: &[TestLayer]) -> Result<FoundFile, Error> {
    let mut image = TestImage::new();
    image.layers = layers.to_vec();
    server.push("a/b", "1", &image).await.unwrap();
    let client = Client::new(config(server));
    let reference: Reference = format!("{}/a/b:1", server.host()).parse().unwrap();
    let repository = client.repository(&reference, None);
    let image = Published::fetch(repository).await?;
    image.find_file(repository, &image.parts()[0], "/app/c").await
}

#[tokio::test]
async fn the_last_layer_that_has_the_file_wins() {
    let server = RegistryServer::builder().start().await.unwrap();
    let [old, new, unrelated] =
        [files(&[("app/c", "old")]), files(&[("./app/c", "new")]), files(&[("app/d", "x")])];
    let found = |layer: &TestLayer, path: &str, text: &str| {
        let (digest, layer_size) = (layer.digest().parse().unwrap(), layer.bytes.len() as u64);
        Ok(FoundFile { layer: digest, layer_size, path: path.to_owned(), text: text.to_owned() })
    };
    let layers = [old.clone(), new.clone(), unrelated.clone()];
    assert_eq!(find(&server, &layers).await, found(&new, "/app/c", "new"));
    let layers = [old.clone(), unrelated.clone()];
    assert_eq!(find(&server, &layers).await, found(&old, "/app/c", "old"));
    // A link in one layer, the file in another, below and above.
    let target = files(&[("opt/v1/c", "linked")]);
    let linked = found(&target, "/opt/v1/c", "linked");
    let to_file = link("app/c", "../opt/v1/c");
    assert_eq!(find(&server, &[old.clone(), target.clone(), to_file.clone()]).await, linked);
    assert_eq!(find(&server, &[old.clone(), to_file, target.clone()]).await, linked);
    assert_eq!(find(&server, &[target, link("app", "/opt/v1")]).await, linked);
}

#[tokio::test]
async fn what_a_later_layer_took_away_is_gone() {
    let server = RegistryServer::builder().start().await.unwrap();
    let old = files(&[("app/c", "old")]);
    let path = || "/app/c".to_owned();
    for (above, expected) in [
        (files(&[("app/.wh.c", "")]), Error::DeletedInLayer { path: path() }),
        (files(&[(".wh.app", "")]), Error::DeletedInLayer { path: path() }),
        (files(&[("app/.wh..wh..opq", ""), ("app/d", "")]), Error::NotInImage { path: path() }),
        (files(&[("app", "no folder")]), Error::NotInImage { path: path() }),
        (link("app/c", "nowhere"), Error::NotInImage { path: path() }),
        (link("app/c", "c"), Error::BadLink { path: "app/c".into() }),
        (link("app/c", "../../../etc/passwd"), Error::BadLink { path: "app/c".into() }),
    ] {
        assert_eq!(find(&server, &[old.clone(), above]).await, Err(expected));
    }
    assert_eq!(find(&server, &[]).await, Err(Error::NotInImage { path: path() }));
    let back = [files(&[("app/.wh.c", "")]), files(&[("app/c", "again")])];
    let layers = [old, back[0].clone(), back[1].clone()];
    assert_eq!(find(&server, &layers).await.unwrap().text, "again");
}

#[tokio::test]
async fn what_was_labelled_is_what_the_operator_reads() {
    let server = RegistryServer::builder().start().await.unwrap();
    let layer = files(&[("app/c", "from the layer")]);
    let image = TestImage::new().label("other", "kept").layer(layer.clone());
    let before = server.push("a/b", "1", &image).await.unwrap();
    let client = Client::new(config(&server));
    let reference: Reference = format!("{}/a/b:1", server.host()).parse().unwrap();
    let repository = client.repository(&reference, None);
    let inline = Change::inline("in the label", "2");
    let in_layer = Change::in_layer(&layer.digest().parse().unwrap(), "/app/c", "2");
    for (change, text, source) in [
        (inline.clone(), "in the label", Source::Labels),
        (in_layer, "from the layer", Source::Layer),
        (inline, "in the label", Source::Labels),
    ] {
        let published = Published::fetch(repository).await.unwrap();
        let rewritten = published.relabelled(std::slice::from_ref(&change)).unwrap();
        let pushed = rewritten.push(repository, repository).await.unwrap();
        assert_ne!(pushed.digest.to_string(), before);
        let read = ask(&registry(&server), &reference.to_string(), &[]).await.unwrap();
        assert_eq!(read.digest, pushed.digest);
        let base = read.base.clone().unwrap().unwrap();
        assert_eq!((base.text.as_str(), base.source), (text, source));
        assert_eq!((read.labels["other"].as_str(), read.labels[VERSION].as_str()), ("kept", "2"));
        assert_eq!(read.labels.contains_key(INLINE), source == Source::Labels);
        // Once more changes nothing.
        let again = Published::fetch(repository).await.unwrap();
        assert!(again.relabelled(&[change]).unwrap().is_unchanged());
        assert_eq!(again.parts()[0].layer_count(), 1);
    }
}
