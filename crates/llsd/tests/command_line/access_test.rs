//! `llsd access test` says what a server would answer, and by which field of the resource.

use serde_json::Value;

use crate::support::{Run, run, with_vllm};

const ACCESS: &str = r#"  access:
    authentication: {oidc: {issuer: "https://login.example.com", jwksUri: "https://login.example.com/keys", claims: {sub: roles}}}
    routes:
    - permit: {paths: ["/v1/chat/completions", "/v1/models*"]}
    - permit: {paths: ["*"]}
      when: user with admin in roles
      description: admins may call all
    rules:
    - permit: {actions: [read], resource: "model::*"}
    - permit: {actions: [create, read, update, delete]}
      when: user is owner
"#;

fn test(arguments: &[&str]) -> Run {
    let stack = with_vllm("a", ACCESS);
    run(&[&["access", "test", "-f", "-"], arguments].concat(), &stack)
}

#[test]
fn a_path_is_allowed_or_denied_by_a_field_of_the_resource() {
    let nobody = test(&["--path", "/v1/models"]);
    assert_eq!(nobody.code, 1, "{}", nobody.stderr);
    assert!(nobody.stdout.starts_with("401  GET /v1/models: denied: there is no token\n"));

    let ann = r#"{"sub": "ann"}"#;
    let models = test(&["--path", "/v1/models?limit=1", "--as", ann]);
    let expected = "200  GET /v1/models?limit=1: allowed by spec.access.routes[0]\n\
                    as ann (roles: ann), by 0.7.3\n";
    assert_eq!((models.code, models.stdout.as_str()), (0, expected), "{}", models.stderr);
    let files = test(&["--path", "/v1/files", "--as", ann]);
    assert_eq!(files.code, 1);
    assert!(
        files.stdout.contains("403  GET /v1/files: denied: no rule of spec.access.routes matches")
    );

    let admin = test(&["--path", "/v1/files", "--as", r#"{"sub": "admin"}"#, "--method", "POST"]);
    assert_eq!(admin.code, 0);
    assert!(admin.stdout.contains("allowed by spec.access.routes[1] (admins may call all)"));
}

const FORBIDDING: &str = r#"  access:
    authentication:
      oidc:
        issuer: https://login.example.com
        audience: stack
        introspection: {url: "https://login.example.com/ask", clientId: a, clientSecret: {name: s, key: k}}
    routes:
    - forbid: {paths: [/v1/providers]}
    - permit: {paths: ["*"]}
"#;

#[test]
fn a_path_is_forbidden_under_all_its_spellings_and_a_token_is_for_one_audience() {
    let stack = with_vllm("a", FORBIDDING);
    for (path, audience, expected) in [
        ("/v1/models", "stack", "200  GET /v1/models: allowed by spec.access.routes[1]\n"),
        (
            "/v1/providers%0A",
            "stack",
            "403  GET /v1/providers%0A: denied by spec.access.routes[0]\n",
        ),
        (
            "/v1alpha/admin/providers",
            "stack",
            "403  GET /v1alpha/admin/providers: denied by spec.access.routes[0]\n",
        ),
        (
            "/v1/models",
            "another",
            "403  GET /v1/models: denied by spec.access.authentication.oidc.audience: the token \
             was issued for another audience\n",
        ),
    ] {
        let told = format!(r#"{{"sub": "ann", "aud": "{audience}"}}"#);
        let done = run(&["access", "test", "-f", "-", "--path", path, "--as", &told], &stack);
        assert!(done.stdout.starts_with(expected), "{}{}", done.stdout, done.stderr);
    }
}

#[test]
fn probes_need_no_token_and_no_rule() {
    let health = test(&["--path", "/v1/health"]);
    assert_eq!(health.code, 0);
    assert!(health.stdout.contains("the operator's own rule for the paths of probes"));
}

#[test]
fn a_resource_request_is_checked_behind_its_path() {
    let resource_request = |action, resource, more: &[&str]| {
        let asked = ["--path", "/v1/models", "--as", r#"{"sub": "ann"}"#, "-o", "json"];
        let asked =
            [&asked, ["--action", action, "--resource", resource].as_slice(), more].concat();
        let done = test(&asked);
        let found: Value = serde_json::from_str(&done.stdout).expect(&done.stderr);
        (done.code, found["resource"]["status"].clone(), found["resource"]["field"].clone())
    };
    assert_eq!(
        resource_request("read", "model::llama", &[]),
        (0, 200.into(), "spec.access.rules[0]".into())
    );
    let of_bob = ["--owner", r#"{"sub": "bob"}"#];
    // Whoever may not read something is not told that it exists.
    assert_eq!(
        resource_request("read", "vector_store::vs_1", &of_bob),
        (1, 404.into(), Value::Null)
    );
    assert_eq!(
        resource_request("delete", "vector_store::vs_1", &of_bob),
        (1, 403.into(), Value::Null)
    );
    let of_ann = ["--owner", r#"{"sub": "ann"}"#];
    assert_eq!(
        resource_request("delete", "vector_store::vs_1", &of_ann),
        (0, 200.into(), "spec.access.rules[1]".into())
    );
    // What is created has no owner yet, so that this rule lets nobody create anything.
    assert_eq!(resource_request("create", "vector_store::vs_1", &[]), (1, 403.into(), Value::Null));
}

#[test]
fn what_cannot_be_asked_is_an_error_of_usage() {
    for (wrong, says) in [
        (vec!["--as", "ann"], "the claims: no JSON object of claims"),
        (vec!["--as", "@nowhere.json"], "nowhere.json: No such file"),
        (vec!["--action", "read", "--resource", "model"], "write TYPE::ID"),
        (
            vec!["--action", "read", "--resource", "modle::a"],
            "no server has the type `modle`; did you mean model?",
        ),
        (vec!["--method", "PSOT"], "did you mean POST?"),
        (vec!["--method", "SEARCH"], "use one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
        (
            vec!["--action", "create", "--resource", "model::a", "--owner", "{}"],
            "what is created has no owner yet",
        ),
    ] {
        let done = test(&[vec!["--path", "/v1/models"], wrong].concat());
        assert_eq!(done.code, 2, "{}", done.stderr);
        assert!(done.stderr.contains(says), "{}", done.stderr);
    }
}

#[test]
fn without_access_everybody_may() {
    let stack = with_vllm("a", "");
    let done = run(&["access", "test", "-f", "-", "--path", "/v1/files"], &stack);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(done.stdout.contains("without spec.access everybody may do everything"));
}

#[test]
fn where_the_resource_has_no_rules_those_of_the_server_decide() {
    let keys =
        r#"{issuer: "https://login.example.com", jwksUri: "https://login.example.com/keys"}"#;
    let stack = with_vllm("a", &format!("  access: {{authentication: {{oidc: {keys}}}}}\n"));
    let asked = |path: &str, more: &[&str]| {
        let asked = ["access", "test", "-f", "-", "--path", path, "--as", r#"{"sub": "ann"}"#];
        let resource_request = ["--action", "delete", "--resource", "vector_store::vs_1"];
        run(&[&asked[..], &resource_request, more].concat(), &stack)
    };
    let own = asked("/v1/vector_stores/vs_1", &["--owner", r#"{"sub": "ann"}"#]);
    assert_eq!(own.code, 0, "{}{}", own.stdout, own.stderr);
    for words in ["allowed: there is no spec.access.routes", "by a rule of the server's own: "] {
        assert!(own.stdout.contains(words), "{words}: {}", own.stdout);
    }
    let others = asked("/v1/vector_stores/vs_1", &["--owner", r#"{"sub": "bob"}"#]);
    assert_eq!(others.code, 1, "{}{}", others.stdout, others.stderr);
    let words = "none of the server's own rules matches";
    assert!(others.stdout.contains(words), "{}", others.stdout);
    // Whoever calls an open path is nobody to the server, token or not.
    let open = asked("/v1/health", &[]);
    assert!(
        open.stdout.contains("the caller is nobody, and no rule binds nobody"),
        "{}",
        open.stdout
    );
}

#[test]
fn a_path_begins_with_a_slash_and_a_method_may_be_small() {
    let stack = with_vllm("a", ACCESS);
    let asked = |path: &str| {
        let ann = r#"{"sub": "ann"}"#;
        run(&["access", "test", "-f", "-", "--path", path, "--as", ann, "--method", "post"], &stack)
    };
    let wrong = asked("v1/models");
    assert_eq!(wrong.code, 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("a path begins with `/`: write /v1/models"), "{}", wrong.stderr);
    let small = asked("/v1/models");
    assert!(small.stdout.starts_with("200  POST /v1/models: "), "{}", small.stdout);
}

/// The server checks such a token itself, before any rule.
#[test]
fn a_token_for_another_audience_is_no_token() {
    let named = ACCESS.replace("issuer:", "audience: stack, issuer:");
    for (access, told, expected) in [
        (&named, r#"{"sub": "ann", "aud": "stack"}"#, "200  GET /v1/models: allowed"),
        (&named, r#"{"sub": "ann", "aud": ["a", "stack"]}"#, "200  GET /v1/models: allowed"),
        (&named, r#"{"sub": "ann"}"#, "200  GET /v1/models: allowed"),
        (
            &named,
            r#"{"sub": "ann", "aud": "other"}"#,
            "401  GET /v1/models: denied: the token was issued for another audience than stack\n",
        ),
        (
            &ACCESS.to_owned(),
            r#"{"sub": "ann", "aud": "stack"}"#,
            "401  GET /v1/models: denied: the token was issued for another audience than llama-stack\n",
        ),
    ] {
        let stack = with_vllm("a", access);
        let arguments = ["access", "test", "-f", "-", "--path", "/v1/models", "--as", told];
        let done = run(&arguments, &stack);
        assert!(done.stdout.starts_with(expected), "{told}: {}{}", done.stdout, done.stderr);
    }
    let health = ["access", "test", "-f", "-", "--path", "/v1/health"];
    let told = ["--as", r#"{"sub": "ann", "aud": "other"}"#];
    let open = run(&[&health[..], &told].concat(), &with_vllm("a", &named));
    assert_eq!(open.code, 0, "{}", open.stdout);
}

#[test]
fn rules_under_which_no_caller_can_read_a_model_are_warned_of() {
    const WORDS: &str = "spec.access.rules: no caller can read a model of the configuration";
    let only_owners =
        ACCESS.replace("    - permit: {actions: [read], resource: \"model::*\"}\n", "");
    let forbidden = ACCESS.replace("permit: {actions: [read]", "forbid: {actions: [read]");
    for (access, is_warned) in [(ACCESS, false), (&only_owners, true), (&forbidden, true)] {
        let stack = with_vllm("a", access);
        let tested = run(&["access", "test", "-f", "-", "--path", "/v1/models"], &stack);
        assert_eq!(tested.stderr.contains(WORDS), is_warned, "{access}: {}", tested.stderr);
        let valid = run(&["validate", "-f", "-"], &stack);
        assert_eq!((valid.code, valid.stderr.contains(WORDS)), (0, is_warned), "{}", valid.stderr);
    }
}
