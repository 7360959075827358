#!/usr/bin/env python3
"""PyTorch's scaled_dot_product_attention as an external program for `pagoda bench`.

  torch_attention.py gather    copies the pages of each sequence to one place, then calls it with enable_gqa
  torch_attention.py packed    the same, with the query heads that share a kv head packed as rows of one head

Sequences of equal lengths are computed together. docs/external-variants.md says what the messages mean.
"""
import collections
import json
import mmap
import sys
import time

import torch
from torch.nn.functional import scaled_dot_product_attention

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def open_file(tensor, dtype):
    """All elements of the tensor's file of shared memory."""
    with open(tensor["path"], "r+b") as file:
        return torch.frombuffer(mmap.mmap(file.fileno(), 0), dtype=dtype)


def caches(tensor, case, dim):
    """K or V of each pool as [num_pages, page_size, kv_heads, dim]."""
    elements = open_file(tensor, DTYPES[case["dtype"]])
    shape = (case["num_pages"], case["page_size"], case["kv_heads"], dim)
    strides = (tensor["page_stride"], tensor["slot_stride"], tensor["head_stride"], 1)
    return [elements.as_strided(shape, strides, offset // elements.itemsize) for offset in tensor["offsets"]]


def dense(tensor, case, dim):
    """q or the output as [total_q, q_heads, dim]."""
    elements = open_file(tensor, DTYPES[case["dtype"]])
    start, shape = tensor["offset"] // elements.itemsize, (case["total_q"], case["q_heads"], dim)
    return elements[start:start + case["total_q"] * case["q_heads"] * dim].view(shape)


def sees(queries, keys):
    """Which keys the rows of a causal chunk see, [queries, keys]: the last row sees all of them."""
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)


class Group:
    """Sequences with as many queries and keys each: their rows of q, their pages, and the mask."""

    def __init__(self, case, members, queries, keys, packed):
        self.sequences, self.queries, self.keys, self.packed = len(members), queries, keys, packed
        self.kv_heads = case["kv_heads"]
        pages = -(-keys // case["page_size"])
        first = [case["page_begin"][b] for b in members]
        self.pages = torch.tensor([case["page_ids"][at:at + pages] for at in first]).flatten()
        self.rows = torch.tensor([case["q_begin"][b] for b in members])[:, None] + torch.arange(queries)
        self.scale, self.square, self.mask = case["scale"], False, None
        if case["causal"] and queries > 1:
            self.square = queries == keys and not packed
            if not self.square:
                self.mask = sees(queries, keys).repeat(case["q_heads"] // self.kv_heads if packed else 1, 1)

    def gather(self, cache):
        """The keys of all sequences, [sequences, kv_heads, keys, dim]."""
        pages = cache.index_select(0, self.pages)
        return pages.view(self.sequences, -1, self.kv_heads, cache.shape[3])[:, :self.keys].transpose(1, 2)

    def attend(self, q, k, v, out):
        q, k, v = q[self.rows], self.gather(k), self.gather(v)  # q [sequences, queries, q_heads, dim]
        if self.packed:  # [sequences, kv_heads, group * queries, dim]
            grouped = q.unflatten(2, (self.kv_heads, -1)).permute(0, 2, 3, 1, 4)
            q = grouped.flatten(2, 3)
        else:
            q = q.transpose(1, 2)
        o = scaled_dot_product_attention(q, k, v, attn_mask=self.mask, is_causal=self.square, scale=self.scale,
                                         enable_gqa=not self.packed)
        if self.packed:
            o = o.unflatten(2, grouped.shape[2:4]).permute(0, 3, 1, 2, 4).flatten(2, 3)
        else:
            o = o.transpose(1, 2)
        out[self.rows] = o


class Program:
    def __init__(self, mode):
        if mode not in ("gather", "packed"):
            sys.exit(f"{mode} is none of gather, packed")
        self.packed = mode == "packed"

    def hello(self, _):
        return {"hello": {"protocol": 1, "about": f"PyTorch {torch.__version__}"}}

    def prepare(self, case):
        for field, off in {"softcap": 0, "window_left": -1, "window_right": -1, "alibi_slopes": None,
                           "sinks": None}.items():
            if case[field] != off:
                return {"unsupported": f"{field} is not part of scaled_dot_product_attention"}
        torch.set_num_threads(case["threads"])
        self.q, self.out = dense(case["q"], case, case["head_dim"]), dense(case["out"], case, case["head_dim_v"])
        self.k, self.v = caches(case["k"], case, case["head_dim"]), caches(case["v"], case, case["head_dim_v"])
        alike = collections.defaultdict(list)
        for b, keys in enumerate(case["kv_len"]):
            queries = case["q_begin"][b + 1] - case["q_begin"][b]
            if queries > 0:
                alike[queries, keys].append(b)
        self.groups = [Group(case, members, *lengths, self.packed) for lengths, members in alike.items()]
        return {"ready": True}

    def run(self, request):
        start = time.perf_counter_ns()
        for call in range(request["calls"]):
            pool = (request["first_pool"] + call) % len(self.k)
            for group in self.groups:
                group.attend(self.q, self.k[pool], self.v[pool], self.out)
        return {"ns": time.perf_counter_ns() - start}


def main():
    program = Program(sys.argv[1] if len(sys.argv) > 1 else "gather")
    with torch.inference_mode():
        for line in sys.stdin:
            (kind, message), = json.loads(line).items()
            print(json.dumps(getattr(program, kind)(message)), flush=True)


if __name__ == "__main__":
    main()
