package serpent

//go:generate go -C ../../arm64/_asm run ./serpent -arch arm -out ../../arm/serpent
