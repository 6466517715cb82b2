#!/bin/sh
# Runs the short tests under the race detector, which needs a C compiler.
set -eu
. "$(dirname "$0")/ensure.sh"
if ! ensure "$(go env CC)" gcc libc6-dev; then
	not_run "race detector: no C compiler ($(go env CC))"
	exit
fi
CGO_ENABLED=1 go test -timeout 30m -race -short ./...
