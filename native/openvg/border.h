/* Between the EGL front layer and the engine: plain C, found by dlsym. */
#ifndef DRAWTAP_OPENVG_BORDER_H
#define DRAWTAP_OPENVG_BORDER_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `share`: a context whose objects the new one shares, or NULL. NULL: no memory. */
void* drawtap_vg_create_context(void* share);
/* The context must not be current anywhere. */
void drawtap_vg_destroy_context(void* context);
/* NULL and NULL: no context on this thread. */
void drawtap_vg_make_current(void* context, void* surface);

/* A surface of RGBA bytes, bottom row first; NULL: no memory or too large. */
void* drawtap_vg_create_surface(int width, int height, int linear, int premultiplied);
/* A surface that draws into an image of the context; *error: an EGL error where NULL comes back. */
void* drawtap_vg_image_surface(void* context, uint32_t image, int* width, int* height, int* error);
void drawtap_vg_destroy_surface(void* surface);
/* 0: no memory; what was drawn is lost either way if the size changes. */
int drawtap_vg_resize_surface(void* surface, int width, int height);
/* `what`: 0 colour, 1 mask. The bytes stay where they are until the surface changes its size. */
void* drawtap_vg_surface_bytes(void* surface, int what, int* width, int* height, int* stride);

/* The source of an EGLImage: an image of the context that is nobody's child, of at least 8 bits a pixel. *error: an
 * EGL error where NULL comes back. The pixels live as long as this does, whatever becomes of the image. */
void* drawtap_vg_share_image(void* context, uint32_t image, int* width, int* height, int* error);
/* The EGLImage is destroyed: another may be made of the same pixels. */
void drawtap_vg_unshare_image(void* shared);
void drawtap_vg_forget_image(void* shared);
/* 1: OpenVG can still reach the pixels. */
int drawtap_vg_shared_alive(void* shared);
/* 1: both are of the same image; parents and children have pixels in common, and are others. */
int drawtap_vg_same_image(void* shared, void* other);
/* Channels as the image stores them, as RGBA bytes, the bottom row first: width * height * 4. */
void drawtap_vg_shared_read(void* shared, uint8_t* rgba);
/* Those pixels become these that differ from what `before` says; NULL: all. */
void drawtap_vg_shared_write(void* shared, const uint8_t* rgba, const uint8_t* before);
/* The function that vgFlush and vgFinish call. */
void drawtap_vg_at_flush(void (*function)(void));

/* The function that vgCreateEGLImageTargetKHR calls, with no lock held. It returns the name of an image of the current
 * context, or 0 and a VGErrorCode. Once it is set VG_KHR_EGL_image is among the extensions. */
void drawtap_vg_at_image_target(uint32_t (*function)(void* egl_image, int* error));
/* An image of the context with these pixels (as of drawtap_vg_shared_read), and what drawtap_vg_share_image would hand
 * out for it: no EGLImage can be made of it. 0: no memory, or too large. */
uint32_t drawtap_vg_target_image(void* context, int format, int width, int height, const uint8_t* rgba, void** shared);
/* Another image of the context with the same pixels. 0: they are of a context that shares nothing with this one, an EGL
 * surface draws into them, or there is no memory. */
uint32_t drawtap_vg_join_image(void* context, void* shared);

/* Sensors: counts of what a context did since it was made or since they were reset. */
int drawtap_vg_sensor_count(void);
const char* drawtap_vg_sensor_name(int index);
const char* drawtap_vg_sensor_description(int index);
/* 1: the value is a mean, told as a float; 0: a whole number. */
int drawtap_vg_sensor_is_mean(int index);
double drawtap_vg_sensor_value(void* context, int index);
void drawtap_vg_reset_sensors(void* context);

#ifdef __cplusplus
}
#endif
#endif
