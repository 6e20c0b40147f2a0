// The place of a value or of a schema, for errors: its text is written only when one needs it.
//
// Unlike api::FieldPath a step costs the same however long the path is: names are a user's, and one of a
// megabyte may stand above many thousand others. Owner: the walk; names are borrowed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace berth::crd {

class LazyPath {
 public:
  explicit LazyPath(std::string_view root);

  LazyPath child(std::string_view name) const { return {last_, name, 0, Form::Child}; }    // "a.name"; "name"
  LazyPath dotted(std::string_view name) const { return {last_, name, 0, Form::Dotted}; }  // ".name" always
  LazyPath key(std::string_view name) const { return {last_, name, 0, Form::Key}; }        // "a[name]"
  LazyPath index(std::size_t at) const { return {last_, {}, at, Form::Index}; }            // "a[3]"
  bool is_root() const { return !last_->above; }

  std::string text() const;
  operator std::string() const { return text(); }

 private:
  enum class Form : std::uint8_t { Child, Dotted, Key, Index };
  struct Step {
    std::shared_ptr<const Step> above;
    std::string_view name;
    std::size_t index;
    Form form;
  };
  LazyPath(const std::shared_ptr<const Step>& above, std::string_view name, std::size_t index, Form form)
      : last_(std::make_shared<const Step>(Step{above, name, index, form})) {}

  std::shared_ptr<const Step> last_;
};

}  // namespace berth::crd
