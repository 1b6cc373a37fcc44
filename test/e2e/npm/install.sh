#!/usr/bin/env bash
# Puts what end-to-end tests take from npm into a folder: test/e2e/npm/install.sh OUT installs the packages of package-lock.json into
# OUT/node_modules and does nothing when they are there already. No package's own scripts are run.
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"

stamp=$(cat package.json package-lock.json install.sh | sha256sum)
if [ "$(cat "$out/stamp" 2>/dev/null)" = "$stamp" ]; then
  exit 0
fi
rm -f "$out/stamp"
cp package.json package-lock.json "$out"
# Fetching depends on the network, so it is tried again.
for try in 1 2 3; do
  if npm ci --prefix "$out" --ignore-scripts --no-audit --no-fund --loglevel=error; then
    echo "$stamp" >"$out/stamp"
    exit 0
  fi
  sleep $((try * 5))
done
echo "the npm packages of the end-to-end tests could not be installed" >&2
exit 1
