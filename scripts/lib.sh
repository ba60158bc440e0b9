# What the scripts share: saying what is going on, and setting up what a fresh machine lacks.

say() { printf '\n==> %s\n' "$*" >&2; }

# Debian packages, installed only where the command is missing.
need_command() {
  local command=$1 package=$2
  command -v "$command" >/dev/null 2>&1 && return
  say "Installing $package, which brings $command"
  local as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$package"
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

# Half of its time a test waits for an API server or a pod, so twice as many run as there are cores.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}

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
