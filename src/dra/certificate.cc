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
  const std::string need = certificate.need.text(), have = certificate.have.text();
  const std::string devices = need == "1" ? "1 device" : need + " devices";
  const std::string items = certificate.items.empty() ? "" : ": " + joined(certificate.items);
  const std::string& subject = certificate.subject;
  if (certificate.proof == Proof::Search) {
    constexpr std::array<std::string_view, kNames.size()> kWithout = {
        "", "the same ", "distinct ", "counter ", "capacity ", "compatibility groups", "taints",
    };
    const std::string_view what = kWithout[static_cast<std::size_t>(certificate.kind)];
    return "needs " + devices + "; every choice was tried and at most " + have + " can be had at once" +
           (what.empty() ? "" : ", because of " + std::string(what) + subject) + items;
  }
  switch (certificate.kind) {
    case CertificateKind::Count:
      return "needs " + devices + (subject.empty() ? "" : " of " + subject) + "; " + have +
             (have == "1" ? " is" : " are") + " usable and free" + items;
    case CertificateKind::Match:
      if (certificate.have.is_zero())
        return "needs " + devices + " with the same " + subject +
               "; none that it may take has this attribute" + certificate.hint;
      return "needs " + devices + " with the same " + subject + "; the best group has " + have + items;
    case CertificateKind::Distinct:
      return "needs " + devices + " that differ in " + subject + "; it has " + have +
             (have == "1" ? " value" : " values") + items;
    case CertificateKind::Counter:
      return "needs " + need + " of counter " + subject + "; " + have + " is left" + items;
    case CertificateKind::Capacity:
      return "needs " + need + " of capacity " + subject + "; the most that is left is " + have + items;
    case CertificateKind::Group:
      return "needs " + devices + "; " + have + (have == "1" ? " has" : " have") +
             " a group in common with what is taken from counter set " + subject + items;
    case CertificateKind::Taint:
      return "needs " + devices + "; " + have + (have == "1" ? " bears" : " bear") +
             " no taint that is not tolerated" + items;
    case CertificateKind::Selector:
      return "needs " + devices + (subject.empty() ? "" : " of class " + subject) + "; " + have +
             (have == "1" ? " passes" : " pass") + " the selectors" + items;
    case CertificateKind::ClaimLimit:
      return "needs " + need + " results or consumers in one claim; " + have + " are allowed";
    case CertificateKind::Class:
      break;
  }
  return "device class " + subject + " does not exist" + certificate.hint;
}

}  // namespace berth::dra
