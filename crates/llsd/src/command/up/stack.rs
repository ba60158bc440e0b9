//! The files of a server, read and planned: its configuration, and the values that its Secrets have here.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use llsd_offline::laptop::{
    Endpoints, EnvFile, Here, ServerVariables, Wishes, Without, add_config_maps, in_place_of,
    plan_here, server_variables,
};
use llsd_offline::{Input, Source};
use llsd_plan::problems::suggest::nearest;

use super::arguments::Arguments;
use super::folders::beside;
use crate::command::{Exit, Printout};

/// All that was read. Two that are equal give the same server.
#[derive(Debug)]
pub(super) struct StackFiles {
    /// On the heap: it is large, and many futures hold these files.
    input: Box<Input>,
    endpoints: Endpoints,
    env: EnvFile,
    env_name: String,
    /// Every text, with its name.
    texts: Vec<(String, String)>,
}

/// A planned server, and what is said of it.
#[derive(Debug)]
pub(super) struct Stack {
    pub(super) here: Here,
    pub(super) variables: ServerVariables,
    pub(super) warnings: String,
}

impl StackFiles {
    /// Reads everything, so that a mistyped name is not lost among findings.
    pub(super) fn read(arguments: &Arguments) -> Result<Self, Printout> {
        let sources = arguments.files.open_all(arguments.facts.files())?;
        let mut input = arguments.facts.read_all()?;
        input.add_all(&sources);
        add_config_maps(&mut input, &sources);
        if input.resources.len() > 1 {
            let count = input.resources.len();
            return Err(Printout::usage(&format!(
                "one server runs at a time, and there are {count} resources in the files; give each a file of its own"
            )));
        }
        let (file, text) = read_env(arguments)?;
        let env = EnvFile::parse(&text).map_err(|errors| {
            let lines = errors.iter().map(|error| {
                let (file, line) = (file.display(), error.line);
                format!("{file}:{line}: {}\n    → {}\n", error.message, error.remedy)
            });
            problems(lines.collect())
        })?;
        let mut texts: Vec<(String, String)> = sources.iter().map(text_of).collect();
        for file in arguments.facts.files() {
            let text = fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            texts.push((file.display().to_string(), text.unwrap_or_default()));
        }
        texts.push((String::new(), text));
        let endpoints = arguments.endpoints.iter().cloned().collect();
        let input = Box::new(input);
        Ok(Self { input, endpoints, env, env_name: file.display().to_string(), texts })
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.texts == other.texts
    }

    /// The plan without these providers, or everything that is wrong.
    pub(super) fn plan(&self, without: Without) -> Result<Stack, Printout> {
        let set = self.env.variables.keys().cloned().collect();
        let wishes = Wishes { endpoints: self.endpoints.clone(), set, without };
        let here = plan_here(Input::clone(&self.input), &wishes).map_err(|refused| Printout {
            stdout: String::new(),
            stderr: refused.report.refusal(),
            exit: if refused.unavailable { Exit::Unavailable } else { Exit::Problems },
        })?;
        let variables = server_variables(&here, &self.env.variables);
        let warnings = format!("{}{}", here.warnings, self.unused(&here, &variables));
        match self.unusable(&variables) {
            Some(wrong) => Err(problems(format!("{warnings}{wrong}"))),
            None => Ok(Stack { here, variables, warnings }),
        }
    }

    /// What is wrong with the variables, all at once.
    fn unusable(&self, variables: &ServerVariables) -> Option<String> {
        let mut text = String::new();
        if !variables.missing.is_empty() {
            let width = variables.missing.iter().map(|it| it.name.len()).max().unwrap_or_default();
            let _ = writeln!(
                text,
                "error: values are missing that only a cluster has; add them to {}:",
                self.env_name
            );
            for missing in &variables.missing {
                let (name, field, source) = (&missing.name, &missing.field, &missing.source);
                let _ = writeln!(text, "    {name:width$}  {field}, in a cluster {source}");
            }
        }
        for wrong in &variables.coerced {
            let (file, name, field) = (&self.env_name, &wrong.name, &wrong.field);
            let _ = writeln!(
                text,
                "{file}: {name}, for {field}: the server reads the value as a number or boolean, and does not start\n    \
                 → use a value with other characters than digits"
            );
        }
        (!text.is_empty()).then_some(text)
    }

    fn unused(&self, here: &Here, variables: &ServerVariables) -> String {
        let mut text = String::new();
        for name in &variables.unused {
            let known: Vec<&str> = here.fields.keys().map(String::as_str).collect();
            let remedy = match nearest(name, known.iter().copied()) {
                Some(meant) => format!("did you mean {meant}?"),
                None if known.is_empty() => "no field of the file refers to a Secret".to_owned(),
                None => format!("fields have {}", known.join(", ")),
            };
            let file = &self.env_name;
            let _ =
                writeln!(text, "{file}: warning: {name}: no field has this name\n    → {remedy}");
        }
        for name in &variables.without_effect {
            let (file, remedy) = (&self.env_name, in_place_of(name).unwrap_or("remove the line"));
            let _ = writeln!(
                text,
                "{file}: warning: {name} has no effect: llsd sets it itself\n    → {remedy}"
            );
        }
        text
    }
}

/// The `.env` file: one that is named must be there, the one beside the resource need not be.
fn read_env(arguments: &Arguments) -> Result<(PathBuf, String), Printout> {
    let first = arguments.files.paths().first().map_or(Path::new("-"), PathBuf::as_path);
    let named = arguments.env_file.as_ref();
    let file = named.cloned().unwrap_or_else(|| {
        let folder = beside(first);
        if folder == Path::new(".") { PathBuf::from(".env") } else { folder.join(".env") }
    });
    let said =
        |what: &dyn std::fmt::Display| Printout::usage(&format!("{}: {what}", file.display()));
    match fs::read(&file) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok((file, text)),
            Err(_) => Err(said(&"not UTF-8")),
        },
        Err(error) if error.kind() == ErrorKind::NotFound && named.is_none() => {
            Ok((file, String::new()))
        }
        Err(error) => Err(said(&error)),
    }
}

fn text_of(source: &Source) -> (String, String) {
    let text = source.text.as_ref().map_or_else(|fault| format!("{fault:?}"), Clone::clone);
    (source.name.clone(), text)
}

pub(super) fn problems(stderr: String) -> Printout {
    Printout { stdout: String::new(), stderr, exit: Exit::Problems }
}
