"""The example program of both operators, wrong in the one way that the first argument names.

  broken.py FAULT
"""
import os
import pathlib
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples"))
import external_hstu  # noqa: E402


class Right(external_hstu.Program):
    pass


class DiesBeforeHello(Right):
    def __init__(self):
        sys.exit("no module named numpy")


class SpeaksAnotherProtocol(Right):
    def hello(self, _):
        return {"hello": {"protocol": 2}}


class ListsAnUnknownOp(Right):
    def hello(self, _):
        return {"hello": {"protocol": 1, "ops": ["hstu"]}}


class ListsNoOp(Right):
    def hello(self, _):
        return {"hello": {"protocol": 1, "ops": []}}


class DiesInPrepare(Right):
    def prepare(self, _):
        sys.exit("can't open the file")


class RefusesLater(Right):
    """Says that it computes what it then doesn't: the first to ask is the bench, with one thread."""

    def prepare(self, case):
        return super().prepare(case) if case["threads"] == 1 else {"unsupported": "only one thread"}


class Crashes(Right):
    def run(self, _):
        os.kill(os.getpid(), signal.SIGABRT)


class Hangs(Right):
    def run(self, _):
        time.sleep(1000)


class Exits(Right):
    def run(self, _):
        print("out of memory", file=sys.stderr)
        sys.exit(3)


class Fails(Right):
    def run(self, _):
        return {"error": "no kernel for this CPU"}


class Garbage(Right):
    def run(self, request):
        print("computing ...")
        return super().run(request)


class LongLine(Right):
    def run(self, _):
        return {"ns": "9" * 200000}


class NoTime(Right):
    def run(self, request):
        super().run(request)
        return {"ns": 0}


class Talks(Right):
    """Writes a line more than it was asked for, the first and a part of the second at once."""

    def run(self, request):
        os.write(1, b'{"ns": %d}\n{"ready":' % super().run(request)["ns"])
        return True


class Boasts(Right):
    """Reports a thousandth of the time."""

    def run(self, request):
        return {"ns": super().run(request)["ns"] / 1000}


class Exaggerates(Right):
    def run(self, request):
        return {"ns": super().run(request)["ns"] * 2 + 1e9}


class TakesForEver(Right):
    """By its own account."""

    def run(self, request):
        super().run(request)
        return {"ns": 10**30}


class NeverRests(Right):
    """Has a thread that waits by spinning."""

    def prepare(self, case):
        threading.Thread(target=self.spin, daemon=True).start()
        return super().prepare(case)

    def spin(self):
        while True:
            pass


class Stale(Right):
    """Answers with the output of the call before."""

    last = None

    def attend(self, pool):
        super().attend(pool)
        now = self.out[:self.cells()].tolist()
        if self.last and len(self.last) == len(now):
            for i, x in enumerate(self.last):
                self.out[i] = x
        self.last = now

    def cells(self):
        return self.c["total_q"] * self.c["q_heads"] * self.c["head_dim_v"]


class Nothing(Right):
    def attend(self, pool):
        pass


class OffByAPage(Right):
    """Reads the second page of a sequence in the place of its first."""

    def prepare(self, case):
        case["page_ids"] = case["page_ids"][1:2] + case["page_ids"][1:]
        return super().prepare(case)


class PastTheEnd(Stale):
    def attend(self, pool):
        Right.attend(self, pool)
        self.out[self.cells()] = 1


class Mutates(Right):
    def attend(self, pool):
        super().attend(pool)
        self.k[pool][0] = self.k[pool][0] + 1


class WrongLater(Right):
    """Right for ten calls."""

    calls = 0

    def attend(self, pool):
        super().attend(pool)
        self.calls += 1
        if self.calls > 10:
            self.out[0] = 100


class NaN(Right):
    def attend(self, pool):
        super().attend(pool)
        self.out[3] = float("nan")


class KeepsKeys(Right):
    """Takes K when the case is prepared, before it is there."""

    def prepare(self, case):
        answer = super().prepare(case)
        self.k = [pool.tolist() for pool in self.k]
        return answer


# What only HSTU has.
class MutatesTargetKeys(Right):
    def attend(self, pool):
        super().attend(pool)
        self.target_k[self.last(self.c["head_dim"])] += 1

    def last(self, dim):
        return self.c["total_q"] * self.c["kv_heads"] * dim - 1


class MutatesTargetValues(MutatesTargetKeys):
    def attend(self, pool):
        Right.attend(self, pool)
        self.target_v[self.last(self.c["head_dim_v"])] += 1


class MutatesBias(Right):
    def attend(self, pool):
        super().attend(pool)
        if self.rab:
            self.rab[0] += 1


class KeepsTargets(Right):
    """Takes the targets' keys when the case is prepared, before they are there."""

    def prepare(self, case):
        answer = super().prepare(case)
        self.target_k = self.target_k.tolist()
        return answer


class ShiftsTargets(Right):
    """Reads the key before a target in its place."""

    def row_of(self, tensor, pool, b, j, kv_head):
        return super().row_of(tensor, pool, b, j - 1 if j >= self.c["history"][b] else j, kv_head)


class Ignores(Right):
    """Computes a case as if some of its fields had other values."""

    fields = {}

    def prepare(self, case):
        return super().prepare({**case, **{field: value(case) for field, value in self.fields.items()}})


class IgnoresGroups(Ignores):
    fields = {"target_group": lambda case: case["total_q"]}


class IgnoresContextual(Ignores):
    fields = {"contextual": lambda case: [0] * case["batch"]}


class IgnoresAttnLen(Ignores):
    fields = {"max_attn_len": lambda _: 0}


class IgnoresFullRows(Ignores):
    fields = {"min_full_attn_seq_len": lambda _: 0}


class IgnoresBias(Ignores):
    fields = {"rab": lambda _: None}


class IgnoresAlpha(Ignores):
    fields = {"alpha": lambda _: 1}


external_hstu.external.serve(globals()[sys.argv[1]]())
