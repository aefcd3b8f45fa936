# have.sh - is a program of another package there? Sourced by tests in sh; they have a function fail.

# have PROGRAM PACKAGE: what it checks is left out without it; in CI (CI is set) nothing may be missing.
have() {
	command -v "$1" >/dev/null && return 0
	[ -z "${CI-}" ] || fail "$1 is missing (Debian: $2)"
	return 1
}
