// How many members of a group each domain takes, and what the next one lacks there.
#include <algorithm>
#include <set>

#include "placement/refusal/berth_words.h"
#include "planning/remedy_search.h"

namespace berth::planning {
namespace {

using placement::GroupInput;
using placement::GroupOutcome;

// One example, without its list in brackets: a cell of a table has room for no more.
placement::RefusedFor shortened(placement::RefusedFor why) {
  if (why.first.size() > 1) why.first.resize(1);
  for (placement::RefusedNode& node : why.first) node.why = node.why.substr(0, node.why.find(" ("));
  return why;
}

// "node-2: 2 of cpu short", "3 nodes: …"
std::vector<std::string> lacks_of(const placement::FitError& refused) {
  std::vector<std::string> lacks;
  for (const placement::RefusedFor& why : refused.reasons) {
    const bool amount = why.lacks && why.lacks->asked;
    lacks.push_back(amount ? why.lacks->nearest + ": " + why.lacks->missing.text() + " of " + why.subject +
                                 " short"
                           : std::to_string(why.count) + (why.count == 1 ? " node: " : " nodes: ") +
                                 placement::lack_words(shortened(why)));
  }
  if (!refused.everywhere.empty()) lacks.push_back(refused.everywhere);
  return lacks;
}

}  // namespace

std::vector<RemedySearch::Domain> RemedySearch::domains_of(const GroupInput& input) {
  std::vector<placement::GroupCycle::RoomyPlacement> placements;
  {
    model::Ledger::Transaction transaction(offline.cluster().ledger());
    placements = core.group_cycle().roomiest_placements(context, input, transaction);
  }
  std::vector<Domain> domains;
  // Domains of equal room are named by their paths, so those that may be equal to the last one shown are
  // tried.
  std::multiset<std::int64_t> shown;  // members of the roomiest
  for (auto& [placement, most] : placements) {
    if (tries >= kDomainTriesMax || (shown.size() == kDomainsShownMax && most < *shown.begin())) break;
    DomainRoom room = room_in(placement, input);
    shown.insert(static_cast<std::int64_t>(room.members));
    if (shown.size() > kDomainsShownMax) shown.erase(shown.begin());
    domains.push_back({std::move(placement), std::move(room)});
  }
  std::ranges::sort(domains, [](const Domain& a, const Domain& b) {
    return a.room.members != b.room.members ? a.room.members > b.room.members
                                            : a.placement.name < b.placement.name;
  });
  for (std::size_t i = 0; i < domains.size() && i < kDomainsShownMax; ++i)
    out.domains.push_back(domains[i].room);
  return domains;
}

DomainRoom RemedySearch::room_in(const placement::Placement& placement, const GroupInput& group) {
  DomainRoom room{placement.name.empty() ? "the cluster" : placement.name, placement.nodes.size(), 0, "", {}};
  api::PodGroup any = *group.group;
  any.gang_min = 1;
  GroupInput input = group;
  input.group = &any;
  model::Ledger::Transaction transaction(offline.cluster().ledger());
  const auto before = transaction.savepoint();
  GroupOutcome most;
  model::Plan plan;  // of `most`, its devices included
  for (std::size_t members = 1; members <= input.waiting.size(); ++members) {
    transaction.roll_back_to(before);
    ++tries;
    GroupOutcome outcome = core.group_cycle().run_on(context, input, {placement, members}, transaction);
    if (outcome.placed() < members) break;
    members = outcome.placed();
    most = std::move(outcome);
    plan = transaction.take_since(before);
  }
  room.members = most.members.empty() ? 0 : most.placed();
  transaction.roll_back_to(before);
  offline.cluster().redo(plan, transaction);
  put_next(placement, input, most, transaction, room);
  return room;
}

// The members that fit are placed, and the first other one is tried on the rest.
void RemedySearch::put_next(const placement::Placement& placement, const GroupInput& input,
                            const GroupOutcome& most, model::Ledger::Transaction& transaction,
                            DomainRoom& room) {
  const api::Pod* next = nullptr;
  for (std::size_t i = 0; i < input.waiting.size() && !next; ++i)
    if (i >= most.members.size() || !most.members[i].node.valid()) next = input.waiting[i];
  if (!next) return;
  room.next = next->meta.name;
  placement::CycleState state;
  const placement::PodCycle& cycle = core.pod_cycle();
  cycle.begin(state, context, *next, &transaction);
  if (cycle.prepare(state)) cycle.choose(state, placement.nodes, {});
  room.lacks = lacks_of(cycle.fit_error(state));
}

}  // namespace berth::planning
