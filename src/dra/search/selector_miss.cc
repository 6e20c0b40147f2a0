#include "dra/search/selector_miss.h"

#include <algorithm>

#include "cel/predicate_terms.h"
#include "dra/columns/value_key.h"

namespace berth::dra {
namespace {

using cel::AttributeRef;
using cel::PredicateTerm;
using cel::TermKind;
using cel::TruthValue;

// The devices of the node that pass some selectors, by run.
struct Passing {
  std::vector<Mask> masks;
  std::size_t count = 0;
};

Passing passing(const SearchContext& context, const std::vector<std::string>& of_class,
                std::span<const std::string> of_request) {
  SelectorCache& cache = context.inventory.selector_cache();
  const SelectorSetId id = cache.intern(of_class, {of_request.begin(), of_request.end()});
  const SelectorSetRef held = cache.reference(id);
  Passing found;
  for (const DeviceRun& run : context.devices->order) {
    found.masks.push_back(context.inventory.selected(context.devices->slice_of(run), id).match & run.here);
    found.count += found.masks.back().count();
  }
  return found;
}

TruthValue negated(TruthValue value) {
  if (value == TruthValue::Error) return value;
  return value == TruthValue::True ? TruthValue::False : TruthValue::True;
}

TruthValue truth_of(const PredicateTerm& term, const cel::ObjectSource& device) {
  switch (term.kind) {
    case TermKind::Leaf:
    case TermKind::Domain:
      return term.evaluate(device, cel::kSelectorCostMax).verdict;
    case TermKind::Not:
      return negated(truth_of(term.parts[0], device));
    case TermKind::Choice: {
      const TruthValue choice = truth_of(term.parts[0], device);
      if (choice == TruthValue::Error) return choice;
      return truth_of(term.parts[choice == TruthValue::True ? 1 : 2], device);
    }
    case TermKind::And:
    case TermKind::Or:
      break;
  }
  const TruthValue decisive = term.kind == TermKind::And ? TruthValue::False : TruthValue::True;
  TruthValue all = negated(decisive);
  for (const PredicateTerm& part : term.parts) {
    const TruthValue one = truth_of(part, device);
    if (one == decisive) return one;
    if (one == TruthValue::Error) all = one;
  }
  return all;
}

void add_reads(const PredicateTerm& term, std::vector<AttributeRef>& reads) {
  for (const AttributeRef& read : term.reads)
    if (std::find(reads.begin(), reads.end(), read) == reads.end()) reads.push_back(read);
  for (const PredicateTerm& part : term.parts) add_reads(part, reads);
}

// The parts of a conjunction that do not hold: their number, and what they read.
struct Failing {
  std::size_t parts = 0;
  std::vector<AttributeRef> reads;
};
void add_failing(const PredicateTerm& term, const cel::ObjectSource& device, Failing& failing) {
  if (term.kind == TermKind::And) {
    for (const PredicateTerm& part : term.parts) add_failing(part, device, failing);
  } else if (truth_of(term, device) != TruthValue::True) {
    ++failing.parts;
    add_reads(term, failing.reads);
  }
}

std::string name_of(const AttributeRef& read, const std::string& driver) {
  return read.domain.empty() || read.domain == driver ? read.id : read.domain + "/" + read.id;
}

// "has productName \"A100\"", "has no memory".
std::string value_text(const AttributeRef& read, const std::string& driver, const api::Device& device) {
  if (read.field == cel::kDeviceDriver) return "is of driver " + driver;
  if (read.field == cel::kDeviceAllowMultipleAllocations)
    return std::string("has allowMultipleAllocations ") + (device.allow_multiple ? "true" : "false");
  const std::string name = name_of(read, driver);
  if (read.id.empty()) return "has no value in domain " + read.domain;
  if (read.field == cel::kDeviceCapacity) {
    auto found = device.capacity.find(name);
    if (found == device.capacity.end()) found = device.capacity.find(read.domain + "/" + read.id);
    return found == device.capacity.end() ? "has no capacity " + name
                                          : "has " + name + " " + found->second.value.text();
  }
  const api::AttributeValue* value = attribute_of(device, driver, read.domain + "/" + read.id);
  const std::optional<cel::Value> shown =
      value ? cel_value(*value, Ownership::Borrowed) : std::optional<cel::Value>();
  return shown ? "has " + name + " " + cel::debug_text(*shown) : "has no " + name;
}

std::string nearest_text(const Failing& failing, const std::string& driver, const api::Device& device) {
  std::string text;
  for (std::size_t i = 0; i < std::min(failing.reads.size(), kNearValuesMax); ++i)
    text.append(text.empty() ? device.name + " " : " and ")
        .append(value_text(failing.reads[i], driver, device));
  return text;
}

// Of the devices that only this selector refuses, the first with the fewest parts that do not hold.
std::string nearest(const NodeDevices& devices, const std::string& selector, const Passing& before,
                    const Passing& after) {
  const auto compiled = cel::compile(cel::dra_environment(), selector);
  const auto* program = std::get_if<cel::Program>(&compiled);
  if (!program) return {};
  const PredicateTerm term = cel::split(*program);
  Failing best;
  std::string text;
  std::size_t looked = 0;
  for (std::uint32_t run = 0; run < devices.order.size(); ++run) {
    const Mask refused = before.masks[run] & ~after.masks[run];
    for (std::size_t i = refused.next(0); i < kSliceDevicesMax; i = refused.next(i + 1)) {
      if (++looked > kNearDevicesMax) return text;
      const api::Device& device = devices.device_at({run, i});
      const std::string& driver = devices.slice_at({run, i}).live->driver;
      Failing failing;
      add_failing(term, record_of(driver, device), failing);
      if (!text.empty() && failing.parts >= best.parts) continue;
      text = nearest_text(failing, driver, device);
      best = std::move(failing);
    }
  }
  return text;
}

}  // namespace

SelectorMiss selector_miss(const SearchContext& context, const CompiledSubRequest& sub) {
  const std::vector<std::string>& of_class = sub.device_class->selectors;
  const std::vector<std::string>& of_request = sub.spec->selectors;
  const std::size_t wanted = std::max<std::size_t>(context.wanted(sub), 1);
  Passing before = passing(context, of_class, {});
  SelectorMiss miss;
  miss.of_class = miss.passed = before.count;
  for (std::size_t i = 0; i < of_request.size() && before.count > 0; ++i) {
    Passing after = passing(context, of_class, std::span(of_request).first(i + 1));
    if (after.count < wanted && after.count < before.count) {
      miss.passed = before.count;
      miss.refused = before.count - after.count;
      miss.selector = i;
      miss.nearest = nearest(*context.devices, of_request[i], before, after);
      break;
    }
    before = std::move(after);
  }
  return miss;
}

}  // namespace berth::dra
