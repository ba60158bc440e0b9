//! A provider's wheels, opened and judged together with what the package file says of them.

use std::io::{Read, Seek};

use crate::fault::Fault;
use crate::layout::{FILE, FOLDER, PACKAGES};
use crate::package_file::{Loader, ProviderPackage};
use crate::python::Server;
use crate::wheel::Wheel;

/// Opens the wheels of a provider, the main one first. `open` is `None` for a file that is not there.
pub fn open_wheels<R: Read + Seek>(
    package: &ProviderPackage,
    mut open: impl FnMut(&str) -> Option<Result<R, String>>,
) -> Result<Vec<Wheel<R>>, Vec<Fault>> {
    let mut wheels = Vec::new();
    let mut faults = Vec::new();
    for file in std::iter::once(&package.wheel).chain(&package.dependency_wheels) {
        match open(file) {
            None => faults.push(Fault::new(
                FILE,
                format!("{FOLDER}/{PACKAGES}/{file} is not in the image"),
                "put the wheel there, or take it out of the file",
            )),
            Some(Err(why)) => faults.push(Fault::new(file, why, "check the file")),
            Some(Ok(reader)) => match Wheel::open(file, reader) {
                Ok(wheel) => wheels.push(wheel),
                Err(wrong) => faults.extend(wrong),
            },
        }
    }
    if faults.is_empty() {
        faults.extend(lacks_module(package, &wheels));
    }
    if faults.is_empty() { Ok(wheels) } else { Err(faults) }
}

/// Every file against RECORD, and every wheel against the server where that is known.
pub fn check_wheels<R: Read + Seek>(
    wheels: &mut [Wheel<R>],
    server: Option<&Server>,
) -> Vec<Fault> {
    let mut faults = Vec::new();
    for wheel in wheels {
        let misfits = server.map(|server| wheel.misfits(server)).unwrap_or_default();
        // Native code of a wheel that says itself that it is for another machine is no news.
        let machine = server.map(|server| server.machine).filter(|_| misfits.is_empty());
        faults.extend(misfits);
        faults.extend(wheel.check(machine));
    }
    faults
}

/// What the server will import must be there.
fn lacks_module<R: Read + Seek>(package: &ProviderPackage, wheels: &[Wheel<R>]) -> Option<Fault> {
    let has = |module: &str| wheels.iter().any(|wheel| wheel.has_module(module));
    let name = &package.package_name;
    let (missing, remedy) = if package.loader == Loader::Module && has(name) {
        let remedy = "add it, with get_provider_spec(), or set loader: providers.d and configClass";
        (format!("{name}.provider"), remedy)
    } else {
        (name.clone(), "name the module that the wheel has, or the wheel that has it")
    };
    let message = format!("no wheel has the module {missing}, which the server imports");
    (!has(&missing)).then(|| Fault::new(&package.wheel, message, remedy))
}
