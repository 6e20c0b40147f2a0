#include "dashboard/published.h"

namespace berth::dashboard {
namespace {

std::string event_text(std::string_view event, std::string_view json) {
  std::string text;
  text.append("event: ").append(event).append("\ndata: ").append(json).append("\n\n");
  return text;
}

}  // namespace

void Published::put(std::string_view page, std::string text) {
  auto shared = std::make_shared<const Content>(std::move(text));
  const std::lock_guard lock(pages_mutex_);
  pages_.insert_or_assign(std::string(page), std::move(shared));
}

void Published::tell(std::string_view event, const std::string& json) {
  const std::string text = event_text(event, json);
  const std::lock_guard lock(listeners_mutex_);
  std::erase_if(listeners_, [&](const auto& listener) { return !listener->send(text); });
}

std::shared_ptr<const Content> Published::page(std::string_view name) {
  const std::lock_guard lock(pages_mutex_);
  const auto found = pages_.find(name);
  if (found == pages_.end()) return nullptr;
  read_ = true;
  return found->second;
}

bool Published::listen(std::shared_ptr<server::HttpExchange> listener, server::Headers headers) {
  const std::lock_guard lock(listeners_mutex_);
  if (listeners_.size() == kListenersMax) return false;
  listener->begin_stream(200, std::move(headers));
  if (listener->send(event_text("hello", "{}"))) listeners_.push_back(std::move(listener));
  return true;
}

bool Published::take_reads() {
  const bool read = read_.exchange(false);
  const std::lock_guard lock(listeners_mutex_);
  return read || !listeners_.empty();
}

void Published::close() {
  const std::lock_guard lock(listeners_mutex_);
  for (const auto& listener : listeners_) listener->end_stream();
  listeners_.clear();
}

}  // namespace berth::dashboard
