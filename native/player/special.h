// GL commands that need more than a generated function: what each does is what the command of that name does, plus
// taking over what the recording learned from it. The generator finds them by their names in this file.
#pragma once
#include "player_module.h"

namespace dt::play {

GLint special_glGetUniformLocation(Player& p, const Row& w, GLuint program, const GLchar* name);
GLint special_glGetUniformLocationARB(Player& p, const Row& w, GLhandleARB programObj, const GLcharARB* name);
GLint special_glGetAttribLocation(Player& p, const Row& w, GLuint program, const GLchar* name);
GLuint special_glGetUniformBlockIndex(Player& p, const Row& w, GLuint program, const GLchar* uniformBlockName);
GLuint special_glGetProgramResourceIndex(Player& p, const Row& w, GLuint program, GLenum programInterface,
                                         const GLchar* name);
void special_glUseProgram(Player& p, const Row& w, GLuint program);
void special_glUseProgramObjectARB(Player& p, const Row& w, GLhandleARB programObj);
void special_glActiveShaderProgram(Player& p, const Row& w, GLuint pipeline, GLuint program);
void special_glDrawBuffer(Player& p, const Row& w, GLenum buf);
void special_glReadBuffer(Player& p, const Row& w, GLenum src);
void special_glDrawBuffers(Player& p, const Row& w, GLsizei n, const GLenum* bufs);
// A read from the front buffer of a window returns the pixels that the program read, where the recording has them.
void special_glReadPixels(Player& p, const Row& w, GLint x, GLint y, GLsizei width, GLsizei height, GLenum format,
                          GLenum type, void* pixels);
void special_glReadnPixels(Player& p, const Row& w, GLint x, GLint y, GLsizei width, GLsizei height, GLenum format,
                           GLenum type, GLsizei bufSize, void* data);
void special_glCopyPixels(Player& p, const Row& w, GLint x, GLint y, GLsizei width, GLsizei height, GLenum type);
void special_glCopyTexImage1D(Player& p, const Row& w, GLenum target, GLint level, GLenum internalformat, GLint x,
                              GLint y, GLsizei width, GLint border);
void special_glCopyTexImage2D(Player& p, const Row& w, GLenum target, GLint level, GLenum internalformat, GLint x,
                              GLint y, GLsizei width, GLsizei height, GLint border);
void special_glCopyTexSubImage1D(Player& p, const Row& w, GLenum target, GLint level, GLint xoffset, GLint x, GLint y,
                                 GLsizei width);
void special_glCopyTexSubImage2D(Player& p, const Row& w, GLenum target, GLint level, GLint xoffset, GLint yoffset,
                                 GLint x, GLint y, GLsizei width, GLsizei height);
void special_glCopyTexSubImage3D(Player& p, const Row& w, GLenum target, GLint level, GLint xoffset, GLint yoffset,
                                 GLint zoffset, GLint x, GLint y, GLsizei width, GLsizei height);
void special_glCopyTextureSubImage2D(Player& p, const Row& w, GLuint texture, GLint level, GLint xoffset, GLint yoffset,
                                     GLint x, GLint y, GLsizei width, GLsizei height);
void special_glBlitFramebuffer(Player& p, const Row& w, GLint srcX0, GLint srcY0, GLint srcX1, GLint srcY1, GLint dstX0,
                               GLint dstY0, GLint dstX1, GLint dstY1, GLbitfield mask, GLenum filter);
void special_glListBase(Player& p, const Row& w, GLuint base);
void special_glCallLists(Player& p, const Row& w, GLsizei n, GLenum type, const void* lists);
GLuint special_glGenLists(Player& p, const Row& w, GLsizei range);
void special_glDeleteLists(Player& p, const Row& w, GLuint list, GLsizei range);
void special_glShaderSource(Player& p, const Row& w, GLuint shader, GLsizei count, const GLchar* const* string,
                            const GLint* length);
void special_glShaderSourceARB(Player& p, const Row& w, GLhandleARB shaderObj, GLsizei count, const GLcharARB** string,
                               const GLint* length);

// Arrays that lie in client memory, so that no driver looks at recorded addresses.
void special_glDeleteBuffers(Player& p, const Row& w, GLsizei n, const GLuint* buffers);
void special_glBindVertexBuffer(Player& p, const Row& w, GLuint bindingindex, GLuint buffer, GLintptr offset,
                                GLsizei stride);
void special_glBindVertexBuffers(Player& p, const Row& w, GLuint first, GLsizei count, const GLuint* buffers,
                                 const GLintptr* offsets, const GLsizei* strides);

// From here on both APIs see what the other one did.
VGImage special_vgCreateEGLImageTargetKHR(Player& p, const Row& w, VGeglImageKHR image);

// The counts of queries, so that --verify knows times from counts.
void special_glBeginQuery(Player& p, const Row& w, GLenum target, GLuint id);
void special_glBeginQueryARB(Player& p, const Row& w, GLenum target, GLuint id);
void special_glBeginQueryEXT(Player& p, const Row& w, GLenum target, GLuint id);
void special_glQueryCounter(Player& p, const Row& w, GLuint id, GLenum target);
void special_glQueryCounterEXT(Player& p, const Row& w, GLuint id, GLenum target);

// Results that the driver writes to a buffer.
void special_glGetQueryBufferObjectiv(Player& p, const Row& w, GLuint id, GLuint buffer, GLenum pname, GLintptr offset);
void special_glGetQueryBufferObjectuiv(Player& p, const Row& w, GLuint id, GLuint buffer, GLenum pname,
                                       GLintptr offset);
void special_glGetQueryBufferObjecti64v(Player& p, const Row& w, GLuint id, GLuint buffer, GLenum pname,
                                        GLintptr offset);
void special_glGetQueryBufferObjectui64v(Player& p, const Row& w, GLuint id, GLuint buffer, GLenum pname,
                                         GLintptr offset);

}  // namespace dt::play
