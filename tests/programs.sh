#!/usr/bin/env bash
# ulp under real programs: torch.save into a pipe, GNU tar with -I, tar through pipes against a directory. Not run by CI, for torch is large:
#
#     tests/programs.sh                     # makes target/programs with torch, once (several GB)
#     PYTHON=python3 tests/programs.sh      # an interpreter that has torch already
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
cargo build --locked --release --quiet --bin ulp
PATH=$(cd "${CARGO_TARGET_DIR:-target}/release" && pwd):$PATH
if [ -z "${PYTHON:-}" ]; then
    venv=${CARGO_TARGET_DIR:-target}/programs
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check torch numpy
    PYTHON=$(cd "$venv/bin" && pwd)/python
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Two checkpoints of a training run of a minute's patience, bf16 weights and Adam's moments, and the second once more into a pipe.
"$PYTHON" - <<'PYTHON'
import copy, os, subprocess, torch
torch.manual_seed(1)
model = torch.nn.Sequential(*[torch.nn.Linear(384, 384) for _ in range(6)])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
target = torch.nn.Sequential(*[torch.nn.Linear(384, 384) for _ in range(6)])
def train(steps):
    for _ in range(steps):
        x = torch.randn(64, 384)
        loss = (model(x) - target(x).detach()).square().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
def checkpoint():
    weights = {k: v.to(torch.bfloat16) for k, v in model.state_dict().items()}
    return copy.deepcopy({"model": weights, "optimizer": optimizer.state_dict(), "step": 1})
train(30); prev = checkpoint()
train(2); state = checkpoint()
for name, object in (("prev", prev), ("next", state)):
    os.makedirs(name, exist_ok=True)
    torch.save(object, f"{name}/step.pt")
    torch.save(object["model"], f"{name}/model.bin", _use_new_zipfile_serialization=False)
    open(f"{name}/config.json", "w").write('{"layers": 6}')

# The issue's own words: torch.save(obj, pipe.stdin).
for arguments, coded in ((["--ref", "prev/step.pt"], "piped.ulp"), ([], "plain.ulp")):
    with open(coded, "wb") as out:
        pipe = subprocess.Popen(["ulp", "-c", *arguments], stdin=subprocess.PIPE, stdout=out)
        torch.save(state, pipe.stdin)
        pipe.stdin.close()
        assert pipe.wait() == 0
with open("piped.pt", "wb") as out:
    subprocess.run(["ulp", "-d", "--ref", "prev/step.pt", "piped.ulp"], stdout=out, check=True)

def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8)) if a.ndim else torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b
assert same(torch.load("piped.pt"), state), "what was piped comes back otherwise"
# Reading from a pipe: torch.load needs to seek, so through memory.
import io
pipe = subprocess.run(["ulp", "-d", "--ref", "prev/step.pt", "piped.ulp"], stdout=subprocess.PIPE, check=True)
assert same(torch.load(io.BytesIO(pipe.stdout)), state)
PYTHON

size() { stat -c %s "$1"; }
# The reference must have been used, not only survived: less than 0.8 of what the same takes alone.
smaller() {
    printf '%-44s %9d bytes, %9d without a reference\n' "$1" "$(size "$2")" "$(size "$3")"
    [ $((10 * $(size "$2"))) -lt $((8 * $(size "$3"))) ] || { echo "programs.sh: $1: the reference did not help" >&2; exit 1; }
}
smaller "torch.save into a pipe" piped.ulp plain.ulp

tar -cf prev.tar -C prev .
tar -I 'ulp --ref prev.tar' -cf next.tar.ulp -C next .
tar -I ulp -cf alone.tar.ulp -C next .
mkdir out && tar -I 'ulp --ref prev.tar' -xf next.tar.ulp -C out && diff -r next out
smaller "tar -I 'ulp --ref prev.tar'" next.tar.ulp alone.tar.ulp

mkdir there
tar -c -C next . | ulp --ref prev | tee piped.tar.ulp | bash -c 'ulp -d --ref prev | tar -x -C there'
diff -r next there
smaller "tar | ulp --ref DIRECTORY | ulp -d | tar" piped.tar.ulp alone.tar.ulp

# A consumer that closes early ends the pipeline quietly, as it ends gzip.
set +e +o pipefail
ulp -d --ref prev.tar next.tar.ulp 2>early.txt | head -c 10 >/dev/null
status=${PIPESTATUS[0]}
set -eo pipefail
[ "$status" = 141 ] && [ ! -s early.txt ] || { echo "programs.sh: a closed pipe gave $status: $(cat early.txt)" >&2; exit 1; }
cd "$root"
echo "programs.sh: all came back bit for bit"
