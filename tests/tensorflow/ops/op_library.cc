// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A library of operations that uses TensorFlow's C API: CrochetTwice adds a number to itself, and
// CrochetStore is the handle of a resource.
#include <tensorflow/c/kernels.h>
#include <tensorflow/c/ops.h>
#include <tensorflow/c/tf_status.h>
#include <tensorflow/c/tf_tensor.h>

namespace {

void compute_twice(void*, TF_OpKernelContext* context) {
  TF_Status* const status = TF_NewStatus();
  TF_Tensor* input = nullptr;
  TF_GetInput(context, 0, &input, status);
  if (TF_GetCode(status) == TF_OK) {
    TF_Tensor* const output =
        TF_AllocateOutput(context, 0, TF_FLOAT, nullptr, 0, sizeof(float), status);
    if (TF_GetCode(status) == TF_OK) {
      const float value = *static_cast<const float*>(TF_TensorData(input));
      *static_cast<float*>(TF_TensorData(output)) = 2 * value;
      TF_DeleteTensor(output);
    }
    TF_DeleteTensor(input);
  }
  if (TF_GetCode(status) != TF_OK) TF_OpKernelContext_Failure(context, status);
  TF_DeleteStatus(status);
}

void set_unknown_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeInferenceContextSetUnknownShape(context, status);
}

void register_all() {
  TF_Status* const status = TF_NewStatus();
  TF_OpDefinitionBuilder* const twice = TF_NewOpDefinitionBuilder("CrochetTwice");
  TF_OpDefinitionBuilderAddInput(twice, "x: float");
  TF_OpDefinitionBuilderAddOutput(twice, "y: float");
  TF_OpDefinitionBuilderSetShapeInferenceFunction(twice, set_unknown_shape);
  TF_RegisterOpDefinition(twice, status);
  TF_OpDefinitionBuilder* const store = TF_NewOpDefinitionBuilder("CrochetStore");
  TF_OpDefinitionBuilderAddOutput(store, "handle: resource");
  TF_OpDefinitionBuilderSetIsStateful(store, true);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(store, set_unknown_shape);
  TF_RegisterOpDefinition(store, status);
  TF_RegisterKernelBuilder(
      "CrochetTwice", TF_NewKernelBuilder("CrochetTwice", "CPU", nullptr, compute_twice, nullptr),
      status);
  TF_DeleteStatus(status);
}

const bool is_registered = (register_all(), true);

}  // namespace
