//! What is in the image: the program, the certificate authorities that it trusts, and the names of its
//! user. There is no shell, no libc and no package manager.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use llsd_image::assembly::File;

/// Nobody's, as in other images without a distribution; OpenShift picks another one.
pub const USER: u32 = 65532;
/// Where the program lies, which is on the image's `PATH`.
pub const PROGRAM: &str = "usr/local/bin/llsd";
/// Where programs on Linux look first.
const ROOTS: &str = "etc/ssl/certs/ca-certificates.crt";

/// The files of an image with this program, sorted by path.
pub fn files(program: Vec<u8>) -> Vec<File> {
    vec![
        File::new("etc/group", 0o644, format!("root:x:0:\nllsd:x:{USER}:\n")),
        File::new(
            "etc/passwd",
            0o644,
            format!("root:x:0:0:root:/:/sbin/nologin\nllsd:x:{USER}:{USER}:llsd:/:/sbin/nologin\n"),
        ),
        File::new(ROOTS, 0o644, roots()),
        File::new(PROGRAM, 0o755, program),
    ]
}

/// Writes the files below a folder, which is emptied first.
pub fn write(files: &[File], folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    for file in files {
        let path = folder.join(&file.path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, &file.content)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(file.mode))?;
    }
    Ok(())
}

/// Mozilla's authorities, from a crate and not from the machine that builds: that one may trust others.
fn roots() -> String {
    webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|root| llsd_pem::written(root)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roots_are_certificates() {
        let found = llsd_pem::certificates(&roots()).expect("PEM");
        assert_eq!(found.len(), webpki_root_certs::TLS_SERVER_ROOT_CERTS.len());
    }
}
