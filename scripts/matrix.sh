#!/bin/sh
# Runs the suite down every rung that this machine can play, and prints a table of
# results and times. A row that fails, or that cannot be run, makes the whole fail.
# Arguments name rows, of which only those are run: matrix.sh purego arm64:max
set -u
cd "$(dirname "$0")/.."
. scripts/ensure.sh
log=$(mktemp -d)
table=$log/table
bad=0
wanted=" $* "

row() {
	name=$1
	shift
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
		grep -E '^(--- FAIL|FAIL|panic|failed:|not run)' "$log/$name" | head -n 5 | sed 's/^/    /'
	fi
	printf '%-28s %-7s %5d s\n' "$name" "$result" $(($(date +%s) - begin)) | tee -a "$table"
}

# The suite with CPU features taken away.
masked() { NWAY_CPU=$1 go test -short ./arch/... ./crypto/... ./internal/... ./templates/... ./testmgr/... .; }

# The oldest Go that go.mod allows.
oldest() { GOTOOLCHAIN=go$(sed -n 's/^go //p' go.mod) go test -short ./...; }

row native go test ./...
for mask in -avx512vbmi -gfni -vaes -avx512 -avx512,-vaes,-gfni -avx2 -avx -aes -ssse3; do
	row "NWAY_CPU=$mask" masked "$mask"
done
row purego go test -tags purego -short ./...
row race sh scripts/race.sh
row oldest-Go oldest
for target in ${EMULATED:-arm64:max arm64:cortex-a72 arm:cortex-a8 arm:cortex-a15 s390x amd64:Nehalem amd64:SandyBridge amd64:Haswell}; do
	row "$target" env CI=true NWAY_SHORT="${NWAY_SHORT--short}" sh scripts/emulated.sh "$target"
done

echo
cat "$table"
[ $bad = 0 ] || echo "logs are in $log" >&2
exit $bad
