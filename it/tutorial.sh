#!/usr/bin/env bash
# Runs sections 3 and 4 of docs/tutorial.md in a new directory with an empty home: installs Granary,
# builds the program of the page, records its manifest, populates a bucket as CI does, and runs the
# program as a node with an empty directory. Prints each step. Exit code 0: the node compiled nothing.
#
#   it/tutorial.sh [DIRECTORY]   the directory must not exist; default: a temporary one, which is
#                                removed at the end
#
# From Maven 3.9 on, MAVEN_ARGS has more arguments for it, such as
# -Dmaven.repo.local.tail=DIRECTORY, which spares downloads.
set -euo pipefail

tree=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
page=$tree/docs/tutorial.md

step() { printf '\n== %s\n' "$*"; }
die() { printf 'tutorial: %s\n' "$*" >&2; exit 1; }

# Prints code block number $2 of language $1 of the page.
block() { awk -v open="\`\`\`$1" -v want="$2" '
  $0 == "```" && inside { inside = 0 }
  inside && found == want
  $0 == open && !inside { inside = 1; found++ }' "$page"; }

# Runs the program with the local directory $1.
first() {
  GRANARY_DIR=$HOME/first/$1 "$java" --enable-native-access=ALL-UNNAMED \
    --sun-misc-unsafe-memory-access=deny -cp 'target/classes:target/dependency/*' First
}

# Fails unless text $2 begins with word $1.
expect() { printf '%s\n' "$2"; [[ $2 == "$1 in "* ]] || die "expected '$1 in ... ms'"; }

for jdk in "${JAVA_HOME:-}" /usr/lib/jvm/* /opt/java/* /opt/jdk*; do
  if [ -x "$jdk/bin/javac" ] && "$jdk/bin/javac" --release 25 --version >/dev/null 2>&1; then
    java=$jdk/bin/java
    break
  fi
done
[ -n "${java:-}" ] || die 'no JDK 25 was found: set JAVA_HOME'

if [ $# -gt 0 ]; then
  mkdir "$1"
  work=$(cd "$1" && pwd)
else
  work=$(mktemp -d)
fi
server=
end() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
  if [ $# -eq 0 ]; then rm -rf "$work"; fi
}
trap 'end "$@"' EXIT

# Settings of the caller would hide a mistake of the page.
for name in $(compgen -e | grep -E '^(GRANARY|AWS|XDG)_' || true); do unset "$name"; done
export HOME=$work/home POCL_KERNEL_CACHE=0
mkdir -p "$HOME/first/src/main/java" "$HOME/first/kernels"

step "install into $HOME/.m2"
(cd "$tree" && ./granary mvn -q -B -ntp -DskipTests -Dspotless.check.skip -Dcheckstyle.skip install)

step 'the project of the page'
cd "$HOME/first"
block xml 1 > pom.xml
block java 1 > src/main/java/First.java
sed -n "/^cat > kernels\/saxpy.cl/,/^END/p" "$page" | sed '1d;$d' > kernels/saxpy.cl
"$tree/granary" mvn -q -B -ntp compile dependency:copy-dependencies
wc -l pom.xml src/main/java/First.java kernels/saxpy.cl

step 'a developer runs the program, and records its manifest'
expect COMPILED "$(GRANARY_RECORD=$HOME/first/recorded.toml first developer)"
"$tree/granary" manifest recorded.toml

step 'a bucket'
"$tree/granary" server embedded > server.txt 2> server.log &
server=$!
until grep -q '^export GRANARY_BUCKET=' server.txt; do
  kill -0 "$server" 2>/dev/null || die "the server ended: $(cat server.log)"
  sleep 0.2
done
set -a
# shellcheck disable=SC1091
. ./server.txt
set +a
grep -E '^export GRANARY_(S3_ENDPOINT|BUCKET)=' server.txt

step 'CI populates the bucket from the recording, moved to another place'
mkdir "$work/ci"
mv recorded.toml recorded.toml.d "$work/ci"
"$tree/granary" populate "$work/ci/recorded.toml" --dir "$work/ci/cache"

step 'a node with an empty directory'
# A program compiles rather than waits for a slow bucket, and a busy machine makes any bucket slow.
export GRANARY_BUCKET_WAIT=1m
expect BUCKET "$(first node)"
compiled=$("$tree/granary" stats --dir "$HOME/first/node" --json \
  | grep -o '"compiled": *[0-9]*' | head -1 | grep -o '[0-9]*$' || true)
echo "kernels compiled on the node: ${compiled:-unknown}"
[ "$compiled" = 0 ] || die 'the node compiled a kernel'
