# What the scripts share: saying what is going on, and setting up what a fresh machine lacks.

say() { printf '\n==> %s\n' "$*" >&2; }

# Debian packages, installed only where the command is missing.
need_command() {
  local command=$1
  shift
  command -v "$command" >/dev/null 2>&1 && return
  say "Installing $*, which brings $command"
  local as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@"
}

fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

# What a release is made of and called: $targets, $crate_version, $target, $commit_time and $source_flags.
release_variables() {
  set_up
  targets=${TARGETS:-amd64=x86_64-unknown-linux-musl}
  target=${CARGO_TARGET_DIR:-target}
  crate_version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
  LLSD_COMMIT=$(git rev-parse HEAD)
  export LLSD_COMMIT
  # The commit's own time: a later build gets the same. Not SOURCE_DATE_EPOCH, for which cargo builds C libraries again.
  commit_time=$(git log -1 --format=%ct)
  source_flags=(--release "$crate_version" --revision "$LLSD_COMMIT" --date "$commit_time")
}

# A program written in Go, built once and cached outside the tree: prints its path.
#   go_tool NAME PACKAGE VERSION PROGRAM
go_tool() {
  local folder=${LLSD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/llsd}/tools/$1/$3
  if [ ! -x "$folder/$4" ]; then
    command -v go >/dev/null 2>&1 || return 1
    say "Building $1 $3; takes minutes, and is kept in $folder"
    rm -rf "$folder.part"
    mkdir -p "$folder.part"
    # `go install` would also ask which versions there are, and not every mirror knows.
    (
      cd "$folder.part"
      export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS='-trimpath -buildvcs=false -mod=mod'
      go mod init tools && go mod edit -require="${2%%/cmd/*}@v$3" && go build -ldflags='-s -w' -o "$4" "$2"
    ) >&2 || return 1
    mv "$folder.part" "$folder"
  fi
  echo "$folder/$4"
}

# A program written in Python, in a folder of its own outside the tree: prints its path.
#   python_tool PACKAGE VERSION
python_tool() {
  local folder=${LLSD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/llsd}/tools/$1/$2
  if [ ! -x "$folder/bin/$1" ]; then
    need_command python3 python3 python3-venv
    say "Installing $1 $2, kept in $folder"
    python3 -m venv "$folder" >&2 && "$folder/bin/pip" install --quiet "$1==$2" >&2 || return 1
  fi
  echo "$folder/bin/$1"
}

# $helm3 and $helm4: those of HELM3 and HELM4, else built.
need_helm() {
  helm3=${HELM3:-$(go_tool helm3 helm.sh/helm/v3/cmd/helm 3.22.0 helm)} || fail "helm 3 cannot be built; HELM3 names one"
  helm4=${HELM4:-$(go_tool helm4 helm.sh/helm/v4/cmd/helm 4.3.1 helm)} || fail "helm 4 cannot be built; HELM4 names one"
}

need_rust() {
  [ -d "$HOME/.cargo/bin" ] && PATH="$HOME/.cargo/bin:$PATH"
  command -v cargo >/dev/null 2>&1 && return
  need_command curl curl
  say "Installing Rust with rustup"
  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --default-toolchain none
  PATH="$HOME/.cargo/bin:$PATH"
}

set_up() {
  need_command git git
  need_command cc build-essential
  need_command openssl openssl
  need_rust
  say "Rust: $(cargo --version)"
}

# From here on cargo compiles this repository's crates with the linter, and a warning is an error:
# one pass instead of two, and what is built is also what is run.
lint_while_building() {
  export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__
}

# Etcd, kube-apiserver, kube-controller-manager and kubectl of one minor, cached outside the tree.
fetch_control_plane() {
  cargo build --quiet --workspace --locked --bin control-plane
  fetch_with_built_control_plane "$1"
}

# The same where all tests are built, and with them the program that fetches.
fetch_with_built_control_plane() {
  say "Control plane: Kubernetes $1 (about ten minutes where it must be built)"
  "${CARGO_TARGET_DIR:-target}/debug/control-plane" fetch --kubernetes "$1"
}

# A control plane until the script ends, with its logs in $work; its processes are in $started. Sets KUBECONFIG,
# and kubectl is in PATH.
start_control_plane() {
  local minor=${LLSD_TEST_KUBERNETES:-1.36} program=${CARGO_TARGET_DIR:-target}/debug/control-plane
  fetch_with_built_control_plane "$minor" >"$work/programs"
  PATH=$(dirname "$(grep '/kubectl$' "$work/programs")"):$PATH
  "$program" run --kubernetes "$minor" >"$work/control-plane.log" 2>&1 &
  started+=($!)
  until grep -q '^export KUBECONFIG' "$work/control-plane.log"; do
    kill -0 "${started[-1]}" 2>/dev/null || { cat "$work/control-plane.log" >&2; fail "no control plane"; }
    sleep 0.5
  done
  KUBECONFIG=$(sed -n 's/^export KUBECONFIG=//p' "$work/control-plane.log")
  export KUBECONFIG
}

# Ends what is in $started.
end_started() {
  for process in "${started[@]}"; do kill "$process" 2>/dev/null || true; done
  wait 2>/dev/null || true
}

# Half of its time a test waits for an API server or a pod, so more run than there are cores, in each half.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) + 1))}

# Runs a test command and adds its counts to $passed, $failed and $skipped.
passed=0 failed=0 skipped=0
run_tests() {
  local log status=0
  log=$(mktemp)
  "$@" 2>&1 | tee "$log" || status=$?
  passed=$((passed + $(count 'passed' "$log")))
  failed=$((failed + $(count 'failed' "$log")))
  skipped=$((skipped + $(grep -c '^SKIPPED ' "$log" || true)))
  # A test program that did not build, or that died, has no line of its own.
  if [ "$status" != 0 ] && ! grep -q '^test result: FAILED' "$log"; then failed=$((failed + 1)); fi
  rm -f "$log"
}

# All tests. Two programs run beside each other, so that the last tests of one do not leave the machine idle;
# which half a program belongs to, its first letter says.
run_all_tests() {
  local log half cargo=(cargo test --workspace --locked --no-fail-fast)
  log=$(mktemp)
  "${cargo[@]}" --test '[fow]*' >"$log" 2>&1 &
  half=$!
  run_tests "${cargo[@]}" --lib --bins --test '[!fow]*'
  run_tests "${cargo[@]}" --doc
  run_tests tail --pid="$half" -n +1 -f "$log"
  # As above: a program that died.
  wait "$half" || grep -q '^test result: FAILED' "$log" || failed=$((failed + 1))
  rm -f "$log"
}

# The README's first command, as one more test.
run_demo() {
  if scripts/demo --check; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

count() { sed -n "s/^test result: .* \([0-9][0-9]*\) $1;.*/\1/p" "$2" | awk '{n += $1} END {print n + 0}'; }

finish() {
  printf '\n%s passed, %s failed' "$passed" "$failed"
  [ "$skipped" = 0 ] || printf ', %s skipped' "$skipped"
  printf '\n'
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
