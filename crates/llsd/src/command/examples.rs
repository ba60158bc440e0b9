//! Examples that end every `--help`, by command.

use clap::Command;

/// The command with its examples, one a line.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    (
        "",
        "llsd render -f stack.yaml                  # what the operator would apply, without a cluster
llsd status my-stack -n team               # how a server in the cluster is
llsd render --help                         # examples of a command",
    ),
    (
        "init",
        "llsd init                                  # what there is to start from
llsd init simple > stack.yaml
llsd init high-availability -o stack.yaml  # never in the place of a file",
    ),
    (
        "up",
        "llsd up -f stack.yaml                      # on http://127.0.0.1:8321, until Ctrl-C
llsd up -f stack.yaml --endpoint vllm=http://localhost:8000
llsd up -f stack.yaml --env-file prod.env --port 9000
llsd up -f stack.yaml --watch              # restart on a change that passes the preflight",
    ),
    (
        "render",
        "llsd render -f stack.yaml                  # every object that the operator would apply
llsd render -f stack.yaml -o config        # config.yaml alone
llsd render -f stack.yaml -o json          # the same as one JSON list
llsd render -f stack.yaml -o dir=out       # files in a folder, for kubectl apply -f out
llsd render my-stack -n team               # of a resource in the cluster",
    ),
    (
        "explain",
        "llsd explain -f stack.yaml                 # config.yaml, each line with its origin
llsd explain -f stack.yaml --base run.yaml # over a configuration of your own image
llsd explain my-stack -n team              # of a resource in the cluster
llsd explain spec.providers.inference.endpoint  # what a field is for
llsd explain spec.server --api-version v1alpha1",
    ),
    (
        "validate",
        "llsd validate -f stack.yaml                # all problems at once, with their lines
llsd validate -f stack.yaml --registry     # also with what registries say of its images
llsd validate -f stack.yaml --strict       # warnings fail, too
llsd validate -f stacks -R -n team         # a folder with all below it, in this namespace
cat *.yaml | llsd validate -f - -o json
llsd validate -f stack.yaml -o github      # beside the lines of a change; -o sarif for scanners",
    ),
    (
        "diff",
        "llsd diff -f stack.yaml                    # what would change in the cluster
llsd diff my-stack -n team                 # what its operator has still to change
llsd diff -f stack.yaml --context staging  # in another cluster
llsd diff -f stack.yaml --export-facts facts.yaml",
    ),
    (
        "migrate",
        "llsd migrate -f old.yaml > new.yaml        # v1alpha1 as v1alpha2, with its comments
llsd migrate -f stacks -R --in-place       # every file of a folder
llsd migrate -f stack.yaml --to ogx-1.5    # for the successor's server
llsd migrate --in-cluster                  # what the cluster stores",
    ),
    (
        "access",
        "llsd access test -f stack.yaml --path /v1/models  # who may call a path: here without a token",
    ),
    (
        "access test",
        r#"llsd access test -f stack.yaml --path /v1/models  # without a token
llsd access test -f stack.yaml --path /v1/models --as '{"sub":"ann","groups":["ml"]}'
llsd access test -f stack.yaml --path /v1/files --as @ann.json --method POST -o json
llsd access test -f stack.yaml --path /v1/models --as @ann.json --action read --resource model::m"#,
    ),
    ("report", "llsd report simple -n team                 # writes llsd-report-simple.zip"),
    (
        "doctor",
        "llsd doctor                                # what is wrong with the installation, and what to do
llsd doctor -n team -o json                # with your rights in that namespace",
    ),
    (
        "providers",
        "llsd providers                             # all types, by API
llsd providers vllm                        # its fields, and since which release
llsd providers --api vectorIo --release 0.7.3 -o json",
    ),
    (
        "distributions",
        "llsd distributions                         # name, image and release
llsd distributions -o json | jq -r .[].image   # the images to mirror",
    ),
    (
        "schema",
        "llsd schema > llsd.schema.json             # beside the files that name it in their first line",
    ),
    ("crd", "llsd crd | kubectl apply --server-side -f -"),
    (
        "manifests",
        "llsd manifests --image registry.example.com/llsd:0.1.0 | kubectl apply --server-side -f -
llsd manifests --namespaced team           # for one namespace, with Roles alone
llsd manifests --monitoring                # with a PodMonitor, alerts and a dashboard
llsd manifests --charts-dir charts         # the Helm charts",
    ),
    (
        "image",
        "llsd image inspect quay.io/me/server:1     # which configuration an image carries
llsd image label quay.io/me/server:1 --config run.yaml",
    ),
    (
        "image inspect",
        "llsd image inspect quay.io/me/server:1     # which configuration an image carries",
    ),
    (
        "image label",
        "llsd image label quay.io/me/server:1 --config run.yaml
llsd image label quay.io/me/server:1 --from-layer /app/run.yaml -t quay.io/me/server:2",
    ),
    (
        "provider",
        "llsd provider init acme                    # a provider that works, to start from
llsd provider check quay.io/me/acme:1      # what is wrong with its image, and what becomes of it",
    ),
    ("provider init", "llsd provider init acme                    # inline::acme, which works, to start from"),
    (
        "provider check",
        "llsd provider check ./lls-provider --python 3.12
llsd provider check quay.io/me/acme:1      # every platform of an image",
    ),
    (
        "provider package",
        "llsd provider package dist --api inference --type remote::acme --module acme -o lls-provider
llsd provider package dist --api inference --type remote::acme --module acme -t quay.io/me/acme:1
llsd provider package a.whl b.whl --api safety --type inline::a --module a -t quay.io/me/a:1",
    ),
    (
        "provider server-program",
        "llsd provider server-program | python3 - > server.json",
    ),
    ("provider copy-program", "llsd provider copy-program /opt/llama-stack/installer/llsd"),
    (
        "provider install",
        "llsd provider install --from /lls-provider --to /opt/llama-stack/external-providers --python 3.12",
    ),
    (
        "status",
        "llsd status my-stack -n team               # what runs, what is wrong, what to do
llsd status my-stack -o json               # for scripts; ends with 1 where it is not ready
llsd status my-stack --watch               # again at each change
llsd status my-stack --wait --timeout 5m   # until it is ready; ends with 1 where it is not",
    ),
    (
        "top",
        "llsd top -A                                # all servers, live; keys sort and filter
llsd top -A --sort problem | head          # plain lines where nobody looks on
llsd top -n team -o json
llsd top -A --prometheus http://localhost:9090 --sort requests",
    ),
    ("history", "llsd history my-stack                      # the states that can be gone back to"),
    (
        "rollback",
        "llsd rollback my-stack                     # to the state before
llsd rollback my-stack --to 5d4f8b7c9d",
    ),
    (
        "rollout",
        "llsd rollout approve my-stack              # apply what an upgrade of the operator holds back
llsd rollout retry my-stack                # try again what was rolled back",
    ),
    (
        "rollout approve",
        "llsd rollout approve my-stack              # apply what an upgrade of the operator holds back
llsd rollout approve --all -A --max-parallel 3",
    ),
    (
        "rollout retry",
        "llsd rollout retry my-stack                # try again what was rolled back
llsd rollout retry --all -A                # everywhere, for example once a registry is back",
    ),
    ("rollout status", "llsd rollout status -A                     # how far a change of shared inputs is"),
    (
        "logs",
        "llsd logs my-stack -f
llsd logs my-stack --previous              # of the container that ended",
    ),
    ("restart", "llsd restart my-stack                      # the same pods again"),
    ("refresh", "llsd refresh my-stack                      # run what the image's tag names now"),
    (
        "redis-proxy",
        "llsd redis-proxy --help                    # the operator adds it to pods by itself",
    ),
    (
        "completion",
        "source <(llsd completion bash)             # in ~/.bashrc; zsh likewise in ~/.zshrc
llsd completion fish > ~/.config/fish/completions/llsd.fish",
    ),
    ("version", "llsd version\nllsd version -o json"),
    (
        "run",
        "llsd run                                   # in a pod
KUBECONFIG=~/.kube/config llsd run         # from outside of the cluster
llsd run --watch-namespaces team-a,team-b",
    ),
];

/// Adds them to the program's commands.
pub(super) fn added(program: Command) -> Command {
    EXAMPLES.iter().fold(program, |program, (path, examples)| {
        let parts: Vec<&str> = path.split_whitespace().collect();
        ended(program, &parts, examples)
    })
}

fn ended(command: Command, path: &[&str], examples: &str) -> Command {
    match path.split_first() {
        None => command.after_help(format!("Examples:\n{}", indented(examples))),
        Some((name, rest)) => command.mut_subcommand(name, |below| ended(below, rest, examples)),
    }
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}
