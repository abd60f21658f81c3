// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The functions of LightGBM's C interface that the example uses: the package of Python has the
// library without its header. Source: https://lightgbm.readthedocs.io/en/stable/C-API.html, 4.7.
#pragma once

#include <cstdint>

using LgbmHandle = void*;

inline constexpr int kLgbmFloat32 = 0;   // C_API_DTYPE_FLOAT32
inline constexpr int kLgbmFloat64 = 1;   // C_API_DTYPE_FLOAT64
inline constexpr int kLgbmRawScore = 1;  // C_API_PREDICT_RAW_SCORE

extern "C" {
// Each returns 0, or -1 for an error.
const char* LGBM_GetLastError();
int LGBM_DatasetCreateFromMat(const void* data, int data_type, int32_t rows, int32_t columns,
                              int is_row_major, const char* parameters, LgbmHandle reference,
                              LgbmHandle* out);
int LGBM_DatasetSetField(LgbmHandle dataset, const char* name, const void* data, int size,
                         int data_type);
int LGBM_DatasetFree(LgbmHandle dataset);
int LGBM_BoosterCreate(LgbmHandle dataset, const char* parameters, LgbmHandle* out);
int LGBM_BoosterLoadModelFromString(const char* model, int* num_iterations, LgbmHandle* out);
int LGBM_BoosterMerge(LgbmHandle booster, LgbmHandle other);
int LGBM_BoosterUpdateOneIter(LgbmHandle booster, int* is_finished);
int LGBM_BoosterPredictForMat(LgbmHandle booster, const void* data, int data_type, int32_t rows,
                              int32_t columns, int is_row_major, int predict_type,
                              int start_iteration, int num_iterations, const char* parameters,
                              int64_t* num_results, double* results);
int LGBM_BoosterSaveModelToString(LgbmHandle booster, int start_iteration, int num_iterations,
                                  int importance_type, int64_t buffer_size, int64_t* size,
                                  char* buffer);
int LGBM_BoosterFree(LgbmHandle booster);
}
