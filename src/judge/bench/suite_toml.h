// The text of a suite to a Suite.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/io/trace.h"
#include "judge/bench/suite.h"

namespace pagoda::judge {

// A suite is a TOML file:
//   name = "llm"                 required
//   about = "one line"
//   variants = ["gather", ...]   default: all; the first is the baseline unless `baseline` says else
//   baseline = "gather"
//   budget = "5m", epoch_ms = 2, warmups = 16, samples = 51
//   [defaults]                   any key of a case but `name`
//   [[case]]                     a case, or a grid: a list is an axis, and every combination is a case
// Keys of a case, each with what it is when absent. The axes vary in this order, the last one fastest:
//   op = "softmax_paged_attention" or "hstu_paged_attention"
//   batch = 1                    sequences
//   phase = "decode"             or "q512": that many query rows of each sequence; "decode+q512": of the
//                                last one that has as many keys
//   heads = "16/8"               query heads / kv heads; required
//   context = 4096               keys of each sequence, the queries included
//   head_dim = 128, head_dim_v = head_dim, page_size = 16, dtype = "bf16"
//   layout = "NHD" or "HND", table = "csr" or "padded", index = "i32" or "i64"
//   window_left = -1, window_right = -1, softcap = 0
//   targets = 0, target_group = 1, contextual = 0, max_attn_len = 0, min_full_attn_seq_len = 0   of HSTU
//   cache = "cold" or "warm"
// Not axes:
//   contexts, queries            instead of context and phase: a length for each sequence of one batch
//   lengths                      instead of context: a table of name, quantiles, tokens and seed = 2026, from
//                                which each batch draws its lengths (see lengths.h); with a trace it gives
//                                name and lengths, and cases that then are the same become one
//   combined = false, causal = true, alibi = false, sinks = false, rab = false
//   atol, rtol                   absent: the gate's own for the dtype
//   least_batch                  a budget may halve the batch, down to so many sequences; not where these
//                                differ
//   sweep                        axes of the grid whose values are points of a curve (see sweeps.h); not
//                                where sequences differ or a budget may halve the batch
//   weight = 1                   of each case in the overall mean
//   name                         [A-Za-z0-9_.-], of a single case whose name by the grammar would be too long
// Throws Error with the field "FILE:LINE:COLUMN: case[0].context", and Error(--trace) for a trace that is too
// short or that no case draws from.
Suite ParseSuite(std::string_view text, std::string_view file, const io::RequestTrace* trace = nullptr);
Suite ReadSuiteFile(const std::filesystem::path& path, const io::RequestTrace* trace = nullptr);

}  // namespace pagoda::judge
