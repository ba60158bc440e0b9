//! The command line of a release: one module a subcommand.

mod files;
mod image;
mod materials;
mod package;
mod source;
mod verify;

use clap::{Parser, Subcommand};

/// Make a release out of built programs
#[derive(Debug, Parser)]
#[command(name = "llsd-release")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Image(Box<image::Arguments>),
    Materials(materials::Arguments),
    Package(package::Arguments),
    Verify(verify::Arguments),
}

impl Arguments {
    /// What goes to stdout, or what went wrong.
    pub async fn run(&self) -> Result<String, String> {
        match &self.command {
            Command::Image(arguments) => Box::pin(image::run(arguments)).await,
            Command::Materials(arguments) => materials::run(arguments),
            Command::Package(arguments) => package::run(arguments),
            Command::Verify(arguments) => Box::pin(verify::run(arguments)).await,
        }
    }
}
