//! An image with Redis and Postgres: the programs of this machine's Debian packages and the libraries that they need,
//! over the Debian of the servers' images.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use llsd_image::assembly::{Assembled, File, Layer, layer};
use llsd_testkit::{Release, debian_program};
use serde_json::json;

use crate::{Node, images};

/// They belong to the loader of the image's own Debian.
const OF_LOADER: [&str; 6] =
    ["libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libresolv.so"];
/// Compiles queries, with a library of a hundred megabytes; nothing loads it unless asked to.
const COMPILER: &str = "llvmjit.so";
/// `initdb` asks who runs it.
const USERS: &str = "root:x:0:0::/root:/bin/sh\npostgres:x:1001:1001::/data:/bin/sh\n";

/// Pushes it, and gives the image as pods name it.
pub(super) async fn push_stores(node: &Node) -> anyhow::Result<String> {
    let image = tokio::task::spawn_blocking(assembled).await??;
    node.push("stores", "1", &image).await
}

fn assembled() -> anyhow::Result<Assembled> {
    let archives = Release::newest().image_archives()?;
    let debian = archives.first().context("an image has Debian below all else")?;
    let debian = Layer { bytes: fs::read(&debian.file)?, diff_id: debian.diff_id.parse()? };
    let initdb = debian_program("initdb", "postgresql")?.canonicalize()?;
    let programs = initdb.parent().context("a program is in a folder")?.to_owned();
    let mut files = BTreeMap::new();
    for name in ["initdb", "postgres", "psql"] {
        with_libraries(&programs.join(name), &mut files)?;
    }
    for (name, package) in [("redis-server", "redis-server"), ("redis-cli", "redis-tools")] {
        with_libraries(&debian_program(name, package)?, &mut files)?;
    }
    let version = programs.parent().context("of a version")?;
    let modules = fs::read_dir(version.join("lib"))?.flatten().map(|entry| entry.path());
    files.extend(modules.filter(|path| is_module(path)).map(|path| (path.clone(), path)));
    let number = version.file_name().context("with a number")?;
    below(&Path::new("/usr/share/postgresql").join(number), &mut files)?;

    let mut contents = vec![File::new("etc/passwd", 0o644, USERS)];
    for (at, from) in files {
        let at = at.display().to_string();
        contents.push(File::new(at.trim_start_matches('/'), 0o755, fs::read(from)?));
    }
    let path = format!("PATH={}:/usr/bin:/bin", programs.display());
    let config = json!({"User": "1001", "Env": [path, "LANG=C.UTF-8"]});
    Ok(images::assembled(vec![debian, layer(&contents, 0)], &config))
}

/// Where files of the image lie there, and here.
type Files = BTreeMap<PathBuf, PathBuf>;

fn with_libraries(program: &Path, files: &mut Files) -> anyhow::Result<()> {
    files.insert(program.to_owned(), program.to_owned());
    let said = Command::new("ldd").arg(program).output().context("there is no ldd")?;
    ensure!(said.status.success(), "ldd {}: {}", program.display(), said.status);
    let said = String::from_utf8(said.stdout)?;
    let paths = said.lines().filter_map(|line| line.split_once(" => ")?.1.split(' ').next());
    for path in paths.map(Path::new) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { continue };
        if !OF_LOADER.iter().any(|own| name.to_string_lossy().starts_with(own)) {
            // `/lib` is a link, which a folder in a layer would replace.
            files.insert(folder.canonicalize()?.join(name), path.to_owned());
        }
    }
    Ok(())
}

fn is_module(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "so") && !path.ends_with(COMPILER)
}

fn below(folder: &Path, files: &mut Files) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            below(&path, files)?;
        } else {
            files.insert(path.clone(), path);
        }
    }
    Ok(())
}
