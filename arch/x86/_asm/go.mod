module github.com/seed-25a2b25a/nway/arch/x86/_asm

go 1.26.0

replace github.com/seed-25a2b25a/nway => ../../..

require (
	github.com/mmcloughlin/avo v0.6.0
	github.com/seed-25a2b25a/nway v0.0.0
)

require (
	golang.org/x/mod v0.29.0 // indirect
	golang.org/x/sync v0.17.0 // indirect
	golang.org/x/tools v0.38.0 // indirect
)
