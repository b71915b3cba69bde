/* The C interface of coda: load or compile a kernel or a block, prepare it for a device, launch it. No exception and no
 * C++ type crosses it. Every function that returns a coda_code may be called from any thread. */
#ifndef CODA_CODA_C_H
#define CODA_CODA_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when something here changes in a way that old callers notice. */
#define CODA_ABI_VERSION 1
uint32_t coda_abi_version(void);

typedef int32_t coda_code;
enum {
  CODA_OK = 0,
  CODA_INVALID_ARGUMENT = 1,
  CODA_NOT_FOUND = 2,
  CODA_UNSUPPORTED = 3,
  CODA_CORRUPT = 4,
  CODA_IO = 5,
  CODA_DRIVER = 6,
  CODA_OUT_OF_MEMORY = 7
};
/* What went wrong in this thread's last call that did not return CODA_OK; valid until its next call. */
const char* coda_error(void);

typedef int32_t coda_dtype;
enum {
  CODA_F32 = 0,
  CODA_F16 = 1,
  CODA_BF16 = 2,
  CODA_E4M3 = 3,
  CODA_E5M2 = 4,
  CODA_E2M1 = 5,
  CODA_UE8M0 = 6,
  CODA_I64 = 7,
  CODA_I32 = 8,
  CODA_U8 = 9,
  CODA_I8 = 10,
  CODA_BOOL = 11
};

/* The value of a dimension's symbol. */
typedef struct coda_binding {
  const char* symbol;
  int64_t value;
} coda_binding;

/* ---- Images: compiled kernels and blocks, not yet on a device; one may hold code for several targets ---- */

typedef struct coda_image coda_image;

coda_code coda_image_load(const char* path, coda_image** out);
coda_code coda_image_from_bytes(const void* bytes, size_t size, coda_image** out);
coda_code coda_image_save(const coda_image* image, const char* path);
void coda_image_free(coda_image* image);

typedef struct coda_compile_options {
  size_t size;        /* sizeof(coda_compile_options) */
  const char* path;   /* names the text in messages, and imports are relative to it; may be NULL */
  const char* kernel; /* which kernel or block of the text; NULL: the only one */
  const char* target; /* "sm_90a" or "host"; NULL: "host" */
  const coda_binding* dims;
  size_t dim_count;
} coda_compile_options;
/* The program's diagnostics are the error text. In libcoda only, not in a runtime built without the compiler. */
coda_code coda_compile(const char* text, const coda_compile_options* options, coda_image** out);

/* All that the compiler said of the program in this thread's last coda_compile() or coda_compilation_finish(), also
 * where it compiled: a JSON array of objects with id, severity ("error", "warning", "remark"), message, way_out, notes
 * and range: path, begin and end, each with line and column; null: of no place. Valid until the next of those calls. */
const char* coda_compile_messages(void);

/* The same on a thread of its own. */
typedef struct coda_compilation coda_compilation;
coda_code coda_compile_async(const char* text, const coda_compile_options* options, coda_compilation** out);
/* 1 when coda_compilation_finish() would not wait. */
int32_t coda_compilation_done(const coda_compilation* compilation);
/* Waits, gives what coda_compile() would have given, and frees `compilation`. `out` NULL: the result is not wanted. */
coda_code coda_compilation_finish(coda_compilation* compilation, coda_image** out);

typedef int32_t coda_role;
enum { CODA_IN = 0, CODA_OUT = 1, CODA_INOUT = 2, CODA_SCALAR = 3 };
typedef struct coda_param {
  const char* name; /* as long as the image lives */
  coda_role role;
  coda_dtype dtype;
  int32_t rank;
  int32_t has_default; /* of a scalar */
} coda_param;

const char* coda_image_name(const coda_image* image);
const char* coda_image_target(const coda_image* image); /* "sm_90a", or "sm_90a, host" for code for several */
int32_t coda_image_param_count(const coda_image* image);
coda_code coda_image_param(const coda_image* image, int32_t index, coda_param* out);
/* Text of an axis of a parameter, e.g. "2*F"; NULL if there is no such axis. */
const char* coda_image_param_dim(const coda_image* image, int32_t index, int32_t axis);

/* ---- Kernels: images made ready for a device. A block is one too: a launch runs all its kernels in order ---- */

typedef struct coda_kernel coda_kernel;

#define CODA_HOST (-1)
/* `device`: a CUDA ordinal, or CODA_HOST for images with code for "host". `given` binds symbols that no shape
 * determines. The image may be freed afterwards. */
coda_code coda_prepare(const coda_image* image, int32_t device, const coda_binding* given, size_t given_count,
                       coda_kernel** out);
/* Waits for no launch: synchronise first. */
void coda_kernel_free(coda_kernel* kernel);

typedef int32_t coda_kind;
enum { CODA_TENSOR = 0, CODA_REAL = 1, CODA_INTEGER = 2 };
typedef struct coda_argument {
  const char* name; /* of the parameter; NULL: the one at this place of the array */
  coda_kind kind;
  coda_dtype dtype;
  void* data;
  int32_t device; /* where `data` is: a CUDA ordinal or CODA_HOST */
  int32_t rank;
  const int64_t* shape;
  const int64_t* strides; /* in elements; NULL: row-major */
  double real;
  int64_t integer;
} coda_argument;

/* Fills in a tensor from a DLTensor* of DLPack, all but its name; shape and strides stay the DLTensor's. */
coda_code coda_argument_from_dlpack(const void* tensor, coda_argument* out);

/* Checks the arguments and enqueues the kernel on `stream`, a CUstream or cudaStream_t; nothing is enqueued unless the
 * result is CODA_OK. Scalars with a default may be left out. May be called while `stream` is being captured. */
coda_code coda_launch(coda_kernel* kernel, const coda_argument* arguments, size_t count, void* stream);

/* ---- Blocks of several kernels; for a single kernel there is nothing to keep or to fold ---- */

/* Memory that a launch with these arguments keeps between its kernels. */
coda_code coda_workspace_bytes(const coda_kernel* kernel, const coda_argument* arguments, size_t count, size_t* out);
/* A launch in memory of the caller's, at a multiple of 256, which no other work may use until the launch is done.
 * `workspace` NULL: in the kernel's own, one for each stream. */
coda_code coda_launch_in(coda_kernel* kernel, const coda_argument* arguments, size_t count, void* stream,
                         void* workspace, size_t bytes);
/* Computes now what a block makes of `const` parameters alone, and waits for it. The first launch with other weights
 * (addresses, shapes or strides) does so by itself, except while it is captured. */
coda_code coda_fold(coda_kernel* kernel, const coda_argument* arguments, size_t count, void* stream);
/* Weights have new values where they are. No launch may be in flight. */
coda_code coda_weights_changed(coda_kernel* kernel);

/* ---- Recordings: a launch with fixed arguments as one CUDA graph ---- */

typedef struct coda_recording coda_recording;

/* The kernel must outlive it; replays of one recording must not overlap. */
coda_code coda_record(coda_kernel* kernel, const coda_argument* arguments, size_t count, coda_recording** out);
coda_code coda_recording_launch(coda_recording* recording, void* stream);
void coda_recording_free(coda_recording* recording);

#ifdef __cplusplus
}
#endif
#endif
