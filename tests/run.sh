#!/bin/sh
# Runs the named tiers and says in its last lines what did not run.
# A tier is a pytest marker; unit is whatever has none, shapes is part of it under a type checker.
cd "$(dirname "$0")/.." || exit 1
python=.venv/bin/python
missing=""
failed=""

tier() {
	name=$1
	shift
	echo "== $name =="
	"$python" -m pytest -q "$@" || failed="$failed $name"
}

has_browser() {
	command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 ||
		command -v google-chrome >/dev/null 2>&1 || [ -x "${CHROMIUM:-}" ]
}

has_upstream() {
	[ -e .upstream/.installed ]
}

for name in "$@"; do
	case $name in
	# The same functions once more, with every annotated shape and type checked at run time.
	shapes)
		tier shapes -n 2 -m "not science and not e2e and not browser and not product and not conformance and not hostile" \
			--jaxtyping-packages=workbench.tasks,workbench.models,probes,circuits,typecheck.checked \
			tests/models tests/tasks tests/probes tests/circuits
		;;
	unit) tier unit -n 2 -m "not science and not e2e and not browser and not product and not conformance and not hostile" ;;
	browser)
		if ! has_browser && [ -n "${CI:-}" ]; then make -s browser; fi
		if has_browser; then tier browser -n 2 --dist loadscope -m browser; else missing="$missing browser"; fi
		;;
	# Against another version of TransformerLens, which is fetched where it is missing.
	conformance)
		has_upstream || make -s upstream || true
		if has_upstream; then tier conformance -n 2 --dist loadscope -m conformance; else missing="$missing conformance"; fi
		;;
	# Both workers of one file would train its runs twice: files stay together.
	e2e) tier e2e -n 2 --dist loadscope -m e2e ;;
	*) tier "$name" -n 2 -m "$name" ;;
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
