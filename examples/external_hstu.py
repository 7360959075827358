"""An external program for `pagoda bench` that computes two operators, HSTU and what external.py does, in plain Python,
f32 only: all masks of HSTU in a dozen lines. docs/external-variants.md says what every field means.

  pagoda gate SUITE.toml --program mine='python3 examples/external_hstu.py'
"""
import math

import external

HSTU = "hstu_paged_attention"


def place(c, b, j):
    """Where key j of sequence b stands for max_attn_len."""
    shift = max(c["contextual"][b] - 1, 0)
    return min(max(j - shift, 0), c["history"][b] - shift)


def sees(c, b, r, j):
    """Whether the row at position r of sequence b sees key j."""
    history = c["history"][b]
    if c["mask"] == "causal":
        if r < c["contextual"][b]:
            return j < history
        group = history + (r - history) // c["target_group"] * c["target_group"]
        if j > r or history <= j < group:
            return False
    if c["max_attn_len"] > 0:
        full = c["min_full_attn_seq_len"]
        sees_all = full > 0 and place(c, b, r) >= place(c, b, history) - full
        return sees_all or place(c, b, r) - place(c, b, j) <= c["max_attn_len"]
    left, right = c["window_left"], c["window_right"]
    return (left < 0 or r - j <= left) and (right < 0 or j - r <= right)


def silu(x):
    return x / (1 + math.exp(-x)) if x > -700 else 0.0


class Program(external.Program):
    def hello(self, _):
        return {"hello": {"protocol": 1, "about": "plain Python", "ops": ["softmax_paged_attention", HSTU],
                          "promises": ["repeatable", "batch_invariant"]}}

    def prepare(self, case):
        if case["op"] != HSTU:
            return super().prepare(case)
        if case["dtype"] != "f32":
            return {"unsupported": "only f32"}
        self.open(case)
        self.target_k, self.target_v, self.rab = (
            case[t] and external.floats(case[t]["path"], case[t]["offset"])[0] for t in ("target_k", "target_v", "rab"))
        return {"ready": True}

    def attend(self, pool):
        c = self.c
        if c["op"] != HSTU:
            return super().attend(pool)
        for b, keys in enumerate(c["kv_len"]):
            for row in range(c["q_begin"][b], c["q_begin"][b + 1]):
                seen = [j for j in range(keys) if sees(c, b, keys - (c["q_begin"][b + 1] - row), j)]
                for head in range(c["q_heads"]):
                    self.attend_hstu_row(pool, b, seen, row, head)

    def attend_hstu_row(self, pool, b, seen, row, head):
        c, cell = self.c, row * self.c["q_heads"] + head
        dim, dim_v, kv_head = c["head_dim"], c["head_dim_v"], head // (c["q_heads"] // c["kv_heads"])
        q, out = self.q[cell * dim:(cell + 1) * dim], [0.0] * dim_v
        for j in seen:
            score = external.dot(q, self.row_of("k", pool, b, j, kv_head)) + self.bias(b, head, row, j)
            weight = c["silu_scale"] * silu(c["alpha"] * score)
            out = [o + weight * v for o, v in zip(out, self.row_of("v", pool, b, j, kv_head))]
        for d, value in enumerate(out):
            self.out[cell * dim_v + d] = value

    def row_of(self, tensor, pool, b, j, kv_head):
        c = self.c
        if j < c["history"][b]:
            return self.cached(tensor, pool, b, j, kv_head)
        rows, dim = (self.target_k, c["head_dim"]) if tensor == "k" else (self.target_v, c["head_dim_v"])
        at = (c["q_begin"][b + 1] - (c["kv_len"][b] - j)) * c["kv_heads"] + kv_head
        return rows[at * dim:(at + 1) * dim]

    def bias(self, b, head, row, j):
        if self.rab is None:
            return 0
        t, a = self.c["rab"], row - self.c["q_begin"][b]
        return self.rab[b * t["batch_stride"] + head * t["head_stride"] + a * t["row_stride"] + j * t["key_stride"]]


if __name__ == "__main__":
    external.serve(Program())
