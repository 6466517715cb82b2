//go:build amd64 && !purego

package twofish

//go:generate go -C ../_asm run ./twofish -out ../twofish
