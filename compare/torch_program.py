"""What the PyTorch programs of this folder share: the tensors of a case and the conversation with `pagoda bench`, which
docs/external-variants.md describes."""
import json
import mmap
import sys
import time

import torch

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def elements(tensor, dtype):
    """All elements of the tensor's file of shared memory."""
    with open(tensor["path"], "r+b") as file:
        return torch.frombuffer(mmap.mmap(file.fileno(), 0), dtype=dtype)


def caches(tensor, case, dim):
    """K or V of each pool as [num_pages, page_size, kv_heads, dim]."""
    whole = elements(tensor, DTYPES[case["dtype"]])
    shape = (case["num_pages"], case["page_size"], case["kv_heads"], dim)
    strides = (tensor["page_stride"], tensor["slot_stride"], tensor["head_stride"], 1)
    return [whole.as_strided(shape, strides, offset // whole.itemsize) for offset in tensor["offsets"]]


def rows(tensor, case, heads, dim):
    """A dense tensor of rows as [total_q, heads, dim]."""
    whole = elements(tensor, DTYPES[case["dtype"]])
    start = tensor["offset"] // whole.itemsize
    return whole[start:start + case["total_q"] * heads * dim].view(case["total_q"], heads, dim)


class Program:
    """Its subclasses have OPS and parts(case), each of which can attend(q, k, v, out) with k and v of one pool."""

    def why_not(self, _):
        """Why it doesn't compute a case, or None."""
        return None

    def hello(self, _):
        return {"hello": {"protocol": 1, "about": f"PyTorch {torch.__version__}", "ops": self.OPS}}

    def prepare(self, case):
        if reason := self.why_not(case):
            return {"unsupported": reason}
        torch.set_num_threads(case["threads"])
        self.q = rows(case["q"], case, case["q_heads"], case["head_dim"])
        self.out = rows(case["out"], case, case["q_heads"], case["head_dim_v"])
        self.k, self.v = caches(case["k"], case, case["head_dim"]), caches(case["v"], case, case["head_dim_v"])
        self.prepared = self.parts(case)
        return {"ready": True}

    def run(self, request):
        start = time.perf_counter_ns()
        for call in range(request["calls"]):
            pool = (request["first_pool"] + call) % len(self.k)
            for part in self.prepared:
                part.attend(self.q, self.k[pool], self.v[pool], self.out)
        return {"ns": time.perf_counter_ns() - start}


def serve(programs):
    """As the program of these that the first argument names; the first of them where there is none."""
    mode = sys.argv[1] if len(sys.argv) > 1 else next(iter(programs))
    if mode not in programs:
        sys.exit(f"{mode} is none of {', '.join(programs)}")
    program = programs[mode]
    with torch.inference_mode():
        for line in sys.stdin:
            (kind, message), = json.loads(line).items()
            print(json.dumps(getattr(program, kind)(message)), flush=True)
