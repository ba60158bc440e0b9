//! `llsd access test`: the answer that a server would give to a request, and the rule that decides.

use std::path::Path;

use clap::{Args, ValueEnum};
use llsd_api::v1alpha2::Action;
use llsd_offline::access::{Question, ResourceRequest, ask};
use llsd_plan::policy::RESOURCE_TYPES;
use llsd_plan::problems::suggest::{did_you_mean, nearest};
use serde_json::{Map, Value};

use crate::command::files::open;
use crate::command::format::OutputFormat;
use crate::command::inputs::Inputs;
use crate::command::offline::plans;
use crate::command::{Exit, Printout};

/// Print what a server would answer to a request, and the rule that decides
///
/// Ends with 0 where the request is allowed, with 1 where it is denied or the resource is wrong, and with 3
/// where only the server could tell.
#[derive(Debug, Args)]
pub(in crate::command) struct Arguments {
    /// Who calls, as JSON or @FILE: the claims of the token; with `kubernetes` username and groups, with
    /// `github` login and organizations, with `custom` the service's answer, with `apiKeys` {"principal": KEY},
    /// with `gateway` the headers. Left out: no token
    #[arg(long = "as", value_name = "CLAIMS")]
    caller: Option<String>,

    /// The path that is called
    #[arg(long, value_name = "PATH", value_parser = path)]
    path: String,

    /// The method it is called with
    #[arg(long, default_value = "GET", value_name = "METHOD", value_parser = method)]
    method: String,

    /// What is done to the resource of --resource
    #[arg(long, value_enum, requires = "resource", value_name = "ACTION")]
    action: Option<Verb>,

    /// A resource of the server, as TYPE::ID
    #[arg(long, requires = "action", value_parser = resource, value_name = "TYPE::ID")]
    resource: Option<String>,

    /// Who made the resource, like --as. Left out: it has no owner
    #[arg(long, requires = "resource", value_name = "CLAIMS")]
    owner: Option<String>,

    /// How to print the answer
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,

    #[command(flatten)]
    inputs: Inputs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Verb {
    Create,
    Read,
    Update,
    Delete,
}

impl From<Verb> for Action {
    fn from(verb: Verb) -> Self {
        match verb {
            Verb::Create => Self::Create,
            Verb::Read => Self::Read,
            Verb::Update => Self::Update,
            Verb::Delete => Self::Delete,
        }
    }
}

pub(in crate::command) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    let question = arguments.question()?;
    let plans = plans(arguments.inputs.read_all()?)?;
    let mut all = plans.all();
    let (Some((examined, planned)), None) = (all.next(), all.next()) else {
        return Err(Printout::usage("give one resource"));
    };
    let reply =
        ask(examined, planned, &question).map_err(|message| Printout::unavailable(&message))?;
    let exit = match reply.allowed() {
        Some(true) => Exit::Fine,
        Some(false) => Exit::Problems,
        None => Exit::Unavailable,
    };
    let found = serde_json::to_value(&reply).unwrap_or_default();
    let stdout = arguments.output.print(&found, || reply.to_text());
    Ok(Printout { stdout, stderr: plans.report(&[]).findings(), exit })
}

impl Arguments {
    fn question(&self) -> Result<Question, Printout> {
        if self.action == Some(Verb::Create) && self.owner.is_some() {
            return Err(Printout::usage("what is created has no owner yet: leave --owner out"));
        }
        let (caller, owner) = (told(self.caller.as_deref())?, told(self.owner.as_deref())?);
        let resource_request = self
            .action
            .zip(self.resource.clone())
            .map(|(verb, resource)| ResourceRequest { action: verb.into(), resource, owner });
        Ok(Question {
            method: self.method.clone(),
            path: self.path.clone(),
            caller,
            resource_request,
        })
    }
}

/// Claims in JSON, or in the file behind an `@`.
fn told(text: Option<&str>) -> Result<Option<Map<String, Value>>, Printout> {
    let Some(text) = text else { return Ok(None) };
    let (name, text) = match text.strip_prefix('@') {
        None => ("the claims", text.to_owned()),
        Some(file) => {
            let wrong = |_| Printout::usage(&format!("{file}: this is no text"));
            (file, open(Path::new(file))?.text.map_err(wrong)?)
        }
    };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|error| Printout::usage(&format!("{name}: no JSON object of claims: {error}")))
}

fn path(text: &str) -> Result<String, String> {
    if text.starts_with('/') {
        return Ok(text.to_owned());
    }
    Err(format!("a path begins with `/`: write /{text}"))
}

fn method(text: &str) -> Result<String, String> {
    const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let name = text.to_uppercase();
    if METHODS.contains(&name.as_str()) {
        return Ok(name);
    }
    Err(did_you_mean(&name, METHODS, &format!("use one of {}", METHODS.join(", "))))
}

/// A type that is almost one of the server's is none of an image's own.
fn resource(text: &str) -> Result<String, String> {
    match text.split_once("::") {
        Some((kind, _))
            if !RESOURCE_TYPES.contains(&kind) && nearest(kind, RESOURCE_TYPES).is_some() =>
        {
            Err(format!(
                "no server has the type `{kind}`; {}",
                did_you_mean(kind, RESOURCE_TYPES, "")
            ))
        }
        Some((kind, name)) if !kind.is_empty() && !name.is_empty() => Ok(text.to_owned()),
        _ => Err("write TYPE::ID, for example model::llama".to_owned()),
    }
}
