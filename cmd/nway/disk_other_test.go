//go:build !linux

package main

import "testing"

func allocated(*testing.T, string) int64 { return -1 }
