//! Which process listens on a port, where the system shows it: Linux does, below `/proc`.

use std::fs;
use std::path::Path;

/// How the kernel's tables name a socket that listens.
const LISTENS: &str = "0A";

#[derive(Debug)]
struct Process {
    id: u32,
    parent: u32,
    session: u32,
}

/// Whether another process listens on the port, and none of those that a guard started: each guard gives its server a
/// session of its own. Of what the system does not show, or not to this user, nothing is said.
pub(super) fn is_of_another(guard: u32, port: u16) -> bool {
    let sockets = listening(port);
    if sockets.is_empty() {
        return false;
    }
    let processes = processes();
    let is_started =
        |session: u32| processes.iter().any(|it| it.id == session && it.parent == guard);
    let mut has_another = false;
    for process in processes.iter().filter(|process| holds(process, &sockets)) {
        if is_started(process.session) {
            return false;
        }
        has_another = true;
    }
    has_another
}

/// The sockets that listen on the port, in the words in which the files of a process name them.
fn listening(port: u16) -> Vec<String> {
    let end = format!(":{port:04X}");
    let mut sockets = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in fs::read_to_string(table).unwrap_or_default().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let [_, local, _, LISTENS, _, _, _, _, _, inode, ..] = words[..]
                && local.ends_with(&end)
            {
                sockets.push(format!("socket:[{inode}]"));
            }
        }
    }
    sockets
}

fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(process).collect()
}

/// Out of `ID (NAME) STATE PARENT GROUP SESSION …`; a name may have brackets and spaces.
fn process(id: u32) -> Option<Process> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let number = |index: usize| words.get(index)?.parse::<u32>().ok();
    Some(Process { id, parent: number(1)?, session: number(3)? })
}

fn holds(process: &Process, sockets: &[String]) -> bool {
    let files = fs::read_dir(format!("/proc/{}/fd", process.id)).into_iter().flatten().flatten();
    let mut targets = files.filter_map(|file| fs::read_link(file.path()).ok());
    targets.any(|target| sockets.iter().any(|socket| target == Path::new(socket)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    const LISTEN: &str = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(600)";

    #[test]
    fn a_port_is_of_the_process_that_listens_on_it() {
        let guard = concat!(env!("CARGO_MANIFEST_DIR"), "/src/command/up/guard.py");
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        assert!(is_of_another(u32::MAX, port), "this process listens, and no guard started it");
        drop(taken);
        let mut guarded = Command::new("python3")
            .args([guard, "python3", "-c", LISTEN, &port.to_string()])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        let (own, foreign) = (is_of_another(guarded.id(), port), is_of_another(u32::MAX, port));
        drop(guarded.stdin.take());
        guarded.wait().unwrap();
        assert!(!own && foreign);
        assert!(!is_of_another(u32::MAX, port), "nothing listens any longer");
    }
}
