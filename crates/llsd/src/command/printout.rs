//! What every command ends with: its texts for stdout and stderr, and its exit code. Writing happens
//! once, here, where a reader that went away (`llsd … | head`) is no error.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use super::colours;
use super::printable::printable;

/// How a command ended; scripts rely on these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Fine = 0,
    /// The resource is wrong, or the text is no resource.
    Problems = 1,
    /// The command line is wrong, also a file that is not there.
    Usage = 2,
    /// Something that only a cluster, a registry or a running service has could not be reached.
    Unavailable = 3,
}

/// What a command prints, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printout {
    pub stdout: String,
    pub stderr: String,
    pub exit: Exit,
}

impl Printout {
    /// The command did what it was asked for.
    pub fn fine(stdout: String) -> Self {
        Self { stdout, stderr: String::new(), exit: Exit::Fine }
    }

    /// The command was called in a way that it cannot serve.
    pub fn usage(message: &str) -> Self {
        Self::error(message, Exit::Usage)
    }

    /// What the command asks did not answer as it should.
    pub fn unavailable(message: &str) -> Self {
        Self::error(message, Exit::Unavailable)
    }

    fn error(message: &str, exit: Exit) -> Self {
        Self { stdout: String::new(), stderr: format!("error: {message}\n"), exit }
    }

    /// Prints it and ends with its number.
    pub(super) fn deliver(self) -> ExitCode {
        let written = write_all(&mut io::stdout().lock(), &self.stdout);
        // There is nowhere left to report that stderr itself fails.
        let _ = write_all(&mut io::stderr().lock(), &colours::for_stderr(self.stderr));
        match written {
            Ok(()) => ExitCode::from(self.exit as u8),
            Err(error) => {
                let message = format!("error: cannot write to stdout: {error}\n");
                let _ = write_all(&mut io::stderr().lock(), &message);
                ExitCode::from(Exit::Usage as u8)
            }
        }
    }
}

fn write_all(stream: &mut impl Write, text: &str) -> io::Result<()> {
    let text = printable(text, &colours::SEQUENCES);
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
