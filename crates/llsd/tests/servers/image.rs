//! An image for the start program of a server's pod: a real Python, with packages that only say how
//! they were called.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use llsd_plan::objects::start_program;
use llsd_testkit::{Release, Venv};
use tempfile::TempDir;

/// Names and values.
pub type Env<'a> = &'a [(&'a str, &'a str)];

/// Prints how it was called, as a module of the name that its file gives it.
const CALLED: &str = "import sys\nprint(sys.argv[0].split('/fake/')[1], *sys.argv[1:])\n";

/// An image whose server says how it was called, and its volume.
pub struct Image {
    venv: Venv,
    folder: TempDir,
}

impl Image {
    /// The version may have a package before it, `ogx 1.5.0`; without one it is llama-stack's.
    pub fn installed(version: &str) -> Option<Self> {
        if !Release::newest().install_or_skip() {
            return None;
        }
        let image =
            Self { venv: Release::newest().install().unwrap(), folder: TempDir::new().unwrap() };
        let (package, version) = match version.split_once(' ') {
            Some((package, version)) => (package, version),
            None => ("llama_stack", version),
        };
        let metadata = format!("Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n");
        image.write(&format!("fake/{package}-{version}.dist-info/METADATA"), &metadata);
        image.write("fake/ogx/__init__.py", "");
        image.write("fake/llama_stack/__init__.py", "");
        image.write("fake/llama_stack/core/server/server.py", CALLED);
        image.write("fake/llama_stack/distribution/server/server.py", CALLED);
        image.write("fake/uvicorn/__main__.py", CALLED);
        image.write(
            "fake/uvicorn/__init__.py",
            "import sys\n\
             class Config:\n    def __init__(self, timeout_worker_healthcheck=5): pass\n\
             def main(): print('serve', *sys.argv[1:])\n",
        );
        Some(image)
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        let file = self.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    pub fn start(&self, config: &str, env: Env) -> Output {
        self.write("config.yaml", config);
        // A test may have put another file in the place of one.
        for (name, text) in start_program::FILES {
            if !self.path().join(name).exists() {
                self.write(name, text);
            }
        }
        let program = self.path().join("launch.py");
        Command::new(self.venv.python())
            .arg(program)
            .env_clear()
            .env("PATH", self.path().join("bin"))
            .env("HOME", self.path())
            .env("TMPDIR", self.path())
            .env("PYTHONPATH", self.path().join("fake"))
            .env("LLAMA_STACK_CONFIG", self.path().join("config.yaml"))
            .envs(env.iter().copied())
            .output()
            .unwrap()
    }

    /// How the server was called.
    pub fn call(&self, config: &str, env: Env) -> String {
        let done = self.start(config, env);
        assert!(done.status.success(), "{}", stderr(&done));
        let call = String::from_utf8(done.stdout).unwrap();
        let call = call.replace(&self.path().display().to_string(), "");
        call.trim().replace("/__main__.py", "")
    }

    /// Runs Python on the store that the server would have.
    pub fn on_store(&self, statements: &str) -> String {
        let program = format!(
            "import sqlite3\n\
             db = sqlite3.connect('{}/kvstore.db')\n\
             db.execute('CREATE TABLE IF NOT EXISTS kvstore (key TEXT PRIMARY KEY, value TEXT, expiration TIMESTAMP)')\n\
             {statements}\n\
             db.commit()\n",
            self.path().display()
        );
        let done = Command::new(self.venv.python()).args(["-c", &program]).output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
        String::from_utf8(done.stdout).unwrap()
    }

    /// Stores records as servers do: kind, id, provider, source.
    pub fn store(&self, records: &[[&str; 4]]) {
        for [kind, id, provider, source] in records {
            let key = format!("distributions:registry:v10::{kind}:{id}");
            let value = format!(r#"{{"provider_id": "{provider}", "source": "{source}"}}"#);
            self.on_store(&format!(
                "db.execute('REPLACE INTO kvstore (key, value) VALUES (?, ?)', ('{key}', '{value}'))"
            ));
        }
    }

    /// The records that are left, as `kind:id`.
    pub fn left(&self) -> Vec<String> {
        let keys = self.on_store(
            "for row in db.execute(\"SELECT key FROM kvstore WHERE key LIKE 'dist%' ORDER BY key\"): print(row[0])",
        );
        keys.lines().map(|key| key.split_once("::").unwrap().1.to_owned()).collect()
    }

    /// A configuration of providers `vllm`, `guard` and `faiss`, with its store on the volume.
    pub fn config(&self, resources: &str) -> String {
        format!(
            "providers:\n  \
               inference: [{{provider_id: vllm}}]\n  \
               safety: [{{provider_id: guard}}]\n  \
               vector_io: [{{provider_id: faiss}}]\n\
             storage: {{backends: {{kv_default: {{type: kv_sqlite, db_path: '{}/kvstore.db'}}}}}}\n\
             registered_resources:\n{resources}\n",
            self.path().display()
        )
    }
}

pub fn stderr(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned()
}
