/* A plug-in in C99 that supports nothing: the header must compile there. */
#include "pagoda/plugin.h"

static const char* supports(const pagoda_softmax_batch* batch) {
  (void)batch;
  return "nothing is done yet";
}

static const char* run(const void* plan, const pagoda_softmax_batch* batch, const pagoda_softmax_call* call) {
  (void)plan;
  (void)batch;
  (void)call;
  return "nothing is done yet";
}

static const pagoda_softmax_variant variants[] = {{"none", NULL, 0, supports, NULL, run, NULL}};
static const pagoda_plugin_info info = {PAGODA_PLUGIN_ABI, 1, variants};

const pagoda_plugin_info* pagoda_plugin(void) { return &info; }
