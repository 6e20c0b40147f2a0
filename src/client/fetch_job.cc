#include "client/fetch_job.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>

#include "base/ascii.h"

namespace berth::client {
namespace {

constexpr Duration kTokenFileAge = Duration::seconds(60);  // rotated tokens overlap for longer than that

// Of a Date header. The answers of one second have the same text.
Time date_of(const std::string& text) {
  thread_local std::string latest;
  thread_local Time date;
  if (text == latest) return date;
  latest = text;
  const time_t seconds = curl_getdate(text.c_str(), nullptr);
  return date = seconds < 0 ? Time() : Time::from_seconds(seconds);
}

}  // namespace

bool may_leave(FetchJob& job) {
  job.forbidden |= job.fetch.permit && !job.fetch.permit->granted();
  return !job.forbidden;
}

std::size_t give_body(FetchJob& job, char* room, std::size_t size) {
  if (job.body_sent == 0 && !may_leave(job)) return 0;
  const std::size_t count = std::min(size, job.fetch.body.size() - job.body_sent);
  std::memcpy(room, job.fetch.body.data() + job.body_sent, count);
  job.body_sent += count;
  return count;
}

bool add_header(FetchJob& job, std::string_view name, std::string_view value) {
  job.header_bytes += name.size() + value.size();
  job.too_large |= job.header_bytes > kReplyHeaderBytesMax;
  if (!job.too_large) job.reply.headers.emplace_back(to_lower(name), value);
  return !job.too_large;
}

bool add_body(FetchJob& job, std::string_view bytes, std::size_t bytes_max) {
  job.too_large |= job.reply.body.size() + bytes.size() > bytes_max;
  if (!job.too_large) job.reply.body.append(bytes);
  return !job.too_large;
}

void finish(FetchJob& job, Delivery delivery, std::string trouble) {
  if (job.stream) {
    job.stream->on_end(std::move(trouble));
    return;
  }
  job.reply.delivery = delivery;
  if (delivery != Delivery::Answered) {
    job.reply.status = 0;
    job.reply.headers.clear();
    job.reply.body.clear();
  }
  job.reply.trouble = std::move(trouble);
  if (const std::string_view date = job.reply.header("date"); !date.empty())
    job.reply.date = date_of(std::string(date));
  job.done(std::move(job.reply));
}

const std::string& BearerToken::at(Time now) {
  if (file_.empty() || (read_at_.is_set() && now - read_at_ <= kTokenFileAge)) return token_;
  read_at_ = now;
  if (Result<std::string> token = read_token_file(file_)) token_ = std::move(*token);
  return token_;
}

}  // namespace berth::client
