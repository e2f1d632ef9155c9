/* @{ title }@: what plays, and what a host must have. */
#ifndef PLAY_H
#define PLAY_H

#include <EGL/egl.h>
#include <EGL/eglext.h>
{%- if gl %}
#include <GL/gl.h>
#include <GL/glext.h>
{%- else %}
#include <GLES3/gl3.h>
{%- endif %}
{%- if vg %}
#include "VG/openvg.h"
#include "VG/vgu.h"
#include "VG/vgext.h"
{%- endif %}
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(_WIN32)
#define PLAY_CALL __stdcall
#else
#define PLAY_CALL
#endif

typedef void(PLAY_CALL* play_debug_callback)(GLenum source, GLenum type, GLuint id, GLenum severity, GLsizei length,
                                             const GLchar* message, const void* user);

/* ---- what plays ---------------------------------------------------------------------------------------------- */

void play(void); /* everything: set-up, all frames, what comes after them */
int play_frame_count(void);
int play_first_frame(void); /* number that the recording gives the first of them */
void play_start(void);      /* before the first frame */
void play_frame(int frame); /* 0 to play_frame_count() - 1, in this order */
void play_end(void);        /* after the last frame */
extern int play_current;    /* number, in the recording, of the frame that plays */

/* ---- what the host has: host_egl.c, or yours ----------------------------------------------------------------- */

/* The display to draw on, initialised. */
EGLDisplay host_display(void);
/* The configuration that is nearest to the wanted attributes (pairs, then EGL_NONE). */
EGLConfig host_config(EGLDisplay display, const EGLint* wanted);
EGLConfig host_no_config(EGLDisplay display, EGLConfig otherwise);
/* A new window of that size, as an EGL surface; a pbuffer can stand for it. */
EGLSurface host_window(EGLDisplay display, EGLConfig config, int width, int height);
/* The program resized the window: `*surface` has the new size from here on, and stays current where it was. */
void host_resize(EGLDisplay display, EGLConfig config, EGLSurface* surface, int width, int height);
/* A new pixmap of that size, as an EGL surface. */
EGLSurface host_pixmap(EGLDisplay display, EGLConfig config, int width, int height);
{%- if vg %}
/* The same for OpenVG, with the colour space and the format of alpha that the program wants (EGL_VG_COLORSPACE...). */
EGLSurface host_vector_window(EGLDisplay display, EGLConfig config, int width, int height, EGLint space, EGLint alpha);
{%- endif %}
/* The color buffer that stands for GL_BACK where host_window made something that has one buffer only. */
GLenum host_color_buffer(GLenum buffer);
/* A GL or EGL function by name; ends the program where there is none. */
typedef void(PLAY_CALL* host_function_pointer)(void);
host_function_pointer host_function(const char* name);
/* A frame is drawn and will be shown next. */
void host_frame(int frame);
/* The program read `bytes` bytes back; `checksum` (FNV-1a, 64 bits) is what it got when it was recorded, 0: not known.
 */
void host_read_back(const void* data, size_t bytes, uint64_t checksum);

#endif
