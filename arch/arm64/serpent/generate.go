package serpent

//go:generate go -C ../_asm run ./serpent -arch arm64 -out ../serpent
