// Lets the rules of the API kinds compile the expressions of selectors and derived attributes.
#pragma once

namespace berth::cli {

// Once, before requests are served. Rooms api and cel do not know each other.
void plug_cel();

}  // namespace berth::cli
