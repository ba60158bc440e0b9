//! What a check looks at: a folder, or an image in a registry, read without a container engine.

use std::io::Cursor;
use std::path::Path;

use llsd_provider::layout::{FILE, FOLDER, PACKAGES, missing_file};
use llsd_provider::python::Server;
use llsd_provider::wheel::MAX_UNPACKED;
use llsd_provider::{Fault, PackageFile, ProviderPackage, check_wheels, open_wheels};
use llsd_registry::{Error, Part, Reference};

use super::folder::Folder;
use crate::command::registry_access::{Access, Connection, Failure, Opened, Remarks};

/// A wheel that is checked is held in memory.
const MAX_WHEEL: u64 = 1 << 30;

/// What was found, for one platform of an image or for a folder.
#[derive(Debug)]
pub(super) struct FoundPackages {
    /// `linux/amd64`; nothing for a folder.
    pub(super) platform: Option<String>,
    pub(super) packages: Vec<ProviderPackage>,
    pub(super) faults: Vec<Fault>,
}

pub(super) fn of_folder(path: &Path, server: Option<&Server>) -> FoundPackages {
    let folder = Folder::new(path);
    let missing = format!("Missing {}", path.join(FILE).display());
    let (packages, faults) = match folder.package_file(&missing) {
        Err(faults) => (Vec::new(), faults),
        Ok((PackageFile { packages }, _)) => {
            let mut faults = Vec::new();
            for package in &packages {
                match open_wheels(package, |name| folder.wheel(name)) {
                    Ok(mut wheels) => faults.extend(check_wheels(&mut wheels, server)),
                    Err(wrong) => faults.extend(wrong),
                }
            }
            (packages, faults)
        }
    };
    FoundPackages { platform: None, packages, faults }
}

/// Every platform of an image.
pub(super) async fn of_image(
    reference: &Reference,
    server: Option<&Server>,
    connection: &Connection,
    remarks: &mut Remarks,
) -> Result<Vec<FoundPackages>, Failure> {
    let access = Access::new(connection, remarks)?;
    let opened = access.open(reference, remarks).await?;
    let mut found = Vec::new();
    for part in opened.image.parts() {
        let image = InImage { access: &access, opened: &opened, reference, part };
        found.push(Box::pin(image.found(server)).await?);
    }
    Ok(found)
}

struct InImage<'a> {
    access: &'a Access,
    opened: &'a Opened,
    reference: &'a Reference,
    part: &'a Part,
}

impl InImage<'_> {
    async fn found(&self, server: Option<&Server>) -> Result<FoundPackages, Failure> {
        let platform = Some(self.part.platform.clone());
        let refused =
            |faults| FoundPackages { platform: platform.clone(), packages: Vec::new(), faults };
        let Some(text) = self.file(&format!("{FOLDER}/{FILE}")).await? else {
            let message = missing_file(&self.reference.to_string());
            let remedy = "llsd provider package makes an image that has it";
            return Ok(refused(vec![Fault::new(FILE, message, remedy)]));
        };
        let Ok(text) = String::from_utf8(text) else {
            return Ok(refused(vec![Fault::new(FILE, "it is not UTF-8 text", "write it again")]));
        };
        let packages = match PackageFile::parse(&text) {
            Ok(file) => file.packages,
            Err(faults) => return Ok(refused(faults)),
        };
        let mut faults = Vec::new();
        for package in &packages {
            let mut wheels = std::collections::BTreeMap::new();
            for name in std::iter::once(&package.wheel).chain(&package.dependency_wheels) {
                let content = self.file(&format!("{FOLDER}/{PACKAGES}/{name}")).await?;
                wheels.insert(name.clone(), content);
            }
            let open =
                |name: &str| wheels.remove(name).flatten().map(|bytes| Ok(Cursor::new(bytes)));
            match open_wheels(package, open) {
                Ok(mut wheels) => faults.extend(check_wheels(&mut wheels, server)),
                Err(wrong) => faults.extend(wrong),
            }
        }
        Ok(FoundPackages { platform, packages, faults })
    }

    async fn file(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let client = &self.access.client;
        let repository = client.repository(self.reference, self.opened.credential.as_ref());
        let limit = MAX_WHEEL.min(MAX_UNPACKED);
        match Box::pin(self.opened.image.find_bytes(repository, self.part, path, limit)).await {
            Ok(found) => Ok(Some(found)),
            Err(Error::NotInImage { .. } | Error::DeletedInLayer { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
