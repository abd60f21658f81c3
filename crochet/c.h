/* Copyright 2026 The crochet authors
   SPDX-License-Identifier: Apache-2.0

   crochet for C, and for the languages that call C: checkpoints are read, and a loop saves, resumes
   and ends as crochet::Loop does.

     double field[100][200] = {{0}};
     const int64_t sizes[] = {100, 200};
     crochet_loop* loop;
     int64_t step;
     if (crochet_loop_new("runs/heat", &loop) != CROCHET_OK) return fail();
     crochet_loop_track(loop, "field", field, CROCHET_FLOAT64, 2, sizes);
     crochet_loop_add_hook(loop, "StopAtStepHook", "1000");
     if (crochet_loop_start(loop, &step) != CROCHET_OK) return fail();
     while (!crochet_loop_should_stop(loop)) {
       advance(field);
       crochet_loop_end_step(loop);
     }
     crochet_loop_finish(loop, &step, &exit_code);
     crochet_loop_free(loop);

   A function that can fail returns CROCHET_OK, or the code of an error whose text
   crochet_last_error() returns. After an error, results are unchanged. No exception leaves a
   function. Texts are UTF-8, end with 0, and are copied unless it is said otherwise.

   An object is for one thread at a time. In a forked child, a loop of the parent fails with
   CROCHET_FAILED_PRECONDITION. */
#ifndef CROCHET_C_H_
#define CROCHET_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define CROCHET_C_EXPORT __attribute__((visibility("default")))
#else
#define CROCHET_C_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Names as C libraries have them.
   NOLINTBEGIN(readability-identifier-naming,modernize-deprecated-headers,modernize-use-using) */

/* TensorFlow's canonical codes. */
enum {
  CROCHET_OK = 0,
  CROCHET_CANCELLED = 1,
  CROCHET_UNKNOWN = 2,
  CROCHET_INVALID_ARGUMENT = 3,
  CROCHET_DEADLINE_EXCEEDED = 4,
  CROCHET_NOT_FOUND = 5,
  CROCHET_ALREADY_EXISTS = 6,
  CROCHET_PERMISSION_DENIED = 7,
  CROCHET_RESOURCE_EXHAUSTED = 8,
  CROCHET_FAILED_PRECONDITION = 9,
  CROCHET_ABORTED = 10,
  CROCHET_OUT_OF_RANGE = 11,
  CROCHET_UNIMPLEMENTED = 12,
  CROCHET_INTERNAL = 13,
  CROCHET_UNAVAILABLE = 14,
  CROCHET_DATA_LOSS = 15
};

/* Types of elements, with TensorFlow's numbers (types.proto); others of crochet::DType
   may be read, too. */
enum {
  CROCHET_FLOAT32 = 1,
  CROCHET_FLOAT64 = 2,
  CROCHET_INT32 = 3,
  CROCHET_UINT8 = 4,
  CROCHET_INT16 = 5,
  CROCHET_INT8 = 6,
  CROCHET_STRING = 7,
  CROCHET_COMPLEX64 = 8,
  CROCHET_INT64 = 9,
  CROCHET_BOOL = 10, /* A byte, 0 or 1. */
  CROCHET_BFLOAT16 = 14,
  CROCHET_UINT16 = 17,
  CROCHET_COMPLEX128 = 18,
  CROCHET_FLOAT16 = 19,
  CROCHET_UINT32 = 22,
  CROCHET_UINT64 = 23
};

/* The most dimensions of an array. */
#define CROCHET_MAX_RANK 16

/* "0.1.0", of the library. */
CROCHET_C_EXPORT const char* crochet_version(void);
/* What the last call of this thread that failed found and expected, and where; valid until its next
   call that fails. "" if none has. */
CROCHET_C_EXPORT const char* crochet_last_error(void);
/* Bytes of an element; 0 for strings and unknown types. */
CROCHET_C_EXPORT size_t crochet_dtype_size(int dtype);

/* ---- Reading. */

typedef struct crochet_checkpoint crochet_checkpoint;

/* Opens a checkpoint of any format that crochet reads. `path` is a directory, or one checkpoint;
   `step` is that of one of a directory, or -1 for the newest. Errors: CROCHET_NOT_FOUND,
   CROCHET_DATA_LOSS. */
CROCHET_C_EXPORT int crochet_checkpoint_open(const char* path, int64_t step,
                                             crochet_checkpoint** checkpoint);
/* NULL is accepted. */
CROCHET_C_EXPORT void crochet_checkpoint_close(crochet_checkpoint* checkpoint);
/* The path without the ending; valid until it is closed. */
CROCHET_C_EXPORT const char* crochet_checkpoint_prefix(const crochet_checkpoint* checkpoint);
CROCHET_C_EXPORT size_t crochet_checkpoint_num_values(const crochet_checkpoint* checkpoint);
/* The name of a value, from 0 on, sorted; NULL beyond the last. Valid until it is closed. */
CROCHET_C_EXPORT const char* crochet_checkpoint_name(const crochet_checkpoint* checkpoint,
                                                     size_t index);
/* The type, the number of dimensions, and the size of each, row-major. `sizes` has room for
   CROCHET_MAX_RANK; each of the three may be NULL. */
CROCHET_C_EXPORT int crochet_checkpoint_describe(const crochet_checkpoint* checkpoint,
                                                 const char* name, int* dtype, int* rank,
                                                 int64_t* sizes);
/* The elements, row-major, after verifying their checksum. `num_bytes` must be just their size.
   After an error the memory is undefined. */
CROCHET_C_EXPORT int crochet_checkpoint_read(const crochet_checkpoint* checkpoint, const char* name,
                                             void* elements, size_t num_bytes);
/* One string of a value of strings, row-major from 0 on, followed by 0, which `num_bytes`, its
   length, does not count. If `size` is too small, the error is CROCHET_OUT_OF_RANGE, and
   `num_bytes` is set. */
CROCHET_C_EXPORT int crochet_checkpoint_read_text(const crochet_checkpoint* checkpoint,
                                                  const char* name, int64_t index, char* text,
                                                  size_t size, size_t* num_bytes);
/* Reads everything that has a checksum. Errors: CROCHET_DATA_LOSS. */
CROCHET_C_EXPORT int crochet_checkpoint_verify(const crochet_checkpoint* checkpoint);

/* ---- Loops. */

typedef struct crochet_loop crochet_loop;

/* A loop whose checkpoints are in a directory. Options, hooks and values are added before
   crochet_loop_start(). */
CROCHET_C_EXPORT int crochet_loop_new(const char* directory, crochet_loop** loop);
/* Sets one of LoopOptions by its path in C++: "checkpoint.every_steps" to "100". The error of an
   unknown one lists all. */
CROCHET_C_EXPORT int crochet_loop_set(crochet_loop* loop, const char* option, const char* value);
/* Adds a hook by its name:

     StopAtStepHook     the last step           StopAfterHook      seconds
     SignalHook         "SIGINT SIGTERM"        SaveOnSignalHook   "SIGUSR1"
     NanTensorHook      a scalar                LoggingTensorHook  scalars, "loss norm", every 10 s
     ProgressBarHook    scalars, or ""          HealthHook         ""                            */
CROCHET_C_EXPORT int crochet_loop_add_hook(crochet_loop* loop, const char* name,
                                           const char* argument);
/* Saves and restores an array in place, under `name`. Its elements follow each other in memory, and
   `sizes` are row-major: those of an array of Fortran in reverse order. The memory stays the
   caller's, and must stay until the loop is freed. Called again with the same type and sizes, also
   between two steps, the array has moved. */
CROCHET_C_EXPORT int crochet_loop_track(crochet_loop* loop, const char* name, void* elements,
                                        int dtype, int rank, const int64_t* sizes);
/* A number for hooks, and a curve in TensorBoard and metrics.jsonl: read after a step, only when it
   is asked for. */
CROCHET_C_EXPORT int crochet_loop_scalar(crochet_loop* loop, const char* name, const double* value);
/* Restores the newest sound checkpoint into what is tracked. `step`, which may be NULL: the number
   of steps that are complete. */
CROCHET_C_EXPORT int crochet_loop_start(crochet_loop* loop, int64_t* step);
/* 1 once the run is to end, or has failed, or before crochet_loop_start(); otherwise 0. */
CROCHET_C_EXPORT int crochet_loop_should_stop(const crochet_loop* loop);
/* What the program did since the last call, or since crochet_loop_start(), was a step: calls hooks,
   and saves if that is due, while the next step runs. After an error the run has failed. */
CROCHET_C_EXPORT int crochet_loop_end_step(crochet_loop* loop);
/* Ends the run after this step, for good. */
CROCHET_C_EXPORT int crochet_loop_request_stop(crochet_loop* loop, const char* reason);
/* Saves a checkpoint after this step. */
CROCHET_C_EXPORT int crochet_loop_request_save(crochet_loop* loop, const char* reason);
/* Ends the run, with a last checkpoint. `last_step` and `exit_code`, which may be NULL: the number
   of steps that are complete, and what the program should return, 0 or 128 + the signal that ended
   it. */
CROCHET_C_EXPORT int crochet_loop_finish(crochet_loop* loop, int64_t* last_step, int* exit_code);
/* A loop that is not finished counts as failed; its last checkpoint stays. NULL is accepted. */
CROCHET_C_EXPORT void crochet_loop_free(crochet_loop* loop);

/* ---- The journal. */

/* What happened to the run of a directory, the oldest event first: calls `each` with `context`, the
   life (from 1 on) and step, seconds since 1970-01-01 UTC, and the kind of event ("start", "saved",
   "warning", "end", ...), which is valid during the call. A result other than 0 ends the reading.
 */
typedef int (*crochet_journal_callback)(void* context, int64_t life, int64_t step, double time,
                                        const char* event);
CROCHET_C_EXPORT int crochet_journal_read(const char* directory, crochet_journal_callback each,
                                          void* context);

/* NOLINTEND(readability-identifier-naming,modernize-deprecated-headers,modernize-use-using) */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* CROCHET_C_H_ */
