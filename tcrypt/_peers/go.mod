module github.com/seed-25a2b25a/nway/tcrypt/_peers

go 1.26.0

require (
	github.com/aead/serpent v0.0.0-20160714141033-fba169763ea6
	github.com/seed-25a2b25a/nway v0.0.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/crypto v0.59.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/klauspost/cpuid/v2 v2.4.2 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/seed-25a2b25a/nway => ../..
