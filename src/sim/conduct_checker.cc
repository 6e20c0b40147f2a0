#include "sim/conduct_checker.h"

#include <algorithm>

namespace berth::sim {
namespace {

constexpr Duration kMinute = Duration::minutes(1);

// The message without its numbers, independent of the order of its parts.
std::string kind_of(const std::string& message) {
  std::string letters;
  for (const char c : message)
    if (c < '0' || c > '9') letters += c;
  std::sort(letters.begin(), letters.end());
  return letters;
}

}  // namespace

std::string ConductChecker::told(const std::string& object, const Told& now_told, Time now) {
  Words& words = words_[object];
  const Told before = std::exchange(words.told, now_told);
  const bool same_matter = before.status == now_told.status && before.reason == now_told.reason &&
                           kind_of(before.message) == kind_of(now_told.message);
  if (!same_matter) words.reworded.clear();
  if (!same_matter || before.message == now_told.message) return "";
  std::erase_if(words.reworded, [now](Time at) { return now - at >= kMinute; });
  words.reworded.push_back(now);
  if (words.reworded.size() <= kRewordingsAMinuteMax) return "";
  return "I15: the numbers in a condition of " + object + " were rewritten " +
         std::to_string(words.reworded.size()) + " times in a minute";
}

std::string ConductChecker::attempted(const StoredRequest& before, const StoredRequest& after) {
  if (before.decision != after.decision || after.next_attempt.empty()) return "";
  if (before.next_attempt == after.next_attempt || after.failed_attempts > before.failed_attempts) return "";
  return "I17: request " + after.name + " is tried again and says " + std::to_string(after.failed_attempts) +
         " failed attempts, as before";
}

std::string ConductChecker::group_told(const StoredGroup* before, const StoredGroup& after,
                                       std::int64_t there, std::int64_t min) {
  if (after.scheduled != "True") return "";
  if (after.scheduled_message.find("unschedulable") != std::string::npos)
    return "I17: group " + after.name + " is scheduled and says \"" + after.scheduled_message + "\"";
  const bool turned = !before || before->uid != after.uid || before->scheduled != "True";
  if (!turned || !after.committed.empty() || there >= min) return "";
  return "I17: group " + after.name + " says that it is scheduled with " + std::to_string(there) + " of " +
         std::to_string(min) + " members bound, and nothing is committed";
}

}  // namespace berth::sim
