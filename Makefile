# nway: build, run and test. Every target works in a fresh clone with Go and make.

GO       ?= go
ARCHES   := amd64 arm64 arm 386 s390x
EMULATED := arm64:max arm64:cortex-a72 arm:cortex-a8 arm:cortex-a15 s390x amd64:Nehalem amd64:SandyBridge amd64:Haswell
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@latest
FUZZTIME ?= 10000x

.PHONY: all build run test matrix fmt vet check-constant-time staticcheck unit race fuzz emulated generate check-generate peers race-peers reproducible supply-chain clean

all: build

build:
	$(GO) build -trimpath -o bin/nway ./cmd/nway

# The main job: self-tests, a real file there and back, a short speed table.
run: build
	@sh scripts/demo.sh bin/nway

test: fmt vet check-generate check-constant-time staticcheck unit race fuzz emulated
	@echo "all tests passed"

fmt:
	@out=$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go')); \
	if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

vet:
	@for a in $(ARCHES); do for tags in "" purego; do \
		echo "vet GOARCH=$$a tags=$$tags"; \
		CGO_ENABLED=0 GOARCH=$$a $(GO) vet -tags "$$tags" ./... || exit 1; \
	done; done
	@for os in darwin windows; do echo "vet GOOS=$$os"; CGO_ENABLED=0 GOOS=$$os $(GO) vet ./... || exit 1; done

staticcheck:
	$(GO) run $(STATICCHECK) ./...

# Other programs read the disk images made and served here, where they can be had.
unit:
	@. scripts/ensure.sh; for p in cryptsetup:cryptsetup-bin qemu-img:qemu-utils nbdcopy:libnbd-bin; do \
		ensure $${p%:*} $${p#*:} || not_run "tests with $${p%:*}" || exit 1; \
	done
	$(GO) test -timeout 30m ./...

race:
	@sh scripts/race.sh

# Reads every assembly file of every architecture: nothing but lengths and counts may
# steer addresses and branches, except in the functions that it prints with the
# reason. They are for amd64, where no driver flagged as constant time has them.
check-constant-time:
	$(GO) test -count=1 -v -run 'TestAssembly|ConstantTime' ./internal/consttime ./arch/x86/...
	$(GO) test -count=1 ./internal/consttime

# Every fuzz target for a fixed number of inputs.
fuzz:
	@sh scripts/fuzz.sh $(FUZZTIME)

# The suite under qemu-user for other architectures, one of them big-endian, one
# of 32 bits, and for older x86 CPUs.
emulated:
	@sh scripts/emulated.sh $(EMULATED)

# The suite down every rung: CPU features taken away step by step, purego, the race
# detector, the oldest Go, every emulator. ROWS="purego arm64:max" picks some.
matrix:
	@EMULATED="$(EMULATED)" sh scripts/matrix.sh $(ROWS)

generate:
	$(GO) generate ./...

# Generated files are what their generators make of the sources.
check-generate:
	@sh scripts/check-generate.sh

# A helper through which nway speed --peers measures other libraries. It needs
# their C headers, see tcrypt/_peers/README.md.
peers:
	@sh tcrypt/_peers/build.sh bin/nway-peers

# Two builds of the program in different folders are the same bytes.
reproducible:
	@sh scripts/reproducible.sh

# Known vulnerabilities of dependencies, their checksums and licences.
supply-chain:
	$(GO) mod verify
	@sh scripts/licences.sh
	$(GO) run $(GOVULNCHECK) ./... # needs the vulnerability database of the Go project

# Races them: every contest, and the ratios that are promised.
race-peers:
	cd tcrypt/_peers && $(GO) run .

clean:
	rm -rf bin
