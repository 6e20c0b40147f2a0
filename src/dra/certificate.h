// A proof that a claim cannot be satisfied: the smallest blocking set found, with the numbers that show it.
//
// Plain data: owned by the verdict that carries it. A checker in the tests verifies each kind from the
// cluster alone. Source: outer surface, `certificate` of `berth plan`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"

namespace berth::dra {

// What blocks the claim. `need` and `have` count devices unless the kind says otherwise.
enum class CertificateKind : std::uint8_t {
  Count,       // fewer usable free devices than requested; items: these devices
  Match,       // no value of the attribute has enough devices; items: the best value's devices
  Distinct,    // fewer distinct values of the attribute than devices requested; items: the values
  Counter,     // a shared counter: need and have in the counter's own unit, have = what is left of it
  Capacity,    // a device capacity: need and have in the capacity's unit, have = the most that is left
  Group,       // compatibility groups: items: the members whose groups exclude every candidate
  Taint,       // too many devices bear untolerated taints; items: device and taint
  Selector,    // too few devices pass the selectors of class and request; items: the nearest misses
  ClaimLimit,  // more than 32 results in one claim, or more than 256 consumers of one
  Class,       // a device class does not exist
};

std::string_view name_of(CertificateKind kind);

enum class Proof : std::uint8_t {
  Numbers,  // need > have is the whole proof
  Search,   // every choice was tried; without the rule of `kind` a solution exists. need: devices wanted,
            // have: the most that fit at once
};

struct Certificate {
  CertificateKind kind = CertificateKind::Count;
  std::string claim;    // object name of the claim that cannot be satisfied; empty when several block
  std::string request;  // "request" or "request/alternative"; empty when several requests together block
  std::string subject;  // attribute, counter ("set/counter"), capacity or class; empty where none applies
  Quantity need;
  Quantity have;
  std::vector<std::string> items;  // at most kCertificateItemsMax, in search order
  Proof proof = Proof::Numbers;
  std::string hint = {};  // Class, or Match with a have of 0: names that were probably meant
};
inline constexpr std::size_t kCertificateItemsMax = 32;

// One line for a person: "needs 3 devices with the same numa; the best group has 2: gpu-4, gpu-5".
std::string to_words(const Certificate& certificate);

}  // namespace berth::dra
