// Case names: one grammar, both ways.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "judge/bench/suite.h"
#include "judge/record/record.h"

namespace pagoda::judge {

// The spec whose CaseName() is `name`, everything that a name doesn't hold (tolerances, weight) at its
// default.
//   name    = [hstu_] b<batch> _h<query heads> _kv<kv heads> _s<lengths> _bs<page size> _hd<head dim>
//   _<dtype>
//             _<phase> <part>*
//   lengths = <keys>, or <keys>x<times> and <keys> joined by "-" where sequences differ: s512x3-4096
//   phase   = decode, q<rows>, or rows as lengths where sequences differ: q1x3-512
//   part    = in this order, only where it differs from the default: _dv<head dim of V> _hnd _combined
//   _padded
//             _i64 _noncausal _wl<keys> _wr<keys>, then of softmax _cap<softcap> _alibi _sinks, of HSTU
//             _t<targets> _g<target group> _c<contextual rows> _al<max_attn_len> _fa<min_full_attn_seq_len>
//             _rab, then _warm
// Throws Error(case name) for anything else, a number out of range and a spelling that CaseName() would not
// give.
CaseSpec ParseCaseName(std::string_view name);

// CaseName() with words in the places of lengths and phase, for batches with too many lengths to list:
//   b32_h16_kv8_azure_conversation_bs64_hd128_bf16_decode
std::string CaseName(const CaseSpec& spec, std::string_view lengths, std::string_view phase);

// "4096", or "512x3-4096" where sequences differ.
std::string LengthsText(const std::vector<int64_t>& lengths);

// The spec by the names of a suite file, without what a manifest's case holds besides: two cases of one name
// are the same problem only where these agree.
Definition ProblemOf(const CaseSpec& spec);

// Throws Error naming the field whose value no kernel could be asked for: lengths below 0, no query at all,
// blocks that don't cover a sequence or that pages don't divide, q_heads not a multiple of kv_heads, a
// window below -1, a softcap or tolerance that is negative or not finite.
void CheckCase(const CaseSpec& spec);

}  // namespace pagoda::judge
