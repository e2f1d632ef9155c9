"""The ways in which the player treats calls of OpenGL (`model.SHAPES`): lists, counted draws, images."""

from drawtap.spec.overlay import Overlay

PART = o = Overlay("gl", xml="gl.xml")

# ---- display lists (OpenGL 4.6 compatibility profile, 21.4) ----------------------------------------------------

o.shapes(
    "immediate",
    "glGen* glDelete* glIs* glGet* glCreate* glFlush* glFinish* glPixelStore* glReadPixels* glRenderMode* glFeedback* "
    "glSelectBuffer* glNewList* glEndList* glColorPointer* glVertexPointer* glNormalPointer* glTexCoordPointer* "
    "glIndexPointer* glEdgeFlagPointer* glFogCoordPointer* glSecondaryColorPointer* glInterleavedArrays* "
    "glEnableClient* glDisableClient* glClientActiveTexture* glPushClient* glPopClient* glVertexAttribPointer* "
    "glVertexAttribIPointer* glEnableVertexAttrib* glDisableVertexAttrib* glBindVertexArray* glBindBuffer* "
    "glBufferData* glBufferSubData* glMapBuffer* glUnmapBuffer* glShaderSource* glCompileShader* glAttachShader* "
    "glDetachShader* glLinkProgram* glValidate* glBindAttrib* glAreTextures* glDebugMessage* glPushDebug* glPopDebug* "
    "glObjectLabel* glStringMarker* glPushGroup* glPopGroup* glInsertEvent*",
)
o.shapes(
    "listed",
    "glBegin* glEnd* glVertex* glNormal3* glColor3* glColor4* glColorMask* glColorMaterial* glIndex* "
    "glSecondaryColor3* glTexCoord* glMultiTexCoord* glFogCoord* glEdgeFlag* glMaterial* glLight* glShadeModel* "
    "glFrontFace* glCullFace* glPolygon* glLine* glPoint* glEnable* glDisable* glDepth* glAlphaFunc* glBlend* glClear* "
    "glStencil* glScissor* glViewport* glLogicOp* glFog* glHint* glTexEnv* glTexGen* glTexParameter* glTexImage* "
    "glTexSubImage* glCopyTex* glCompressedTex* glBindTexture* glActiveTexture* glMatrixMode* glLoad* glMultMatrix* "
    "glMultTranspose* glTranslate* glRotate* glScale* glOrtho* glFrustum* glPush* glPop* glInitNames* glRasterPos* "
    "glWindowPos* glBitmap* glDrawPixels* glCopyPixels* glPixelMap* glPixelTransfer* glPixelZoom* glRect* glMap1* "
    "glMap2* glMapGrid* glEval* glCallList* glListBase* glClipPlane* glUseProgram* glUniform* glAccum* glReadBuffer* "
    "glDrawBuffer* glDrawArrays* glDrawElements* glDrawRangeElements* glMultiDraw* glPrioritize* glSampleCoverage* "
    "glPassThrough* glProvoking*",
    without="*Query* *Conditional* *Feedback* *Instanced* *Indirect*",
)
o.shapes(
    "repeatable",
    "glVertexAttrib* glNormal* glColor3* glColor4* glSecondaryColor* glFogCoord* glTexCoord* glMultiTexCoord* "
    "glEdgeFlag* glMaterial* glShadeModel* glBindTexture* glTexEnv* glLight* glEndList*",
)
o.shapes(
    "list_matrix",
    "glTranslate* glRotate* glScale* glMultMatrix* glLoadMatrix* glLoadIdentity* glPushMatrix* glPopMatrix*",
)

# ---- draws and their vertices ----------------------------------------------------------------------------------

o.shapes("vertex_call", "glVertex{2,3,4}*")
o.shapes("array_vertex", "glArrayElement*")
o.shapes("evaluator", "glEvalCoord* glEvalPoint*")
o.shapes("arrays", "glDrawArrays* glDrawElements* glDrawRangeElements*")
o.shapes("multi_arrays", "glMultiDraw*")
o.shapes("rect", "glRect*")
o.shapes("pixels", "glDrawPixels* glBitmap* glCopyPixels*")
o.shapes("clear_object", "glClearNamed* glClearTex*")
o.shapes("draw_input", "glUniform*", without="glUniformSub* glUniformBlock* *Handle*")
o.shapes("draw_input", "glVertexAttribPointer glEnableVertexAttribArray glDisableVertexAttribArray")

# ---- what becomes of images, for the history of a pixel -----------------------------------------------------------

o.shapes(
    "keeps_images",
    "glUniform* glVertexAttrib* glEnable* glDisable* glBindBuffer* glBindTexture* glActive* glUseProgram* "
    "glBufferData* glBufferSub* glColor* glDepth* glStencil* glBlend* glCull* glFrontFace* glViewport* glScissor* "
    "glTexParam* glGet* glBindVertex* glLoad* glMatrix* glMultMatrix* glMultTranspose* glMultiTexCoord* glMultiTexEnv* "
    "glMultiTexGen* glMultiTexParam* glMultiDraw* glMultiMode* glPush* glPop* glTranslate* glRotate* glScale* "
    "glVertex* glNormal* glTexCoord* glLight* glMaterial* glClear* glPolygon* glAlphaFunc* glCheckFrame* "
    "glShadeModel* glHint* glBegin* glEnd* glDrawArrays* glDrawElements* glDrawRange*",
    without="glClearNamed* glClearTex*",
)
o.shapes(
    "image_upload",
    "glTexImage* glTexSubImage* glTextureImage* glTextureSubImage* glMultiTexImage* glMultiTexSubImage* glCompressed*",
)
o.shapes("image_copy", "glCopyTex* glCopyMultiTex* glCopyImage* glBlit*")
o.shapes(
    "image_change",
    "glTexStorage* glTextureStorage* glGenerate* glDispatch* glInvalidate* glDiscardFrame* glRenderbufferStorage* "
    "glNamedRenderbufferStorage* glEGLImage*",
)
