#!/bin/sh
# Runs the test suite under qemu-user for each target given, a GOARCH or
# amd64:MODEL for a model of x86 CPU, with -short unless NWAY_SHORT is set to
# nothing. Installs qemu-user by apt where it is missing and that is permitted.
# What cannot be run is reported as not run; with CI=true that is a failure.
set -eu
short=${NWAY_SHORT--short}

qemu() {
	case $1 in
	arm64) echo qemu-aarch64 ;;
	amd64:*) echo qemu-x86_64 ;;
	*) echo "qemu-$1" ;;
	esac
}

# What a model of CPU must be able to run, so that nothing is skipped in silence.
required() {
	case $1 in
	amd64:Nehalem) echo serpent-sse2 ;;
	amd64:SandyBridge) echo serpent-sse2,serpent-avx ;;
	amd64:Haswell) echo serpent-sse2,serpent-avx,serpent-avx2 ;;
	esac
}

missing() {
	for t in "$@"; do command -v "$(qemu "$t")" >/dev/null || command -v "$(qemu "$t")-static" >/dev/null || return 0; done
	return 1
}

if missing "$@" && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
	echo "installing qemu-user"
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends qemu-user; } >/dev/null 2>&1 || echo "apt-get could not install qemu-user"
fi

failed=
not_run=
for t in "$@"; do
	q=$(qemu "$t")
	command -v "$q" >/dev/null || q=$q-static
	if ! command -v "$q" >/dev/null; then
		echo "NOT RUN: $t: no qemu-user emulator ($(qemu "$t"))"
		not_run="$not_run $t"
		continue
	fi
	case $t in
	*:*) q="$q -cpu ${t#*:}" ;;
	esac
	echo "suite for ${t%:*} under $q $short"
	NWAY_EMULATED=1 NWAY_REQUIRE=$(required "$t") CGO_ENABLED=0 GOARCH=${t%:*} go test $short -exec "$q" ./... || failed="$failed $t"
done
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
if [ -n "$not_run" ] && [ "${CI:-}" = true ]; then
	echo "not run, which CI does not accept:$not_run" >&2
	exit 1
fi
