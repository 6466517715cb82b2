# Sourced by the other scripts. ensure COMMAND PACKAGE... makes sure that there
# is a command, installing packages by apt where it is missing and that is
# permitted. It fails if there still is none.
ensure() {
	command -v "$1" >/dev/null && return
	if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
		wanted=$1
		shift
		echo "installing $*"
		{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } >/dev/null 2>&1 || echo "apt-get could not install $*"
		command -v "$wanted" >/dev/null && return
	fi
	return 1
}

# not_run WHAT reports what could not be run. With CI=true that is a failure.
not_run() {
	echo "NOT RUN: $1"
	if [ "${CI:-}" = true ]; then
		echo "CI does not accept that" >&2
		return 1
	fi
}
