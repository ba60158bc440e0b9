#!/bin/sh
# Writes the Go module that pins one Kubernetes version, or etcd's, next to this script.
#   ./pin.sh kubernetes 1.36.3      ./pin.sh etcd 3.6.16
# Run it when a patch release is taken up, and commit the go.mod and go.sum that it leaves.
set -eu
cd "$(dirname "$0")"
what=$1 version=$2
export GOFLAGS=-mod=mod GOWORK=off

module_field() { go mod download -json "$1" | sed -n "s/^\t\"$2\": \"\(.*\)\",*$/\1/p"; }

case $what in
kubernetes)
	minor=${version%.*}
	folder=$minor
	upstream=$(module_field "k8s.io/kubernetes@v$version" GoMod)
	mkdir -p "$folder"
	{
		echo "module control-plane"
		echo
		grep -E '^go ' "$upstream"
		echo
		# Kubernetes' own defaults for net/http, TLS and the like: a main module sets them, a
		# dependency does not, so they are repeated here.
		grep -E '^godebug ' "$upstream" || true
		echo
		echo "require k8s.io/kubernetes v$version"
		echo
		# Kubernetes replaces its staging modules by folders of its own tree. From outside they
		# are the published modules of the same release.
		echo "replace ("
		sed -n 's|^\t*\(k8s.io/[a-z0-9-]*\) => ./staging/.*|\1|p' "$upstream" |
			while read -r module; do echo "	$module => $module v0.${version#1.}"; done
		echo ")"
	} >"$folder/go.mod"
	imports="$(for program in kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubectl kubelet; do echo "k8s.io/kubernetes/cmd/$program"; done)"
	;;
etcd)
	folder=etcd
	mkdir -p "$folder"
	{
		echo "module etcd"
		echo
		grep -E '^go ' "$(module_field "go.etcd.io/etcd/server/v3@v$version" GoMod)"
		echo
		echo "require go.etcd.io/etcd/server/v3 v$version"
	} >"$folder/go.mod"
	imports='go.etcd.io/etcd/server/v3'
	;;
*)
	echo "usage: $0 kubernetes|etcd VERSION" >&2
	exit 2
	;;
esac

{
	echo "//go:build tools"
	echo
	echo "// Package tools names the commands that are built, so that go mod tidy keeps them."
	echo "package tools"
	echo
	echo "import ("
	for import in $imports; do echo "	_ \"$import\""; done
	echo ")"
} >"$folder/tools.go"

rm -f "$folder/go.sum"
cd "$folder"
go mod tidy
