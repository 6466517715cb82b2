#!/bin/sh
# Runs every fuzz target of the module for a number of inputs, after those that are
# stored beside it, of which each has some.
# Usage: fuzz.sh COUNT, such as 10000x
set -eu
count=${1:-10000x}
go list -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r pkg dir; do
	targets=$(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true)
	for t in $targets; do
		echo "fuzz $pkg $t"
		if [ -z "$(ls "$dir/testdata/fuzz/$t" 2>/dev/null)" ]; then
			echo "there are no inputs in $dir/testdata/fuzz/$t"
			exit 1
		fi
		go test -run '^$' -fuzz "^$t\$" -fuzztime "$count" -fuzzminimizetime 100x "$pkg" </dev/null
	done
done
