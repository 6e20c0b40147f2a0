#include "api/yaml_write.h"

#include <yaml.h>

#include "api/yaml_scalar.h"
#include "base/assert.h"

namespace berth::api {
namespace {

int append(void* out, unsigned char* bytes, std::size_t size) {
  static_cast<std::string*>(out)->append(reinterpret_cast<const char*>(bytes), size);
  return 1;
}

class Writer {
 public:
  explicit Writer(std::string& out) {
    yaml_emitter_initialize(&emitter_);
    yaml_emitter_set_output(&emitter_, append, &out);
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_indent(&emitter_, 2);
    yaml_emitter_set_width(&emitter_, -1);
  }
  ~Writer() { yaml_emitter_delete(&emitter_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void write(const Json& document) {
    yaml_event_t event;
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    emit(event);
    yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1);
    emit(event);
    value(document);
    yaml_document_end_event_initialize(&event, 1);
    emit(event);
    yaml_stream_end_event_initialize(&event);
    emit(event);
  }

 private:
  void emit(yaml_event_t& event) {
    BERTH_ASSERT(yaml_emitter_emit(&emitter_, &event) == 1, "the events are well formed");
  }

  void scalar(const std::string& text, yaml_scalar_style_t style) {
    yaml_event_t event;
    const auto* bytes = reinterpret_cast<const yaml_char_t*>(text.data());
    yaml_scalar_event_initialize(&event, nullptr, nullptr, bytes, static_cast<int>(text.size()), 1, 1, style);
    emit(event);
  }

  void string(const std::string& text) {
    const bool plain = plain_yaml_scalar(text).is_string() && !text.empty();
    const bool lines = text.find('\n') != std::string::npos;
    scalar(text, lines   ? YAML_LITERAL_SCALAR_STYLE
                 : plain ? YAML_ANY_SCALAR_STYLE
                         : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
  }

  void value(const Json& json) {
    yaml_event_t event;
    if (json.is_object()) {
      const bool empty = json.as_object().empty();
      yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1,
                                          empty ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE);
      emit(event);
      for (const JsonMember& member : json.as_object()) {
        string(member.key);
        value(member.value);
      }
      yaml_mapping_end_event_initialize(&event);
      emit(event);
    } else if (json.is_array()) {
      const bool empty = json.as_array().empty();
      yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1,
                                           empty ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE);
      emit(event);
      for (const Json& item : json.as_array()) value(item);
      yaml_sequence_end_event_initialize(&event);
      emit(event);
    } else if (json.is_string()) {
      string(json.as_string());
    } else {
      scalar(to_string(json), YAML_PLAIN_SCALAR_STYLE);
    }
  }

  yaml_emitter_t emitter_;
};

}  // namespace

std::string to_yaml(const Json& document) {
  std::string out;
  Writer(out).write(document);
  return out;
}

}  // namespace berth::api
