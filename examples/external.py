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


def floats(path, offset):
    """The f32 elements of a file of shared memory from a byte on."""
    with open(path, "r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0))[offset:].cast("f")


class Program:
    def hello(self, _):
        return {"hello": {"protocol": 1, "about": "plain Python", "promises": ["repeatable", "batch_invariant"]}}

    def prepare(self, case):
        if (case["dtype"] != "f32" or not case["causal"] or case["window_left"] >= 0 or case["softcap"] > 0
                or case["alibi_slopes"] or case["sinks"]):
            return {"unsupported": "only causal f32 without window, softcap, ALiBi and sinks"}
        self.c = case
        self.q, self.out = (floats(case[t]["path"], case[t]["offset"]) for t in ("q", "out"))
        self.k, self.v = ([floats(case[t]["path"], offset) for offset in case[t]["offsets"]] for t in ("k", "v"))
        return {"ready": True}

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
                    self.attend_row(pool, c["page_begin"][b], seen, row * c["q_heads"] + head)

    def attend_row(self, pool, first_page, seen, cell):
        c, dim, dim_v = self.c, self.c["head_dim"], self.c["head_dim_v"]
        kv_head = cell % c["q_heads"] // (c["q_heads"] // c["kv_heads"])

        def place(tensor, j):
            page, slot = c["page_ids"][first_page + j // c["page_size"]], j % c["page_size"]
            t = c[tensor]
            return page * t["page_stride"] + slot * t["slot_stride"] + kv_head * t["head_stride"]

        q = self.q[cell * dim:cell * dim + dim]
        keys = (self.k[pool][at:at + dim] for at in (place("k", j) for j in seen))
        scores = [c["scale"] * sum(map(operator.mul, q, key)) for key in keys]
        largest = max(scores, default=0)
        weights = [math.exp(score - largest) for score in scores]
        values = [self.v[pool][at:at + dim_v] for at in (place("v", j) for j in seen)]
        for d in range(dim_v):
            weighted = sum(w * value[d] for w, value in zip(weights, values))
            self.out[cell * dim_v + d] = weighted / sum(weights) if weights else 0


def serve(program):
    for line in sys.stdin:
        (kind, message), = json.loads(line).items()
        print(json.dumps(getattr(program, kind)(message)), flush=True)


if __name__ == "__main__":
    serve(Program())
