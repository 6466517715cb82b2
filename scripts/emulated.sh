#!/bin/sh
# Runs the test suite under qemu-user for each GOARCH given, with -short unless
# NWAY_SHORT is set to nothing. Installs qemu-user by apt where it is missing and
# that is permitted. What cannot be run is reported as not run; with CI=true that
# is a failure.
set -eu
short=${NWAY_SHORT--short}

qemu() {
	case $1 in
	arm64) echo qemu-aarch64 ;;
	*) echo "qemu-$1" ;;
	esac
}

missing() {
	for a in "$@"; do command -v "$(qemu "$a")" >/dev/null || command -v "$(qemu "$a")-static" >/dev/null || return 0; done
	return 1
}

if missing "$@" && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
	echo "installing qemu-user"
	{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends qemu-user; } >/dev/null 2>&1 || echo "apt-get could not install qemu-user"
fi

failed=
not_run=
for a in "$@"; do
	q=$(qemu "$a")
	command -v "$q" >/dev/null || q=$q-static
	if ! command -v "$q" >/dev/null; then
		echo "NOT RUN: $a: no qemu-user emulator ($(qemu "$a"))"
		not_run="$not_run $a"
		continue
	fi
	echo "suite for $a under $q $short"
	CGO_ENABLED=0 GOARCH=$a go test $short -exec "$q" ./... || failed="$failed $a"
done
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
if [ -n "$not_run" ] && [ "${CI:-}" = true ]; then
	echo "not run, which CI does not accept:$not_run" >&2
	exit 1
fi
