// The statistics of the Alibaba GPU trace of 2023 ("openb"): counts of node shapes, of its tasks' most
// frequent shapes (96 % of its tasks), and of the models that tasks of its constrained variants name.
#include "simulate/tasks.h"

namespace berth::simulate {
namespace {

struct NodeCount {
  std::int64_t count, cpu_milli, memory_mib, gpus;
  const char* model;
};
constexpr NodeCount kNodes[] = {
    {549, 96000, 393216, 8, "G2"},     {387, 104000, 524288, 2, "T4"},    {107, 16000, 122880, 2, "P100"},
    {39, 128000, 786432, 8, "G3"},     {28, 32000, 131072, 4, "V100M16"}, {22, 64000, 262144, 2, "P100"},
    {21, 96000, 786432, 8, "V100M32"}, {19, 8000, 32768, 1, "V100M16"},   {17, 96000, 393216, 4, "T4"},
    {9, 48000, 376832, 4, "V100M32"},  {7, 64000, 262144, 8, "V100M16"},  {3, 8000, 61440, 1, "P100"},
    {2, 8000, 61440, 2, "P100"},       {2, 128000, 1048576, 1, "A10"},    {1, 82000, 344064, 8, "V100M16"},
};

struct TaskCount {
  std::int64_t count, cpu_milli, memory_mib, gpus, hundredths;
};
constexpr TaskCount kTasks[] = {
    {364, 12500, 57344, 0, 0},   {284, 32000, 49152, 0, 0},   {163, 8000, 30517, 0, 0},
    {120, 15400, 51200, 0, 0},   {95, 16500, 51200, 0, 0},    {53, 4000, 15258, 1, 16},
    {20, 6000, 22888, 1, 16},    {24, 4000, 15258, 1, 22},    {19, 8000, 30517, 1, 22},
    {84, 4000, 30517, 1, 23},    {26, 4000, 22888, 1, 23},    {18, 8000, 30517, 1, 23},
    {12, 4000, 15258, 1, 23},    {111, 4000, 22888, 1, 32},   {78, 4000, 15258, 1, 32},
    {72, 8000, 30517, 1, 32},    {43, 4000, 30517, 1, 32},    {22, 1000, 2048, 1, 32},
    {45, 4152, 10600, 1, 37},    {51, 6000, 6144, 1, 46},     {29, 6000, 12288, 1, 46},
    {18, 6000, 18432, 1, 46},    {388, 11908, 47104, 1, 47},  {360, 8000, 30517, 1, 47},
    {18, 4000, 22888, 1, 48},    {72, 4152, 10600, 1, 55},    {75, 3152, 5600, 1, 59},
    {237, 11908, 47104, 1, 65},  {12, 8000, 30517, 1, 65},    {1047, 3152, 5600, 1, 81},
    {31, 4152, 10600, 1, 81},    {857, 11300, 49152, 1, 100}, {534, 11400, 48128, 1, 100},
    {470, 3152, 5600, 1, 100},   {255, 18708, 64512, 1, 100}, {195, 9810, 41560, 1, 100},
    {158, 12000, 24576, 1, 100}, {158, 15700, 58368, 1, 100}, {153, 11908, 47104, 1, 100},
    {108, 16000, 32768, 1, 100}, {104, 8000, 16384, 1, 100},  {104, 4000, 24576, 1, 100},
    {99, 12000, 16384, 1, 100},  {93, 14200, 58368, 1, 100},  {84, 24200, 93184, 1, 100},
    {65, 11400, 77824, 1, 100},  {55, 8000, 32768, 1, 100},   {51, 11900, 77824, 1, 100},
    {44, 12000, 15360, 1, 100},  {41, 8200, 33792, 1, 100},   {40, 4000, 31250, 1, 100},
    {36, 15200, 80896, 1, 100},  {33, 16000, 65536, 1, 100},  {27, 16400, 125952, 1, 100},
    {16, 11300, 37888, 1, 100},  {15, 1000, 6144, 1, 100},    {7, 16200, 66560, 2, 100},
    {3, 6000, 65536, 2, 100},    {3, 30200, 160768, 2, 100},  {2, 17400, 43008, 2, 100},
    {1, 14000, 60000, 2, 100},   {9, 32200, 132096, 4, 100},  {3, 32000, 131072, 4, 100},
    {3, 60200, 320512, 4, 100},  {18, 88000, 327680, 8, 100}, {18, 64200, 263168, 8, 100},
    {3, 120000, 737280, 8, 100}, {3, 64000, 262144, 8, 100},  {2, 120200, 640000, 8, 100},
};

struct ModelsCount {
  std::int64_t count;
  std::vector<std::string> models;
};
const std::vector<ModelsCount>& constraints() {
  static const std::vector<ModelsCount> all = {
      {718, {"T4"}},
      {213, {"G2"}},
      {212, {"P100"}},
      {111, {"V100M16", "V100M32"}},
      {54, {"P100", "V100M16", "V100M32"}},
      {51, {"G3"}},
      {20, {"G2", "P100", "T4", "V100M16", "V100M32"}},
      {15, {"V100M32"}},
      {14, {"P100", "T4", "V100M16", "V100M32"}},
      {11, {"A10", "G2", "T4", "V100M16", "V100M32"}},
      {9, {"A10", "T4"}},
      {8, {"P100", "V100M16"}},
      {6, {"V100M16"}},
  };
  return all;
}

// The models of the n-th constrained task, spread evenly over the counts.
const std::vector<std::string>& models_of(std::int64_t n) {
  std::int64_t all = 0;
  for (const ModelsCount& one : constraints()) all += one.count;
  constexpr std::int64_t kStride = 7919;  // a prime: neighbours get different models
  std::int64_t at = n * kStride % all;
  for (const ModelsCount& one : constraints()) {
    if (at < one.count) return one.models;
    at -= one.count;
  }
  return constraints().front().models;
}

}  // namespace

Trace openb_statistics(std::int64_t constrained_percent) {
  Trace trace;
  for (const NodeCount& row : kNodes)
    for (std::int64_t i = 0; i < row.count; ++i)
      trace.nodes.push_back(
          {"node-" + std::to_string(trace.nodes.size()),
           {row.cpu_milli, row.memory_mib, row.gpus, {{std::string(kModelLabel), row.model}}}});
  std::int64_t with_gpus = 0, constrained = 0;
  for (const TaskCount& row : kTasks)
    for (std::int64_t i = 0; i < row.count; ++i) {
      PodShape& task = trace.tasks.emplace_back(PodShape{row.cpu_milli, row.memory_mib, row.gpus});
      if (row.gpus == 0) continue;
      task.hundredths = row.hundredths;
      if (++with_gpus * constrained_percent / 100 == constrained) continue;
      task.label = kModelLabel;
      task.values = models_of(constrained++);
    }
  return trace;
}

}  // namespace berth::simulate
