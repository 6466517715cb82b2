//go:build amd64 && !purego

package aes

//go:generate go -C ../_asm run ./aes -out ../aes
