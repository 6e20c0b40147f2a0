#include "simulate/tasks.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "api/types/gpu_share.h"
#include "base/random.h"

namespace berth::simulate {
namespace {

constexpr std::int64_t kMilliPerHundredth = 10;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0;;) {
    const std::size_t to = text.find(separator, from);
    parts.push_back(text.substr(from, to - from));
    if (to == std::string_view::npos) return parts;
    from = to + 1;
  }
}

// A CSV with a header, read row by row; fields have no quotes.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  Status open(std::initializer_list<std::string_view> required) {
    if (!next_line())
      return Error(ErrorCode::Invalid, file_, "is empty: a header with column names is missing");
    for (const std::string_view name : split(line_, ',')) columns_.emplace_back(name);
    for (const std::string_view name : required)
      if (std::ranges::find(columns_, name) == columns_.end())
        return Error(ErrorCode::Invalid, place(), "has no column \"" + std::string(name) + "\"");
    return {};
  }
  // False at the end.
  Result<bool> next() {
    do {
      if (!next_line()) return false;
    } while (line_.empty());
    fields_ = split(line_, ',');
    if (fields_.size() == columns_.size()) return true;
    return Error(ErrorCode::Invalid, place(),
                 "has " + std::to_string(fields_.size()) + " fields: the header has " +
                     std::to_string(columns_.size()));
  }
  // Empty for a column that the file lacks.
  std::string_view text(std::string_view column) const {
    const auto found = std::ranges::find(columns_, column);
    return found == columns_.end() ? "" : fields_[static_cast<std::size_t>(found - columns_.begin())];
  }
  Result<std::int64_t> number(std::string_view column, std::int64_t most) const {
    const std::string_view field = text(column);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error == std::errc() && end == field.data() + field.size() && value >= 0 && value <= most)
      return value;
    return Error(
        ErrorCode::Invalid, place() + ": " + std::string(column),
        "is \"" + std::string(field) + "\": a whole number from 0 to " + std::to_string(most) + " is needed");
  }
  std::string place() const { return file_ + ":" + std::to_string(line_number_); }

 private:
  bool next_line() {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++line_number_;
    return true;
  }

  std::string_view rest_, line_;
  const std::string file_;
  std::size_t line_number_ = 0;
  std::vector<std::string> columns_;
  std::vector<std::string_view> fields_;
};

// Sizes of groups by percent, a mix of published ones (docs/placement-quality.md#gangs).
struct GangSize {
  std::uint64_t percent;
  std::int64_t pods;
};
constexpr GangSize kGangSizes[] = {{60, 1}, {8, 2}, {8, 4}, {12, 8}, {5, 16}, {4, 32}, {2, 64}, {1, 128}};

std::int64_t gang_size(Random& random) {
  std::uint64_t at = random.below(100);
  for (const GangSize& size : kGangSizes) {
    if (at < size.percent) return size.pods;
    at -= size.percent;
  }
  return 1;
}

constexpr std::int64_t kCpuMilliMax = 1'000'000'000;
constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 40;
constexpr std::int64_t kGpusMax = 1024;

}  // namespace

std::int64_t Trace::gpus() const {
  std::int64_t sum = 0;
  for (const TraceNode& node : nodes) sum += node.shape.gpus;
  return sum;
}

void add_nodes(const Trace& trace, Script& script) {
  for (const TraceNode& node : trace.nodes) script.objects.push_back(node_document(node.name, node.shape));
}

Status add_drawn_arrivals(const Trace& trace, const Draw& draw, Script& script) {
  if (std::ranges::none_of(trace.tasks, [](const PodShape& task) { return task.gpus > 0; }))
    return Error(ErrorCode::Invalid, "", "no task needs a GPU: a load of GPUs has no meaning");
  const double wanted = draw.load * static_cast<double>(trace.gpus() * api::kWholeGpu);
  SeededRandom random(draw.seed);
  std::int64_t demand = 0;
  std::size_t pods = 0;
  for (std::int64_t count = 1;; ++count) {
    const PodShape& task = trace.tasks[random.below(trace.tasks.size())];
    const std::int64_t size = draw.gangs == Gangs::Drawn && task.gpus > 0 ? gang_size(random) : 1;
    demand += size * task.gpus * task.hundredths;
    if (static_cast<double>(demand) > wanted) return {};
    if ((pods += static_cast<std::size_t>(size)) > kScriptObjectsMax)
      return Error(
          ErrorCode::TooLarge, "",
          "the load needs more than " + std::to_string(kScriptObjectsMax) + " pods: a smaller one is needed");
    script.arrivals.push_back(equal_pods("task-" + std::to_string(count), task, size, draw.topology));
    script.arrivals.back().at = draw.every * count;
    script.arrivals.back().runs = draw.runs;
  }
}

Result<std::vector<TraceNode>> read_trace_nodes(std::string_view csv, const std::string& file) {
  CsvReader reader(csv, file);
  TRY(reader.open({"sn", "cpu_milli", "memory_mib", "gpu"}));
  std::vector<TraceNode> nodes;
  std::set<std::string_view> names;
  while (TRY(reader.next())) {
    const std::string_view name = reader.text("sn"), model = reader.text("model");
    if (name.empty())
      return Error(ErrorCode::Invalid, reader.place() + ": sn", "is empty: a node has a name");
    if (!names.insert(name).second)
      return Error(ErrorCode::Invalid, reader.place() + ": sn",
                   "is \"" + std::string(name) + "\" a second time: names of nodes differ");
    TraceNode node{std::string(name),
                   {TRY(reader.number("cpu_milli", kCpuMilliMax)),
                    TRY(reader.number("memory_mib", kMemoryMibMax)), TRY(reader.number("gpu", kGpusMax))}};
    if (!model.empty()) node.shape.labels.emplace_back(kModelLabel, model);
    nodes.push_back(std::move(node));
  }
  if (nodes.empty()) return Error(ErrorCode::Invalid, file, "has no nodes");
  return nodes;
}

Result<std::vector<PodShape>> read_trace_tasks(std::string_view csv, const std::string& file) {
  CsvReader reader(csv, file);
  TRY(reader.open({"cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}));
  std::vector<PodShape> tasks;
  while (TRY(reader.next())) {
    PodShape task{TRY(reader.number("cpu_milli", kCpuMilliMax)),
                  TRY(reader.number("memory_mib", kMemoryMibMax)), TRY(reader.number("num_gpu", kGpusMax))};
    const std::int64_t milli = TRY(reader.number("gpu_milli", kMilliPerHundredth * api::kWholeGpu));
    if (task.gpus > 0) {
      if (milli == 0)
        return Error(ErrorCode::Invalid, reader.place() + ": gpu_milli",
                     "is 0 with num_gpu " + std::to_string(task.gpus) + ": 1 to 1000 is needed");
      task.hundredths = (milli + kMilliPerHundredth - 1) / kMilliPerHundredth;
      if (task.hundredths < api::kWholeGpu && task.gpus > std::int64_t{api::kGpuFractionDevicesMax})
        return Error(ErrorCode::TooLarge, reader.place() + ": num_gpu",
                     "is " + std::to_string(task.gpus) + ": shares of at most " +
                         std::to_string(api::kGpuFractionDevicesMax) + " GPUs are possible");
      if (const std::string_view models = reader.text("gpu_spec"); !models.empty()) {
        std::set<std::string> each;
        for (const std::string_view model : split(models, '|')) each.emplace(model);
        task.label = kModelLabel;
        task.values.assign(each.begin(), each.end());
      }
    }
    tasks.push_back(std::move(task));
  }
  if (tasks.empty()) return Error(ErrorCode::Invalid, file, "has no tasks");
  return tasks;
}

}  // namespace berth::simulate
