// The protobuf wire format, one field at a time. Only for the protobuf*.cc files and tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace berth::api {

enum class WireType : std::uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::Varint;
  std::uint64_t scalar = 0;     // of Varint, Fixed64 and Fixed32
  std::string_view bytes = {};  // of Bytes
};

// Reads the fields of one message in order. A view: the bytes outlive it.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  // Refuses truncated data, groups and numbers out of range.
  Result<WireField> next();
  // Reads the next field if it is one of nearly all: well-formed, not Fixed, with a tag and a length of one
  // or two bytes each. False leaves it to next().
  bool next_usual(WireField& field) {
    const char *at = rest_.data(), *const end = at + rest_.size();
    std::uint64_t tag = 0, value = 0;
    if (!short_varint(at, end, tag) || tag < 8) return false;
    field.number = static_cast<std::uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    field.bytes = {};
    if ((field.type != WireType::Varint && field.type != WireType::Bytes) || !short_varint(at, end, value))
      return false;
    field.scalar = field.type == WireType::Varint ? value : 0;
    if (field.type == WireType::Bytes) {
      if (value > static_cast<std::uint64_t>(end - at)) return false;
      field.bytes = {at, value};
      at += value;
    }
    rest_ = {at, static_cast<std::size_t>(end - at)};
    return true;
  }
  // A bare varint: packed lists.
  Result<std::uint64_t> varint();

 private:
  static bool short_varint(const char*& at, const char* end, std::uint64_t& value) {
    if (at == end) return false;
    value = static_cast<unsigned char>(*at++);
    if (value < 0x80) return true;
    if (at == end || static_cast<unsigned char>(*at) >= 0x80) return false;
    value = (value & 0x7f) | static_cast<std::uint64_t>(static_cast<unsigned char>(*at++)) << 7;
    return true;
  }
  Result<std::uint64_t> fixed(std::size_t size);

  std::string_view rest_;
};

// The small messages of the special types (Quantity, IntOrString, TypeMeta…): their fields by number.
struct WireParts {
  std::uint64_t scalars[4] = {};
  std::string_view bytes[4] = {};
};
Result<WireParts> wire_parts(std::string_view message);
// Of a Time (whole seconds) or a MicroTime. Not set when the message is empty: Go's zero time. Refuses years
// that RFC 3339 cannot write.
enum class TimePrecision : std::uint8_t { Seconds, Micros };
Result<Time> wire_time(std::string_view message, TimePrecision precision);

// Append one field, or a bare varint, to a message.
void append_varint(std::string& message, std::uint64_t value);
void append_varint_field(std::string& message, std::uint32_t number, std::uint64_t value);
void append_fixed64_field(std::string& message, std::uint32_t number, std::uint64_t value);
void append_bytes_field(std::string& message, std::uint32_t number, std::string_view bytes);
// A field of bytes that are appended between the two calls: `begin` is what the first returned. Fields may
// nest; the inner one ends first.
std::size_t begin_bytes_field(std::string& message, std::uint32_t number);
void end_bytes_field(std::string& message, std::size_t begin);

}  // namespace berth::api
