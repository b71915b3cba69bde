/* Runs a kernel that `codac build examples/gate_up.coda --arch host -o FILE` compiled, through the C interface and the
 * library without a compiler: load_image FILE */
#include <stdint.h>
#include <stdio.h>

#include "coda/coda_c.h"

enum { ROWS = 4, WIDTH = 8, DEPTH = 64 };

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, coda_error());
  return 1;
}

/* bf16 is the upper half of f32's bits; these values lose nothing. */
static void fill(uint16_t* out, size_t count, uint16_t bits) {
  for (size_t i = 0; i < count; ++i) out[i] = bits;
}

int main(int argc, char** argv) {
  static uint16_t x[ROWS * DEPTH], w[2 * WIDTH * DEPTH], act[ROWS * WIDTH];
  static float rstd[ROWS] = {0.25f, 0.25f, 0.25f, 0.25f};
  const int64_t x_shape[] = {ROWS, DEPTH}, w_shape[] = {2 * WIDTH, DEPTH}, rstd_shape[] = {ROWS},
                act_shape[] = {ROWS, WIDTH};
  const coda_argument arguments[] = {
      {"x", CODA_TENSOR, CODA_BF16, x, CODA_HOST, 2, x_shape, NULL, 0, 0},
      {"w", CODA_TENSOR, CODA_BF16, w, CODA_HOST, 2, w_shape, NULL, 0, 0},
      {"rstd", CODA_TENSOR, CODA_F32, rstd, CODA_HOST, 1, rstd_shape, NULL, 0, 0},
      {"act", CODA_TENSOR, CODA_BF16, act, CODA_HOST, 2, act_shape, NULL, 0, 0},
  };
  coda_image* image = NULL;
  coda_kernel* kernel = NULL;
  uint32_t bits;

  if (argc != 2) return fputs("usage: load_image FILE\n", stderr), 2;
  fill(x, ROWS * DEPTH, 0x3f00);      /* 0.5 */
  fill(w, 2 * WIDTH * DEPTH, 0x3e80); /* 0.25 */

  if (coda_image_load(argv[1], &image) != CODA_OK) return failed("load");
  if (coda_prepare(image, CODA_HOST, NULL, 0, &kernel) != CODA_OK) return failed("prepare");
  coda_image_free(image);
  if (coda_launch(kernel, arguments, sizeof arguments / sizeof *arguments, NULL) != CODA_OK) return failed("launch");
  coda_kernel_free(kernel);

  bits = (uint32_t)act[0] << 16;
  union {
    uint32_t bits;
    float value;
  } first = {bits};
  printf("silu(2) * 2 = %g\n", first.value);
  return 0;
}
