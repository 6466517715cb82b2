//go:build !((amd64 || arm64) && !purego)

package aes

const stdHasAssembly = false
