"""An external program for `pagoda bench`: causal softmax attention in plain Python, f32 only, slow and short. Copy it, and
put something fast in the place of attend(). docs/external-variants.md says what every field means.

  pagoda gate smoke --program mine='python3 examples/external.py'
"""
import json
import math
import mmap
import operator
import sys
import time


def floats(path, *offsets):
    """The f32 elements of a file of shared memory from each of these bytes on."""
    with open(path, "r+b") as file:
        memory = memoryview(mmap.mmap(file.fileno(), 0))
    return [memory[offset:].cast("f") for offset in offsets]


def dot(a, b):
    return sum(map(operator.mul, a, b))


class Program:
    def hello(self, _):
        return {"hello": {"protocol": 1, "about": "plain Python", "promises": ["repeatable", "batch_invariant"]}}

    def prepare(self, case):
        if (case["dtype"] != "f32" or not case["causal"] or case["window_left"] >= 0 or case["softcap"] > 0
                or case["alibi_slopes"] or case["sinks"]):
            return {"unsupported": "only causal f32 without window, softcap, ALiBi and sinks"}
        self.open(case)
        return {"ready": True}

    def open(self, case):
        self.c = case
        (self.q,), (self.out,) = (floats(case[t]["path"], case[t]["offset"]) for t in ("q", "out"))
        self.k, self.v = (floats(case[t]["path"], *case[t]["offsets"]) for t in ("k", "v"))

    def run(self, request):
        start = time.perf_counter_ns()
        for call in range(request["calls"]):
            self.attend((request["first_pool"] + call) % len(self.k))
        return {"ns": time.perf_counter_ns() - start}

    def attend(self, pool):
        c = self.c
        for b, keys in enumerate(c["kv_len"]):
            for row in range(c["q_begin"][b], c["q_begin"][b + 1]):
                seen = range(keys - (c["q_begin"][b + 1] - row) + 1)
                for head in range(c["q_heads"]):
                    self.attend_row(pool, b, seen, row * c["q_heads"] + head)

    def attend_row(self, pool, b, seen, cell):
        c, dim, dim_v = self.c, self.c["head_dim"], self.c["head_dim_v"]
        kv_head = cell % c["q_heads"] // (c["q_heads"] // c["kv_heads"])
        q = self.q[cell * dim:cell * dim + dim]
        scores = [c["scale"] * dot(q, self.cached("k", pool, b, j, kv_head)) for j in seen]
        largest = max(scores, default=0)
        weights = [math.exp(score - largest) for score in scores]
        values = [self.cached("v", pool, b, j, kv_head) for j in seen]
        for d in range(dim_v):
            weighted = sum(w * value[d] for w, value in zip(weights, values))
            self.out[cell * dim_v + d] = weighted / sum(weights) if weights else 0

    def cached(self, tensor, pool, b, j, kv_head):
        """K or V ("k", "v") of key j of sequence b."""
        c, t = self.c, self.c[tensor]
        page, slot = c["page_ids"][c["page_begin"][b] + j // c["page_size"]], j % c["page_size"]
        at = page * t["page_stride"] + slot * t["slot_stride"] + kv_head * t["head_stride"]
        return getattr(self, tensor)[pool][at:at + c["head_dim" if tensor == "k" else "head_dim_v"]]


def serve(program):
    for line in sys.stdin:
        (kind, message), = json.loads(line).items()
        print(json.dumps(getattr(program, kind)(message)), flush=True)


if __name__ == "__main__":
    serve(Program())
