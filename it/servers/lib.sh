# Functions of the scripts in this directory: a directory and processes that end with the script,
# free ports, and the final output. The scripts read it with 'source', after they have set NAME to
# the name of the server.
set -euo pipefail

scripts=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
directory=
processes=()
command=()
running=

die() { printf 'granary: %s\n' "$@" >&2; exit 1; }

# Parses [DIR] [-- COMMAND...], and creates the directory: DIR, which must be new or empty, or a
# temporary one.
begin() {
  local wanted=
  while [ $# -gt 0 ]; do
    case "$1" in
      --) shift; command=("$@"); break ;;
      -*) die "unknown option $1: usage: ./granary server $NAME [DIR] [-- COMMAND...]" ;;
      *) [ -z "$wanted" ] || die "one directory only: usage: ./granary server $NAME [DIR] [-- COMMAND...]"; wanted=$1; shift ;;
    esac
  done
  began=$(now)
  if [ -n "$wanted" ]; then
    [ -z "$(ls -A "$wanted" 2>/dev/null)" ] || die "$wanted is not empty; the server removes its directory when it ends, so give it a new one"
    mkdir -p "$wanted"
    directory=$(cd "$wanted" && pwd)
  else
    directory=$(mktemp -d "${TMPDIR:-/tmp}/granary-$NAME.XXXXXX")
  fi
  trap end EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# If one of the commands $2... is missing, prints it with the packages $1 that provide it, and exits
# with 3.
need() {
  local packages=$1 each
  shift
  for each in "$@"; do
    [ -x "$(PATH=$PATH:/usr/sbin command -v "$each")" ] ||
      { printf 'granary: %s needs %s, which is not installed. On Debian: apt-get install %s\n' "$NAME" "$each" "$packages" >&2; exit 3; }
  done
}

# Starts a process that ends with this script, even if that is killed; $1 is the name of its log.
spawn() {
  local log=$1
  shift
  setpriv --pdeathsig KILL "$@" >"$directory/$log.out" 2>&1 </dev/null &
  processes+=($!)
}

# Waits up to $1 s until the command $2... succeeds; fails if a server process ends meanwhile.
await() {
  local seconds=$1 deadline each
  shift
  deadline=$((SECONDS + seconds))
  until "$@" >/dev/null 2>&1; do
    for each in "${processes[@]}"; do kill -0 "$each" 2>/dev/null || failed "a process of $NAME ended during start"; done
    [ "$SECONDS" -lt "$deadline" ] || failed "$NAME does not respond after $seconds s"
    sleep 0.1
  done
}

# Fails with the last lines of the logs.
failed() {
  tail -n 3 "$directory"/*.out "$directory"/*.log >&2 2>/dev/null || true
  die "$1; the last lines of its logs are above"
}

# True if a process listens on port $1 of the loopback interface.
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Prints an unused port below the range of outgoing connections.
free_port() {
  local port
  while :; do
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    listens "$port" || { echo "$port"; return; }
  done
}

random_hex() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

now() { date +%s%N; }

# Prints the proportional set size of the processes, in MiB.
memory() {
  local each sum=0 part
  for each in "${processes[@]}"; do
    part=$(awk '/^Pss:/ {print $2}' "/proc/$each/smaps_rollup" 2>/dev/null || true)
    sum=$((sum + ${part:-0}))
  done
  echo $((sum / 1024))
}

# Creates the bucket of the environment with a signed request.
create_bucket() { /usr/bin/python3 "$scripts/create-bucket.py" >"$directory/bucket.out" 2>&1; }

# Exports the environment for programs and tests of Granary: the server at $1, with access key $2
# and secret $3.
use() {
  export GRANARY_TEST_S3_SERVER=$NAME GRANARY_TEST_S3_ENDPOINT=$1 AWS_ACCESS_KEY_ID=$2 AWS_SECRET_ACCESS_KEY=$3
  unset AWS_SESSION_TOKEN AWS_PROFILE # these belong to another account
  export AWS_REGION=us-east-1 GRANARY_TEST_S3_BUCKET=granary-test GRANARY_S3_ENDPOINT=$1 GRANARY_BUCKET=s3://granary-test
}

# Runs COMMAND in the environment of the server, and exits with its code. Without COMMAND, prints
# the environment and waits for a signal.
serve() {
  local variable code=0
  printf 'granary: %s is up after %s ms, %s MiB: %s\n' "$NAME" $((($(now) - began) / 1000000)) "$(memory)" "$GRANARY_TEST_S3_ENDPOINT" >&2
  if [ ${#command[@]} -gt 0 ]; then
    "${command[@]}" <&0 &
    running=$!
    wait "$running" || code=$?
    running=
    exit "$code"
  fi
  for variable in GRANARY_TEST_S3_{SERVER,ENDPOINT,BUCKET} AWS_{ACCESS_KEY_ID,SECRET_ACCESS_KEY,REGION} GRANARY_{S3_ENDPOINT,BUCKET}; do
    [ -z "${!variable:-}" ] || printf 'export %s=%s\n' "$variable" "${!variable}"
  done
  printf 'granary: Ctrl-C stops it and removes its data\n' >&2
  wait -n "${processes[@]}" || true
  failed "a process of $NAME ended unexpectedly"
}

# Ends the command within 5 s, kills the processes, which have nothing to save, and removes the
# directory.
end() {
  trap '' HUP INT TERM
  local tries
  if [ -n "$running" ] && kill "$running" 2>/dev/null; then
    for ((tries = 0; tries < 50; tries++)); do kill -0 "$running" 2>/dev/null || break; sleep 0.1; done
    kill -KILL "$running" 2>/dev/null || true
  fi
  [ ${#processes[@]} = 0 ] || kill -KILL "${processes[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$directory"
}
