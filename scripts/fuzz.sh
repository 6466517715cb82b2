#!/bin/sh
# Runs every fuzz target of the module for a number of inputs.
# Usage: fuzz.sh COUNT, such as 20000x
set -eu
count=${1:-20000x}
go list ./... | while read -r pkg; do
	targets=$(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true)
	for t in $targets; do
		echo "fuzz $pkg $t"
		go test -run '^$' -fuzz "^$t\$" -fuzztime "$count" "$pkg" </dev/null
	done
done
