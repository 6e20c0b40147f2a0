#include "dashboard/history.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/log.h"
#include "dashboard/gzip.h"

namespace berth::dashboard {
namespace {

constexpr std::string_view kPlain = ".jsonl", kPacked = ".jsonl.gz";
constexpr std::size_t kHeaderBytesMax = 64u << 10;
constexpr std::size_t kNumbersOfUse = 6, kNumbersOfIllness = 3;  // of a sample's row
// Enough for a header that does not get smaller: gzip adds five bytes a block and 18 in all.
constexpr std::size_t kPackedHeaderBytesMax = kHeaderBytesMax + 1024;

std::string stem_of(std::int64_t ms) {
  char text[48];
  std::snprintf(text, sizeof text, "history-%015lld", static_cast<long long>(ms));
  return text;
}

std::optional<HistorySample> sample_in(const Json& row) {
  if (!row.is_array()) return std::nullopt;
  const std::size_t size = row.as_array().size();
  if (size != kNumbersOfUse && size != kNumbersOfUse + kNumbersOfIllness) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Json& number : row.as_array()) {
    if (!number.is_int()) return std::nullopt;
    numbers.push_back(number.as_int());
  }
  HistorySample sample{numbers[0], {numbers[1], numbers[2], numbers[3], numbers[4]}, numbers[5], {}};
  if (size > kNumbersOfUse) sample.ill = IllSums{numbers[6], numbers[7], numbers[8]};
  return sample;
}

JsonArray sample_rows(const std::vector<HistorySample>& samples) {
  JsonArray rows;
  for (const HistorySample& sample : samples) rows.push_back(to_json(sample));
  return rows;
}

}  // namespace

Json to_json(const HistorySample& sample) {
  Json row = Json::array({sample.ms, sample.cells.used, sample.cells.reserved, sample.cells.free,
                          sample.cells.out, sample.waiting});
  if (sample.ill)
    for (const std::int64_t number : {sample.ill->devices, sample.ill->nodes, sample.ill->domains})
      row.as_array().emplace_back(number);
  return row;
}

void SegmentSamples::add(const HistorySample& sample) {
  if (!samples_.empty() && samples_.back().has_same_sums(sample)) return;
  if (samples_.size() > 1 && sample.ms - samples_.back().ms < spacing_ms_) {
    const std::int64_t ms = samples_.back().ms;
    samples_.back() = sample;  // the latest of its time counts
    samples_.back().ms = ms;
    return;
  }
  if (samples_.size() == kSamplesOfASegmentMax) {
    for (std::size_t at = 1; at * 2 < samples_.size(); ++at) samples_[at] = samples_[at * 2];
    samples_.resize(samples_.size() / 2);
    spacing_ms_ *= 2;
  }
  samples_.push_back(sample);
}

void History::open_all() {
  std::vector<std::string> names = store_->names();
  const auto is_packed = [](const std::string& name) { return name.ends_with(kPacked); };
  std::erase_if(names, [&](const std::string& name) { return !is_packed(name) && !name.ends_with(kPlain); });
  const auto is_packed_too = [&](const std::string& name) {
    return !is_packed(name) &&
           std::binary_search(names.begin(), names.end(),
                              name.substr(0, name.size() - kPlain.size()) + std::string(kPacked));
  };
  // Of two files of one segment an earlier process ended between the two steps of finish().
  std::vector<std::string> segments;
  for (const std::string& name : names)
    if (is_packed_too(name))
      store_->remove(name);
    else
      segments.push_back(name);
  for (std::size_t at = 0; at < segments.size(); ++at) {
    const std::string& name = segments[at];
    if (segments.size() - at > kHistorySegmentsMax) {
      store_->remove(name);
      continue;
    }
    const Status opened = is_packed(name) ? open_packed(name) : open_plain(name);
    if (opened) continue;
    log(LogLevel::Warning, "a segment of the dashboard's history cannot be read and is removed",
        {{"segment", name}, {"reason", opened.error().text()}});
    store_->remove(name);
  }
  evict();
}

Status History::open_packed(const std::string& name) {
  const SegmentStore::Beginning stored = TRY(store_->read_beginning(name, kPackedHeaderBytesMax));
  const std::string text = TRY(gunzipped(stored.bytes, kHeaderBytesMax));
  const Json header = TRY(parse_json(std::string_view(text).substr(0, text.find('\n'))));
  if (header.int_at("version") != kHistoryVersion)
    return Error(ErrorCode::Invalid, "it is of another version");
  Segment segment{.name = name, .bytes = stored.size};
  segment.from_ms = header.int_at("from");
  segment.to_ms = header.int_at("to");
  segment.starts = header.bool_at("starts");
  for (const Json& row : header.items_at("samples"))
    if (const auto sample = sample_in(row)) segment.samples.add(*sample);
  segments_.push_back(std::move(segment));
  return {};
}

// An earlier process ended while it wrote this one: it is packed now.
Status History::open_plain(const std::string& name) {
  const std::string bytes = TRY(store_->read(name));
  Segment segment{.name = name.substr(0, name.size() - kPlain.size())};
  const std::size_t end = bytes.rfind('\n');  // the last line may be cut
  const std::string_view lines = std::string_view(bytes).substr(0, end == bytes.npos ? 0 : end + 1);
  for (std::string_view left = lines; !left.empty(); left.remove_prefix(left.find('\n') + 1)) {
    const Json line = TRY(parse_json(left.substr(0, left.find('\n'))));
    segment.to_ms = std::max(segment.to_ms, line.int_at("time"));
    if (segment.from_ms == 0) {
      segment.from_ms = segment.to_ms;
      segment.starts = line.bool_at("starts");
    }
    if (const auto sample = sample_in(line.part("sums"))) segment.samples.add(*sample);
  }
  if (segment.from_ms == 0) {
    store_->remove(name);  // it has no whole line
    return {};
  }
  segment.from_ms = after_the_last(segment.from_ms);
  segment.to_ms = std::max(segment.to_ms, segment.from_ms);
  finish(lines, segment);
  segments_.push_back(std::move(segment));
  return {};
}

// When a segment begins whose first line is of this time: segments are in order, and clocks go back.
std::int64_t History::after_the_last(std::int64_t ms) const {
  return segments_.empty() ? ms : std::max(ms, segments_.back().to_ms + 1);
}

// Packs the lines and removes their file; `segment.name` is its stem.
void History::finish(std::string_view lines, Segment& segment) {
  std::string text = to_string(Json::object({{"version", kHistoryVersion},
                                             {"from", segment.from_ms},
                                             {"to", segment.to_ms},
                                             {"starts", segment.starts},
                                             {"samples", sample_rows(segment.samples.all())}})) +
                     "\n";
  text.append(lines);
  const std::string packed = gzipped(text);
  const Status written = store_->write(segment.name + std::string(kPacked), packed);
  store_->remove(segment.name + std::string(kPlain));
  if (written) {
    segment.name += kPacked;
    segment.bytes = packed.size();
    return;
  }
  if (!std::exchange(complained_, true))
    log(LogLevel::Warning, "the dashboard's history cannot be written", {{"reason", written.error().text()}});
  segment.name.clear();
  segment.bytes = 0;
}

void History::begin(std::string_view line, const HistorySample& sample, bool starts) {
  const std::lock_guard lock(mutex_);
  if (is_writing_) finish(lines_, segments_.back());
  const std::int64_t ms = after_the_last(sample.ms);
  segments_.push_back({.name = stem_of(ms), .from_ms = ms, .to_ms = ms, .starts = starts});
  segments_.back().samples.add(sample);
  is_writing_ = true;
  lines_.clear();
  write_line(line);
  evict();
}

void History::add(std::string_view line, const HistorySample& sample) {
  const std::lock_guard lock(mutex_);
  if (!is_writing_) return;
  Segment& segment = segments_.back();
  segment.to_ms = std::max(segment.to_ms, sample.ms);
  segment.samples.add(sample);
  write_line(line);
}

void History::write_line(std::string_view line) {
  const std::size_t begin = lines_.size();
  lines_.append(line).append("\n");
  segments_.back().bytes = lines_.size();
  const Status written =
      store_->append(segments_.back().name + std::string(kPlain), std::string_view(lines_).substr(begin));
  if (!written && !std::exchange(complained_, true))
    log(LogLevel::Warning, "the dashboard's history cannot be written", {{"reason", written.error().text()}});
}

std::size_t History::bytes() const {
  std::size_t sum = 0;
  for (const Segment& segment : segments_) sum += segment.bytes;
  return sum;
}

// All but the last, which is written.
void History::evict() {
  std::size_t left = bytes();
  while (segments_.size() > 1 && (left > bytes_max_ || segments_.size() > kHistorySegmentsMax)) {
    left -= segments_.front().bytes;
    if (!segments_.front().name.empty()) store_->remove(segments_.front().name);
    segments_.pop_front();
  }
}

Json History::overview() const {
  const std::lock_guard lock(mutex_);
  std::vector<HistorySample> samples;
  JsonArray gaps, shown;
  const Segment* before = nullptr;
  for (const Segment& segment : segments_) {
    samples.insert(samples.end(), segment.samples.all().begin(), segment.samples.all().end());
    if (before && segment.starts) gaps.push_back(Json::array({before->to_ms, segment.from_ms}));
    before = &segment;
  }
  const std::size_t step = samples.size() / kSamplesShownMax + 1;
  for (std::size_t at = 0; at < samples.size(); at += step) shown.push_back(to_json(samples[at]));
  return Json::object({{"version", kHistoryVersion},
                       {"from", segments_.empty() ? 0 : segments_.front().from_ms},
                       {"to", segments_.empty() ? 0 : segments_.back().to_ms},
                       {"onDisk", store_->is_on_disk()},
                       {"bytes", static_cast<std::int64_t>(bytes())},
                       {"bytesMax", static_cast<std::int64_t>(bytes_max_)},
                       {"gaps", std::move(gaps)},
                       {"samples", std::move(shown)}});
}

Result<History::Piece> History::at(std::int64_t ms) const {
  Piece piece;
  std::string packed;
  {
    const std::lock_guard lock(mutex_);
    const auto after =
        std::upper_bound(segments_.begin(), segments_.end(), ms,
                         [](std::int64_t at, const Segment& segment) { return at < segment.from_ms; });
    if (after == segments_.begin()) return Error(ErrorCode::Gone, "nothing is kept of this instant");
    const auto has = after - 1;
    if (after != segments_.end()) piece.next_ms = after->from_ms;
    if (has != segments_.begin()) piece.previous_ms = (has - 1)->to_ms;
    if (is_writing_ && after == segments_.end()) {
      piece.lines = lines_;
      return piece;
    }
    if (has->name.empty()) return Error(ErrorCode::Gone, "the disk had no room to keep this instant");
    packed = TRY(store_->read(has->name));
  }
  // Without the lock: the writer does not wait while a reader unpacks.
  const std::string text = TRY(gunzipped(packed, kSegmentTextBytesMax));
  piece.lines = text.substr(text.find('\n') + 1);
  return piece;
}

}  // namespace berth::dashboard
