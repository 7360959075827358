// The tables that kernels.cc chooses from.
#pragma once

#include "engine/attention/kernels/kernels.h"

namespace pagoda {

extern const AttentionKernels kAttentionKernelsScalar;

// The Highway kernels compiled for `isa`; null if they were not.
const AttentionKernels* HighwayAttentionKernels(Isa isa);

// kernels/avx512bf16.cc: entries of the table for bf16. `pad` is dim rounded up to a multiple of 32.
namespace avx512bf16 {
void Qk(const KeyRun& k, const float* q, int64_t rows, int64_t q_ld, float scale, float* scores,
        int64_t scores_ld);
void PackRow(const void* row, int64_t dim, int64_t pad, float* out);
void LoadK(const KeyRun& k, float* out, int64_t ld);
void PackLane(const void* row, int64_t dim, int64_t lane, float* panel);
void QkTile(const float* k, int64_t k_ld, int64_t keys, const float* q, int64_t panel_stride, int64_t rows,
            int64_t dim, float scale, float* scores, int64_t ld, const PrefetchList& ahead);
}  // namespace avx512bf16

// kernels/amx.cc: the same of the table for tiles.
namespace amx {
void QkTile(const float* k, int64_t k_ld, int64_t keys, const float* q, int64_t panel_stride, int64_t rows,
            int64_t dim, float scale, float* scores, int64_t ld, const PrefetchList& ahead);
void LoadV(const KeyRun& v, float* out, int64_t tile_keys, int64_t first_key);
void PvTile(const float* weights, int64_t ld, int64_t keys, const float* v, int64_t tile_keys, int64_t rows,
            int64_t dim, float* acc, int64_t acc_ld, const PrefetchList& ahead);
}  // namespace amx

// Makes ActiveAttentionKernels return `kernels` until called with null: a table that counts and forwards
// shows what a variant reads without a build of its own. Not while a launch is running.
void OverrideAttentionKernels(const AttentionKernels* kernels);

}  // namespace pagoda
