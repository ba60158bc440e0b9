//go:build tools

// Package tools names the commands that are built, so that go mod tidy keeps them.
package tools

import (
	_ "github.com/traefik/traefik/v3/cmd/traefik"
)
