# SPDX-License-Identifier: Apache-2.0
# Four hosts: network namespaces with addresses of their own, whose links have a rate and where the kernel can a delay.
# mpirun starts ranks on them as on machines, by a program in the place of ssh. A run has the bits of one process, and a
# link that goes down ends it within a minute, with a line that says so and a folder that goes on.
tests=$(realpath "$(dirname "$0")")
. "$tests/support.sh"
. "$tests/ranks_support.sh"
command -v ip >/dev/null && command -v tc >/dev/null || { echo "skipped: there is no ip or no tc"; exit 77; }
network=rotary$$
hosts="1 2 3 4"

remove_network() {
    for name in $hosts hub; do
        ip netns del $network-$name 2>/dev/null
    done
}

add_host() {
    ip netns add $network-"$1" &&
        ip -n $network-hub link add to"$1" type veth peer name eth0 netns $network-"$1" &&
        ip -n $network-hub link set to"$1" master bridge up &&
        ip -n $network-"$1" addr add 10.77.0."$1"/24 dev eth0 &&
        ip -n $network-"$1" link set eth0 up &&
        ip -n $network-"$1" link set lo up &&
        tc -n $network-"$1" qdisc add dev eth0 root handle 1: tbf rate 200mbit burst 128kb latency 50ms || return 1
    tc -n $network-"$1" qdisc add dev eth0 parent 1: netem delay 1ms 2>/dev/null || no_delay=1
}

make_network() {
    ip netns add $network-hub && ip -n $network-hub link add bridge type bridge &&
        ip -n $network-hub link set bridge up || return 1
    for host in $hosts; do
        add_host $host || return 1
    done
}

trap 'remove_network; rm -rf "$scratch"' EXIT
no_delay=
make_network 2>"$scratch/err" || { echo "skipped: no network of namespaces can be made: $(head -n 1 "$scratch/err")"; exit 77; }
[ -z "$no_delay" ] || echo "this kernel has no netem: links have a rate and no delay"

# As ssh: HOST COMMAND...
cat >agent <<END
#!/bin/sh
host=\${1##*.}
shift
exec ip netns exec $network-\$host unshare --uts sh -c "hostname host\$host; \$*"
END
chmod +x agent
# mpirun itself notices a host that is gone within ten seconds, and not after hours.
export OMPI_MCA_oob_tcp_keepalive_time=3 OMPI_MCA_oob_tcp_keepalive_intvl=2 OMPI_MCA_oob_tcp_keepalive_probes=3

# on_hosts ARGUMENTS...: rotary on all hosts.
on_hosts() {
    exec ip netns exec $network-1 unshare --uts sh -c 'hostname host1; exec "$@"' sh mpirun \
        --mca plm_rsh_agent "$scratch/agent" --mca btl tcp,self --host 10.77.0.1,10.77.0.2,10.77.0.3,10.77.0.4 -n 4 \
        "$rotary" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
}

sharded="$tiny $wide --set shards=4 --set batch_size=4 --set dropout=0.1 --set evaluate_every=0"
# shellcheck disable=SC2086 # a list of words
(on_hosts train index $sharded --steps 6 --out hosts) || complain "a run on four hosts fails"
# shellcheck disable=SC2086
does 0 train index $sharded --steps 6 --out one
same_weights hosts one
# shellcheck disable=SC2086
(on_hosts compare index $tiny --steps 4 --runs 2 --out compared) || complain "a comparison on four hosts fails"
[ -s compared/roper-2/model.safetensors ] || complain "it lacks a run"

# shellcheck disable=SC2086
on_hosts train index $sharded --steps 1000000 --set checkpoint_every=2 --out cut &
mpirun=$!
tries=0
until grep -qs '"step":8,' cut/metrics.jsonl || [ $tries -ge 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
ip -n $network-3 link set eth0 down
down=$(date +%s)
while kill -0 $mpirun 2>/dev/null && [ $(($(date +%s) - down)) -lt 90 ]; do
    sleep 1
done
seconds=$(($(date +%s) - down))
[ $seconds -le 60 ] || complain "a link is down, and ranks go on for $seconds seconds"
kill -KILL $mpirun 2>/dev/null
wait $mpirun && complain "a run of which a host is gone ends well"
grep -q "has heard nothing from rank\|lost communication with a remote daemon" "$scratch/err" ||
    complain "a link is down, and nothing says so"
saved=$(grep -c . cut/metrics.jsonl)
does 0 train index --resume --steps $((saved + 2)) --out cut
finish
