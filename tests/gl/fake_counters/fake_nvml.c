/* NVIDIA's management library as far as drawtap asks it, with one GPU whose energy grows by 5 mJ with each question. */
#include <string.h>
typedef struct {
  unsigned gpu, memory;
} Utilization;
typedef struct {
  unsigned long long total, free, used;
} Memory;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = 1, 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) { return *device = (void*)8, index != 0; }
int nvmlDeviceGetName(void* device, char* name, unsigned size) {
  return (void)device, strncpy(name, "Fake GPU", size), 0;
}
int nvmlDeviceGetUtilizationRates(void* device, Utilization* u) { return (void)device, u->gpu = 40, u->memory = 7, 0; }
int nvmlDeviceGetPowerUsage(void* device, unsigned* mw) { return (void)device, *mw = 12345, 0; }
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* mj) {
  static unsigned long long all;
  return (void)device, *mj = all += 5, 0;
}
int nvmlDeviceGetClockInfo(void* device, int which, unsigned* mhz) {
  return (void)device, *mhz = 1000u + (unsigned)which, 0;
}
/* not supported */
int nvmlDeviceGetTemperature(void* device, int which, unsigned* c) { return (void)device, (void)which, (void)c, 3; }
int nvmlDeviceGetMemoryInfo(void* device, Memory* m) {
  return (void)device, m->total = 100, m->free = 60, m->used = 40, 0;
}
const char* nvmlErrorString(int code) { return code ? "error" : "success"; }
