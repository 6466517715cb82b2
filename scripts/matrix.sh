#!/bin/sh
# Runs the suite down every rung that this machine can play, and prints a table of
# results and times. A row that fails, that cannot be run, or whose rung does not
# serve, makes the whole fail, and so does a row that nobody knows.
# Arguments name rows, of which only those are run: matrix.sh purego arm64:max
set -u
cd "$(dirname "$0")/.."
export CI=true # nothing may be left out
log=$(mktemp -d)
table=$log/table
bad=0
known=
wanted=" $* "

row() {
	name=$1
	shift
	known="$known $name"
	case $wanted in
	"  " | *" $name "*) ;;
	*) return ;;
	esac
	begin=$(date +%s)
	if "$@" >"$log/$name" 2>&1; then
		result=passed
	else
		result=FAILED
		bad=1
		grep -E '^(--- FAIL|FAIL|panic|failed:|NOT RUN)' "$log/$name" | head -n 5 | sed 's/^/    /'
	fi
	printf '%-28s %-7s %5d s\n' "$name" "$result" $(($(date +%s) - begin)) | tee -a "$table"
}

# mask FEATURES DRIVERS: the suite with CPU features taken away, after which those
# drivers have to serve.
mask() {
	row "NWAY_CPU=$1" env NWAY_CPU="$1" NWAY_REQUIRE="$2" go test -short ./arch/... ./crypto/... ./internal/... ./templates/... ./testmgr/... .
}

row native make unit
mask -avx512vbmi serpent-avx512,twofish-avx2
mask -gfni serpent-avx512,aes-vaes,camellia-aesni-avx2
mask -vaes serpent-avx512,aes-aesni
mask -avx512 serpent-avx2,twofish-avx2,aes-vaes-avx2
mask -avx512,-vaes,-gfni serpent-avx2,aes-aesni,camellia-aesni-avx2
mask -avx2 serpent-avx,twofish-3way,aes-aesni
mask -avx serpent-sse2,twofish-3way
mask -aes serpent-avx512
mask -ssse3 serpent-sse2,twofish-asm
mask -all serpent-generic
row purego go test -tags purego -short ./...
row race sh scripts/race.sh
# The oldest Go that go.mod allows.
row oldest-Go env GOTOOLCHAIN="go$(sed -n 's/^go //p' go.mod)" go test -short ./...
for target in ${EMULATED:-arm64:max arm64:cortex-a72 arm:cortex-a8 arm:cortex-a15 s390x amd64:Nehalem amd64:SandyBridge amd64:Haswell}; do
	row "$target" env NWAY_SHORT="${NWAY_SHORT--short}" sh scripts/emulated.sh "$target"
done

for name in $wanted; do
	case "$known " in
	*" $name "*) ;;
	*)
		printf '%-28s UNKNOWN; there are:%s\n' "$name" "$known"
		bad=1
		;;
	esac
done
echo
[ ! -s "$table" ] || cat "$table"
[ $bad = 0 ] || echo "logs are in $log" >&2
exit $bad
