// Tables of text: columns as wide as necessary, cells made printable.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/printable.h"

namespace berth::planning {

using TextRow = std::vector<std::string>;
using TextWidths = std::vector<std::size_t>;

// Makes the cells printable.
inline TextWidths widths_of(std::vector<TextRow>& rows) {
  TextWidths widths(rows.front().size());
  for (TextRow& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = printable_line(row[i]);
      widths[i] = std::max(widths[i], row[i].size());
    }
  return widths;
}

inline void append_row(std::string& out, const TextRow& row, const TextWidths& widths) {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    line += row[i];
    line.append(widths[i] - row[i].size() + 3, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

inline void append_table(std::string& out, std::vector<TextRow> rows) {
  const TextWidths widths = widths_of(rows);
  for (const TextRow& row : rows) append_row(out, row, widths);
}

}  // namespace berth::planning
