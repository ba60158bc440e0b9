//! Resources mean to us what they mean to kubectl: a table of what kubectl made of snippets of
//! YAML, and our own reading beside it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use llsd_testkit::{Binary, Kubernetes};
use llsd_yaml::documents;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Row {
    /// The content of `spec`.
    yaml: String,
    /// What kubectl makes of it; a `null` is never the whole of a `spec` here.
    json: Option<Value>,
    /// Or why it refuses.
    refused: Option<String>,
}

/// Read by us although kubectl refuses it: escapes that only JSON has, line breaks that only
/// YAML 1.1 has, tabs that indent nothing, and oddities of its flow scalars.
const READ_BY_US_ONLY: [&str; 10] = [
    r#"value: "\ud83d\ude00""#,
    r#"a: "\/""#,
    "a: b\u{85}c",
    "a: b\u{2028}c",
    "a: |\n  \tb",
    "a: 1\n\t\nb: 2",
    "a: 1\n\t# c\nb: 2",
    "a: [?]",
    "a: [::1]",
    "a: {x: ::1}",
];

/// The other way round. In neither list does anything mean one thing here and another there.
const READ_BY_KUBECTL_ONLY: [&str; 2] = ["a: 'x\n\ty'", "a: \u{feff}b"];

fn table() -> Vec<Row> {
    serde_json::from_str(include_str!("../data/yaml_as_kubectl_reads_it.json")).unwrap()
}

fn document(spec: &str) -> String {
    let mut document = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\n\
                        metadata: {name: a}\nspec:\n"
        .to_owned();
    for line in spec.split('\n') {
        document.push_str(if line.is_empty() { "" } else { "  " });
        document.push_str(line);
        document.push('\n');
    }
    document
}

/// Numbers too large for an integer only differ in how many of their digits are printed.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.as_i64().is_none() && a.as_f64() == b.as_f64())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => ours == theirs,
    }
}

#[test]
fn every_snippet_reads_as_kubectl_reads_it() {
    let mut differences = Vec::new();
    for row in table() {
        let ours = documents(&document(&row.yaml)).remove(0).content;
        let ours = ours.map(|tree| tree.to_json()["spec"].clone());
        let agree = match (&ours, &row.json) {
            (Ok(ours), Some(theirs)) => same(ours, theirs),
            (Err(_), None) => true,
            (Ok(_), None) => READ_BY_US_ONLY.contains(&row.yaml.as_str()),
            (Err(_), Some(_)) => READ_BY_KUBECTL_ONLY.contains(&row.yaml.as_str()),
        };
        if !agree {
            let theirs = row.json.map_or_else(|| row.refused.unwrap(), |json| json.to_string());
            differences.push(format!("{:?}\n  kubectl: {theirs}\n  llsd:    {ours:?}", row.yaml));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Asks the real kubectl again, so that the table cannot age unnoticed.
#[test]
fn the_table_is_what_kubectl_says() {
    let kubernetes = Kubernetes::from_env().unwrap();
    let kubectl = match llsd_testkit::locate(Binary::Kubectl, kubernetes) {
        Ok(path) => path,
        Err(why) => return llsd_testkit::skip(&why.to_string()),
    };
    let (read, refused): (Vec<Row>, Vec<Row>) =
        table().into_iter().partition(|row| row.json.is_some());
    let documents: Vec<String> = read.iter().map(|row| document(&row.yaml)).collect();
    let answers = asked(&kubectl, &documents.join("---\n")).expect("kubectl reads them all");
    assert_eq!(answers.len(), read.len());
    for (row, answer) in read.iter().zip(answers) {
        assert_eq!(Some(&answer["spec"]), row.json.as_ref(), "{}", row.yaml);
    }
    for row in refused {
        assert!(asked(&kubectl, &document(&row.yaml)).is_none(), "kubectl reads {:?}", row.yaml);
    }
}

/// The objects that kubectl read, or nothing if it refused one.
fn asked(kubectl: &Path, documents: &str) -> Option<Vec<Value>> {
    let mut child = Command::new(kubectl)
        .args(["label", "--local", "-f", "-", "-o", "json", "checked=true"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let documents = documents.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(documents.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // kubectl may stop reading at the first fault.
    let _ = writer.join().unwrap();
    let objects = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    output.status.success().then(|| objects.map(Result::unwrap).collect())
}
