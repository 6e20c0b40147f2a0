#include "api/edit_tree.h"

#include <utility>
#include <vector>

#include "base/key_index.h"

namespace berth::api {
namespace {

// The name of an erased member: no text of a document, which is UTF-8.
constexpr std::string_view kErased = "\xff";
constexpr std::uint32_t kNoTwin = KeyIndex::kAbsent;

}  // namespace

struct EditNode::Members {
  struct Member {
    std::string key;
    EditNode value;
    std::uint32_t twin = kNoTwin;  // the next of the same name
  };

  std::vector<Member> all;  // with the erased ones
  KeyIndex index;           // of the first of each name, or empty: there are few
  std::size_t erased = 0;

  std::string_view key_at(std::uint32_t at) const { return all[at].key; }

  std::uint32_t place_of(std::string_view key) const {
    if (!index.empty()) return index.find(key, [this](std::uint32_t at) { return key_at(at); });
    for (std::uint32_t at = 0; at < all.size(); ++at)
      if (all[at].key == key) return at;
    return KeyIndex::kAbsent;
  }

  void append(std::string_view key, EditNode value) {
    all.push_back({std::string(key), std::move(value), kNoTwin});
    if (!index.empty())
      add_to_index(static_cast<std::uint32_t>(all.size() - 1));
    else if (all.size() > JsonObject::kSearchedMembersMax)
      for (std::uint32_t at = 0; at < all.size(); ++at) add_to_index(at);
  }

  void add_to_index(std::uint32_t at) {
    index.add(all[at].key, at, [this](std::uint32_t other) { return key_at(other); });
  }
};

struct EditNode::Elements {
  using Chunk = std::vector<EditNode>;
  std::vector<Chunk> chunks;
  std::size_t count = 0;

  // The chunk of the element at `at`, and its place there; behind the last one for their number.
  std::pair<std::size_t, std::size_t> find(std::size_t at) const {
    std::size_t chunk = 0;
    while (chunk + 1 < chunks.size() && at >= chunks[chunk].size()) at -= chunks[chunk++].size();
    return {chunk, at};
  }

  void push_back(EditNode value) {
    if (chunks.empty() || chunks.back().size() >= kElementsChunk) chunks.emplace_back();
    chunks.back().push_back(std::move(value));
    ++count;
  }

  void insert(std::size_t at, EditNode value) {
    if (at == count) return push_back(std::move(value));
    const auto [chunk, place] = find(at);
    chunks[chunk].insert(chunks[chunk].begin() + static_cast<std::ptrdiff_t>(place), std::move(value));
    ++count;
    if (chunks[chunk].size() < 2 * kElementsChunk) return;
    const auto middle = chunks[chunk].begin() + static_cast<std::ptrdiff_t>(kElementsChunk);
    Chunk upper(std::make_move_iterator(middle), std::make_move_iterator(chunks[chunk].end()));
    chunks[chunk].erase(middle, chunks[chunk].end());
    chunks.insert(chunks.begin() + static_cast<std::ptrdiff_t>(chunk) + 1, std::move(upper));
  }

  void erase(std::size_t at) {
    const auto [chunk, place] = find(at);
    chunks[chunk].erase(chunks[chunk].begin() + static_cast<std::ptrdiff_t>(place));
    --count;
    if (chunks[chunk].empty()) chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(chunk));
  }
};

EditNode::EditNode() = default;
EditNode::EditNode(Json value) : content_(std::move(value)) {}
EditNode::EditNode(EditNode&& other) noexcept = default;
EditNode& EditNode::operator=(EditNode&& other) noexcept = default;
EditNode::~EditNode() = default;

bool EditNode::is_object() const {
  const Json* plain = std::get_if<Json>(&content_);
  return plain ? plain->is_object() : std::holds_alternative<std::unique_ptr<Members>>(content_);
}

bool EditNode::is_array() const {
  const Json* plain = std::get_if<Json>(&content_);
  return plain ? plain->is_array() : std::holds_alternative<std::unique_ptr<Elements>>(content_);
}

EditNode::Members& EditNode::members() {
  if (const Json* plain = std::get_if<Json>(&content_)) {
    auto made = std::make_unique<Members>();
    const JsonObject& object = plain->as_object();
    made->all.reserve(object.size());
    std::vector<std::uint32_t> newest_twin(object.size(), kNoTwin);  // by the first of a name
    for (const JsonMember& member : object) {
      const std::uint32_t first = made->place_of(member.key);
      const auto at = static_cast<std::uint32_t>(made->all.size());
      made->append(member.key, EditNode(member.value));
      if (first == KeyIndex::kAbsent) continue;
      const std::uint32_t before = newest_twin[first] == kNoTwin ? first : newest_twin[first];
      made->all[before].twin = at;
      newest_twin[first] = at;
    }
    content_ = std::move(made);
  }
  return *std::get<std::unique_ptr<Members>>(content_);
}

EditNode::Elements& EditNode::elements() {
  if (const Json* plain = std::get_if<Json>(&content_)) {
    auto made = std::make_unique<Elements>();
    for (const Json& item : plain->as_array()) made->push_back(EditNode(item));
    content_ = std::move(made);
  }
  return *std::get<std::unique_ptr<Elements>>(content_);
}

EditNode* EditNode::member(std::string_view key) {
  Members& list = members();
  const std::uint32_t at = list.place_of(key);
  return at == KeyIndex::kAbsent ? nullptr : &list.all[at].value;
}

void EditNode::set_member(std::string_view key, EditNode value) {
  if (EditNode* old = member(key))
    *old = std::move(value);
  else
    members().append(key, std::move(value));
}

void EditNode::erase_member(std::string_view key) {
  Members& list = members();
  for (std::uint32_t at = list.place_of(key); at != KeyIndex::kAbsent;) {
    Members::Member& member = list.all[at];
    at = member.twin;
    member = {std::string(kErased), EditNode(), kNoTwin};
    ++list.erased;
  }
}

std::size_t EditNode::element_count() const {
  const Json* plain = std::get_if<Json>(&content_);
  return plain ? plain->as_array().size() : std::get<std::unique_ptr<Elements>>(content_)->count;
}

EditNode& EditNode::element(std::size_t at) {
  Elements& list = elements();
  const auto [chunk, place] = list.find(at);
  return list.chunks[chunk][place];
}

void EditNode::insert_element(std::size_t at, EditNode value) {
  elements().insert(at, std::move(value));
}

void EditNode::erase_element(std::size_t at) {
  elements().erase(at);
}

// Everything but the sizes is looked at only as long as it agrees: linear in the smaller of the two.
bool EditNode::equals(const Json& value) const {
  if (const Json* plain = std::get_if<Json>(&content_)) return *plain == value;
  if (const auto* list = std::get_if<std::unique_ptr<Elements>>(&content_)) {
    if (!value.is_array() || value.as_array().size() != (*list)->count) return false;
    auto other = value.as_array().begin();
    for (const Elements::Chunk& chunk : (*list)->chunks)
      for (const EditNode& item : chunk)
        if (!item.equals(*other++)) return false;
    return true;
  }
  const Members& list = *std::get<std::unique_ptr<Members>>(content_);
  if (!value.is_object() || value.as_object().size() != list.all.size() - list.erased) return false;
  for (const Members::Member& member : list.all) {
    if (member.key == kErased) continue;
    const Json* other = value.find(member.key);
    if (!other || !member.value.equals(*other)) return false;
  }
  return true;
}

Json EditNode::value() const {
  if (const Json* plain = std::get_if<Json>(&content_)) return *plain;
  if (const auto* list = std::get_if<std::unique_ptr<Elements>>(&content_)) {
    JsonArray items;
    items.reserve((*list)->count);
    for (const Elements::Chunk& chunk : (*list)->chunks)
      for (const EditNode& item : chunk) items.push_back(item.value());
    return Json(std::move(items));
  }
  const Members& list = *std::get<std::unique_ptr<Members>>(content_);
  JsonObject::Members members;
  members.reserve(list.all.size() - list.erased);
  for (const Members::Member& member : list.all)
    if (member.key != kErased) members.push_back({member.key, member.value.value()});
  return Json(JsonObject(std::move(members)));
}

}  // namespace berth::api
