# SPDX-License-Identifier: BSD-3-Clause
# cluster.sh - a virtual cluster for a shell test: source it after tap.sh. The cluster is of
# this test alone and goes with it, however it ends. See vcluster for what a node is.
#
#   cluster_up N             start N nodes, or skip the whole test and say why
#   cluster_run ARGS...      vcluster run ARGS, ended with status 124 after TEST_TIMEOUT s
#   cluster_sh HOST CMD...   run a command on a host
#   cluster_each CMD...      run a command on all living nodes
#   cluster_kill [--silent] I, cluster_start I, cluster_cut I, cluster_heal I
#   cluster_nodes            print the names of the living nodes
#   cluster_pfs              print where the host sees /node/pfs
# shellcheck shell=bash

cluster_command=${top_srcdir:?run it by make check}/test/cluster/vcluster
export VC_STATE=${VC_STATE:-/run/h5veloc-vcluster/test.$$} VC_OWNER=$$

cluster() { "$cluster_command" "$@"; }

cluster_up() {
    local said
    if ! said=$(cluster check 2>&1); then
        skip_all "${said#vcluster: }"
    fi
    tap_at_exit "cluster down"
    cluster up "$1" || bail_out "the virtual cluster does not come up"
}

cluster_run() { timeout -k 5 "${TEST_TIMEOUT:-120}" "$cluster_command" run "$@"; }
cluster_sh() { cluster sh "$@"; }
cluster_each() { cluster each "$@"; }
cluster_kill() { cluster kill-node "$@"; }
cluster_start() { cluster up-node "$1"; }
cluster_cut() { cluster cut "$1"; }
cluster_heal() { cluster heal "$1"; }
cluster_nodes() { cluster nodes; }
cluster_pfs() { cat "$VC_STATE/pfs.path"; }
