# SPDX-License-Identifier: BSD-3-Clause
# slurm.sh - a real Slurm on a virtual cluster, for a shell test: source it after cluster.sh. One
# slurmctld and one munged on head, a slurmd on each node; they go with the cluster.
#
#   slurm_up N        start N nodes with Slurm, or skip the whole test and say why
#   slurm CMD...      run a command of a user of Slurm (srun, sbatch, squeue ...) on head
#   slurm_wait STATE N   wait until N nodes are in that state (idle, down ...)
# shellcheck shell=bash

# where nodes see their files: not below /tmp, which is their own
slurm_dir=$VC_STATE/slurm

slurm_conf() {
    mkdir -p "$slurm_dir/ctld" "$slurm_dir/munge"
    chmod 755 "$slurm_dir" "$slurm_dir/munge"
    dd if=/dev/urandom of="$slurm_dir/munge/key" bs=1024 count=1 2>/dev/null
    chmod 400 "$slurm_dir/munge/key"
    cat >"$slurm_dir/slurm.conf" <<END
ClusterName=h5veloc
SlurmctldHost=head
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm_dir/munge/socket
CredType=cred/munge
StateSaveLocation=$slurm_dir/ctld
SlurmdSpoolDir=$slurm_dir/spool.%n
SlurmctldPidFile=$slurm_dir/ctld.pid
SlurmdPidFile=$slurm_dir/slurmd.%n.pid
SlurmctldLogFile=$slurm_dir/slurmctld.log
SlurmdLogFile=$slurm_dir/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdTimeout=10
InactiveLimit=0
KillWait=2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2
SlurmdParameters=config_overrides
NodeName=node[1-$1] CPUs=8 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
END
}

slurm() { cluster_sh head env SLURM_CONF="$slurm_dir/slurm.conf" "$@"; }

slurm_wait() {
    local end=$((SECONDS + ${TEST_TIMEOUT:-60})) got
    while got=$(slurm sinfo -h -t "$1" -o %D 2>/dev/null | paste -sd+ | bc) && [ "${got:-0}" != "$2" ]; do
        [ "$SECONDS" -lt "$end" ] || return 1
        read -r -t 0.1 <> <(:) || :
    done
}

slurm_up() {
    local tool i
    PATH=$PATH:/usr/sbin
    for tool in slurmctld slurmd munged srun; do
        command -v "$tool" >/dev/null || skip_all "$tool is missing: slurmctld slurmd slurm-client munge"
    done
    cluster_up "$1"
    slurm_conf "$1"
    cluster_sh head munged --force --key-file="$slurm_dir/munge/key" --socket="$slurm_dir/munge/socket" \
        --pid-file="$slurm_dir/munge/pid" --log-file="$slurm_dir/munge/log" \
        --seed-file="$slurm_dir/munge/seed" --num-threads=2 || bail_out "munged does not start"
    slurm slurmctld -c || bail_out "slurmctld does not start"
    for ((i = 1; i <= $1; i++)); do
        mkdir -p "$slurm_dir/spool.node$i"
        cluster_sh "node$i" env SLURM_CONF="$slurm_dir/slurm.conf" slurmd || bail_out "slurmd does not start on node$i"
    done
    slurm_wait idle "$1" || bail_out "Slurm does not come up: $(slurm sinfo 2>&1)"
}
