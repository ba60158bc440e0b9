//! What is left of a node whose process was killed: nothing.

use std::{
    fs,
    os::unix::{fs::MetadataExt, process::CommandExt},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::footprint::Footprint;
use crate::workload::is_asked_for;

/// The program `node`, with a folder for temporary files of its own.
fn node(temporary: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_node"));
    command.args(arguments).env("TMPDIR", temporary).stdout(Stdio::null()).process_group(0);
    command
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Moments of its life at which a node is killed: most of them in the first second, in which a trial is
/// made, and namespaces, cgroups and the first programs come up.
fn moments() -> Vec<Duration> {
    let ranges = [(0..100, 5), (100..500, 6), (500..3_000, 4), (3_000..25_000, 4)];
    let moments = ranges.into_iter().flat_map(|(range, count)| {
        (0..count).map(move |_| Duration::from_millis(fastrand::u64(range.clone())))
    });
    moments.collect()
}

#[test]
fn a_node_that_is_killed_at_any_moment_leaves_nothing_behind() {
    if !is_asked_for() {
        return;
    }
    if let Some(missing) = llsd_node::missing() {
        return llsd_testkit::skip(&missing.to_string());
    }
    let temporary = temporary_folder();
    let before = Footprint::now(&temporary);
    for moment in moments() {
        let child = node(&temporary, &["run", "2"]).spawn().unwrap();
        thread::sleep(moment);
        kill(child);
        before.nothing_is_left(&temporary);
    }
    fs::remove_dir(&temporary).unwrap();
}

#[test]
fn a_node_that_is_killed_while_pods_run_leaves_nothing_behind() {
    if !is_asked_for() {
        return;
    }
    if let Some(missing) = llsd_node::missing() {
        return llsd_testkit::skip(&missing.to_string());
    }
    let temporary = temporary_folder();
    let before = Footprint::now(&temporary);
    let child = node(&temporary, &["run"]).spawn().unwrap();
    let image = "--image=registry.llsd.test:5000/llsd/pause:1";
    let in_node = |words: &[&str]| {
        let arguments = [&["shell", "node-1", "kubectl"], words].concat();
        node(&temporary, &arguments).stderr(Stdio::null()).status().unwrap().success()
    };
    let asked = Instant::now();
    while !in_node(&["run", "idle", image]) {
        assert!(asked.elapsed() < Duration::from_mins(2), "no pod could be created");
        thread::sleep(Duration::from_millis(500));
    }
    assert!(in_node(&["wait", "pod/idle", "--for=condition=Ready", "--timeout=60s"]));
    kill(child);
    before.nothing_is_left(&temporary);
    fs::remove_dir(&temporary).unwrap();
}

#[test]
fn what_stays_because_the_janitor_was_killed_too_is_cleared_away_by_the_next_command() {
    if !is_asked_for() {
        return;
    }
    if let Some(missing) = llsd_node::missing() {
        return llsd_testkit::skip(&missing.to_string());
    }
    let temporary = temporary_folder();
    let before = Footprint::now(&temporary);
    let child = node(&temporary, &["run"]).spawn().unwrap();
    let folder = loop {
        let found = fs::read_dir(&temporary).unwrap().flatten().map(|entry| entry.path());
        if let Some(folder) = found.into_iter().find(|path| path.join("node.json").exists()) {
            break folder;
        }
        thread::sleep(Duration::from_millis(50));
    };
    let janitor = janitor_of(child.id());
    let killed = Command::new("sh").args(["-c", &format!("kill -KILL {janitor}")]).status();
    assert!(killed.unwrap().success());
    kill(child);
    thread::sleep(Duration::from_secs(1));
    assert!(folder.exists(), "without its janitor it stays");
    assert!(node(&temporary, &["stop"]).status().unwrap().success());
    before.nothing_is_left(&temporary);
    fs::remove_dir(&temporary).unwrap();
}

/// The child of the process whose name in the list of processes is `janitor`.
fn janitor_of(process: u32) -> u32 {
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(id) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after_the_name = stat.rsplit(')').next().unwrap_or_default();
        let parent = after_the_name.split_whitespace().nth(1).and_then(|text| text.parse().ok());
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if parent == Some(process)
            && command.split(|byte| *byte == 0).any(|word| word == b"janitor")
        {
            return id;
        }
    }
    panic!("process {process} has no janitor");
}

#[test]
fn a_user_without_rights_is_told_what_is_missing_and_what_runs_instead() {
    let folder = std::env::temp_dir();
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let mut command = Command::new(if is_root { "setpriv" } else { "env" });
    if is_root {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    // Another user may not be able to read the folder that the program was built in.
    let program = folder.join(format!("llsd-unprivileged-{:08x}", fastrand::u32(..)));
    fs::copy(env!("CARGO_BIN_EXE_node"), &program).unwrap();
    command.arg(&program).arg("status");
    let said = command.output();
    fs::remove_file(&program).unwrap();
    let Ok(said) = said else { return llsd_testkit::skip("there is no setpriv") };
    let complaint = String::from_utf8_lossy(&said.stderr);
    assert!(!said.status.success());
    for word in ["the rights of root", "make demo"] {
        assert!(complaint.contains(word), "{complaint}");
    }
}

fn temporary_folder() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("llsd-killed-{:08x}", fastrand::u32(..)));
    fs::create_dir(&folder).unwrap();
    folder
}
