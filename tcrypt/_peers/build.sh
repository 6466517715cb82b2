#!/bin/sh
# Builds the program that measures other libraries for "nway speed --peers", with
# those whose headers are there. Usage: build.sh OUTPUT
#
# On Debian and Ubuntu, as root, headers that are missing are installed first.
set -e
out=$1
test -n "$out" || { echo "usage: build.sh OUTPUT" >&2; exit 2; }
case $out in /*) ;; *) out=$PWD/$out ;; esac
cd "$(dirname "$0")"

libs="libgcrypt:nogcrypt:libgcrypt20-dev nettle:nonettle:nettle-dev libcrypto:noopenssl:libssl-dev botan-2:nobotan:libbotan-2-dev"
missing=
for l in $libs; do
	pkg-config --exists "${l%%:*}" 2>/dev/null || missing="$missing ${l##*:}"
done
if [ -n "$missing" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	for p in gcc pkg-config $missing; do
		apt-get install -y -qq "$p" >/dev/null || echo "cannot install $p"
	done
fi
tags=
for l in $libs; do
	tag=${l#*:}
	if ! pkg-config --exists "${l%%:*}"; then
		tags="$tags,${tag%%:*}"
		echo "left out: ${l%%:*}"
	fi
done
${GO:-go} build -tags "${tags#,}" -o "$out" .
