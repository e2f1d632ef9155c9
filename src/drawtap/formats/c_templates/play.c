/* Plays the frames one after the other. */
#include <stdio.h>

#include "calls.h"
#include "frame_list.h"

#ifdef PLAY_DATA_FILE
#include <fcntl.h>
#include <stdlib.h>
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

void play_load_functions(void);

int play_current;

void PLAY_CALL play_debug_message(GLenum source, GLenum type, GLuint id, GLenum severity, GLsizei length,
                                  const GLchar* message, const void* user) {
  (void)user;
  if (length < 0) length = (GLsizei)strlen(message);
  fprintf(stderr, "frame %d: message 0x%x of source 0x%x, type 0x%x, severity 0x%x: %.*s\n", play_current, id, source,
          type, severity, (int)length, message);
}

int play_frame_count(void) { return PLAY_FRAMES; }
int play_first_frame(void) { return PLAY_FIRST_FRAME; }

void play_start(void) {
  load_data();
  play_load_functions();
  display = host_display();
  play_setup();
}

void play_frame(int frame) {
  play_current = PLAY_FIRST_FRAME + frame;
  play_frames[frame]();
}

void play_end(void) { play_rest(); }

void play(void) {
  play_start();
  for (int frame = 0; frame < PLAY_FRAMES; frame++) play_frame(frame);
  play_end();
}
