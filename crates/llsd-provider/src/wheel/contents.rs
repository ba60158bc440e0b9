//! One wheel: opened, checked as a whole, and handed out file by file.

use std::collections::BTreeSet;
use std::io::{self, Read, Seek, Write};

use super::archive::{Archive, Entry};
use super::elf;
use super::metadata::{self, Metadata};
use super::placing::{Placed, place};
use super::record::{self, Expected, Record};
use super::scripts;
use crate::fault::Fault;
use crate::python::{Architecture, Server, Tag, normalised};
use crate::wheel_name::FileName;

/// How the names of native modules end.
const NATIVE: &str = ".so";

const REMEDY: &str = "build the wheel again with `pip wheel`, or get it again with `pip download`";

/// A wheel whose parts fit together. Its files are believed only after [`Wheel::check`].
#[derive(Debug)]
pub struct Wheel<R> {
    /// The file's own name.
    pub file: String,
    pub metadata: Metadata,
    pub tags: Vec<Tag>,
    archive: Archive<R>,
    record: Record,
    /// `acme_provider-1.2.0.dist-info`, as the archive spells it.
    dist_info: String,
    programs: Vec<(String, String)>,
}

impl<R: Read + Seek> Wheel<R> {
    /// Reads what a wheel says of itself; everything that is wrong with it.
    pub fn open(file: &str, reader: R) -> Result<Self, Vec<Fault>> {
        let faults = |wrong: Vec<String>| {
            wrong.into_iter().map(|message| Fault::new(file, message, REMEDY)).collect::<Vec<_>>()
        };
        let name: FileName = file.parse().map_err(|wrong| faults(vec![wrong]))?;
        let mut archive = Archive::open(reader).map_err(faults)?;
        let dist_info = dist_info(&archive, &name).map_err(|wrong| faults(vec![wrong]))?;
        let mut wrong = Vec::new();
        let mut part = |archive: &mut Archive<R>, part: &str, is_needed: bool| {
            let text = archive.text(&format!("{dist_info}/{part}"));
            match text {
                Ok(None) if is_needed => wrong.push(format!("it has no {part}")),
                Err(why) => wrong.push(why),
                Ok(found) => return found,
            }
            None
        };
        let metadata = part(&mut archive, "METADATA", true);
        let wheel = part(&mut archive, "WHEEL", true);
        let record = part(&mut archive, "RECORD", true);
        let entry_points = part(&mut archive, "entry_points.txt", false);
        let mut keep =
            |result: Result<(), Vec<String>>| wrong.extend(result.err().unwrap_or_default());
        let mut said = None;
        keep(metadata.map_or(Ok(()), |text| Metadata::parse(&text).map(|read| said = Some(read))));
        keep(wheel.map_or(Ok(()), |text| metadata::tags(&text, &name)));
        let mut listed = None;
        keep(record.map_or(Ok(()), |text| record::parse(&text).map(|read| listed = Some(read))));
        if let Some(metadata) = &said {
            let is_same = normalised(&metadata.name) == normalised(&name.distribution)
                && metadata.version == name.version;
            if !is_same {
                let Metadata { name, version, .. } = metadata;
                wrong.push(format!("its METADATA is of {name} {version}"));
            }
        }
        let programs = entry_points.map(|text| scripts::of_entry_points(&text)).unwrap_or_default();
        match (said, listed) {
            (Some(metadata), Some(record)) if wrong.is_empty() => Ok(Self {
                file: file.to_owned(),
                metadata,
                tags: name.tags,
                archive,
                record,
                dist_info,
                programs,
            }),
            _ => Err(faults(wrong)),
        }
    }

    /// The distribution's name as it is compared.
    pub fn name(&self) -> String {
        normalised(&self.metadata.name)
    }

    /// `acme-provider 1.2.0`.
    pub fn title(&self) -> String {
        format!("{} {}", self.name(), self.metadata.version)
    }

    /// Whether a machine of this kind runs it, whatever its C library.
    pub fn fits_machine(&self, machine: Architecture) -> bool {
        self.tags.iter().any(|tag| tag.fits_platform(machine, None))
    }

    /// Whether it brings a Python module.
    pub fn has_module(&self, module: &str) -> bool {
        let path = module.replace('.', "/");
        let files = self.placed();
        let own = [format!("{path}.py"), format!("{path}/__init__.py")];
        files.iter().any(|(_, file)| {
            own.contains(&file.path)
                || file.path.strip_prefix(&path).is_some_and(|rest| {
                    // `acme.cpython-312-x86_64-linux-gnu.so`
                    let is_native = rest.strip_suffix(NATIVE).is_some();
                    rest.starts_with('/') || (rest.starts_with('.') && is_native)
                })
        })
    }

    /// Why this server cannot run it.
    pub fn misfits(&self, server: &Server) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut say = |message: String, remedy: &str| {
            faults.push(Fault::new(&self.file, message, remedy));
        };
        let python = server.python();
        let any = |fits: &dyn Fn(&Tag) -> bool| self.tags.iter().any(fits);
        let (of_python, of_platform) = (
            any(&|tag| tag.fits_python(server.minor())),
            any(&|tag| tag.fits_platform(server.machine, server.libc())),
        );
        let tags = self.tags.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        if !of_python {
            say(
                format!("it is made for another Python ({tags}); the server runs Python {python}"),
                &format!(
                    "put a wheel for the server's Python into the image: {}",
                    self.download(server)
                ),
            );
        }
        if !of_platform {
            let (machine, libc) = (server.machine.name(), server.libc.as_deref());
            let on = libc.map_or(machine.to_owned(), |libc| format!("{machine} with {libc}"));
            say(
                format!("it is made for another platform ({tags}); the server runs on {on}"),
                &format!(
                    "put a wheel for the server's platform into the image: {}",
                    self.download(server)
                ),
            );
        }
        if let Some(wanted) = &self.metadata.requires_python
            && !server.satisfies(wanted)
        {
            say(
                format!("it needs Python {wanted}; the server runs Python {python}"),
                "use a release of the package for the server's Python: `pip index versions` lists them",
            );
        }
        faults
    }

    /// What gets such a wheel for a server.
    fn download(&self, server: &Server) -> String {
        let Metadata { name, version, .. } = &self.metadata;
        let libc = server.libc.as_deref().and_then(|libc| libc.strip_prefix("glibc "));
        let libc = libc.unwrap_or("2.28").replace('.', "_");
        let (machine, python) = (server.machine.name(), server.minor());
        format!(
            "`pip download --no-deps --only-binary=:all: --python-version 3.{python} --platform \
             manylinux_{libc}_{machine} {name}=={version}` gets it, where there is one"
        )
    }

    /// Reads every file once: its hash, and native code's processor where that is known.
    pub fn check(&mut self, machine: Option<Architecture>) -> Vec<Fault> {
        let mut wrong = Vec::new();
        let signatures = ["RECORD", "RECORD.jws", "RECORD.p7s"];
        let own = format!("{}/", self.dist_info);
        let is_free =
            |path: &str| path.strip_prefix(&own).is_some_and(|name| signatures.contains(&name));
        let entries = self.archive.entries().to_vec();
        let there: BTreeSet<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
        for path in self.record.keys() {
            if !there.contains(path.as_str()) && !is_free(path) {
                wrong.push(format!("RECORD names {path}, which is not there"));
            }
        }
        for entry in &entries {
            let expected = match self.record.get(&entry.path) {
                _ if is_free(&entry.path) => continue,
                Some(Some(expected)) => expected.clone(),
                Some(None) => {
                    wrong.push(format!("RECORD has no hash of {}", entry.path));
                    continue;
                }
                None => {
                    wrong.push(format!("RECORD does not name {}", entry.path));
                    continue;
                }
            };
            wrong.extend(self.difference(entry, &expected, machine));
        }
        let data = self.data();
        for entry in self.archive.entries() {
            if place(&entry.path, &data, &self.metadata.name, false).is_none() {
                wrong.push(format!("{} belongs nowhere", entry.path));
            }
        }
        wrong.into_iter().map(|message| Fault::new(&self.file, message, REMEDY)).collect()
    }

    /// What is wrong with one file: other bytes than RECORD says, or native code for another processor.
    fn difference(
        &mut self,
        entry: &Entry,
        expected: &Expected,
        machine: Option<Architecture>,
    ) -> Option<String> {
        let path = &entry.path;
        let mut hashing = expected.hashing();
        let mut head = Vec::new();
        let read = self.read_entry(entry, |piece| {
            hashing.update(piece);
            let missing = elf::HEAD.saturating_sub(head.len()).min(piece.len());
            head.extend_from_slice(&piece[..missing]);
            Ok(())
        });
        if let Err(error) = read {
            return Some(format!("{path}: {error}"));
        }
        if !expected.is(hashing) {
            return Some(format!("{path} is not what RECORD says"));
        }
        let machine = machine?;
        let built = match elf::architecture(&head)? {
            Ok(built) if built == machine => return None,
            Ok(built) => built.name().to_owned(),
            Err(number) => format!("the processor {number}"),
        };
        Some(format!("{path} is native code for {built}; the server runs on {}", machine.name()))
    }

    /// Every file of the archive with its place.
    fn placed(&self) -> Vec<(Entry, Placed)> {
        let data = self.data();
        let entries = self.archive.entries().iter();
        let at = |entry: &Entry| {
            place(&entry.path, &data, &self.metadata.name, entry.is_executable)
                .map(|placed| (entry.clone(), placed))
        };
        entries.filter_map(at).collect()
    }

    /// The files that it installs with their hashes. Programs of entry points are not among them: two
    /// releases of one distribution have the same.
    pub fn files(&self) -> Vec<(String, String)> {
        let hash = |path: &str| {
            let expected = self.record.get(path).and_then(Option::as_ref);
            expected.map(|expected| expected.text.clone()).unwrap_or_default()
        };
        let placed = self.placed().into_iter();
        placed.map(|(entry, placed)| (placed.path, hash(&entry.path))).collect()
    }

    /// Hands out every file, for `write` to open its place.
    pub fn unpack<W: Write>(
        &mut self,
        mut write: impl FnMut(&Placed) -> io::Result<W>,
    ) -> io::Result<()> {
        for (entry, placed) in self.placed() {
            let mut to = write(&placed)?;
            if placed.is_script {
                let mut content = Vec::new();
                self.archive.file(&entry)?.read_to_end(&mut content)?;
                to.write_all(&scripts::with_python(&content).unwrap_or(content))?;
            } else {
                self.read_entry(&entry, |piece| to.write_all(piece))?;
            }
            to.flush()?;
        }
        for (name, text) in &self.programs {
            let path = format!("bin/{name}");
            let mut to = write(&Placed { path, is_executable: true, is_script: true })?;
            to.write_all(text.as_bytes())?;
            to.flush()?;
        }
        Ok(())
    }

    fn data(&self) -> String {
        format!("{}.data", self.dist_info.trim_end_matches(".dist-info"))
    }

    fn read_entry(
        &mut self,
        entry: &Entry,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut file = self.archive.file(entry)?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(()),
                count => take(&buffer[..count])?,
            }
        }
    }
}

/// The one folder of the distribution's own metadata.
fn dist_info<R: Read + Seek>(archive: &Archive<R>, name: &FileName) -> Result<String, String> {
    let folders = archive.entries().iter().filter_map(|entry| entry.path.split_once('/'));
    let folders = folders.map(|(folder, _)| folder).filter(|name| name.ends_with(".dist-info"));
    let folders: BTreeSet<&str> = folders.collect();
    let folders: Vec<&str> = folders.into_iter().collect();
    let [folder] = folders[..] else {
        return Err(format!("it has {} folders .dist-info instead of one", folders.len()));
    };
    let of = folder.trim_end_matches(".dist-info").rsplit_once('-').map(|(name, _)| name);
    if of.map(normalised) != Some(normalised(&name.distribution)) {
        return Err(format!("its {folder} is of another distribution"));
    }
    Ok(folder.to_owned())
}

#[cfg(test)]
mod tests;
