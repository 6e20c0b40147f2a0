#include "server/list_stream.h"

#include "base/log.h"
#include "server/list.h"
#include "server/object_versions.h"

namespace berth::server {

ListStream::ListStream(const Registry& registry, std::shared_ptr<KeptBytes> kept_of_all, ListRequest request,
                       store::ListPage page)
    : registry_(registry),
      kept_of_all_(std::move(kept_of_all)),
      request_(std::move(request)),
      page_given_(true),
      page_(std::move(page)) {
  prepare_body();
}

ListStream::Turn ListStream::take_turn(Slot slot) {
  if (streams_ && !request_.exchange->has_room()) return Turn::Full;
  if (slot == Slot::Held && !chunk_.empty()) return send_chunk();  // of the turn without a slot
  Budget budget;
  while (phase_ != Phase::Done && !ended_ && !budget.is_spent()) {
    if (const ApiResult<void> made = step(budget); !made) {
      phase_ = Phase::Done;
      if (streams_)
        cut("an object of it cannot be answered");
      else
        refuse(made.error());
    }
  }
  if (phase_ == Phase::Done) return Turn::Done;
  const bool whole = ended_ && !streams_ && kept_.empty();
  if (!whole && (slot == Slot::None || !writes_)) return Turn::More;
  return send_chunk();
}

ListStream::Turn ListStream::send_chunk() {
  HttpExchange& exchange = *request_.exchange;
  const bool whole = ended_ && !streams_;
  if (!streams_) {
    Headers headers = request_.accepted();
    headers.emplace_back("Content-Type", body_->content_type());
    if (whole) {
      phase_ = Phase::Done;
      exchange.respond({200, std::move(headers), std::move(chunk_)});
      return Turn::Done;
    }
    exchange.begin_body(200, std::move(headers));
    streams_ = true;
  }
  if (!exchange.send(std::exchange(chunk_, {}))) {
    phase_ = Phase::Done;
    return Turn::Done;
  }
  if (!ended_) return Turn::More;
  phase_ = Phase::Done;
  exchange.end_stream();
  return Turn::Done;
}

void ListStream::begin_again() {
  BERTH_ASSERT(!streams_, "what was sent stays sent");
  if (phase_ == Phase::Done) return;
  reader_.reset();
  body_.reset();
  drop_kept();
  std::string().swap(chunk_);
  writes_ = ended_ = false;
  keeps_measured_ = true;
  measured_bytes_ = page_at_ = page_bytes_ = 0;
  if (page_given_) return prepare_body();
  page_.reset();
  phase_ = Phase::Open;
}

void ListStream::cut(const char* reason) {
  log(LogLevel::Warning, "a list was cut",
      {{"reason", reason}, {"resource", request_.query.resource}, {"namespace", request_.query.ns}});
  request_.exchange->cut_stream();
}

ApiResult<void> ListStream::step(Budget& budget) {
  switch (phase_) {
    case Phase::Open:
      return open();
    case Phase::Select:
      return select(budget);
    case Phase::Measure:
      return measure(budget);
    case Phase::Write:
      return write(budget);
    case Phase::Done:
      break;
  }
  return {};
}

ApiResult<void> ListStream::open() {
  reader_.emplace(TRY(ListReader::open(registry_, request_.target, request_.query, request_.make)));
  if (!selects_first()) {
    prepare_body();
    return {};
  }
  page_.emplace();
  page_->revision = reader_->revision();
  phase_ = Phase::Select;
  return {};
}

ApiResult<void> ListStream::select(Budget& budget) {
  const store::ListQuery& query = request_.query;
  const bool converts = is_shaped_by_reads(request_.target);
  for (; budget.objects > 0; --budget.objects) {
    store::ObjectPtr object = TRY(reader_->look());
    if (reader_->at_end()) {
      end_selection();
      return {};
    }
    if (!object) continue;
    const bool is_full = query.limit > 0 && page_->objects.size() >= query.limit;
    if (is_full || (converts && query.limit > 0 && page_bytes_ >= kConvertedPageBytes)) {
      page_->more = true;
      page_->remaining = query.accept ? 0 : 1 + reader_->remaining();
      end_selection();
      return {};
    }
    page_bytes_ += object->bytes.size();
    page_->objects.push_back(std::move(object));
  }
  return {};
}

void ListStream::end_selection() {
  reader_.reset();
  if (!request_.selected) return prepare_body();
  phase_ = Phase::Done;
  request_.selected(*std::exchange(page_, std::nullopt));
}

void ListStream::prepare_body() {
  body_.emplace(*request_.target.resource, request_.rendering, registry_.dependencies().clock.now());
  phase_ = body_->is_measured() ? Phase::Measure : Phase::Write;
}

ApiResult<store::ObjectPtr> ListStream::next_object(Budget& budget) {
  if (page_) {
    if (objects_ended()) return store::ObjectPtr();
    --budget.objects;
    return page_->objects[page_at_++];
  }
  for (; budget.objects > 0; --budget.objects) {
    store::ObjectPtr object = TRY(reader_->look());
    if (object || reader_->at_end()) return object;
  }
  return store::ObjectPtr();
}

bool ListStream::objects_ended() const {
  return page_ ? page_at_ == page_->objects.size() : reader_->at_end();
}

void ListStream::rewind_objects() {
  page_at_ = 0;
  if (reader_) reader_->rewind();
}

ApiResult<std::string> ListStream::make_objects(Budget& budget) {
  std::string made;
  while (!budget.is_spent()) {
    const store::ObjectPtr object = TRY(next_object(budget));
    if (!object) break;
    const std::size_t before = made.size();
    TRY(body_->append(made, object));
    budget.made(made.size() - before);
  }
  return made;
}

ApiResult<void> ListStream::measure(Budget& budget) {
  std::string made = TRY(make_objects(budget));
  measured_bytes_ += made.size();
  if (!made.empty()) keep(std::move(made));
  if (!objects_ended()) return {};
  if (!keeps_measured_) rewind_objects();
  phase_ = Phase::Write;
  return {};
}

void ListStream::keep(std::string made) {
  if (!keeps_measured_) return;
  keeps_measured_ = measured_bytes_ <= kMeasuredKeptBytes && kept_of_all_->take(made.size());
  if (keeps_measured_)
    kept_.push_back(std::move(made));
  else
    drop_kept();
}

std::string ListStream::take_kept() {
  std::string first = std::move(kept_.front());
  kept_.pop_front();
  kept_of_all_->give_back(first.size());
  return first;
}

void ListStream::drop_kept() {
  while (!kept_.empty()) (void)take_kept();
}

ApiResult<void> ListStream::begin_writing() {
  store::ListPage none;
  if (!page_) none.revision = reader_->revision();
  chunk_ = TRY(body_->begin(list_metadata(page_ ? *page_ : none, request_.options), measured_bytes_));
  writes_ = true;
  return {};
}

ApiResult<void> ListStream::write(Budget& budget) {
  if (!writes_) TRY(begin_writing());
  if (!kept_.empty()) {
    const std::string made = take_kept();
    budget.made(made.size());
    chunk_ += made;
  } else {
    chunk_ += TRY(make_objects(budget));
  }
  if (!kept_.empty() || !objects_ended()) return {};
  chunk_ += body_->end();
  ended_ = true;
  return {};
}

}  // namespace berth::server
