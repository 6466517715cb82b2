//go:build amd64 && !purego

package serpent

//go:generate go -C ../_asm run ./serpent -out ../serpent
