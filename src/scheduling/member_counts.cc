#include "scheduling/member_counts.h"

namespace berth::scheduling {

using placement::GroupGate;

namespace {

void count_in(GroupGate& held, const std::string& group, std::int32_t alive) {
  if (held.kind == GroupGate::Kind::TooFewMembers) held.alive = alive;
  for (placement::ShortGroup& missing : held.missing)
    if (!missing.composite && missing.name == group) missing.alive = alive;
}

}  // namespace

const MemberCounts::CountedEntity* MemberCounts::find(const placement::EntityKey& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

bool MemberCounts::join(const placement::EntityKey& key, const std::string& group) {
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) return false;
  const auto members = entry->second.groups.find(group);
  if (members == entry->second.groups.end() || ++members->second.alive == members->second.wanted)
    return false;
  members->second.waits = true;
  if (entry->second.held) count_in(*entry->second.held, group, members->second.alive);
  return true;
}

}  // namespace berth::scheduling
