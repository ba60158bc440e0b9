//! The forms of output of `llsd render`: a stream of objects, config.yaml alone, or a folder.

use std::fs::{read_dir, read_to_string};

use llsd_plan::objects::start_program;

use crate::support::{Files, object, parse_documents, resource, run, with_vllm};

fn render(stdin: &str, arguments: &[&str]) -> crate::support::Run {
    run(&[&["render", "-f", "-"], arguments].concat(), stdin)
}

/// The file of the program that starts the server.
fn start_file() -> String {
    format!("configmap-{}.yaml", start_program::name())
}

/// Neither the folder of other files, nor the record of what was written.
fn is_object(name: &&str) -> bool {
    !["files", ".llsd-rendered"].contains(name)
}

fn names(folder: &str) -> Vec<String> {
    let entries = read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_objects_come_in_the_order_in_which_they_are_applied() {
    let rendered = render(&with_vllm("a", ""), &["-o", "yaml"]);
    assert_eq!((rendered.code, rendered.stderr.as_str()), (0, ""));
    let objects = parse_documents(&rendered.stdout);
    let kinds: Vec<&str> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ServiceAccount", "ConfigMap", "ConfigMap", "Service", "Deployment"]);
    assert!(objects.iter().all(|object| object["metadata"]["namespace"] == "demo"));
    assert_eq!(render(&with_vllm("a", ""), &[]).stdout, rendered.stdout);
}

#[test]
fn what_the_resources_of_a_namespace_share_is_printed_once() {
    let elsewhere = with_vllm("c", "").replace("namespace: demo", "namespace: other");
    let three = [with_vllm("a", ""), with_vllm("b", ""), elsewhere].join("---\n");
    for arguments in [&[][..], &["-o", "json"]] {
        let rendered = render(&three, arguments);
        assert_eq!((rendered.code, rendered.stderr.as_str()), (0, ""));
        let mut objects = parse_documents(&rendered.stdout);
        if let [list] = objects.as_mut_slice() {
            objects = list["items"].as_array().unwrap().clone();
        }
        let copies = objects.iter().map(|object| &object["metadata"]);
        let copies = copies.filter(|metadata| metadata["name"] == start_program::name());
        let namespaces: Vec<&str> =
            copies.map(|metadata| metadata["namespace"].as_str().unwrap()).collect();
        assert_eq!(namespaces, ["demo", "other"]);
        let deployments = objects.iter().filter(|object| object["kind"] == "Deployment");
        assert_eq!(deployments.count(), 3);
    }
}

#[test]
fn config_alone_is_the_generated_file() {
    let rendered = render(&with_vllm("a", ""), &["-o", "config"]);
    assert_eq!((rendered.code, rendered.stderr.as_str()), (0, ""));
    let config = &parse_documents(&rendered.stdout)[0];
    let inference = config["providers"]["inference"].as_array().unwrap();
    let vllm = inference.iter().find(|entry| entry["provider_id"] == "vllm").unwrap();
    assert_eq!(vllm["config"]["base_url"], "http://vllm:8000/v1");
}

#[test]
fn an_unchanged_default_is_printed_byte_for_byte() {
    let files = Files::new();
    let text = "# mine\nversion: '2'\nproviders:   {}";
    let base = files.add("base.yaml", text);
    let given = render(&resource("demo", "a"), &["-o", "config", "--base", &base]);
    assert_eq!((given.code, given.stdout.as_str()), (0, text));
    let embedded = render(&resource("demo", "a"), &["-o", "config"]);
    let starter = llsd_plan::releases::Distribution::all()["starter"].base();
    assert_eq!((embedded.code, embedded.stdout.as_str()), (0, starter));
}

#[test]
fn the_users_own_configuration_comes_from_the_facts() {
    let text = resource("demo", "a") + "  overrideConfig: {configMapName: mine}\n";
    let unknown = render(&text, &["-o", "config"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (3, ""));
    assert_eq!(
        unknown.stderr,
        "-:6:35: spec.overrideConfig.configMapName: only the cluster has the ConfigMap mine\n    \
         → give its content with --facts, under configMaps.mine.data\n"
    );
    // The objects need no more than its name.
    assert_eq!(render(&text, &[]).code, 0);
    let files = Files::new();
    let facts =
        files.add("facts.yaml", "configMaps: {mine: {data: {run.yaml: \"version: 2\\n\"}}}");
    let known = render(&text, &["-o", "config", "--facts", &facts]);
    assert_eq!((known.code, known.stdout.as_str()), (0, "version: 2\n"));
}

#[test]
fn a_folder_gets_the_configuration_the_environment_and_a_file_for_each_object() {
    let files = Files::new();
    let folder = files.path("new/out");
    let rendered = render(&with_vllm("a", ""), &["-o", &format!("dir={folder}")]);
    assert_eq!((rendered.code, rendered.stdout.as_str()), (0, ""));
    let names = names(&folder);
    let config_map = names.iter().find(|name| name.starts_with("configmap-a-config-")).unwrap();
    assert_eq!(
        names,
        [
            ".llsd-rendered",
            config_map,
            &start_file(),
            "deployment-a.yaml",
            "files",
            "service-a-service.yaml",
            "serviceaccount-a-sa.yaml"
        ]
    );
    assert_eq!(
        crate::render_outputs::names(&format!("{folder}/files")),
        ["config.yaml", "env.yaml"]
    );
    let written = names.iter().map(String::as_str).filter(is_object);
    for name in written.chain(["files/config.yaml", "files/env.yaml"]) {
        assert!(
            rendered.stderr.contains(&format!("wrote {folder}/{name}\n")),
            "{}",
            rendered.stderr
        );
    }
    let text = |name: &str| read_to_string(format!("{folder}/{name}")).unwrap();
    assert_eq!(text("files/config.yaml"), render(&with_vllm("a", ""), &["-o", "config"]).stdout);
    let stream = parse_documents(&render(&with_vllm("a", ""), &[]).stdout);
    let deployment = object(&stream, "Deployment");
    assert_eq!(&parse_documents(&text("deployment-a.yaml"))[0], deployment);
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(parse_documents(&text("files/env.yaml"))[0], container["env"]);
    assert_eq!(container["env"][0]["name"], "HF_HOME");
}

#[test]
fn several_resources_get_one_folder_each() {
    let files = Files::new();
    let folder = files.path("out");
    let without_namespace = with_vllm("c", "").replace(", namespace: demo", "");
    let text = format!("{}---\n{}---\n{without_namespace}", with_vllm("a", ""), resource("x", "b"));
    let rendered = render(&text, &["-o", &format!("dir={folder}")]);
    assert_eq!(rendered.code, 0, "{}", rendered.stderr);
    assert_eq!(names(&folder), [".llsd-rendered", "default.c", "demo.a", "x.b"]);
    assert_eq!(names(&format!("{folder}/x.b/files")), ["config.yaml", "env.yaml"]);
    let twice =
        render(&format!("{text}---\n{}", resource("demo", "a")), &["-o", &format!("dir={folder}")]);
    assert_eq!(twice.code, 2);
    assert!(twice.stderr.contains("the resource demo.a twice"), "{}", twice.stderr);
}

#[test]
fn config_alone_of_several_resources_is_a_usage_error() {
    let text = format!("{}---\n{}", resource("demo", "a"), resource("demo", "b"));
    let rendered = render(&text, &["-o", "config"]);
    assert_eq!((rendered.code, rendered.stdout.as_str()), (2, ""));
    assert!(
        rendered.stderr.contains("there are 2 resources; use -o dir=DIR"),
        "{}",
        rendered.stderr
    );
}

#[test]
fn a_folder_without_a_known_configuration_has_everything_else() {
    let files = Files::new();
    let folder = files.path("out");
    let text = resource("demo", "a") + "  overrideConfig: {configMapName: mine}\n";
    let rendered = render(&text, &["-o", &format!("dir={folder}")]);
    assert_eq!(rendered.code, 3);
    assert!(
        rendered.stderr.contains("only the cluster has the ConfigMap mine"),
        "{}",
        rendered.stderr
    );
    assert!(rendered.stderr.contains("config.yaml was left out"), "{}", rendered.stderr);
    assert_eq!(
        names(&folder),
        [
            ".llsd-rendered",
            &start_file(),
            "deployment-a.yaml",
            "files",
            "service-a-service.yaml",
            "serviceaccount-a-sa.yaml",
        ]
    );
    assert_eq!(names(&format!("{folder}/files")), ["env.yaml"]);
}

/// Everything of the folder is an object, so `kubectl apply -f` takes it as it is.
#[test]
fn a_folder_holds_nothing_that_kubectl_would_refuse() {
    let files = Files::new();
    let folder = files.path("out");
    render(&with_vllm("a", ""), &["-o", &format!("dir={folder}")]);
    for name in names(&folder).iter().map(String::as_str).filter(is_object) {
        let text = read_to_string(format!("{folder}/{name}")).unwrap();
        for object in parse_documents(&text) {
            assert!(object["apiVersion"].is_string() && object["kind"].is_string(), "{name}");
        }
    }
}

#[test]
fn files_that_are_no_longer_rendered_are_removed_and_no_others() {
    let files = Files::new();
    let folder = files.path("out");
    let into = format!("dir={folder}");
    let exposed = with_vllm("a", "  networking: {allowedFrom: {namespaces: [x]}, expose: true}\n");
    let rendered = render(&exposed, &["-o", &into]);
    assert_eq!(rendered.code, 0, "{}", rendered.stderr);
    let before = names(&folder);
    files.add("out/mine.yaml", "apiVersion: v1\n");
    files.add("out/networkpolicy-mine.yaml", "apiVersion: v1\n");
    let policy = before.iter().find(|name| name.starts_with("networkpolicy-")).unwrap();
    let ingress = before.iter().find(|name| name.starts_with("ingress-")).unwrap();
    files.add(&format!("out/{ingress}"), "changed by hand");

    let again = render(&with_vllm("a", ""), &["-o", &into]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let removed = format!("removed {folder}/{policy}, which is no longer rendered\n");
    assert!(again.stderr.contains(&removed), "{}", again.stderr);
    let kept = format!(
        "warning: {folder}/{ingress} is no longer rendered, and was not removed because it was changed\n"
    );
    assert!(again.stderr.contains(&kept), "{}", again.stderr);
    let once_more = render(&with_vllm("a", ""), &["-o", &into]);
    assert!(once_more.stderr.contains(&kept), "named until it is gone: {}", once_more.stderr);
    let now = names(&folder);
    assert!(!now.contains(policy), "{now:?}");
    for name in [ingress, "mine.yaml", "networkpolicy-mine.yaml"] {
        assert!(now.iter().any(|there| there == name), "{name}: {now:?}");
    }
}

#[test]
fn folders_of_resources_that_are_gone_are_removed() {
    let files = Files::new();
    let folder = files.path("out");
    let into = format!("dir={folder}");
    render(&format!("{}---\n{}", resource("demo", "a"), resource("demo", "b")), &["-o", &into]);
    files.add("out/demo.b/mine.txt", "mine");
    let fewer = format!("{}---\n{}", resource("demo", "c"), resource("demo", "d"));
    let again = render(&fewer, &["-o", &into]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(names(&folder), [".llsd-rendered", "demo.b", "demo.c", "demo.d"]);
    assert_eq!(names(&format!("{folder}/demo.b")), ["mine.txt"]);
}

/// Someone may have written the record who wants more removed than the folder.
#[test]
fn a_record_never_leads_out_of_the_folder() {
    let files = Files::new();
    let victim = files.add("victim", "precious");
    let folder = files.path("out");
    std::fs::create_dir(&folder).unwrap();
    let hash = llsd_plan::values::sha256::hex("precious");
    files.add("out/.llsd-rendered", &format!("{hash}  ../victim\n{hash}  {victim}\n"));
    let rendered = render(&with_vllm("a", ""), &["-o", &format!("dir={folder}")]);
    assert_eq!(rendered.code, 0, "{}", rendered.stderr);
    assert_eq!(read_to_string(&victim).unwrap(), "precious");
}

/// As [`with_vllm`], with another Deployment.
fn with_two_replicas() -> String {
    with_vllm("a", "  workload: {replicas: 2}\n")
}

#[test]
fn files_of_an_earlier_run_are_written_over() {
    let files = Files::new();
    let into = format!("dir={}", files.path("out"));
    assert_eq!(render(&with_vllm("a", ""), &["-o", &into]).code, 0);
    let again = render(&with_two_replicas(), &["-o", &into]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let deployment = read_to_string(files.path("out/deployment-a.yaml")).unwrap();
    assert_eq!(parse_documents(&deployment)[0]["spec"]["replicas"], 2);
}

#[test]
fn files_that_somebody_else_wrote_or_changed_are_never_written_over() {
    let files = Files::new();
    let folder = files.path("out");
    let into = format!("dir={folder}");
    std::fs::create_dir_all(files.path("out/files")).unwrap();
    let own = files.add("out/files/env.yaml", "mine");
    let refused = render(&with_vllm("a", ""), &["-o", &into]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""));
    let remedy = "    → move such files away, or choose another folder; nothing was written\n";
    let expected = format!("error: {own}: it is there, and no earlier run wrote it\n{remedy}");
    assert_eq!(refused.stderr, expected);
    assert_eq!(names(&folder), ["files"]);

    std::fs::remove_file(&own).unwrap();
    assert_eq!(render(&with_vllm("a", ""), &["-o", &into]).code, 0);
    let changed = ["out/deployment-a.yaml", "out/files/env.yaml"]
        .map(|name| files.add(name, "changed by hand"));
    let refused = render(&with_two_replicas(), &["-o", &into]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    for file in changed {
        let line = format!("error: {file}: somebody changed it since it was rendered\n");
        assert!(refused.stderr.contains(&line), "{}", refused.stderr);
        assert_eq!(read_to_string(&file).unwrap(), "changed by hand");
    }
}

#[test]
fn a_file_that_is_there_as_it_would_be_rendered_is_no_obstacle() {
    let files = Files::new();
    let into = format!("dir={}", files.path("out"));
    assert_eq!(render(&with_vllm("a", ""), &["-o", &into]).code, 0);
    std::fs::remove_file(files.path("out/.llsd-rendered")).unwrap();
    let again = render(&with_vllm("a", ""), &["-o", &into]);
    assert_eq!((again.code, again.stdout.as_str()), (0, ""), "{}", again.stderr);
    assert_eq!(render(&with_two_replicas(), &["-o", &into]).code, 0, "they are in the record");
}

#[cfg(unix)]
#[test]
fn no_link_is_followed_and_nothing_is_written_beside_it() {
    let files = Files::new();
    let victim = files.add("victim", "precious");
    let folder = files.path("out");
    std::fs::create_dir(&folder).unwrap();
    std::fs::create_dir(format!("{folder}/files")).unwrap();
    std::os::unix::fs::symlink(&victim, format!("{folder}/files/env.yaml")).unwrap();
    let rendered = render(&with_vllm("a", ""), &["-o", &format!("dir={folder}")]);
    assert_eq!(rendered.code, 2);
    assert!(rendered.stderr.contains("env.yaml: there is something"), "{}", rendered.stderr);
    assert_eq!(read_to_string(&victim).unwrap(), "precious");
    assert_eq!(names(&folder), ["files"]);
    std::fs::remove_dir_all(format!("{folder}/files")).unwrap();
    std::os::unix::fs::symlink(files.path(""), format!("{folder}/files")).unwrap();
    let rendered = render(&with_vllm("a", ""), &["-o", &format!("dir={folder}")]);
    assert_eq!(rendered.code, 2);
    let words = "files: there is something that is not a folder";
    assert!(rendered.stderr.contains(words), "{}", rendered.stderr);
}

#[test]
fn a_namespace_cannot_lead_out_of_the_folder() {
    let files = Files::new();
    let folder = files.path("out");
    let text = format!("{}---\n{}", resource("../../escaped", "a"), resource("demo", "b"));
    let rendered = render(&text, &["-o", &format!("dir={folder}")]);
    assert_eq!(rendered.code, 1, "{}", rendered.stderr);
    assert!(
        rendered.stderr.contains("metadata.namespace: is no name of a namespace"),
        "{}",
        rendered.stderr
    );
    assert!(!std::path::Path::new(&folder).exists());
}

#[test]
fn other_forms_are_a_usage_error() {
    for form in ["html", "dir", "dir=", "Yaml"] {
        let rendered = render(&resource("demo", "a"), &["-o", form]);
        assert_eq!(rendered.code, 2, "{form}");
        assert!(
            rendered.stderr.contains("use yaml, json, config or dir=DIR"),
            "{}",
            rendered.stderr
        );
    }
}
