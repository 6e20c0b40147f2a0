#include "client/write_times.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace berth::client {
namespace {

constexpr std::array<std::string_view, kWriteVerbs> kWriteVerbNames = {"create", "update", "patch", "delete"};

// None: a read.
std::optional<WriteVerb> write_verb(Verb verb) {
  switch (verb) {
    case Verb::Create:
      return WriteVerb::Create;
    case Verb::Update:
      return WriteVerb::Update;
    case Verb::MergePatch:
    case Verb::StrategicPatch:
    case Verb::JsonPatch:
      return WriteVerb::Patch;
    case Verb::Delete:
      return WriteVerb::Delete;
    case Verb::Get:
      break;
  }
  return std::nullopt;
}

}  // namespace

void DurationCounts::add(Duration took) {
  const auto micros = static_cast<std::uint64_t>(std::max<std::int64_t>(1, took.micros()));
  const auto power = static_cast<std::size_t>(std::bit_width(micros) - 1);
  const auto quarter = static_cast<std::size_t>((micros * kBucketsPerPower >> power) % kBucketsPerPower);
  ++counts_[std::min(power * kBucketsPerPower + quarter, counts_.size() - 1)];
}

DurationCounts& DurationCounts::operator+=(const DurationCounts& more) {
  for (std::size_t at = 0; at < counts_.size(); ++at) counts_[at] += more.counts_[at];
  return *this;
}

DurationCounts DurationCounts::since(const DurationCounts& earlier) const {
  DurationCounts later = *this;
  for (std::size_t at = 0; at < counts_.size(); ++at) later.counts_[at] -= earlier.counts_[at];
  return later;
}

std::uint64_t DurationCounts::count() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counts_) sum += count;
  return sum;
}

std::optional<Duration> DurationCounts::within(std::uint64_t percent) const {
  const std::uint64_t all = count();
  if (all == 0) return std::nullopt;
  const std::uint64_t wanted = (all * percent + 99) / 100;
  std::uint64_t seen = 0;
  std::size_t at = 0;
  while (at + 1 < counts_.size() && seen + counts_[at] < wanted) seen += counts_[at++];
  const std::uint64_t power = std::uint64_t{1} << (at / kBucketsPerPower);
  const std::uint64_t quarters = kBucketsPerPower + at % kBucketsPerPower + 1;
  return Duration::micros(static_cast<std::int64_t>(power * quarters / kBucketsPerPower));
}

std::string_view name_of(WriteVerb verb) {
  return kWriteVerbNames[static_cast<std::size_t>(verb)];
}

WriteTimes& operator+=(WriteTimes& times, const WriteTimes& more) {
  for (std::size_t verb = 0; verb < kWriteVerbs; ++verb) times[verb] += more[verb];
  return times;
}

DurationCounts all_of(const WriteTimes& times) {
  DurationCounts all;
  for (const DurationCounts& counts : times) all += counts;
  return all;
}

void SharedWriteTimes::add(WriteVerb verb, Duration took) {
  const std::lock_guard lock(mutex_);
  times_[static_cast<std::size_t>(verb)].add(took);
  is_empty_ = false;
}

std::optional<WriteTimes> SharedWriteTimes::take() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_empty_, true)) return std::nullopt;
  return std::exchange(times_, {});
}

void WriteTimer::submit(ApiRequest request, std::function<void(ApiReply)> done) {
  const std::optional<WriteVerb> verb = write_verb(request.verb);
  if (!verb || inner_.holds(request)) return inner_.submit(std::move(request), std::move(done));
  inner_.submit(std::move(request), [times = times_, &clock = clock_, verb = *verb,
                                     began = clock_.monotonic(), done = std::move(done)](ApiReply reply) {
    if (reply.delivery == Delivery::Answered) times->add(verb, clock.monotonic() - began);
    done(std::move(reply));
  });
}

}  // namespace berth::client
