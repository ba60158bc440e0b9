//! What the start program does before a server with access starts, in an image whose server only says how it
//! was called.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::json;

use crate::image::{Image, stderr};

/// All releases of the image are known to have what is asked for.
const ACCESS: (&str, &str) = ("LLS_ACCESS", "0.7.0 0.7.3");
/// Here the variables of the image are the ones that a test sets.
const OWN: (&str, &str) = (
    "LLS_OWN_VARIABLES",
    "LLAMA_STACK_CONFIG LLS_ACCESS LLS_ALLOW_PLAIN_HTTP LLS_JWKS_URI LLS_OWN_VARIABLES PYTHONPATH",
);

/// An object of `envFrom` can get them after the resource was accepted.
#[test]
fn variables_that_could_open_the_server_reach_it_from_the_operator_alone() {
    let Some(image) = Image::installed("0.7.3") else { return };
    image.write("fake/uvicorn/__main__.py", "import os\nprint(*sorted(os.environ))\n");
    let config = "server: {auth: {provider_config: {type: github_token}}}";
    let later = [
        ("UVICORN_ROOT_PATH", "/x"),
        ("FORWARDED_ALLOW_IPS", "*"),
        ("LD_LIBRARY_PATH", "/x"),
        ("SSL_CERT_FILE", "/x"),
        ("LLSD_AUTH_API_KEY_9", "x"),
        ("LLS_JWKS_URI", "https://elsewhere.example/.well-known/openid-configuration"),
    ];
    let own = ("LLS_OWN_VARIABLES", "LLAMA_STACK_CONFIG LLS_ACCESS LLS_OWN_VARIABLES PYTHONPATH");
    let env = [&later[..], &[ACCESS, own, ("OTHER", "x")]].concat();
    let seen = image.call(config, &env);
    let seen: Vec<&str> = seen.split(' ').collect();
    let said = stderr(&image.start(config, &env));
    for (name, _) in later {
        assert!(!seen.contains(&name), "{name} of {seen:?}");
        assert!(said.contains(&format!("{name} is left out")), "{said}");
    }
    for name in ["OTHER", "PATH", "HOME", "PYTHONPATH", "LLAMA_STACK_CONFIG", "LLS_ACCESS"] {
        assert!(seen.contains(&name), "{name} of {seen:?}");
    }
    let without_access = image.call(config, &later);
    assert!(without_access.contains("UVICORN_ROOT_PATH"), "{without_access}");
}

/// An issuer within the pod needs no word of the resource for plain http, but what it leads to does.
#[test]
fn plain_http_leaves_the_pod_only_where_the_resource_says_so() {
    let Some(image) = Image::installed("0.7.3") else { return };
    image.write("fake/uvicorn/__main__.py", "import os\nprint(os.environ['LLS_JWKS_URI'])\n");
    let config = "server: {auth: {provider_config: {type: oauth2_token, issuer: '${env.ISSUER}', \
                  jwks: {uri: '${env.LLS_JWKS_URI}'}}}}";
    let url = provider();
    for (issuer, failure) in [
        ("stays", None),
        ("names", Some("names no address of its keys that can be trusted")),
        ("moved", Some("does not say where its keys are")),
        ("keys-moved", Some("does not give its keys")),
        ("keys-stay", None),
    ] {
        let issuer = format!("{url}/{issuer}");
        let discovery = format!("{issuer}/.well-known/openid-configuration");
        let mut env = vec![
            ACCESS,
            OWN,
            ("ISSUER", issuer.as_str()),
            ("LLS_JWKS_URI", discovery.as_str()),
            ("LLS_DISCOVERY_SECONDS", "0.5"),
        ];
        let done = image.start(config, &env);
        let said = stderr(&done);
        assert_eq!(done.status.success(), failure.is_none(), "{issuer}: {said}");
        assert!(said.contains(failure.unwrap_or_default()), "{issuer}: {said}");
        env.push(("LLS_ALLOW_PLAIN_HTTP", "true"));
        assert!(image.call(config, &env).ends_with("/keys"), "{issuer}");
    }
}

/// A provider without TLS, at every address of this machine; gives the one that is within the pod.
fn provider() -> String {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(&stream, port);
        }
    });
    format!("http://127.0.0.1:{port}")
}

fn answer(mut stream: &TcpStream, port: u16) {
    let head: Vec<String> = BufReader::new(stream)
        .lines()
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .collect();
    let path = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    // Another name of this machine, which does not count as inside the pod.
    let (inside, outside) =
        (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.2:{port}"));
    let (issuer, rest) = path.trim_start_matches('/').split_once('/').unwrap_or_default();
    let keys = match issuer {
        "names" => format!("{outside}/keys"),
        "keys-moved" => format!("{inside}/moved/keys"),
        "keys-stay" => format!("{inside}/near/keys"),
        _ => format!("{inside}/keys"),
    };
    let target = match (issuer, rest) {
        // The issuer's own document, at the other address.
        ("moved", rest) if !path.contains("there") => Some(format!("{outside}/moved/{rest}?there")),
        ("near", rest) => Some(format!("http://localhost:{port}/{rest}")),
        _ => None,
    };
    let body = json!({"issuer": format!("{inside}/{issuer}"), "jwks_uri": keys, "keys": []});
    let (body, status) = match target {
        Some(target) => (String::new(), format!("302 Found\r\nLocation: {target}")),
        None => (body.to_string(), "200 OK".to_owned()),
    };
    let length = body.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
}
