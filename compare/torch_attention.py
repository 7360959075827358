#!/usr/bin/env python3
"""PyTorch's scaled_dot_product_attention as an external program for `pagoda bench`.

  torch_attention.py gather    copies the pages of each sequence to one place, then calls it with enable_gqa
  torch_attention.py packed    the same, with the query heads that share a kv head packed as rows of one head

Sequences of equal lengths are computed together. docs/external-variants.md says what the messages mean.
"""
import collections

import torch
from torch.nn.functional import scaled_dot_product_attention

import torch_program


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


class Attention(torch_program.Program):
    OPS = ["softmax_paged_attention"]

    def __init__(self, packed):
        self.packed = packed

    def why_not(self, case):
        for field, off in {"softcap": 0, "window_left": -1, "window_right": -1, "alibi_slopes": None,
                           "sinks": None}.items():
            if case[field] != off:
                return f"{field} is not part of scaled_dot_product_attention"
        return None

    def parts(self, case):
        alike = collections.defaultdict(list)
        for b, keys in enumerate(case["kv_len"]):
            queries = case["q_begin"][b + 1] - case["q_begin"][b]
            if queries > 0:
                alike[queries, keys].append(b)
        return [Group(case, members, *lengths, self.packed) for lengths, members in alike.items()]


if __name__ == "__main__":
    torch_program.serve({"gather": Attention(packed=False), "packed": Attention(packed=True)})
