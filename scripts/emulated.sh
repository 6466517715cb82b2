#!/bin/sh
# Runs the test suite under qemu-user for each target given, a GOARCH or
# GOARCH:MODEL for a model of CPU, with -short unless NWAY_SHORT is set to
# nothing. Installs qemu-user by apt where it is missing and that is permitted.
# What cannot be run is reported as not run; with CI=true that is a failure.
set -eu
short=${NWAY_SHORT--short}

qemu() {
	case $1 in
	arm64*) echo qemu-aarch64 ;;
	amd64*) echo qemu-x86_64 ;;
	*) echo "qemu-${1%:*}" ;;
	esac
}

# What a model of CPU must be able to run, so that nothing is skipped in silence.
required() {
	case $1 in
	amd64:Nehalem) echo serpent-sse2,twofish-3way ;;
	amd64:SandyBridge) echo serpent-sse2,twofish-3way,serpent-avx,aes-aesni ;;
	amd64:Haswell) echo serpent-sse2,twofish-3way,serpent-avx,aes-aesni,serpent-avx2,twofish-avx2,camellia-aesni-avx2 ;;
	arm64:max) echo serpent-neon,serpent-neon-sha3,ghash-pmull,polyval-pmull ;;
	arm64*) echo serpent-neon,ghash-pmull,polyval-pmull ;;
	arm|arm:*) echo serpent-neon ;;
	esac
}

# Runs the tests of a target by an emulator with arguments. In short runs the second
# model of an architecture gets those that depend on the model, and whether the
# harness finds faults that are put into portable code is left to native runs.
suite() {
	case $short$1 in
	-shortarm64:cortex-a72|-shortarm:cortex-a15)
		go test -timeout 30m $short -exec "$2" -run '^Test(Required|Names|Gate|SetKey)$' . &&
			go test -timeout 30m $short -exec "$2" ./arch/... ./crypto/... ./internal/... ;;
	-shortamd64:Nehalem|-shortamd64:SandyBridge) # the program and disk run under Haswell
		go test -timeout 30m $short -skip '^TestHarnessFindsFaults' -exec "$2" . ./algapi/... ./arch/... ./crypto/... ./internal/... ./templates/... ./testmgr/... ;;
	*) go test -timeout 30m $short ${short:+-skip '^TestHarnessFindsFaults'} -exec "$2" ./... ;;
	esac
}

. "$(dirname "$0")/ensure.sh"

failed=
absent=
for t in "$@"; do
	q=$(qemu "$t")
	if command -v "$q-static" >/dev/null; then
		q=$q-static
	elif ! ensure "$q" qemu-user; then
		not_run "$t: no qemu-user emulator ($q)" || absent="$absent $t"
		continue
	fi
	case $t in
	*:*) q="$q -cpu ${t#*:}" ;;
	esac
	echo "suite for ${t%:*} under $q $short"
	(
		export NWAY_EMULATED=1 NWAY_REQUIRE="$(required "$t")" CGO_ENABLED=0 GOARCH="${t%:*}"
		suite "$t" "$q"
	) || failed="$failed $t"
done
[ -z "$failed$absent" ] || { echo "failed:$failed$absent" >&2; exit 1; }
