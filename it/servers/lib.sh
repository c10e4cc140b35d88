# What the scripts of this folder share: a directory and processes that end with the script, free ports, and what is told at the end.
# Read by them with 'source'; each has read NAME (of the server) before.
set -euo pipefail

scripts=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
directory=
processes=()
command=()
running=

die() { printf 'granary: %s\n' "$@" >&2; exit 1; }

# Reads [DIR] [-- COMMAND...], and makes the directory: DIR, which must be new or empty, or a temporary one.
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

# Says which of the commands $2... is missing, and the packages $1 that bring them; ends with 3 then.
need() {
  local packages=$1 each
  shift
  for each in "$@"; do
    [ -x "$(PATH=$PATH:/usr/sbin command -v "$each")" ] ||
      { printf 'granary: %s needs %s, which is not installed. On Debian: apt-get install %s\n' "$NAME" "$each" "$packages" >&2; exit 3; }
  done
}

# Starts a process that ends with this script, however that ends; $1 is the name of its log.
spawn() {
  local log=$1
  shift
  setpriv --pdeathsig KILL "$@" >"$directory/$log.out" 2>&1 </dev/null &
  processes+=($!)
}

# Waits up to $1 seconds until the command $2... succeeds; tells of a server that died meanwhile.
await() {
  local seconds=$1 deadline each
  shift
  deadline=$((SECONDS + seconds))
  until "$@" >/dev/null 2>&1; do
    for each in "${processes[@]}"; do kill -0 "$each" 2>/dev/null || failed "a process of $NAME ended while it started"; done
    [ "$SECONDS" -lt "$deadline" ] || failed "$NAME does not answer after $seconds s"
    sleep 0.1
  done
}

# Ends with what the logs say last.
failed() {
  tail -n 3 "$directory"/*.out "$directory"/*.log >&2 2>/dev/null || true
  die "$1; the ends of its logs are above"
}

# True where something listens on port $1 of the loopback interface.
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Prints a port that nobody uses, below those that outgoing connections get.
free_port() {
  local port
  while :; do
    port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
    listens "$port" || { echo "$port"; return; }
  done
}

random_hex() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

now() { date +%s%N; }

# The memory that belongs to the processes alone or in part, in MiB.
memory() {
  local each sum=0 part
  for each in "${processes[@]}"; do
    part=$(awk '/^Pss:/ {print $2}' "/proc/$each/smaps_rollup" 2>/dev/null || true)
    sum=$((sum + ${part:-0}))
  done
  echo $((sum / 1024))
}

# Makes the bucket of the environment by a signed request.
create_bucket() { /usr/bin/python3 "$scripts/create-bucket.py" >"$directory/bucket.out" 2>&1; }

# Sets what programs and tests of Granary read: the server at $1, with access key $2 and secret $3.
use() {
  export GRANARY_TEST_S3_SERVER=$NAME GRANARY_TEST_S3_ENDPOINT=$1 AWS_ACCESS_KEY_ID=$2 AWS_SECRET_ACCESS_KEY=$3
  unset AWS_SESSION_TOKEN AWS_PROFILE # of another account
  export AWS_REGION=us-east-1 GRANARY_TEST_S3_BUCKET=granary-test GRANARY_S3_ENDPOINT=$1 GRANARY_BUCKET=s3://granary-test
}

# Runs COMMAND in the environment that use has set and ends with its code; without one, tells the environment and waits to be ended.
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
  printf 'granary: Ctrl-C ends it and removes what it holds\n' >&2
  wait -n "${processes[@]}" || true
  failed "a process of $NAME ended by itself"
}

# Ends the command, which may take five seconds for it, and the processes, which hold nothing that must be saved; removes the directory.
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
