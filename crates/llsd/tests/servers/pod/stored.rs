//! What users leave with a server: files that they upload, and what then lies on the volume.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use llsd_testkit::LlamaStackServer;
use serde_json::Value;

/// Uploads a text file; gives its id.
pub async fn upload(server: &LlamaStackServer, text: &str) -> String {
    let boundary = "llsd-boundary";
    let body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\
         Content-Type: text/plain\r\n\r\n{text}\r\n--{boundary}--\r\n"
    );
    let form = format!("multipart/form-data; boundary={boundary}");
    let request = server.request(http::Method::POST, "/v1/files").header("Content-Type", form);
    let answer = request.body(body).send().await;
    let answer = answer.unwrap_or_else(|error| panic!("{error:#}\n{}", server.log()));
    let status = answer.status();
    let text = answer.text().await.unwrap();
    assert_eq!(status, 200, "{text}");
    let body: Value = serde_json::from_str(&text).unwrap();
    body["id"].as_str().unwrap().to_owned()
}

/// Every file below a folder, with its content.
pub fn files_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}
