/* Plays the frames one after the other.
 *
 *   play                       plays everything
 *   play --hash-frames         prints a checksum of each frame (FNV-1a, 64 bits, of RGBA, the lowest row first)
 *   play --frames-per-second
 *
 * Built with PLAY_CHECK it compares what the device stored in mapped memory, and answers to queries, with the
 * recording. Built with PLAY_SNAPSHOT it writes what frames showed to the folder that the environment names in
 * PLAY_SNAPSHOTS: frame_12.rgba (bytes, the lowest row first) and frame_12.ppm; PLAY_SNAPSHOT_FRAMES=3,7 for some
 * frames only.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "calls.h"
#include "frame_list.h"

#ifdef PLAY_DATA_FILE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const unsigned char* play_data;

static void load_data(void) {
  const char* path = getenv("PLAY_DATA") ? getenv("PLAY_DATA") : PLAY_DATA_FILE;
  int file = open(path, O_RDONLY);
  struct stat about;
  void* at = MAP_FAILED;
  if (file >= 0 && !fstat(file, &about)) at = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (at == MAP_FAILED) {
    fprintf(stderr, "%s cannot be read\n", path);
    exit(1);
  }
  close(file);
  play_data = at;
}
#else
static void load_data(void) {}
#endif

int play_current;
static int g_hash_frames;

int play_frame_count(void) { return PLAY_FRAMES; }
int play_first_frame(void) { return PLAY_FIRST_FRAME; }

void play_start(void) {
  load_data();
  play_setup();
}

void play_frame(int frame) {
  play_current = PLAY_FIRST_FRAME + frame;
  play_frames[frame]();
}

void play_end(void) { play_rest(); }

#ifdef PLAY_SNAPSHOT
static int wanted(int frame) {
  const char* at = getenv("PLAY_SNAPSHOT_FRAMES");
  if (!at) return 1;
  while (at && atoi(at) != frame) at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
  return at != NULL;
}

static void save(int frame, const unsigned char* pixels, uint32_t width, uint32_t height) {
  const char* folder = getenv("PLAY_SNAPSHOTS");
  char path[4096];
  if (!folder || !wanted(frame)) return;
  snprintf(path, sizeof path, "%s/frame_%d.rgba", folder, frame);
  FILE* file = fopen(path, "wb");
  if (!file || fwrite(pixels, 4, (size_t)width * height, file) != (size_t)width * height)
    fprintf(stderr, "%s cannot be written\n", path);
  if (file) fclose(file);
  snprintf(path, sizeof path, "%s/frame_%d.ppm", folder, frame);
  file = fopen(path, "wb");
  if (!file) return;
  fprintf(file, "P6\n%u %u\n255\n", width, height);
  for (uint32_t y = height; y-- > 0;)
    for (uint32_t x = 0; x < width; x++) fwrite(pixels + ((size_t)y * width + x) * 4, 1, 3, file);
  fclose(file);
}
#endif

void host_frame(int frame) {
  uint32_t width = 0, height = 0;
  unsigned char* pixels = NULL;
#ifdef PLAY_SNAPSHOT
  pixels = play_shown(&width, &height);
  if (pixels) save(frame, pixels, width, height);
#endif
  if (g_hash_frames) {
    uint64_t sum = 0xcbf29ce484222325ull;
    if (!pixels) pixels = play_shown(&width, &height);
    for (size_t i = 0; pixels && i < (size_t)width * height * 4; i++) sum = (sum ^ pixels[i]) * 0x100000001b3ull;
    if (pixels)
      printf("frame %d: %ux%u %016llx\n", frame, width, height, (unsigned long long)sum);
    else
      printf("frame %d: no picture\n", frame);
  }
  free(pixels);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
  int timed = 0;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--hash-frames"))
      g_hash_frames = 1;
    else if (!strcmp(argv[i], "--frames-per-second"))
      timed = 1;
    else {
      fprintf(stderr, "usage: %s [--hash-frames] [--frames-per-second]\n", argv[0]);
      return 2;
    }
  }
  play_start();
  int frames = play_frame_count();
  if (frames) play_frame(0);
  double began = seconds();
  for (int frame = 1; frame < frames; frame++) play_frame(frame);
  double took = seconds() - began;
  play_end();
  if (timed && frames > 1) printf("%d frames in %.3f s: %.1f frames a second\n", frames - 1, took, (frames - 1) / took);
#ifdef PLAY_CHECK
  printf("%d frames, %u read-backs, %u differ\n", frames, play_compared, play_different);
#endif
  fflush(stdout);
  return play_different ? 1 : 0;
}
