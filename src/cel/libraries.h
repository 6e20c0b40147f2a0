// The function tables, one per library. Rows of one name keep their order: the first that accepts the
// arguments runs.
#pragma once

#include <span>

#include "cel/environment.h"

namespace berth::cel {

std::span<const FunctionRow> operator_rows();        // + - * / % == < in [] size, type, dyn
std::span<const FunctionRow> conversion_rows();      // int(), string(), bool()…
std::span<const FunctionRow> time_rows();            // timestamp, duration and their getters
std::span<const FunctionRow> string_rows();          // contains, matches, split, format…
std::span<const FunctionRow> list_rows();            // sort, sum, sets.contains, lists.range…
std::span<const FunctionRow> list_attribute_rows();  // includes: KEP-5491
std::span<const FunctionRow> optional_rows();        // optional.of, value, hasValue…
std::span<const FunctionRow> amount_rows();          // quantity, semver
std::span<const FunctionRow> network_rows();         // ip, cidr
std::span<const FunctionRow> url_rows();             // url
std::span<const FunctionRow> authorization_rows();   // path, check, allowed… (authorization.h)
std::span<const FunctionRow> named_format_rows();    // format.dns1123Label()…

// Costs that several libraries use, as cel-go and Kubernetes compute them.
std::uint64_t cost_of_traversal(std::span<const Extent> args,
                                const Extent& result);  // a tenth of the first's size
std::uint64_t cost_of_two_traversals(std::span<const Extent> args, const Extent& result);
// Each item once; Kubernetes rounds down here, so texts under ten bytes are free.
std::uint64_t cost_of_items(std::span<const Extent> args, const Extent& result);
std::uint64_t cost_of_regex(std::span<const Extent> args, const Extent& result);  // text by pattern
std::uint64_t tenth(std::uint64_t size);                                          // rounded up

// The argument, of conversions that change nothing.
Value unchanged(std::span<Value> args, Runtime& runtime);

// "no such overload: name(types)".
Value no_overload(std::string_view function, std::span<const Value> args);

}  // namespace berth::cel
