# Copyright 2026 The crochet authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks every include of a crochet header against the table of layers:
#
#   cmake -D ROOT=<folder with crochet/ and tools/> -P layering.cmake
#
# and checks for calls that only certain files may make. Prints a line for each forbidden include
# and call, and then fails. docs/architecture.md, if there is one, must have the table as its map:
#
#   cmake -D ROOT=<folder> -D WRITE=ON -P layering.cmake
#
# writes that map.
cmake_minimum_required(VERSION 3.25)

# folder | the layers it may include in addition to itself | what it is. "." stands for the headers in
# crochet/ itself, of which version.h has a line of its own, "*" for every layer of the core. A folder
# includes its subfolders, unless they have their own line; allowing another folder allows all of its
# subfolders. Tests may also include testing and the headers of ".", tests in one folder of
# checkpoint/ the others, and those of engines/tensorflow its builder.
set(table
    "version.h                  |  | the version"
    "base                       |  | errors by canonical code, clock, log callback, the pending signal, threads"
    "group                      | base | processes that run one program together: `Group`, `SocketGroup` over TCP, `RankWatch` that notices who is lost"
    "io                         | base | files, directories held open, large files that bypass the page cache, atomic replacement, locks, crc32c"
    "journal                    | io base | what happened to a run, line by line: `events.jsonl`"
    "control                    | io base | what a run is asked from outside, by files in its directory: requests, answers, limits"
    "tensor                     | base | element types, shapes, shared aligned buffers, `Tensor`, DLPack"
    "session                    | tensor base | the contract with an engine: `Graph`, `Session`, `Output`, `Variable`, `Snapshot`, `Saveable`"
    "copies                     | session tensor base | memory that a program keeps changing while a snapshot needs it: borrowed arrays, the barrier of their writes, threads that copy"
    "checkpoint/format          | tensor io base | what all formats share: names of files, `StoredTensors`, `CheckpointWriter`, `StagedFiles`, `AddedTensors`"
    "checkpoint/bundle          | checkpoint/format tensor io base | TensorFlow's tensor bundle: table, index, data, `merge_bundles`"
    "checkpoint/safetensors     | checkpoint/format tensor io base | safetensors: header, notes, shards"
    "checkpoint/torch           | checkpoint/format tensor io base | files of PyTorch, only to read"
    "checkpoint/any_format            | checkpoint/bundle checkpoint/safetensors checkpoint/torch checkpoint/format tensor io base | one checkpoint of any format: `CheckpointReader`, `CheckpointPass`"
    "checkpoint/directory       | checkpoint/any_format checkpoint/bundle checkpoint/format session tensor io base version.h | the checkpoints of a directory: `CheckpointDirectory`, `CheckpointList`, state file, sidecars, retention"
    "checkpoint/saver           | checkpoint/directory checkpoint/any_format checkpoint/bundle checkpoint/format session tensor io base | saving and restoring the state of a session: `Saver`, `Publisher`, `BackgroundSaver`, `CheckpointManager`"
    "summary                    | session tensor io base | TensorBoard event files, JSON lines, histograms, Chrome traces"
    "ranks                      | checkpoint session tensor io group base | what the ranks of a run agree on: `RunAgreement`, alone or of a group; the parts that they save together"
    "training                    | ranks checkpoint session tensor io group base | `SessionRunHook`, `Coordinator`, `Scaffold`, `SessionManager`, the wrappers of a session, `MonitoredSession`"
    "hooks                      | training ranks summary checkpoint session tensor control journal io group base | the hooks, a header each or with those that they serve"
    "hooks/guards               | hooks training ranks summary checkpoint session tensor io group base | hooks that end a bad night well, each on request: `PreemptionHook`, `SpikeGuardHook`, `WatchdogHook`, `HealthHook`, `ReplayCheckHook`, `ReplicaCheckHook`, `WeightAveraging`"
    "cloud                      | checkpoint session tensor io base | a component: requests by HTTP, object stores, copies of checkpoints in them"
    "hooks/guards/cloud         | cloud hooks/guards hooks training ranks checkpoint session tensor journal io group base | a component: notices of clouds that take a machine back, and `MirrorHook`"
    "engines/local              | copies session tensor io base | the default engine: runs C++ callables"
    "engines/tensorflow         | training ranks session tensor io base | a component: runs graphs that Python exported or that are built in C++, through TensorFlow's C API"
    "engines/tensorflow/builder | engines/tensorflow training ranks session tensor io base | `GraphBuilder`, which builds such graphs in C++"
    "tracking                   | engines/local copies checkpoint session tensor io base | values of the program as state: `Tracker`, and what it knows of types, classes, containers, `Epochs`"
    "outputs                    | tracking training ranks engines/local copies checkpoint session tensor io group base | what a run writes, in agreement with its checkpoints: `OutputFile`"
    "loop                       | outputs control journal tracking hooks engines/local copies training ranks summary checkpoint session tensor io group base version.h | the entry points `train`, `Loop` and `Evaluator`, their options, default hooks, schedules"
    "c                          | . loop tracking hooks/guards hooks engines/local copies training ranks journal summary checkpoint session tensor io group base version.h | `c.h`, for programs in C and in the languages that call C"
    "libtorch                   | loop outputs tracking hooks engines/local copies training ranks summary checkpoint session tensor io group base | a component: modules, optimizers, generators and samplers of LibTorch as tracked values"
    "mpi                        | group base | a component: a `Group` over MPI"
    "testing                    | * | fake clock, files in memory, failing files, contract suites, for users' tests too"
    "tools                      | cloud hooks/guards outputs control journal checkpoint summary session tensor io base version.h | the command `crochet`"
    ".                          | * . engines/tensorflow libtorch | `crochet.h`, the umbrella header, `eigen.h`, `fmt.h`")
set(core base group io control journal tensor session copies checkpoint summary ranks training hooks engines/local tracking outputs loop c)

foreach(line IN LISTS table)
  string(REGEX MATCH "^([^ ]+) *\\|([^|]*)\\| (.*)$" matched "${line}")
  set(folder "${CMAKE_MATCH_1}")
  set("purpose_${folder}" "${CMAKE_MATCH_3}")
  string(REGEX MATCHALL "[^ ]+" allowed "${CMAKE_MATCH_2}")
  list(TRANSFORM allowed REPLACE "^\\*$" "${core}")
  list(APPEND folders "${folder}")
  set("allowed_${folder}" "${allowed}")
endforeach()

# the files | a regular expression of calls that no other file may make, except tests. The first of
# these files has checks that every caller needs: of the cost of JSON, of what is opened, of what
# is removed and by whom.
set(reserved
    "crochet/base/internal/parse_json.cc | [Jj]son::(parse|accept|from_[a-z]+)\\(|sax_parse\\("
    "crochet/base/internal/dynamic_type.h | dynamic_cast<|typeid\\("
    "crochet/io/internal/open_file.cc,crochet/io/internal/own_copy.cc,crochet/io/internal/posix_file_system.cc,crochet/base/internal/command_line.cc,crochet/base/internal/process_facts.cc,tools/kernel_log.cc | [ (!=]::open(at2?)?\\(|fopen\\(|opendir\\(|mkstemp\\(|fstream "
    "crochet/io/internal/posix_file_system.cc,crochet/io/internal/direct_writer.cc,crochet/io/internal/own_copy.cc,tools/scratch_directory.cc | [ (!=]::(unlink|unlinkat|rmdir|rename|renameat2?|mkdir|mkdirat)\\(|filesystem::(remove|rename|create_dir|copy|resize)"
    "crochet/checkpoint/directory/internal/checkpoint_directory.cc,crochet/checkpoint/directory/checkpoint_files.cc,crochet/checkpoint/directory/checkpoint_files.h | remove_checkpoint\\(")

# The same for tests: a wait has a limit, and says what it waited for.
set(reserved_in_tests "tests/support/wait_until.h | while .*yield\\(\\)")

# Appends to `violations` the reserved calls in a file.
function(check_calls file)
  if(file MATCHES "_test\\.cc$|/tool_run\\.h$|^crochet/testing/")
    set(reserved "${reserved_in_tests}")
  endif()
  foreach(line IN LISTS reserved)
    string(REGEX MATCH "^([^ ]+) \\| (.*)$" matched "${line}")
    string(REPLACE "," ";" owners "${CMAKE_MATCH_1}")
    set(call "${CMAKE_MATCH_2}")
    if(file IN_LIST owners)
      continue()
    endif()
    file(STRINGS "${ROOT}/${file}" calls REGEX "${call}")
    if(calls)
      list(GET owners 0 owner)
      list(APPEND violations "${file}: only ${owner} may call what it calls")
    endif()
  endforeach()
  set(violations "${violations}" PARENT_SCOPE)
endfunction()

# The line of the table for a path below crochet/, or "tools/..." for a tool; empty if there is none.
function(find_folder path out)
  set(folder "${path}")
  while(NOT folder IN_LIST folders AND NOT folder STREQUAL "")
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
  if(folder STREQUAL "" AND NOT path MATCHES "/")
    set(folder ".")
  endif()
  set(${out} "${folder}" PARENT_SCOPE)
endfunction()

# Appends to `violations` the forbidden includes of a file.
function(check_file file path)
  find_folder("${path}" folder)
  if(folder STREQUAL "")
    list(APPEND violations "${file}: its folder is not in the table")
  endif()
  set(allowed "${allowed_${folder}}")
  if(path MATCHES "_test\\.cc$")
    list(APPEND allowed testing .)
    if(folder MATCHES "^(checkpoint)/|^(engines/tensorflow)$")
      list(APPEND allowed ${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
    endif()
  endif()
  file(STRINGS "${ROOT}/${file}" includes REGEX "^[ \t]*#[ \t]*include[ \t]*[\"<]crochet/")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE ".*[\"<]crochet/([^\">]*)[\">].*" "\\1" header "${include}")
    find_folder("${header}" included)
    set(parent "${included}")
    while(NOT included STREQUAL folder AND NOT parent IN_LIST allowed AND NOT parent STREQUAL "")
      cmake_path(GET parent PARENT_PATH parent)
    endwhile()
    if(parent STREQUAL "")
      list(APPEND violations "${file}: ${folder} may not include crochet/${header}")
    endif()
  endforeach()
  set(violations "${violations}" PARENT_SCOPE)
endfunction()

set(violations "")
file(GLOB_RECURSE files RELATIVE "${ROOT}" "${ROOT}/crochet/*.h" "${ROOT}/crochet/*.cc"
     "${ROOT}/tools/*.h" "${ROOT}/tools/*.cc")
foreach(file IN LISTS files)
  string(REGEX REPLACE "^crochet/" "" path "${file}")
  check_file("${file}" "${path}")
  check_calls("${file}")
endforeach()

list(LENGTH files num_files)
if(num_files EQUAL 0)
  message(FATAL_ERROR "${ROOT}: no source files")
endif()
if(violations)
  list(JOIN violations "\n" text)
  message("${text}")
  message(FATAL_ERROR "includes or calls that are not allowed")
endif()

# The layers on which a folder is built: those that it may include, and that no other of these may.
function(find_supports folder out)
  set(supports ${allowed_${folder}})
  foreach(layer IN LISTS allowed_${folder})
    foreach(each IN LISTS folders)
      string(FIND "${each}/" "${layer}/" is_inside)
      if(is_inside EQUAL 0 AND NOT each STREQUAL folder)
        list(REMOVE_ITEM supports ${allowed_${each}})
      endif()
    endforeach()
  endforeach()
  set(${out} "${supports}" PARENT_SCOPE)
endfunction()

set(page "${ROOT}/docs/architecture.md")
if(EXISTS "${page}")
  set(map "| folder | what it is | built on |\n| --- | --- | --- |\n")
  set(all ${folders})
  list(REMOVE_ITEM all version.h .)
  foreach(folder IN LISTS all)
    if("${allowed_${folder}}" STREQUAL "${core}")
      set(supports "the layer that it is for")
    else()
      find_supports("${folder}" supports)
      list(REMOVE_ITEM supports version.h)
      list(JOIN supports ", " supports)
    endif()
    string(APPEND map "| `${folder}` | ${purpose_${folder}} | ${supports} |\n")
  endforeach()
  file(READ "${page}" text)
  string(REGEX REPLACE "\\| folder \\| what it is \\|[^\n]*\n(\\|[^\n]*\n)*" "${map}" with_map "${text}")
  if(NOT with_map STREQUAL text)
    if(NOT WRITE)
      message(FATAL_ERROR "docs/architecture.md has another map: write it, with -D WRITE=ON")
    endif()
    file(WRITE "${page}" "${with_map}")
  endif()
  string(FIND "${with_map}" "${map}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "docs/architecture.md has no map: a table that begins with | folder | what it is |")
  endif()
endif()
message(STATUS "${num_files} files include only what their layers allow")
