#!/bin/sh
# Writes the Go module that pins one program of the node, next to this script.
#   ./pin.sh containerd 2.4.2      ./pin.sh runc 1.5.2      ./pin.sh cni-plugins 1.9.1      ./pin.sh coredns 1.15.0
#   ./pin.sh metrics-server 0.9.0  ./pin.sh keda 2.17.0    ./pin.sh traefik 3.6.12     ./pin.sh azure-npm 1.5.0
# Run it when a release is taken up, and commit the go.mod and go.sum that it leaves. kubelet, kube-proxy and
# kube-scheduler are pinned with the control plane, in llsd-testkit/control-plane.
set -eu
cd "$(dirname "$0")"
folder=$1 version=$2
export GOFLAGS=-mod=mod GOWORK=off

case $folder in
containerd)
	module=github.com/containerd/containerd/v2
	packages='cmd/containerd cmd/containerd-shim-runc-v2 cmd/ctr'
	;;
runc)
	module=github.com/opencontainers/runc
	packages=.
	;;
cni-plugins)
	module=github.com/containernetworking/plugins
	packages='plugins/ipam/host-local plugins/main/bridge plugins/main/loopback plugins/meta/portmap'
	;;
coredns)
	module=github.com/coredns/coredns
	packages=
	;;
metrics-server)
	module=sigs.k8s.io/metrics-server
	packages='cmd/metrics-server'
	;;
keda)
	module=github.com/kedacore/keda/v2
	packages='cmd/adapter cmd/operator'
	;;
traefik)
	module=github.com/traefik/traefik/v3
	packages=cmd/traefik
	;;
azure-npm)
	module=github.com/Azure/azure-container-networking
	packages=
	;;
*)
	echo "usage: $0 containerd|runc|cni-plugins|coredns|metrics-server|keda|traefik|azure-npm VERSION" >&2
	exit 2
	;;
esac

upstream=$(go mod download -json "$module@v$version" | sed -n 's/^\t"GoMod": "\(.*\)",*$/\1/p')
{
	echo "module node-programs/$folder"
	echo
	grep -E '^go ' "$upstream"
	echo
	# With a comment it stays on a line of its own, where the release is read from.
	[ -n "$packages" ] || echo "// The release."
	echo "require $module v$version"
	# Those of a dependency count for nothing; these two are not built without their own.
	case $folder in keda | traefik) sed -n '/^replace/,/^)/p; /^exclude/p' "$upstream" ;; esac
} >"$folder/go.mod"
rm -f "$folder/go.sum"
# KEDA's own sums, which came with the module and so are as sure as it: the public checksum database lacks some.
[ "$folder" != keda ] || install -m 644 "$(go mod download -json "$module@v$version" |
	sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')/go.sum" "$folder/go.sum"
# CoreDNS and Azure's network policy manager are built from a main of our own.
if [ -n "$packages" ]; then
	{
		echo "//go:build tools"
		echo
		echo "// Package tools names the commands that are built, so that go mod tidy keeps them."
		echo "package tools"
		echo
		echo "import ("
		for package in $packages; do
			[ "$package" = . ] && echo "	_ \"$module\"" || echo "	_ \"$module/$package\""
		done
		echo ")"
	} >"$folder/tools.go"
fi
cd "$folder"
go mod tidy
