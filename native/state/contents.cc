#include "contents.h"

#include <algorithm>
#include <bit>

#include "gl.h"

namespace dt::state {

namespace {

// The variables of a node that hold an image or bytes.
std::span<const uint16_t> kept_by(const Node& node) {
  static constexpr uint16_t level[] = {f_level::content}, buffer[] = {f_buffer::content},
                            renderbuffer[] = {f_renderbuffer::content}, image[] = {f_vg_image::content},
                            surface[] = {f_surface::color, f_surface::front, f_surface::depth, f_surface::stencil};
  switch (node.cls - g_classes) {
    case class_level: return level;
    case class_buffer: return buffer;
    case class_renderbuffer: return renderbuffer;
    case class_vg_image: return image;
    case class_surface: return surface;
    default: return {};
  }
}

ChangeKind change_of(uint32_t deeds, bool uploads) {
  if (deeds & DEED_DRAW) return ChangeKind::draw;
  if (deeds & DEED_CLEAR) return ChangeKind::clear;
  if (deeds & DEED_DISPATCH) return ChangeKind::dispatch;
  if (deeds & DEED_COPY) return ChangeKind::copy;
  if (deeds & DEED_READBACK) return ChangeKind::readback;
  return uploads ? ChangeKind::upload : ChangeKind::other;
}

}  // namespace

void Contents::created(const Node& node) {
  for (uint16_t field : kept_by(node)) {
    const Location at = node.location(field);
    if (bits_.size() <= at / 64) bits_.resize(std::max<size_t>(at / 64 + 1, bits_.size() * 2), 0);
    if (numbers_.size() <= at) numbers_.resize(std::max<size_t>(at + 1, numbers_.size() * 2), NEVER);
    bits_[at / 64] |= 1ull << at % 64;
    numbers_[at] = static_cast<uint32_t>(contents_.size());
    contents_.push_back({});
  }
}

// A framebuffer with other attachments is another target, whatever its name.
void Contents::changed(const Node& node) {
  if (node.cls != &g_classes[class_attachment]) return;
  for (auto& [context, pass] : open_)
    if (pass.row.kind == static_cast<uint32_t>(PassKind::draw) && pass.row.framebuffer == node.parent->key) close(pass);
}

template <class F> void Contents::each(const Access& access, F visit) {
  const uint64_t end = std::min<uint64_t>(uint64_t{access.first} + access.count, bits_.size() * 64);
  for (uint64_t at = access.first; at < end;) {
    const uint64_t rest = bits_[at / 64] >> at % 64;
    at = rest ? at + static_cast<uint64_t>(std::countr_zero(rest)) : (at / 64 + 1) * 64;
    if (!rest || at >= end) continue;
    visit(contents_[numbers_[at]], static_cast<Location>(at));
    ++at;
  }
}

void Contents::close(Open& pass) {
  if (pass.row.first == NEVER) return;
  pass.row.targets = static_cast<uint32_t>(lists_.size());
  lists_.push_back(static_cast<uint32_t>(pass.targets.size()));
  lists_.append(pass.targets.data(), pass.targets.size());
  passes.push_back(pass.row);
  pass.row.first = NEVER;
  pass.targets.clear();
}

Contents::Open* Contents::pass_of(uint32_t context, uint32_t kind, uint32_t framebuffer, const Node* surface,
                                  uint64_t seq) {
  auto [at, made] = open_.try_emplace(context);
  Open& pass = at->second;
  const bool goes_on = !made && pass.row.first != NEVER && pass.row.kind == kind &&
                       pass.row.framebuffer == framebuffer && pass.surface == surface;
  if (!goes_on) {
    if (!made) close(pass);
    pass.row = {};
    pass.row.number = next_++;
    pass.row.first = static_cast<uint32_t>(seq);
    pass.row.context = context;
    pass.row.kind = kind;
    pass.row.framebuffer = framebuffer;
    pass.surface = surface;
  }
  pass.row.last = static_cast<uint32_t>(seq);
  ++pass.row.calls;
  return &pass;
}

void Contents::draw(const CallEvent& event, const DrawRow& row, const Node* surface) {
  const bool dispatches = !(event.deeds & (DEED_DRAW | DEED_CLEAR));
  const auto kind = static_cast<uint32_t>(dispatches ? PassKind::dispatch : PassKind::draw);
  drawn_ = pass_of(event.context, kind, dispatches ? NEVER : row.framebuffer,
                   dispatches || row.framebuffer ? nullptr : surface, event.seq);
  Pass& pass = drawn_->row;
  ++(dispatches ? pass.dispatches : event.deeds & DEED_DRAW ? pass.draws : pass.clears);
  pass.width = std::max(pass.width, row.width);
  pass.height = std::max(pass.height, row.height);
}

// An upload from a buffer that a pass wrote is a copy.
bool Contents::reads_a_pass(const CallEvent& event) {
  bool written = false;
  for (auto& access : event.accesses())
    if (access.touch() == Touch::read) each(access, [&](Content& c, Location) { written |= c.writer != NEVER; });
  return written;
}

void Contents::call(const CallEvent& event) {
  Open* pass = std::exchange(drawn_, nullptr);
  const uint32_t deeds = event.deeds;
  const bool copies = deeds & DEED_COPY || (deeds & DEED_UPLOAD && !pass && reads_a_pass(event));
  if (event.applied && !pass && event.count) {
    const uint32_t kind = deeds & DEED_SHOWS      ? static_cast<uint32_t>(PassKind::show)
                          : copies                ? static_cast<uint32_t>(PassKind::copy)
                          : deeds & DEED_READBACK ? static_cast<uint32_t>(PassKind::readback)
                                                  : NEVER;
    if (kind != NEVER) pass = pass_of(event.context, kind, NEVER, nullptr, event.seq);
  }
  const ChangeKind change = copies && !(deeds & (DEED_DRAW | DEED_CLEAR | DEED_DISPATCH))
                                ? ChangeKind::copy
                                : change_of(deeds, deeds & DEED_UPLOAD && !uploads_.empty());
  for (auto& access : event.accesses())
    each(access, [&](Content& content, Location location) {
      if (deeds & DEED_SHOWS && access.touch() != Touch::read) {  // what a surface holds then is not the program's
        content.writer = NEVER;
        return;
      }
      touch(content, location, access.touch(), event.seq, change, pass);
    });
  uploads_.clear();
  if (deeds & DEED_FRAME_END)
    for (auto& [context, open] : open_) close(open);
}

void Contents::stored(const StoreEvent& event) {
  for (auto& access : event.accesses)
    if (access.touch() != Touch::read)
      each(access, [&](Content& content, Location location) {
        touch(content, location, access.touch(), event.seq, ChangeKind::store, nullptr);
      });
  uploads_.clear();
}

void Contents::touch(Content& content, Location location, Touch touch, uint64_t seq, ChangeKind kind, Open* pass) {
  if (touch == Touch::read) {
    if (content.read_by != seq) {
      content.seen |= content.read_by != NEVER && content.read_by > content.last.last;
      content.read_by = static_cast<uint32_t>(seq);
    }
    return link(content, location, pass, LINK_READ, seq);
  }
  if (touch == Touch::part) link(content, location, pass, LINK_KEPT, seq);
  // An object that is made is there, and empty.
  const Node* node = kind == ChangeKind::other ? &machine_.owner(location) : nullptr;
  if (!node || node->created != seq || node->cls == &g_classes[class_level]) add(content, location, seq, kind, pass);
  if (!pass) {
    if (touch == Touch::write) content.writer = NEVER;
    return;
  }
  content.writer = pass->row.number;
  if (std::find(pass->targets.begin(), pass->targets.end(), location) == pass->targets.end())
    pass->targets.push_back(location);
}

void Contents::link(Content& content, Location location, const Open* pass, uint32_t use, uint64_t seq) {
  if (!pass || content.writer == NEVER || content.writer == pass->row.number) return;
  if (content.linked != pass->row.number) content.linked = pass->row.number, content.uses = 0;
  if (content.uses & use) return;
  content.uses |= use;
  links.push_back({content.writer, pass->row.number, location, use, static_cast<uint32_t>(seq)});
}

void Contents::add(Content& content, Location location, uint64_t seq, ChangeKind kind, const Open* pass) {
  Revision& last = content.last;
  const auto now = static_cast<uint32_t>(seq);
  const uint32_t number = pass ? pass->row.number : NEVER;
  const bool seen = content.seen || (content.read_by != NEVER && content.read_by != now && content.read_by > last.last);
  const bool gathers = kind == ChangeKind::draw || kind == ChangeKind::dispatch;
  const bool goes_on =
      last.first != NEVER &&
      (last.last == now ? kind != ChangeKind::store
                        : gathers && !seen && last.kind == static_cast<uint32_t>(kind) && last.pass == number);
  if (!goes_on) {
    if (last.first != NEVER) revisions.push_back(last);
    last = {.location = location, .first = now, .pass = number, .kind = static_cast<uint32_t>(kind)};
  }
  if (!goes_on || last.last != now) ++last.calls;
  last.last = now;
  content.seen = false;
  // The uploads to it: a hash stands for one upload alone.
  for (auto& upload : uploads_) {
    if (upload.location != location) continue;
    const bool first = !last.bytes;
    last.bytes += upload.bytes;
    last.hash_low = first ? upload.hash.low : 0, last.hash_high = first ? upload.hash.high : 0;
    upload.location = NOWHERE;
  }
}

void Contents::finish() {
  for (auto& content : contents_)
    if (content.last.first != NEVER) revisions.push_back(content.last);
  for (auto& [context, open] : open_) close(open);
}

}  // namespace dt::state
