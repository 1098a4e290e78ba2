//go:build tools

// Package tools names the program that tests/install builds, so that go.mod pins it.
package tools

import _ "github.com/prometheus/memcached_exporter/cmd/memcached_exporter"
