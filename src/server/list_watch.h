// LIST and WATCH: selectors, resourceVersion rules, paging, bookmarks and streams.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/http.h"
#include "server/registry.h"

namespace berth::server {

// The options of a list or watch, checked (ListOptions of meta/v1).
struct ListOptions {
  std::string label_selector;
  std::string field_selector;
  std::size_t limit = 0;
  std::string continue_token;
  std::optional<store::Revision> version;  // absent: the newest state
  bool exact = false;                      // resourceVersionMatch=Exact
  bool watch = false;
  bool bookmarks = false;
  bool initial_events = false;  // sendInitialEvents=true
  bool initial_events_said = false;
  std::int64_t timeout_s = 0;
};

// How objects are shown: as they are, as Table rows or as metadata alone.
enum class Form { Object, Table, Metadata, MetadataList };
enum class Encoding { Json, Yaml };
struct Rendering {
  Form form = Form::Object;
  Encoding encoding = Encoding::Json;                                         // a watch is always JSON
  std::string_view version = "v1";                                            // of meta.k8s.io: a Table's
  enum class Include { None, Metadata, Object } include = Include::Metadata;  // Table rows
};

// 400 or 422 with the text that clients know, or the options.
std::variant<ListOptions, ApiStatus> read_list_options(const HttpRequest& request);

// True for objects that the selectors select. Parses the object only when there is a selector.
using Matcher = std::function<bool(const store::Object&)>;
std::variant<Matcher, ApiStatus> make_matcher(const api::ResourceInfo& resource,
                                              const std::string& label_selector,
                                              const std::string& field_selector, const std::string& name);

HttpResponse list(const Registry& registry, const ObjectTarget& target, const ListOptions& options,
                  Rendering rendering);

// Every open watch: ends them at their time, sends bookmarks, closes those whose peer does not read.
class WatchHub {
 public:
  explicit WatchHub(const Registry& registry);
  ~WatchHub();
  void open(const ObjectTarget& target, const ListOptions& options, Rendering rendering, Matcher matches,
            std::shared_ptr<HttpExchange> exchange);
  // Called about every 200 ms.
  void tick(Time now);
  std::size_t open_count() const;
  // Ends all streams.
  void close_all();

 private:
  class Stream;
  struct Open;

  const Registry& registry_;
  const std::shared_ptr<Open> open_;
};

inline constexpr std::size_t kWatchQueueEventsMax =
    50'000;  // undelivered events of one watch; more closes it
inline constexpr std::int64_t kBookmarkPeriodS = 60;
inline constexpr std::int64_t kWatchTimeoutDefaultS = 1800;

}  // namespace berth::server
