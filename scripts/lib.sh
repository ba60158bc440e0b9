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
  say "Control plane: Kubernetes $1 (about ten minutes where it must be built)"
  # Of the whole workspace, because dependencies then have the same features as in the tests.
  cargo build --quiet --workspace --locked --bin control-plane
  "${CARGO_TARGET_DIR:-target}/debug/control-plane" fetch --kubernetes "$1"
}

# Runs a test command and adds its counts to $passed, $failed and $skipped.
passed=0 failed=0 skipped=0
run_tests() {
  local log status=0
  log=$(mktemp)
  "$@" 2>&1 | tee "$log" || status=$?
  add_counts "$log" "$status"
  rm -f "$log"
}

add_counts() {
  passed=$((passed + $(count 'passed' "$1")))
  failed=$((failed + $(count 'failed' "$1")))
  skipped=$((skipped + $(grep -c '^SKIPPED ' "$1" || true)))
  # A test program that did not build, or that died, has no line of its own.
  if [ "$2" != 0 ] && ! grep -q '^test result: FAILED' "$1"; then failed=$((failed + 1)); fi
}

# All tests that are built, and the demo. Most of them wait for a control plane most of the time, so
# several programs run at once, the longest first; each one's output comes when it ends. How many:
# LLSD_TEST_PROGRAMS, else twice as many as there are cores. Those that measure time go before.
run_side_by_side() {
  local at_once=${LLSD_TEST_PROGRAMS:-$((2 * $(nproc)))} folder job
  folder=$(mktemp -d)
  while read -r job; do
    while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n || true; done
    run_job "$folder" "$job" &
  done < <(test_jobs)
  wait
  for job in "$folder"/*.log; do add_counts "$job" "$(cat "${job%.log}.status" || echo 1)"; done
  say "Seconds of each"
  cat "$folder"/*.seconds | sort -rn >&2
  rm -rf "$folder"
}

run_job() {
  local log="$1/${2// /}.log" started=$SECONDS status=0
  case $2 in
    demo) run_demo >"$log" 2>&1 || status=$? ;;
    *resilience | *registry) test_built 0 "$2" >"$log" 2>&1 || status=$? ;;
    *) test_built 10 "$2" >"$log" 2>&1 || status=$? ;;
  esac
  echo "$status" >"${log%.log}.status"
  echo "$((SECONDS - started)) $2" >"${log%.log}.seconds"
  flock "$1" cat "$log"
}

test_built() {
  # shellcheck disable=SC2086
  nice -n "$1" cargo test --workspace --locked --no-fail-fast $2
}

# What `cargo test` is asked for, a line each: the longest programs, then whatever else there is.
test_jobs() {
  local longest="operator resilience servers webhooks api_server running" name
  for name in $longest; do echo "--test $name"; done
  echo demo
  for name in crates/*/tests/*.rs crates/*/tests/*/main.rs; do
    name=${name%/main.rs} name=${name##*/} name=${name%.rs}
    [[ " $longest " == *" $name "* ]] || echo "--test $name"
  done | sort -u
  printf '%s\n' "--lib --bins" "--doc"
}

# The README's first command, as one more test.
run_demo() {
  if scripts/demo --check; then
    echo 'test result: ok. 1 passed; 0 failed;'
  else
    echo 'test result: FAILED. 0 passed; 1 failed;'
    return 1
  fi
}

count() { sed -n "s/^test result: .* \([0-9][0-9]*\) $1;.*/\1/p" "$2" | awk '{n += $1} END {print n + 0}'; }

finish() {
  printf '\n%s passed, %s failed' "$passed" "$failed"
  [ "$skipped" = 0 ] || printf ', %s skipped' "$skipped"
  printf '\n'
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
