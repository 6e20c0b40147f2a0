// The records of MemoryRequests and their receivers. Shared with callbacks of writes in flight. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "binding/memory_request_log.h"
#include "binding/memory_requests.h"

namespace berth::binding {

class MemoryRequests::Table : public std::enable_shared_from_this<Table> {
 public:
  using Done = std::function<void(client::ApiReply)>;

  explicit Table(client::ApiClient& inner) : inner_(inner) {}

  // True if the table answers the request, now or later.
  bool answer(const client::ApiRequest& request, const Done& done);
  // Whether it is a create that the table keeps.
  bool holds(const client::ApiRequest& request) const;
  void lead(client::Leadership term);
  // Delivers what has changed, and writes records for gang members that wait for one.
  std::optional<Time> flush(Time now);

  void subscribe(client::WatchReceiver& receiver);
  void unsubscribe(client::WatchReceiver& receiver);
  void pass_list(client::WatchReceiver& receiver, client::RawList list);
  void pass_changes(client::WatchReceiver& receiver, std::vector<client::RawChange> changes);
  std::size_t size() const;

 private:
  struct Kept {
    api::BindRequestPtr request;
    std::size_t bytes = 0;
    bool has_status = false;
    bool leaving = false;  // becoming an object: other writes meet Conflict
    std::string record;    // name of its gang's record in its namespace; empty: none
  };
  // A member's create, answered once the gang's record is stored.
  struct Creation {
    client::NamedKey key;
    api::BindRequestPtr request;
    std::size_t bytes = 0;
    Done done;
  };
  using Members = std::vector<Creation>;
  // A BindRequest object with the specs of several members (api::gang_record_object). Known until it is
  // gone.
  struct GangRecord {
    std::set<client::NamedKey> members;   // that are kept
    std::set<client::NamedKey> ended;     // former members: a late event of the record does not restore them
    std::set<client::NamedKey> replaced;  // members that had an object of their own
    std::set<client::NamedKey> marked;    // those of `replaced` that the stored record names as ended
    bool marking = false;                 // a write of the mark is under way
    std::uint64_t version = UINT64_MAX;   // at the API server; unknown before the first answer
  };
  struct Forming {
    Members waiting;
    bool under_way = false;  // a record is being written
    Time begun_at = {};      // the latest record
  };

  bool has_room_for(const client::ApiRequest& create) const;
  std::optional<client::ApiReply> create(const client::ApiRequest& request, const client::NamedKey& key,
                                         const Done& done);
  std::optional<client::ApiReply> change(const client::ApiRequest& request, const client::NamedKey& key,
                                         Kept& kept, api::BindRequestPtr& leaving);
  std::optional<client::ApiReply> erase(const client::ApiRequest& request, const client::NamedKey& key,
                                        const Kept& kept);
  client::ApiReply answer_for_absent(const client::NamedKey& key) const;
  void move_out(const client::NamedKey& key, const api::BindRequestPtr& leaving, const Done& done);
  const Kept& keep(const client::NamedKey& key, api::BindRequest request, const std::string& record);
  void drop(const client::NamedKey& key);
  void displace(const client::NamedKey& key, const api::RawPtr& by, const Json& document);
  void forget(const client::NamedKey& key);
  const Kept& store(const client::NamedKey& key, api::BindRequest request, client::ChangeKind kind);

  void deliver();
  void appeared(const client::NamedKey& key, const api::RawPtr& object, const Json& document);
  void pass_change(client::RawChange change, std::vector<client::RawChange>& passed);

  // memory_request_gangs.cc
  std::optional<Time> write_records(Time now);
  void write_record(const std::string& ns);
  Members next_members(const std::string& ns);
  std::vector<Json> specs_of_next_record(const std::string& ns, Members& members);
  void record_stands(const client::NamedKey& record, const api::RawPtr& object);
  client::ApiReply take_member(const Creation& member, const std::string& record);
  void record_answered(const client::NamedKey& record, const Members& members, const client::ApiReply& reply);
  void expand(const Json& record);
  void take_records(const std::vector<Json>& gangs, std::uint64_t list_version);
  void record_is_gone(const client::NamedKey& record);
  void leave_record(const client::NamedKey& key, const std::string& record);
  void delete_record_before(const client::ApiRequest& request, const std::string& record, const Done& done);
  void delete_ended_records();
  void look_for_lost_objects(const client::NamedKey& name, const GangRecord& record);
  void mark_ended_members();
  std::optional<client::ApiRequest> next_mark(const client::NamedKey& name,
                                              std::set<client::NamedKey>& marked);
  void write_to_records();

  client::ApiClient& inner_;
  mutable std::mutex mutex_;  // held while receivers are called: they only enqueue
  RequestLog log_;
  std::map<client::NamedKey, Kept> kept_;
  std::size_t bytes_ = 0;          // of what is kept
  std::size_t waiting_bytes_ = 0;  // of members whose record is not stored yet
  std::uint64_t uids_ = 0;
  client::Leadership term_;                 // that this process leads
  std::uint64_t version_ = 0;               // the latest, given out here or seen from the API server
  std::set<client::NamedKey> objects_;      // BindRequests that the API server has
  std::map<std::string, Forming> forming_;  // by namespace
  std::map<client::NamedKey, GangRecord> records_;
  std::set<client::NamedKey> ended_records_;     // to be deleted
  std::set<client::NamedKey> unmarked_records_;  // with members whose objects are gone
};

client::ApiReply kept_reply(int code, api::BindRequestPtr request);
client::ApiRequest object_create(const api::BindRequest& request);
// The names with commas, whole ones within kEndedMembersBytesMax: the value of kEndedMembersAnnotation.
std::string ended_members_text(const std::set<client::NamedKey>& members);

}  // namespace berth::binding
