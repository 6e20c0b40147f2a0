// Defects of the museum (base/known_defects.h) that storms meet too rarely, each shown directly.
#include <gtest/gtest.h>

#include "base/testing/museum.h"
#include "engine/testing/marked_create.h"

namespace berth::engine {
namespace {

TEST(MuseumByHand, AlreadyExistsCountsAsOurs) {
  expect_shown(KnownDefect::AlreadyExistsCountsAsOurs, [] {
    testing::MarkedCreate create({});
    create.fixture.api.put(api::Kind::Pod,
                           R"({"metadata":{"namespace":"d","name":"made"},"spec":{"said":"somebody else"}})");
    create.fixture.advance(Duration::minutes(5));
    return !create.ok;
  });
}

}  // namespace
}  // namespace berth::engine
