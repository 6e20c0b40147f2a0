// Deciders: deterministic state machines without I/O, lock, log call, entropy or clock read. The engine
// (engine/engine.h) feeds them and carries out their effects. Same ordered inputs, same effects.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/api_client.h"
#include "client/view.h"

namespace berth::client {

inline constexpr std::string_view kAnyUid = "*";

// One write. Its failure is reported to the decider; the engine retries only what was not sent, was throttled
// (429) or met a server error (5xx), with backoff.
struct Write {
  ApiRequest request;
  // Puts metadata.resourceVersion of the previous write's answer into the body: the finalizer-then-status
  // sequence.
  bool on_previous_version = false;
  // These reasons count as success: the wanted state is there already (NotFound for a delete, AlreadyExists
  // for a create with a deterministic name).
  std::vector<std::string> fine_reasons = {};
  // For a Get that guards the rest of its chain. If the object in the answer has this UID, or for kAnyUid,
  // the chain ends here as not accepted; the key runs again with that object in its view.
  std::string stop_if_uid = {};
  // For a Get that a reconciler asks for: on_outcome() is called with its answer also when it was accepted.
  bool answer_to_decider = false;
  // A disruption budget refuses an eviction with 429; with this the engine does not send it again.
  bool budget_refusal_is_final = false;
  // What the stored object says after this write, and after no other. For a Create with a name, or an Update
  // on a version. With it the engine follows the write until its outcome is known. It settles a lost answer,
  // AlreadyExists and Conflict by reading the object. It sends an absent write again for as long as an
  // earlier copy may still arrive.
  // Attempts end with the process's term; kWriteBackoffCap bounds their delay.
  struct Mark {
    std::vector<std::string_view> path;  // static lifetime
    std::string text;
  };
  std::optional<Mark> mark = std::nullopt;
};

// The writes of one key, in order: each starts after the one before was accepted; the first failure ends the
// chain.
struct Chain {
  api::ObjectKey key;
  std::vector<Write> writes;
  // An urgent chain completes what others began: where writes queue, it goes before chains that are not.
  bool urgent = false;
};

// A Kubernetes event about an object. Best effort; repeats are folded into a count.
struct EventNote {
  api::ObjectKey regarding;
  std::string regarding_uid;
  bool warning = false;
  std::string reason;
  std::string action;
  std::string message;
  std::string decision_id;  // stands in the annotation berth.dev/decision; not part of what makes a repeat
  std::string component;    // who reports; the engine's own name when empty
  std::string field_path;   // the part of the object, "spec.containers{main}"; empty: all of it
};

// The writes and events that a decider asks for. Chains of different keys run concurrently.
struct Effects {
  std::vector<Chain> chains;
  bool stop_on_failure = false;  // chains that did not begin before another failed are not begun
  std::vector<EventNote> events;
  // Run this key again at that time (the earlier of several wins). Cleared by the next run of the key.
  std::optional<Time> wake_at;
  // Count this run as failed: it comes again after the key's exponential backoff.
  bool retry = false;
  // Echoed in Outcome::decision_id.
  std::string decision_id;

  static Effects nothing() { return {}; }
  static Effects write(const api::ObjectKey& key, Write write);
  Effects& then(Write write);  // appends to the last chain
  bool empty() const { return chains.empty() && events.empty() && !wake_at && !retry; }
};

// A canonical text of effects: what table tests and replay compare byte for byte.
std::string to_text(const Effects& effects);

struct ChainOutcome {
  api::ObjectKey key;
  bool ok = false;
  std::size_t writes_accepted = 0;
  ApiReply last;  // the answer that ended the chain
};

struct Outcome {
  std::string decision_id;
  std::vector<ChainOutcome> chains;
};

// Which changes wake which keys.
struct Interest {
  api::Kind kind;
  api::ResourceRef resource;  // for Kind::Other
  std::function<void(const View&, const Delta&, std::vector<api::ObjectKey>&)> keys;
};

// The common form: everything is in the view. A key is never run while its earlier effects are under way; the
// answers of its writes are in the view before it runs again.
class Reconciler {
 public:
  virtual ~Reconciler() = default;
  virtual std::string_view name() const = 0;
  virtual std::vector<Interest> interests() const = 0;
  // Which keys a signal from outside the API about `about` wakes (engine::Engine::wake).
  virtual void signalled(const View&, const api::ObjectKey& about, std::vector<api::ObjectKey>& keys) const {
    keys.push_back(about);
  }
  virtual Effects reconcile(const View& view, const api::ObjectKey& key, Time now) = 0;
  // Called before the key runs again when a chain of its last run was not accepted, or when its last write
  // asks for it (Write::answer_to_decider). For reconcilers that classify refusals.
  virtual void on_outcome(const View& view, const api::ObjectKey& key, const Outcome& outcome, Time now);
};

// The term in which a process decides: the Lease that it holds, and spec.leaseTransitions of it plus one.
// Epochs of one Lease grow with every new leader; those of different Leases are not comparable.
struct Leadership {
  std::uint64_t epoch = 0;  // 0: nobody is elected, there is one process
  api::LeaseIdentity lease = {};
};

// The form with state of its own (the scheduler). `decide` is called again while it returns effects and when
// `wake_at` of its last answer has come.
class StatefulDecider {
 public:
  virtual ~StatefulDecider() = default;
  virtual std::string_view name() const = 0;
  virtual std::vector<Interest> interests() const = 0;  // `keys` is not used
  // Called once a term, when lists that were asked for after the term began have been applied. Before that,
  // apply() updates the model but keeps nothing that grows with the number of past objects, and decide() is
  // not called.
  virtual void begin_leading(const View&, Leadership, Time) {}
  virtual void apply(const View& view, const Delta& delta, Time now) = 0;
  virtual Effects decide(const View& view, Time now) = 0;
  virtual void on_outcome(const View& view, const Outcome& outcome, Time now) = 0;
};

// Interest of a reconciler whose keys are the changed objects themselves.
Interest itself(api::Kind kind);

// --- small request builders; bodies are JSON text ---

Write create(api::Kind kind, std::string ns, const Json& object);
// Merge patch; `if_version` 0 means unconditional. `uid` guards against a re-created object.
Write merge_patch(const api::ObjectKey& key, Json patch, std::string_view uid, std::uint64_t if_version,
                  std::string subresource = "");
// RFC 6902. `operations` bear their own guards: a failed test changes nothing, and is refused with 422.
Write json_patch(const api::ObjectKey& key, const Json& operations, std::string subresource = "");
// One condition of the object's status, by type; an empty reason or message takes away what stood there.
// Conditional on the version of `seen`: a late one does not take back what was reported since.
Write condition_patch(const api::ObjectKey& key, const api::ObjectMeta& seen,
                      const api::Condition& condition);
// The same of several at once, each of its own type.
Write conditions_patch(const api::ObjectKey& key, const api::ObjectMeta& seen,
                       std::span<const api::Condition> conditions);
// status.nominatedNodeName of the pod as `seen`, on its version; an empty `node` clears it.
Write nomination_patch(const api::ObjectKey& key, const api::ObjectMeta& seen, const std::string& node);
// Refused by the server when the UID differs, or the version, unless it is 0. `grace_s` only for pods; -1
// leaves it to the server.
Write delete_object(const api::ObjectKey& key, std::string_view uid, std::int64_t grace_s = -1,
                    std::string_view propagation = "", std::uint64_t if_version = 0);
// The Eviction API: the server refuses it with 429 and kBudgetRefuses when a disruption budget is spent, and
// when the UID differs. A pod that is gone counts as success.
inline constexpr std::string_view kBudgetRefuses =
    "Cannot evict pod as it would violate the pod's disruption budget.";
Write evict(const api::ObjectKey& pod, std::string_view uid);
// Guards the writes after it: they are made only when the object with this UID, or kAnyUid, does not exist.
// It costs a read, and is needed because the watch of one resource may be behind that of another.
Write unless_exists(const api::ObjectKey& key, std::string_view uid);
api::ObjectKey key_of(api::Kind kind, const api::ObjectMeta& meta);

}  // namespace berth::client
