#!/usr/bin/env python3
"""HSTU attention in PyTorch as an external program for `pagoda bench`: pages gathered, matmul, SiLU, mask, matmul.

  torch_hstu.py gather        in the dtype of the case
  torch_hstu.py gather_f32    in f32, to which the gathered keys are converted

Sequence by sequence, all heads together; the query heads that share a kv head are packed as rows of one. What pages are
copied to is allocated once. docs/external-variants.md says what the messages mean.
"""
import torch
from torch.nn.functional import silu

import torch_program


def sees(case, b, rows):
    """Which keys the rows of sequence b see, [rows, keys]; None: each sees all."""
    keys, history, contextual = case["kv_len"][b], case["history"][b], case["contextual"][b]
    r, j = torch.arange(keys - rows, keys)[:, None], torch.arange(keys)[None, :]
    seen = torch.ones(rows, keys, dtype=torch.bool)
    if case["mask"] == "causal":
        group = history + (r - history) // case["target_group"] * case["target_group"]
        seen &= (j <= r) & ((j < history) | (j >= group))
    if case["window_left"] >= 0:
        seen &= r - j <= case["window_left"]
    if case["window_right"] >= 0:
        seen &= j - r <= case["window_right"]
    if case["max_attn_len"] > 0:
        shift = max(contextual - 1, 0)
        last = history - shift
        place_r, place_j = ((x - shift).clamp(0, last) for x in (r, j))
        within = place_r - place_j <= case["max_attn_len"]
        if case["min_full_attn_seq_len"] > 0:
            within |= place_r >= last - case["min_full_attn_seq_len"]
        seen &= within
    if contextual > 0:
        seen = torch.where(r < contextual, j < history, seen)
    return None if seen.all() else seen


def bias(case, b, rows):
    """rab of sequence b, [q_heads, rows, keys]; None: there is none."""
    if case["rab"] is None:
        return None
    t = case["rab"]
    strides = (t["head_stride"], t["row_stride"], t["key_stride"])
    start = t["offset"] // torch.float32.itemsize + b * t["batch_stride"]
    shape = (case["q_heads"], rows, case["kv_len"][b])
    return torch_program.elements(t, torch.float32).as_strided(shape, strides, start)


class Keys:
    """K or V: the rows of the targets, and where the keys of a sequence are gathered to, which is allocated once."""

    def __init__(self, case, targets, dim, computed):
        dtype, heads = torch_program.DTYPES[case["dtype"]], case["kv_heads"]
        self.targets = torch_program.rows(case[targets], case, heads, dim) if case[targets] else None
        room = (max(case["kv_len"], default=0) + case["page_size"], heads, dim)  # whole pages are gathered
        self.gathered = torch.empty(room, dtype=dtype)
        as_they_lie = dtype == computed == torch.float32
        self.copied = None if as_they_lie else torch.empty(self.gathered.numel(), dtype=computed)

    def gather(self, cache, sequence):
        """[kv_heads, keys, dim]"""
        count, slots = len(sequence.pages), cache.shape[1]
        pages = self.gathered[:count * slots].view(count, slots, *cache.shape[2:])
        torch.index_select(cache, 0, sequence.pages, out=pages)
        if sequence.history < sequence.keys:
            self.gathered[sequence.history:sequence.keys] = self.targets[sequence.targets]
        keys = self.gathered[:sequence.keys]
        if self.copied is None:
            return keys.transpose(0, 1)
        copied = self.copied[:keys.numel()]
        if copied.dtype == torch.float32:
            return copied.view(keys.shape).copy_(keys).transpose(0, 1)
        # In 16 bits matmul is several times as fast where a head's keys lie together; in f32 that costs more than it gives.
        keys = keys.transpose(0, 1)
        return copied.view(keys.shape).copy_(keys)


class Sequence:
    """One sequence: its rows of q, its pages and targets, and what each row sees."""

    def __init__(self, case, b, k, v, computed):
        first, end = case["q_begin"][b], case["q_begin"][b + 1]
        self.k, self.v = k, v
        self.rows, self.keys, self.history = slice(first, end), case["kv_len"][b], case["history"][b]
        self.targets = slice(end - (self.keys - self.history), end)
        self.pages = torch.tensor(case["page_ids"][case["page_begin"][b]:case["page_begin"][b + 1]], dtype=torch.long)
        self.heads = (case["kv_heads"], case["q_heads"] // case["kv_heads"])
        self.alpha, self.scale = case["alpha"], case["silu_scale"]
        self.rab, seen = bias(case, b, end - first), sees(case, b, end - first)
        self.mask = None if seen is None else seen.to(computed)

    def attend(self, q, k, v, out):
        k, v = self.k.gather(k, self), self.v.gather(v, self)
        q = q[self.rows].unflatten(1, self.heads).permute(1, 2, 0, 3).to(k.dtype)  # [kv_heads, group, rows, dim]
        scores = torch.bmm(q.flatten(1, 2) * self.alpha, k.transpose(1, 2)).unflatten(1, q.shape[1:3])
        if self.rab is not None:  # which makes them f32
            scores = torch.add(scores, self.rab.unflatten(0, self.heads), alpha=self.alpha)
        weights = silu(scores, inplace=True)
        if self.mask is not None:
            weights.mul_(self.mask)
        # Scaled behind the sum: the weights are more, and f16 would lose the small ones.
        o = torch.bmm(weights.flatten(1, 2).to(v.dtype), v).mul_(self.scale)
        out[self.rows] = o.unflatten(1, q.shape[1:3]).permute(2, 0, 1, 3).flatten(1, 2)


class Hstu(torch_program.Program):
    OPS = ["hstu_paged_attention"]

    def __init__(self, in_f32):
        self.in_f32 = in_f32

    def parts(self, case):
        computed = torch.float32 if self.in_f32 else torch_program.DTYPES[case["dtype"]]
        k = Keys(case, "target_k", case["head_dim"], computed)
        v = Keys(case, "target_v", case["head_dim_v"], computed)
        return [Sequence(case, b, k, v, computed) for b in range(case["batch"])
                if case["q_begin"][b] < case["q_begin"][b + 1]]


if __name__ == "__main__":
    torch_program.serve({"gather": Hstu(in_f32=False), "gather_f32": Hstu(in_f32=True)})
