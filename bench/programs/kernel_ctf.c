/* Write a CTF trace of the layout of LTTng's kernel tracer: kernel_ctf FOLDER EVENTS [CPUS].
 * Three of four events are sched_switch, the others drm_sched_job; contexts tid and procname; packets of 256 KiB. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PACKET (256 * 1024)
#define INT(size, sign) "integer { size = " size "; align = 8; signed = " sign "; encoding = none; base = 10; }"
#define CHARS "integer { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; }"

static const char metadata[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
    "typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
    "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; } := unsigned long;\n"
    "typealias integer { size = 5; align = 1; signed = false; } := uint5_t;\n"
    "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"e22cebcf-6ffb-a140-9728-463ad91c9ece\";\n\tbyte_order = le;\n"
    "\tpacket.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; uint64_t stream_instance_id; };\n};\n"
    "env {\n\thostname = \"bench\";\n\tdomain = \"kernel\";\n\ttracer_name = \"lttng-modules\";\n};\n"
    "clock {\n\tname = \"monotonic\";\n\tuuid = \"207de062-782a-4d81-b735-daa3fda3e702\";\n\tdescription = \"Monotonic Clock\";\n"
    "\tfreq = 1000000000;\n\toffset = 1795174077069376565;\n};\n"
    "typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := uint27_clock_monotonic_t;\n"
    "typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := uint64_clock_monotonic_t;\n"
    "struct packet_context {\n\tuint64_clock_monotonic_t timestamp_begin;\n\tuint64_clock_monotonic_t timestamp_end;\n"
    "\tuint64_t content_size;\n\tuint64_t packet_size;\n\tuint64_t packet_seq_num;\n\tunsigned long events_discarded;\n\tuint32_t cpu_id;\n};\n"
    "struct event_header_compact {\n\tenum : uint5_t { compact = 0 ... 30, extended = 31 } id;\n\tvariant <id> {\n"
    "\t\tstruct { uint27_clock_monotonic_t timestamp; } compact;\n"
    "\t\tstruct { uint32_t id; uint64_clock_monotonic_t timestamp; } extended;\n\t} v;\n} align(8);\n"
    "stream {\n\tid = 0;\n\tevent.header := struct event_header_compact;\n\tpacket.context := struct packet_context;\n"
    "\tevent.context := struct {\n\t\t" INT("32", "1") " _tid;\n\t\t" CHARS " _procname[16];\n\t};\n};\n"
    "event {\n\tname = \"sched_switch\";\n\tid = 0;\n\tstream_id = 0;\n\tfields := struct {\n"
    "\t\t" CHARS " _prev_comm[16];\n\t\t" INT("32", "1") " _prev_tid;\n\t\t" INT("32", "1") " _prev_prio;\n\t\t" INT("64", "1") " _prev_state;\n"
    "\t\t" CHARS " _next_comm[16];\n\t\t" INT("32", "1") " _next_tid;\n\t\t" INT("32", "1") " _next_prio;\n\t};\n};\n"
    "event {\n\tname = \"drm_sched_job\";\n\tid = 1;\n\tstream_id = 0;\n\tfields := struct {\n"
    "\t\t" INT("64", "0") " _entity;\n\t\t" INT("64", "0") " _fence;\n\t\tstring _name;\n\t\t" INT("64", "0") " _id;\n"
    "\t\t" INT("32", "0") " _job_count;\n\t\t" INT("32", "1") " _hw_job_count;\n\t};\n};\n";

static uint8_t* put(uint8_t* at, const void* from, size_t n) {
  memcpy(at, from, n);
  return at + n;
}
#define PUT(type, value) (at = put(at, &(type){value}, sizeof(type)))

static void name(char* out, unsigned tid) {
  memset(out, 0, 16);
  if (tid)
    snprintf(out, 16, "worker-%u", tid % 100000);
  else
    strcpy(out, "swapper/0");
}

static int write_stream(const char* folder, int cpu, uint64_t events) {
  static uint8_t packet[PACKET];
  static const uint8_t uuid[16] = {0xe2, 0x2c, 0xeb, 0xcf, 0x6f, 0xfb, 0xa1, 0x40,
                                   0x97, 0x28, 0x46, 0x3a, 0xd9, 0x1c, 0x9e, 0xce};
  char path[4096];
  snprintf(path, sizeof path, "%s/channel0_%d", folder, cpu);
  FILE* file = fopen(path, "wb");
  if (!file) return perror(path), 1;
  uint64_t t = 1000000000ull + (uint64_t)cpu * 7, seed = 88172645463325252ull + (uint64_t)cpu, sequence = 0, done = 0;
  unsigned tid = 1000;
  char comm[16], next_comm[16];
  while (done < events) {
    memset(packet, 0, sizeof packet);
    uint64_t first = t;
    uint8_t* at = packet + 84;
    while (done < events && at + 160 < packet + PACKET) {
      seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
      t += 200 + seed % 2000;
      unsigned id = done % 4 == 3;
      PUT(uint32_t, (uint32_t)(t << 5) | id);
      PUT(int32_t, (int32_t)tid);
      name(comm, tid);
      at = put(at, comm, 16);
      if (!id) {
        unsigned next = seed % 8 ? 1000 + (unsigned)(seed >> 20) % 40 : 0;
        name(next_comm, next);
        at = put(at, comm, 16);
        PUT(int32_t, (int32_t)tid);
        PUT(int32_t, 20);
        PUT(int64_t, (int64_t)(seed >> 40 & 1));
        at = put(at, next_comm, 16);
        PUT(int32_t, (int32_t)next);
        PUT(int32_t, 20);
        tid = next;
      } else {
        PUT(uint64_t, 0xffff888000000000ull + tid * 256);
        PUT(uint64_t, 0xffff888100000000ull + done * 64);
        at = put(at, "rcs0", 5);
        PUT(uint64_t, done);
        PUT(uint32_t, 1);
        PUT(int32_t, 2);
      }
      ++done;
    }
    uint64_t content = (uint64_t)(at - packet) * 8;
    at = packet;
    PUT(uint32_t, 0xC1FC1FC1);
    at = put(at, uuid, 16);
    PUT(uint32_t, 0);
    PUT(uint64_t, (uint64_t)cpu);
    PUT(uint64_t, first);
    PUT(uint64_t, t);
    PUT(uint64_t, content);
    PUT(uint64_t, (uint64_t)PACKET * 8);
    PUT(uint64_t, sequence++);
    PUT(uint64_t, 0);
    PUT(uint32_t, (uint32_t)cpu);
    if (fwrite(packet, 1, PACKET, file) != PACKET) return perror(path), 1;
  }
  return fclose(file) ? (perror(path), 1) : 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return fprintf(stderr, "kernel_ctf FOLDER EVENTS [CPUS]\n"), 2;
  int cpus = argc > 3 ? atoi(argv[3]) : 2;
  uint64_t events = strtoull(argv[2], 0, 10);
  mkdir(argv[1], 0777);
  char path[4096];
  snprintf(path, sizeof path, "%s/metadata", argv[1]);
  FILE* file = fopen(path, "w");
  if (!file || fwrite(metadata, 1, sizeof metadata - 1, file) != sizeof metadata - 1 || fclose(file))
    return perror(path), 1;
  for (int cpu = 0; cpu < cpus; ++cpu)
    if (write_stream(argv[1], cpu, events / (uint64_t)cpus + (cpu < (int)(events % (uint64_t)cpus)))) return 1;
  return 0;
}
