//go:build amd64 && !purego

package camellia

//go:generate go -C ../_asm run ./camellia -out ../camellia
