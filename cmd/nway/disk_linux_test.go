package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// allocated returns how many bytes of a file are no holes.
func allocated(t *testing.T, name string) int64 {
	t.Helper()
	st, err := os.Stat(name)
	require.NoError(t, err)
	return st.Sys().(*syscall.Stat_t).Blocks * 512
}
