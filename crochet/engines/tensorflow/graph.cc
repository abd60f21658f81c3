// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/graph.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/internal/process_facts.h"
#include "crochet/base/log.h"
#include "crochet/engines/tensorflow/internal/at_location.h"
#include "crochet/engines/tensorflow/internal/c_api.h"
#include "crochet/engines/tensorflow/internal/graph_def.h"
#include "crochet/engines/tensorflow/internal/graph_saver.h"
#include "crochet/engines/tensorflow/internal/meta_graph_writer.h"
#include "crochet/engines/tensorflow/internal/operation_builder.h"
#include "crochet/engines/tensorflow/internal/state_access.h"
#include "crochet/engines/tensorflow/internal/status.h"
#include "crochet/engines/tensorflow/internal/task_placement.h"
#include "crochet/engines/tensorflow/session.h"
#include "crochet/session/queue_runner.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tensor/internal/slice_cover.h"

namespace crochet::inline v0::tensorflow {
namespace {

using internal::at_location;
using internal::is_reference;
using internal::OperationBuilder;
using internal::Status;
using internal::without_index;

std::unique_ptr<TF_Graph, void (*)(TF_Graph*)> new_graph() {
  crochet::internal::add_library("tensorflow", TF_Version());
  return {TF_NewGraph(), TF_DeleteGraph};
}

DType dtype_of_output(TF_Output output) {
  const int number = internal::type_number(output) % internal::kReferenceTypes;
  return is_valid_dtype(number) ? static_cast<DType>(number) : DType::kInvalid;
}

// Unset if the shape is unknown.
std::optional<Shape> shape_of_output(TF_Graph* graph, TF_Output output) {
  Status status;
  const int rank = TF_GraphGetTensorNumDims(graph, output, status.get());
  if (!status.ok() || rank < 0) return std::nullopt;
  std::vector<int64_t> dimensions(static_cast<size_t>(rank));
  TF_GraphGetTensorShape(graph, output, dimensions.data(), rank, status.get());
  if (!status.ok()) return std::nullopt;
  try {
    return Shape(dimensions);
  } catch (const InvalidArgumentError&) {
    // Its number of elements overflows: TensorFlow reports that when it runs.
    return std::nullopt;
  }
}

TensorSlice slice_of(const Graph::Slice& part) {
  TensorSlice slice;
  for (int i = 0; i < part.shape.rank(); ++i)
    slice.push_back({part.offset[static_cast<size_t>(i)], part.shape[i]});
  return slice;
}

void check_parts(const Graph::VariableNode& variable, const std::string& file) {
  std::vector<TensorSlice> slices;
  for (const Graph::Slice& part : variable.parts) slices.push_back(slice_of(part));
  const crochet::internal::SliceCover cover = crochet::internal::cover_of(slices);
  if (cover.num_elements != variable.shape.num_elements())
    throw InvalidArgumentError(fmt::format("{}: the parts of \"{}\" have {} elements, the whole {}",
                                           file, variable.name, cover.num_elements,
                                           variable.shape.num_elements()));
  if (cover.is_entangled)
    throw InvalidArgumentError(
        fmt::format("{}: the parts of \"{}\" are too entangled to compare", file, variable.name));
  if (cover.overlap)
    throw InvalidArgumentError(fmt::format(
        "{}: the parts \"{}\" and \"{}\" of \"{}\" overlap", file,
        variable.parts[cover.overlap->first].definition->variable_name,
        variable.parts[cover.overlap->second].definition->variable_name, variable.name));
}

std::string_view global_step_variable(const MetaGraph& definition) {
  const auto found = definition.variables.find(kGlobalStepCollection);
  if (found != definition.variables.end() && found->second.size() == 1)
    return without_index(found->second.front().variable_name);
  return "global_step";
}

// The name if it is free, otherwise a free one that begins with it: a graph that was stored with a
// checkpoint already has the operations of its run.
std::string free_name(const Graph& graph, const std::string& name) {
  std::string result = name;
  for (int i = 1; graph.find_operation(result) != nullptr; ++i)
    result = fmt::format("{}_{}", name, i);
  return result;
}

}  // namespace

Graph Graph::import_meta_graph(const std::string& path, const ImportOptions& options) {
  return from_meta_graph(internal::read_graph_file(options.files, path), path, options);
}

Graph Graph::from_meta_graph(std::string bytes, const std::string& name,
                             const ImportOptions& options) {
  return Graph(std::move(bytes), name, options);
}

Graph Graph::import_graph_def(const std::string& path, const ImportOptions& options) {
  return from_graph_def(internal::read_graph_file(options.files, path), path, options);
}

Graph Graph::from_graph_def(std::string bytes, const std::string& name,
                            const ImportOptions& options) {
  internal::check_is_binary(bytes, name);
  if (bytes.empty())
    throw InvalidArgumentError(fmt::format("{}: the GraphDef has no operations", name));
  MetaGraph graph;
  graph.tensorflow_version = TF_Version();
  graph.graph_def = std::move(bytes);
  return from_meta_graph(internal::serialize(graph), name, options);
}

Graph::Graph(std::string bytes, const std::string& name, const ImportOptions& options)
    : bytes_(std::make_shared<const std::string>(std::move(bytes))),
      definition_(parse_meta_graph(*bytes_, name)),
      graph_(new_graph()) {
  import_nodes(name, options);
  check_global_step(name);
  add_variables(name);
  take_names_of_saver();
  add_collections(name);
  add_queue_runners(name);
  if (definition_.saver || !definition_.savers.empty())
    attach<crochet::internal::StateOperations>(std::make_shared<internal::GraphSaver>(*this));
}

Graph::Graph() : definition_(), graph_(new_graph()) {}

Graph::~Graph() = default;

// The GraphDef with this task's operations placed on it.
std::string Graph::place(const std::string& name, const ImportOptions& options) const {
  if (options.task.empty() ? options.ps_tasks != 0 : options.ps_tasks < 0)
    throw InvalidArgumentError(
        fmt::format("{}: imported for task \"{}\" with variables on {} tasks", name, options.task,
                    options.ps_tasks));
  if (options.task.empty()) return definition_.graph_def;
  internal::VariablePlacement spread = {.num_tasks = options.ps_tasks};
  for (const VariableDef* const variable : definitions("variables"))
    spread.variables.insert(without_index(variable->variable_name));
  return internal::place_on_task(definition_.graph_def, internal::parse_task(options.task), spread,
                                 name);
}

void Graph::import_nodes(const std::string& name, const ImportOptions& options_of_import) {
  const std::string graph_def = internal::prepare_graph_def(
      place(name, options_of_import), global_step_variable(definition_), name);
  const internal::BufferPtr buffer(TF_NewBufferFromString(graph_def.data(), graph_def.size()));
  const internal::ImportOptionsPtr options(TF_NewImportGraphDefOptions());
  Status status;
  TF_GraphImportGraphDef(graph_.get(), buffer.get(), options.get(), status.get());
  status.check(name);
  for (TF_Operation* const operation : internal::operations_of(graph_.get())) add_node(operation);
  num_imported_ = nodes_.size();
  num_imported_functions_ = static_cast<size_t>(TF_GraphNumFunctions(graph_.get()));
}

Graph::Node& Graph::add_node(TF_Operation* operation) {
  auto node = std::make_unique<Node>();
  node->graph = this;
  node->name = TF_OperationName(operation);
  node->num_outputs = TF_OperationNumOutputs(operation);
  node->operation = operation;
  for (int i = 0; i < node->num_outputs; ++i) {
    const DType dtype = dtype_of_output({operation, i});
    node->outputs.push_back(
        {.dtype = dtype, .shape = shape_of_output(graph_.get(), {operation, i})});
    // Strings are always copied; handles of queues are references to strings.
    if (is_reference({operation, i}) && dtype != DType::kString) has_reference_variables_ = true;
  }
  nodes_by_name_.emplace(node->name, node.get());
  nodes_.push_back(std::move(node));
  return *nodes_.back();
}

Graph::Slice Graph::make_part(const VariableDef& definition, const std::string& file) {
  const std::string place =
      fmt::format("{}: collection_def[\"variables\"]: \"{}\"", file, definition.variable_name);
  Slice part = {.definition = &definition};
  part.handle =
      at_location(place, [&] { return node_of(output(definition.variable_name)).operation; });
  part.initializer = at_location(place, [&] { return operation(definition.initializer_name); });
  if (is_reference({part.handle, 0})) {
    has_reference_variables_ = true;
    const std::string name = fmt::format("crochet/snapshot/{}", TF_OperationName(part.handle));
    part.value = at_location(place, [&] { return copy_of(part.handle, name); });
  } else {
    part.value = at_location(place, [&] { return output(definition.snapshot_name); });
  }
  const OutputInfo info = output_info(part.value);
  if (!info.shape || (element_size(info.dtype) == 0 && info.dtype != DType::kString))
    throw UnimplementedError(fmt::format(
        "{}: the variable \"{}\" is of {} and {} shape: it cannot be saved", file,
        definition.variable_name, info.dtype, info.shape ? to_string(*info.shape) : "unknown"));
  part.shape = *info.shape;
  if (!definition.slice) return part;
  if (part.shape != Shape(definition.slice->shape))
    throw InvalidArgumentError(
        fmt::format("{}: \"{}\" has the shape {}, its slice of \"{}\" the shape {}", file,
                    definition.variable_name, part.shape, definition.slice->full_name,
                    Shape(definition.slice->shape)));
  part.offset = definition.slice->offset;
  return part;
}

// A graph that was stored with a checkpoint already has it.
Output Graph::copy_of(TF_Operation* handle, const std::string& name) {
  const OperationInfo* const known = find_operation(name);
  if (known == nullptr) {
    OperationBuilder copy(graph_.get(), "DeepCopy", name);
    copy.input({handle, 0}).colocate_with(handle);
    return Output(&add_node(copy.finish()), 0);
  }
  TF_Operation* const operation = node_of(*known).operation;
  if (std::string_view(TF_OperationOpType(operation)) != "DeepCopy" ||
      TF_OperationInput({operation, 0}).oper != handle)
    throw InvalidArgumentError(fmt::format("operation \"{}\" does not copy it", name));
  return Output(known, 0);
}

void Graph::add_variables(const std::string& file) {
  std::map<std::string, VariableNode*, std::less<>> by_name;
  for (const VariableDef* const definition : definitions("variables")) {
    Slice part = make_part(*definition, file);
    const std::string name = definition->slice
                                 ? definition->slice->full_name
                                 : std::string(without_index(definition->variable_name));
    VariableNode*& node = by_name[name];
    if (node == nullptr) {
      variables_.push_back(std::make_unique<VariableNode>());
      node = variables_.back().get();
      node->graph = this;
      node->name = name;
      node->dtype = output_info(part.value).dtype;
      node->shape = definition->slice ? Shape(definition->slice->full_shape) : part.shape;
    } else if (!definition->slice || node->shape != Shape(definition->slice->full_shape) ||
               node->dtype != output_info(part.value).dtype) {
      throw InvalidArgumentError(
          fmt::format("{}: two variables are called \"{}\" in checkpoints", file, name));
    }
    node->parts.push_back(std::move(part));
  }
  for (const auto& node : variables_) {
    if (node->parts.front().definition->slice) check_parts(*node, file);
    if (node->parts.size() > 1 && node->dtype == DType::kString)
      throw UnimplementedError(
          fmt::format("{}: the variable \"{}\" is of strings and partitioned", file, node->name));
  }
}

void Graph::add_collections(const std::string& file) {
  for (const auto& [collection, names] : definition_.nodes) {
    const std::string place = fmt::format("{}: collection_def[\"{}\"]", file, collection);
    for (const std::string& name : names)
      add_to_collection(collection, internal::find_element(*this, name, place));
  }
}

void Graph::add_queue_runners(const std::string& file) {
  const auto find = [&](const std::string& name) {
    return at_location(file + ": collection_def[\"queue_runners\"]",
                       [&] { return Output(operation(name)); });
  };
  for (const QueueRunnerDef& runner : definition_.queue_runners) {
    QueueRunnerOptions options = {.queue_name = runner.queue_name, .enqueue_ops = {}};
    for (const std::string& name : runner.enqueue_op_names)
      options.enqueue_ops.push_back(find(name));
    if (!runner.close_op_name.empty()) options.close_op = find(runner.close_op_name);
    if (!runner.cancel_op_name.empty()) options.cancel_op = find(runner.cancel_op_name);
    if (!runner.queue_closed_exception_types.empty())
      options.queue_closed_codes = runner.queue_closed_exception_types;
    add_background_loop(std::make_shared<QueueRunner>(std::move(options)));
  }
}

Operation Graph::group(std::string name, std::span<const Output> operations) {
  check_not_finalized(name);
  for (const Output& output : operations) check_has(output);
  OperationBuilder builder(graph_.get(), "NoOp", std::move(name));
  for (const Output& output : operations) builder.control_input(node_of(output).operation);
  return Operation(&add_node(builder.finish()));
}

void Graph::check_can_add(const std::string& name) const {
  check_not_finalized(name);
  if (!internal::is_legal_operation_name(name) || name.starts_with('_') ||
      name.starts_with("crochet/"))
    throw InvalidArgumentError(fmt::format("\"{}\" is not a valid name for an operation", name));
  if (find_operation(name) != nullptr)
    throw AlreadyExistsError(fmt::format("the graph already has an operation \"{}\"", name));
}

void Graph::check_can_add_variable(const std::string& name) const {
  check_can_add(name);
  if (std::ranges::find(saveables(), name, &RegisteredSaveable::name) != saveables().end())
    throw AlreadyExistsError(fmt::format("the graph already has an object \"{}\"", name));
  for (const auto& variable : variables_)
    if (variable->name == name)
      throw AlreadyExistsError(fmt::format("the graph already has a variable \"{}\"", name));
  for (const char* const part :
       {"/initial_value", "/initial_value_checked", "/Assign", "/Read/ReadVariableOp"})
    check_can_add(name + part);
}

std::unique_ptr<crochet::Session> Graph::new_session(const std::string& target,
                                                     const SessionConfig& config) {
  return std::make_unique<Session>(*this, target, config);
}

const OperationInfo* Graph::find_operation(std::string_view name) const {
  const auto found = nodes_by_name_.find(name);
  return found == nodes_by_name_.end() ? nullptr : found->second;
}

std::vector<std::string> Graph::operation_names() const {
  std::vector<std::string> names;
  names.reserve(nodes_.size());
  for (const auto& node : nodes_) names.push_back(node->name);
  return names;
}

std::vector<Variable> Graph::variables() const {
  std::vector<Variable> variables;
  for (const auto& node : variables_) variables.emplace_back(Variable(node.get()));
  return variables;
}

void Graph::check_has(const Output& output) const {
  if (output.graph() != this)
    throw InvalidArgumentError(fmt::format("{} is not an output of this graph", to_string(output)));
  // TensorFlow would report OutOfRange, which means the end of the data.
  if (output.index() < Output::kNoValue || output.index() >= output.operation()->num_outputs)
    throw InvalidArgumentError(
        fmt::format("{} is not an output of this graph: the operation has {}", to_string(output),
                    output.operation()->num_outputs));
}

OutputInfo Graph::output_info(const Output& output) const {
  if (!output.has_value()) return {};
  check_has(output);
  return node_of(output).outputs.at(static_cast<size_t>(output.index()));
}

void Graph::check_global_step(const std::string& file) const {
  if (definition_.variables.contains(kGlobalStepCollection) && !step_read())
    throw NotFoundError(fmt::format("{}: collection_def[\"{}\"]: the graph has no variable \"{}\"",
                                    file, kGlobalStepCollection,
                                    global_step_variable(definition_)));
}

Output Graph::global_step() const {
  const Output step = step_read();
  if (!step) return step;
  const OutputInfo info = output_info(step);
  if ((info.dtype != DType::kInt32 && info.dtype != DType::kInt64) ||
      (info.shape && info.shape->rank() != 0))
    throw InvalidArgumentError(
        fmt::format("the global step \"{}\" is {} {}, expected a scalar of type int32 or int64",
                    global_step_variable(definition_), info.dtype,
                    info.shape ? to_string(*info.shape) : "of any shape"));
  return step;
}

Output Graph::step_read() const {
  const OperationInfo* const read = find_operation(internal::kGlobalStepNode);
  return read == nullptr ? Output() : Output(read, 0);
}

Output Graph::requested(std::string_view name) const {
  const Output found = crochet::Graph::requested(name);
  TF_Operation* const operation = node_of(found).operation;
  if (operation == global_step_handle()) return global_step();
  if (std::string_view(TF_OperationOpType(operation)) != "VarHandleOp") return found;
  for (const std::string_view collection : {"variables", "local_variables"})
    for (const VariableDef* const definition : definitions(collection))
      if (without_index(definition->variable_name) == TF_OperationName(operation))
        return output(definition->snapshot_name);
  return found;
}

TF_Operation* Graph::global_step_handle() const {
  const Output read = step_read();
  return read ? TF_OperationInput({node_of(read).operation, 0}).oper : nullptr;
}

Variable Graph::add_variable(VariableDef definition,
                             std::span<const std::string_view> collections) {
  const VariableDef& kept = added_definitions_.emplace_back(std::move(definition));
  auto node = std::make_unique<VariableNode>();
  node->graph = this;
  node->name = without_index(kept.variable_name);
  node->parts.push_back(make_part(kept, "added"));
  node->dtype = output_info(node->parts.front().value).dtype;
  node->shape = node->parts.front().shape;
  for (const std::string_view collection : collections)
    added_to_collections_[std::string(collection)].push_back(&kept);
  const bool is_saved =
      std::ranges::find(collections, std::string_view("variables")) != collections.end();
  auto& variables = is_saved ? variables_ : local_variables_;
  return Variable(variables.emplace_back(std::move(node)).get());
}

std::string Graph::global_step_name() const {
  return step_read() ? std::string(global_step_variable(definition_)) : "";
}

std::vector<const VariableDef*> Graph::definitions(std::string_view collection) const {
  std::vector<const VariableDef*> result;
  std::unordered_set<std::string_view> names;
  if (const auto found = definition_.variables.find(collection);
      found != definition_.variables.end())
    for (const VariableDef& definition : found->second)
      if (names.insert(definition.variable_name).second) result.push_back(&definition);
  if (const auto found = added_to_collections_.find(collection);
      found != added_to_collections_.end())
    result.insert(result.end(), found->second.begin(), found->second.end());
  return result;
}

Output Graph::group_of_initializers(const std::string& name, std::string_view collection) {
  std::vector<Output> initializers;
  for (const VariableDef* const definition : definitions(collection))
    initializers.push_back(at_location(fmt::format("collection_def[\"{}\"]", collection),
                                       [&] { return operation(definition->initializer_name); }));
  if (collection == "local_variables")
    for (const Output& table : this->collection("table_initializer")) initializers.push_back(table);
  return initializers.empty() ? Output() : Output(group(free_name(*this, name), initializers));
}

Output Graph::default_init_op() { return group_of_initializers("crochet/init", "variables"); }

Output Graph::default_local_init_op() {
  return group_of_initializers("crochet/local_init", "local_variables");
}

Output Graph::default_ready_op() {
  std::vector<const VariableDef*> all = definitions("variables");
  for (const VariableDef* const definition : definitions("local_variables"))
    all.push_back(definition);
  return report_uninitialized("crochet/ready", all);
}

// Only if there is something to initialise then: Python also requires both or neither.
Output Graph::default_ready_for_local_init_op() {
  if (definitions("local_variables").empty() && collection("table_initializer").empty())
    return Output();
  return report_uninitialized("crochet/ready_for_local_init", definitions("variables"));
}

// names[where(not initialised)], by operations that exist: Pack, LogicalNot, Where and GatherNd.
Output Graph::report_uninitialized(const std::string& wanted_name,
                                   const std::vector<const VariableDef*>& definitions) {
  if (definitions.empty()) return Output();
  check_not_finalized(wanted_name);
  const std::string name = free_name(*this, wanted_name);
  TF_Graph* const graph = graph_.get();
  std::vector<TF_Output> flags;
  std::vector<std::string> names;
  for (const VariableDef* const definition : definitions) {
    TF_Operation* const handle = node_of(output(definition->variable_name)).operation;
    const char* const type =
        is_reference({handle, 0}) ? "IsVariableInitialized" : "VarIsInitializedOp";
    OperationBuilder flag(graph, type, fmt::format("{}/{}", name, TF_OperationName(handle)));
    flags.push_back({flag.input({handle, 0}).colocate_with(handle).finish(), 0});
    names.emplace_back(without_index(definition->variable_name));
  }
  OperationBuilder constant(graph, "Const", name + "/names");
  TF_Operation* const all_names = constant.attribute("value", Tensor::from(std::move(names)))
                                      .attribute("dtype", DType::kString)
                                      .finish();
  OperationBuilder pack(graph, "Pack", name + "/flags");
  OperationBuilder negation(graph, "LogicalNot", name + "/not");
  negation.input({pack.input_list(flags).finish(), 0});
  OperationBuilder where(graph, "Where", name + "/where");
  where.input({negation.finish(), 0});
  OperationBuilder gather(graph, "GatherNd", name);
  gather.input({all_names, 0}).input({where.finish(), 0});
  return Output(&add_node(gather.finish()), 0);
}

bool Graph::changes_variables(std::span<const Output> outputs) const {
  std::vector<TF_Operation*> roots;
  for (const Output& output : outputs) roots.push_back(node_of(output).operation);
  std::unordered_set<TF_Operation*> saved;
  for (const auto& variable : variables_)
    for (const Slice& part : variable->parts) saved.insert(part.handle);
  return internal::changes_state(roots, saved);
}

}  // namespace crochet::inline v0::tensorflow
