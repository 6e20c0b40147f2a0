// A view of a few nodes and a floor that follows it, for tests.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "dashboard/floor.h"

namespace berth::dashboard {

struct FloorRoom {
  client::View view;
  Floor floor;
  std::uint64_t version = 0;

  // An object with the members `body` besides its metadata, which also has the members `meta`.
  void put(api::Kind kind, std::string_view ns, std::string_view name, std::string_view body,
           std::string_view meta = "");
  void erase(api::Kind kind, std::string_view ns, std::string_view name);
  // With two units of a resource. `labels`: members after the label of its rack.
  void node(const std::string& name, const std::string& rack, bool ready = true, bool cordoned = false,
            std::string_view labels = "");
  // Devices gpu-0, gpu-1, …; the first has a taint of this effect, empty: none has.
  void slice(const std::string& node, int devices, std::string_view taint = "");
  void pod(const std::string& name, const std::string& node, const std::string& group = "",
           const std::string& claim = "", int units = 0);
  // Allocated gpu-`device`, or nothing where that is negative; reserved for the pod unless that is empty.
  void claim(const std::string& name, const std::string& node, int device, const std::string& pod);
  void topology();

  // By device, its use, its condition and who has it.
  std::map<std::string, std::string> text() const { return text_of(floor); }
  static std::map<std::string, std::string> text_of(const Floor& floor);
  static std::string cell_text(const Cell& cell, const Owner& owner);
};

}  // namespace berth::dashboard
