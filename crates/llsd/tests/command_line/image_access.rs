//! Who `llsd image` is at a registry: the user's docker login in all its forms, and whose
//! certificates are trusted.

use std::slice::from_ref;
use std::sync::{Arc, Mutex};

use llsd_testkit::{RegistryServer, TestImage, TestLayer, User};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::image::{Person, Run, as_operator, base, configuration, install, skopeo};

fn unlabelled() -> TestImage {
    TestImage::new().layer(TestLayer::files(&[("a", b"b")]).gzip())
}

async fn label(person: &Person, image: &str, more: &[&str]) -> Run {
    let file = person.write("config.yaml", configuration());
    person.image(&[&["label", image, "--config", &file], more].concat()).await
}

/// Labels, and asks skopeo and the operator whether they see it.
async fn labels(person: &Person, server: &RegistryServer, user: Option<&User>, more: &[&str]) {
    server.push("private/server", "1", &unlabelled()).await.unwrap();
    let name = format!("{}/private/server:1", server.host());
    let digest = label(person, &name, more).await.digest();
    assert_eq!(skopeo(server, user, &[], &name).await["Digest"], digest.as_str());
    assert_eq!(base(&*as_operator(server, user, &name).await).text, configuration());
    let shown = person.image(&[&["inspect", &name], more].concat()).await;
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains(&digest), "{}", shown.stdout);
}

#[tokio::test]
async fn a_password_comes_from_the_docker_login_in_each_of_its_forms() {
    let user = User::new("someone", "s3cret-w0rd", &[]);
    let server = RegistryServer::builder().with_passwords(from_ref(&user)).start().await.unwrap();
    let plain = ["--plain-http"];
    labels(&Person::logged_in(&server, &user), &server, Some(&user), &plain).await;
    let fields = json!({ "username": user.name, "password": user.password });
    let by_url = json!({ "auths": { format!("https://{}/v2/", server.host()): fields } });
    labels(&Person::with_docker_config(&by_url), &server, Some(&user), &plain).await;
    // Several for one host: the most specific path first, then the others.
    let wrong = json!({ "username": user.name, "password": "of yesterday" });
    let several = json!({ "auths": {
        format!("{}/private", server.host()): wrong, server.host(): fields,
    } });
    labels(&Person::with_docker_config(&several), &server, Some(&user), &plain).await;
    // Another folder than the usual one.
    let mut person = Person::new();
    person.write("config.json", &json!({ "auths": { server.host(): fields } }).to_string());
    let folder = person.file("");
    person.set("DOCKER_CONFIG", &folder);
    labels(&person, &server, Some(&user), &plain).await;
}

#[tokio::test]
async fn a_credential_helper_of_the_user_is_asked() {
    let user = User::new("someone", "s3cret-w0rd", &[]);
    let server = RegistryServer::builder().with_passwords(from_ref(&user)).start().await.unwrap();
    let programs = tempfile::tempdir().unwrap();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = get ] && read -r server || :\n\
         if [ \"$server\" = {} ]; then echo '{}'; else\n\
         echo 'credentials not found in native keychain'; exit 1; fi\n",
        server.host(),
        json!({ "ServerURL": server.host(), "Username": user.name, "Secret": user.password }),
    );
    install(programs.path(), "docker-credential-test", &script);
    let failing = "#!/bin/sh\necho 's3cret-w0rd in a trace' >&2\necho s3cret-w0rd\nexit 1\n";
    install(programs.path(), "docker-credential-failing", failing);
    let path = std::env::var("PATH").unwrap();
    let with = |config: &Value| {
        let mut person = Person::with_docker_config(config);
        person.set("PATH", &format!("{}:{path}", programs.path().display()));
        person
    };
    let plain = ["--plain-http"];
    let store = json!({ "credsStore": "test", "auths": { server.host(): {} } });
    labels(&with(&store), &server, Some(&user), &plain).await;
    let own = json!({ "credsStore": "failing", "credHelpers": { server.host(): "test" } });
    labels(&with(&own), &server, Some(&user), &plain).await;

    let name = format!("{}/private/server:1", server.host());
    for (helper, said) in [
        ("failing", "warning: docker-credential-failing failed"),
        ("missing", "warning: docker-credential-missing could not be started"),
        ("../../bin/sh", "is not run: its name is none"),
    ] {
        let run = label(&with(&json!({ "credsStore": helper })), &name, &plain).await;
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains(said), "{}", run.stderr);
        assert!(!run.stderr.contains("s3cret"), "{}", run.stderr);
    }
    // It knows nothing of this registry, which is no reason for a warning.
    let elsewhere = RegistryServer::builder().start().await.unwrap();
    elsewhere.push("a", "1", &unlabelled()).await.unwrap();
    let run = label(&with(&store), &format!("{}/a:1", elsewhere.host()), &plain).await;
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
}

#[tokio::test]
async fn tokens_are_asked_for_pushing_with_a_password_or_an_identity_token() {
    let user = User::new("someone", "s3cret-w0rd", &["private/"]).who_pushes();
    let server = RegistryServer::builder().with_tokens(from_ref(&user)).start().await.unwrap();
    labels(&Person::logged_in(&server, &user), &server, Some(&user), &["--plain-http"]).await;
    let identity =
        json!({ "auths": { server.host(): { "identitytoken": user.identity_token() } } });
    let hosts = [server.host(), server.token_host().unwrap()];
    let hosts = hosts.map(|host| format!("--plain-http={host}"));
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    labels(&Person::with_docker_config(&identity), &server, Some(&user), &hosts).await;
}

#[tokio::test]
async fn a_private_authority_is_trusted_when_the_user_says_so() {
    let user = User::new("someone", "s3cret-w0rd", &[]);
    let server =
        RegistryServer::builder().with_passwords(from_ref(&user)).with_tls().start().await.unwrap();
    let mut person = Person::logged_in(&server, &user);
    let authority = person.write("ca.pem", server.authority().unwrap());
    labels(&person, &server, Some(&user), &["--ca-file", &authority]).await;
    let name = format!("{}/private/server:1", server.host());
    let run = label(&person, &name, &[]).await;
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.to_lowercase().contains("certificate"), "{}", run.stderr);
    assert!(run.stderr.contains("--ca-file"), "{}", run.stderr);
    // Neither does --plain-http make a way around it.
    assert_eq!(label(&person, &name, &["--plain-http"]).await.code, 3);
    person.set("SSL_CERT_FILE", &authority);
    labels(&person, &server, Some(&user), &[]).await;
}

#[tokio::test]
async fn the_proxy_of_the_environment_is_used_except_to_this_machine() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    // Answers every request that nothing is there, and notes what was asked.
    let asked = tokio::spawn(async move {
        let mut asked = Vec::new();
        while let Ok(Ok((mut stream, _))) =
            tokio::time::timeout(std::time::Duration::from_secs(5), listener.accept()).await
        {
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            let text = String::from_utf8_lossy(&request[..length]).into_owned();
            asked.push(text.lines().next().unwrap_or_default().to_owned());
            let answer =
                b"HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            stream.write_all(answer).await.unwrap();
        }
        asked
    });
    let mut person = Person::new();
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"] {
        person.set(name, &proxy);
    }
    let run = person.image(&["inspect", "registry.test:5000/a/b:1", "--plain-http"]).await;
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("not found in the registry"), "{}", run.stderr);
    let server = RegistryServer::builder().start().await.unwrap();
    labels(&person, &server, None, &["--plain-http"]).await;
    assert_eq!(
        asked.await.unwrap(),
        [
            "GET http://registry.test:5000/v2/ HTTP/1.1",
            "GET http://registry.test:5000/v2/a/b/manifests/1 HTTP/1.1",
        ]
    );
}

#[tokio::test]
async fn https_goes_through_the_proxy_as_a_tunnel_that_the_proxy_cannot_read() {
    let server = RegistryServer::builder().start().await.unwrap();
    server.push("a/b", "1", &unlabelled()).await.unwrap();
    let certified = rcgen::generate_simple_self_signed(["registry.test".to_owned()]).unwrap();
    let registry = encrypted(&certified, server.host().parse().unwrap()).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            let text = String::from_utf8_lossy(&request[..length]).into_owned();
            noted.lock().unwrap().push(text.lines().next().unwrap_or_default().to_owned());
            stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
            tokio::spawn(async move {
                let mut there = TcpStream::connect(registry).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut there).await;
            });
        }
    });
    let mut person = Person::new();
    let authority = person.write("ca.pem", &certified.cert.pem());
    person.set("HTTPS_PROXY", &proxy);
    let name = "registry.test:5000/a/b:1";
    let run = person.image(&["inspect", name, "--ca-file", &authority, "-o", "json"]).await;
    let found: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
    assert!(found["digest"].as_str().unwrap().starts_with("sha256:"), "{found}");
    let asked = asked.lock().unwrap().clone();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|line| line == "CONNECT registry.test:5000 HTTP/1.1"), "{asked:?}");
}

/// A server that ends TLS under a certificate and passes on what it hears.
async fn encrypted(
    certified: &rcgen::CertifiedKey<rcgen::KeyPair>,
    behind: std::net::SocketAddr,
) -> std::net::SocketAddr {
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::pki_types::PrivateKeyDer;
    llsd_testkit::install_crypto_provider();
    let key = PrivateKeyDer::Pkcs8(certified.signing_key.serialize_der().into());
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut there = TcpStream::connect(behind).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut there).await;
            });
        }
    });
    address
}

#[tokio::test]
async fn a_wrong_password_is_told_without_showing_it() {
    let user = User::new("someone", "right", &["private/"]).who_pushes();
    let reader = User::new("reader", "s3cret-w0rd", &["private/"]);
    let users = [user.clone(), reader.clone()];
    let passwords = RegistryServer::builder().with_passwords(&users).start().await.unwrap();
    let tokens = RegistryServer::builder().with_tokens(&users).start().await.unwrap();
    let wrong = User::new("someone", "s3cret-w0rd", &[]);
    for server in [&passwords, &tokens] {
        server.push("private/server", "1", &unlabelled()).await.unwrap();
        let name = format!("{}/private/server:1", server.host());
        for person in [Person::logged_in(server, &wrong), Person::new()] {
            for run in [
                label(&person, &name, &["--plain-http"]).await,
                person.image(&["inspect", &name, "--plain-http"]).await,
            ] {
                assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{}", run.stderr);
                assert!(run.stderr.contains("accepts none of the credentials"), "{}", run.stderr);
                assert!(run.stderr.contains("docker login"), "{}", run.stderr);
                assert!(!run.stderr.contains("s3cret"), "{}", run.stderr);
            }
        }
    }
    // Who may read but not write.
    let name = format!("{}/private/server:1", tokens.host());
    let run = label(&Person::logged_in(&tokens, &reader), &name, &["--plain-http"]).await;
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("does not let these credentials push"), "{}", run.stderr);
    assert!(!run.stderr.contains("s3cret"), "{}", run.stderr);
}
