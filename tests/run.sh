#!/bin/sh
# Runs the named tiers and says in its last lines what did not run. A tier is a folder.
# `fast ROOM...` is the unit tests of these rooms; without a room, of those in which git sees a change.
cd "$(dirname "$0")/.." || exit 1
python=.venv/bin/python
# Tests start hundreds of processes: what they import is compiled once, also where nothing is kept otherwise.
unset PYTHONDONTWRITEBYTECODE
missing=""
failed=""

tier() {
	name=$1
	shift
	echo "== $name =="
	# Each worker begins with half of the tests, in their order, so that most fixtures and caches are made by one of them.
	# A worker that has none left takes half of what the other one still has.
	"$python" -m pytest -q -n 2 --dist worksteal "$@" || failed="$failed $name"
}

has_browser() {
	command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 ||
		command -v google-chrome >/dev/null 2>&1 || [ -x "${CHROMIUM:-}" ]
}

has_upstream() {
	[ -e .upstream/.installed ]
}

# Rooms of what is not committed; where all is, of the last commit.
changed_rooms() {
	changed=$(git diff --name-only HEAD && git ls-files --others --exclude-standard)
	[ -n "$changed" ] || changed=$(git diff --name-only HEAD~1 HEAD)
	echo "$changed" | sed -nE \
		-e 's,^(probes|circuits)/.*,\1,p' -e 's,^app\.py$,dashboard,p' -e 's,^docs/.*\.py$,docs,p' \
		-e 's,^workbench/([^/]+)/.*,\1,p' -e 's,^tests/[^/]+/([^/]+)/.*,\1,p' | sort -u
}

fast() {
	[ $# -gt 0 ] || set -- $(changed_rooms)
	folders=""
	for room in "$@"; do
		if [ -d "tests/unit/$room" ]; then folders="$folders tests/unit/$room"; fi
	done
	if [ -z "$folders" ]; then
		echo "No room to test${1:+ is called $*}; name one: ROOM=$(ls -d tests/unit/*/ | xargs -n 1 basename | grep -v __ | paste -sd '|')"
		exit 1
	fi
	tier "unit:$(echo "$folders" | sed 's,tests/unit/,,g')" $folders
}

# Files of tests are written through to the disk thousands of times: in memory, where there is room, nobody waits for it.
shared=""
room=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 {print $4}')
if [ -z "${TMPDIR:-}" ] && [ "${room:-0}" -gt 4000000 ] && [ -w /dev/shm ]; then shared=/dev/shm; fi
temporary=$(mktemp -d "${shared:-${TMPDIR:-/tmp}}/lengthlens-tests.XXXXXX") || exit 1
export TMPDIR="$temporary"
trap 'rm -rf "$temporary"' EXIT
trap 'exit 130' INT TERM

if [ "$1" = fast ]; then
	shift
	fast "$@"
	set --
fi

for name in "$@"; do
	case $name in
	browser)
		if ! has_browser && [ -n "${CI:-}" ]; then make -s browser; fi
		if has_browser; then tier browser --dist loadscope tests/browser; else missing="$missing browser"; fi
		;;
	# Against another version of TransformerLens, which is fetched where it is missing.
	conformance)
		has_upstream || make -s upstream || true
		if has_upstream; then tier conformance tests/conformance; else missing="$missing conformance"; fi
		;;
	# Two workers of one file would train its runs twice: files stay together, in the order of conftest.py. These tests
	# wait for the processes that they start: with a third worker there is always one that does not.
	e2e) tier e2e -n 3 --dist loadscope --no-loadscope-reorder tests/e2e ;;
	# Whole, it takes an hour and prints how far it is, which worker processes cannot.
	hostile) if [ -n "${HOSTILE_SHARE:-}" ]; then tier hostile tests/hostile; else tier hostile -n 0 -s tests/hostile; fi ;;
	*) tier "$name" "tests/$name" ;;
	esac
done

for name in $missing; do
	case $name in
	browser) echo "NOT RUN: browser (no Chromium found; \`make browser\` installs one)" ;;
	conformance) echo "NOT RUN: conformance (TransformerLens 3.9.0 could not be fetched; \`make upstream\` says why)" ;;
	esac
done
if [ -n "$failed" ]; then
	echo "FAILED:$failed"
	exit 1
fi
