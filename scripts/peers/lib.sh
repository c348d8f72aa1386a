# Sourced by icestorm and icegridregistry: children, ports and ends.

children=()
temp=

fail() {
    echo "${0##*/}: $*" >&2
    exit 1
}

need() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || fail "$tool is missing: run scripts/install-deps"
    done
}

# Prints N ports of HOST that are free now, for tcp and udp.
free_ports() {
    python3 - "$1" "$2" <<'PY'
import socket, sys
host, count = sys.argv[1], int(sys.argv[2])
held, ports = [], []
while len(ports) < count:
    tcp, udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
    held += [tcp, udp]
    tcp.bind((host, 0))
    try:
        udp.bind(tcp.getsockname())
    except OSError:
        continue
    ports.append(tcp.getsockname()[1])
print(*ports)
PY
}

# Starts a command that dies with this script, whatever happens to the script; sets pid.
start() {
    setpriv --pdeathsig KILL "$@" </dev/null >&2 9>&- &
    pid=$!
    children+=("$pid")
}

alive() {
    local p
    for p in "${children[@]}"; do
        kill -0 "$p" 2>/dev/null || return 1
    done
}

# Ends every child: SIGTERM, after 5 s SIGKILL.
end_children() {
    local p
    for p in "${children[@]}"; do
        kill -CONT "$p" 2>/dev/null || true
        kill -TERM "$p" 2>/dev/null || true
    done
    for p in "${children[@]}"; do
        for _ in {1..100}; do
            kill -0 "$p" 2>/dev/null || break
            sleep 0.05
        done
        kill -KILL "$p" 2>/dev/null || true
        wait "$p" 2>/dev/null || true
    done
    children=()
}

finish() {
    trap '' TERM INT HUP
    end_children
    [[ -z $watcher ]] || kill "$watcher" 2>/dev/null || true
    [[ -z $temp ]] || rm -rf "$temp"
}

# Ends on SIGTERM, SIGINT, SIGHUP; with until_eof also where stdin ends. Either way with status 0.
watcher=
arm() {
    trap finish EXIT
    trap 'exit 0' TERM INT HUP
    if [[ -n ${until_eof:-} ]]; then
        # A background job's stdin is /dev/null, so hand it over as another descriptor.
        exec 8<&0
        { cat <&8 >/dev/null 2>&1; kill -TERM $$; } 2>/dev/null &
        watcher=$!
    fi
}

# until_ready SECONDS COMMAND...: repeats the command until it succeeds; 1 where a child ended, 2 where time is over.
until_ready() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        alive || return 1
        [[ $SECONDS -lt $end ]] || return 2
        sleep 0.05
    done
}

# Waits for as long as a child lives; a replica may go alone.
attend() {
    wait "${children[@]}" || true
    [[ ! -s $temp/err ]] || cat "$temp/err" >&2
    fail "the server ended by itself"
}
