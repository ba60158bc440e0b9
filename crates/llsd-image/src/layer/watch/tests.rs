//! Files, links and deletions in layers as builders make them, and as attackers would.

use std::time::{Duration, Instant};

use tar::{Builder, EntryType, Header};

use super::*;
use crate::layer::{plain_path, scan};

const LIMIT: u64 = 100;

enum Put<'a> {
    File(&'a str, &'a str),
    Symbolic(&'a str, &'a str),
    Hard(&'a str, &'a str),
    Folder(&'a str),
}
use Put::{File, Folder, Hard, Symbolic};

fn layer(entries: &[Put<'_>]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for entry in entries {
        let (path, kind, target, content) = match *entry {
            File(path, content) => (path, EntryType::Regular, "", content),
            Symbolic(path, target) => (path, EntryType::Symlink, target, ""),
            Hard(path, target) => (path, EntryType::Link, target, ""),
            Folder(path) => (path, EntryType::Directory, "", ""),
        };
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        // Written by hand: the library refuses to write what an attacker would.
        let name = &mut header.as_gnu_mut().unwrap().name;
        name[..path.len()].copy_from_slice(path.as_bytes());
        let link = &mut header.as_gnu_mut().unwrap().linkname;
        link[..target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        archive.append(&header, content.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap()
}

/// The file's text and the passes that it took, or the error.
fn find(wanted: &str, entries: &[Put<'_>]) -> Result<(String, usize), Error> {
    find_in(wanted, &layer(entries))
}

fn find_in(wanted: &str, layer: &[u8]) -> Result<(String, usize), Error> {
    let deadline = Instant::now() + Duration::from_secs(10);
    let bounds = Bounds { unpacked: 1 << 20, file: LIMIT, deadline };
    let mut watch = Watch::new(&plain_path(wanted).unwrap());
    for pass in 1..10 {
        scan(layer, &mut watch, &bounds)?;
        match watch.required(LIMIT)? {
            Pass::Done(content) => return Ok((String::from_utf8(content).unwrap(), pass)),
            Pass::Again(next) => watch = next,
        }
    }
    panic!("it never ends");
}

fn found(text: &str, passes: usize) -> (String, usize) {
    (text.to_owned(), passes)
}

#[test]
fn a_file_is_found_however_its_path_is_written() {
    for path in ["app/c", "./app/c", "/app/c", ".//app/./c"] {
        assert_eq!(find("/app/c", &[File("x", "1"), File(path, "2")]), Ok(found("2", 1)));
    }
    assert_eq!(
        find("a", &[File("a", "old"), File("b", "x"), File("./a", "new")]),
        Ok(found("new", 1))
    );
}

#[test]
fn links_are_followed_forward_in_one_pass_and_back_in_another() {
    assert_eq!(find("a", &[Symbolic("a", "d/b"), File("d/b", "x")]), Ok(found("x", 1)));
    assert_eq!(find("a", &[File("d/b", "x"), Symbolic("a", "/d/b")]), Ok(found("x", 2)));
    assert_eq!(find("d/a", &[File("d/b", "x"), Symbolic("d/a", "b")]), Ok(found("x", 2)));
    assert_eq!(find("a", &[File("b", "x"), Hard("a", "b")]), Ok(found("x", 2)));
    let folders = [Symbolic("app", "opt/v1"), Symbolic("opt/v1", "v2"), File("opt/v2/c", "x")];
    assert_eq!(find("app/c", &folders), Ok(found("x", 1)));
    let back = [File("3", "x"), Hard("2", "3"), Symbolic("1", "2")];
    assert_eq!(find("1", &back), Ok(found("x", 3)));
}

#[test]
fn links_that_circle_or_leave_the_image_are_refused() {
    let bad = Err(Error::BadLink { path: "a".into() });
    assert_eq!(find("a", &[Symbolic("a", "a")]), bad);
    assert_eq!(find("a", &[Symbolic("a", "b"), Symbolic("b", "a")]), bad);
    assert_eq!(find("a", &[Symbolic("a", "../../etc/passwd")]), bad);
    assert_eq!(find("a", &[Symbolic("a", "/../etc/passwd")]), bad);
    assert_eq!(find("a", &[Hard("a", "../b")]), bad);
    assert_eq!(find("a", &[Symbolic("a", "nowhere")]), bad);
    let chain: Vec<(String, String)> =
        (0..20).map(|at| (format!("{at}"), format!("{}", at + 1))).collect();
    let mut entries: Vec<Put<'_>> = chain.iter().map(|(a, b)| Symbolic(a, b)).collect();
    entries.push(File("20", "x"));
    assert_eq!(find("0", &entries), Err(Error::BadLink { path: "0".into() }));
    // Each link in the way doubles the path; the number of links bounds it.
    assert!(find("a/a/a", &[Symbolic("a", "a/a/a/a")]).is_err());
}

#[test]
fn an_entry_that_climbs_is_never_the_one_that_is_looked_for() {
    let entries = [File("../a", "1"), File("x/../a", "2")];
    assert_eq!(find("a", &entries), Err(Error::NotInLayer { path: "a".into() }));
}

#[test]
fn a_deleted_file_is_gone() {
    let deleted = Err(Error::DeletedInLayer { path: "app/c".into() });
    assert_eq!(find("app/c", &[File("app/.wh.c", "")]), deleted);
    assert_eq!(find("app/c", &[File(".wh.app", "")]), deleted);
    // Whiteouts hide what lies below this layer, not what it holds itself.
    assert_eq!(find("app/c", &[File("app/.wh.c", ""), File("app/c", "x")]), Ok(found("x", 1)));
    let opaque = [File("app/.wh..wh..opq", ""), File("app/c", "x")];
    assert_eq!(find("app/c", &opaque), Ok(found("x", 1)));
    let other = Err(Error::NotInLayer { path: "app/c".into() });
    assert_eq!(find("app/c", &[File("app/.wh.d", ""), Folder("app")]), other);
}

#[test]
fn a_layer_says_what_layers_below_may_still_show() {
    let below = |entries: &[Put<'_>]| {
        let deadline = Instant::now() + Duration::from_secs(10);
        let bounds = Bounds { unpacked: 1 << 20, file: LIMIT, deadline };
        let mut watch = Watch::new("app/d/c");
        loop {
            scan(layer(entries).as_slice(), &mut watch, &bounds).unwrap();
            match watch.outcome(LIMIT).unwrap() {
                Pass::Done(Outcome::Absent { path, below }) => return (path, below),
                Pass::Again(next) => watch = next,
                Pass::Done(Outcome::Found(_)) => panic!("there is no such file"),
            }
        }
    };
    let same = |outcome| ("app/d/c".to_owned(), outcome);
    assert_eq!(below(&[Folder("app"), File("app/x", "")]), same(Below::Shown));
    assert_eq!(below(&[File("app/d/.wh..wh..plnk", "")]), same(Below::Shown));
    assert_eq!(below(&[File("app/e/.wh..wh..opq", "")]), same(Below::Shown));
    assert_eq!(below(&[File("app/d/.wh.c", "")]), same(Below::Deleted));
    assert_eq!(below(&[File(".wh.app", ""), Folder("app")]), same(Below::Deleted));
    assert_eq!(below(&[File("app/.wh..wh..opq", "")]), same(Below::Hidden));
    assert_eq!(below(&[File(".wh..wh..opq", "")]), same(Below::Hidden));
    assert_eq!(below(&[File("app", "no folder any more")]), same(Below::Hidden));
    let linked = ("opt/d/c".to_owned(), Below::Shown);
    assert_eq!(below(&[Symbolic("app", "opt")]), linked);
}

#[test]
fn only_regular_files_of_a_fair_size_are_taken() {
    assert_eq!(find("a", &[Folder("a")]), Err(Error::NotAFile { path: "a".into() }));
    let large = "x".repeat(101);
    let too_large = Error::TooLarge { what: "a".into(), limit: LIMIT };
    assert_eq!(find("a", &[File("a", &large)]), Err(too_large));
    assert_eq!(find("a", &[File("b", &large), File("a", "x")]), Ok(found("x", 1)));
}

#[test]
fn long_names_are_read_and_endless_ones_are_not() {
    let folder = "d".repeat(150);
    let path = format!("{folder}/{folder}/c");
    let mut archive = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_size(1);
    archive.append_data(&mut header, &path, &b"x"[..]).unwrap();
    assert_eq!(find_in(&path, &archive.into_inner().unwrap()), Ok(found("x", 1)));

    let mut archive = Builder::new(Vec::new());
    archive.append_pax_extensions([("path", path.as_bytes())]).unwrap();
    let mut header = Header::new_ustar();
    header.set_path("short").unwrap();
    header.set_size(1);
    header.set_cksum();
    archive.append(&header, &b"y"[..]).unwrap();
    assert_eq!(find_in(&path, &archive.into_inner().unwrap()), Ok(found("y", 1)));

    for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader] {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(1 << 40);
        header.set_cksum();
        let error = find_in("a", header.as_bytes()).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }
}

#[test]
fn an_archive_that_never_ends_is_stopped() {
    let mut header = Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_size(1 << 40);
    header.set_cksum();
    let mut content = header.as_bytes().to_vec();
    content.resize(2 << 20, 0);
    let error = find_in("a", &content).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert!(matches!(find_in("a", b"not a tar archive").unwrap_err(), Error::Malformed { .. }));
}
