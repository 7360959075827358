/* Softmax attention variants of your own, for `pagoda bench SUITE --variants a,./mine.so`. Plain C, so that
 * any compiler and language can make one; examples/plugin.cc is a whole one, docs/plugins.md says how to go
 * on.
 *
 * A plug-in is a shared library that exports pagoda_plugin(). Pagoda loads it in processes of its own, so
 * that a crash or a hang is found and named; it proves every result right before it times anything. No
 * function may throw, print to standard output or end the process. All pointers are valid during the call
 * that gets them, unless said otherwise; nothing that is const may be written to. Pagoda calls from one
 * thread at a time. */
#ifndef PAGODA_PLUGIN_H
#define PAGODA_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): the names are C's */

/* Raised whenever a field changes its place or meaning; a plug-in of another version is refused. */
#define PAGODA_PLUGIN_ABI 1

#define PAGODA_PLUGIN_EXPORT __attribute__((visibility("default")))

typedef enum pagoda_dtype { PAGODA_F32 = 0, PAGODA_F16 = 1, PAGODA_BF16 = 2 } pagoda_dtype;

/* What a variant promises of its bits; the gate holds it to that. */
typedef enum pagoda_promise {
  PAGODA_REPEATABLE = 1,       /* the same call again gives the same bits */
  PAGODA_THREAD_INVARIANT = 2, /* the same bits with any number of threads */
  PAGODA_BATCH_INVARIANT = 4   /* a sequence's bits don't depend on the other sequences of the batch */
} pagoda_promise;

/* The shape of a batch, validated. Sequence b has the query rows q_begin[b] to q_begin[b + 1] - 1 of q, and
 * kv_len[b] keys; its row a stands at position r = kv_len[b] - (rows of b) + a. Key j of it lies in the slot
 * j % page_size of page page_ids[page_begin[b] + j / page_size]. Query head h reads kv head h / (q_heads /
 * kv_heads). */
typedef struct pagoda_softmax_batch {
  int64_t batch;                                       /* sequences, 0 or more */
  int64_t total_q;                                     /* rows of q */
  int64_t q_heads, kv_heads;                           /* q_heads is a multiple of kv_heads */
  int64_t head_dim;                                    /* D, of q and K */
  int64_t head_dim_v;                                  /* Dv, of V and the output */
  int64_t page_size;                                   /* slots of a page */
  int64_t num_pages;                                   /* of the cache */
  pagoda_dtype dtype;                                  /* of q, K and V */
  int64_t k_page_stride, k_slot_stride, k_head_stride; /* in elements; a row of D is dense */
  int64_t v_page_stride, v_slot_stride, v_head_stride;
  const int64_t* q_begin;    /* [batch + 1] */
  const int64_t* kv_len;     /* [batch] */
  const int64_t* page_begin; /* [batch + 1] */
  const int64_t* page_ids;   /* [page_begin[batch]], each in 0..num_pages - 1 */
  float scale;               /* score(j) = scale * q.k_j, then softcap, then ALiBi */
  int32_t causal;            /* not 0: row r sees key j only when j <= r */
  int64_t window_left;       /* keys before r that it sees; -1: unbounded */
  int64_t window_right;      /* keys after r that it sees; -1: unbounded */
  float softcap;             /* c > 0: c * tanh(score / c); 0: none */
} pagoda_softmax_batch;

/* The caller's threads. run(pool, n, task, arg) calls task(arg, i, worker) for each i in 0..n - 1, from
 * `threads` pinned threads (0 <= worker < threads), and returns when all are done. Time spent in it is what
 * device time counts; a variant that starts threads of its own is timed from call to return instead. */
typedef struct pagoda_pool {
  void* pool;
  int32_t threads;
  void (*run)(void* pool, int64_t tasks, void (*task)(void* arg, int64_t index, int32_t worker), void* arg);
} pagoda_pool;

/* One call on a planned batch. q, out and lse have strides in elements; their rows are dense in the last
 * dimension. */
typedef struct pagoda_softmax_call {
  const void* q; /* [total_q, q_heads, D], the batch's dtype */
  int64_t q_row_stride, q_head_stride;
  const void* k; /* element (page, slot, head, d) is at page * k_page_stride + ... + d */
  const void* v;
  const float* alibi_slopes; /* [q_heads], adds slope * (j - r); or null */
  const float* sinks;        /* [q_heads], one more logit in the denominator; or null */
  void* out;                 /* [total_q, q_heads, Dv] of out_dtype */
  pagoda_dtype out_dtype;
  int64_t out_row_stride, out_head_stride;
  float* lse; /* [total_q, q_heads], natural log, counts the sink, -inf where nothing is visible; or null */
  int64_t lse_row_stride, lse_head_stride;
  void* workspace;         /* 64-byte aligned, as many bytes as the plan asked for; holds anything */
  const pagoda_pool* pool; /* of as many threads as the plan was made for */
} pagoda_softmax_call;

/* Rows that see no key give 0 and, without a sink, lse -inf. */
typedef struct pagoda_softmax_variant {
  const char* name;    /* for reports; letters, digits and _ */
  const char* summary; /* one line, or null */
  uint32_t promises;   /* of pagoda_promise */
  /* Null when the variant computes this batch, else why not, in a few words that stay valid. May be null: it
   * computes everything. */
  const char* (*supports)(const pagoda_softmax_batch* batch);
  /* Makes a plan for calls with so many threads: *plan is handed to run and destroy, *workspace_bytes is what
   * run needs. `batch` and what it points to stay as they are until destroy. Null, or why it can't. plan may
   * be null: *plan is then null and the workspace empty. */
  const char* (*plan)(const pagoda_softmax_batch* batch, int32_t threads, void** plan,
                      size_t* workspace_bytes);
  /* Computes the call. Null, or what went wrong. */
  const char* (*run)(const void* plan, const pagoda_softmax_batch* batch, const pagoda_softmax_call* call);
  void (*destroy)(void* plan); /* may be null */
} pagoda_softmax_variant;

typedef struct pagoda_plugin_info {
  uint32_t abi; /* PAGODA_PLUGIN_ABI */
  uint32_t softmax_variants;
  const pagoda_softmax_variant* softmax; /* [softmax_variants] */
} pagoda_plugin_info;

/* What the shared library exports. The answer stays valid for good. */
PAGODA_PLUGIN_EXPORT const pagoda_plugin_info* pagoda_plugin(void);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
