//! `llsd provider package`: an image out of wheels, written to a registry without a container engine.
//! The same wheels give the same image.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use llsd_image::assembly::{self, Assembled, ForMachine, layer};
use llsd_provider::layout::{FILE, FOLDER, PACKAGES};
use llsd_provider::python::Architecture;
use llsd_provider::wheel::Wheel;
use llsd_provider::{Fault, Loader, PackageFile, ProviderPackage, check_wheels};
use llsd_registry::{Reference, Repository};
use serde_json::{Value, json};

use super::done::Done;
use super::{sources, written};
use crate::command::Exit;
use crate::command::registry_access::{Access, Connection, Failure, Remarks};

/// The machines that images are made for.
const MACHINES: [Architecture; 2] = [Architecture::X86_64, Architecture::Aarch64];
/// The time of everything in the image: the same wheels are to give the same image.
const TIME: &str = "1970-01-01T00:00:00Z";

/// Make an image out of a provider's wheels, and push it
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("to").args(["target", "output_dir"]).required(true))]
pub(super) struct Arguments {
    /// Wheels, or folders with wheels in them or in their folder dist
    #[arg(value_name = "DIR|WHEEL", required = true)]
    sources: Vec<PathBuf>,

    /// The API that the provider provides, such as inference
    #[arg(long, value_name = "API")]
    api: String,

    /// The provider's type, such as remote::acme
    #[arg(long = "type", value_name = "TYPE")]
    provider_type: String,

    /// The Python module that the server loads
    #[arg(long, value_name = "MODULE")]
    module: String,

    /// For a package without a module `provider`: the class of its configuration
    #[arg(long, value_name = "CLASS")]
    config_class: Option<String>,

    /// For such a package: an API that the provider uses
    #[arg(long, value_name = "API", requires = "config_class")]
    api_dependency: Vec<String>,

    /// Who makes the provider; without it, the author whom the wheel names
    #[arg(long, value_name = "NAME")]
    vendor: Option<String>,

    /// The image to write
    #[arg(short = 't', long = "tag", value_name = "REF")]
    target: Option<Reference>,

    /// Write what the image would hold into this new folder instead: for `llsd provider check`, or a build of
    /// your own
    #[arg(short, long, value_name = "DIR")]
    output_dir: Option<PathBuf>,

    #[command(flatten)]
    connection: Connection,
}

pub(super) async fn run(arguments: &Arguments, remarks: &mut Remarks) -> Done {
    let target = arguments.target.as_ref();
    if target.is_some_and(|target| target.digest().is_some() || target.tag().is_none()) {
        return Err(Failure::Usage("-t takes a name with a tag".to_owned()));
    }
    let mut wheels = sources::opened(&arguments.sources, remarks)?;
    let mut faults = check_wheels(&mut wheels, None);
    let images = images(arguments, &wheels, &mut faults);
    if !faults.is_empty() {
        for Fault { at, message, remedy } in &faults {
            remarks.problem(at, message, remedy);
        }
        return Err(Failure::Remarked);
    }
    let contents = sources::contents(&arguments.sources)?;
    let stdout = match (target, &arguments.output_dir) {
        (Some(target), _) => {
            let image = assemble(&images, &contents);
            let access = Access::new(&arguments.connection, remarks)?;
            let name = target.manifest_name();
            let write =
                async |repository: Repository<'_>| repository.push_image(&image, &name).await;
            format!("{}\n", access.writing(target, remarks, write).await?)
        }
        (None, Some(folder)) => written::write(folder, &images, &contents)?,
        (None, None) => String::new(),
    };
    for (machine, package) in &images {
        let of = machine.of_image();
        let count = package.dependency_wheels.len();
        remarks.line(&format!("linux/{of}: {}, and {count} wheels beside it", package.wheel));
    }
    if let Some(target) = target {
        remarks.line(&format!("{target} is now {}", stdout.trim_end()));
    }
    Ok((stdout, Exit::Fine))
}

/// What the image of each machine holds: of each distribution the wheel that fits the machine.
fn images(
    arguments: &Arguments,
    wheels: &[Wheel<File>],
    faults: &mut Vec<Fault>,
) -> Vec<(Architecture, ProviderPackage)> {
    let mut images = Vec::new();
    let names: std::collections::BTreeSet<String> = wheels.iter().map(Wheel::name).collect();
    for machine in MACHINES {
        let fitting: Vec<&Wheel<File>> =
            wheels.iter().filter(|wheel| wheel.fits_machine(machine)).collect();
        let has = |name: &String| fitting.iter().any(|wheel| wheel.name() == *name);
        if names.iter().all(has) {
            match package(arguments, &fitting) {
                Ok(package) => images.push((machine, package)),
                Err(wrong) => {
                    faults.extend(wrong);
                    return images;
                }
            }
        }
    }
    if images.is_empty() {
        faults.push(Fault::new(
            PACKAGES,
            "the wheels are not all for one machine",
            "give for each distribution a wheel for x86_64, for aarch64, or for any machine: `pip download --no-deps \
             --only-binary=:all: --platform manylinux_2_28_x86_64 NAME==VERSION` gets one",
        ));
    }
    images
}

/// What the package file says, checked by the reader of package files.
fn package(arguments: &Arguments, wheels: &[&Wheel<File>]) -> Result<ProviderPackage, Vec<Fault>> {
    let is_main = |wheel: &&&Wheel<File>| wheel.has_module(&arguments.module);
    let Some(main) = wheels.iter().find(is_main) else {
        return Err(vec![Fault::new(
            "--module",
            format!("no wheel has the module {}", arguments.module),
            "name the module that the server loads, and the wheel that has it",
        )]);
    };
    let provider = format!("{}.provider", arguments.module);
    if arguments.config_class.is_none() && !main.has_module(&provider) {
        return Err(vec![Fault::new(
            &main.file,
            format!("it has no module {provider}, which the server imports"),
            "add it, with get_provider_spec(), or name the configuration with --config-class",
        )]);
    }
    let others = wheels.iter().filter(|wheel| wheel.file != main.file);
    let metadata = &main.metadata;
    let vendor = arguments.vendor.clone().or_else(|| metadata.author.clone());
    let package = ProviderPackage {
        name: main.name(),
        version: metadata.version.to_string(),
        vendor: vendor.unwrap_or_else(|| main.name()),
        description: metadata.summary.clone(),
        maintainer: None,
        package_name: arguments.module.clone(),
        provider_type: arguments.provider_type.clone(),
        api: arguments.api.clone(),
        wheel: main.file.clone(),
        dependency_wheels: others.map(|wheel| wheel.file.clone()).collect(),
        loader: match &arguments.config_class {
            None => Loader::Module,
            Some(class) => Loader::ProvidersD {
                config_class: class.clone(),
                api_dependencies: arguments.api_dependency.clone(),
            },
        },
    };
    PackageFile::parse(&package.to_yaml()).map(|_| package)
}

fn assemble(
    images: &[(Architecture, ProviderPackage)],
    contents: &BTreeMap<String, Vec<u8>>,
) -> Assembled {
    let root = FOLDER.trim_start_matches('/');
    let for_machine = |(machine, package): &(Architecture, ProviderPackage)| {
        let file = assembly::File::new(&format!("{root}/{FILE}"), 0o644, package.to_yaml());
        let mut files = vec![file];
        for name in std::iter::once(&package.wheel).chain(&package.dependency_wheels) {
            let content = contents.get(name).cloned().unwrap_or_default();
            files.push(assembly::File::new(&format!("{root}/{PACKAGES}/{name}"), 0o644, content));
        }
        let layer = layer(&files, 0);
        let labels = labels(package);
        let config = json!({
            "created": TIME,
            "architecture": machine.of_image(),
            "os": "linux",
            "config": {"Labels": labels},
            "rootfs": {"type": "layers", "diff_ids": [layer.diff_id.to_string()]},
            "history": [{"created": TIME, "created_by": "llsd provider package"}],
        });
        let architecture = machine.of_image().to_owned();
        ForMachine { architecture, config, layers: vec![layer], annotations: labels }
    };
    let annotations = images.first().map(|(_, package)| labels(package)).unwrap_or_default();
    Assembled::from_images(images.iter().map(for_machine).collect(), &annotations)
}

/// What tools for images show.
fn labels(package: &ProviderPackage) -> Value {
    json!({
        "org.opencontainers.image.title": package.name,
        "org.opencontainers.image.vendor": package.vendor,
        "org.opencontainers.image.version": package.version,
    })
}
