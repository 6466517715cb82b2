#!/bin/sh
# Lists the modules that the program is built from and the kind of their licences.
set -eu
go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./... | sort -u |
while read -r path version dir; do
	[ -n "$path" ] || continue
	file=$(ls "$dir" | grep -iE '^(licen[cs]e|copying)' | head -n 1)
	[ -n "$file" ] || { echo "$path $version: no licence found" >&2; exit 1; }
	text=$(tr -s '[:space:]' ' ' <"$dir/$file")
	case $text in
	*"Apache License"*) kind=Apache-2.0 ;;
	*"Permission is hereby granted, free of charge"*) kind=MIT ;;
	*"Redistributions in binary form"*"Neither the name"*) kind=BSD-3-Clause ;;
	*"Redistributions in binary form"*) kind=BSD-2-Clause ;;
	*"Permission to use, copy, modify, and"*) kind=ISC ;;
	*) echo "$path $version: $file is of no known kind" >&2; exit 1 ;;
	esac
	printf '%-45s %-40s %s\n' "$path" "$version" "$kind"
done
