// Bytes of a pixel in memory, by its format and type as glTexImage2D and glReadPixels take them.
#pragma once
#include <stdint.h>

namespace dt::pixels {

inline int64_t format_components(int64_t format) {
  switch (format) {
    case 0x1900:
    case 0x1901:
    case 0x1902:
    case 0x1903:
    case 0x1904:
    case 0x1905:
    case 0x1906:
    case 0x1909:
    case 0x8049:
    case 0x8D94:
    case 0x8D95:
    case 0x8D96:
    case 0x8D97:
    case 0x8D9C: return 1;
    case 0x8227:
    case 0x8228:
    case 0x190A:
    case 0x8D9D:
    case 0x84F9:
    case 0x8757:
    case 0x85B9:
    case 0x8A1F:
    case 0x80CC:
    case 0x80CD:
    case 0x80CE:
    case 0x80CF:
    case 0x86F4:
    case 0x86F5: return 2;
    case 0x1907:
    case 0x80E0:
    case 0x8D98:
    case 0x8D9A:
    case 0x86F6:
    case 0x8C40: return 3;
    case 0x1908:
    case 0x80E1:
    case 0x8000:
    case 0x8D99:
    case 0x8D9B:
    case 0x800C:
    case 0x86F7:
    case 0x8C42: return 4;
    case 0x800D: return 5;
    default: return 0;
  }
}

inline int64_t packed_size(int64_t type) {
  switch (type) {
    case 0x8032:
    case 0x8362: return 1;
    case 0x8033:
    case 0x8034:
    case 0x8363:
    case 0x8364:
    case 0x8365:
    case 0x8366:
    case 0x85BA:
    case 0x85BB: return 2;
    case 0x8035:
    case 0x8036:
    case 0x8367:
    case 0x8368:
    case 0x8D9F:
    case 0x84FA:
    case 0x8C3B:
    case 0x8C3E:
    case 0x8DF6:
    case 0x8DF7: return 4;
    case 0x8DAD: return 8;
    default: return 0;
  }
}

inline int64_t type_size(int64_t type) {
  switch (type) {
    case 0x1400:
    case 0x1401: return 1;
    case 0x1402:
    case 0x1403:
    case 0x1407:
    case 0x140B:
    case 0x8D61: return 2;
    case 0x1408: return 3;
    case 0x1404:
    case 0x1405:
    case 0x1406:
    case 0x1409:
    case 0x140C: return 4;
    case 0x140A:
    case 0x140E:
    case 0x140F: return 8;
    default: return packed_size(type);
  }
}

inline int64_t pixel_size(int64_t format, int64_t type) {
  int64_t packed = packed_size(type);
  return packed ? packed : format_components(format) * type_size(type);
}

}  // namespace dt::pixels
