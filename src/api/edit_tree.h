// A document while many edits are made to it, wherever they are: what a JSON patch works on.
//
// A node is a value as it was given until an edit reaches into it; then its members or elements are nodes.
// Cost: the first edit inside a value is linear in its members or elements. After that a member is found, set
// or erased in O(1), an element in O(elements / kElementsChunk). So no list of edits is quadratic. Owner: one
// patch, one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"

namespace berth::api {

inline constexpr std::size_t kElementsChunk = 512;

class EditNode {
 public:
  EditNode();
  explicit EditNode(Json value);
  EditNode(EditNode&& other) noexcept;
  EditNode& operator=(EditNode&& other) noexcept;
  ~EditNode();

  bool is_object() const;
  bool is_array() const;

  // Of an object. Null when absent.
  EditNode* member(std::string_view key);
  // In the place of the first member of that name, or at the end.
  void set_member(std::string_view key, EditNode value);
  // Every member of that name; none is no mistake.
  void erase_member(std::string_view key);

  // Of an array.
  std::size_t element_count() const;
  EditNode& element(std::size_t at);
  // In front of the element at `at`, which may be their number.
  void insert_element(std::size_t at, EditNode value);
  void erase_element(std::size_t at);

  bool equals(const Json& value) const;
  // The value as it is now. Cost: linear.
  Json value() const;

 private:
  struct Members;
  struct Elements;
  Members& members();
  Elements& elements();

  std::variant<Json, std::unique_ptr<Members>, std::unique_ptr<Elements>> content_;
};

}  // namespace berth::api
