#include "dra/certificate.h"

#include <array>
#include <utility>

namespace berth::dra {
namespace {

constexpr std::array kNames = {
    "Count", "Match", "Distinct", "Counter", "Capacity", "Group", "Taint", "Selector", "ClaimLimit", "Class",
};

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

}  // namespace

std::string_view name_of(CertificateKind kind) {
  return kNames[static_cast<std::size_t>(kind)];
}

std::string to_words(const Certificate& certificate) {
  std::string text = "needs " + certificate.need.text();
  if (!certificate.subject.empty()) text += " of " + certificate.subject;
  text += ", has " + certificate.have.text();
  if (!certificate.items.empty()) text += ": " + joined(certificate.items);
  return text;
}

}  // namespace berth::dra
