#include "scheduling/defragmenter.h"

#include <algorithm>

#include "placement/claims.h"
#include "placement/defragmentation/domain_level.h"
#include "placement/replacement/lost_places.h"

namespace berth::scheduling {
namespace {

using placement::DefragmentationPlan;
using placement::DefragmentationQuestion;
using placement::DefragmentedDomain;
using placement::PodMove;
using placement::WaitingEntity;

bool asks_for_devices(const WaitingEntity& waiting) {
  const auto asks = [](const api::Pod* pod) { return placement::asks_for_devices(*pod); };
  if (const auto* pod = std::get_if<const api::Pod*>(&waiting.input)) return asks(*pod);
  if (const auto* group = std::get_if<GroupInput>(&waiting.input))
    return std::ranges::any_of(group->waiting, asks);
  return std::ranges::any_of(std::get<TreeInput>(waiting.input).nodes, [&](const placement::TreeNode& node) {
    return std::ranges::any_of(node.group.waiting, asks);
  });
}

bool serves(const DefragmentedDomain& domain, std::span<const WaitingEntity> waiting, const EntityKey& key) {
  return std::ranges::any_of(
      domain.fits, [&](const placement::FittingEntity& one) { return waiting[one.waiting].key == key; });
}

}  // namespace

client::Effects Defragmenter::due(const SchedulingContext& context, const WaitingOf& waiting_of) {
  if (loop_.rooms.expire(context.now)) loop_.queue.wake(kEventRoomFreed, context.now);
  if (loop_.options.defragmentation.mode == DefragmentationMode::Never) return {};
  if (loop_.relocations.look_is_due(context.now)) {
    if (loop_.relocations.under_way())
      follow(context);
    else if (client::Effects reports = search(context, waiting_of); !reports.events.empty())
      return reports;
  }
  return loop_.relocations.due(context.view, context.now);
}

void Defragmenter::write_done(const client::ChainOutcome& outcome, Time now) {
  if (loop_.relocations.write_done(outcome, now))
    note(now, DefragmentationResult::Moved, outcome.key.ns + "/" + outcome.key.name);
}

Defragmenter::Waiting Defragmenter::waiting(const SchedulingContext& context,
                                            const WaitingOf& waiting_of) const {
  Waiting found;
  for (const QueuedEntity& entry : loop_.queue.refused(kRefusedLooksMax)) {
    if (found.entities.size() == placement::kRoomWaitingMax) break;
    if (loop_.evictions.find(entry.key)) continue;  // its victims make room
    std::optional<WaitingEntity> entity = waiting_of(context, entry.key);
    if (!entity || placement::waiting_pods(*entity) == 0 || !asks_for_devices(*entity)) continue;
    found.entities.push_back(*std::move(entity));
    found.priorities.push_back(entry.priority);
  }
  return found;
}

// Pods of other schedulers, and pods that leave for another reason.
std::set<model::PodId> Defragmenter::staying(const client::View& view) const {
  std::set<model::PodId> pods;
  for (const auto& [key, pod] : view.pods.all())
    if (pod->bound() && !loop_.ours(*pod)) pods.insert(loop_.cluster.find_pod(key.ns, key.name));
  for (const auto& [id, hold] : loop_.cluster.ledger().holds())
    pods.insert(hold.leaving.begin(), hold.leaving.end());
  return pods;
}

// The room that the guard keeps for an overtaken entry is free for this entry alone: moves may use it if they
// serve this entry.
DefragmentationPlan Defragmenter::find(const DefragmentationQuestion& question) {
  const auto search = [&](std::span<const model::HoldId> lifted) {
    model::Ledger::Transaction transaction(loop_.cluster.ledger());
    transaction.lift_holds(INT32_MIN, {.rooms = lifted});
    return placement::find_defragmentation(core_, question, transaction);
  };
  if (const auto kept = loop_.overtaking.kept()) {
    DefragmentationPlan plan = search({&kept->hold, 1});
    if (!plan.domains.empty() && serves(plan.domains.front(), question.waiting, kept->key)) return plan;
  }
  return search({});
}

client::Effects Defragmenter::search(const SchedulingContext& context, const WaitingOf& waiting_of) {
  const DefragmentationSettings& settings = loop_.options.defragmentation;
  loop_.relocations.wait(context.now);
  const std::size_t moves_max = loop_.relocations.moves_left(context.now);
  if (moves_max == 0 || !loop_.rooms.has_space_for(moves_max)) return {};
  const Result<placement::DomainLevel> level =
      placement::domain_level(context.view, settings.level, "defragmentation.level");
  if (!level) {
    note(context.now, DefragmentationResult::NoLevel, level.error().message());
    return {};
  }
  const Waiting waiting = this->waiting(context, waiting_of);
  const std::set<model::PodId> stay = staying(context.view);
  const placement::OwnersOf owners = loop_.owners.questions();
  const DefragmentationPlan plan = find({context,
                                         level->keys,
                                         waiting.entities,
                                         stay,
                                         owners,
                                         {.moves_max = moves_max,
                                          .moves_per_domain_max = moves_max,
                                          .domains_max = 1,
                                          .ratio_min = settings.ratio * placement::kRatioUnit,
                                          .whole_groups = false}});
  if (plan.domains.empty()) {
    note(context.now, DefragmentationResult::Nothing, "", plan.whole_before);
    return {};
  }
  const DefragmentedDomain& domain = plan.domains.front();
  std::string gain = placement::gain_text(domain, waiting.entities);
  const bool reports = settings.mode == DefragmentationMode::Report;
  note(context.now, reports ? DefragmentationResult::Reported : DefragmentationResult::Begun, gain,
       plan.whole_before);
  if (reports) return report(domain, gain);
  begin(context, domain, waiting, std::move(gain));
  return {};
}

client::Effects Defragmenter::report(const DefragmentedDomain& domain, const std::string& gain) {
  client::Effects effects;
  std::string moves;
  for (const PodMove& move : domain.moves) {
    const api::Pod& pod = *loop_.cluster.pod(move.pod).live;
    client::EventNote event;
    event.regarding = client::key_of(api::Kind::Pod, pod.meta);
    event.regarding_uid = pod.meta.uid;
    event.reason = "MoveProposed";
    event.action = "Defragmenting";
    event.message = "A move to " + loop_.cluster.node(move.to).name + " is worth it: " + gain;
    event.component = pod.scheduler_name;
    moves += pod.meta.uid + " " + event.message + "\n";
    effects.events.push_back(std::move(event));
  }
  if (!loop_.relocations.is_news(moves)) effects.events.clear();
  return effects;
}

void Defragmenter::begin(const SchedulingContext& context, const DefragmentedDomain& domain,
                         const Waiting& waiting, std::string gain) {
  if (const auto kept = loop_.overtaking.kept(); kept && serves(domain, waiting.entities, kept->key))
    loop_.overtaking.make_way();
  Relocation set;
  set.gain = std::move(gain);
  std::vector<model::PodId> leaving;
  for (const PodMove& move : domain.moves) leaving.push_back(move.pod);
  set.until = context.now + longest_grace(loop_.cluster, leaving) + kRelocationMax;
  for (const PodMove& move : domain.moves) {
    const api::Pod& pod = *loop_.cluster.pod(move.pod).live;
    loop_.keep_successor_room(context.view, {move.pod, move.to, move.room}, set.until);
    set.pods[client::key_of(api::Kind::Pod, pod.meta)] = {pod.meta.uid, loop_.cluster.node(move.from).name,
                                                          loop_.cluster.node(move.to).name,
                                                          pod.scheduler_name, pod.group};
  }
  for (const placement::FittingEntity& one : domain.fits) {
    model::Hold hold =
        loop_.cluster.hold_for(one.room, model::binding_equals(waiting.priorities[one.waiting]));
    set.served.emplace(waiting.entities[one.waiting].key,
                       model::ScopedHold(loop_.cluster.ledger(), std::move(hold)));
  }
  set.serves = !set.served.empty();
  loop_.relocations.begin(std::move(set), context.now);
}

bool Defragmenter::is_open(const client::View& view, const std::string& node, const api::Pod& pod) const {
  const api::Node* live = view.nodes.find("", node);
  return live && !live->unschedulable && !placement::is_failing_for(*live, pod);
}

void Defragmenter::follow(const SchedulingContext& context) {
  const Relocation& set = *loop_.relocations.under_way();
  bool settled = set.served.empty(), stays_open = true, has_staying = false;
  for (const auto& [key, pod] : set.pods) {
    const api::Pod* live = still_there(context.view, key, pod);
    const bool has_room = loop_.rooms.has_room(pod.uid);
    settled &= !live && !has_room;
    if (!live || live->meta.deleting()) continue;
    has_staying = true;
    stays_open &= has_room && is_open(context.view, pod.to, *live);
  }
  const bool is_served = set.serves && set.served.empty();
  if (settled)
    end(context, DefragmentationResult::Reached);
  else if (context.now >= set.until || (has_staying && (is_served || !stays_open)))
    end(context, DefragmentationResult::GivenUp);
  else
    loop_.relocations.wait(context.now);
}

// Pods that were not evicted stay: their rooms end.
void Defragmenter::end(const SchedulingContext& context, DefragmentationResult result) {
  const Relocation& set = *loop_.relocations.under_way();
  for (const auto& [key, pod] : set.pods)
    if (const api::Pod* live = still_there(context.view, key, pod); live && !live->meta.deleting())
      loop_.rooms.give_up(pod.uid);
  note(context.now, result, set.gain);
  loop_.relocations.end(result == DefragmentationResult::GivenUp, context.now);
  loop_.queue.wake(kEventRoomFreed, context.now);
}

void Defragmenter::note(Time now, DefragmentationResult result, std::string text,
                        std::size_t whole_domains) const {
  if (decisions_) decisions_->defragmented({now, result, std::move(text), whole_domains});
}

}  // namespace berth::scheduling
