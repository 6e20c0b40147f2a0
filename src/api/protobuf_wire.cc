#include "api/protobuf_wire.h"

#include <iterator>

namespace berth::api {
namespace {

Error malformed(const char* what) {
  return Error(ErrorCode::Invalid, std::string("malformed protobuf: ") + what);
}

void append_tag(std::string& message, std::uint32_t number, WireType type) {
  append_varint(message, std::uint64_t{number} << 3 | static_cast<std::uint64_t>(type));
}

}  // namespace

Result<std::uint64_t> WireReader::varint() {
  constexpr std::size_t kBytesMax = 10;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kBytesMax; ++i) {
    if (i >= rest_.size()) return malformed("it ends inside a number");
    const auto byte = static_cast<unsigned char>(rest_[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      rest_.remove_prefix(i + 1);
      return value;
    }
  }
  return malformed("a number is too long");
}

Result<std::uint64_t> WireReader::fixed(std::size_t size) {
  if (rest_.size() < size) return malformed("it ends inside a number");
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
  rest_.remove_prefix(size);
  return value;
}

Result<WireField> WireReader::next() {
  if (WireField usual; next_usual(usual)) return usual;
  const std::uint64_t tag = TRY(varint());
  constexpr std::uint64_t kNumberMax = (1u << 29) - 1;
  WireField field;
  if (tag >> 3 == 0 || tag >> 3 > kNumberMax) return malformed("a field number is out of range");
  field.number = static_cast<std::uint32_t>(tag >> 3);
  field.type = static_cast<WireType>(tag & 7);
  switch (field.type) {
    case WireType::Varint:
      field.scalar = TRY(varint());
      return field;
    case WireType::Fixed64:
      field.scalar = TRY(fixed(8));
      return field;
    case WireType::Fixed32:
      field.scalar = TRY(fixed(4));
      return field;
    case WireType::Bytes: {
      const std::uint64_t size = TRY(varint());
      if (size > rest_.size()) return malformed("it ends inside a field");
      field.bytes = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return field;
    }
  }
  return malformed("an unknown wire type");
}

Result<WireParts> wire_parts(std::string_view message) {
  WireParts parts;
  WireReader reader(message);
  while (!reader.at_end()) {
    WireField field;
    if (!reader.next_usual(field)) field = TRY(reader.next());
    if (field.number >= std::size(parts.scalars)) continue;
    if (field.type == WireType::Bytes)
      parts.bytes[field.number] = field.bytes;
    else
      parts.scalars[field.number] = field.scalar;
  }
  return parts;
}

Result<Time> wire_time(std::string_view message, TimePrecision precision) {
  if (message.empty()) return Time();
  const WireParts parts = TRY(wire_parts(message));
  const auto seconds = static_cast<std::int64_t>(parts.scalars[1]);
  constexpr std::int64_t kSecondsMax = 253402300799;  // the end of the year 9999
  constexpr std::int64_t kSecondsMin = -62135596800;  // the first second of the year 1
  if (seconds > kSecondsMax || seconds < kSecondsMin) return malformed("a time is out of range");
  const auto nanos = static_cast<std::int32_t>(parts.scalars[2]);
  const bool whole = precision == TimePrecision::Seconds;
  return Time::from_seconds(seconds) + Duration::micros(whole ? 0 : nanos / 1000);
}

void append_varint(std::string& message, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) message += static_cast<char>(value | 0x80);
  message += static_cast<char>(value);
}

void append_varint_field(std::string& message, std::uint32_t number, std::uint64_t value) {
  append_tag(message, number, WireType::Varint);
  append_varint(message, value);
}

void append_fixed64_field(std::string& message, std::uint32_t number, std::uint64_t value) {
  append_tag(message, number, WireType::Fixed64);
  for (int i = 0; i < 8; ++i) message += static_cast<char>(value >> (8 * i));
}

void append_bytes_field(std::string& message, std::uint32_t number, std::string_view bytes) {
  append_tag(message, number, WireType::Bytes);
  append_varint(message, bytes.size());
  message += bytes;
}

std::size_t begin_bytes_field(std::string& message, std::uint32_t number) {
  append_tag(message, number, WireType::Bytes);
  message += '\0';  // the length, while it is short
  return message.size();
}

void end_bytes_field(std::string& message, std::size_t begin) {
  const std::size_t length = message.size() - begin;
  constexpr std::size_t kOneByteMax = 0x7f;
  if (length <= kOneByteMax) {
    message[begin - 1] = static_cast<char>(length);
    return;
  }
  std::string varint;
  append_varint(varint, length);
  message.replace(begin - 1, 1, varint);
}

}  // namespace berth::api
