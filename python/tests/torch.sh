#!/usr/bin/env bash
# What needs torch: tensors, torch.distributed.checkpoint with 2 processes over gloo and other numbers of ranks, the two-process example.
#
#   python/tests/torch.sh            makes target/torch-venv, with torch for the CPU, once
#   PYTHON=… python/tests/torch.sh   uses an interpreter that has torch and ulpack
set -euo pipefail
cd "$(dirname "$0")/../.."
if [ -z "${PYTHON:-}" ]; then
    venv="${CARGO_TARGET_DIR:-$PWD/target}/torch-venv"
    PYTHON="$venv/bin/python"
    [ -x "$PYTHON" ] || python3 -m venv "$venv"
    # PyTorch's own index has builds without CUDA; those of PyPI bring some gigabytes of it.
    "$PYTHON" -c 'import torch' 2>/dev/null ||
        "$PYTHON" -m pip install --quiet torch --index-url https://download.pytorch.org/whl/cpu ||
        "$PYTHON" -m pip install --quiet torch
    "$PYTHON" -m pip install --quiet numpy pytest safetensors fsspec zstandard ./python
fi
export OMP_NUM_THREADS=1
"$PYTHON" -m pytest -q -p no:cacheprovider python/tests
directory="$(mktemp -d)"
trap 'rm -rf "$directory"' EXIT
torchrun() {
    "$PYTHON" -m torch.distributed.run --standalone "$@"
}
torchrun --nproc-per-node 2 python/tests/dcp_ranks.py save "$directory"
for ranks in 1 2 3; do
    torchrun --nproc-per-node $ranks python/tests/dcp_ranks.py load "$directory"
done
"$PYTHON" python/examples/rl_two_processes.py
echo "all well"
