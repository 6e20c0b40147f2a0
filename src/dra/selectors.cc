#include "dra/selectors.h"

#include <string>

#include "dra/columns/device_columns.h"

namespace berth::dra {
namespace {

class DeviceByDevice final : public VectorSelector {
 public:
  DeviceByDevice(SelectorEvaluator& evaluator, const DeviceColumns& columns, std::string_view text)
      : evaluator_(evaluator), columns_(columns), text_(text) {}

  void evaluate(std::size_t first, std::size_t words, std::uint64_t* yes, std::uint64_t* error) override {
    std::fill(yes, yes + words, 0);
    std::fill(error, error + words, 0);
    columns_.for_each_device({first, first + words}, [&](std::uint32_t row, const api::ResourceSlice& slice,
                                                         const api::Device& device) {
      const Result<bool> answer = evaluate(slice.driver, device);
      if (answer && !*answer) return;
      (answer ? yes : error)[row / kRowsPerWord - first] |= std::uint64_t{1} << (row % kRowsPerWord);
    });
  }
  std::uint64_t work(std::size_t words) const override { return words * kRowsPerWord; }
  void go_by_device() override {}
  Result<bool> evaluate(std::string_view driver, const api::Device& device) override {
    return evaluator_.evaluate(text_, driver, device);
  }

 private:
  SelectorEvaluator& evaluator_;
  const DeviceColumns& columns_;
  std::string text_;
};

}  // namespace

Result<std::unique_ptr<VectorSelector>> SelectorEvaluator::over(const DeviceColumns& columns,
                                                                std::string_view text) {
  return std::unique_ptr<VectorSelector>(std::make_unique<DeviceByDevice>(*this, columns, text));
}

}  // namespace berth::dra
