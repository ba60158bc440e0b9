//! What is known of server releases is data: a test adds a release, a provider type and a distribution
//! as texts, and renders with them. The documentation's tables say what the data says.

use std::path::Path;

use llsd_cases::files::repository;
use llsd_plan::facts::Facts;
use llsd_plan::plan::{Plan, Planning, parse_and_plan};
use llsd_plan::releases::{Catalogue, Distribution, Release, Releases, ServerFamily, Texts};
use serde_json::{Value, json};

/// The shipped texts with a release after the last, which has one provider type more, keeps its state
/// in another folder, and has a distribution.
fn with_a_release_to_come() -> &'static Releases {
    let mut texts = Texts::shipped();
    let newest = &Releases::shipped().newest(ServerFamily::Ogx).name;
    let table = texts.releases.to_mut();
    *table = table.replace("\n\n# The traits", "\n  ogx-9.6.0: OGX 9.6\n\n# The traits");
    *table = table.replace(
        "~/.ogx since ogx-1.0.4",
        &format!("~/.ogx since ogx-1.0.4 until {newest}, ~/.new since ogx-9.6.0"),
    );
    texts.providers.get_mut("inference").unwrap().to_mut().push_str(
        "remote::acme: {since: ogx-9.6.0, endpoint: address, path: {address: /v2}, key: token, \
         required: [address], fields: [token, zone], region: zone}\n",
    );
    let vllm = texts.providers.get_mut("inference").unwrap().to_mut();
    *vllm = vllm.replace("max_tokens, network", &format!("max_tokens until {newest}, network"));
    let starter = &Distribution::all()["ogx-starter"];
    texts.bases.insert("ogx-starter/9.6.0", starter.base().to_owned().into());
    texts.images.to_mut().push_str(
        "next: {image: example.com/ogx/next:9.6.0, release: ogx-9.6.0, base: ogx-starter/9.6.0}\n",
    );
    Releases::from_texts(texts).unwrap()
}

fn planned(releases: &'static Releases, spec: &Value) -> Result<Box<Plan>, String> {
    let resource = json!({
        "apiVersion": "llamastack.io/v1alpha2",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "demo", "namespace": "default"},
        "spec": spec,
    });
    let mut facts = Facts::default();
    facts.operator.releases = releases;
    match parse_and_plan(&resource, &facts) {
        Planning::Planned(plan) => Ok(plan),
        other => Err(format!("{other:?}")),
    }
}

#[test]
fn a_release_and_a_provider_type_are_added_as_data_and_rendered_with() {
    let acme = json!({
        "id": "acme",
        "provider": "acme",
        "endpoint": "https://acme.example.com",
        "apiKey": {"name": "acme", "key": "token"},
        "region": "north",
    });
    let vllm = json!({
        "id": "vllm", "provider": "vllm", "endpoint": "http://vllm:8000", "settings": {"max_tokens": 1},
    });
    let mut spec = json!({
        "distribution": {"name": "next"},
        "providers": {"inference": [acme, vllm], "files": {"id": "own", "provider": "localfs"}},
        "resources": {"models": [{"name": "m", "provider": "acme"}]},
    });
    let releases = with_a_release_to_come();
    let plan = planned(releases, &spec).unwrap();
    let generated = plan.generated.as_ref().unwrap();
    assert_eq!((generated.release, generated.server), ("OGX 9.6.0", ServerFamily::Ogx));
    assert_eq!(plan.server.as_deref(), Some("OGX 9.6.0"));
    let config = generated.provider_config("inference", "acme").unwrap().to_value();
    let expected = json!({
        "address": "https://acme.example.com/v2", "token": "${env.LLSD_ACME_API_KEY}", "zone": "north",
    });
    assert_eq!(config, expected);
    assert!(generated.text.contains("provider_type: remote::acme"), "{}", generated.text);
    // A trait of the new row reaches what the catalogue fills in.
    let files = generated.provider_config("files", "own").unwrap().to_value();
    assert!(files["storage_dir"].as_str().unwrap().contains("~/.new/"), "{files}");
    // A word that ended with the release before is a key that the new one drops.
    let dropped =
        |warning: &&llsd_plan::problems::Problem| warning.message.contains("`max_tokens`");
    assert!(plan.warnings.iter().any(|warning| dropped(&warning)), "{:?}", plan.warnings);

    // The shipped data knows neither.
    assert!(planned(Releases::shipped(), &spec).unwrap_err().contains("no distribution `next`"));
    spec["distribution"]["name"] = json!("ogx-starter");
    let before = planned(releases, &spec).unwrap_err();
    assert!(before.contains("releases OGX 9.6.0 to OGX 9.6.0 have it"), "{before}");
}

#[test]
fn what_is_forbidden_is_forbidden_under_the_names_that_the_data_says() {
    let mut texts = Texts::shipped();
    let routes = texts.routes.to_mut();
    *routes = routes.replace("\naliases:\n", "\naliases:\n  /v1/files: /v1alpha/admin/files\n");
    let releases = Releases::from_texts(texts).unwrap();
    let routes = json!([{"forbid": {"paths": ["/v1/files"]}}, {"permit": {"paths": ["*"]}}]);
    let spec = json!({
        "distribution": {"name": "starter"},
        "access": {"authentication": {"github": {}}, "routes": routes},
    });
    let forbids = |releases: &'static Releases| {
        let plan = planned(releases, &spec).unwrap();
        plan.generated.as_ref().unwrap().text.contains("/v1alpha/admin/files")
    };
    assert!(forbids(releases) && !forbids(Releases::shipped()));
}

/// The files of a folder beside the data, as `Texts` names them.
fn files_of(folder: &str) -> Vec<String> {
    let root = repository("crates/llsd-plan/src/releases").join(folder);
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name: &Path = path.strip_prefix(&root).unwrap();
                found.push(name.with_extension("").display().to_string());
            }
        }
    }
    found
}

#[test]
fn every_file_beside_the_data_is_part_of_it() {
    let texts = Texts::shipped();
    for (folder, listed) in [("providers", &texts.providers), ("bases", &texts.bases)] {
        for file in files_of(folder) {
            let is_listed = listed.contains_key(file.as_str());
            assert!(is_listed, "{folder}/{file}.yaml is not listed in src/releases/set.rs");
        }
    }
}

#[test]
fn texts_that_contradict_each_other_are_refused() {
    let refused = |change: fn(&mut Texts)| {
        let mut texts = Texts::shipped();
        change(&mut texts);
        Releases::from_texts(texts).unwrap_err()
    };
    let unknown = |texts: &mut Texts| {
        texts.providers.get_mut("files").unwrap().to_mut().push_str("remote::x: {feilds: [a]}\n");
    };
    assert!(refused(unknown).contains("feilds"));
    let no_release = |texts: &mut Texts| {
        texts.providers.get_mut("files").unwrap().to_mut().push_str("remote::x: {since: soon}\n");
    };
    assert!(refused(no_release).contains("`soon` is no release"));
    let no_base = |texts: &mut Texts| texts.bases.clear();
    assert!(refused(no_base).contains("has no base"));
}

/// The cells of the row that begins with this word, of the table with this head.
fn cells(page: &str, head: &str, row: &str) -> Vec<String> {
    let table = page.lines().skip_while(|line| !line.starts_with(head));
    let table = table.take_while(|line| line.starts_with('|'));
    let line = table.into_iter().find(|line| line.starts_with(&format!("| {row} |"))).unwrap();
    let cells = line.trim_matches('|').split('|').skip(1).map(str::trim);
    cells.fold(Vec::new(), |mut cells, cell| {
        let same = cells.last().cloned().filter(|_| cell == "same");
        cells.push(same.unwrap_or_else(|| cell.to_owned()));
        cells
    })
}

/// The newest release of each layout.
fn layouts(server: ServerFamily) -> Vec<&'static Release> {
    let all = Releases::shipped().all();
    let newest = |row: &&Release| {
        all.iter().rfind(|other| other.layout == row.layout).is_some_and(|new| new.name == row.name)
    };
    all.iter().filter(newest).filter(|row| row.server == server).collect()
}

#[test]
fn the_supported_releases_are_those_of_the_data() {
    let all = Releases::shipped().all();
    let of_ogx = all.iter().find(|row| row.server == ServerFamily::Ogx).unwrap();
    let newest = |server| Releases::shipped().newest(server);
    let llama_stack = format!("{} to {}", all[0].name, newest(ServerFamily::LlamaStack).name);
    let last = newest(ServerFamily::Ogx).minor_version().trim_start_matches("OGX ");
    let ogx = format!("{} to {last}", of_ogx.minor_version());
    let text = |page: &str| std::fs::read_to_string(repository(page)).unwrap();
    let supported = format!("llama-stack {llama_stack}, and its successor {ogx}");
    assert!(text("README.md").contains(&supported), "README.md: {supported}");
    for row in [format!("| llama-stack | {llama_stack} |"), ogx.replace("OGX ", "| OGX | ") + " |"]
    {
        assert!(text("docs/releases.md").contains(&row), "docs/releases.md: {row}");
    }
}

#[test]
fn the_tables_of_the_documentation_say_what_the_data_says() {
    let page = std::fs::read_to_string(repository("docs/configuration.md")).unwrap();
    let says = |row: &str, cell: fn(&Release) -> &str| {
        let expected: Vec<String> = layouts(ServerFamily::LlamaStack)
            .into_iter()
            .map(|release| cell(release).to_owned())
            .collect();
        assert_eq!(cells(&page, "| | up to 0.2.12 |", row), expected, "{row}");
    };
    let heads: Vec<String> = layouts(ServerFamily::LlamaStack)
        .iter()
        .map(|release| release.layout.replace(" and ", ", "))
        .collect();
    assert!(page.contains(&format!("| | {} |", heads.join(" | "))), "{heads:?}");
    says("agents", |release| match release.agents_api.as_str() {
        "agents" => "`agents`",
        _ => "`responses`",
    });
    says("`modelType: rerank`", |release| if release.knows_rerank_models { "yes" } else { "no" });
    says(
        "`workload.workers`",
        |release| {
            if release.has_workers { "yes" } else { "ignored, with a warning" }
        },
    );
    says("numbers in variables are converted", |release| {
        if release.coerces_variables { "yes" } else { "no" }
    });
    says("address of vLLM and Ollama", |release| {
        let url = |known: Catalogue| known.get("inference", "remote::vllm")?.endpoint();
        let catalogue = Releases::shipped().catalogue(&release.name).unwrap();
        if url(catalogue) == Some("url") { "`url`" } else { "`base_url`" }
    });
    let ogx = layouts(ServerFamily::Ogx);
    let of_ogx = |row: &str| cells(&page, "| | 0.7 |", row)[1..].to_vec();
    let state: Vec<String> = ogx.iter().map(|it| format!("`{}`", it.state_folder)).collect();
    assert_eq!(of_ogx("state"), state);
    let key: Vec<String> = ogx
        .iter()
        .filter_map(|it| {
            Releases::shipped().catalogue(&it.name)?.get("inference", "remote::bedrock")?.key()
        })
        .map(|key| format!("`{key}`"))
        .collect();
    assert_eq!(of_ogx("key of Bedrock"), key);
}
