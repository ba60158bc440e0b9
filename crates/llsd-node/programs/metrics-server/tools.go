//go:build tools

// Package tools names the commands that are built, so that go mod tidy keeps them.
package tools

import (
	_ "sigs.k8s.io/metrics-server/cmd/metrics-server"
)
