//! `llsd provider install`: unpacks the wheels of a provider's image into the folder that goes before
//! the server's own packages on Python's path. It needs nothing of the image that it runs in, asks no
//! network, and writes nothing where anything is wrong.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use llsd_provider::layout::{
    FILE, FILES, FOLDER, INSTALLED, METADATA, PROVIDERS_D, PYTHON_PACKAGES, missing_file,
};
use llsd_provider::python::Server;
use llsd_provider::wheel::{Placed, Wheel};
use llsd_provider::{
    Candidate, Decision, Fault, Installed, Loader, Package, PackageFile, ProviderPackage, Taken,
    check_wheels, open_wheels, providers_d, select,
};

use super::done::Done;
use super::folder::Folder;
use super::server::ServerFlags;
use super::unpacked::Unpacked;
use crate::command::Exit;
use crate::command::registry_access::{Failure, Remarks};

/// Install a provider's wheels for a server; ends with 1 where they do not fit it
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder that the provider's image brings
    #[arg(long, value_name = "DIR", default_value = FOLDER)]
    from: PathBuf,

    /// The folder that the server's pod has for external providers
    #[arg(long, value_name = "DIR")]
    to: PathBuf,

    /// The id that the resource gives the provider; without it, the package's name
    #[arg(long, value_name = "ID", value_parser = id)]
    provider: Option<String>,

    /// The API under which the resource has the provider
    #[arg(long, value_name = "API")]
    api: Option<String>,

    /// The image that the folder is of, for messages
    #[arg(long, value_name = "REF")]
    image: Option<String>,

    #[command(flatten)]
    labels: LabelFlags,

    #[command(flatten)]
    server: ServerFlags,
}

// What the labels of an image say that may hold no package file, but packages as Python imports them. A
// comment of another kind would become the command's own description.
#[derive(Debug, Args)]
#[command(next_help_heading = "Of an image with labels and without a package file")]
struct LabelFlags {
    /// The provider's type, such as remote::acme
    #[arg(long = "type", value_name = "TYPE", requires_all = ["module", "api", "provider"])]
    provider_type: Option<String>,

    /// The Python module that the server loads
    #[arg(long, value_name = "MODULE", requires = "provider_type")]
    module: Option<String>,

    /// The class of its configuration, where the module has no `provider` in it
    #[arg(long, value_name = "CLASS", requires = "provider_type")]
    config_class: Option<String>,
}

impl LabelFlags {
    /// As a package file would say it.
    fn package(&self, id: &str, api: &str) -> Option<ProviderPackage> {
        Some(ProviderPackage {
            name: id.to_owned(),
            version: String::new(),
            vendor: String::new(),
            description: None,
            maintainer: None,
            package_name: self.module.clone()?,
            provider_type: self.provider_type.clone()?,
            api: api.to_owned(),
            wheel: String::new(),
            dependency_wheels: Vec::new(),
            loader: match &self.config_class {
                None => Loader::Module,
                Some(class) => {
                    let (config_class, api_dependencies) = (class.clone(), Vec::new());
                    Loader::ProvidersD { config_class, api_dependencies }
                }
            },
        })
    }
}

/// An id becomes the name of a folder.
fn id(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
    if text.is_empty() || text.starts_with('.') || !text.chars().all(is_plain) {
        return Err("an id has letters, digits, and . _ - within".to_owned());
    }
    Ok(text.to_owned())
}

pub(super) fn run(arguments: &Arguments, remarks: &mut Remarks) -> Done {
    let needed = || Failure::Usage("--python or --server is needed".to_owned());
    let server = arguments.server.server()?.ok_or_else(needed)?;
    let from = Folder::new(&arguments.from);
    if !arguments.from.join(FILE).exists()
        && let Some(done) = labelled(arguments, &server, remarks)?
    {
        return Ok(done);
    }
    let missing = match &arguments.image {
        Some(image) => missing_file(image),
        None => format!("Missing {}", arguments.from.join(FILE).display()),
    };
    let (file, text) = from.package_file(&missing).map_err(|faults| refused(&faults, remarks))?;
    let packages = chosen(&file, arguments).map_err(|fault| refused(&[fault], remarks))?;
    let mut stdout = String::new();
    for package in packages {
        let id = arguments.provider.clone().unwrap_or_else(|| package.name.clone());
        let unread =
            |error: io::Error| Failure::Usage(format!("{}: {error}", arguments.to.display()));
        let target = InstallFolder::load(&arguments.to, &id).map_err(unread)?;
        let wheels = checked(package, &from, &server, &target, remarks)?;
        let lines = target.write(wheels, package, &text).map_err(unread)?;
        stdout.push_str(&lines);
    }
    Ok((stdout, Exit::Fine))
}

/// Copies the packages of an image that only labels describe; nothing where it holds none.
fn labelled(
    arguments: &Arguments,
    server: &Server,
    remarks: &mut Remarks,
) -> Result<Option<(String, Exit)>, Failure> {
    let (Some(id), Some(api)) = (&arguments.provider, &arguments.api) else { return Ok(None) };
    let Some(package) = arguments.labels.package(id, api) else { return Ok(None) };
    let unread = |error: io::Error| Failure::Usage(format!("{}: {error}", arguments.to.display()));
    let Some(tree) = Unpacked::find(&arguments.from).map_err(unread)? else { return Ok(None) };
    let target = InstallFolder::load(&arguments.to, id).map_err(unread)?;
    let candidates = tree.candidates(&package.package_name);
    let selection = select(id, &candidates, server, &target.installed, &target.taken);
    warn(&selection.warnings, remarks);
    let conflicts = [selection.conflicts, tree.cannot_be_left_out(&selection.decisions)].concat();
    if !conflicts.is_empty() {
        return Err(refused(&conflicts, remarks));
    }
    let (copied, lines) = tree.copy(&arguments.to, id, &selection.decisions).map_err(unread)?;
    target.record(copied, &package, &[]).map_err(unread)?;
    Ok(Some((lines, Exit::Fine)))
}

/// Which of the file's providers are meant.
fn chosen<'a>(
    file: &'a PackageFile,
    arguments: &Arguments,
) -> Result<Vec<&'a ProviderPackage>, Fault> {
    let (Some(api), id) = (&arguments.api, arguments.provider.as_deref()) else {
        return match (&file.packages[..], &arguments.provider) {
            ([_, _, ..], Some(_)) => Err(Fault::new(
                FILE,
                "it has several providers",
                "say with --api which of them has this id",
            )),
            (all, _) => Ok(all.iter().collect()),
        };
    };
    match file.find(api, id.unwrap_or_default()) {
        Some(package) => Ok(vec![package]),
        None => Err(wrong_api(file, api)),
    }
}

/// What is said where a provider stands under an API that it does not provide.
fn wrong_api(file: &PackageFile, api: &str) -> Fault {
    let provided: Vec<&str> = file.packages.iter().map(|package| package.api.as_str()).collect();
    let provided = provided.join(", ");
    Fault::new(
        FILE,
        format!("the image provides the API {provided}, not {api}"),
        format!("move the provider to externalProviders.{provided}"),
    )
}

type SelectedWheels = Vec<(Wheel<File>, Decision)>;

/// The wheels with what becomes of each; all problems at once.
fn checked(
    package: &ProviderPackage,
    from: &Folder,
    server: &Server,
    target: &InstallFolder,
    remarks: &mut Remarks,
) -> Result<SelectedWheels, Failure> {
    let opened = open_wheels(package, |name| from.wheel(name));
    let mut wheels = opened.map_err(|faults| refused(&faults, remarks))?;
    let mut faults = check_wheels(&mut wheels, Some(server));
    let candidates: Vec<Candidate<'_>> = wheels
        .iter()
        .enumerate()
        .map(|(at, wheel)| Candidate {
            file: &wheel.file,
            metadata: &wheel.metadata,
            is_main: at == 0,
            files: wheel.files(),
        })
        .collect();
    let selection = select(&target.id, &candidates, server, &target.installed, &target.taken);
    warn(&selection.warnings, remarks);
    faults.extend(selection.conflicts);
    if !faults.is_empty() {
        return Err(refused(&faults, remarks));
    }
    Ok(wheels.into_iter().zip(selection.decisions).collect())
}

fn warn(warnings: &[Fault], remarks: &mut Remarks) {
    for Fault { message, remedy, .. } in warnings {
        remarks.warn(&format!("{message}\n    → {remedy}"));
    }
}

fn refused(faults: &[Fault], remarks: &mut Remarks) -> Failure {
    for Fault { at, message, remedy } in faults {
        remarks.problem(at, message, remedy);
    }
    Failure::Remarked
}

/// The folder that is installed into, without what this provider brought before: its container may have
/// been started again.
struct InstallFolder {
    folder: PathBuf,
    id: String,
    installed: Installed,
    taken: Taken,
}

impl InstallFolder {
    fn load(folder: &Path, id: &str) -> io::Result<Self> {
        let list = read_or_empty(&folder.join(INSTALLED))?;
        let installed = Installed::parse(&list).map_err(io::Error::other)?.without(id);
        let mut taken = Taken::new();
        for package in &installed.0 {
            let files = folder.join(METADATA).join(&package.provider).join(FILES);
            for line in read_or_empty(&files)?.lines() {
                if let Some((hash, path)) = line.split_once(' ') {
                    let owner = (hash.to_owned(), package.provider.clone());
                    taken.insert(path.to_owned(), owner);
                }
            }
        }
        Ok(Self { folder: folder.to_owned(), id: id.to_owned(), installed, taken })
    }

    /// Unpacks the wheels; what was done, line by line.
    fn write(
        self,
        wheels: SelectedWheels,
        package: &ProviderPackage,
        text: &str,
    ) -> io::Result<String> {
        let (mut lines, mut files) = (Vec::new(), String::new());
        let mut brought = Vec::new();
        for (mut wheel, decision) in wheels {
            let (name, title) = (wheel.name(), wheel.title());
            match decision {
                Decision::There { version, whose } => {
                    lines.push(format!("{title} left out: {whose} has {version}\n"));
                }
                Decision::Install => {
                    let packages = self.folder.join(PYTHON_PACKAGES);
                    wheel.unpack(|placed| create(&packages, placed))?;
                    let written = wheel.files().into_iter();
                    files.extend(written.map(|(path, hash)| format!("{hash} {path}\n")));
                    lines.push(format!("{title} installed\n"));
                    let version = wheel.metadata.version.clone();
                    brought.push(Package { name, version, provider: self.id.clone() });
                }
            }
        }
        self.record(brought, package, &[(FILE, text), (FILES, &files)])?;
        Ok(lines.concat())
    }

    /// Writes what the server and later providers have to know, the list of what is installed last.
    fn record(
        mut self,
        brought: Vec<Package>,
        package: &ProviderPackage,
        texts: &[(&str, &str)],
    ) -> io::Result<()> {
        if let Some((path, content)) = providers_d(package) {
            let path = self.folder.join(PROVIDERS_D).join(path);
            fs::create_dir_all(path.parent().unwrap_or(&self.folder))?;
            fs::write(path, content)?;
        }
        let own = self.folder.join(METADATA).join(&self.id);
        fs::create_dir_all(&own)?;
        for (name, text) in texts {
            fs::write(own.join(name), text)?;
        }
        self.installed.0.extend(brought);
        let list = self.folder.join(INSTALLED);
        let new = self.folder.join(format!(".{INSTALLED}"));
        fs::write(&new, self.installed.to_string())?;
        fs::rename(new, list)
    }
}

/// A new file at its place: never one behind a link that lies there.
fn create(packages: &Path, placed: &Placed) -> io::Result<BufWriter<File>> {
    let path = packages.join(&placed.path);
    fs::create_dir_all(path.parent().unwrap_or(packages))?;
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mode = if placed.is_executable { 0o755 } else { 0o644 };
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    Ok(BufWriter::new(file))
}

fn read_or_empty(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        other => other,
    }
}
