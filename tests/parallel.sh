#!/usr/bin/env bash
# The recipes of docs/python.md for many machines, as they stand there: what Slurm's line wraps, Ray, GNU parallel on one machine and over ssh.
#
#     tests/parallel.sh                                         # host1 and host2 are directories of this machine, behind a stand-in for ssh
#     TMPDIR=/shared HOSTS=4/alpha,4/beta tests/parallel.sh     # machines that have `ulp`, and see this directory
#
# PYTHON is an interpreter that has ray. What is not at hand (ray, GNU parallel, rsync) is left out, with a note.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
cargo build --locked --release --quiet --bin ulp --example synthetic
bin=$(cd "${CARGO_TARGET_DIR:-target}/release" && pwd)
PATH=$bin:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Lines of code of the section, those that belong together as one, with the hosts that there are.
recipe() {
    sed -n '/^## Many machines/,$s/^      //p' "$root/docs/python.md" | sed -z 's/\\\n *//g' | sed "s#4/host1,4/host2#${HOSTS:-4/host1,4/host2}#" | grep -e "$1"
}
# All streams are there, and are made of the shards.
check() {
    for shard in next/*; do
        ulp -d --ref "prev/${shard#next/}" "out/${shard#next/}.ulp" -c | cmp - "$shard"
    done
    rm -r out
    echo "well: $1"
}

mkdir prev next
for i in 0 1 2 3 4; do
    shard=$(printf 'model-%05d.safetensors' "$i")
    "$bin/examples/synthetic" --size $((i + 1))MiB --which prev >"prev/$shard"
    "$bin/examples/synthetic" --size $((i + 1))MiB --which next >"next/$shard"
done

mkdir out
body=$(recipe '^sbatch' | sed "s/.*--wrap '\(.*\)'\$/\1/")
for SLURM_ARRAY_TASK_ID in 0 1 2 3 4; do
    SLURM_ARRAY_TASK_ID=$SLURM_ARRAY_TASK_ID bash -c "$body"
done
check "Slurm's array"

if "${PYTHON:-python3}" -c 'import ray' 2>/dev/null; then
    mkdir out
    {
        echo 'import ray; ray.init(num_cpus=8, include_dashboard=False, logging_level="error")'
        sed -n '/^import os, ray/,/^```/p' "$root/docs/python.md" | grep -v '^```'
    } | "${PYTHON:-python3}" -
    check "Ray"
else
    echo "note: ray is not at hand, its recipe is not tried"
fi

if ! parallel --version 2>/dev/null | grep -q '^GNU parallel'; then
    echo "note: GNU parallel is not at hand, its recipes are not tried"
    exit 0
fi
mkdir out
bash -euo pipefail -c "$(recipe 'parallel -j 4 .ulp -T')"
mkdir back
bash -euo pipefail -c "$(recipe 'parallel -j 4 .ulp -d')"
diff -r back next
check "GNU parallel on one machine"

# One shard cannot be coded at first.
mkdir out
mv prev/model-00003.safetensors away
line=$(recipe '--joblog')
if bash -euo pipefail -c "$line" 2>/dev/null || [ -e out/model-00003.safetensors.ulp ]; then
    echo "a task that fails has not been told"
    exit 1
fi
mv away prev/model-00003.safetensors
touch -d '1 hour ago' out/*
bash -euo pipefail -c "$line"
[ "$(find out -mmin -30 | wc -l)" = 2 ] # the directory and the shard
check "GNU parallel, what has failed again"

if [ -z "${HOSTS:-}" ]; then
    mkdir -p hosts/host1 hosts/host2
    cat >ssh <<SSH
#!/usr/bin/env bash
# ssh [-l USER] HOST [--] COMMAND…
while [[ \${1:-} = -* ]]; do if [ "\$1" = -l ]; then shift 2; else shift; fi; done
cd "$work/hosts/\$1" && shift
if [ "\$1" = -- ]; then shift; fi
HOME=\$PWD exec bash -c "\$*"
SSH
    chmod +x ssh
    export PARALLEL_SSH=$work/ssh
fi
mkdir out
bash -euo pipefail -c "$(recipe '--workdir "$PWD"')"
check "GNU parallel over ssh, shared file system"

if ! command -v rsync >/dev/null; then
    echo "note: rsync is not at hand, the recipe that copies is not tried"
    exit 0
fi
mkdir out
bash -euo pipefail -c "$(recipe '--transferfile')"
check "GNU parallel over ssh, shards copied"
[ -z "$(find hosts -name '*.safetensors*' 2>/dev/null)" ]
