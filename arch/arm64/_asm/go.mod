module github.com/seed-25a2b25a/nway/arch/arm64/_asm

go 1.26.0

replace github.com/seed-25a2b25a/nway => ../../..

require github.com/seed-25a2b25a/nway v0.0.0
