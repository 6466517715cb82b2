#!/bin/sh
# Runs every generator and fails if a generated file comes out different.
set -eu
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
files=$(grep -rl --include='*.go' --include='*.s' '^// Code generated .* DO NOT EDIT\.$' . | grep -v '/_' | sort)
[ -n "$files" ] || { echo "no generated files found" >&2; exit 1; }
for f in $files; do
	mkdir -p "$tmp/$(dirname "$f")"
	cp "$f" "$tmp/$f"
done
go generate ./...
bad=0
for f in $files; do
	if ! cmp -s "$f" "$tmp/$f"; then
		echo "$f is not what its generator makes; run make generate and commit" >&2
		cp "$tmp/$f" "$f"
		bad=1
	fi
done
[ $bad = 0 ] && echo "$(echo "$files" | wc -l) generated files are fresh"
exit $bad
