// A watch that lags, breaks, repeats events and lists again from older states, in virtual time.
#pragma once

#include <memory>

#include "client/api_client.h"
#include "sim/network.h"

namespace berth::sim {

// `receiver` lives as long as the subscription. The first list is not older than the call.
std::unique_ptr<client::Subscription> hostile_watch(ProcessNetwork& network, const api::ResourceRef& resource,
                                                    client::WatchReceiver& receiver);

}  // namespace berth::sim
