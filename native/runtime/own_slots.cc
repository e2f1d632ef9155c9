// Libraries that have functions of ours themselves: Vulkan's loader, which calls them and hands out their addresses.
// Others keep what they looked up in variables of these names. Both must find their own, and not the tap's.
#include "objects.h"
#include "tap.h"

namespace dt {
namespace {

struct Slots : Opened {
  const Elf& elf;

  // Bound to the tap, or not bound yet.
  bool is_wrong(void* now, unsigned type) {
    Object target;
    if (in_tap(now)) return true;
    return type == JUMP_SLOT && find_object(now, &target) && target.dynamic == object.dynamic;
  }
  void set(const ElfW(Rela) * relocations, size_t count) {
    for (size_t i = 0; i < count; i++) {
      const ElfW(Rela) & r = relocations[i];
      const unsigned index = (unsigned)ELF64_R_SYM(r.r_info), type = (unsigned)ELF64_R_TYPE(r.r_info);
      if (!index || (type != JUMP_SLOT && type != DATA_SLOT && type != ABSOLUTE)) continue;
      const ElfW(Sym) & symbol = elf.symbols[index];
      if (symbol.st_shndx == SHN_UNDEF || find_function(elf.strings + symbol.st_name) < 0) continue;
      void** const slot = (void**)(elf.base + r.r_offset);
      if ((uintptr_t)slot % sizeof(void*) || !is_wrong(__atomic_load_n(slot, __ATOMIC_RELAXED), type)) continue;
      const uintptr_t own = elf.base + symbol.st_value + (type == ABSOLUTE ? (uintptr_t)r.r_addend : 0);
      if (writable((uintptr_t)slot)) __atomic_store_n(slot, (void*)own, __ATOMIC_RELEASE);
    }
  }
};

}  // namespace

void bind_to_itself(const Elf& elf) {
  static uint32_t hash;
  if (!hash) hash = gnu_hash("vkCreateInstance");
  if (!elf.symbols || !elf.strings || !find_symbol(elf, "vkCreateInstance", hash)) return;
  Slots slots = {{}, elf};
  if (!find_object(elf.dynamic, &slots.object)) return;
  slots.set(elf.jump_slots, elf.jump_slot_count);
  slots.set(elf.relocations, elf.relocation_count);
  slots.close();
}

}  // namespace dt
